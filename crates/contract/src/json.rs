//! Reads JSON and notices when an object names a member twice: parsers differ in which of the two they believe, so
//! what one program judged another may read otherwise.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Map, Number, Value};

/// A document as everyone else reads it: of a member that is given twice, the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub value: Value,
    /// The way to the first member that is given twice, as in `findings[0].line`.
    pub repeated: Option<String>,
}

/// Exactly one document, nested no deeper than 128.
pub fn read_json(bytes: &[u8]) -> Result<Parsed, Error> {
    let mut repeated = None;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Reader(&mut repeated).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Parsed { value, repeated })
}

/// What a refusal says of it.
pub(crate) fn given_twice(way: &str) -> String {
    format!("`{way}` is given twice")
}

struct Reader<'r>(&'r mut Option<String>);

impl Reader<'_> {
    /// Reads what lies inside; if it is the first to repeat a member, the way to it begins here.
    fn inside<T, E>(
        &mut self,
        read: impl FnOnce(Reader<'_>) -> Result<T, E>,
        step: impl FnOnce(&str) -> String,
    ) -> Result<T, E> {
        let is_known = self.0.is_some();
        let read = read(Reader(self.0))?;
        if !is_known && let Some(way) = self.0 {
            *way = step(way);
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
            let step = |way: &str| joined(&format!("[{}]", all.len()), way);
            match self.inside(|reader| items.next_element_seed(reader), step)? {
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
            let step = |way: &str| joined(&name, way);
            let value = self.inside(|reader| members.next_value_seed(reader), step)?;
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

fn joined(step: &str, way: &str) -> String {
    if way.starts_with('[') { format!("{step}{way}") } else { format!("{step}.{way}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::read_json;

    #[test]
    fn the_first_member_that_is_given_twice_is_told_by_its_way() {
        for (text, way) in [
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
            let read = read_json(text.as_bytes()).expect("it is JSON");
            assert_eq!(read.repeated.as_deref(), way, "{text}");
        }
        assert_eq!(read_json(br#"{"a": 1, "b": 2, "a": 3}"#).expect("JSON").value, json!({"a": 3, "b": 2}));
    }

    #[test]
    fn what_is_no_json_is_none_here_either() {
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
        fn everything_else_is_read_as_by_everyone(document in documents()) {
            let text = document.to_string();
            let read = read_json(text.as_bytes()).expect("it is JSON");
            let usual: Value = serde_json::from_str(&text).expect("it is JSON");
            prop_assert_eq!(read.value, usual);
            prop_assert_eq!(read.repeated, None);
        }
    }
}
