//! Everything that is known of a run, as data. Only `apply` changes it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use escrow_model::{
    Answer, CheckIndex, Delivery, Facts, FaultClass, Issue, Millis, Plan, Reason, ReasonCode,
    RecordedOutcome, Request, RunId, RunOptions, RunStatus, ScopePath, SkipReason, Verdict, WaitKind,
    Warning,
};
use serde_json::{Map, Value};

use crate::by_scope::ByScope;
use crate::graph::BlockName;
use crate::location::Location;
use crate::overridden::Overridden;

/// A scope with the `forEach` check that its last index belongs to: the third item of one list is not the
/// third item of another.
pub(crate) type Region = (Option<CheckIndex>, ScopePath);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) plan: Shared<Plan>,
    pub(crate) options: Shared<RunOptions>,
    pub(crate) facts: Shared<Facts>,
    pub(crate) started_at: Millis,
    /// When what failed was last opened again: a deadline counts from here.
    pub(crate) reopened_at: Option<Millis>,
    pub(crate) ended_at: Option<Millis>,
    pub(crate) status: RunStatus,
    pub(crate) reason: Option<Reason>,
    pub(crate) checks: Vec<CheckState>,
    /// Entries applied so far: the order of everything remembered.
    pub(crate) entries: u64,

    pub(crate) inputs: Value,
    /// `env:` of the playbook, rendered, and what commands added.
    pub(crate) env: Map<String, Value>,
    pub(crate) memory: BTreeMap<String, Value>,

    /// Attempts that hold a slot.
    pub(crate) slots_used: u32,
    /// Cells that run, wait for a retry or for a message.
    pub(crate) busy: u32,
    /// Items in flight per group: the `forEach` check and its scope, or the mapped check and its group.
    pub(crate) in_flight: BTreeMap<Location, u32>,
    /// Retries that are waited for, by time.
    pub(crate) retries: BTreeSet<(Millis, Location)>,
    pub(crate) waits: BTreeMap<String, Wait>,

    pub(crate) routes: BTreeMap<Location, Route>,
    /// Which routes wait for a `run` target to settle.
    pub(crate) awaited: BTreeMap<Location, BTreeSet<Location>>,
    /// Scopes, over all checks, with a broken contract and no later success.
    pub(crate) violations: u32,
    /// Re-runs by routing, per scope.
    pub(crate) loops: BTreeMap<Region, u32>,
    /// Scopes whose loop budget is spent.
    pub(crate) halted: BTreeSet<Region>,

    /// Why no new work starts.
    pub(crate) stopping: Option<Stopping>,
    pub(crate) first_failure: Option<RunFailure>,
    pub(crate) issues: Vec<(Location, Issue)>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) delivery: Option<Delivery>,
    /// Typed results, in the order in which they came.
    pub(crate) outcomes: Vec<(Millis, Arc<RecordedOutcome>)>,
    /// A person's word took the place of what the run came to.
    pub(crate) overridden: Option<Overridden>,

    /// What is worth a look. A superset does no harm: looking decides nothing by itself.
    pub(crate) agenda: Aside<Agenda>,
}

/// A part of the state that never changes; comparing two states compares it only when it is not the same one.
#[derive(Clone, Debug)]
pub(crate) struct Shared<T>(pub(crate) Arc<T>);

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Shared<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<T> std::ops::Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A part of the state that is derived, so two states are equal whatever it holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside<T>(pub(crate) T);

