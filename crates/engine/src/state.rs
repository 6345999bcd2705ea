//! The state of a run, as data. Only `apply` changes what a run is; its agenda, which follows from the rest, is kept while
//! a turn is made.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use escrow_model::{
    Answer, ApprovalStatus, ApprovalSubject, ApprovalTerms, ChangedArtifact, CheckIndex, Delivery,
    EffectState, Facts, Issue, Millis, MissingArtifact, Plan, Reason, ReasonCode, RecordedOutcome, Request,
    RoutingBlock, RunId, RunOptions, RunStatus, ScopePath, SkipReason, Verdict, WaitKind, Warning,
};
use serde_json::{Map, Value};

use crate::admission::Admission;
use crate::ai::{HarnessTotals, Spent};
use crate::artifact_view::ArtifactFile;
use crate::by_scope::ByScope;
use crate::effect::EffectRecord;
use crate::items::Items;
use crate::ledger::{AskedElsewhere, LedgerAnswer};
use crate::location::Location;
use crate::overridden::Overridden;
use crate::phase::{Certainty, Phase};
use crate::reinspection::VerifiedArtifacts;
use crate::withheld::Disclosure;

/// A scope with the `forEach` check that its last index belongs to: the third item of one list is not the
/// third item of another.
pub(crate) type Region = (Option<CheckIndex>, ScopePath);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) plan: Shared<Plan>,
    pub(crate) options: Shared<RunOptions>,
    pub(crate) facts: Shared<Facts>,
    pub(crate) started_at: Millis,
    /// The time of the newest entry.
    pub(crate) latest_at: Millis,
    /// When what failed was last opened again: a deadline counts from here.
    pub(crate) reopened_at: Option<Millis>,
    pub(crate) ended_at: Option<Millis>,
    pub(crate) status: RunStatus,
    pub(crate) reason: Option<Reason>,
    pub(crate) checks: Vec<CheckState>,
    /// Entries applied so far: the order of everything recorded.
    pub(crate) entries: u64,

    /// `title` of the playbook, as it was rendered then.
    pub(crate) title: Option<String>,
    /// The concurrency group that it holds while it is open.
    pub(crate) group: Option<String>,
    pub(crate) inputs: Value,
    /// `env:` of the playbook, rendered.
    pub(crate) env: Map<String, Value>,
    /// What commands wrote to `$ESCROW_ENV`. No name of it is in `env`.
    pub(crate) handed_env: Map<String, Value>,
    pub(crate) memory: BTreeMap<String, Value>,
    /// A secret was replaced by stars in something that templates can read.
    pub(crate) redacted: bool,

    /// Attempts that hold a slot.
    pub(crate) slots_used: u32,
    /// Cells that run, wait for a retry or for a message.
    pub(crate) busy: u32,
    /// Items in flight per group: the `forEach` check and its scope, or the mapped check and its group.
    pub(crate) in_flight: BTreeMap<Location, u32>,
    /// Retries that are waited for, by time.
    pub(crate) retries: BTreeSet<(Millis, Location)>,
    /// What its harnesses have spent.
    pub(crate) totals: HarnessTotals,
    /// What the harnesses of each nested run have spent, by its id.
    pub(crate) nested_totals: BTreeMap<String, HarnessTotals>,
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

    pub(crate) admission: Admission,
    /// What people decided, in order.
    pub(crate) decisions: Vec<RecordedDecision>,
    /// The actors who resumed the run.
    pub(crate) resumed_by: Vec<String>,
    pub(crate) first_failure: Option<RunFailure>,
    pub(crate) issues: Vec<(Location, Issue)>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) delivery: Option<Delivery>,
    /// Typed results, in the order in which they came.
    pub(crate) outcomes: Vec<(Millis, Arc<RecordedOutcome>)>,
    /// A person has overridden the status.
    pub(crate) overridden: Option<Overridden>,

    /// What may have to be decided. A superset does no harm.
    pub(crate) agenda: Derived<Agenda>,
    /// How many intents this run had, by `effect_key`.
    pub(crate) intents: BTreeMap<String, u32>,
    /// How often `reconcile` or a person said that an effect happened, by `effect_key`.
    pub(crate) confirmations: BTreeMap<String, u32>,
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

