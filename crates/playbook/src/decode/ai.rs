//! `type: ai`, and agents whose profile makes them one.

use escrow_model::{
    Budget, Check, Field, Home, KeyKind, KeySpec, Mutates, ProviderName, ProviderSpec, Sandbox, Text,
};
use indexmap::IndexMap;
use serde_json::Value;

use crate::profile::AgentProfile;

/// The harnesses that a playbook can name, in the order in which `PATH` is searched for a default.
pub const HARNESS_NAMES: &[&str] = &["claude", "codex", "gemini", "opencode", "copilot", "qwen"];

pub(crate) const PERMISSIONS: &[&str] = &["read", "edit", "full"];
pub(crate) const AUTHS: &[&str] = &["key", "login"];

/// The keys that a check of `type: agent` has too, to replace those of its profile.
const HARNESS_KEYS: [KeySpec; 10] = [
    key("harness", KeyKind::Word(HARNESS_NAMES)),
    key("model", KeyKind::Text),
    key("permission", KeyKind::Word(PERMISSIONS)),
    key("permission_enforcement", KeyKind::Word(&["kernel", "advisory"])),
    key(Budget::FIELD, KeyKind::Budget),
    key("auth", KeyKind::Word(AUTHS)),
    key("reuse_session", KeyKind::CheckOrTrue),
    key("repair", KeyKind::Count),
    key("not_same_as", KeyKind::Check),
    key("hold_stop", KeyKind::Bool),
];

const AI_KEYS: [KeySpec; 12] = with_harness_keys([
    KeySpec { name: "prompt", kind: KeyKind::Text, required: true },
    key(Sandbox::FIELD, KeyKind::Sandbox),
]);

const AGENT_KEYS: [KeySpec; 13] = with_harness_keys([
    key("agent", KeyKind::Plain),
    KeySpec { name: "prompt", kind: KeyKind::Text, required: true },
    key(Sandbox::FIELD, KeyKind::Sandbox),
]);

/// `type: ai`. The runtime performs it.
pub const AI_PROVIDER: ProviderSpec = ProviderSpec {
    name: "ai",
    summary: "gives a prompt to an AI harness; its output is the final answer",
    keys: &AI_KEYS,
    mutates: Mutates::Never,
    home: Home::Runtime,
    timeout_ms: 30 * 60 * 1000,
    ..ProviderSpec::PURE
};

/// `type: agent`. No provider implements it: the profile turns the check into a `command` or an `ai` check.
pub const AGENT_PROVIDER: ProviderSpec = ProviderSpec {
    name: "agent",
    summary: "gives a task to an agent, as defined by its profile",
    keys: &AGENT_KEYS,
    mutates: Mutates::Never,
    home: Home::Runtime,
    timeout_ms: 30 * 60 * 1000,
    ..ProviderSpec::PURE
};

const fn key(name: &'static str, kind: KeyKind) -> KeySpec {
    KeySpec { name, kind, required: false }
}

const fn with_harness_keys<const OWN: usize, const ALL: usize>(own: [KeySpec; OWN]) -> [KeySpec; ALL] {
    let mut keys = [own[0]; ALL];
    let mut at = 0;
    while at < ALL {
        keys[at] = if at < OWN { own[at] } else { HARNESS_KEYS[at - OWN] };
        at += 1;
    }
    keys
}

/// Whether a key only means something to a harness.
pub(super) fn is_harness_key(name: &str) -> bool {
    HARNESS_KEYS.iter().any(|key| key.name == name)
}

/// Turns a check of an agent into a check of its harness. What the check states replaces what the profile states.
pub(super) fn compile(check: &mut Check, profile: &AgentProfile, prompt: Text) {
    let mut fields: IndexMap<String, Field> = IndexMap::new();
    fields.insert("prompt".to_owned(), Field::Text(prompt));
    let text = |word: &Option<String>| word.clone().map(|word| Field::Plain(Value::String(word)));
    let declared = std::mem::take(&mut check.fields);
    let model = match declared.get("harness") {
        // The model of another harness means nothing to this one.
        Some(harness) if Some(harness) != text(&profile.harness).as_ref() => None,
        Some(_) | None => text(&profile.model),
    };
    for (name, value) in [
        ("harness", text(&profile.harness)),
        ("model", model),
        ("permission", text(&profile.permission)),
        ("auth", text(&profile.auth)),
        (Budget::FIELD, profile.budget.clone().map(Field::Plain)),
    ] {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    }
    fields.extend(declared.into_iter().filter(|(name, _)| is_harness_key(name) || name == Sandbox::FIELD));
    check.provider = ProviderName::AI;
    check.fields = fields;
}
