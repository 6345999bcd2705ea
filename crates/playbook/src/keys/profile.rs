//! The front matter of an agent profile.

use super::{ARTIFACTS, COUNT, Shape, Table, key};

pub(crate) static PROFILE: Table = Table {
    what: "an agent profile",
    keys: &[
        key("name", Shape::Identifier, "What the agent is called; as its file."),
        key("description", Shape::Text, "What it is good at, for people."),
        key("command", Shape::Exec, "The program that is the agent; it reads the prompt from its input."),
        key("harness", Shape::Word(HARNESSES), "The AI program that is the agent."),
        key("model", Shape::Text, "The model of the harness, or `harness/model`."),
        key("permission", Shape::Word(&["read", "edit", "full"]), "What the harness may do."),
        key("budget", Shape::Map(&BUDGET), "How much the harness may use."),
        key("auth", Shape::Word(&["key", "login"]), "How the harness proves who it is."),
        key("timeout", Shape::Duration, "How long one attempt may take."),
        key("env", Shape::Environment, "Environment variables; values are templates."),
        key(
            "artifact_defaults",
            Shape::Map(&ARTIFACTS),
            "The files that it delivers unless a playbook says otherwise.",
        ),
    ],
};

const HARNESSES: &[&str] = &["claude", "codex", "gemini", "opencode", "copilot", "qwen"];

pub(crate) static BUDGET: Table = Table {
    what: "`budget`",
    keys: &[
        key("usd", Shape::Any, "US dollars."),
        key("turns", COUNT, "Turns of the conversation."),
        key("tokens", COUNT, "Tokens, in and out."),
    ],
};