/// A part of the state that follows from the rest, so two states are compared without it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived<T>(pub(crate) T);

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Derived<T>) -> bool {
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
    /// Groups that may have free capacity again.
    pub(crate) freed: BTreeSet<Location>,
    /// Routes that would withdraw an open attempt: considered again with the next input.
    pub(crate) deferred: BTreeSet<Location>,
    /// What would begin if the run did not make way: considered again with the next input.
    pub(crate) held_back: BTreeSet<Location>,
    /// Effects that wait for an alternative that they can stand on: considered again when a check settles.
    pub(crate) undecided: BTreeSet<Location>,
    pub(crate) inspection_asked: bool,
    /// Effects that wait until the artifacts that they stand on are inspected again.
    pub(crate) reinspecting: BTreeSet<Location>,
    /// Those for which that was answered in this turn.
    pub(crate) reinspected: BTreeSet<Location>,
    /// Where templates have rendered a secret in this turn, when it was made before.
    pub(crate) withheld: BTreeSet<Disclosure>,
}

/// What a person decided about a wait, or that it expired.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedDecision {
    pub at: Millis,
    pub wait: String,
    pub check: String,
    pub scope: ScopePath,
    pub decision: ApprovalStatus,
    pub by: Option<String>,
    pub claim: Option<String>,
    pub note: Option<String>,
}

/// Fails the run independently of the verdicts of its checks.
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
    /// Answers per scope, and for every scope above it.
    pub(crate) histories: ByScope<AnswerHistory>,
    /// An output was longer than what is kept.
    pub(crate) has_cut_output: bool,
    /// Scopes with a broken contract and no later success.
    pub(crate) violations: BTreeSet<ScopePath>,
    /// What each scope has verified of its artifacts when it last succeeded.
    pub(crate) verified: BTreeMap<ScopePath, VerifiedArtifacts>,
    /// Scopes whose last judged attempt failed.
    pub(crate) failures: BTreeMap<ScopePath, CheckFailure>,
    /// Confirmed effects of items whose `forEach` check runs again because something failed.
    pub(crate) confirmed_effects: Vec<ConfirmedEffect>,
    /// The last nested run by the values of the items, which a further attempt opens again.
    pub(crate) nested: BTreeMap<Items, NestedBefore>,
    /// A nested run, or an earlier generation of an effect, did not definitely fail.
    pub(crate) has_lasted: bool,
    /// Effects by their `effect_key`, or by the values of their items.
    pub(crate) effects: BTreeMap<String, EffectRecord>,
    /// Effects that were confirmed before the check would have run.
    pub(crate) reused: u32,
    /// Results of items of an earlier pass, until the next pass has an item at the same scope.
    pub(crate) last_results: BTreeMap<ScopePath, LastResult>,
}

/// A nested run that has ended, and the attempt after it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NestedBefore {
    pub(crate) run: RunId,
    /// Where it was last attempted.
    pub(crate) scope: ScopePath,
    /// When the attempt after it was started, 0 before.
    pub(crate) attempted_at: Millis,
    /// An effect in it is unknown, or broke its contract: a route does not lead away from it.
    pub(crate) has_open_effects: bool,
    /// An effect in it did not definitely fail.
    pub(crate) has_lasting_effects: bool,
}

