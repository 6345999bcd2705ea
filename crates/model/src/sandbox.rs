//! What a confined command may touch, as a playbook declares it and as a request carries it.

use serde::{Deserialize, Serialize};

/// The value of `sandbox:`. What is absent is not confined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<SandboxFilesystem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<SandboxNetwork>,
    #[serde(default, skip_serializing_if = "SandboxLimits::is_empty")]
    pub limits: SandboxLimits,
}

impl Sandbox {
    /// The field of a request that carries it.
    pub const FIELD: &str = "sandbox";
}

/// Files and directories. A directory includes everything in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxFilesystem {
    /// Absent: everything can be read. Present: only these, what can be written, and the system's programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    #[serde(default)]
    pub write: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxNetwork {
    None,
    /// Connections to this machine only, in a network of its own: services outside the sandbox are not reached.
    Loopback,
    Full,
}

impl SandboxNetwork {
    pub const WORDS: &[&str] = &["none", "loopback", "full"];

    pub fn parse(word: &str) -> Option<SandboxNetwork> {
        match word {
            "none" => Some(SandboxNetwork::None),
            "loopback" => Some(SandboxNetwork::Loopback),
            "full" => Some(SandboxNetwork::Full),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxLimits {
    /// Bytes of address space, per process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Processes of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Open files, per process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
}

impl SandboxLimits {
    pub fn is_empty(&self) -> bool {
        *self == SandboxLimits::default()
    }
}
