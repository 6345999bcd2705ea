//! What is on disk: the persisted shapes of journal entries and messages, with their version.
//!
//! ```text
//!   Entry ── write ──▶ {"v":3,"at":…,"event":{…}}          always in the newest format
//!   bytes ── decode ──▶ upcast, one version at a time ──▶ EntryRecord ──▶ Entry
//! ```
//!
//! **Invariant:** the model may change freely; a shape that was released may not. A change to a record adds one
//! to [`FORMAT`] and an upcaster from the format before, and keeps a journal of that format as a fixture
//! (`tests/formats/`), which must still replay, verify, explain and export. Stored bytes are hashed and are never
//! rewritten: an old entry is upcast each time it is read.

mod answer;
mod approval;
mod artifact;
mod attempt;
mod event;
mod formats;
mod persist;
mod plan;
mod start;

use escrow_model::{Answer, Entry, Event, Message, Plan};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use crate::error::{StoreError, StoreErrorKind};
use persist::{Persist, RestoreError, Written};

/// The format that is written. Format 1 was never released.
pub(crate) const FORMAT: u32 = 3;

/// Turns an entry of one format into the next: `UPCASTERS[0]` takes [`FORMAT_OLDEST`] to the one after it.
const UPCASTERS: &[Upcaster] = &[formats::from_2];

const FORMAT_OLDEST: u32 = 2;

type Upcaster = fn(Value) -> Result<Value, RecordError>;

/// Why stored bytes are no entry or message.
#[derive(Debug, Error)]
pub(crate) enum RecordError {
    #[error("format {found} is not one that this Escrow reads ({FORMAT_OLDEST} to {FORMAT})")]
    Format { found: u64 },
    #[error(transparent)]
    Text(#[from] std::str::Utf8Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

/// Serialises an entry in the newest format.
struct WrittenEntry<'a>(&'a Entry);

impl Serialize for WrittenEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Entry", 3)?;
        fields.serialize_field("v", &FORMAT)?;
        fields.serialize_field("at", &self.0.at)?;
        fields.serialize_field("event", &Written(&self.0.event))?;
        fields.end()
    }
}

/// Writes the bytes of an entry, as they are hashed and stored.
pub(crate) fn write(entry: &Entry, to: impl std::io::Write) -> Result<(), RecordError> {
    Ok(serde_json::to_writer(to, &WrittenEntry(entry))?)
}

/// The bytes of an entry, as they are hashed and stored.
pub fn encode_entry(entry: &Entry) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(&WrittenEntry(entry)).map_err(|error| unwritable("an entry", &error))
}

/// The entry that stored bytes stand for.
pub fn decode_entry(bytes: &[u8]) -> Result<Entry, StoreError> {
    decode(bytes).map_err(|error| {
        StoreError::new(StoreErrorKind::Corrupt, format!("an entry cannot be read: {error}"))
    })
}

/// An entry as JSON, in the shape in which it is stored.
pub fn entry_document(entry: &Entry) -> Result<Value, StoreError> {
    serde_json::to_value(WrittenEntry(entry)).map_err(|error| unwritable("an entry", &error))
}

/// The entry that [`entry_document`] wrote.
pub fn read_entry(document: Value) -> Result<Entry, StoreError> {
    let found = document["v"].as_u64().unwrap_or_default();
    let newest = upcast(document, found, FORMAT_OLDEST, UPCASTERS);
    let record = newest.and_then(|document| Ok(serde_json::from_value::<EntryRecord>(document)?));
    record.and_then(restore).map_err(|error| {
        StoreError::new(StoreErrorKind::Corrupt, format!("an entry cannot be read: {error}"))
    })
}

/// A plan as JSON, in the shape in which it is stored.
pub fn plan_document(plan: &Plan) -> Result<Value, StoreError> {
    serde_json::to_value(Written(plan)).map_err(|error| unwritable("a plan", &error))
}

/// The plan that [`plan_document`] wrote.
pub fn read_plan(document: Value) -> Result<Plan, StoreError> {
    let corrupt = |error: &dyn std::fmt::Display| {
        StoreError::new(StoreErrorKind::Corrupt, format!("a stored plan cannot be read: {error}"))
    };
    let record = serde_json::from_value(document).map_err(|error| corrupt(&error))?;
    Plan::restore(record).map_err(|error| corrupt(&error))
}

/// An answer in the shape in which entries hold it, for the ledger of effects.
pub(crate) fn answer_text(answer: &Answer) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Written(answer))
}

/// The answer that [`answer_text`] wrote.
pub(crate) fn read_answer(text: &str) -> Result<Answer, RecordError> {
    Ok(Answer::restore(serde_json::from_str(text)?)?)
}

