//! Parses JSON and detects duplicate keys.
//!
//! Parsers differ in which duplicate they keep, so another program could read a value that was never judged.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Map, Number, Value};

/// A document as common parsers read it: the last of duplicate keys wins.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub value: Value,
    /// The path of the first duplicate key, such as `findings[0].line`.
    pub repeated_key: Option<String>,
}

/// Parses exactly one document with at most 128 levels.
pub fn read_json(bytes: &[u8]) -> Result<Parsed, Error> {
    let mut repeated_key = None;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Reader(&mut repeated_key).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Parsed { value, repeated_key })
}

/// The message for a duplicate key.
pub(crate) fn duplicate_message(path: &str) -> String {
    format!("duplicate key `{path}`")
}

/// Holds the path of the first duplicate key.
struct Reader<'r>(&'r mut Option<String>);

impl Reader<'_> {
    /// Reads a nested value. If it contains the first duplicate key, prefixes the path with `step`.
    fn nested<T, E>(
        &mut self,
        read: impl FnOnce(Reader<'_>) -> Result<T, E>,
        step: impl FnOnce(&str) -> String,
    ) -> Result<T, E> {
        let is_known = self.0.is_some();
        let read = read(Reader(self.0))?;
        if !is_known && let Some(path) = self.0 {
            *path = step(path);
        }
        Ok(read)
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        loop {
            let step = |path: &str| joined(&format!("[{}]", all.len()), path);
            match self.nested(|reader| items.next_element_seed(reader), step)? {
                Some(item) => all.push(item),
                None => return Ok(Value::Array(all)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if self.0.is_none() && all.contains_key(&name) {
                *self.0 = Some(name.clone());
            }
            let step = |path: &str| joined(&name, path);
            let value = self.nested(|reader| members.next_value_seed(reader), step)?;
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

fn joined(step: &str, path: &str) -> String {
    if path.starts_with('[') { format!("{step}{path}") } else { format!("{step}.{path}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::read_json;

    #[test]
    fn the_first_duplicate_key_is_reported_by_its_path() {
        for (text, path) in [
            (r#"{"a": 1}"#, None),
            (r#"{"a": {"b": 1}, "c": {"b": 1}}"#, None),
            (r#"{"a": 1, "a": 2}"#, Some("a")),
            (r#"{"a": 1, "\u0061": 2}"#, Some("a")),
            (r#"{"a": {"b": 1, "b": 1}}"#, Some("a.b")),
            (r#"{"findings": [{}, {"line": 1, "line": 2}]}"#, Some("findings[1].line")),
            (r#"[[{"x": 1, "x": 2}], {"y": 1, "y": 2}]"#, Some("[0][0].x")),
            (r#"{"a": 1, "a": {"b": 1, "b": 2}}"#, Some("a")),
            ("3", None),
        ] {
            let read = read_json(text.as_bytes()).expect("valid JSON");
            assert_eq!(read.repeated_key.as_deref(), path, "{text}");
        }
        assert_eq!(read_json(br#"{"a": 1, "b": 2, "a": 3}"#).expect("JSON").value, json!({"a": 3, "b": 2}));
    }

    #[test]
    fn invalid_json_is_rejected() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for text in ["", "{", "1 2", "{\"a\": NaN}", "[1,]", deep.as_str(), "\"\u{1}\""] {
            assert!(read_json(text.as_bytes()).is_err(), "{text}");
        }
        assert!(read_json(b"\"\xff\"").is_err());
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn other_documents_parse_like_serde_json(document in documents()) {
            let text = document.to_string();
            let read = read_json(text.as_bytes()).expect("valid JSON");
            let usual: Value = serde_json::from_str(&text).expect("valid JSON");
            prop_assert_eq!(read.value, usual);
            prop_assert_eq!(read.repeated_key, None);
        }
    }
}
