//! Keys of other engines that Escrow does not support, each with its replacement.

use std::rc::Rc;

use crate::yaml::{Entry, Node};

/// The kind of map that contains the key.
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
    /// What to write instead.
    pub(crate) help: &'static str,
}

/// A key of another engine.
pub(crate) fn find(name: &str, level: Level) -> Option<&'static ForeignKey> {
    FOREIGN.iter().find(|key| key.name == name && key.level == level)
}

/// The keys under which other engines list what Escrow calls checks.
pub(crate) const CHECK_LISTS: &[&str] = &["steps", "tasks", "jobs"];

/// The checks of a file that lists them under a key of another engine, so that their problems show at once.
pub(crate) fn misnamed_checks(root: &Node) -> Vec<Entry> {
    if root.entry("checks").is_some() {
        return Vec::new();
    }
    let Some(listed) = CHECK_LISTS.iter().find_map(|name| root.entry(name)) else { return Vec::new() };
    if let Some(entries) = listed.value.map() {
        return entries.to_vec();
    }
    let items = listed.value.list().unwrap_or_default();
    items.iter().enumerate().filter_map(|(index, item)| named_step(index, item)).collect()
}

/// A step of a list as a check: its `name` or `id` is the name.
fn named_step(index: usize, item: &Rc<Node>) -> Option<Entry> {
    let entries = item.map()?;
    let name = ["id", "name"].iter().find_map(|key| item.entry(key));
    let key = name
        .and_then(|name| name.value.scalar_text())
        .map_or_else(|| format!("step-{}", index + 1), str::to_owned);
    let key_span = name.map_or_else(|| item.span.start..item.span.start, |name| name.value.span.clone());
    let rest = entries.iter().filter(|entry| !["id", "name"].contains(&entry.key.as_str()));
    let value = Rc::new(Node::map_at(item.span.clone(), rest.cloned().collect()));
    Some(Entry { key, key_span, value })
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

const INCLUDES: &str = "a playbook is self-contained; share parts with YAML anchors, or run another playbook with a check of `type: playbook`";
const TRANSFORMS: &str = "use a separate check of `type: script` with `content` that depends on this one";
const PROVIDER_SETTINGS: &str = "set `harness` and `model` on the `ai` check";
const ORDER_OF_JOBS: &str = "order checks with `depends_on`";
const MACHINES: &str = "checks run on this machine; start `escrow run` on the machine that is meant, and confine checks with `sandbox`";
const MATRIX: &str = "let a check with `forEach: true` print the combinations as a JSON array; its dependents run once for each `item`";

pub(crate) const FOREIGN: &[ForeignKey] = &[
    file("steps", "write `checks`, a map from check names to checks"),
    file("tasks", "write `checks`, a map from check names to checks"),
    file("jobs", "write `checks`, a map from check names to checks"),
    file("stages", "list the checks under `checks` and order them with `depends_on`"),
    file("extends", INCLUDES),
    file("include", INCLUDES),
    file("imports", INCLUDES),
    file("limits", "limit loops with `routing: { max_loops: N }`, and the run with `timeout`"),
    file("fail_fast", "a failed check already stops its dependents; order checks with `depends_on`"),
    file("fail_if", "put `fail_if` on each check that it applies to"),
    file("failure_conditions", "put `fail_if` on each check that it applies to"),
    file(
        "memory",
        "memory needs no configuration; use checks of `type: memory`, and `memory.get(…)` in expressions",
    ),
    file("on", "put `on` on each check, or select checks with `--tags` or `--only`"),
    file("on_init", "make it a check that the first ones name in `depends_on`"),
    file("tag_filter", "use the options `--tags` and `--exclude-tags`"),
    file("output", "use the options `--output` and `--report`"),
    file("tools", "run programs with checks of `type: command`"),
    file("ai_provider", PROVIDER_SETTINGS),
    file("ai_model", PROVIDER_SETTINGS),
    file(
        "max_ai_concurrency",
        "limit all checks with `max_parallelism`, or the items of a `forEach` check with `concurrency`",
    ),
    file("scheduler", "fire it on a schedule from a chain"),
    file("schedule", "fire it on a schedule from a chain"),
    file("triggers", "fire it from a chain, which has triggers"),
    file("parallelism", "write `max_parallelism`"),
    file("defaults", "share values with YAML anchors and `<<`"),
    file("needs", "put `depends_on` on each check"),
    file("runs-on", MACHINES),
    file("strategy", MATRIX),
    file("environment", "write `env` for variables, or `requires_approval: true` on the check that deploys"),
    file("permissions", "give each check its `secrets`, and confine it with `sandbox`"),
    file("variables", "write `env` for environment variables, or `inputs` for values that a run is given"),
    file("vars", "write `env` for environment variables, or `inputs` for values that a run is given"),
    file("workflow", "write `name`, and list the checks under `checks`"),
    file("pipeline", "list the checks under `checks` and order them with `depends_on`"),
    file("default_goal", "every check runs; select some with `--only` or `--tags`"),
    check("runs-on", MACHINES),
    check("container", MACHINES),
    check("image", MACHINES),
    check("services", "start them with a check of `type: command` that others name in `depends_on`"),
    check("strategy", MATRIX),
    check("matrix", MATRIX),
    check("environment", "write `env` for variables, or `requires_approval: true` on the check that deploys"),
    check("permissions", "give the check its `secrets`, and confine it with `sandbox`"),
    check("variables", "write `env`"),
    check("vars", "write `env`"),
    check("timeout-minutes", "write `timeout: 10m`"),
    check("working-directory", "write `cd DIR && …` in `exec`, or start Escrow with `--dir`"),
    check("prerequisites", ORDER_OF_JOBS),
    check("deps", ORDER_OF_JOBS),
    check("recipe", "put the command into `exec`"),
    check("cmds", "put the commands into `exec`, one per line"),
    check("stage", ORDER_OF_JOBS),
    check("values_js", "compute them in a `script` check and insert them with `{{ outputs.<check> }}`"),
    check("transport", "run the program with `type: command`"),
    check("on_init", "make it a separate check and name it in `depends_on`"),
    check("transform", TRANSFORMS),
    check("transform_js", TRANSFORMS),
    check("value_js", "compute it in a `script` check and write `value: \"{{ outputs.<check> }}\"`"),
    check("reduce", "write `fanout: reduce`"),
    check("fail_fast", "a failed check already stops its dependents"),
    check("failure_conditions", "write one expression in `fail_if`"),
    check("max_runs", "limit loops with `routing: { max_loops: N }` at the top level of the file"),
    check("extends", INCLUDES),
    check("group", "select checks by `tags`"),
    check("template", "name a card in `schema`, or render text with a `log` check"),
    check("focus", "put it into `prompt`"),
    check("appendPrompt", "put it into `prompt`"),
    check("ai", PROVIDER_SETTINGS),
    check("ai_model", PROVIDER_SETTINGS),
    check("ai_provider", PROVIDER_SETTINGS),
    check("reuse_ai_session", "write `reuse_session`"),
    check("session_mode", "write `reuse_session`"),
    check("debounce", "chains coalesce events; a check runs when it is reached"),
    check("schedule", "fire the playbook on a schedule from a chain"),
    check("triggers", "fire the playbook from a chain, which has triggers"),
    check("needs", ORDER_OF_JOBS),
    check("after", ORDER_OF_JOBS),
    check("dependsOn", "write `depends_on`"),
    check("run", "write `type: command` and put the command into `exec`"),
    check("command", "put the command into `exec`"),
    check("cmd", "put the command into `exec`"),
    check("script", "write `type: script` and put the statements into `content`"),
    check("steps", "a check has one step; add more checks under `checks` and order them with `depends_on`"),
    check("uses", "run another playbook with `type: playbook` and `playbook: FILE`"),
    check("workflow", "run another playbook with `type: playbook` and `playbook: FILE`"),
    check("args", "pass values to another playbook with `with`"),
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
    check("message_js", "compute it in a `script` check and insert it with `{{ outputs.<check> }}`"),
    check("cwd", "write `cd DIR && …` in `exec`, or start Escrow with `--dir`"),
    check("for_each", "write `forEach: true`; the list is the output of the check"),
    routing("max_loops", "write `routing: { max_loops: N }` at the top level of the file"),
    routing("next", "write `goto`"),
    routing("defaults", "set it on each check; share it with a YAML anchor"),
    artifact("outcome_kind", "write `kind`"),
    artifact("min_bytes", "write `min_size`"),
    artifact("optional", "write `required: false`"),
    artifact("name", "write `id`"),
    profile("artifacts", "write `artifact_defaults`, which playbooks can override"),
    profile("exec", "write `command`"),
    profile("prompt", "write the instructions below the front matter; each run provides the task"),
    profile("system_prompt", "write the instructions below the front matter"),
    profile("tools", "set `permission`"),
    profile("provider", "write `harness`"),
    profile("effort", "choose it in `model`"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    #[test]
    fn foreign_keys_are_unique_and_never_escrow_keys() {
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