impl<T> PartialEq for Aside<T> {
    fn eq(&self, _: &Aside<T>) -> bool {
        true
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    pub(crate) routes: BTreeSet<Location>,
    pub(crate) checks: BTreeSet<Location>,
    /// Dependencies and `if` are fine; a slot is missing.
    pub(crate) ready: BTreeSet<Location>,
    /// A group's `concurrency` is used up.
    pub(crate) parked: BTreeMap<Location, BTreeSet<Location>>,
    /// Groups that may have room again.
    pub(crate) freed: BTreeSet<Location>,
    /// Routes whose target has something running: looked at again with the next input.
    pub(crate) deferred: BTreeSet<Location>,
    pub(crate) inspection_asked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopping {
    CancelledByUser,
    CancelledBySystem,
    Deadline,
    Denied,
}

/// Fails the run whatever the checks say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunFailure {
    pub(crate) code: ReasonCode,
    pub(crate) check: CheckIndex,
    pub(crate) message: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CheckState {
    pub(crate) nodes: ByScope<Node>,
    /// Attempts that reached the provider, over all scopes.
    pub(crate) runs: u32,
    /// Attempts per scope; they outlive the passes of a `forEach`.
    pub(crate) attempts: ByScope<u32>,
    /// What came out, per scope and for every scope above it.
    pub(crate) histories: ByScope<History>,
    /// Scopes with a broken contract and no later success.
    pub(crate) violations: BTreeSet<ScopePath>,
    /// Scopes whose last judged attempt failed.
    pub(crate) failures: BTreeMap<ScopePath, Failure>,
    /// Items whose effect is confirmed, and whose `forEach` is being run again because something failed.
    pub(crate) kept: Vec<Kept>,
    /// Nested runs that failed, each with the attempt that goes on with it since the run was opened again.
    pub(crate) nested: BTreeMap<ScopePath, (u32, RunId)>,
    /// Items of a pass that is over, until the next pass has one in their place.
    pub(crate) past: BTreeMap<ScopePath, Past>,
}

/// An effect that is confirmed for an item, whatever place the item will have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    pub(crate) scope: ScopePath,
    /// The items that lead to it, outermost first.
    pub(crate) items: Vec<Value>,
    pub(crate) cell: Cell,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: ReasonCode,
    pub(crate) message: String,
    /// The entry at which it was judged.
    pub(crate) entry: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct History(pub(crate) Vec<Remembered>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Remembered {
    pub(crate) entry: u64,
    pub(crate) answer: Arc<Answer>,
}

/// One place in the tree of a check's scopes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// The items of the parent are not known yet; this is what they will begin with.
    Unexpanded(Calling),
    Group(Group),
    /// All of it, without looking at items.
    SkippedGroup(SkipReason),
    Leaf(Cell),
}

/// Why a check may start in a scope, and under which event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Calling {
    /// It starts by itself, or was routed to.
    pub(crate) activated: bool,
    pub(crate) routed_from: Option<Location>,
    /// The event that a route put it under.
    pub(crate) event: Option<Arc<str>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Group {
    pub(crate) total: u32,
    /// Direct children that have not settled.
    pub(crate) open: u32,
    /// Leaves below whose status is succeeded.
    pub(crate) succeeded: u32,
    /// The outputs as one array, built when somebody reads it.
    pub(crate) outputs: Aside<OnceCell<Value>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) phase: Phase,
    pub(crate) calling: Calling,
    pub(crate) skip: Option<SkipReason>,
    /// What the last judged attempt came to; a later skip leaves it.
    pub(crate) past: Past,
    pub(crate) fault: Option<FaultClass>,
    pub(crate) answer: Option<Arc<Answer>>,
    /// What the last attempt had delivered when it was done, where the check asks.
    pub(crate) delivery: Option<Delivery>,
    /// Retries since it was last decided.
    pub(crate) retries: u32,
    /// Repeats that a person asked for, of an effect that nobody knows of.
    pub(crate) repeats: u32,
    pub(crate) recovering: bool,
    /// Nobody knows whether the last attempt took effect.
    pub(crate) unknown: bool,
    /// Its effect is confirmed for another item at this place: this may be the same one in other clothes.
    pub(crate) suspect: bool,
    /// While an attempt, or the look for its effect, is open: what was asked for.
    pub(crate) request: Option<Arc<Request>>,
    pub(crate) slot: bool,
    /// What was approved, so that it starts without asking again.
    pub(crate) approved: Option<String>,
    /// The entry at which this pass of a `forEach` began.
    pub(crate) pass_from: u64,
}

/// What is remembered of a cell whatever is decided later, even when its item is gone for a while.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Past {
    pub(crate) runs: u32,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) issues: Vec<Issue>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Phase {
    #[default]
    Pending,
    Running,
    /// Nobody knows whether the last attempt took effect, and `reconcile` looks.
    Reconciling,
    /// Answered; what it delivered is being looked at.
    Inspecting,
    /// Judged, while its routing is still open.
    Judged,
    /// A retry is due at this time.
    RetryWait(Millis),
    /// A retry is due, or an approval was given: past the gates.
    Due,
    Waiting(String),
    Settled,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    pub(crate) location: Location,
    pub(crate) kind: WaitKind,
    pub(crate) digest: String,
    pub(crate) prompt: String,
    pub(crate) choices: Vec<String>,
    pub(crate) expires_at: Option<Millis>,
}

/// A routing block at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Route {
    pub(crate) block: BlockName,
    pub(crate) ran: bool,
    pub(crate) ran_js: bool,
    pub(crate) awaiting: BTreeSet<Location>,
    pub(crate) target_failed: bool,
}

impl Route {
    pub(crate) fn new(block: BlockName) -> Route {
        Route { block, ran: false, ran_js: false, awaiting: BTreeSet::new(), target_failed: false }
    }
}

impl Node {
    pub(crate) fn is_settled(&self) -> bool {
        match self {
            Node::Unexpanded(_) => false,
            Node::Group(group) => group.open == 0,
            Node::SkippedGroup(_) => true,
            Node::Leaf(cell) => cell.phase == Phase::Settled,
        }
    }

    pub(crate) fn cell(&self) -> Option<&Cell> {
        match self {
            Node::Leaf(cell) => Some(cell),
            Node::Unexpanded(_) | Node::Group(_) | Node::SkippedGroup(_) => None,
        }
    }

    /// Leaves below (or here) that succeeded.
    pub(crate) fn succeeded(&self) -> u32 {
        match self {
            Node::Leaf(cell) => u32::from(cell.has_succeeded()),
            Node::Group(group) => group.succeeded,
            Node::Unexpanded(_) | Node::SkippedGroup(_) => 0,
        }
    }
}

impl Cell {
    /// Settled, not skipped, and its last attempt kept its contract.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.phase == Phase::Settled && self.skip.is_none() && self.has_verdict(Verdict::Succeeded)
    }

    pub(crate) fn has_verdict(&self, verdict: Verdict) -> bool {
        self.past.verdict == Some(verdict)
    }

    /// Something was asked for that may still happen, or may have happened: nobody may pull the ground from it.
    pub(crate) fn is_out_of_hand(&self) -> bool {
        self.request.is_some()
            || self.phase == Phase::Inspecting
            || (self.unknown && self.phase != Phase::Settled)
    }

    pub(crate) fn is_busy(&self) -> bool {
        match self.phase {
            Phase::Running
            | Phase::Reconciling
            | Phase::Inspecting
            | Phase::RetryWait(_)
            | Phase::Due
            | Phase::Waiting(_) => true,
            Phase::Pending | Phase::Judged | Phase::Settled => false,
        }
    }
}
