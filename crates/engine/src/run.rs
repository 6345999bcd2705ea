//! A run: begun, replayed, and driven by [`Run::handle`], which takes an input and gives a turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use escrow_model::{
    ApprovalSubject, ApprovalTerms, CheckIndex, Criticality, Delivery, Entry, Event, Facts, Millis, Plan,
    PlanReads, Reason, RunId, RunOptions, RunStatus, ScopePath, SkipReason, WaitKind, Warning,
};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::admission::Admission;
use crate::apply_error::ApplyError;
use crate::by_scope::ByScope;
use crate::exchange::{Input, Turn};
use crate::filter::left_out;
use crate::graph::Graph;
use crate::location::Location;
use crate::state::{Activation, Agenda, Cell, CheckState, Derived, Node, RecordedDecision, Shared, State};
use crate::surroundings::Surroundings;
use crate::turn::Deciding;
use crate::withheld::Disclosure;

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct Run {
    pub(crate) graph: Arc<Graph>,
    pub(crate) state: State,
    /// What expressions read of the world, as it was at the start.
    pub(crate) surroundings: Arc<Surroundings>,
    /// What `--only` and `--tags` leave out.
    pub(crate) left_out: BTreeMap<CheckIndex, SkipReason>,
}

impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        self.state == other.state
    }
}

/// A message that the run waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenWait {
    pub id: String,
    pub check: String,
    pub scope: ScopePath,
    pub kind: WaitKind,
    pub prompt: String,
    pub choices: Vec<String>,
    pub expires_at: Option<Millis>,
    /// What is to be approved.
    pub subject: Option<Arc<ApprovalSubject>>,
}

impl OpenWait {
    /// Actors whose approvals are enough, for plays without real people.
    pub fn enough_approvers(&self) -> Vec<Option<String>> {
        let terms = self.subject.as_ref().map(|subject| subject.terms.clone()).unwrap_or_default();
        if terms == ApprovalTerms::default() {
            return vec![None];
        }
        let count = usize::try_from(terms.count).unwrap_or(usize::MAX);
        let named = terms.by.into_iter();
        named.chain((1..).map(|number| format!("os:approver-{number}"))).take(count).map(Some).collect()
    }
}

#[derive(Debug, Error)]
pub enum ReplayError {
    #[error("the journal is empty")]
    Empty,
    #[error("the journal does not begin with the start of a run")]
    NoStart,
    #[error("entry {seq} cannot follow the entries before it: {source}")]
    CannotFollow { seq: usize, source: ApplyError },
}

impl Run {
    /// Begins a run, with its first turn.
    pub fn start(plan: Arc<Plan>, options: Arc<RunOptions>, facts: Arc<Facts>, at: Millis) -> (Run, Turn) {
        Run::start_withholding(plan, options, facts, at, BTreeSet::new())
    }

    /// As `start`, after a first turn that rendered a secret in these places.
    pub fn start_withholding(
        plan: Arc<Plan>,
        options: Arc<RunOptions>,
        facts: Arc<Facts>,
        at: Millis,
        places: BTreeSet<Disclosure>,
    ) -> (Run, Turn) {
        let mut run = Run::new(&plan, &options, &facts, at);
        run.withhold(places);
        let mut deciding = Deciding::new(&mut run, at);
        // A run that fails at its start holds no group.
        let fails = deciding.start_issue().is_some();
        let Surroundings { title, group, .. } = &*deciding.surroundings;
        let (title, group) = (title.clone(), group.clone().filter(|_| !fails));
        deciding.record(Event::RunStarted { plan, options, facts, title, group });
        deciding.begin();
        deciding.decide();
        let turn = deciding.into_turn();
        (run, turn)
    }

    /// A run that ends at once, because another run is in its way: no check is decided, nothing is inspected, and it
    /// holds no group.
    pub fn refuse(
        plan: Arc<Plan>,
        options: Arc<RunOptions>,
        facts: Arc<Facts>,
        at: Millis,
        reason: Reason,
    ) -> (Run, Turn) {
        let mut run = Run::new(&plan, &options, &facts, at);
        let mut deciding = Deciding::new(&mut run, at);
        let title = deciding.surroundings.title.clone();
        let checks: Vec<CheckIndex> = plan.indices().collect();
        deciding.record(Event::RunStarted { plan, options, facts, title, group: None });
        for check in checks {
            deciding.skip_check(check, &ScopePath::root(), SkipReason::RunEnded, String::new());
        }
        deciding.record(Event::RunEnded { reason });
        let turn = deciding.into_turn();
        (run, turn)
    }

    /// Rebuilds a run from its journal.
    pub fn replay<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Run, ReplayError> {
        let mut entries = entries.into_iter().enumerate();
        let (_, first) = entries.next().ok_or(ReplayError::Empty)?;
        let mut run = Run::first(first)?;
        for (seq, entry) in entries {
            run.next(seq, entry)?;
        }
        run.put_everything_on_the_agenda();
        Ok(run)
    }

