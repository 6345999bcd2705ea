//! The tables of all keys. Validation, suggestions for unknown keys and the JSON Schema for editors are driven by
//! them.

mod chain;
mod profile;
mod show;

pub(crate) use chain::{CHAIN, STEP};
pub(crate) use profile::{BUDGET, PROFILE};
pub(crate) use show::{PLAY, SHOW};

/// The keys that one kind of map may have.
#[derive(Debug)]
pub(crate) struct KeyTable {
    /// How messages name the map: `a check`.
    pub(crate) what: &'static str,
    pub(crate) keys: &'static [Key],
}

#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    pub(crate) doc: &'static str,
}

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A string. Numbers and booleans are taken as written.
    Text,
    /// A string template.
    Template,
    Bool,
    /// A whole number within bounds.
    Count {
        min: u64,
        max: u64,
    },
    /// A number above 0.
    Amount,
    /// `10m`, `1h30m`, `500ms`, or a number of milliseconds.
    Duration,
    /// `512M`, `2G`, or a number of bytes.
    Size,
    /// A supported version of the format.
    Version,
    Word(&'static [&'static str]),
    /// One of these words, or a list of them.
    Words(&'static [&'static str]),
    /// An expression. `true` and `false` need no quotes.
    Expression,
    /// An expression, or a list of expressions that must all be true.
    Expressions,
    /// A statement block.
    Block,
    /// A string, or a list of strings.
    Texts,
    /// A path, or a list of paths that may be empty.
    Paths,
    /// An event, or a list of events.
    Events,
    Event,
    /// The name of a provider.
    Provider,
    /// `a`, `[a, b]`, `'a|b'`.
    Needs,
    /// The name of a check.
    Target,
    /// The name of a check, or null to stop.
    TargetOrNull,
    /// The name of a check, or a list of names.
    Targets,
    /// Declared secrets: a list of environment variables, or a map from names to sources.
    Secrets,
    /// Names of declared secrets, or maps that also say how each is handed over.
    SecretNames,
    /// A program and its arguments.
    Argv,
    /// A shell script, or a program and its arguments; templates.
    Exec,
    /// A command that finds out whether an effect happened, or a map with the command and how to read its output.
    Reconcile,
    /// `true`, or a map that says who approves.
    Approval,
    /// Environment variables and their values.
    Environment,
    /// A JSON Schema, or the name of a card.
    SchemaOrCard,
    Schema,
    /// Ids of expected artifacts.
    ArtifactIds,
    /// An identifier: letters, digits, `_` and `-`.
    Identifier,
    Any,
    Map(&'static KeyTable),
    /// A map from names that the author chooses to maps with these keys.
    Named(&'static KeyTable),
    /// A list of maps with these keys.
    List(&'static KeyTable),
    /// A map whose keys depend on the `check` of its rule.
    Params,
    /// A list of rules, or the name of a rules file.
    Rules,
    /// The name of an outcome kind.
    Kind,
}

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, required: false, doc }
}

const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, required: true, doc }
}

/// The spellings of the supported version.
pub(crate) const VERSIONS: &[&str] = &["1.0", "1"];

pub(crate) const CRITICALITIES: &[&str] = &["external", "internal", "policy", "info"];

const COUNT: Shape = Shape::Count { min: 1, max: u32::MAX as u64 };
const ANY_COUNT: Shape = Shape::Count { min: 0, max: u32::MAX as u64 };

pub(crate) static FILE: KeyTable = KeyTable {
    what: "a playbook",
    keys: &[
        key("version", Shape::Version, "The version of the format: `1.0`."),
        key("name", Shape::Text, "The name of the playbook. Default: the name of its file."),
        key(
            "title",
            Shape::Template,
            "What a run is called wherever it is listed: `Release {{ inputs.version }}`.",
        ),
        key("description", Shape::Text, "A description for people."),
        key("inputs", Shape::Named(&INPUT), "The inputs of a run, given with `--input`."),
        key("env", Shape::Environment, "Environment variables of every check. Values are templates."),
        key("secrets", Shape::Secrets, "Secrets and their sources. Their values are redacted everywhere."),
        key("artifacts", Shape::Map(&ARTIFACTS), "The files that a run must or can deliver."),
        key("routing", Shape::Map(&ROUTING_LIMITS), "Limits of routing."),
        key("max_parallelism", COUNT, "How many checks run in parallel. Default: the number of cores."),
        key("concurrency", Shape::Map(&CONCURRENCY), "The group of runs that do not overlap."),
        key(
            "safety",
            Shape::Word(&["standard", "strict"]),
            "`strict` turns warnings about safety into errors.",
        ),
        key("timeout", Shape::Duration, "The time limit of a run."),
        key(
            "sandbox",
            Shape::Map(&SANDBOX),
            "How every command is confined, unless its check says otherwise.",
        ),
        key("checks", Shape::Named(&CHECK), "The checks, by name."),
        key("prompt", Shape::Template, "The prompt of a single agent, in a playbook without `checks`."),
        key("model", Shape::Text, "The `harness/model` of `prompt`, such as `claude/sonnet`."),
        key(
            "agent",
            Shape::Identifier,
            "The agent whose profile applies to the run, including its artifacts.",
        ),
    ],
};

