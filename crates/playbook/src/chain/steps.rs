//! Turns the steps of a chain into checks, in the form of entries under `checks`.

use std::collections::BTreeSet;
use std::rc::Rc;

use escrow_model::{Step, StepWork};

use super::actions::{self, Translated};
use crate::ReferenceResolver;
use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::{Entry, Node};

/// A step and the check that it becomes.
pub(super) struct DraftStep {
    pub(super) check: Entry,
    /// Without its condition.
    pub(super) step: Step,
    pub(super) condition: Option<Entry>,
    /// The outcome that an action hands over.
    pub(super) verdict: Option<Rc<Node>>,
    /// Nothing was reported about its work, so its check can be validated as one.
    pub(super) is_sound: bool,
}

/// The keys of a step that its check has under the same name.
const SHARED: &[&str] =
    &["timeout", "requires_approval", "env", "idempotent", "reconcile", "effect_key", "secrets"];

/// The steps of a file whose shape was checked. One without work is reported, and keeps its place, so that the others keep
/// their numbers.
pub(super) fn decode(
    root: &Node,
    references: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) -> Vec<DraftStep> {
    let mut taken = BTreeSet::new();
    let items = root.get("steps").and_then(|steps| steps.list()).unwrap_or_default();
    let mut steps: Vec<DraftStep> = Vec::new();
    for item in items {
        let read = step(item, &mut taken, references, found);
        steps.push(read.unwrap_or_else(|| stand_in(item, &mut taken)));
    }
    let mut names: Vec<(&str, &Node)> = Vec::new();
    for item in items {
        let Some(node) = item.get("name") else { continue };
        let Some(name) = node.scalar_text() else { continue };
        if let Some((_, first)) = names.iter().find(|(known, _)| *known == name) {
            found.push(
                Problem::new("E0110", node.span.clone(), format!("two steps are called `{name}`"))
                    .label("the name is taken")
                    .also(first.span.clone(), "taken here")
                    .help("rename one of them"),
            );
        }
        names.push((name, node));
    }
    steps
}

fn step(
    item: &Node,
    taken: &mut BTreeSet<String>,
    references: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) -> Option<DraftStep> {
    item.map()?;
    let before = found.errors();
    let (work_entry, work, mut entries, verdict) = match (item.entry("skill"), item.entry("action")) {
        (Some(skill), Some(action)) => {
            found.push(
                Problem::new("E0130", action.key_span.clone(), "`skill` and `action` are mutually exclusive")
                    .label("`action` is given here")
                    .also(skill.key_span.clone(), "`skill` is given here")
                    .help("make two steps of them"),
            );
            return None;
        }
        (None, None) => {
            found.push(
                Problem::new("E0106", item.span.start..item.span.start, "a step needs `skill` or `action`")
                    .label("nothing to do")
                    .help("add `skill: NAME` to run a playbook, or `action: gh-comment`"),
            );
            return None;
        }
        (Some(skill), None) => {
            let name = skill.value.scalar_text()?.to_owned();
            (skill, StepWork::Skill(name), of_skill(skill, item), None)
        }
        (None, Some(action)) => {
            let name = action.value.string()?.to_owned();
            // The key table has reported an unknown action.
            let is_known = super::ACTION_NAMES.contains(&name.as_str());
            if !is_known {
                return None;
            }
            let Translated { entries, verdict } =
                actions::translate(action, item.entry("with"), references, found);
            (action, StepWork::Action(name), entries, verdict)
        }
    };
    entries.extend(SHARED.iter().filter_map(|key| item.entry(key).cloned()));
    if let StepWork::Action(name) = &work
        && actions::is_github(name)
    {
        grant_token(&mut entries, work_entry);
    }
    if let Some(retry) = item.entry("retry") {
        let block = Node::map_at(retry.value.span.clone(), vec![retry.clone()]);
        let (key, key_span) = ("on_fail".to_owned(), retry.key_span.clone());
        entries.push(Entry { key, key_span, value: Rc::new(block) });
    }
    let name = item.get("name").and_then(|name| name.scalar_text()).map(str::to_owned);
    let wanted = match (&name, &work) {
        (Some(name), _) | (None, StepWork::Skill(name) | StepWork::Action(name)) => identifier(name),
    };
    let check = Entry {
        key: unique(&wanted, taken),
        key_span: work_entry.value.span.clone(),
        value: Rc::new(Node::map_at(item.span.clone(), entries)),
    };
    let step = Step { name, work, condition: None };
    let is_with_a_map = item.get("with").is_none_or(|with| with.map().is_some());
    let is_sound = found.errors() == before && is_with_a_map;
    Some(DraftStep { check, step, condition: item.entry("condition").cloned(), verdict, is_sound })
}

/// In the place of a step whose work cannot be read.
fn stand_in(item: &Node, taken: &mut BTreeSet<String>) -> DraftStep {
    let at = item.span.start..item.span.start;
    let kind = Rc::new(Node::text_at(at.clone(), "noop".to_owned()));
    let entries = vec![Entry { key: "type".to_owned(), key_span: at.clone(), value: kind }];
    let name = item.get("name").and_then(|name| name.scalar_text()).map(str::to_owned);
    let check = Entry {
        key: unique("step", taken),
        key_span: at,
        value: Rc::new(Node::map_at(item.span.clone(), entries)),
    };
    let step = Step { name, work: StepWork::Skill(String::new()), condition: None };
    let condition = item.entry("condition").cloned();
    DraftStep { check, step, condition, verdict: None, is_sound: false }
}

fn of_skill(skill: &Entry, item: &Node) -> Vec<Entry> {
    let at = skill.value.span.clone();
    let kind = Rc::new(Node::text_at(at, "playbook".to_owned()));
    let mut entries = vec![
        Entry { key: "type".to_owned(), key_span: skill.key_span.clone(), value: kind },
        Entry { key: "playbook".to_owned(), ..skill.clone() },
    ];
    entries.extend(item.entry("with").cloned());
    entries
}

/// Actions on GitHub are granted the token without being asked.
fn grant_token(entries: &mut Vec<Entry>, action: &Entry) {
    let span = action.value.span.clone();
    let token = Rc::new(Node::text_at(span.clone(), super::TOKEN.to_owned()));
    let mut names = vec![token];
    if let Some(at) = entries.iter().position(|entry| entry.key == "secrets") {
        let given = entries.remove(at);
        let is_token = |item: &&Rc<Node>| item.scalar_text() == Some(super::TOKEN);
        let own = given.value.list().map_or_else(|| vec![Rc::clone(&given.value)], <[_]>::to_vec);
        names.extend(own.into_iter().filter(|item| !is_token(&item)));
    }
    let value = Rc::new(Node::list_at(span.clone(), names));
    entries.push(Entry { key: "secrets".to_owned(), key_span: span, value });
}

/// The name of a check: letters, digits, `_` and `-`.
fn identifier(name: &str) -> String {
    let base = name.rsplit('/').next().unwrap_or(name);
    let keep = |letter: char| if letter.is_alphanumeric() || letter == '_' { letter } else { '-' };
    let text: String = base.chars().map(keep).collect();
    if text.is_empty() { "step".to_owned() } else { text }
}

/// `ci`, and for further steps of that name `ci-2`, `ci-3`.
fn unique(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{wanted}-{number}");
        number += 1;
    }
    name
}
