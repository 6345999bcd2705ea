//! Every key of a playbook, once. The decoder, the help for unknown keys and the JSON Schema for editors
//! all read these tables.

mod profile;

pub(crate) use profile::PROFILE;

/// The keys that one kind of map may have.
#[derive(Debug)]
pub(crate) struct Table {
    /// What the map is, for messages: `a check`.
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

/// How a value is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A string, or a number or boolean taken as it is written.
    Text,
    /// A string template.
    Template,
    Bool,
    /// A whole number in these bounds.
    Count {
        min: u64,
        max: u64,
    },
    /// `10m`, `1h30m`, `500ms`, or a number of milliseconds.
    Duration,
    /// A version of the format that this Escrow reads.
    Version,
    Word(&'static [&'static str]),
    /// A list of these words, or one.
    Words(&'static [&'static str]),
    /// An expression; `true` and `false` need no quotes.
    Expression,
    /// An expression, or a list of them that must all hold.
    Expressions,
    /// A statement block.
    Block,
    /// A list of strings, or one.
    Texts,
    /// A list of events, or one.
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
    /// A list of names of checks, or one.
    Targets,
    /// Declared secrets: a list of environment variables, or a map of names to where each comes from.
    Secrets,
    /// Names of declared secrets.
    SecretNames,
    /// A program and its arguments.
    Argv,
    /// A shell script, or a program and its arguments; templates.
    Exec,
    /// A command that says whether an effect happened, or a map of it and how its answer is read.
    Reconcile,
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
    Map(&'static Table),
    /// A map whose values have these keys, under names that the author chooses.
    Named(&'static Table),
    /// A list of maps with these keys.
    List(&'static Table),
    /// A map whose names and values depend on what stands beside it.
    Params,
    /// A list of rules, or the name of a file of them.
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

/// What stands for the one version there is.
pub(crate) const VERSIONS: &[&str] = &["1.0", "1"];

pub(crate) const CRITICALITIES: &[&str] = &["external", "internal", "policy", "info"];

const COUNT: Shape = Shape::Count { min: 1, max: u32::MAX as u64 };
const ANY_COUNT: Shape = Shape::Count { min: 0, max: u32::MAX as u64 };

pub(crate) static FILE: Table = Table {
    what: "a playbook",
    keys: &[
        key("version", Shape::Version, "The version of the format; `1.0`."),
        key("name", Shape::Text, "What the playbook is called; without it, the name of its file."),
        key("description", Shape::Text, "What it is for, for people."),
        key("inputs", Shape::Named(&INPUT), "What a run may be given with `--input`."),
        key("env", Shape::Environment, "Environment variables for every check; values are templates."),
        key("secrets", Shape::Secrets, "What must never be written down, and where it comes from."),
        key("artifacts", Shape::Map(&ARTIFACTS), "The files that a run must or may deliver."),
        key("routing", Shape::Map(&ROUTING_LIMITS), "Limits of routing."),
        key("max_parallelism", COUNT, "How many checks run at once; without it, the number of cores."),
        key("safety", Shape::Word(&["standard", "strict"]), "`strict` makes warnings about safety errors."),
        key("timeout", Shape::Duration, "How long a run may take."),
        key("checks", Shape::Named(&CHECK), "The checks, by name."),
        key("prompt", Shape::Template, "What one agent is asked, in a playbook without `checks`."),
        key("model", Shape::Text, "`harness/model` for `prompt`, such as `claude/sonnet`."),
        key(
            "agent",
            Shape::Identifier,
            "The agent whose profile the run follows, with the artifacts it promises.",
        ),
    ],
};

pub(crate) static ROUTING_LIMITS: Table = Table {
    what: "`routing`",
    keys: &[key(
        "max_loops",
        ANY_COUNT,
        "How often routing may re-run checks, per scope; 10, or 8 for critical ones.",
    )],
};

pub(crate) static INPUT: Table = Table {
    what: "an input",
    keys: &[
        key(
            "type",
            Shape::Word(&["string", "number", "boolean", "array", "object", "any"]),
            "What it may hold; `string` without it.",
        ),
        key("default", Shape::Any, "What it holds when it is not given."),
        key("required", Shape::Bool, "Whether a run without it is refused."),
        key("description", Shape::Text, "What it is for."),
    ],
};

pub(crate) static SECRET: Table = Table {
    what: "a secret",
    keys: &[
        key("env", Shape::Text, "The environment variable that holds it."),
        key("file", Shape::Text, "The file that holds it, relative to the directory of the run."),
        key("command", Shape::Argv, "The program that prints it, with its arguments; no shell."),
    ],
};

pub(crate) static ARTIFACTS: Table = Table {
    what: "`artifacts`",
    keys: &[required("expected", Shape::List(&ARTIFACT), "What the run promises to deliver.")],
};

pub(crate) static ARTIFACT: Table = Table {
    what: "an expected artifact",
    keys: &[
        required("id", Shape::Identifier, "Its stable name."),
        key("path", Shape::Text, "Where it is, relative to the artifact directory."),
        key("glob", Shape::Text, "A pattern for several files, instead of `path`."),
        key(
            "count",
            Shape::Map(&ARTIFACT_COUNT),
            "How many files the `glob` must match; at least one without it.",
        ),
        key("required", Shape::Bool, "Whether a run without it fails; true without it."),
        key("description", Shape::Text, "What it is, for people."),
        key("kind", Shape::Kind, "The outcome kind that it must parse as."),
        key("schema", Shape::Schema, "The JSON Schema that its content must satisfy."),
        key("min_size", Shape::Count { min: 0, max: u64::MAX }, "The least size in bytes; 1 without it."),
        key("mime_type", Shape::Text, "The media type that its content must have."),
        key(
            "fresh",
            Shape::Bool,
            "Whether it must have been made or changed during the run; true without it.",
        ),
    ],
};

/// A file of rules that says more than its rules.
pub(crate) static RULES: Table = Table {
    what: "a file of rules",
    keys: &[
        key("version", Shape::Version, "The version of the format; `1.0`."),
        key("name", Shape::Text, "What the rules are called."),
        key("description", Shape::Text, "What they are for, for people."),
        required("rules", Shape::List(&RULE), "The rules, in the order in which they speak."),
    ],
};

pub(crate) static RULE: Table = Table {
    what: "a rule",
    keys: &[
        required("rule_id", Shape::Text, "Its name, unique among the rules it is applied with."),
        required("field", Shape::Text, "The path of the value, such as `findings[0].file`."),
        required("check", Shape::Word(RULE_CHECKS), "What is asked of the value."),
        key(
            "params",
            Shape::Params,
            "`type`; `min`, `max`; `pattern`, `flags`, `max_length`; `expr`, `error`.",
        ),
        key("message", Shape::Text, "What is said instead of the usual message."),
        key("enabled", Shape::Bool, "Whether it is applied; true without it."),
    ],
};

pub(crate) const RULE_CHECKS: &[&str] = &["required", "type", "range", "pattern", "custom"];

pub(crate) static ARTIFACT_COUNT: Table = Table {
    what: "`count`",
    keys: &[
        key("min", ANY_COUNT, "The least number of files; 1 without it."),
        key("max", COUNT, "The greatest number of files."),
    ],
};

pub(crate) static CHECK: Table = Table {
    what: "a check",
    keys: &[
        required("type", Shape::Provider, "The provider that does the work."),
        key("on", Shape::Events, "The events that it listens to; all without it."),
        key("if", Shape::Expression, "Whether it runs at all."),
        key("assume", Shape::Expressions, "What must hold right before the provider is called."),
        key("assume_mode", Shape::Word(&["skip", "fail"]), "What a broken `assume` does; `skip` without it."),
        key("guarantee", Shape::Expressions, "What must hold of the output."),
        key("schema", Shape::SchemaOrCard, "The JSON Schema of the output, or the name of a card."),
        key("output_schema", Shape::Schema, "Deprecated: write `schema`."),
        key("rules", Shape::Rules, "Rules over fields of the output, or the file that they stand in."),
        key("fail_if", Shape::Expression, "Which output counts as a failure."),
        key("artifacts", Shape::ArtifactIds, "The artifacts that must be there when its provider is done."),
        key("outcome", Shape::Kind, "The outcome kind that the output is stored as."),
        key("depends_on", Shape::Needs, "The checks that it needs; `'a|b'` is any of them."),
        key("forEach", Shape::Bool, "Whether its output is a list whose items its dependents run for."),
        key("fanout", Shape::Word(&["map", "reduce"]), "Whether it runs for each item or once for all."),
        key("concurrency", COUNT, "How many items of a `forEach` check run at once."),
        key("criticality", Shape::Word(CRITICALITIES), "The risk that it carries."),
        key("critical", Shape::Bool, "`true` is `policy` at least, `false` is `info`."),
        key(
            "continue_on_failure",
            Shape::Bool,
            "Whether its dependents run although it failed or was skipped.",
        ),
        key("tags", Shape::Texts, "Words to select it by."),
        key("timeout", Shape::Duration, "How long one attempt may take."),
        key("env", Shape::Environment, "Environment variables; values are templates."),
        key("secrets", Shape::SecretNames, "The declared secrets that it finds in its environment."),
        key("idempotent", Shape::Bool, "Whether repeating its effect does no harm."),
        key("reconcile", Shape::Reconcile, "How to find out whether an effect happened."),
        key("requires_approval", Shape::Bool, "Whether a person must approve before it runs."),
        key(
            "retry_on",
            Shape::Words(&["transient", "logical"]),
            "The faults that are retried; `transient` without it.",
        ),
        key("start", Shape::Bool, "Whether it starts by itself, whatever routes to it."),
        key("on_success", Shape::Map(&ROUTING), "Where the run goes after it succeeded."),
        key("on_fail", Shape::Map(&ON_FAIL), "Where the run goes after it failed."),
        key("on_finish", Shape::Map(&ROUTING), "Where the run goes after it settled, its items included."),
    ],
};

pub(crate) static RECONCILE: Table = Table {
    what: "`reconcile`",
    keys: &[
        required("exec", Shape::Exec, "The command that looks; it should only read."),
        key("done", Shape::Expression, "When its answer says that the effect happened."),
        key("failed", Shape::Expression, "When its answer says that it did not, and the check failed."),
        key("retry", Shape::Expression, "When its answer says that it did not, and may be tried again."),
        key("timeout", Shape::Duration, "How long it may take; 1m without it."),
    ],
};

const RUN: Key = key("run", Shape::Targets, "The checks to run first.");
const RUN_JS: Key = key("run_js", Shape::Block, "A block that returns the names of checks to run.");
const TRANSITIONS: Key =
    key("transitions", Shape::List(&TRANSITION), "Rules; the first that holds is taken.");
const GOTO_JS: Key =
    key("goto_js", Shape::Block, "A block that returns the name of the check to go to, or null.");
const GOTO: Key = key("goto", Shape::Target, "The check to go to when nothing else decided.");
const GOTO_EVENT: Key = key("goto_event", Shape::Event, "The event that the routed checks see.");

pub(crate) static ROUTING: Table =
    Table { what: "a routing block", keys: &[RUN, RUN_JS, TRANSITIONS, GOTO_JS, GOTO, GOTO_EVENT] };

pub(crate) static ON_FAIL: Table = Table {
    what: "`on_fail`",
    keys: &[
        RUN,
        RUN_JS,
        key("retry", Shape::Map(&RETRY), "Whether and how it is attempted again."),
        TRANSITIONS,
        GOTO_JS,
        GOTO,
        GOTO_EVENT,
    ],
};

pub(crate) static TRANSITION: Table = Table {
    what: "a transition",
    keys: &[
        required("when", Shape::Expression, "When it is taken."),
        required("to", Shape::TargetOrNull, "The check to go to; null stops."),
        GOTO_EVENT,
    ],
};

pub(crate) static RETRY: Table = Table {
    what: "`retry`",
    keys: &[
        key(
            "max",
            Shape::Count { min: 0, max: 1000 },
            "How many times after the first attempt; 3, or 2 for critical checks.",
        ),
        key("backoff", Shape::Map(&BACKOFF), "How long to wait in between."),
    ],
};

pub(crate) static BACKOFF: Table = Table {
    what: "`backoff`",
    keys: &[
        key("mode", Shape::Word(&["fixed", "exponential"]), "`exponential` without it: the delay doubles."),
        key(
            "delay_ms",
            Shape::Count { min: 0, max: 86_400_000 },
            "The first delay in milliseconds; 1000 without it.",
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_within_a_table_and_every_key_says_what_it_is_for() {
        for table in [
            &FILE,
            &ROUTING_LIMITS,
            &INPUT,
            &SECRET,
            &ARTIFACTS,
            &ARTIFACT,
            &ARTIFACT_COUNT,
            &PROFILE,
            &profile::BUDGET,
            &RULES,
            &RULE,
            &CHECK,
            &RECONCILE,
            &ROUTING,
            &ON_FAIL,
            &TRANSITION,
            &RETRY,
            &BACKOFF,
        ] {
            let mut names: Vec<&str> = table.keys.iter().map(|key| key.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{}", table.what);
            assert!(table.keys.iter().all(|key| key.doc.ends_with('.')), "{}", table.what);
        }
    }
}