/// An effect that is confirmed for an item, wherever the item is in the next list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConfirmedEffect {
    pub(crate) scope: ScopePath,
    /// The items that lead to it, outermost first.
    pub(crate) items: Vec<Value>,
    pub(crate) cell: Cell,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckFailure {
    pub(crate) code: ReasonCode,
    pub(crate) message: String,
    /// The entry at which it was judged.
    pub(crate) entry: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AnswerHistory(pub(crate) Vec<RecordedAnswer>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedAnswer {
    pub(crate) entry: u64,
    pub(crate) answer: Arc<Answer>,
}

/// One node in the tree of a check's scopes.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most nodes are leaves")]
pub(crate) enum Node {
    /// The items of the parent are not known yet. Each begins with this activation.
    Unexpanded(Activation),
    Group(Group),
    /// Skipped as a whole, without items.
    SkippedGroup(SkipReason),
    Leaf(Cell),
}

/// Why a check may start in a scope, and under which event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Activation {
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
    /// The outputs as one array, built on first use.
    pub(crate) outputs: Derived<OnceCell<Value>>,
}

/// A check in one scope, once its items are known.
///
/// What only means something in one phase is in that phase. Beside it is what outlives phases: results, which
/// expressions read until the next attempt replaces them, and what one decision remembers over its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) phase: Phase,
    pub(crate) activation: Activation,
    /// The result of the last judged attempt; a later skip leaves it.
    pub(crate) last_result: LastResult,
    pub(crate) answer: Option<Arc<Answer>>,
    /// Retries since it was last decided.
    pub(crate) retries: u32,
    /// Repairs since it was last decided.
    pub(crate) repairs: u32,
    /// The next attempt is a repair.
    pub(crate) is_repairing: bool,
    /// What its attempts have spent since it was last decided.
    pub(crate) spent: Spent,
    /// The last conversation with its harness, as the harness can resume it.
    pub(crate) conversation: Option<Value>,
    /// Repeats of an effect that `reconcile` asked for, since it was last decided.
    pub(crate) repeats: u32,
    /// The next attempt is a retry that is counted already.
    pub(crate) retry_counted: bool,
    /// `reconcile` or a person allows the next attempt.
    pub(crate) cleared: bool,
    /// `reconcile` or a person is asked about the effect of another check or run.
    pub(crate) asked_elsewhere: Option<AskedElsewhere>,
    /// The question about it, while the ledger is asked again. It is open until the ledger has answered.
    pub(crate) question: Option<String>,
    /// The same effect, once they allow the next attempt to take it over.
    pub(crate) cleared_elsewhere: Option<AskedElsewhere>,
    /// The effect of the last attempt, in `CheckState::effects`.
    pub(crate) effect: Option<String>,
    /// The key of that effect, as the ledger has it.
    pub(crate) last_key: Option<String>,
    /// What a person has said became of it after the run had ended.
    pub(crate) resolved: Option<EffectState>,
    /// What safe mode kept it from doing.
    pub(crate) prevented: Option<Box<Request>>,
    /// What the ledger answered since the last attempt.
    pub(crate) ledger: Option<Box<LedgerAnswer>>,
    /// What is not known of an effect that was found done.
    pub(crate) lost: Lost,
    /// A retry or a route is meant to mend a failure. It spans the attempts and waits in between.
    pub(crate) recovering: bool,
    /// Stays unknown while a repeat is due, and after a run was ended without an answer.
    pub(crate) certainty: Certainty,
    /// What was approved. A retry of the same starts without asking again.
    pub(crate) approved: Option<Box<Approved>>,
    /// How often an approval was asked for again because it had gone stale, since it was last decided.
    pub(crate) asked_anew: u32,
    /// Why it was blocked, if an artifact that it stands on has changed.
    pub(crate) changed: Option<Box<ChangedArtifact>>,
    /// What the look after the last answer found.
    pub(crate) delivered: Option<Arc<[ArtifactFile]>>,
    /// The entry at which this pass of a `forEach` began.
    pub(crate) pass_from: u64,
    /// It was ready when the loop budget of its scope was spent, so it starts nevertheless.
    pub(crate) was_ready_at_halt: bool,
}

