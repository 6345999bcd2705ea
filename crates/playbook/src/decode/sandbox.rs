//! Decodes `sandbox`, of a check or of the whole playbook.

use escrow_model::{
    Check, Field, KeyKind, ProviderSpec, Sandbox, SandboxFilesystem, SandboxLimits, SandboxNetwork,
};
use serde_json::json;

use super::texts;
use crate::size;
use crate::yaml::Node;

/// The sandbox that a valid node declares.
pub(super) fn decode(node: &Node) -> Sandbox {
    let filesystem = node.get("filesystem").map(|files| SandboxFilesystem {
        read: files.get("read").map(|read| texts(Some(read))),
        write: texts(files.get("write")),
    });
    let limits = node.get("limits").map(|limits| {
        let count =
            |key: &str| limits.get(key).and_then(|node| node.number()).and_then(|number| number.as_u64());
        SandboxLimits {
            memory: limits.get("memory").and_then(|memory| size::bytes(memory).ok()),
            processes: count("processes"),
            files: count("files"),
        }
    });
    Sandbox {
        filesystem,
        network: node.get("network").and_then(|word| word.string()).and_then(SandboxNetwork::parse),
        limits: limits.unwrap_or_default(),
    }
}

/// Gives a check the sandbox of its playbook, if it can be confined and declares none itself.
pub(super) fn inherit(check: &mut Check, provider: &ProviderSpec, of_playbook: Option<&Sandbox>) {
    let is_taken = provider.keys.iter().any(|key| key.kind == KeyKind::Sandbox);
    // `reconcile` is a command, whatever the provider.
    if let (true, Some(sandbox)) = (is_taken || check.reconcile.is_some(), of_playbook)
        && !check.fields.contains_key(Sandbox::FIELD)
    {
        check.fields.insert(Sandbox::FIELD.to_owned(), field(sandbox));
    }
}

pub(super) fn field(sandbox: &Sandbox) -> Field {
    Field::Plain(json!(sandbox))
}
