//! The keys of a chain file.

use super::{COUNT, KeyTable, RETRY, Shape, key, required};
use crate::chain::ACTION_NAMES;

pub(crate) static CHAIN: KeyTable = KeyTable {
    what: "a chain",
    keys: &[
        key("version", Shape::Version, "The version of the format: `1.0`."),
        key("name", Shape::Identifier, "The name of the chain. Default: the name of its file."),
        key(
            "title",
            Shape::Template,
            "What a run is called wherever it is listed: `Review of #{{ trigger.pr_number }}`.",
        ),
        key("description", Shape::Text, "A description for people."),
        key("trigger", Shape::Any, "When it fires. Without one, a person fires it."),
        required("steps", Shape::List(&STEP), "The steps, which follow one another."),
        key(
            "concurrency",
            Shape::Word(&["skip", "queue", "replace"]),
            "What a fire does while a run of the chain has not ended. Default: `skip`.",
        ),
        key("max_depth", COUNT, "How many chains may fire one another in a row. Default: 5."),
        key("env", Shape::Environment, "Environment variables of every step. Values are templates."),
        key("secrets", Shape::Secrets, "Secrets and their sources. Their values are redacted everywhere."),
        key("timeout", Shape::Duration, "The time limit of a run."),
    ],
};

pub(crate) static STEP: KeyTable = KeyTable {
    what: "a step",
    keys: &[
        key("name", Shape::Identifier, "The name by which later steps read it: `steps.NAME`."),
        key("skill", Shape::Text, "The playbook that the step runs."),
        key("action", Shape::Word(ACTION_NAMES), "What the step does to the world outside."),
        key(
            "condition",
            Shape::Text,
            "Whether the step runs, in Jinja over `trigger` and `steps`. Without it, a step is skipped after a failed one.",
        ),
        key(
            "with",
            Shape::Params,
            "The inputs of the playbook, or what the action needs. Strings are templates.",
        ),
        key("timeout", Shape::Duration, "The time limit of the step."),
        key("requires_approval", Shape::Approval, "Whether a person must approve the step before it starts."),
        key("retry", Shape::Map(&RETRY), "How often and when to retry."),
        key("secrets", Shape::SecretNames, "The declared secrets that the action is given."),
        key("env", Shape::Environment, "Environment variables of a `shell` action. Values are templates."),
        key("idempotent", Shape::Bool, "Whether repeating the action does no harm."),
        key("reconcile", Shape::Reconcile, "A command that finds out whether the action has happened."),
        key("effect_key", Shape::Template, "Names the effect across all runs of the state."),
    ],
};