fn unwritable(what: &str, error: &serde_json::Error) -> StoreError {
    StoreError::new(StoreErrorKind::Internal, format!("{what} cannot be written as JSON: {error}"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryRecord {
    v: u32,
    at: u64,
    event: <Event as Persist>::Record,
}

/// The entry that stored bytes stand for, whatever format they have.
pub(crate) fn decode(bytes: &[u8]) -> Result<Entry, RecordError> {
    // Checked once as a whole, which is cheaper than string by string.
    let text = std::str::from_utf8(bytes)?;
    // Almost every entry has the newest format, so that is tried first; the version decides what an error means.
    match serde_json::from_str::<EntryRecord>(text) {
        Ok(record) if record.v == FORMAT => restore(record),
        other => {
            let value = serde_json::from_str::<Value>(text)?;
            let found = value["v"].as_u64().unwrap_or_default();
            if let (true, Err(error)) = (found == u64::from(FORMAT), other) {
                return Err(error.into());
            }
            restore(serde_json::from_value(upcast(value, found, FORMAT_OLDEST, UPCASTERS)?)?)
        }
    }
}

fn restore(record: EntryRecord) -> Result<Entry, RecordError> {
    Ok(Entry { at: record.at, event: formats::with_codes(Event::restore(record.event)?) })
}

/// Brings an entry of format `found` to the format behind the last upcaster.
fn upcast(mut entry: Value, found: u64, oldest: u32, upcasters: &[Upcaster]) -> Result<Value, RecordError> {
    let newest = u64::from(oldest) + upcasters.len() as u64;
    if found < u64::from(oldest) || found > newest {
        return Err(RecordError::Format { found });
    }
    let first = usize::try_from(found - u64::from(oldest)).unwrap_or(usize::MAX);
    for (step, upcaster) in upcasters[first..].iter().enumerate() {
        entry = upcaster(entry)?;
        entry["v"] = Value::from(found + step as u64 + 1);
    }
    Ok(entry)
}

/// A message as the inbox holds it.
pub(crate) fn encode_message(message: &Message) -> Result<String, RecordError> {
    Ok(serde_json::to_string(&Written(message))?)
}

pub(crate) fn decode_message(text: &str) -> Result<Message, RecordError> {
    Ok(Message::restore(serde_json::from_str(text)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrow_model::RefusalCode;
    use serde_json::json;

    fn rename_note(mut entry: Value) -> Result<Value, RecordError> {
        let note = entry["note"].take();
        entry["remark"] = note;
        Ok(entry)
    }

    fn add_kind(mut entry: Value) -> Result<Value, RecordError> {
        entry["kind"] = json!("plain");
        Ok(entry)
    }

    #[test]
    fn codes_that_were_only_words_are_read_as_codes() {
        let judged = json!({ "v": 3, "at": 1, "event": { "check_judged": {
            "check": "a", "attempt": 0, "verdict": "failed", "settled": true, "issues": [{
                "rule_id": "system/redacted_value",
                "severity": "error",
                "message": "a template puts a secret together: the value does not leave the run",
            }],
        } } });
        let Event::CheckJudged { issues, .. } = read_entry(judged).unwrap().event else {
            panic!("a verdict")
        };
        assert_eq!(issues[0].code.text(), "system/secret_rendered");
        let refused = json!({ "v": 3, "at": 1, "event": { "message_delivered": {
            "message": { "cancel": { "by": null, "system": true } },
            "refused": "an effect is under way or unknown",
        } } });
        let Event::MessageDelivered { refusal, .. } = read_entry(refused).unwrap().event else {
            panic!("a message")
        };
        assert_eq!(refusal, Some(RefusalCode::EffectUnderWay));
    }

    #[test]
    fn an_old_entry_takes_every_step_to_the_newest_format() {
        let upcasters: &[Upcaster] = &[rename_note, add_kind];
        let check = |entry: Value, found| upcast(entry, found, 5, upcasters).map(|entry| entry.to_string());
        let from_5 = check(json!({ "v": 5, "note": "x" }), 5).unwrap();
        assert_eq!(from_5, r#"{"v":7,"note":null,"remark":"x","kind":"plain"}"#);
        let from_6 = check(json!({ "v": 6, "remark": "x" }), 6).unwrap();
        assert_eq!(from_6, r#"{"v":7,"remark":"x","kind":"plain"}"#);
        let from_7 = check(json!({ "v": 7, "remark": "x" }), 7).unwrap();
        assert_eq!(from_7, r#"{"v":7,"remark":"x"}"#);
        for unknown in [4, 8] {
            assert!(matches!(check(json!({}), unknown), Err(RecordError::Format { .. })), "{unknown}");
        }
    }

    #[test]
    fn a_format_from_the_future_or_from_before_the_first_release_is_refused() {
        for v in [0_u32, 1, FORMAT + 1] {
            let bytes = json!({ "v": v, "at": 1, "event": { "deadline_passed": {} } }).to_string();
            let refused = decode(bytes.as_bytes());
            assert!(matches!(refused, Err(RecordError::Format { .. })), "{v}: {refused:?}");
        }
    }

    #[test]
    fn a_field_that_no_record_has_is_refused() {
        let bytes = json!({ "v": FORMAT, "at": 1, "event": { "deadline_passed": { "by": 1 } } }).to_string();
        assert!(matches!(decode(bytes.as_bytes()), Err(RecordError::Json(_))));
    }

    #[test]
    fn faults_of_format_2_have_the_names_of_today() {
        for (old, new, fields) in [
            (
                "fault_detected",
                "fault.detected",
                json!({"check": "a", "class": "transient", "code": "command/timeout"}),
            ),
            ("fault_isolated", "fault.isolated", json!({"check": "a"})),
            ("recovery_started", "fault.recovery.started", json!({"check": "a", "by": "retry"})),
            ("recovery_succeeded", "fault.recovery.succeeded", json!({"check": "a"})),
            ("recovery_exhausted", "fault.recovery.exhausted", json!({"check": "a"})),
        ] {
            let stored = json!({ "v": 2, "at": 1, "event": { old: fields.clone() } });
            let entry = decode(stored.to_string().as_bytes()).unwrap();
            assert_eq!(read_entry(stored).unwrap(), entry);
            assert_eq!(entry_document(&entry).unwrap(), json!({ "v": 3, "at": 1, "event": { new: fields } }));
        }
        let other = json!({ "v": 2, "at": 1, "event": { "deadline_passed": {} } }).to_string();
        assert_eq!(decode(other.as_bytes()).unwrap().event, Event::DeadlinePassed {});
    }

    #[test]
    fn the_formats_and_the_upcasters_fit_together() {
        assert_eq!(FORMAT_OLDEST as usize + UPCASTERS.len(), FORMAT as usize);
    }
}
