//! Templates that put a secret together from harmless pieces.
//!
//! The engine knows no secrets, so it cannot see this itself. The supervisor finds the secret in a turn before it is
//! committed, drops the turn, and has it made again with the place withheld: the check fails in place of its attempt.
//!
//! **Invariant:** what is withheld belongs to one turn. The journal has the verdict, so a replay needs no more.

use std::collections::BTreeSet;

use escrow_model::{Entry, Event, Issue, IssueCode, ScopePath};

use crate::location::Location;
use crate::run::Run;
use crate::turn::Deciding;

/// A place where a template has rendered a secret that must not reach the world or be compared with another value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disclosure {
    /// The name of the run's concurrency group.
    Group,
    /// The request, the effect key or the approval of a check.
    Attempt { check: String, scope: ScopePath },
    /// The command of a check's `reconcile`.
    Reconcile { check: String, scope: ScopePath },
}

/// The attempts that were withheld in a recorded run. They are withheld when it is decided again.
pub(crate) fn withheld_in(recorded: &[Entry]) -> BTreeSet<Disclosure> {
    let of_event = |event: &Event| match event {
        Event::CheckJudged { check, scope, issues, .. }
            if issues.iter().any(|issue| issue.code == IssueCode::SecretRendered) =>
        {
            Some(attempt(check, scope))
        }
        _ => None,
    };
    recorded.iter().filter_map(|entry| of_event(&entry.event)).collect()
}

impl Run {
    /// Withholds these places, and no others, in the turn that is made next.
    pub fn withhold(&mut self, places: BTreeSet<Disclosure>) {
        self.state.agenda.0.withheld = places;
    }

    /// The place of an event whose templates must not render a secret. Other events are shown with stars.
    pub fn disclosure(&self, event: &Event) -> Option<Disclosure> {
        match event {
            Event::AttemptStarted { check, scope, .. } => {
                self.reaches_the_world(check).then(|| attempt(check, scope))
            }
            Event::LedgerAsked { check, scope, .. } => Some(attempt(check, scope)),
            // A person must see what they approve.
            Event::WaitStarted { check, scope, subject: Some(_), .. } => Some(attempt(check, scope)),
            Event::ReconcileStarted { check, scope, .. } => {
                Some(Disclosure::Reconcile { check: check.clone(), scope: scope.clone() })
            }
            _ => None,
        }
    }

    fn reaches_the_world(&self, check: &str) -> bool {
        self.graph.find(check).is_some_and(|check| self.may_reach_the_world(check))
    }

    pub(crate) fn withholds_attempt(&self, location: &Location) -> bool {
        let withheld = &self.state.agenda.0.withheld;
        let name = &self.state.plan.check(location.check).name;
        !withheld.is_empty() && withheld.contains(&attempt(name, &location.scope))
    }

    pub(crate) fn withholds_reconcile(&self, location: &Location) -> bool {
        let withheld = &self.state.agenda.0.withheld;
        let (check, scope) = (self.state.plan.check(location.check).name.clone(), location.scope.clone());
        !withheld.is_empty() && withheld.contains(&Disclosure::Reconcile { check, scope })
    }
}

impl Deciding<'_> {
    /// Why the run cannot begin, if a template of the file cannot be used.
    pub(crate) fn start_issue(&mut self) -> Option<Issue> {
        if self.agenda().withheld.contains(&Disclosure::Group) {
            let message = "`concurrency.group` contains a secret, and runs cannot be told apart by `***`";
            return Some(Issue::error(IssueCode::RedactedValue, message));
        }
        let problem = self.surroundings.start_problem.clone()?;
        Some(Issue::error(IssueCode::TemplateError, problem))
    }
}

fn attempt(check: &str, scope: &ScopePath) -> Disclosure {
    Disclosure::Attempt { check: check.to_owned(), scope: scope.clone() }
}
