//! Everything that is known of a run, as data. Only `apply` changes it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use escrow_model::{
    Answer, CheckIndex, Delivery, Facts, FaultClass, Issue, Millis, Plan, Reason, ReasonCode, Request,
    RunOptions, RunStatus, ScopePath, SkipReason, Verdict, WaitKind, Warning,
};
use serde_json::{Map, Value};

use crate::graph::BlockName;

/// A check in one scope: what the agenda and the routes speak of.
pub(crate) type Place = (CheckIndex, ScopePath);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) plan: Arc<Plan>,
    pub(crate) options: Arc<RunOptions>,
    pub(crate) facts: Arc<Facts>,
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
    /// Cells that run, wait for a retry or for a letter.
    pub(crate) busy: u32,
    /// Items in flight per group: the `forEach` check and its scope, or the mapped check and its group.
    pub(crate) in_flight: BTreeMap<Place, u32>,
    /// Retries that are waited for, by time.
    pub(crate) retries: BTreeSet<(Millis, CheckIndex, ScopePath)>,
    pub(crate) waits: BTreeMap<String, Wait>,

    pub(crate) routes: BTreeMap<Place, Route>,
    /// Which routes wait for a `run` target to settle.
    pub(crate) awaited: BTreeMap<Place, BTreeSet<Place>>,
    /// Re-runs by routing, per scope.
    pub(crate) loops: BTreeMap<ScopePath, u32>,
    /// Scopes whose loop budget is spent.
    pub(crate) halted: BTreeSet<ScopePath>,

    /// Why no new work starts.
    pub(crate) stopping: Option<Stopping>,
    pub(crate) first_failure: Option<RunFailure>,
    pub(crate) issues: Vec<(CheckIndex, ScopePath, Issue)>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) delivery: Option<Delivery>,

    /// What is worth a look. A superset does no harm: looking decides nothing by itself.
    pub(crate) agenda: Aside<Agenda>,
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
    pub(crate) routes: BTreeSet<Place>,
    pub(crate) checks: BTreeSet<Place>,
    /// Dependencies and `if` are fine; a slot is missing.
    pub(crate) ready: BTreeSet<Place>,
    /// A group's `concurrency` is used up.
    pub(crate) parked: BTreeMap<Place, BTreeSet<Place>>,
    /// Routes whose target has something running: looked at again with the next input.
    pub(crate) deferred: BTreeSet<Place>,
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
    pub(crate) nodes: BTreeMap<ScopePath, Node>,
    /// Attempts that reached the provider, over all scopes.
    pub(crate) runs: u32,
    /// Attempts per scope; they outlive the passes of a `forEach`.
    pub(crate) attempts: BTreeMap<ScopePath, u32>,
    /// What came out, per scope and for every scope above it.
    pub(crate) histories: BTreeMap<ScopePath, History>,
    /// Scopes with a broken contract and no later success.
    pub(crate) violations: BTreeSet<ScopePath>,
    /// Scopes whose last judged attempt failed.
    pub(crate) failures: BTreeMap<ScopePath, Failure>,
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
    /// The items of the parent are not known yet.
    Unexpanded,
    /// The items are known; each has a node below.
    Group(Group),
    /// The whole group is skipped.
    SkippedGroup(SkipReason),
    Leaf(Cell),
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
    /// It starts by itself, or was routed to.
    pub(crate) activated: bool,
    pub(crate) routed_from: Option<Place>,
    /// The event that a route put it under.
    pub(crate) event: Option<Arc<str>>,
    pub(crate) skip: Option<SkipReason>,
    /// Of the last judged attempt; a later skip leaves it.
    pub(crate) verdict: Option<Verdict>,
    pub(crate) issues: Vec<Issue>,
    pub(crate) fault: Option<FaultClass>,
    pub(crate) answer: Option<Arc<Answer>>,
    pub(crate) runs: u32,
    /// Retries since it was last decided.
    pub(crate) retries: u32,
    pub(crate) recovering: bool,
    /// While it runs: what it was asked to do.
    pub(crate) request: Option<Arc<Request>>,
    pub(crate) slot: bool,
    /// What was approved, so that it starts without asking again.
    pub(crate) approved: Option<String>,
    /// The entry at which this pass of a `forEach` began.
    pub(crate) pass_from: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Phase {
    #[default]
    Pending,
    Running,
    /// Judged, while its routing is still open.
    Judged,
    RetryWait,
    /// A retry is due, or an approval was given: past the gates.
    Due,
    Waiting(String),
    Settled,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    pub(crate) place: Place,
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
    pub(crate) awaiting: BTreeSet<Place>,
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
            Node::Unexpanded => false,
            Node::Group(group) => group.open == 0,
            Node::SkippedGroup(_) => true,
            Node::Leaf(cell) => cell.phase == Phase::Settled,
        }
    }

    pub(crate) fn cell(&self) -> Option<&Cell> {
        match self {
            Node::Leaf(cell) => Some(cell),
            Node::Unexpanded | Node::Group(_) | Node::SkippedGroup(_) => None,
        }
    }

    /// Leaves below (or here) that succeeded.
    pub(crate) fn succeeded(&self) -> u32 {
        match self {
            Node::Leaf(cell) => u32::from(cell.has_succeeded()),
            Node::Group(group) => group.succeeded,
            Node::Unexpanded | Node::SkippedGroup(_) => 0,
        }
    }
}

impl Cell {
    /// Settled, not skipped, and its last attempt kept its contract.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.phase == Phase::Settled && self.skip.is_none() && self.verdict == Some(Verdict::Succeeded)
    }

    pub(crate) fn is_busy(&self) -> bool {
        match self.phase {
            Phase::Running | Phase::RetryWait | Phase::Due | Phase::Waiting(_) => true,
            Phase::Pending | Phase::Judged | Phase::Settled => false,
        }
    }
}
