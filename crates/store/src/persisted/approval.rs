//! The persisted shape of approvals: the rule in a plan, and what was asked for.

use escrow_model::{
    ApprovalRule, ApprovalSubject, ApprovalTerms, ApprovedArtifact, ApprovedEffect, ApprovedOutcome,
    ApprovedOutput, ApprovedPlaybook, ApprovedValue, ChangedArtifact, Criticality, GrantedSecret,
    OutputExcerpt, ProviderName, Request, SecretHandover, Text,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::persist::{Persist, RestoreError, Written, persisted_as_is, record};

persisted_as_is!(SecretHandover);

/// `requires_approval` was a flag before it had terms.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum RequiresApproval {
    Flag(bool),
    Rule(WholeRuleRecord),
}

/// The rule with all its fields.
struct WholeRule {
    prompt: Option<Text>,
    terms: ApprovalTerms,
    expires_ms: u64,
}

record!(WholeRuleRecord for WholeRule {
    prompt: Option<Text> = default,
    terms: ApprovalTerms,
    expires_ms: u64,
});

impl Persist for ApprovalRule {
    type Record = RequiresApproval;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ApprovalRule { prompt, terms, expires_ms } = self.clone();
        WholeRule { prompt, terms, expires_ms }.write(serializer)
    }

    fn restore(record: RequiresApproval) -> Result<ApprovalRule, RestoreError> {
        match record {
            RequiresApproval::Flag(true) => Ok(ApprovalRule::default()),
            RequiresApproval::Flag(false) => {
                Err(RestoreError("`requires_approval` is left out where there is none".into()))
            }
            RequiresApproval::Rule(rule) => {
                let WholeRule { prompt, terms, expires_ms } = WholeRule::restore(rule)?;
                Ok(ApprovalRule { prompt, terms, expires_ms })
            }
        }
    }
}

record!(ApprovalTermsRecord for ApprovalTerms {
    by: Vec<String> = default,
    count: u32,
    independent: bool = default,
});

record!(ApprovalSubjectRecord for ApprovalSubject {
    playbook: String,
    title: Option<String> = default,
    criticality: Criticality,
    request: Request,
    values: Vec<ApprovedValue> = default,
    reconcile: Option<String> = default,
    secrets: Vec<GrantedSecret> = default,
    nested: Option<ApprovedPlaybook> = default,
    inputs: Map<String, Value> = default,
    outputs: Vec<ApprovedOutput> = default,
    outcomes: Vec<ApprovedOutcome> = default,
    artifacts: Vec<ApprovedArtifact> = default,
    terms: ApprovalTerms,
});

record!(ApprovedPlaybookRecord for ApprovedPlaybook {
    name: String,
    file: String,
    sha256: String,
    external: Vec<ApprovedEffect> = default,
});

record!(ApprovedEffectRecord for ApprovedEffect {
    playbook: String,
    check: String,
    provider as "type": ProviderName,
    command: Option<String> = default,
    request: Map<String, Value> = default,
    values: Vec<String> = default,
});

record!(ApprovedValueRecord for ApprovedValue {
    expression: String,
    value: String,
});

record!(GrantedSecretRecord for GrantedSecret {
    name: String,
    handover: SecretHandover,
});

record!(ApprovedOutputRecord for ApprovedOutput {
    check: String,
    sha256: String,
    value: Option<Value> = default,
    excerpt: Option<OutputExcerpt> = default,
});

record!(OutputExcerptRecord for OutputExcerpt {
    bytes: u64,
    head: String,
    tail: String,
});

record!(ApprovedOutcomeRecord for ApprovedOutcome {
    id: String,
    name: String,
    kind: String,
    passed: Option<bool> = default,
    summary: String,
    sha256: String,
});

record!(ApprovedArtifactRecord for ApprovedArtifact {
    id: String,
    path: String,
    size: u64,
    sha256: String,
    check: String,
});

record!(ChangedArtifactRecord for ChangedArtifact {
    id: String,
    path: String,
    gate: String,
    expected: String = default,
    found: String = default,
});