    /// A run after the first entry of its journal.
    pub(crate) fn first(entry: &Entry) -> Result<Run, ReplayError> {
        let Event::RunStarted { plan, options, facts, .. } = &entry.event else {
            return Err(ReplayError::NoStart);
        };
        let mut run = Run::new(plan, options, facts, entry.at);
        run.apply(entry).map_err(|source| ReplayError::CannotFollow { seq: 0, source })?;
        Ok(run)
    }

    /// Applies the next entry of a journal.
    pub(crate) fn next(&mut self, seq: usize, entry: &Entry) -> Result<(), ReplayError> {
        self.apply(entry).map_err(|source| ReplayError::CannotFollow { seq, source })
    }

    /// Applies one more entry of the journal, for a reader of a run that another process drives.
    pub fn follow(&mut self, entry: &Entry) -> Result<(), ApplyError> {
        self.apply(entry)
    }

    /// What follows from an input at a time. The entries are already applied to this run: if they cannot be
    /// committed, the run is to be dropped and rebuilt from the journal.
    pub fn handle(&mut self, at: Millis, input: Input) -> Turn {
        if self.state.status.is_terminal() {
            return Turn::default();
        }
        let mut deciding = Deciding::new(self, at);
        deciding.agenda().reinspected.clear();
        if deciding.is_too_late_for(&input) {
            deciding.pass_deadline();
            deciding.decide();
            if deciding.state.status.is_terminal() {
                return deciding.into_turn();
            }
        }
        match input {
            Input::Answered { attempt, answer } => deciding.take_answer(&attempt, answer),
            Input::NestedWaits { attempt, child, reason, lease } => {
                deciding.wait_with_nested(&attempt, &child, &reason, lease);
            }
            Input::NestedReady { run } => deciding.resume_nested_run(&run),
            Input::Reconciled { attempt, answer } => deciding.take_finding(&attempt, answer),
            Input::LedgerAnswered { check, scope, key, effect } => {
                deciding.take_ledger_answer(check, &scope, key, effect);
            }
            Input::Seen(seen) => deciding.take_run_inspection(&seen),
            Input::SeenAt { attempt, seen } => deciding.take_inspection(&attempt, &seen),
            Input::SeenBefore { attempt, seen } => deciding.take_reinspection(&attempt, &seen),
            Input::Wake => deciding.wake(),
            Input::Message(message) => deciding.deliver_message(message, None),
            Input::Sent { message, at } => deciding.deliver_message(message, Some(at)),
            Input::SentTogether(messages) => {
                for (message, at) in messages {
                    deciding.deliver_message(message, Some(at));
                }
            }
            Input::Resume { by, ledger } => deciding.take_over(by, ledger),
        }
        deciding.decide();
        deciding.into_turn()
    }

    fn new(plan: &Arc<Plan>, options: &Arc<RunOptions>, facts: &Arc<Facts>, at: Millis) -> Run {
        let graph = Arc::new(Graph::of(plan));
        let mut agenda = Agenda::default();
        let mut checks = Vec::with_capacity(plan.checks.len());
        for index in plan.indices() {
            let check = plan.check(index);
            let activation = Activation { activated: check.starts, ..Activation::default() };
            let node = if check.fan.is_empty() {
                Node::Leaf(Cell { activation, ..Cell::default() })
            } else {
                Node::Unexpanded(activation)
            };
            agenda.checks.insert(Location::new(index, ScopePath::root()));
            checks.push(CheckState { nodes: ByScope::of_root(node), ..CheckState::default() });
        }
        let inputs = Value::Object(plan.inputs_of(&options.inputs));
        let surroundings = Surroundings::of(plan, options, facts, &inputs);
        let state = State {
            plan: Shared(Arc::clone(plan)),
            options: Shared(Arc::clone(options)),
            facts: Shared(Arc::clone(facts)),
            started_at: at,
            latest_at: at,
            reopened_at: None,
            ended_at: None,
            status: RunStatus::Running,
            reason: None,
            checks,
            entries: 0,
            title: None,
            group: None,
            inputs,
            env: surroundings.file_env.clone(),
            handed_env: Map::new(),
            memory: BTreeMap::new(),
            redacted: facts.redacted,
            slots_used: 0,
            busy: 0,
            in_flight: BTreeMap::new(),
            retries: Default::default(),
            totals: Default::default(),
            nested_totals: Default::default(),
            waits: BTreeMap::new(),
            routes: BTreeMap::new(),
            awaited: BTreeMap::new(),
            violations: 0,
            loops: BTreeMap::new(),
            halted: Default::default(),
            admission: Admission::Open,
            decisions: Vec::new(),
            resumed_by: Vec::new(),
            first_failure: None,
            issues: Vec::new(),
            warnings: Vec::new(),
            delivery: None,
            outcomes: Vec::new(),
            overridden: None,
            agenda: Derived(agenda),
            intents: BTreeMap::new(),
            confirmations: BTreeMap::new(),
        };
        let left_out = left_out(plan, options);
        Run { graph, state, surroundings: Arc::new(surroundings), left_out }
    }

