//! A catalog like the real one, a project of referenced files, and snapshot files.

use std::fs;
use std::path::{Path, PathBuf};

use escrow_model::{
    ConditionalKeys, ExpectedArtifact, HarnessFacts, Home, Inputs, KeyKind, KeySpec, Known, Mutates,
    ProviderSpec,
};
use escrow_playbook::{
    AGENT_PROVIDER, AI_PROVIDER, AgentLookup, NestedError, NoReferences, ReferenceResolver, read_profile,
};
use serde_json::{Value, json};

const fn key(name: &'static str, kind: KeyKind) -> KeySpec {
    KeySpec { name, kind, required: false }
}

const fn needed(name: &'static str, kind: KeyKind) -> KeySpec {
    KeySpec { name, kind, required: true }
}

const MINUTE_MS: u64 = 60_000;

pub(crate) const CATALOG: &[ProviderSpec] = &[
    ProviderSpec {
        name: "command",
        summary: "runs a program",
        keys: &[
            needed("exec", KeyKind::Exec),
            key("shell", KeyKind::Shell),
            key("stdin", KeyKind::Text),
            key("parse", KeyKind::Word(&["auto", "text", "json", "lines"])),
            key("expect", KeyKind::ExitCodes),
        ],
        mutates: Mutates::Never,
        home: Home::Runtime,
        timeout_ms: 10 * MINUTE_MS,
        ..ProviderSpec::PURE
    },
    ProviderSpec {
        name: "script",
        summary: "computes a value",
        keys: &[needed("content", KeyKind::Block)],
        mutates: Mutates::Never,
        home: Home::Engine,
        timeout_ms: MINUTE_MS,
        ..ProviderSpec::PURE
    },
    ProviderSpec {
        name: "http",
        summary: "calls a URL",
        keys: &[
            needed("url", KeyKind::Url),
            key("method", KeyKind::Word(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])),
            key("headers", KeyKind::MessageMap),
            key("body", KeyKind::Message),
        ],
        mutates: Mutates::UnlessKeyIs { key: "method", words: &["GET", "HEAD"], default: "GET" },
        home: Home::Runtime,
        timeout_ms: MINUTE_MS / 2,
        sends_requests: true,
        ..ProviderSpec::PURE
    },
    ProviderSpec {
        name: "github",
        summary: "changes pull requests",
        keys: &[
            needed("op", KeyKind::Word(&["labels.add", "review.create", "pr.get"])),
            key("repo", KeyKind::TextOr("{{ event.repository.full_name }}")),
            key("values", KeyKind::Texts),
            key("verdict", KeyKind::OutputOf),
        ],
        mutates: Mutates::UnlessKeyIs { key: "op", words: &["pr.get"], default: "" },
        home: Home::Runtime,
        timeout_ms: MINUTE_MS,
        conditional_keys: &[ConditionalKeys { key: "op", word: "labels.add", needs: &["values"] }],
        sends_requests: true,
        finds_its_effects: true,
    },
    ProviderSpec {
        name: "memory",
        summary: "remembers",
        keys: &[
            needed("operation", KeyKind::Word(&["get", "set", "append", "increment", "delete", "list"])),
            key("key", KeyKind::Text),
            key("value", KeyKind::Tree),
            key("namespace", KeyKind::Text),
        ],
        conditional_keys: &[
            ConditionalKeys { key: "operation", word: "get", needs: &["key"] },
            ConditionalKeys { key: "operation", word: "increment", needs: &["key"] },
            ConditionalKeys { key: "operation", word: "delete", needs: &["key"] },
            ConditionalKeys { key: "operation", word: "set", needs: &["key", "value"] },
            ConditionalKeys { key: "operation", word: "append", needs: &["key", "value"] },
        ],
        mutates: Mutates::Never,
        home: Home::Engine,
        timeout_ms: MINUTE_MS,
        ..ProviderSpec::PURE
    },
    ProviderSpec {
        name: "log",
        summary: "says something",
        keys: &[
            needed("message", KeyKind::Text),
            key("level", KeyKind::Word(&["debug", "info", "warning", "error"])),
        ],
        mutates: Mutates::Never,
        home: Home::Engine,
        timeout_ms: MINUTE_MS,
        ..ProviderSpec::PURE
    },
    ProviderSpec {
        name: "noop",
        summary: "does nothing",
        keys: &[],
        mutates: Mutates::Never,
        home: Home::Engine,
        timeout_ms: MINUTE_MS,
        ..ProviderSpec::PURE
    },
    ProviderSpec {
        name: "human-input",
        summary: "asks a person",
        keys: &[
            needed("prompt", KeyKind::Text),
            key("choices", KeyKind::Texts),
            key("default", KeyKind::Text),
        ],
        mutates: Mutates::Never,
        home: Home::Person,
        timeout_ms: 24 * 60 * MINUTE_MS,
        ..ProviderSpec::PURE
    },
    ProviderSpec {
        name: "playbook",
        summary: "runs another playbook",
        keys: &[needed("playbook", KeyKind::Plain), key("with", KeyKind::Inputs)],
        mutates: Mutates::AsNested,
        home: Home::Runtime,
        timeout_ms: 24 * 60 * MINUTE_MS,
        ..ProviderSpec::PURE
    },
    AGENT_PROVIDER,
    AI_PROVIDER,
];

