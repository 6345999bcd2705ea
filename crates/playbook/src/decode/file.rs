//! Decodes the top level of a playbook.

use std::rc::Rc;

use escrow_model::{ConcurrencyRule, NestedPlaybooks, OnConflict, Plan, PlanKind, Safety, Source, Text};
use indexmap::IndexMap;

use super::agents::Agents;
use super::names::Names;
use super::secrets::Secrets;
use super::{Decoded, Decoder, File, artifacts, check, count, inputs, prompt, sandbox};
use crate::diagnostic::{Diagnostics, Problem};
use crate::duration;
use crate::foreign_keys;
use crate::shape;
use crate::source::Sources;
use crate::suggest::nearest;
use crate::yaml::{Entry, Node};

/// The limit on checks. Reachability is computed for all pairs of them.
const CHECKS_MAX: usize = 10_000;

/// Decodes a file whose root is a map.
pub(crate) fn decode(root: &Node, file: File<'_>, found: &mut Diagnostics) -> Option<Decoded> {
    let File { text, name: file, catalog, references } = file;
    let agents = Agents::of(root, references, found);
    let prompted = prompt::as_check(root, found);
    let misnamed = foreign_keys::misnamed_checks(root);
    let entries: &[Entry] = match &prompted {
        Some(prompted) => std::slice::from_ref(&prompted.check),
        None => root.get("checks").and_then(|checks| checks.map()).unwrap_or(&misnamed),
    };
    if entries.is_empty() {
        no_checks(root, found);
    }
    if let Some(beyond) = entries.get(CHECKS_MAX) {
        found.push(
            Problem::new("E0134", beyond.key_span.clone(), "the playbook has too many checks")
                .label(format!("the limit is {CHECKS_MAX}"))
                .help("use `forEach` to run a check for many items"),
        );
        return None;
    }
    if let Some(prompted) = &prompted {
        shape::validate_check(&prompted.check, catalog, found);
    }
    let sources = Sources { text, found, uses: Vec::new(), check: None };
    let mut decoder = Decoder {
        sources,
        catalog,
        names: Names::of(entries),
        secrets: Secrets::of(root),
        references,
        kinds: IndexMap::new(),
        variables: Vec::new(),
        agents,
        run_names_agent: root.entry("agent").is_some(),
        sandbox: root.get("sandbox").map(|node| sandbox::decode(node)),
    };
    let artifacts = artifacts::decode(root.get("artifacts"), Source::Playbook, &mut decoder.sources);
    decoder.artifact_kinds(root);
    let artifacts = match (decoder.agents.run_profile.clone(), root.get("agent")) {
        (Some(profile), Some(node)) => {
            decoder.add_profile_kinds(&profile, &node.span);
            artifacts::merge(&profile.artifacts, artifacts)
        }
        (_, _) => artifacts,
    };
    let mut inputs = inputs::decode(root.get("inputs"), decoder.found());
    for name in prompted.iter().flat_map(|prompted| &prompted.inputs) {
        inputs.entry(name.clone()).or_insert_with(inputs::required_text);
    }
    let env = decoder.environment(root.get("env"));
    decoder.secrets.report_env_conflicts(root.get("env"), decoder.sources.found);
    decoder.variables_with_code(root.get("env").map(|node| &**node), &env);
    decoder.variables =
        env.iter().filter(|(_, text)| !text.is_constant()).map(|(name, _)| name.clone()).collect();
    let title = root.get("title").and_then(|title| decoder.sources.start_template("title", title));
    let concurrency = decoder.concurrency(root.get("concurrency"));
    let drafts: Vec<_> =
        entries.iter().enumerate().map(|(index, entry)| check::decode(&mut decoder, index, entry)).collect();
    let plan = Plan {
        kind: PlanKind::Playbook,
        name: root
            .get("name")
            .and_then(|name| name.scalar_text())
            .filter(|name| !name.is_empty())
            .map_or_else(|| stem(file), str::to_owned),
        title,
        inputs,
        env,
        secrets: std::mem::take(&mut decoder.secrets.declared),
        artifacts,
        outcome_kinds: std::mem::take(&mut decoder.kinds),
        max_loops: count(root.get("routing").and_then(|routing| routing.get("max_loops"))),
        max_parallelism: count(root.get("max_parallelism")),
        concurrency,
        safety: match root.get("safety").and_then(|safety| safety.string()) {
            Some("strict") => Safety::Strict,
            _ => Safety::Standard,
        },
        timeout_ms: root.get("timeout").and_then(|timeout| duration::milliseconds(timeout).ok()),
        checks: Vec::new(),
        nested: NestedPlaybooks::default(),
    };
    let uses = decoder.sources.uses;
    (!entries.is_empty()).then_some(Decoded { plan, drafts, uses })
}

fn no_checks(root: &Node, found: &mut Diagnostics) {
    match root.entry("checks") {
        // A wrong type was already reported, and a foreign key such as `steps` has its own message.
        Some(checks) if !checks.value.is_null() && checks.value.map().is_none() => {}
        Some(checks) => found.push(
            Problem::new("E0138", checks.key_span.clone(), "the playbook has no checks")
                .label("no check to run")
                .help("add a check: `hello: { type: command, exec: \"echo hello\" }`"),
        ),
        None if root.map().unwrap_or_default().iter().any(|entry| hints_at_checks(&entry.key)) => {}
        None => found.push(
            Problem::new("E0138", root.span.start..root.span.start, "the playbook has no checks")
                .label("`checks` is missing")
                .help("add `checks:`, or `prompt:` for a single agent"),
        ),
    }
}

/// A key whose own diagnostic already covers the missing checks.
fn hints_at_checks(key: &str) -> bool {
    ["steps", "tasks", "jobs", "prompt"].contains(&key) || nearest(key, ["checks"]).is_some()
}

/// The default name of a playbook: its file name without the extension.
fn stem(file: &str) -> String {
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = [".playbook.yaml", ".playbook.yml", ".yaml", ".yml"]
        .iter()
        .find_map(|ending| base.strip_suffix(ending))
        .unwrap_or(base);
    if stem.is_empty() { "playbook".to_owned() } else { stem.to_owned() }
}

impl Decoder<'_> {
    /// Looks up the outcome kinds of artifacts, so that unknown kinds are reported before the run.
    fn artifact_kinds(&mut self, root: &Node) {
        let expected = root.get("artifacts").and_then(|artifacts| artifacts.get("expected"));
        for item in expected.and_then(|expected| expected.list()).unwrap_or_default() {
            if let Some(kind) = item.get("kind") {
                self.kind(kind);
            }
        }
    }

    fn concurrency(&mut self, node: Option<&Rc<Node>>) -> Option<ConcurrencyRule> {
        let node = node?;
        let group = self.sources.start_template("group", node.get("group")?)?;
        let on_conflict = node.get("on_conflict").and_then(|word| word.string()).and_then(OnConflict::parse);
        Some(ConcurrencyRule { group, on_conflict: on_conflict.unwrap_or_default() })
    }

    pub(super) fn environment(&mut self, node: Option<&Rc<Node>>) -> IndexMap<String, Text> {
        let entries = node.and_then(|node| node.map()).unwrap_or_default();
        entries
            .iter()
            .filter_map(|entry| {
                let value = self.sources.template(&entry.key, &entry.value)?;
                Some((entry.key.clone(), value))
            })
            .collect()
    }
}
