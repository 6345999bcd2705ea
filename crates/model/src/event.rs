//! Journal entries: every input and decision of a run, in order. Everything else is derived from them.
//!
//! An event says what was decided or received, never how it is shown. Readers match exhaustively, so the compiler
//! lists every place that a new variant concerns.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Answer, ApprovalSubject, Assumption, ChangedArtifact, Delivery, EffectInQuestion, EffectIntent,
    EffectState, Facts, FaultClass, Issue, IssueCode, LedgerEffect, Message, Millis, Plan, Reason,
    ReasonCode, RecordedOutcome, Recovery, RefusalCode, Request, RetryKind, RoutedBy, RoutingBlock, RunId,
    RunOptions, ScopePath, ScopedCheck, SkipReason, Verdict, Warning,
};

/// An event with its time, as the journal holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub at: Millis,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    RunStarted {
        plan: Arc<Plan>,
        options: Arc<RunOptions>,
        facts: Arc<Facts>,
        /// `title` of the playbook, rendered.
        title: Option<String>,
        /// The concurrency group that the run holds until it ends. The commit is refused if another run has it.
        group: Option<String>,
    },

    /// With a scope shorter than the check's fan, the whole group of its items is skipped.
    CheckSkipped {
        check: String,
        scope: ScopePath,
        reason: SkipReason,
        /// What decided it, in words.
        detail: String,
        /// In safe mode, what would have been done.
        request: Option<Box<Request>>,
    },

    /// The intent: committed before the provider is called.
    AttemptStarted {
        check: String,
        scope: ScopePath,
        attempt: u32,
        external: bool,
        request: Arc<Request>,
        /// The effect that the attempt belongs to. The commit is refused if another run has the key meanwhile.
        effect: Option<Box<EffectIntent>>,
    },

    /// The ledger is asked about an effect before a person is, and before the intent.
    LedgerAsked {
        check: String,
        scope: ScopePath,
        key: String,
        /// SHA-256 of what would be asked of the provider.
        digest: String,
    },
    /// What the ledger knows about a key: nothing, or the effect that has it.
    LedgerAnswered {
        check: String,
        scope: ScopePath,
        key: String,
        effect: Option<Box<LedgerEffect>>,
        /// It came with the refusal of an intent: the effect is newer than what this run had decided on.
        refused: bool,
    },
    /// The effect is confirmed already. Its recorded output is judged instead of an attempt.
    EffectReused {
        check: String,
        scope: ScopePath,
        key: String,
        run: RunId,
    },
    /// A person says what became of an effect after its run has ended.
    EffectResolved {
        check: String,
        scope: ScopePath,
        key: String,
        state: EffectState,
        by: String,
        why: String,
    },

    /// The provider's answer, before it is judged.
    AttemptAnswered {
        check: String,
        scope: ScopePath,
        attempt: u32,
        answer: Arc<Answer>,
    },

    /// What the contracts made of the answer. Without an answer (a template that failed, a failed `assume`
    /// under `assume_mode: fail`) `attempt` is 0.
    CheckJudged {
        check: String,
        scope: ScopePath,
        attempt: u32,
        verdict: Verdict,
        issues: Vec<Issue>,
        fault: Option<FaultClass>,
        /// A contract was broken: `schema`, `rules`, `guarantee` or `fail_if`.
        violation: bool,
        /// The verdict is settled and dependents may start; otherwise routing comes first, then `CheckSettled`
        /// or a `RoutingDone`.
        settled: bool,
    },

    /// A typed result: the output of a check with `outcome`, or a delivered file of a `kind`.
    OutcomeStored {
        outcome: Box<RecordedOutcome>,
    },

    /// The verdict is settled although routing is not over: dependents may start.
    CheckSettled {
        check: String,
        scope: ScopePath,
    },

    RetryScheduled {
        check: String,
        scope: ScopePath,
        /// Its number among those of its kind.
        retry: u32,
        at: Millis,
        kind: RetryKind,
    },
    RetryDue {
        check: String,
        scope: ScopePath,
    },

    /// A check routes to another. The target and everything that depends on it are invalidated.
    Routed {
        check: String,
        scope: ScopePath,
        block: RoutingBlock,
        by: RoutedBy,
        to: String,
        to_scope: ScopePath,
        goto_event: Option<String>,
        /// It runs something again that had run there before: it counts against the loop budget.
        again: bool,
    },
    /// A routing block has nothing more to do.
    RoutingDone {
        check: String,
        scope: ScopePath,
        block: RoutingBlock,
    },
    LoopBudgetExceeded {
        check: String,
        scope: ScopePath,
        to: String,
        limit: u32,
    },

    /// An issue that no verdict carries: an expression that could not be evaluated, an unknown target.
    IssueRaised {
        check: String,
        scope: ScopePath,
        issue: Issue,
        /// The run fails for it, with this code.
        fails_run: Option<ReasonCode>,
    },
    WarningRaised {
        warning: Warning,
    },

    FaultDetected {
        check: String,
        scope: ScopePath,
        class: FaultClass,
        code: IssueCode,
    },
    /// What the fault keeps from running.
    FaultIsolated {
        check: String,
        scope: ScopePath,
    },
    RecoveryStarted {
        check: String,
        scope: ScopePath,
        by: Recovery,
    },
    RecoverySucceeded {
        check: String,
        scope: ScopePath,
    },
    RecoveryExhausted {
        check: String,
        scope: ScopePath,
    },

    /// The check waits for a message.
    WaitStarted {
        check: String,
        scope: ScopePath,
        kind: WaitKind,
        id: String,
        /// SHA-256 of the subject that is to be approved, or of the request that is to be answered.
        digest: String,
        /// What is to be approved.
        subject: Option<Box<ApprovalSubject>>,
        /// The approval that this one replaces, because what it approved has changed.
        replaces: Option<String>,
        /// Why the nested run waits, of `WaitKind::Nested`.
        nested_reason: Option<ReasonCode>,
        prompt: String,
        choices: Vec<String>,
        expires_at: Option<Millis>,
    },
    /// The nested run that the check waited for is driven again: the check no longer waits.
    NestedResumed {
        check: String,
        scope: ScopePath,
    },
    /// The effect of an attempt is unknown, and `reconcile` is asked: committed before its command runs.
    ReconcileStarted {
        check: String,
        scope: ScopePath,
        attempt: u32,
        request: Arc<Request>,
    },
    /// What `reconcile` answered, and what that means. Without a finding the effect stays unknown.
    Reconciled {
        check: String,
        scope: ScopePath,
        attempt: u32,
        answer: Box<Answer>,
        finding: Option<Assumption>,
        /// What decided it, in words.
        detail: String,
        /// The output of the effect, where `reconcile` could tell it.
        output: Option<Value>,
        effect: Option<EffectInQuestion>,
    },
    MessageDelivered {
        message: Message,
        /// Why it changed nothing, when it did not.
        refused: Option<String>,
        /// The same as a code. Absent in entries of before the code was written.
        refusal: Option<RefusalCode>,
        /// The effect that an `assume` settles.
        effect: Option<EffectInQuestion>,
        /// When it was sent, if it waited in the inbox of the run.
        sent_at: Option<Millis>,
    },
    WaitExpired {
        id: String,
    },
    /// A route re-decides the check before its question was answered.
    WaitWithdrawn {
        check: String,
        scope: ScopePath,
        id: String,
    },
    /// A file is no longer what a check on the way to this one has verified, so this one must not start.
    ArtifactChanged {
        check: String,
        scope: ScopePath,
        artifact: ChangedArtifact,
    },

    MemoryChanged {
        namespace: String,
        key: String,
        value: Option<Value>,
    },

    /// Another process drives the run from here on.
    RunResumed {
        /// The actors who asked for it. Empty when a message or the end of a nested run led here.
        by: Vec<String>,
    },
    /// A person retries what failed. These checks and everything that depends on them are invalidated, and nothing
    /// else.
    RunReopened {
        places: Vec<ScopedCheck>,
        by: Option<String>,
        /// The concurrency group that the run holds again. The commit is refused if another run has it.
        group: Option<String>,
    },
    /// Nothing runs; a person must act.
    RunWaiting {
        reason: Reason,
    },
    DeadlinePassed {},
    /// What a check had delivered when its provider was done, of what its `artifacts` names.
    CheckInspected {
        check: String,
        scope: ScopePath,
        attempt: u32,
        delivery: Delivery,
    },
    ArtifactsVerified {
        delivery: Delivery,
    },
    RunEnded {
        reason: Reason,
    },
    /// A person overrides the status of a run that has ended. The reason names who and why, and what it was before;
    /// nothing else of the run changes.
    RunOverridden {
        reason: Reason,
        by: String,
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    Approval,
    Input,
    UnknownEffect,
    /// A nested run waits; its id is the wait's.
    Nested,
}

