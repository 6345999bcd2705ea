//! What a provider is asked to do, exactly: templates rendered, nothing left to decide.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ProviderName;

/// The field of a request with the SHA-256 of its `file`, where a check has verified that file.
pub const FILE_DIGEST: &str = "file_sha256";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub provider: ProviderName,
    /// The provider's own keys, rendered. A shell `exec` is `{"shell": text, "values": {name: value}}`, a
    /// list is `{"argv": […]}`.
    pub fields: Map<String, Value>,
    /// `env:` of the playbook and the check, rendered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The whole environment that a process inherits beneath `env`, captured for an approval. Absent: that of Escrow, or
    /// the minimum of `safety: strict`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<BTreeMap<String, String>>,
    /// What earlier checks wrote to `$ESCROW_ENV`. It never replaces a variable that is there already.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handed_env: BTreeMap<String, String>,
    pub timeout_ms: u64,
    pub idempotency_key: String,
    /// The item of a map scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
}
