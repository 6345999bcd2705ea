//! The keys of an agent profile's front matter.

use super::{ARTIFACTS, COUNT, KeyTable, Shape, key};
use crate::decode::HARNESS_NAMES;
use crate::decode::ai::{AUTHS, PERMISSIONS};

pub(crate) static PROFILE: KeyTable = KeyTable {
    what: "an agent profile",
    keys: &[
        key("name", Shape::Identifier, "The name of the agent; must match its file."),
        key("description", Shape::Text, "A description for people."),
        key(
            "command",
            Shape::Exec,
            "The program that runs the agent. It reads the prompt from standard input.",
        ),
        key("harness", Shape::Word(HARNESS_NAMES), "The AI program that runs the agent."),
        key("model", Shape::Text, "The model of the harness, or `harness/model`."),
        key("permission", Shape::Word(PERMISSIONS), "The permissions of the harness."),
        key("budget", Shape::Map(&BUDGET), "The spending limits of the harness."),
        key("auth", Shape::Word(AUTHS), "How the harness authenticates."),
        key("timeout", Shape::Duration, "The time limit of one attempt."),
        key("env", Shape::Environment, "Environment variables. Values are templates."),
        key(
            "artifact_defaults",
            Shape::Map(&ARTIFACTS),
            "The artifacts that it delivers by default. A playbook can override them.",
        ),
    ],
};

pub(crate) static BUDGET: KeyTable = KeyTable {
    what: "`budget`",
    keys: &[
        key("usd", Shape::Amount, "US dollars."),
        key("turns", COUNT, "The number of turns."),
        key("tokens", COUNT, "Input and output tokens."),
    ],
};
