//! Keys that other engines have and Escrow does not, each with what to write instead.

/// Where a foreign key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    File,
    Check,
    Routing,
    Artifact,
    Profile,
}

pub(crate) struct ForeignKey {
    pub(crate) name: &'static str,
    pub(crate) level: Level,
    pub(crate) help: &'static str,
}

/// What to write instead of a key of another engine.
pub(crate) fn replacement(name: &str, level: Level) -> Option<&'static str> {
    FOREIGN.iter().find(|key| key.name == name && key.level == level).map(|key| key.help)
}

const fn file(name: &'static str, help: &'static str) -> ForeignKey {
    ForeignKey { name, level: Level::File, help }
}

const fn check(name: &'static str, help: &'static str) -> ForeignKey {
    ForeignKey { name, level: Level::Check, help }
}

const fn routing(name: &'static str, help: &'static str) -> ForeignKey {
    ForeignKey { name, level: Level::Routing, help }
}

const fn artifact(name: &'static str, help: &'static str) -> ForeignKey {
    ForeignKey { name, level: Level::Artifact, help }
}

const fn profile(name: &'static str, help: &'static str) -> ForeignKey {
    ForeignKey { name, level: Level::Profile, help }
}

const INCLUDES: &str = "a playbook stands alone, so that its contract can be read in one place; share parts with YAML anchors, or run another playbook with a check of `type: playbook`";
const TRANSFORMS: &str =
    "compute it in a check of its own: `type: script` with `content`, depending on this one";
const PROVIDER_SETTINGS: &str = "say it on the `ai` check: `harness` and `model`";
const ORDER_OF_JOBS: &str = "order checks with `depends_on`";

