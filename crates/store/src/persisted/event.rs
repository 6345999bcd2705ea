//! The persisted shape of journal entries.

use std::sync::Arc;

use escrow_model::{
    Answer, ApprovalSubject, Assumption, ChangedArtifact, Delivery, EffectInQuestion, EffectIntent,
    EffectState, Event, Facts, FaultClass, FlawKind, Issue, IssueCode, LedgerEffect, Message, Plan, Reason,
    ReasonCode, RecordedOutcome, Recovery, RefusalCode, Request, RetryKind, RoutedBy, RoutingBlock, RunId,
    RunOptions, ScopePath, ScopeStep, ScopedCheck, Severity, SkipReason, Verdict, WaitKind, Warning,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::persist::{Absent, Persist, RestoreError, Written, persisted_as_is, record, record_enum};

impl Absent for RetryKind {
    fn is_absent(&self) -> bool {
        *self == RetryKind::default()
    }
}

persisted_as_is!(
    Assumption,
    EffectState,
    FaultClass,
    FlawKind,
    IssueCode,
    ReasonCode,
    Recovery,
    RefusalCode,
    RetryKind,
    RoutedBy,
    RoutingBlock,
    Severity,
    SkipReason,
    Verdict,
    WaitKind,
);

record_enum!(EventRecord for Event {
    RunStarted {
        plan: Arc<Plan>,
        options: Arc<RunOptions>,
        facts: Arc<Facts>,
        title: Option<String> = default,
        group: Option<String> = default,
    },
    CheckSkipped {
        check: String,
        scope: ScopePath = default,
        reason: SkipReason,
        detail: String = default,
        request: Option<Box<Request>> = default,
    },
    AttemptStarted {
        check: String,
        scope: ScopePath = default,
        attempt: u32,
        external: bool,
        request: Arc<Request>,
        effect: Option<Box<EffectIntent>> = default,
    },
    LedgerAsked { check: String, scope: ScopePath = default, key: String, digest: String },
    LedgerAnswered {
        check: String,
        scope: ScopePath = default,
        key: String,
        effect: Option<Box<LedgerEffect>> = default,
        refused: bool = default,
    },
    EffectReused { check: String, scope: ScopePath = default, key: String, run: RunId },
    EffectResolved {
        check: String,
        scope: ScopePath = default,
        key: String,
        state: EffectState,
        by: String,
        why: String,
    },
    AttemptAnswered { check: String, scope: ScopePath = default, attempt: u32, answer: Arc<Answer> },
    CheckJudged {
        check: String,
        scope: ScopePath = default,
        attempt: u32,
        verdict: Verdict,
        issues: Vec<Issue> = default,
        fault: Option<FaultClass> = default,
        violation: bool = default,
        settled: bool,
    },
    OutcomeStored { outcome: Box<RecordedOutcome> },
    CheckSettled { check: String, scope: ScopePath = default },
    RetryScheduled {
        check: String,
        scope: ScopePath = default,
        retry: u32,
        at: u64,
        kind: RetryKind = default,
    },
    RetryDue { check: String, scope: ScopePath = default },
    Routed {
        check: String,
        scope: ScopePath = default,
        block: RoutingBlock,
        by: RoutedBy,
        to: String,
        to_scope: ScopePath = default,
        goto_event: Option<String> = default,
        again: bool = default,
    },
    RoutingDone { check: String, scope: ScopePath = default, block: RoutingBlock },
    LoopBudgetExceeded { check: String, scope: ScopePath = default, to: String, limit: u32 },
    IssueRaised {
        check: String,
        scope: ScopePath = default,
        issue: Issue,
        fails_run: Option<ReasonCode> = default,
    },
    WarningRaised { warning: Warning },
    FaultDetected as "fault.detected" { check: String, scope: ScopePath = default, class: FaultClass, code: IssueCode },
    FaultIsolated as "fault.isolated" { check: String, scope: ScopePath = default },
    RecoveryStarted as "fault.recovery.started" { check: String, scope: ScopePath = default, by: Recovery },
    RecoverySucceeded as "fault.recovery.succeeded" { check: String, scope: ScopePath = default },
    RecoveryExhausted as "fault.recovery.exhausted" { check: String, scope: ScopePath = default },
    WaitStarted {
        check: String,
        scope: ScopePath = default,
        kind: WaitKind,
        id: String,
        digest: String = default,
        subject: Option<Box<ApprovalSubject>> = default,
        replaces: Option<String> = default,
        nested_reason: Option<ReasonCode> = default,
        prompt: String = default,
        choices: Vec<String> = default,
        expires_at: Option<u64> = default,
    },
    NestedResumed { check: String, scope: ScopePath = default },
    ReconcileStarted { check: String, scope: ScopePath = default, attempt: u32, request: Arc<Request> },
    Reconciled {
        check: String,
        scope: ScopePath = default,
        attempt: u32,
        answer: Box<Answer>,
        finding: Option<Assumption> = default,
        detail: String,
        output: Option<Value> = default,
        effect: Option<EffectInQuestion> = default,
    },
    MessageDelivered { message: Message, refused: Option<String> = default, refusal: Option<RefusalCode> = default, effect: Option<EffectInQuestion> = default, sent_at: Option<u64> = default },
    WaitExpired { id: String },
    WaitWithdrawn { check: String, scope: ScopePath = default, id: String },
    ArtifactChanged { check: String, scope: ScopePath = default, artifact: ChangedArtifact },
    MemoryChanged { namespace: String, key: String, value: Option<Value> },
    RunResumed { by: Vec<String> = default },
    RunReopened { places: Vec<ScopedCheck>, by: Option<String> = default, group: Option<String> = default },
    RunWaiting { reason: Reason },
    DeadlinePassed {},
    CheckInspected { check: String, scope: ScopePath = default, attempt: u32, delivery: Delivery },
    ArtifactsVerified { delivery: Delivery },
    RunEnded { reason: Reason },
    RunOverridden { reason: Reason, by: String, why: String },
});

record!(ScopedCheckRecord for ScopedCheck {
    check: String,
    scope: ScopePath = default,
});

record!(EffectIntentRecord for EffectIntent {
    key: String,
    generation: Option<u32> = default,
    digest: String,
    scope: Vec<ScopeStep> = default,
    takes_over: Option<u32> = default,
});

/// An effect of the ledger. Once it had the output of an attempt alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LedgerEffectRecord {
    run: <RunId as Persist>::Record,
    check: String,
    #[serde(default)]
    scope: <ScopePath as Persist>::Record,
    attempts: u32,
    state: EffectState,
    digest: String,
    #[serde(default)]
    answer: Option<Box<<Answer as Persist>::Record>>,
    /// In place of `answer`: the record of the attempt was not kept.
    #[serde(default)]
    output: Option<Value>,
}