pub(crate) static ROUTING_LIMITS: KeyTable = KeyTable {
    what: "`routing`",
    keys: &[key(
        "max_loops",
        ANY_COUNT,
        "How often routing can re-run checks, per scope. Default: 10, or 8 for critical checks.",
    )],
};

pub(crate) static CONCURRENCY: KeyTable = KeyTable {
    what: "`concurrency`",
    keys: &[
        required(
            "group",
            Shape::Template,
            "The name of the group: `deploy-{{ inputs.target }}`. Runs of one group do not overlap.",
        ),
        key(
            "on_conflict",
            Shape::Word(&["wait", "refuse", "cancel"]),
            "What a run does when another one has its group. Default: `wait`.",
        ),
    ],
};

pub(crate) static INPUT: KeyTable = KeyTable {
    what: "an input",
    keys: &[
        key(
            "type",
            Shape::Word(&["string", "number", "boolean", "array", "object", "any"]),
            "The type of its value. Default: `string`.",
        ),
        key("default", Shape::Any, "The value when none is given."),
        key("required", Shape::Bool, "Whether a run without it is rejected."),
        key("description", Shape::Text, "A description for people."),
    ],
};

pub(crate) static SECRET: KeyTable = KeyTable {
    what: "a secret",
    keys: &[
        key("env", Shape::Text, "The environment variable that contains it."),
        key("file", Shape::Text, "The file that contains it, relative to the directory of the run."),
        key("command", Shape::Argv, "The program that prints it, with its arguments. No shell is involved."),
    ],
};

pub(crate) static ARTIFACTS: KeyTable = KeyTable {
    what: "`artifacts`",
    keys: &[required("expected", Shape::List(&ARTIFACT), "The artifacts that the run promises to deliver.")],
};

pub(crate) static ARTIFACT: KeyTable = KeyTable {
    what: "an expected artifact",
    keys: &[
        required("id", Shape::Identifier, "The stable name of the artifact."),
        key("path", Shape::Text, "Its path, relative to the artifact directory."),
        key("glob", Shape::Text, "A pattern for several files, instead of `path`."),
        key(
            "count",
            Shape::Map(&ARTIFACT_COUNT),
            "How many files the `glob` must match. Default: at least one.",
        ),
        key("required", Shape::Bool, "Whether a run without it fails. Default: true."),
        key("description", Shape::Text, "A description for people."),
        key("kind", Shape::Kind, "The outcome kind that it must parse as."),
        key("schema", Shape::Schema, "The JSON Schema that its content must satisfy."),
        key("min_size", Shape::Count { min: 0, max: u64::MAX }, "The minimum size in bytes. Default: 1."),
        key("mime_type", Shape::Text, "The media type that its content must have."),
        key("fresh", Shape::Bool, "Whether the run must have created or changed it. Default: true."),
        key("if", Shape::Expression, "It is expected only when this holds at the end of the run."),
    ],
};

/// A rules file in the form of a map.
pub(crate) static RULES: KeyTable = KeyTable {
    what: "a rules file",
    keys: &[
        key("version", Shape::Version, "The version of the format: `1.0`."),
        key("name", Shape::Text, "The name of the rules."),
        key("description", Shape::Text, "A description for people."),
        required("rules", Shape::List(&RULE), "The rules, in the order of evaluation."),
    ],
};

pub(crate) static RULE: KeyTable = KeyTable {
    what: "a rule",
    keys: &[
        required("rule_id", Shape::Text, "Its name, unique within the rule set."),
        required("field", Shape::Text, "The path of the value, such as `findings[0].file`."),
        required("check", Shape::Word(RULE_CHECKS), "The kind of test."),
        key(
            "params",
            Shape::Params,
            "`type`; `min`, `max`; `pattern`, `flags`, `max_length`; `expr`, `error`.",
        ),
        key("message", Shape::Text, "Replaces the default message."),
        key("enabled", Shape::Bool, "Whether it is applied. Default: true."),
    ],
};

pub(crate) const RULE_CHECKS: &[&str] = &["required", "type", "range", "pattern", "custom"];

pub(crate) static ARTIFACT_COUNT: KeyTable = KeyTable {
    what: "`count`",
    keys: &[
        key("min", ANY_COUNT, "The minimum number of files. Default: 1."),
        key("max", COUNT, "The maximum number of files."),
    ],
};

