//! What makes a chain fire: schedules and events, alone or together.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Millis;

/// `trigger` of a chain. Without one, a chain fires by hand alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    pub rule: TriggerRule,
    pub sources: Vec<TriggerSource>,
}

/// How the sources of a trigger make a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerRule {
    /// Each source fires by itself.
    Any,
    /// A fire needs each of them since the last fire, all within this time.
    All { within_ms: u64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerSource {
    Schedule(Schedule),
    Event(EventTrigger),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    pub cadence: Cadence,
    /// A name of the time zone database.
    pub timezone: String,
    pub catch_up: CatchUp,
    /// Each tick is delayed by less than this, by the same amount in every process.
    pub jitter_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cadence {
    /// Five fields, or a name such as `@daily`.
    Cron(String),
    /// Counted from the definition.
    EveryMs(u64),
}

/// What becomes of ticks that no process saw in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// They are recorded as missed.
    #[default]
    Skip,
    /// The newest fires for all of them.
    Once,
    /// Each fires.
    All,
}

impl CatchUp {
    pub const WORDS: &[&str] = &["skip", "once", "all"];

    pub fn parse(word: &str) -> Option<CatchUp> {
        match word {
            "skip" => Some(CatchUp::Skip),
            "once" => Some(CatchUp::Once),
            "all" => Some(CatchUp::All),
            _ => None,
        }
    }
}

/// How long after its time a tick still fires without catching up.
pub const TICK_ON_TIME_MS: u64 = 15 * 60 * 1000;

/// An event that a chain waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTrigger {
    pub event: String,
    /// Field, possibly dotted, and the value that it must have. A list is any of its values.
    pub filter: IndexMap<String, Value>,
    /// For `file.changed`: the files that are watched, as globs beneath the project.
    pub paths: Vec<String>,
    /// For `file.changed`: how long the files must have been quiet.
    pub debounce_ms: u64,
    /// Whether pull requests from forks fire.
    pub forks: bool,
}

/// Events that Escrow itself makes.
impl EventTrigger {
    pub const MANUAL: &str = "manual.fired";
    pub const SCHEDULE: &str = "schedule.fired";
    pub const FILE: &str = "file.changed";
    pub const RUN: &str = "run.completed";
    /// Another name of [`EventTrigger::RUN`].
    pub const INVOCATION: &str = "invocation.completed";
    /// Fields of an event that every source gives.
    pub const NAME_FIELD: &str = "event";
    /// Set by sources that know forks.
    pub const FORK_FIELD: &str = "fork";

    /// Whether an event with these fields passes the name and the filter.
    pub fn matches(&self, name: &str, fields: &Map<String, Value>) -> bool {
        self.event == name
            && self.filter.iter().all(|(key, wanted)| {
                field(fields, key).is_some_and(|found| match wanted {
                    Value::Array(any_of) => any_of.iter().any(|one| equal(one, found)),
                    one => equal(one, found),
                })
            })
    }
}

/// The field with this name, or the member that a dotted name leads to.
fn field<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    if let Some(found) = fields.get(key) {
        return Some(found);
    }
    let (first, rest) = key.split_once('.')?;
    let mut found = fields.get(first)?;
    for step in rest.split('.') {
        found = match found {
            Value::Object(members) => members.get(step)?,
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(found)
}

/// Equality of JSON values; `1` and `1.0` are one number.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

/// The window in which the sources of `all` must occur, when the chain does not give one.
pub const ALL_WITHIN_MS: u64 = 24 * 60 * 60 * 1000;

/// Something that happened and may fire chains.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerEvent {
    pub name: String,
    /// What conditions and templates read as `trigger`, besides its name.
    pub fields: Map<String, Value>,
    /// Equal for two reports of one event.
    pub key: String,
    pub at: Millis,
}

impl TriggerEvent {
    /// The fields with the name, as a fire keeps them.
    pub fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        document.insert(EventTrigger::NAME_FIELD.into(), Value::String(self.name.clone()));
        document.extend(self.fields.iter().map(|(key, value)| (key.clone(), value.clone())));
        document
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(filter: &Value, fields: &Value) -> bool {
        let trigger = EventTrigger {
            event: "pr.opened".into(),
            filter: serde_json::from_value(filter.clone()).unwrap(),
            paths: Vec::new(),
            debounce_ms: 0,
            forks: false,
        };
        trigger.matches("pr.opened", fields.as_object().unwrap())
    }

    #[test]
    fn a_filter_compares_fields_and_a_list_is_any_of() {
        let event = json!({"base": "main", "draft": false, "number": 7, "outcome": {"verdict": "APPROVE", "findings": [{"severity": "high"}]}, "a.b": 1, "a": {"b": 2}});
        for (filter, expected) in [
            (json!({}), true),
            (json!({"base": "main", "draft": false}), true),
            (json!({"base": "main", "draft": true}), false),
            (json!({"base": ["main", "release"]}), true),
            (json!({"base": ["next", "release"]}), false),
            (json!({"base": []}), false),
            (json!({"number": 7.0}), true),
            (json!({"number": "7"}), false),
            (json!({"outcome.verdict": "APPROVE"}), true),
            (json!({"outcome.verdict": ["REJECT", "REQUEST_CHANGES"]}), false),
            (json!({"outcome.findings.0.severity": "high"}), true),
            (json!({"outcome.findings.x.severity": "high"}), false),
            (json!({"a.b": 1}), true),
            (json!({"absent": false}), false),
            (json!({"absent": null}), false),
            (json!({"base.name": "main"}), false),
        ] {
            assert_eq!(check(&filter, &event), expected, "{filter}");
        }
    }

    #[test]
    fn an_event_of_another_name_does_not_match() {
        let trigger = EventTrigger {
            event: "pr.opened".into(),
            filter: IndexMap::new(),
            paths: Vec::new(),
            debounce_ms: 0,
            forks: false,
        };
        assert!(!trigger.matches("pr.closed", &Map::new()));
    }
}
