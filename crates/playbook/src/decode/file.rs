//! The top of a playbook.

use std::rc::Rc;

use escrow_model::{Plan, Safety, Source, Text};
use indexmap::IndexMap;

use super::agents::Agents;
use super::names::Names;
use super::secrets::Secrets;
use super::{Decoded, Decoder, File, artifacts, check, count, inputs, prompt};
use crate::diagnostic::{Diagnostics, Problem};
use crate::duration;
use crate::shape;
use crate::source::Sources;
use crate::suggest::nearest;
use crate::yaml::{Entry, Node};

/// More than a person wrote; how they follow from one another is looked at pair by pair.
const CHECKS_MAX: usize = 10_000;

/// Decodes a file whose top is a map.
pub(crate) fn decode(root: &Node, file: File<'_>, found: &mut Diagnostics) -> Option<Decoded> {
    let File { text, name: file, catalog, beside } = file;
    let agents = Agents::of(root, beside, found);
    let has_harnesses = catalog.iter().any(|provider| provider.name == "ai");
    let is_command = agents.of_the_run.as_ref().is_some_and(|profile| profile.command.is_some());
    let prompted = prompt::as_check(root, is_command || !has_harnesses, found);
    let entries: &[Entry] = match &prompted {
        Some(prompted) => std::slice::from_ref(&prompted.check),
        None => root.get("checks").and_then(|checks| checks.map()).unwrap_or_default(),
    };
    if entries.is_empty() {
        no_checks(root, found);
    }
    if let Some(beyond) = entries.get(CHECKS_MAX) {
        found.push(
            Problem::new("E0134", beyond.key_span.clone(), "the playbook has too many checks")
                .label(format!("at most {CHECKS_MAX} are read"))
                .help("run the same check for many items with `forEach`"),
        );
        return None;
    }
    if let Some(prompted) = &prompted {
        shape::judge_check(&prompted.check, catalog, found);
    }
    let sources = Sources { text, found, uses: Vec::new(), check: None };
    let mut decoder = Decoder {
        sources,
        catalog,
        names: Names::of(entries),
        secrets: Secrets::of(root),
        beside,
        kinds: IndexMap::new(),
        agents,
        names_an_agent: root.entry("agent").is_some(),
    };
    let artifacts = artifacts::decode(root.get("artifacts"), Source::Playbook, decoder.found());
    decoder.artifact_kinds(root);
    let artifacts = match (decoder.agents.of_the_run.clone(), root.get("agent")) {
        (Some(profile), Some(node)) => {
            decoder.profile_kinds(&profile, &node.span);
            artifacts::merge(&profile.artifacts, artifacts)
        }
        (_, _) => artifacts,
    };
    let mut inputs = inputs::decode(root.get("inputs"), decoder.found());
    for name in prompted.iter().flat_map(|prompted| &prompted.inputs) {
        inputs.entry(name.clone()).or_insert_with(inputs::named_in_a_prompt);
    }
    let env = decoder.environment(root.get("env"));
    decoder.secrets.collide(root.get("env"), decoder.sources.found);
    let drafts: Vec<_> =
        entries.iter().enumerate().map(|(place, entry)| check::decode(&mut decoder, place, entry)).collect();
    let plan = Plan {
        name: root
            .get("name")
            .and_then(|name| name.written())
            .filter(|name| !name.is_empty())
            .map_or_else(|| stem(file), str::to_owned),
        inputs,
        env,
        secrets: std::mem::take(&mut decoder.secrets.declared),
        artifacts,
        outcome_kinds: std::mem::take(&mut decoder.kinds),
        max_loops: count(root.get("routing").and_then(|routing| routing.get("max_loops"))),
        max_parallelism: count(root.get("max_parallelism")),
        safety: match root.get("safety").and_then(|safety| safety.string()) {
            Some("strict") => Safety::Strict,
            _ => Safety::Standard,
        },
        timeout_ms: root.get("timeout").and_then(|timeout| duration::milliseconds(timeout).ok()),
        checks: Vec::new(),
    };
    let uses = decoder.sources.uses;
    (!entries.is_empty()).then_some(Decoded { plan, drafts, uses })
}

fn no_checks(root: &Node, found: &mut Diagnostics) {
    match root.entry("checks") {
        // A wrong shape was reported; a replaced key (`steps`) has its own message.
        Some(checks) if !checks.value.is_null() && checks.value.map().is_none() => {}
        Some(checks) => found.push(
            Problem::new("E0138", checks.key_span.clone(), "the playbook has no checks")
                .label("nothing to run")
                .help("add a check: `hello: { type: command, exec: \"echo hello\" }`"),
        ),
        None if root.map().unwrap_or_default().iter().any(|entry| meant_as_checks(&entry.key)) => {}
        None => found.push(
            Problem::new("E0138", root.span.start..root.span.start, "the playbook has no checks")
                .label("`checks` is missing")
                .help("add `checks:`, or a `prompt:` for one agent"),
        ),
    }
}

/// A key whose own message already says where the checks are.
fn meant_as_checks(key: &str) -> bool {
    ["steps", "tasks", "jobs", "prompt"].contains(&key) || nearest(key, ["checks"]).is_some()
}

/// What a playbook without a name is called: its file, without what every playbook's file has.
fn stem(file: &str) -> String {
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = [".playbook.yaml", ".playbook.yml", ".yaml", ".yml"]
        .iter()
        .find_map(|ending| base.strip_suffix(ending))
        .unwrap_or(base);
    if stem.is_empty() { "playbook".to_owned() } else { stem.to_owned() }
}

impl Decoder<'_> {
    /// Files of a kind must parse as one, so the kind must be known before anything runs.
    fn artifact_kinds(&mut self, root: &Node) {
        let expected = root.get("artifacts").and_then(|artifacts| artifacts.get("expected"));
        for item in expected.and_then(|expected| expected.list()).unwrap_or_default() {
            if let Some(kind) = item.get("kind") {
                self.kind(kind);
            }
        }
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
