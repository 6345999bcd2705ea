//! The keys of a show file.

use super::{CONCURRENCY, COUNT, INPUT, KeyTable, Shape, key, required};

pub(crate) static SHOW: KeyTable = KeyTable {
    what: "a show",
    keys: &[
        key("version", Shape::Version, "The version of the format: `1.0`."),
        key("name", Shape::Identifier, "The name of the show. Default: the name of its file."),
        key("title", Shape::Template, "What a run is called wherever it is listed."),
        key("description", Shape::Text, "A description for people."),
        key("inputs", Shape::Named(&INPUT), "The inputs of a run, given with `--input`."),
        key("env", Shape::Environment, "Environment variables of every play. Values are templates."),
        key("secrets", Shape::Secrets, "Secrets and their sources. Their values are redacted everywhere."),
        key("max_parallelism", COUNT, "How many plays run in parallel. Default: the number of cores."),
        key("concurrency", Shape::Map(&CONCURRENCY), "The group of runs that do not overlap."),
        key("timeout", Shape::Duration, "The time limit of a run."),
        required("plays", Shape::Named(&PLAY), "The plays, each with a name."),
    ],
};

pub(crate) static PLAY: KeyTable = KeyTable {
    what: "a play",
    keys: &[
        required("playbook", Shape::Text, "The playbook that the play runs."),
        key("with", Shape::Params, "The inputs of the playbook. Strings are templates."),
        key("depends_on", Shape::Texts, "The plays that must be accepted before it starts."),
        key("gate", Shape::Any, "The playbook whose `gate_verdict` decides whether the play is accepted."),
        key(
            "worktree",
            Shape::Bool,
            "Whether the play works in a git worktree of its own, merged when it is accepted.",
        ),
        key("timeout", Shape::Duration, "The time limit of the play."),
    ],
};