impl Event {
    /// The check that an event is about.
    pub fn check(&self) -> Option<&str> {
        match self {
            Event::CheckSkipped { check, .. }
            | Event::AttemptStarted { check, .. }
            | Event::AttemptAnswered { check, .. }
            | Event::LedgerAsked { check, .. }
            | Event::LedgerAnswered { check, .. }
            | Event::EffectReused { check, .. }
            | Event::EffectResolved { check, .. }
            | Event::CheckInspected { check, .. }
            | Event::CheckJudged { check, .. }
            | Event::CheckSettled { check, .. }
            | Event::RetryScheduled { check, .. }
            | Event::RetryDue { check, .. }
            | Event::Routed { check, .. }
            | Event::RoutingDone { check, .. }
            | Event::LoopBudgetExceeded { check, .. }
            | Event::IssueRaised { check, .. }
            | Event::FaultDetected { check, .. }
            | Event::FaultIsolated { check, .. }
            | Event::RecoveryStarted { check, .. }
            | Event::RecoverySucceeded { check, .. }
            | Event::RecoveryExhausted { check, .. }
            | Event::WaitStarted { check, .. }
            | Event::NestedResumed { check, .. }
            | Event::WaitWithdrawn { check, .. }
            | Event::ArtifactChanged { check, .. }
            | Event::ReconcileStarted { check, .. }
            | Event::Reconciled { check, .. } => Some(check),
            Event::OutcomeStored { outcome } => outcome.check.as_deref(),
            Event::RunStarted { .. }
            | Event::WarningRaised { .. }
            | Event::MessageDelivered { .. }
            | Event::WaitExpired { .. }
            | Event::MemoryChanged { .. }
            | Event::RunResumed { .. }
            | Event::RunReopened { .. }
            | Event::RunWaiting { .. }
            | Event::DeadlinePassed {}
            | Event::ArtifactsVerified { .. }
            | Event::RunEnded { .. }
            | Event::RunOverridden { .. } => None,
        }
    }
}
