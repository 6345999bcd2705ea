//! What waits for a person, and what people decided: `approvals`.

use escrow_engine::RecordedDecision;
use escrow_model::{
    ApprovalStatus, ApprovedEffect, ApprovedOutput, ApprovedPlaybook, Request, WaitKind, rfc3339,
};
use escrow_runtime::now_ms;
use escrow_store::{GivenApproval, WaitRow};
use serde_json::{Value, json};

use crate::attempted::{AttemptEnd, Attempted, Attempts};
use crate::directories::Directories;

pub fn approvals(waits: &[WaitRow], directories: &Directories, attempts: &Attempts) -> Value {
    let documents: Vec<Value> = waits.iter().map(|wait| approval(wait, directories, attempts)).collect();
    json!({ "approvals": documents })
}

/// Something that waits for a person.
pub fn approval(wait: &WaitRow, directories: &Directories, attempts: &Attempts) -> Value {
    let subject = wait.subject.as_deref();
    let mut document = json!({
        "id": wait.id,
        "kind": wait.kind,
        "status": status(wait),
        "run_id": wait.run,
        "title": wait.title,
        "directory": directories.get(&wait.run),
        "check": wait.check,
        "scope": wait.scope,
        "criticality": subject.map(|subject| subject.criticality),
        "prompt": wait.prompt,
        "choices": wait.choices,
        "digest": wait.digest,
        "asked_at": rfc3339(wait.started_at),
        "expires_at": wait.expires_at.map(rfc3339),
        "request": subject.map(|subject| request(&subject.request)),
        "decided_at": wait.resolved_at.map(rfc3339),
        "decided_by": wait.resolved_by,
        "claim": wait.claim,
        "note": wait.note,
        "next": next_command(wait),
    });
    if wait.kind == WaitKind::UnknownEffect {
        document["attempted"] = json!(attempts.of(wait).map(attempted));
    }
    if let Some(subject) = subject {
        document["playbook"] = json!(subject.playbook);
        document["values"] = json!(subject.values);
        document["secrets"] = json!(subject.secrets);
        document["reconcile"] = json!(subject.reconcile);
        document["nested"] = json!(subject.nested.as_ref().map(nested));
        document["inputs"] = json!(subject.inputs);
        document["outputs"] = subject.outputs.iter().map(output).collect();
        document["outcomes"] = json!(subject.outcomes);
        document["artifacts"] = json!(subject.artifacts);
        document["terms"] = json!(subject.terms);
        document["approvals"] = wait.approvals.iter().chain(&wait.recorded_approvals).map(given).collect();
    }
    document
}

/// The attempt whose effect is unknown.
pub fn attempted(attempted: &Attempted) -> Value {
    let stream =
        |name: &str| attempted.printed.iter().find(|printed| printed.stream == name).map(|end| &end.text);
    json!({
        "run_id": attempted.run,
        "check": attempted.check,
        "scope": attempted.scope.to_string(),
        "attempt": attempted.attempt,
        "at": rfc3339(attempted.at),
        "key": attempted.key,
        "request": request(&attempted.request),
        "directory": attempted.directory,
        "ended": match &attempted.end {
            AttemptEnd::Faulted(message) => Some(message),
            AttemptEnd::CutOff | AttemptEnd::Answered => None,
        },
        "stdout": stream("stdout"),
        "stderr": stream("stderr"),
    })
}

/// Every member, null where it has no value.
fn request(request: &Request) -> Value {
    json!({
        "provider": request.provider,
        "fields": request.fields,
        "env": request.env,
        "environment": request.environment,
        "handed_env": request.handed_env,
        "timeout_ms": request.timeout_ms,
        "idempotency_key": request.idempotency_key,
        "item": request.item,
    })
}

/// The playbook that a check would nest, with what it can do outside.
pub(super) fn nested(nested: &ApprovedPlaybook) -> Value {
    let effect = |effect: &ApprovedEffect| {
        json!({
            "playbook": effect.playbook,
            "check": effect.check,
            "type": effect.provider,
            "command": effect.command,
            "request": effect.request,
            "values": effect.values,
        })
    };
    json!({
        "name": nested.name,
        "file": nested.file,
        "sha256": nested.sha256,
        "external": nested.external.iter().map(effect).collect::<Value>(),
    })
}

fn output(output: &ApprovedOutput) -> Value {
    json!({
        "check": output.check,
        "sha256": output.sha256,
        "value": output.value,
        "excerpt": output.excerpt,
    })
}

fn status(wait: &WaitRow) -> &str {
    match &wait.resolution {
        Some(resolution) => resolution,
        None if wait.is_past(now_ms()) => ApprovalStatus::Expired.as_str(),
        None => ApprovalStatus::Pending.as_str(),
    }
}

fn given(GivenApproval { by, claim, note, at }: &GivenApproval) -> Value {
    json!({ "by": by, "claim": claim, "note": note, "at": rfc3339(*at) })
}

/// The word that an effect happened, as a shell takes it: some read brackets as a pattern.
pub fn assumed_done(place: &str) -> String {
    if place.contains('[') { format!("'{place}=done'") } else { format!("{place}=done") }
}

/// The command that deals with a wait; none when it is decided.
pub fn next_command(wait: &WaitRow) -> Option<String> {
    let (id, run) = (&wait.id, &wait.run);
    if wait.resolved_at.is_some() {
        return None;
    }
    // A run that is resumed takes the decision in, or notes that the time is up.
    if wait.has_recorded_decision || wait.is_past(now_ms()) {
        return Some(format!("escrow resume {run}"));
    }
    Some(match wait.kind {
        WaitKind::Approval => format!("escrow approve {id}"),
        WaitKind::Input => format!("escrow answer {id} TEXT"),
        WaitKind::UnknownEffect => {
            // Quoted, because a shell reads `|` as a pipe and `[2]` as a pattern.
            format!("escrow resume {run} --assume '{}{}=done|failed|retry'", wait.check, wait.scope)
        }
        WaitKind::Nested => format!("escrow runs show {id}"),
    })
}

/// What a person decided, in the document of a run.
pub(super) fn decision(one: &RecordedDecision) -> Value {
    json!({
        "id": one.wait,
        "check": one.check,
        "scope": one.scope,
        "decision": one.decision,
        "by": one.by,
        "claim": one.claim,
        "note": one.note,
        "at": rfc3339(one.at),
    })
}
