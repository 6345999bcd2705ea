//! Decodes `sandbox`, of a check or of the whole playbook.

use escrow_model::{
    Check, Field, KeyKind, ProviderSpec, Sandbox, SandboxFilesystem, SandboxLimits, SandboxNetwork,
};
use serde_json::json;

use super::texts;
use crate::diagnostic::{Diagnostics, Problem};
use crate::size;
use crate::yaml::{Entry, Node};

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

/// Reports a check whose work is a request over the network that the sandbox of the playbook forbids. Escrow sends it
/// itself, so no kernel would refuse it.
pub(super) fn report_network(
    entry: &Entry,
    provider: &ProviderSpec,
    of_playbook: Option<&Sandbox>,
    found: &mut Diagnostics,
) {
    let network = of_playbook.and_then(|sandbox| sandbox.network);
    if provider.sends_requests
        && let Some(network @ (SandboxNetwork::None | SandboxNetwork::Loopback)) = network
    {
        let word = if network == SandboxNetwork::None { "none" } else { "loopback" };
        let span = entry.value.entry("type").map_or(entry.key_span.clone(), |kind| kind.value.span.clone());
        let message =
            format!("`sandbox` of the playbook has `network: {word}`, and this check sends a request");
        found.push(
            Problem::new("E0130", span, message)
                .label(format!("a `{}` check uses the network", provider.name))
                .help("write `sandbox` on the checks that it confines, or remove `network` from that of the playbook"),
        );
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