/// What is not known of the attempt that had an effect. Contracts that read it are broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lost {
    #[default]
    Nothing,
    /// `reconcile` gave the output. The rest of the record is not known.
    Record,
    Everything,
}

/// An approval that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Approved {
    pub(crate) wait: String,
    pub(crate) digest: String,
}

/// The result of the last judged attempt. It outlives the item, until a new pass has an item at the same scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LastResult {
    pub(crate) runs: u32,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) issues: Vec<Issue>,
    /// What the attempt owed of its artifacts.
    pub(crate) missing: Vec<MissingArtifact>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    pub(crate) location: Location,
    pub(crate) kind: WaitKind,
    pub(crate) digest: String,
    /// What is to be approved.
    pub(crate) subject: Option<Arc<ApprovalSubject>>,
    /// The actors who have approved so far, where more than one must.
    pub(crate) approved_by: Vec<Option<String>>,
    pub(crate) nested_reason: Option<ReasonCode>,
    pub(crate) prompt: String,
    pub(crate) choices: Vec<String>,
    pub(crate) expires_at: Option<Millis>,
}

impl Wait {
    pub(crate) fn terms(&self) -> ApprovalTerms {
        self.subject.as_ref().map(|subject| subject.terms.clone()).unwrap_or_default()
    }
}

/// A routing block at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Route {
    pub(crate) block: RoutingBlock,
    pub(crate) ran: bool,
    pub(crate) ran_js: bool,
    pub(crate) awaiting: BTreeSet<Location>,
    pub(crate) target_failed: bool,
}

impl Route {
    pub(crate) fn new(block: RoutingBlock) -> Route {
        Route { block, ran: false, ran_js: false, awaiting: BTreeSet::new(), target_failed: false }
    }
}

impl Node {
    pub(crate) fn is_settled(&self) -> bool {
        match self {
            Node::Unexpanded(_) => false,
            Node::Group(group) => group.open == 0,
            Node::SkippedGroup(_) => true,
            Node::Leaf(cell) => cell.phase.is_settled(),
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
        self.has_settled_with(Verdict::Succeeded)
    }

    /// Settled with the verdict of an attempt, and not skipped.
    pub(crate) fn has_settled_with(&self, verdict: Verdict) -> bool {
        self.phase == Phase::Settled { skipped: None } && self.has_verdict(verdict)
    }

    pub(crate) fn has_verdict(&self, verdict: Verdict) -> bool {
        self.last_result.verdict == Some(verdict)
    }

    pub(crate) fn skipped(&self) -> Option<SkipReason> {
        let Phase::Settled { skipped } = &self.phase else { return None };
        *skipped
    }

    /// A person is asked about the effect of another check or run.
    pub(crate) fn is_asked_elsewhere(&self) -> bool {
        match self.phase {
            Phase::Waiting { .. } => self.asked_elsewhere.is_some(),
            // The ledger is asked again.
            Phase::Consulting { .. } => self.question.is_some(),
            Phase::Pending
            | Phase::Running { .. }
            | Phase::Reconciling { .. }
            | Phase::Inspecting { .. }
            | Phase::Answered
            | Phase::Judged { .. }
            | Phase::RetryWait { .. }
            | Phase::Due
            | Phase::Settled { .. } => false,
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.certainty == Certainty::Unknown
    }

    /// Something was asked for that may still happen, or may have happened: a route must not withdraw it.
    pub(crate) fn cannot_be_withdrawn(&self) -> bool {
        match &self.phase {
            Phase::Running { .. }
            | Phase::Reconciling { .. }
            | Phase::Consulting { .. }
            | Phase::Inspecting { .. } => true,
            Phase::Waiting { request, .. } => request.is_some() || self.is_unknown(),
            Phase::Pending
            | Phase::Answered
            | Phase::Judged { .. }
            | Phase::RetryWait { .. }
            | Phase::Due => self.is_unknown(),
            Phase::Settled { .. } => false,
        }
    }
}
