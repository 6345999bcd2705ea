//! Changes of status: `runs show --history` and `invocation show --history`.

use escrow_engine::CheckChange;
use escrow_model::{Evidence, Millis, rfc3339};
use escrow_store::TransitionRow;
use serde_json::{Value, json};

/// One change of a run, a check, an approval or an invocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub at: Millis,
    /// `run`, `check`, `approval` or `invocation`.
    pub entity_type: String,
    pub entity_id: String,
    pub from: Option<String>,
    pub to: String,
    pub reason: Option<ChangeReason>,
    pub source: String,
    pub actor: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChangeReason {
    pub code: String,
    pub summary: Option<String>,
    pub evidence: Vec<Evidence>,
}

/// The changes of a run, oldest first. A driver that takes a waiting run over finds in the same instant that it waits for the
/// same thing, which is no change; what the driver then delivers is one.
pub fn changes_of_run(rows: &[TransitionRow]) -> Vec<Change> {
    let mut told: Vec<&TransitionRow> = Vec::new();
    for row in rows {
        if let [.., before, resumed] = told.as_slice()
            && resumed.source == "resume"
            && resumed.at == row.at
            && before.to_status == row.to_status
            && before.reason_code == row.reason_code
            && before.reason_summary == row.reason_summary
        {
            told.pop();
            continue;
        }
        told.push(row);
    }
    told.into_iter().map(Change::from).collect()
}

impl From<&TransitionRow> for Change {
    fn from(row: &TransitionRow) -> Change {
        Change {
            at: row.at,
            entity_type: row.entity_type.clone(),
            entity_id: row.entity_id.clone(),
            from: row.from_status.clone(),
            to: row.to_status.clone(),
            reason: row.reason_code.clone().map(|code| ChangeReason {
                code,
                summary: row.reason_summary.clone(),
                evidence: row.evidence.clone(),
            }),
            source: row.source.clone(),
            actor: row.actor.clone(),
        }
    }
}

impl From<&CheckChange> for Change {
    fn from(change: &CheckChange) -> Change {
        let reason = (!change.code.is_empty() || !change.detail.is_empty()).then(|| ChangeReason {
            code: change.code.clone(),
            summary: Some(change.detail.clone()),
            evidence: Vec::new(),
        });
        Change {
            at: change.at,
            entity_type: "check".to_owned(),
            entity_id: format!("{}{}", change.check, change.scope),
            from: Some(change.from.as_str().to_owned()),
            to: change.to.as_str().to_owned(),
            reason,
            source: "engine".to_owned(),
            actor: "escrow".to_owned(),
        }
    }
}

pub fn history_change(change: &Change) -> Value {
    let reason = change
        .reason
        .as_ref()
        .map(|reason| json!({ "code": reason.code, "summary": reason.summary, "evidence": reason.evidence }));
    json!({
        "entity_type": change.entity_type,
        "entity_id": change.entity_id,
        "from": change.from,
        "to": change.to,
        "reason": reason,
        "source": change.source,
        "actor": change.actor,
        "at": rfc3339(change.at),
    })
}
