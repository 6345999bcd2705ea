//! Finds the version that a document names, even if the document is malformed.
//!
//! **Invariant:** reading stops at the name. Errors after it are reported by the reader of that version.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::version::WireVersion;

/// The version under the document's own key, or its first value if the document is a list.
pub(crate) fn version_named_in(text: &str) -> Option<WireVersion> {
    let mut name = None;
    let mut reader = serde_json::Deserializer::from_str(text);
    // The name stands even if reading fails after it.
    let _ = Sniff(&mut name).deserialize(&mut reader);
    name.and_then(|name| WireVersion::parse(&name))
}

struct Sniff<'name>(&'name mut Option<String>);

impl<'de> DeserializeSeed<'de> for Sniff<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sniff<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a document that names its version")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while self.0.is_none()
            && let Some(key) = map.next_key::<String>()?
        {
            if key == "schema_version" || key == "contract_version" {
                *self.0 = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        *self.0 = list.next_element()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::version_named_in;
    use crate::version::WireVersion;

    #[test]
    fn the_name_is_found_wherever_it_stands() {
        for (text, version) in [
            (r#"{"schema_version":"lifeloop.v0.2"}"#, Some(WireVersion::V0_2)),
            (
                r#"{"a":{"schema_version":"lifeloop.v0.2"},"contract_version":"lifeloop.v0.3"}"#,
                Some(WireVersion::V0_3),
            ),
            (r#"["lifeloop.v0.4",1]"#, Some(WireVersion::V0_4)),
            (r#"{"schema_version":"lifeloop.v0.2","broken"#, Some(WireVersion::V0_2)),
            (r#"{"broken" "schema_version":"lifeloop.v0.2"}"#, None),
            (r#"{"schema_version":"lifeloop.v9"}"#, None),
            (r#"{"schema_version":1}"#, None),
            ("", None),
            ("null", None),
        ] {
            assert_eq!(version_named_in(text), version, "{text}");
        }
    }
}
