//! The top of a playbook.

use std::rc::Rc;

use escrow_model::{Plan, ProviderSpec, Safety, Text};
use indexmap::IndexMap;

use super::names::Names;
use super::{Decoded, Decoder, artifacts, check, count, inputs, prompt, texts};
use crate::diagnostic::{Diagnostics, Problem};
use crate::duration;
use crate::source::Sources;
use crate::yaml::{Entry, Node};

/// Decodes a file whose top is a map.
pub(crate) fn decode(
    root: &Node,
    text: &str,
    file: &str,
    catalog: &[ProviderSpec],
    found: &mut Diagnostics,
) -> Option<Decoded> {
    let prompted = prompt::as_check(root, found);
    let entries: &[Entry] = match &prompted {
        Some(entry) => std::slice::from_ref(entry),
        None => root.get("checks").and_then(|checks| checks.map()).unwrap_or_default(),
    };
    if entries.is_empty() {
        no_checks(root, found);
    }
    let sources = Sources { text, found, uses: Vec::new(), check: None };
    let mut decoder = Decoder { sources, catalog, names: Names::of(entries) };
    let artifacts = artifacts::decode(root.get("artifacts"), decoder.found());
    let inputs = inputs::decode(root.get("inputs"), decoder.found());
    let env = decoder.environment(root.get("env"));
    let drafts: Vec<_> = entries
        .iter()
        .enumerate()
        .filter_map(|(place, entry)| check::decode(&mut decoder, place, entry))
        .collect();
    let complete = drafts.len() == entries.len() && !entries.is_empty();
    let plan = Plan {
        name: root
            .get("name")
            .and_then(|name| name.written())
            .filter(|name| !name.is_empty())
            .map_or_else(|| stem(file), str::to_owned),
        inputs,
        env,
        secrets: texts(root.get("secrets")),
        artifacts,
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
    complete.then_some(Decoded { plan, drafts, uses })
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
        None if ["steps", "tasks", "jobs", "prompt"].iter().any(|key| root.entry(key).is_some()) => {}
        None => found.push(
            Problem::new("E0138", root.span.start..root.span.start, "the playbook has no checks")
                .label("`checks` is missing")
                .help("add `checks:`, or a `prompt:` for one agent"),
        ),
    }
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