pub(crate) static CHECK: KeyTable = KeyTable {
    what: "a check",
    keys: &[
        required("type", Shape::Provider, "The provider that runs the check."),
        key("on", Shape::Events, "The events that it responds to. Default: all."),
        key("if", Shape::Expression, "Whether the check runs."),
        key("assume", Shape::Expressions, "What must be true before the provider runs."),
        key(
            "assume_mode",
            Shape::Word(&["skip", "fail"]),
            "The effect of a false `assume`. Default: `skip`.",
        ),
        key("guarantee", Shape::Expressions, "What must be true of the output."),
        key("schema", Shape::SchemaOrCard, "The JSON Schema of the output, or the name of a card."),
        key("output_schema", Shape::Schema, "Deprecated: write `schema`."),
        key("rules", Shape::Rules, "Rules for fields of the output, or the name of a rules file."),
        key("fail_if", Shape::Expression, "When the output counts as a failure."),
        key("artifacts", Shape::ArtifactIds, "The artifacts that must exist when its provider has finished."),
        key("outcome", Shape::Kind, "The outcome kind that the output is stored as."),
        key("depends_on", Shape::Needs, "The checks that must finish first. `'a|b'` means any of them."),
        key("forEach", Shape::Bool, "Whether its dependents run once for each item of its output."),
        key(
            "fanout",
            Shape::Word(&["map", "reduce"]),
            "Whether it runs for each item or once for all items.",
        ),
        key("concurrency", COUNT, "How many items of a `forEach` check run in parallel."),
        key("criticality", Shape::Word(CRITICALITIES), "The risk of the check."),
        key("critical", Shape::Bool, "`true` means at least `policy`, `false` means `info`."),
        key(
            "continue_on_failure",
            Shape::Bool,
            "Whether its dependents run even when it failed or was skipped.",
        ),
        key(
            "continue_on_skip",
            Shape::Bool,
            "Whether its dependents run when it was not needed: filtered, or its `if` was false.",
        ),
        key("tags", Shape::Texts, "Tags to select it by."),
        key("timeout", Shape::Duration, "The time limit of one attempt."),
        key("env", Shape::Environment, "Environment variables. Values are templates."),
        key("secrets", Shape::SecretNames, "The declared secrets that it is given."),
        key("idempotent", Shape::Bool, "Whether its effect can be repeated safely."),
        key("reconcile", Shape::Reconcile, "How to find out whether an effect happened."),
        key(
            "effect_key",
            Shape::Template,
            "Names its effect across all runs, so that it happens once: `publish-{{ inputs.version }}`.",
        ),
        key("requires_approval", Shape::Approval, "Whether a person must approve before it runs, and who."),
        key(
            "retry_on",
            Shape::Words(&["transient", "logical"]),
            "The failures that are retried. Default: `transient`.",
        ),
        key("start", Shape::Bool, "Whether it starts without being routed to."),
        key("on_success", Shape::Map(&ROUTING), "Routing after success."),
        key("on_fail", Shape::Map(&ON_FAIL), "Routing after failure."),
        key("on_finish", Shape::Map(&ROUTING), "Routing after it and all its items have finished."),
    ],
};

pub(crate) static APPROVAL: KeyTable = KeyTable {
    what: "`requires_approval`",
    keys: &[
        key(
            "prompt",
            Shape::Template,
            "What people are asked. Default: a sentence with the name of the check.",
        ),
        key("by", Shape::Texts, "Who may approve: `os:NAME`, `token:NAME` or a bare name. Default: anyone."),
        key("count", COUNT, "How many different people must approve. Default: 1."),
        key("expires", Shape::Duration, "The time after which it counts as denied. Default: `24h`."),
        key("independent", Shape::Bool, "Whether those who started or resumed the run are excluded."),
    ],
};

pub(crate) static SANDBOX: KeyTable = KeyTable {
    what: "`sandbox`",
    keys: &[
        key("filesystem", Shape::Map(&SANDBOX_FILESYSTEM), "The files that it can read and write."),
        key(
            "network",
            Shape::Word(escrow_model::SandboxNetwork::WORDS),
            "The network that it sees. Default: `full`.",
        ),
        key("limits", Shape::Map(&SANDBOX_LIMITS), "Limits on resources."),
    ],
};

pub(crate) static SANDBOX_FILESYSTEM: KeyTable = KeyTable {
    what: "`filesystem`",
    keys: &[
        key(
            "read",
            Shape::Paths,
            "Paths that it can read, besides those that it can write and the system's programs. Default: all.",
        ),
        key("write", Shape::Paths, "Paths that it can write, besides the artifact directory. Default: none."),
    ],
};

pub(crate) static SANDBOX_LIMITS: KeyTable = KeyTable {
    what: "`limits`",
    keys: &[
        key("memory", Shape::Size, "Address space of each process, such as `2G`."),
        key("processes", COUNT, "Processes of the user."),
        key("files", COUNT, "Open files of each process."),
    ],
};

