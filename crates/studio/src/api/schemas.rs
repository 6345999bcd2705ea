//! The shape of each document of the API, for the OpenAPI document.
//!
//! Every member is always there unless it is [`Shape::Optional`]. Members may be added, so objects are open.
//! `crates/cli/tests/studio_openapi.rs` compares real answers with these shapes, and there no other member is allowed.

use escrow_model::{
    ApprovalStatus, Assumption, ChainStatus, CheckStatus, Criticality, EffectState, RunStatus, SkipReason,
};
use serde_json::{Map, Value, json};

use crate::routes::{Route, Verb};

/// What a member holds.
enum Shape {
    Text,
    /// RFC 3339, in UTC.
    Time,
    Integer,
    Number,
    Truth,
    /// Whatever a check, a playbook or a provider put there.
    Any,
    /// An object whose members are not fixed.
    Object,
    Words(fn() -> Vec<&'static str>),
    Named(&'static str),
    List(&'static Shape),
    Map(&'static Shape),
    Nullable(&'static Shape),
    /// It may be missing.
    Optional(&'static Shape),
    Either(&'static [Shape]),
}

use Shape::{
    Any, Either, Integer, List, Map as MapOf, Named, Nullable, Number, Object, Optional, Text, Time, Truth,
    Words,
};

type Members = &'static [(&'static str, Shape)];

const RUN_STATUS: Shape = Words(|| RunStatus::ALL.iter().map(|one| one.as_str()).collect());
const CHECK_STATUS: Shape = Words(|| CheckStatus::ALL.iter().map(|one| one.as_str()).collect());
const APPROVAL_STATUS: Shape = Words(|| ApprovalStatus::ALL.iter().map(|one| one.as_str()).collect());
const CRITICALITY: Shape = Words(|| Criticality::ALL.iter().map(|one| one.as_str()).collect());
const SKIP_REASON: Shape = Words(|| SkipReason::ALL.iter().map(|one| one.as_str()).collect());
const EFFECT_STATE: Shape = Words(|| EffectState::ALL.iter().map(|one| one.as_str()).collect());
const CHAIN_STATUS: Shape = Words(|| ChainStatus::ALL.iter().map(|one| one.as_str()).collect());
const WAIT_KIND: Shape = Words(|| vec!["approval", "input", "unknown_effect"]);
const DELIVERY_STATUS: Shape = Words(|| vec!["passed", "failed", "warning", "skipped"]);
const CHAIN_RUN_STATUS: Shape = Words(|| {
    let word = |status: &RunStatus| escrow_app::documents::chain_status(*status);
    RunStatus::ALL.iter().map(word).collect()
});

/// The schemas of the document, by name.
const SCHEMAS: &[(&str, Members)] = &[
    ("Error", &[("error", Named("ErrorBody"))]),
    (
        "ErrorBody",
        &[
            ("code", Text),
            ("message", Text),
            ("help", Nullable(&Text)),
            ("diagnostics", Optional(&List(&Object))),
        ],
    ),
    ("Evidence", &[("kind", Text), ("id", Text), ("label", Text)]),
    ("Reason", &[("code", Text), ("summary", Text), ("evidence", List(&Named("Evidence")))]),
    ("Warning", &[("code", Text), ("message", Text), ("check", Nullable(&Text))]),
    ("Issue", &[("rule_id", Text), ("severity", Text), ("message", Text), ("rule", Optional(&Object))]),
    ("Override", &[("from", Text), ("by", Text), ("why", Text), ("at", Time)]),
    (
        "Run",
        &[
            ("id", Text),
            ("playbook", Text),
            ("kind", Words(|| vec!["playbook", "chain", "show"])),
            ("title", Nullable(&Text)),
            ("inputs", Object),
            ("event", Nullable(&Object)),
            ("status", RUN_STATUS),
            ("reason", Nullable(&Named("Reason"))),
            ("invocation_id", Nullable(&Text)),
            ("started_at", Time),
            ("ended_at", Nullable(&Time)),
            ("warnings", List(&Named("Warning"))),
            ("override", Optional(&Named("Override"))),
        ],
    ),
    ("Runs", &[("runs", List(&Named("Run"))), ("missing", Optional(&List(&Named("Loss"))))]),
    (
        "Loss",
        &[("entries", Integer), ("run_id", Text), ("last_entry", Integer), ("noticed_at", Nullable(&Time))],
    ),
    (
        "RunDocument",
        &[
            ("run", Named("Run")),
            ("checks", MapOf(&Named("Check"))),
            ("artifacts", Named("Delivery")),
            ("outcomes", List(&Named("Outcome"))),
            ("decisions", List(&Named("Decision"))),
            ("totals", Optional(&Named("HarnessTotals"))),
        ],
    ),
    (
        "Check",
        &[
            ("status", CHECK_STATUS),
            ("criticality", CRITICALITY),
            ("runs", Integer),
            ("skip_reason", Nullable(&SKIP_REASON)),
            ("issues", List(&Named("Issue"))),
            ("output", Any),
            ("result", Nullable(&Object)),
            ("would_have_done", Optional(&Object)),
            ("items", Optional(&List(&Named("Item")))),
        ],
    ),
    (
        "Item",
        &[
            ("index", Nullable(&Integer)),
            ("scope", List(&Named("ScopeStep"))),
            ("status", CHECK_STATUS),
            ("skip_reason", Nullable(&SKIP_REASON)),
            ("runs", Integer),
            ("output", Any),
            ("would_have_done", Optional(&Object)),
        ],
    ),
    ("ScopeStep", &[("check", Text), ("index", Integer)]),
    (
        "Delivery",
        &[
            ("status", DELIVERY_STATUS),
            ("checked_at", Nullable(&Time)),
            ("missing_required", List(&Named("MissingArtifact"))),
            ("missing_optional", List(&Named("MissingArtifact"))),
            ("produced", List(&Named("ProducedArtifact"))),
            ("not_expected", List(&Named("UnexpectedArtifact"))),
        ],
    ),
    (
        "MissingArtifact",
        &[
            ("id", Text),
            ("path", Text),
            ("required", Truth),
            ("description", Text),
            ("source", Text),
            ("problem", Text),
            ("detail", Optional(&Text)),
        ],
    ),
    ("UnexpectedArtifact", &[("id", Text), ("path", Text), ("if", Text)]),
    ("ProducedArtifact", &[("id", Text), ("path", Text), ("size", Integer), ("sha256", Text)]),
    (
        "HarnessTotals",
        &[
            ("attempts", Integer),
            ("turns", Nullable(&Integer)),
            ("input_tokens", Nullable(&Integer)),
            ("output_tokens", Nullable(&Integer)),
            ("cost_usd", Nullable(&Number)),
        ],
    ),
    (
        "Decision",
        &[
            ("id", Text),
            ("check", Text),
            ("scope", Any),
            ("decision", Text),
            ("by", Nullable(&Text)),
            ("claim", Nullable(&Text)),
            ("note", Nullable(&Text)),
            ("at", Time),
        ],
    ),
    ("Journal", &[("entries", List(&Named("JournalEntry")))]),
    ("JournalEntry", &[("seq", Integer), ("hash", Text), ("entry", Object)]),
    ("Outcomes", &[("outcomes", List(&Named("Outcome")))]),
    (
        "Outcome",
        &[
            ("id", Text),
            ("kind", Text),
            ("name", Text),
            ("created_at", Time),
            ("passed", Nullable(&Truth)),
            ("summary", Text),
            ("content", Any),
            ("run_id", Nullable(&Text)),
            ("invocation_id", Nullable(&Text)),
            ("file_path", Nullable(&Text)),
        ],
    ),
    ("Approvals", &[("approvals", List(&Named("Approval")))]),
    (
        "Approval",
        &[
            ("id", Text),
            ("kind", WAIT_KIND),
            ("status", APPROVAL_STATUS),
            ("run_id", Text),
            ("title", Nullable(&Text)),
            ("directory", Nullable(&Text)),
            ("check", Text),
            ("scope", Text),
            ("criticality", Nullable(&CRITICALITY)),
            ("prompt", Text),
            ("choices", List(&Text)),
            ("digest", Text),
            ("asked_at", Time),
            ("expires_at", Nullable(&Time)),
            ("request", Nullable(&Named("Request"))),
            ("decided_at", Nullable(&Time)),
            ("decided_by", Nullable(&Text)),
            ("claim", Nullable(&Text)),
            ("note", Nullable(&Text)),
            ("next", Nullable(&Text)),
            ("attempted", Optional(&Nullable(&Named("Attempted")))),
            ("playbook", Optional(&Text)),
            ("values", Optional(&List(&Object))),
            ("secrets", Optional(&List(&Object))),
            ("reconcile", Optional(&Nullable(&Text))),
            ("nested", Optional(&Nullable(&Named("NestedPlaybook")))),
            ("inputs", Optional(&Object)),
            ("outputs", Optional(&List(&Named("ApprovedOutput")))),
            ("outcomes", Optional(&List(&Object))),
            ("artifacts", Optional(&List(&Object))),
            ("terms", Optional(&Object)),
            ("approvals", Optional(&List(&Named("GivenApproval")))),
        ],
    ),
    (
        "Request",
        &[
            ("provider", Text),
            ("fields", Object),
            ("env", MapOf(&Text)),
            ("environment", Nullable(&MapOf(&Text))),
            ("handed_env", MapOf(&Text)),
            ("timeout_ms", Integer),
            ("idempotency_key", Text),
            ("item", Any),
        ],
    ),
    (
        "ApprovedOutput",
        &[("check", Text), ("sha256", Text), ("value", Any), ("excerpt", Nullable(&Named("OutputExcerpt")))],
    ),
    ("OutputExcerpt", &[("bytes", Integer), ("head", Text), ("tail", Text)]),
    (
        "NestedPlaybook",
        &[("name", Text), ("file", Text), ("sha256", Text), ("external", List(&Named("NestedEffect")))],
    ),
    (
        "NestedEffect",
        &[
            ("playbook", Text),
            ("check", Text),
            ("type", Text),
            ("command", Nullable(&Text)),
            ("request", Object),
            ("values", List(&Text)),
        ],
    ),
    (
        "GivenApproval",
        &[("by", Nullable(&Text)), ("claim", Nullable(&Text)), ("note", Nullable(&Text)), ("at", Time)],
    ),
    (
        "Attempted",
        &[
            ("run_id", Text),
            ("check", Text),
            ("scope", Text),
            ("attempt", Integer),
            ("at", Time),
            ("key", Text),
            ("request", Named("Request")),
            ("directory", Text),
            ("ended", Nullable(&Text)),
            ("stdout", Nullable(&Text)),
            ("stderr", Nullable(&Text)),
        ],
    ),
    (
        "Attention",
        &[("attention", List(&Named("AttentionItem"))), ("dismissed", Integer), ("left_out", Integer)],
    ),
    (
        "AttentionItem",
        &[
            ("fingerprint", Text),
            (
                "kind",
                Words(|| {
                    vec![
                        "waiting",
                        "interrupted",
                        "failed",
                        "timed_out",
                        "aborted",
                        "warning",
                        "undelivered",
                        "unknown_effect",
                        "not_begun",
                    ]
                }),
            ),
            ("reason_code", Nullable(&Text)),
            ("playbook", Text),
            ("title", Nullable(&Text)),
            ("check", Nullable(&Text)),
            ("subject", Nullable(&Named("Subject"))),
            ("summary", Text),
            ("count", Integer),
            ("first_at", Time),
            ("last_at", Time),
            ("run_ids", List(&Text)),
            ("wait_id", Nullable(&Text)),
            ("request", Nullable(&Object)),
            ("nested", Nullable(&Object)),
            ("next", Text),
            ("dismissed", Nullable(&Named("Dismissal"))),
        ],
    ),
    ("Subject", &[("kind", Text), ("id", Text)]),
    ("Dismissal", &[("at", Time), ("by", Nullable(&Text)), ("note", Text)]),
    ("Dismissed", &[("item", Named("AttentionItem"))]),
    ("Invocations", &[("invocations", List(&Named("Invocation")))]),
    (
        "Invocation",
        &[
            ("id", Text),
            ("name", Nullable(&Text)),
            ("skill", Nullable(&Text)),
            ("chain_run_id", Nullable(&Text)),
            ("step_index", Nullable(&Integer)),
            ("prompt", Nullable(&Text)),
            ("started_by", Nullable(&Text)),
            ("status", RUN_STATUS),
            ("health", Nullable(&RUN_STATUS)),
            ("reason", Nullable(&Named("Reason"))),
            ("decisive_run_id", Nullable(&Text)),
            ("ended_by_hand", Any),
            ("runs_count", Integer),
            ("started_at", Time),
            ("ended_at", Nullable(&Time)),
        ],
    ),
    ("Effects", &[("effects", List(&Named("Effect")))]),
    (
        "Effect",
        &[
            ("key", Text),
            ("state", EFFECT_STATE),
            ("run_id", Text),
            ("check", Text),
            ("scope", List(&Named("ScopeStep"))),
            ("generation", Nullable(&Integer)),
            ("attempts", Integer),
            ("intended_at", Time),
            ("answered_at", Nullable(&Time)),
            ("request_digest", Text),
            ("output", Any),
        ],
    ),
    ("Chains", &[("chains", List(&Named("Chain")))]),
    (
        "Chain",
        &[
            ("id", Text),
            ("name", Text),
            ("status", CHAIN_STATUS),
            ("description", Nullable(&Text)),
            ("trigger", Any),
            ("concurrency", Any),
            ("max_depth", Integer),
            ("steps", List(&Object)),
            ("file", Nullable(&Text)),
            ("file_state", Text),
            ("directory", Nullable(&Text)),
            ("version", Integer),
            ("sha256", Text),
            ("defined_by", Nullable(&Text)),
            ("created_at", Time),
            ("updated_at", Time),
            ("not_begun", Nullable(&Object)),
            ("last_run", Nullable(&Named("LastChainRun"))),
            ("waiting", Integer),
            ("recent", MapOf(&Integer)),
            ("definition", Optional(&Object)),
            ("text", Optional(&Text)),
        ],
    ),
    (
        "LastChainRun",
        &[("id", Text), ("status", CHAIN_RUN_STATUS), ("trigger_event", Any), ("created_at", Time)],
    ),
    (
        "ChainDocument",
        &[
            ("chain", Named("Chain")),
            ("chain_runs", List(&Named("ChainRun"))),
            ("fires", List(&Named("Fire"))),
        ],
    ),
    ("ChainRuns", &[("chain_runs", List(&Named("ChainRun"))), ("fires", List(&Named("Fire")))]),
    (
        "ChainRun",
        &[
            ("id", Text),
            ("chain", Text),
            ("title", Nullable(&Text)),
            ("status", CHAIN_RUN_STATUS),
            ("reason", Nullable(&Named("Reason"))),
            ("trigger_event", Any),
            ("fire_key", Nullable(&Text)),
            ("invocation_id", Nullable(&Text)),
            ("current_step", Nullable(&Integer)),
            ("started_at", Time),
            ("ended_at", Nullable(&Time)),
            ("steps", List(&Named("ChainStep"))),
        ],
    ),
    (
        "ChainStep",
        &[
            ("index", Integer),
            ("name", Nullable(&Text)),
            ("check", Text),
            ("skill", Nullable(&Text)),
            ("action", Nullable(&Text)),
            ("status", CHECK_STATUS),
            ("skip_reason", Nullable(&SKIP_REASON)),
            ("condition", Nullable(&Named("Condition"))),
            ("criticality", CRITICALITY),
            ("requires_approval", Truth),
            ("invocation_id", Nullable(&Text)),
            ("run_id", Nullable(&Text)),
            ("run_status", Nullable(&Text)),
            ("outcome", Any),
            ("output", Any),
            ("approval_id", Nullable(&Text)),
            ("issues", List(&Named("Issue"))),
            ("attempts", Integer),
        ],
    ),
    (
        "Condition",
        &[("source", Text), ("held", Nullable(&Truth)), ("values", List(&Named("ConditionValue")))],
    ),
    ("ConditionValue", &[("source", Text), ("value", Any)]),
    (
        "Fire",
        &[
            ("chain", Text),
            ("key", Text),
            ("at", Time),
            ("event", Object),
            ("depth", Integer),
            ("status", Text),
            ("reason", Nullable(&Named("FireReason"))),
            ("run_id", Nullable(&Text)),
        ],
    ),
    ("FireReason", &[("code", Text), ("summary", Text)]),
    ("Receipts", &[("receipts", List(&Named("Receipt")))]),
    (
        "Receipt",
        &[
            ("schema_version", Text),
            ("receipt_id", Text),
            ("idempotency_key", Nullable(&Text)),
            ("client_id", Text),
            ("adapter_id", Text),
            ("invocation_id", Text),
            ("event", Text),
            ("event_id", Text),
            ("sequence", Nullable(&Integer)),
            ("parent_receipt_id", Nullable(&Text)),
            ("integration_mode", Text),
            ("status", Text),
            ("at_epoch_s", Integer),
            ("harness_session_id", Optional(&Text)),
            ("harness_run_id", Optional(&Text)),
            ("harness_task_id", Optional(&Text)),
            ("payload_receipts", Optional(&List(&Object))),
            ("telemetry_summary", Optional(&Object)),
            ("capability_degradations", Optional(&List(&Object))),
            ("failure_class", Nullable(&Text)),
            ("retry_class", Nullable(&Text)),
            ("warnings", Optional(&List(&Object))),
        ],
    ),
    ("Identified", &[("id", Text)]),
    ("Recorded", &[("recorded", Text), ("run", Named("Identified")), ("next", Nullable(&Text))]),
    ("Begun", &[("run", Named("Identified"))]),
    ("Asked", &[("run", Named("Identified")), ("asked", Nullable(&Integer))]),
    ("ChainFired", &[("chain", Named("NamedChain"))]),
    ("NamedChain", &[("name", Text)]),
    ("ChainChanged", &[("chain", Named("ChangedChain"))]),
    ("ChangedChain", &[("id", Text), ("name", Text), ("status", CHAIN_STATUS)]),
];

/// The documents with which a call is answered: at once, and with 202 when the work continues.
pub(super) fn answers(route: &Route) -> (Value, Option<Value>) {
    let shape = match (route.verb, route.path) {
        (Verb::Get, "/api/runs") => Named("Runs"),
        (Verb::Get, "/api/runs/{id}") => Named("RunDocument"),
        (Verb::Get, "/api/runs/{id}/journal") => Named("Journal"),
        (Verb::Get, "/api/outcomes") => Named("Outcomes"),
        (Verb::Get, "/api/chains") => Named("Chains"),
        (Verb::Get, "/api/chains/{name}") => Named("ChainDocument"),
        (Verb::Get, "/api/chain-runs") => Named("ChainRuns"),
        (Verb::Get, "/api/approvals") => Named("Approvals"),
        (Verb::Get, "/api/attention") => Named("Attention"),
        (Verb::Get, "/api/invocations") => Named("Invocations"),
        (Verb::Get, "/api/effects") => Named("Effects"),
        (Verb::Get, "/api/receipts") => Named("Receipts"),
        (Verb::Post, path) if path.starts_with("/api/approvals/") => Named("Recorded"),
        (Verb::Post, "/api/runs/{id}/cancel") => Either(&[Named("RunDocument"), Named("Asked")]),
        (Verb::Post, path) if path.starts_with("/api/runs/") => Named("RunDocument"),
        (Verb::Post, "/api/attention/{fingerprint}/dismiss") => Named("Dismissed"),
        (Verb::Post, "/api/chains/{name}/fire") => Named("ChainRun"),
        (Verb::Post, "/api/chains/{name}/pause" | "/api/chains/{name}/resume") => Named("ChainChanged"),
        (Verb::Get | Verb::Post, _) => Object,
    };
    let later = match (route.verb, route.path) {
        (Verb::Post, "/api/chains/{name}/fire") => Some(Named("ChainFired")),
        (Verb::Post, path) if path.starts_with("/api/runs/") => Some(Named("Begun")),
        (Verb::Get | Verb::Post, _) => None,
    };
    (schema(&shape), later.as_ref().map(schema))
}

/// What the values of a posted field are.
pub(super) fn posted(name: &str) -> Value {
    match name {
        "assumption" => schema(&Words(|| Assumption::ALL.iter().map(|one| one.as_str()).collect())),
        _ => schema(&Text),
    }
}

/// `components.schemas`
pub(super) fn schemas() -> Value {
    let all: Map<String, Value> =
        SCHEMAS.iter().map(|(name, members)| ((*name).to_owned(), object(members))).collect();
    Value::Object(all)
}

fn object(members: Members) -> Value {
    let required: Vec<&str> =
        members.iter().filter(|(_, shape)| !matches!(shape, Optional(_))).map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        members.iter().map(|(name, shape)| ((*name).to_owned(), schema(shape))).collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn schema(shape: &Shape) -> Value {
    match shape {
        Text => json!({ "type": "string" }),
        Time => json!({ "type": "string", "format": "date-time" }),
        Integer => json!({ "type": "integer" }),
        Number => json!({ "type": "number" }),
        Truth => json!({ "type": "boolean" }),
        Any => json!({}),
        Object => json!({ "type": "object" }),
        Words(words) => json!({ "type": "string", "enum": words() }),
        Named(name) => json!({ "$ref": format!("#/components/schemas/{name}") }),
        List(item) => json!({ "type": "array", "items": schema(item) }),
        MapOf(value) => json!({ "type": "object", "additionalProperties": schema(value) }),
        Nullable(inner) => json!({ "anyOf": [schema(inner), { "type": "null" }] }),
        Optional(inner) => schema(inner),
        Either(shapes) => json!({ "anyOf": shapes.iter().map(schema).collect::<Vec<_>>() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that a schema refers to.
    fn references(schema: &Value, found: &mut Vec<String>) {
        match schema {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(all) => all.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_schema_is_named_once_and_every_reference_leads_to_one() {
        let all = schemas();
        assert_eq!(all.as_object().map(Map::len), Some(SCHEMAS.len()));
        let mut found = Vec::new();
        references(&all, &mut found);
        for name in found {
            let name = name.trim_start_matches("#/components/schemas/");
            assert!(all.get(name).is_some(), "{name}");
        }
    }
}