pub(crate) const FOREIGN: &[ForeignKey] = &[
    file("steps", "call it `checks`: a map from the name of a check to the check"),
    file("tasks", "call it `checks`: a map from the name of a check to the check"),
    file("jobs", "call it `checks`: a map from the name of a check to the check"),
    file("stages", "order checks with `depends_on`; list them under `checks`"),
    file("extends", INCLUDES),
    file("include", INCLUDES),
    file("imports", INCLUDES),
    file("limits", "bound loops with `routing: { max_loops: N }`, and a run with `timeout`"),
    file("fail_fast", "a failed check already stops what depends on it; order with `depends_on`"),
    file("fail_if", "put `fail_if` on each check that it is about"),
    file("failure_conditions", "put `fail_if` on each check that it is about"),
    file(
        "memory",
        "memory needs no configuration: use checks of `type: memory`, and `memory.get(…)` in expressions",
    ),
    file("on", "put `on` on each check, or choose the checks with `--tags` or `--only`"),
    file("tag_filter", "choose at the command line: `--tags` and `--exclude-tags`"),
    file("output", "choose at the command line: `--output` and `--report`"),
    file("tools", "call programs with checks of `type: command`"),
    file("ai_provider", PROVIDER_SETTINGS),
    file("ai_model", PROVIDER_SETTINGS),
    file(
        "max_ai_concurrency",
        "bound all checks with `max_parallelism`, or the items of a `forEach` check with its `concurrency`",
    ),
    file("scheduler", "fire it on a schedule from a chain"),
    file("schedule", "fire it on a schedule from a chain"),
    file("triggers", "fire it from a chain, which has triggers"),
    file("concurrency", "bound all checks with `max_parallelism`"),
    file("parallelism", "write `max_parallelism`"),
    file("defaults", "share values with YAML anchors and `<<`"),
    check("on_init", "put it into a check of its own and name that in `depends_on`"),
    check("transform", TRANSFORMS),
    check("transform_js", TRANSFORMS),
    check("value_js", "compute it in a `script` check, and write `value: \"{{ outputs.<check> }}\"`"),
    check("reduce", "write `fanout: reduce`"),
    check("fail_fast", "a failed check already stops what depends on it"),
    check("failure_conditions", "write one expression in `fail_if`"),
    check("max_runs", "bound loops with `routing: { max_loops: N }` at the top of the file"),
    check("extends", INCLUDES),
    check("group", "select checks by `tags`"),
    check("template", "name a card in `schema`, or render text with a `log` check"),
    check("focus", "say it in `prompt`"),
    check("appendPrompt", "say it in `prompt`"),
    check("ai", PROVIDER_SETTINGS),
    check("ai_model", PROVIDER_SETTINGS),
    check("ai_provider", PROVIDER_SETTINGS),
    check("reuse_ai_session", "write `reuse_session`"),
    check("session_mode", "write `reuse_session`"),
    check("debounce", "a chain coalesces events; a check runs when it is reached"),
    check("schedule", "fire the playbook on a schedule from a chain"),
    check("triggers", "fire the playbook from a chain, which has triggers"),
    check("needs", ORDER_OF_JOBS),
    check("after", ORDER_OF_JOBS),
    check("dependsOn", "write `depends_on`"),
    check("run", "write `type: command` and put the command into `exec`"),
    check("command", "put the command into `exec`"),
    check("cmd", "put the command into `exec`"),
    check("script", "write `type: script` and put the statements into `content`"),
    check(
        "steps",
        "one check does one thing; put further ones under `checks`, and order them with `depends_on`",
    ),
    check("uses", "run another playbook with `type: playbook` and `playbook: FILE`"),
    check("workflow", "run another playbook with `type: playbook` and `playbook: FILE`"),
    check("args", "hand values to another playbook with `with`"),
    check("retry", "put it into `on_fail`: `on_fail: { retry: { max: 2 } }`"),
    check("retries", "write `on_fail: { retry: { max: N } }`"),
    check("goto", "put it into `on_success`, `on_fail` or `on_finish`"),
    check("transitions", "put them into `on_success`, `on_fail` or `on_finish`"),
    check("continue-on-error", "write `continue_on_failure`"),
    check("allow_failure", "write `continue_on_failure`"),
    check("when", "write `if`"),
    check("condition", "write `if`"),
    check("timeout_ms", "write `timeout`; a number is milliseconds"),
    check("timeout_seconds", "write `timeout: 30s`"),
    check("message_js", "compute it in a `script` check, and insert it: `{{ outputs.<check> }}`"),
    check("cwd", "write `cd DIR && …` in `exec`, or start Escrow with `--dir`"),
    check("for_each", "write `forEach: true`; the list is the output of the check"),
    routing("max_loops", "it belongs to the top of the file: `routing: { max_loops: N }`"),
    routing("next", "write `goto`"),
    routing("defaults", "say it on each check; share it with a YAML anchor"),
    artifact("outcome_kind", "write `kind`"),
    artifact("min_bytes", "write `min_size`"),
    artifact("optional", "write `required: false`"),
    artifact("name", "write `id`"),
    profile(
        "artifacts",
        "write `artifact_defaults`: what the agent delivers unless a playbook says otherwise",
    ),
    profile("exec", "write `command`"),
    profile("prompt", "write what the agent is told below the front matter; the task comes with each run"),
    profile("system_prompt", "write what the agent is told below the front matter"),
    profile("tools", "say what the agent may do with `permission`"),
    profile("provider", "write `harness`"),
    profile("effort", "choose it in `model`"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    #[test]
    fn no_key_of_ours_is_foreign_and_none_is_listed_twice() {
        for (index, foreign) in FOREIGN.iter().enumerate() {
            let table = match foreign.level {
                Level::File => &keys::FILE,
                Level::Check => &keys::CHECK,
                Level::Routing => &keys::ON_FAIL,
                Level::Artifact => &keys::ARTIFACT,
                Level::Profile => &keys::PROFILE,
            };
            assert!(table.keys.iter().all(|key| key.name != foreign.name), "{}", foreign.name);
            assert!(
                !FOREIGN[..index]
                    .iter()
                    .any(|other| other.name == foreign.name && other.level == foreign.level),
                "{} is listed twice",
                foreign.name
            );
        }
    }
}
