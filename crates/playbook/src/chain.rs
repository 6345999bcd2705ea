//! Turns the text of a chain into a `Plan`: each step is a check that comes after the one before.
//!
//!   text ──yaml──▶ Node ──shape──▶ steps ──▶ checks ──decode──▶ Draft ──resolve──▶ Plan
//!
//! **Invariant:** a step becomes the same check that a playbook would have, so that everything that is true of checks
//! is true of steps. Problems are reported where the chain file has them.

mod actions;
mod schedule;
mod steps;
mod trigger;

use std::rc::Rc;

use escrow_model::{
    ChainConcurrency, ChainRules, CheckIndex, Field, Plan, PlanKind, ProviderSpec, Tree, Trigger,
};

use crate::decode::{self, Decoded, File};
use crate::diagnostic::{Diagnostic, Diagnostics, Problem};
use crate::source::Sources;
use crate::yaml::{self, Entry, Node};
use crate::{Reading, ReferenceResolver, file_kind, resolve, shape};

pub(crate) use actions::ACTION_NAMES;
pub use schedule::ScheduleClock;
use steps::DraftStep;

/// The secret that actions on GitHub are granted.
const TOKEN: &str = "GITHUB_TOKEN";

/// How many steps a chain may have.
const STEPS_MAX: usize = 200;

/// Reads a chain. `file` is the name in diagnostics, and the default name of the chain.
pub fn read_chain(
    bytes: &[u8],
    file: &str,
    catalog: &[ProviderSpec],
    references: &dyn ReferenceResolver,
) -> Reading {
    crate::read_with(bytes, file, |text, found| {
        plan(text, File { text, name: file, catalog, references }, found)
    })
}

/// The definition as JSON, as a chain is stored. Null when the text is not YAML.
pub fn chain_definition(text: &str) -> serde_json::Value {
    yaml::parse(text, &mut Diagnostics::default()).map(|root| root.json()).unwrap_or_default()
}

