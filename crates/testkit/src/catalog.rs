//! The providers that scripted plans may name: the engine's own, and stand-ins for those with hands.

use escrow_model::{Home, KeyKind, KeySpec, Mutates, ProviderSpec};

const fn key(name: &'static str, kind: KeyKind) -> KeySpec {
    KeySpec { name, kind, required: false }
}

/// Nothing is required of them, so that a plan says only what its test is about.
const STAND_INS: &[ProviderSpec] = &[
    ProviderSpec {
        name: "command",
        summary: "does what the script says, and changes nothing outside",
        keys: &[
            key("exec", KeyKind::Exec),
            key("shell", KeyKind::Shell),
            key("stdin", KeyKind::Text),
            key("parse", KeyKind::Word(&["auto", "text", "json", "lines"])),
            key("expect", KeyKind::ExitCodes),
            key("note", KeyKind::Text),
        ],
        mutates: Mutates::Never,
        home: Home::Runtime,
        timeout_ms: 600_000,
        ..ProviderSpec::PURE
    },
    ProviderSpec {
        name: "http",
        summary: "does what the script says, and changes the world unless it only reads",
        keys: &[
            key("url", KeyKind::Text),
            key("method", KeyKind::Word(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])),
            key("headers", KeyKind::Tree),
            key("body", KeyKind::Tree),
        ],
        mutates: Mutates::UnlessKeyIs { key: "method", words: &["GET", "HEAD"], default: "GET" },
        home: Home::Runtime,
        timeout_ms: 30_000,
        sends_requests: true,
        ..ProviderSpec::PURE
    },
    ProviderSpec {
        name: "playbook",
        summary: "stands for a nested run",
        keys: &[key("playbook", KeyKind::Plain), key("with", KeyKind::Inputs)],
        mutates: Mutates::AsNested,
        home: Home::Runtime,
        timeout_ms: 600_000,
        ..ProviderSpec::PURE
    },
];

pub fn catalog() -> Vec<ProviderSpec> {
    escrow_engine::PROVIDERS.iter().chain(STAND_INS).copied().chain([escrow_playbook::AI_PROVIDER]).collect()
}
