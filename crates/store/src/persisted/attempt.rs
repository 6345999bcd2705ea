//! The persisted shape of what an attempt was asked for, what it answered, and how that was judged.

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_model::{
    BrokenRule, Ending, Evidence, FaultClass, FaultCode, Issue, IssueCode, Outcome, OutcomeId, ProviderFault,
    ProviderName, Reason, ReasonCode, RecordedOutcome, Request, RuleCheck, ScopePath, Severity, Warning,
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::persist::{Persist, RestoreError, Written, persisted_as_is, record, record_choice};

persisted_as_is!(FaultCode, OutcomeId, Arc<str>);

record!(RequestRecord for Request {
    provider: ProviderName,
    fields: Map<String, Value>,
    env: BTreeMap<String, String> = default,
    environment: Option<BTreeMap<String, String>> = default,
    handed_env: BTreeMap<String, String> = default,
    timeout_ms: u64,
    idempotency_key: String,
    item: Option<Value> = default,
});

record_choice!(EndingRecord for Ending {
    Fault(ProviderFault);
    Done
});

record!(ProviderFaultRecord for ProviderFault {
    code: FaultCode,
    message: String,
    class: FaultClass,
    effect_unknown: bool,
    retry_after_ms: Option<u64> = default,
});

record!(IssueRecord for Issue {
    code as "rule_id": IssueCode,
    severity: Severity,
    message: String,
    rule: Option<Box<BrokenRule>> = default,
});

record!(BrokenRuleRecord for BrokenRule {
    rule_id: Arc<str>,
    field: Arc<str>,
    check: RuleCheck,
    message: String,
});

record!(WarningRecord for Warning {
    code: String,
    message: String,
    check: Option<String>,
});

record!(ReasonRecord for Reason {
    code: ReasonCode,
    summary: String,
    evidence: Vec<Evidence>,
});

record!(EvidenceRecord for Evidence {
    kind: String,
    id: String,
    label: String,
});

record!(RecordedOutcomeRecord for RecordedOutcome {
    id: OutcomeId,
    name: String,
    outcome: Outcome,
    check: Option<String> = default,
    scope: ScopePath = default,
    file_path: Option<String> = default,
});

record!(OutcomeRecord for Outcome {
    kind: String,
    summary: String,
    passed: Option<bool>,
    content: Value,
});