/// The result of reading a trigger.
#[derive(Debug)]
pub struct TriggerReading {
    /// `None` when there are errors.
    pub trigger: Option<Trigger>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the value of `trigger` by itself, in YAML or JSON.
pub fn read_trigger(text: &str, file: &str) -> TriggerReading {
    let mut found = Diagnostics::default();
    let trigger = yaml::parse(text, &mut found).and_then(|node| trigger::decode(&node, &mut found));
    let trigger = trigger.filter(|_| !found.has_errors());
    TriggerReading { trigger, diagnostics: found.finish(text, file) }
}

fn plan(text: &str, file: File<'_>, found: &mut Diagnostics) -> Option<Plan> {
    let root = crate::parse(text, "a chain needs `steps:` with at least one step", found)?;
    if let Some(problem) = file_kind::not_a_chain(&root, file.name) {
        found.push(problem);
        return None;
    }
    if root.map().is_none() {
        found.push(
            Problem::new("E0105", root.span.clone(), "a chain must be a map")
                .label(format!("this is {}", root.describe()))
                .help("start with `name:`, `trigger:` and `steps:`"),
        );
        return None;
    }
    shape::validate_chain(&root, found);
    let trigger = root.get("trigger").and_then(|node| trigger::decode(node, found));
    let steps = steps::decode(&root, file.references, found);
    if let Some(beyond) =
        root.get("steps").and_then(|steps| steps.list()).and_then(|steps| steps.get(STEPS_MAX))
    {
        found.push(
            Problem::new("E0134", beyond.span.clone(), "the chain has too many steps")
                .label(format!("the limit is {STEPS_MAX}"))
                .help("let a playbook do several of them"),
        );
        return None;
    }
    if steps.is_empty() {
        if let Some(entry) =
            root.entry("steps").filter(|entry| entry.value.list().is_some_and(<[_]>::is_empty))
        {
            found.push(
                Problem::new("E0138", entry.key_span.clone(), "the chain has no steps")
                    .label("no step to run")
                    .help("add a step: `- skill: NAME`, or `- action: shell`"),
            );
        }
        return None;
    }
    for step in steps.iter().filter(|step| step.is_sound) {
        shape::validate_check(&step.check, file.catalog, found);
    }
    let mut decoded = decode::decode(&as_playbook(&root, &steps), file, found)?;
    let concurrency =
        root.get("concurrency").and_then(|word| word.string()).and_then(ChainConcurrency::parse);
    let max_depth =
        root.get("max_depth").and_then(|depth| depth.number()).and_then(serde_json::Number::as_u64);
    decoded.plan.kind = PlanKind::Chain(ChainRules {
        trigger,
        concurrency: concurrency.unwrap_or_default(),
        max_depth: max_depth.and_then(|depth| u32::try_from(depth).ok()).unwrap_or(ChainRules::MAX_DEPTH),
    });
    // One step at a time, whatever the machine has.
    decoded.plan.max_parallelism = Some(1);
    complete(&mut decoded, steps, text, found);
    Some(resolve::resolve(decoded, text, file.references, found))
}

/// A playbook whose checks are the steps. Keys that chains have and playbooks lack are left out.
fn as_playbook(root: &Node, steps: &[DraftStep]) -> Node {
    let mut entries: Vec<Entry> = root
        .map()
        .unwrap_or_default()
        .iter()
        .filter(|entry| ["name", "title", "env", "timeout"].contains(&entry.key.as_str()))
        .cloned()
        .collect();
    entries.extend(secrets(root, steps));
    let span = root.get("steps").map_or(0..0, |steps| steps.span.clone());
    let checks = Node::map_at(span.clone(), steps.iter().map(|step| step.check.clone()).collect());
    entries.push(Entry { key: "checks".to_owned(), key_span: span, value: Rc::new(checks) });
    Node::map_at(root.span.clone(), entries)
}

/// The declared secrets, with the token of GitHub where a step needs it.
fn secrets(root: &Node, steps: &[DraftStep]) -> Option<Entry> {
    let declared = root.entry("secrets");
    let action = steps
        .iter()
        .find_map(|step| step.step.work.action().filter(|name| actions::is_github(name)).and(Some(step)));
    let Some(step) = action else { return declared.cloned() };
    let span = step.check.key_span.clone();
    let named = |node: &Node| match node.map() {
        Some(members) => members.iter().any(|member| member.key == TOKEN),
        None => node.list().unwrap_or_default().iter().any(|item| item.scalar_text() == Some(TOKEN)),
    };
    if declared.is_some_and(|declared| named(&declared.value)) {
        return declared.cloned();
    }
    let text = |text: &str| Rc::new(Node::text_at(span.clone(), text.to_owned()));
    let value = match declared.map(|declared| &declared.value) {
        Some(node) if node.map().is_some() => {
            let source = Entry { key: "env".to_owned(), key_span: span.clone(), value: text(TOKEN) };
            let source = Rc::new(Node::map_at(span.clone(), vec![source]));
            let token = Entry { key: TOKEN.to_owned(), key_span: span.clone(), value: source };
            Node::map_at(
                span.clone(),
                node.map().unwrap_or_default().iter().cloned().chain([token]).collect(),
            )
        }
        Some(node) => {
            let own = node.list().unwrap_or_default().iter().cloned();
            Node::list_at(span.clone(), own.chain([text(TOKEN)]).collect())
        }
        None => Node::list_at(span.clone(), vec![text(TOKEN)]),
    };
    Some(Entry { key: "secrets".to_owned(), key_span: span, value: Rc::new(value) })
}

/// What a playbook cannot say: the order, the conditions, and the outcomes that actions hand over.
fn complete(decoded: &mut Decoded, steps: Vec<DraftStep>, text: &str, found: &mut Diagnostics) {
    let mut sources = Sources { text, found, uses: Vec::new(), check: None };
    for (index, (draft, step)) in decoded.drafts.iter_mut().zip(steps).enumerate() {
        sources.check = Some(index);
        let DraftStep { mut step, condition, verdict, .. } = step;
        step.condition = condition.and_then(|entry| sources.condition("condition", &entry.value));
        draft.check.after = index.checked_sub(1).map(CheckIndex::at).into_iter().collect();
        draft.check.step = Some(step);
        if let Some(node) = verdict
            && let Some(template) = verdict_template(&node)
            && let Some(template) = sources.template_text("verdict", &node, &template)
        {
            draft.check.fields.insert(actions::VERDICT.to_owned(), Field::Tree(Tree::Text(template)));
        }
    }
    decoded.uses.append(&mut sources.uses);
}

/// A template, or the name or index of a step whose outcome is meant.
fn verdict_template(node: &Node) -> Option<String> {
    let text = node.scalar_text()?;
    Some(match text.parse::<usize>() {
        _ if text.contains("{{") => text.to_owned(),
        Ok(index) => format!("{{{{ steps[{index}].outcome }}}}"),
        Err(_) => format!("{{{{ steps[{text:?}].outcome }}}}"),
    })
}