    pub fn status(&self) -> RunStatus {
        self.state.status
    }

    pub fn reason(&self) -> Option<&Reason> {
        self.state.reason.as_ref()
    }

    /// What a person should know although it did not fail the run.
    pub fn warnings(&self) -> &[Warning] {
        &self.state.warnings
    }

    /// The verified delivery, once the artifacts were inspected.
    pub fn delivery(&self) -> Option<&Delivery> {
        self.state.delivery.as_ref()
    }

    /// `title` of the playbook, as it was rendered when the run started.
    pub fn title(&self) -> Option<&str> {
        self.state.title.as_deref()
    }

    /// The concurrency group that the run holds while it is open.
    pub fn group(&self) -> Option<&str> {
        self.state.group.as_deref()
    }

    /// The concurrency group that the run would hold if it were opened again.
    pub fn wanted_group(&self) -> Option<&str> {
        self.surroundings.group.as_deref()
    }

    /// The inputs, with the defaults of those that were not given.
    pub fn inputs(&self) -> &Value {
        &self.state.inputs
    }

    /// The variables that its expressions and templates name, as they were when it started; `None` was not set then.
    pub fn variables_at_start(&self) -> BTreeMap<String, Option<String>> {
        let names = PlanReads::of(&self.state.plan).env;
        names.into_iter().map(|name| (name.clone(), self.state.facts.env.get(&name).cloned())).collect()
    }

    pub fn options(&self) -> &RunOptions {
        &self.state.options
    }

    pub fn plan_of(&self) -> &Arc<Plan> {
        &self.state.plan.0
    }

    /// Whether a check changes the world outside, so that its intents and results must survive a power cut.
    pub fn is_external(&self, name: &str) -> bool {
        self.graph
            .find(name)
            .is_some_and(|check| self.state.plan.check(check).criticality == Criticality::External)
    }

    /// From its start to its end, once it has ended.
    pub fn elapsed_ms(&self) -> Option<Millis> {
        self.state.ended_at.map(|end| end.saturating_sub(self.state.started_at))
    }

    pub fn started_at(&self) -> Millis {
        self.state.started_at
    }

    /// When it was last opened again because it had failed.
    pub fn reopened_at(&self) -> Option<Millis> {
        self.state.reopened_at
    }

    pub fn ended_at(&self) -> Option<Millis> {
        self.state.ended_at
    }

    /// How many entries the journal of this run has.
    pub fn entries(&self) -> u64 {
        self.state.entries
    }

    /// When `Input::Wake` is next due.
    pub fn wake_at(&self) -> Option<Millis> {
        if self.state.status.is_terminal() {
            return None;
        }
        let retry = self.state.retries.first().map(|(at, _)| *at);
        let expiry = self.state.waits.values().filter_map(|wait| wait.expires_at).min();
        [retry, expiry, self.deadline()].into_iter().flatten().min()
    }

    /// When the run's own time is up.
    pub(crate) fn deadline(&self) -> Option<Millis> {
        if self.state.admission.is_stopping() {
            return None;
        }
        let timeout = self.state.options.timeout_ms.or(self.state.plan.timeout_ms)?;
        Some(self.state.reopened_at.unwrap_or(self.state.started_at).saturating_add(timeout))
    }

    /// The nested runs that this one waits for.
    pub fn nested_runs(&self) -> Vec<RunId> {
        let waits = self.state.waits.iter().filter(|(_, wait)| wait.kind == WaitKind::Nested);
        waits.map(|(id, _)| RunId::from_stored(id.as_str())).collect()
    }

    /// What people decided so far, oldest first.
    pub fn decisions(&self) -> &[RecordedDecision] {
        &self.state.decisions
    }

    /// Whether a person is asked what became of this effect: the last one of its check in that scope. Its state may be
    /// known: it failed or broke its contract, and `reconcile` could not say whether a further attempt may follow.
    pub fn waits_for_effect(&self, check: &str, scope: &ScopePath, key: &str) -> bool {
        let Some(check) = self.graph.find(check) else { return false };
        let is_asked = self.state.waits.values().any(|wait| {
            wait.kind == WaitKind::UnknownEffect
                && wait.location.check == check
                && wait.location.scope == *scope
        });
        is_asked && self.cell(check, scope).is_some_and(|cell| cell.last_key.as_deref() == Some(key))
    }

    /// The open waits.
    pub fn waits(&self) -> Vec<OpenWait> {
        self.state
            .waits
            .iter()
            .map(|(id, wait)| OpenWait {
                id: id.clone(),
                check: self.state.plan.check(wait.location.check).name.clone(),
                scope: wait.location.scope.clone(),
                kind: wait.kind,
                prompt: wait.prompt.clone(),
                choices: wait.choices.clone(),
                expires_at: wait.expires_at,
                subject: wait.subject.clone(),
            })
            .collect()
    }
}