impl Persist for LedgerEffect {
    type Record = LedgerEffectRecord;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            run: Written<'a, RunId>,
            check: &'a str,
            #[serde(skip_serializing_if = "Written::is_absent")]
            scope: Written<'a, ScopePath>,
            attempts: u32,
            state: EffectState,
            digest: &'a str,
            #[serde(skip_serializing_if = "Written::is_absent")]
            answer: Written<'a, Option<Arc<Answer>>>,
        }
        let fields = Fields {
            run: Written(&self.run),
            check: &self.check,
            scope: Written(&self.scope),
            attempts: self.attempts,
            state: self.state,
            digest: &self.digest,
            answer: Written(&self.answer),
        };
        fields.serialize(serializer)
    }

    fn restore(record: LedgerEffectRecord) -> Result<LedgerEffect, RestoreError> {
        let answer = record.answer.map(|answer| Answer::restore(*answer)).transpose()?;
        Ok(LedgerEffect {
            run: Persist::restore(record.run)?,
            check: record.check,
            scope: Persist::restore(record.scope)?,
            attempts: record.attempts,
            state: record.state,
            digest: record.digest,
            answer: answer.or_else(|| record.output.map(output_alone)).map(Arc::new),
        })
    }
}

/// What is left of an answer of which only the output was kept. Whether stars in it stand for a secret is not known.
fn output_alone(output: Value) -> Answer {
    let has_stars = output.to_string().contains("***");
    let mut answer = Answer::confirmed_later(output);
    if has_stars {
        answer.mark_redacted();
    }
    answer
}

record!(EffectInQuestionRecord for EffectInQuestion {
    key: String,
    attempts_elsewhere: Option<u32> = default,
    confirmed: bool = default,
});

record!(ScopeStepRecord for ScopeStep {
    check: String,
    index: u32,
});