pub(crate) static GRANTED_SECRET: KeyTable = KeyTable {
    what: "a secret of a check",
    keys: &[
        required("name", Shape::Text, "The name of a declared secret."),
        key(
            "as",
            Shape::Word(&["env", "file", "fd"]),
            "A variable with the value, with the path of a file, or with that of an open file.",
        ),
    ],
};

pub(crate) static RECONCILE: KeyTable = KeyTable {
    what: "`reconcile`",
    keys: &[
        required("exec", Shape::Exec, "The command to run. It should only read."),
        key("done", Shape::Expression, "When the output means that the effect happened."),
        key(
            "failed",
            Shape::Expression,
            "When the output means that the effect did not happen and the check failed.",
        ),
        key(
            "retry",
            Shape::Expression,
            "When the output means that the effect did not happen and can be retried.",
        ),
        key("output", Shape::Expression, "The output of an effect that happened, read from the answer."),
        key("timeout", Shape::Duration, "The time limit. Default: `1m`."),
    ],
};

const RUN: Key = key("run", Shape::Targets, "The checks to run first.");
const RUN_JS: Key = key("run_js", Shape::Block, "A block that returns the names of checks to run.");
const TRANSITIONS: Key = key(
    "transitions",
    Shape::List(&TRANSITION),
    "Conditional targets. The first whose `when` is true applies.",
);
const GOTO_JS: Key =
    key("goto_js", Shape::Block, "A block that returns the name of the check to go to, or null.");
const GOTO: Key = key("goto", Shape::Target, "The target when no transition applies.");
const GOTO_EVENT: Key = key("goto_event", Shape::Event, "The event for the checks that are routed to.");

pub(crate) static ROUTING: KeyTable =
    KeyTable { what: "a routing block", keys: &[RUN, RUN_JS, TRANSITIONS, GOTO_JS, GOTO, GOTO_EVENT] };

pub(crate) static ON_FAIL: KeyTable = KeyTable {
    what: "`on_fail`",
    keys: &[
        RUN,
        RUN_JS,
        key("retry", Shape::Map(&RETRY), "How often and when to retry."),
        TRANSITIONS,
        GOTO_JS,
        GOTO,
        GOTO_EVENT,
    ],
};

pub(crate) static TRANSITION: KeyTable = KeyTable {
    what: "a transition",
    keys: &[
        required("when", Shape::Expression, "When the transition applies."),
        required("to", Shape::TargetOrNull, "The check to go to, or null to stop."),
        GOTO_EVENT,
    ],
};

pub(crate) static RETRY: KeyTable = KeyTable {
    what: "`retry`",
    keys: &[
        key(
            "max",
            Shape::Count { min: 0, max: 1000 },
            "The number of retries. Default: 3, or 2 for critical checks.",
        ),
        key("backoff", Shape::Map(&BACKOFF), "The delay between attempts."),
    ],
};

pub(crate) static BACKOFF: KeyTable = KeyTable {
    what: "`backoff`",
    keys: &[
        key(
            "mode",
            Shape::Word(&["fixed", "exponential"]),
            "Whether the delay is constant or doubles. Default: `exponential`.",
        ),
        key(
            "delay_ms",
            Shape::Count { min: 0, max: 86_400_000 },
            "The first delay in milliseconds. Default: 1000.",
        ),
    ],
};

/// Every table.
const TABLES: &[&KeyTable] = &[
    &FILE,
    &ROUTING_LIMITS,
    &CONCURRENCY,
    &INPUT,
    &SECRET,
    &ARTIFACTS,
    &ARTIFACT,
    &ARTIFACT_COUNT,
    &PROFILE,
    &BUDGET,
    &RULES,
    &RULE,
    &CHECK,
    &APPROVAL,
    &RECONCILE,
    &GRANTED_SECRET,
    &ROUTING,
    &ON_FAIL,
    &TRANSITION,
    &RETRY,
    &BACKOFF,
    &CHAIN,
    &STEP,
    &SHOW,
    &PLAY,
];

/// The names of all keys, and the words that they take.
pub(crate) fn every_name() -> impl Iterator<Item = &'static str> {
    TABLES.iter().flat_map(|table| table.keys).flat_map(|key| {
        let words = match key.shape {
            Shape::Word(words) | Shape::Words(words) => words,
            _ => &[],
        };
        std::iter::once(key.name).chain(words.iter().copied())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_are_unique_within_a_table_and_every_key_is_documented() {
        for table in TABLES {
            let mut names: Vec<&str> = table.keys.iter().map(|key| key.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{}", table.what);
            assert!(table.keys.iter().all(|key| key.doc.ends_with('.')), "{}", table.what);
        }
    }
}
