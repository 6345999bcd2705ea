//! Maps whose content belongs to the client.
//!
//! **Invariant:** keys are sorted at every depth, so that equal content is written as equal bytes.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Opaque, client-defined content: `metadata` and `telemetry_summary`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FreeMap(BTreeMap<String, Value>);

impl FreeMap {
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub fn insert(&mut self, key: impl Into<String>, mut value: Value) {
        value.sort_all_objects();
        self.0.insert(key.into(), value);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Deref for FreeMap {
    type Target = BTreeMap<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<K: Into<String>> FromIterator<(K, Value)> for FreeMap {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(pairs: I) -> Self {
        let mut map = Self::new();
        for (key, value) in pairs {
            map.insert(key, value);
        }
        map
    }
}

impl<'de> Deserialize<'de> for FreeMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = BTreeMap::<String, Value>::deserialize(deserializer)?;
        map.values_mut().for_each(Value::sort_all_objects);
        Ok(Self(map))
    }
}
