//! What another process does with a run that it takes over.

use escrow_model::{Answer, CheckIndex, Criticality, Event, FaultCode, ProviderFault, ProviderName};

use crate::apply_error::PhaseName;
use crate::exchange::Effect;
use crate::ledger::LedgerNews;
use crate::location::Location;
use crate::phase::Phase;
use crate::run::Run;
use crate::turn::Deciding;

impl Deciding<'_> {
    /// Another process drives the run: what was started and left unanswered is issued again, except external
    /// effects, which become unknown. A nested run is issued again too: its own journal says what it has done. Where the
    /// ledger has the result of an unknown effect, neither `reconcile` nor a person is asked about it.
    pub(crate) fn take_over(&mut self, by: Vec<String>, ledger: Vec<LedgerNews>) {
        self.record(Event::RunResumed { by });
        self.agenda().inspection_asked = false;
        self.agenda().reinspecting.clear();
        if !self.state.admission.is_stopping() {
            self.ledger_news = ledger;
        }
        let plan = self.plan();
        let code = if self.state.admission.is_stopping() { FaultCode::Cancelled } else { FaultCode::Lost };
        for (attempt, _) in self.nested_waits() {
            // It is among the open attempts below.
            self.no_longer_wait(&attempt);
        }
        let looked_for = self.at_work(PhaseName::Reconciling);
        for (attempt, request) in self.at_work(PhaseName::Running) {
            let spec = plan.check(attempt.check);
            let external = spec.criticality == Criticality::External;
            if request.provider == ProviderName::NESTED {
                self.call_nested(attempt, request);
            } else if self.state.admission.is_stopping() || (external && !spec.idempotent) {
                let fault = ProviderFault::transient(code.clone(), "Escrow was ended while this ran")
                    .with_unknown_effect();
                self.take_answer(&attempt, Answer::fault(fault));
            } else {
                self.ask_for(Effect::Perform { attempt, request });
            }
        }
        for (attempt, _) in looked_for {
            if self.state.admission.is_stopping() {
                let fault =
                    ProviderFault::transient(code.clone(), "Escrow was ended while `reconcile` looked");
                self.take_finding(&attempt, Answer::fault(fault));
            } else if !self.take_ledger_news(&attempt.location()) {
                self.issue_reconcile(&attempt.location());
            }
        }
        for attempt in self.inspecting() {
            self.inspect_for(&attempt);
        }
        for location in self.consulting() {
            self.issue_consultation(&location);
        }
        if !self.state.admission.is_stopping() {
            self.ask_ledger_again();
            self.take_remaining_ledger_news();
        }
        self.put_everything_on_the_agenda();
    }
}

impl Run {
    /// Checks whose effects are being looked up in the ledger.
    fn consulting(&self) -> Vec<Location> {
        let mut consulting = Vec::new();
        for (position, check) in self.state.checks.iter().enumerate() {
            for (scope, node) in check.nodes.iter() {
                if node.cell().is_some_and(|cell| matches!(cell.phase, Phase::Consulting { .. })) {
                    consulting.push(Location::new(CheckIndex::at(position), scope.clone()));
                }
            }
        }
        consulting
    }
}