/// The files that a playbook can refer to: three agents, one of them invalid, a nested playbook with an artifact, and
/// a custom kind that is not a JSON Schema.
pub(crate) struct Project;

pub(crate) const REVIEWER: &str = "---
name: reviewer
description: reviews changes
command: [review-program, '--as', '{{ checkName }}']
timeout: 5m
env: { MODE: strict }
artifact_defaults:
  expected:
    - { id: report, path: report.md, required: false }
    - { id: verdict, path: verdict.json, schema: { type: object } }
---
You are a reviewer. Write {{ braces }} as they are: {% raw %}.
";

impl ReferenceResolver for Project {
    fn outcome_kind(&self, name: &str) -> Option<Result<Value, String>> {
        (name == "broken_kind").then(|| Ok(json!({"type": "objekt"})))
    }

    fn nested_error(&self, playbook: &str) -> Option<NestedError> {
        let reason = format!("file `{playbook}` not found");
        (playbook == "missing.yaml").then(|| NestedError { reason, ..NestedError::default() })
    }

    fn nested_inputs(&self, playbook: &str) -> Option<Inputs> {
        let text = "inputs: { target: { type: string } }\nchecks: { a: { type: noop } }";
        let plan = escrow_playbook::read(text, playbook, CATALOG, &NoReferences).plan.expect("valid");
        (playbook == "deploy.yaml").then_some(plan.inputs)
    }

    fn nested_artifacts(&self, _: &str) -> Vec<ExpectedArtifact> {
        let text = "artifacts: { expected: [{ id: notes, path: notes.md }] }\nchecks: { a: { type: noop } }";
        let plan = escrow_playbook::read(text, "nested.yaml", CATALOG, &NoReferences).plan.expect("valid");
        plan.artifacts.expected
    }

    fn harness(&self, name: &str) -> Option<HarnessFacts> {
        let facts = |name, usd, turns, tokens, has_login_file| {
            Some(HarnessFacts { name, usd, turns, tokens, has_login_file })
        };
        match name {
            "claude" => facts("claude", Known::AtEnd, Known::Streamed, Known::AtEnd, true),
            "codex" => facts("codex", Known::Never, Known::Never, Known::AtEnd, true),
            "copilot" => facts("copilot", Known::Never, Known::Streamed, Known::Never, false),
            _ => None,
        }
    }

    fn agent(&self, name: &str) -> AgentLookup {
        let text = match name {
            "reviewer" => REVIEWER,
            "thinker" => "---\nmodel: claude/opus\n---\nThink.\n",
            "broken" => {
                "---\ncomand: x\nartifact_defaults: { expected: [{ id: a, path: ../a }, { id: a, path: b }] }\n---\n"
            }
            _ => {
                let known = ["broken", "reviewer", "thinker"].map(str::to_owned).to_vec();
                return AgentLookup::Unknown { known };
            }
        };
        let file = format!(".escrow/agents/{name}.md");
        let reading = read_profile(text.as_bytes(), &file, name);
        match reading.profile {
            Some(profile) => AgentLookup::Found(Box::new(profile)),
            None => AgentLookup::Invalid { file, diagnostics: reading.diagnostics },
        }
    }
}

/// Compares the output for every `.yaml` file in a directory of `tests` with its `.txt` file.
/// `BLESS=1 cargo test` updates the `.txt` files.
pub(crate) fn check_directory(directory: &str, show: impl Fn(&str, &str) -> String) -> usize {
    let files = files_of(directory);
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).expect("it can be read");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
        let shown = show(&text, name);
        let snapshot = path.with_extension("txt");
        if bless {
            fs::write(&snapshot, &shown).expect("it can be written");
        } else if fs::read_to_string(&snapshot).unwrap_or_default() != shown {
            wrong.push(format!("--- {name} changed to\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{} of {} files differ", wrong.join("\n"), wrong.len(), files.len());
    files.len()
}

pub(crate) fn texts_of(directory: &str) -> Vec<String> {
    files_of(directory).iter().map(|path| fs::read_to_string(path).expect("it can be read")).collect()
}

fn files_of(directory: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(directory);
    let mut files: Vec<PathBuf> = fs::read_dir(&root)
        .expect("the directory is there")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    files
}
