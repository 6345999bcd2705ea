//! The persisted shape of an answer. Text that JSON would escape at length is written in base64.
//!
//! JSON spends six bytes on a NUL character. A command that prints a mebibyte of them must not add six to the journal.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use escrow_model::{Answer, Ending, FlawKind, NestedFlaw};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::persist::{Persist, RestoreError, Written, record};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerRecord {
    ending: <Ending as Persist>::Record,
    #[serde(default)]
    output: Value,
    /// The output in place of `output`.
    #[serde(default)]
    output_base64: Option<String>,
    record: Map<String, Value>,
    /// Members of the record that are not in `record`.
    #[serde(default)]
    record_base64: BTreeMap<String, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    flaw: Option<FlawRecord>,
}

record!(FlawRecord for NestedFlaw { kind: FlawKind, detail: String });

impl Persist for Answer {
    type Record = AnswerRecord;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            ending: Written<'a, Ending>,
            #[serde(skip_serializing_if = "Option::is_none")]
            output: Option<&'a Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            output_base64: Option<String>,
            record: Cow<'a, Map<String, Value>>,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            record_base64: BTreeMap<&'a str, String>,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            env: &'a BTreeMap<String, String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            flaw: Option<Written<'a, NestedFlaw>>,
        }
        let output_base64 = base64_of(&self.output);
        let record_base64: BTreeMap<&str, String> =
            self.record.iter().filter_map(|(key, value)| Some((key.as_str(), base64_of(value)?))).collect();
        let record = if record_base64.is_empty() {
            Cow::Borrowed(&self.record)
        } else {
            let others = self.record.iter().filter(|(key, _)| !record_base64.contains_key(key.as_str()));
            Cow::Owned(others.map(|(key, value)| (key.clone(), value.clone())).collect())
        };
        let fields = Fields {
            ending: Written(&self.ending),
            output: output_base64.is_none().then_some(&self.output),
            output_base64,
            record,
            record_base64,
            env: &self.env,
            flaw: self.flaw.as_ref().map(Written),
        };
        fields.serialize(serializer)
    }

    fn restore(record: AnswerRecord) -> Result<Answer, RestoreError> {
        let output = match &record.output_base64 {
            Some(text) => text_of(text)?,
            None => record.output,
        };
        let mut members = record.record;
        for (key, text) in &record.record_base64 {
            members.insert(key.clone(), text_of(text)?);
        }
        Ok(Answer {
            ending: Persist::restore(record.ending)?,
            output,
            record: members,
            env: record.env,
            flaw: record.flaw.map(Persist::restore).transpose()?,
        })
    }
}

/// The text in base64, if that is much shorter than its JSON.
fn base64_of(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let escaped = text.bytes().filter(|byte| needs_six_bytes(*byte)).count();
    let json_bytes = text.len() + 5 * escaped;
    let base64_bytes = text.len() / 3 * 4;
    (json_bytes > base64_bytes + SAVED_BYTES_MIN).then(|| STANDARD.encode(text))
}

/// Below this, readable entries are worth more.
const SAVED_BYTES_MIN: usize = 512;

/// Whether JSON writes `\u00XX` for it.
fn needs_six_bytes(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, 0x08 | b'\t' | b'\n' | 0x0c | b'\r')
}

fn text_of(base64: &str) -> Result<Value, RestoreError> {
    let broken = || RestoreError("an output in base64 is not text".to_owned());
    let bytes = STANDARD.decode(base64).map_err(|_| broken())?;
    String::from_utf8(bytes).map(Value::String).map_err(|_| broken())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(json: &str) -> Answer {
        Answer::restore(serde_json::from_str(json).expect("a record")).expect("an answer")
    }

    #[test]
    fn nul_characters_are_not_stored_six_times() {
        let text = "\0".repeat(1 << 20);
        let mut answer = Answer::done(Value::String(text.clone()));
        answer.record.insert("stderr".into(), Value::String(text.clone()));
        answer.record.insert("exitCode".into(), 0.into());
        let json = serde_json::to_string(&Written(&answer)).expect("it can be written");
        assert!(json.len() < 3 * text.len(), "{} bytes", json.len());
        assert_eq!(restored(&json), answer);
    }

    #[test]
    fn ordinary_text_stays_readable() {
        let answer = Answer::done(Value::String("plain\n\t\"text\"\u{1b}[31m".repeat(100)));
        let json = serde_json::to_string(&Written(&answer)).expect("it can be written");
        assert!(json.contains("plain") && !json.contains("base64"));
        assert_eq!(restored(&json), answer);
        let nothing = Answer::done(Value::Null);
        let json = serde_json::to_string(&Written(&nothing)).expect("it can be written");
        assert_eq!(json, r#"{"ending":"done","output":null,"record":{}}"#);
        assert_eq!(restored(&json), nothing);
    }
}
