//! Plans in shorthand, read by the real reader of playbooks.
//!
//!   @routing: {max_loops: 5}                  a key of the file
//!   list forEach                              a check; `forEach`, `map`, `reduce` and the four words of
//!   each<list external {fail_if: "output"}    criticality may follow it; `<` names what it depends on
//!   sum<each,a|b {type: noop}                 whatever else it says, as a YAML flow map

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_model::{Criticality, ExpectedArtifact, NestedPlaybook, NestedPlaybooks, Plan};
use escrow_playbook::{NoReferences, ReferenceResolver};

use crate::catalog;

/// Reads a plan, in shorthand or as YAML (a text with a line `checks:`, or a chain with `steps:`).
pub fn plan(text: &str) -> Arc<Plan> {
    try_plan(text).unwrap_or_else(|problems| panic!("the plan of this test does not load:\n{problems}"))
}

/// The same, or why it does not load.
pub fn try_plan(text: &str) -> Result<Arc<Plan>, String> {
    read(text, &Promising)
}

/// The same, for a plan that may nest others.
pub fn try_plan_nesting(text: &str, nested: &NestedPlans) -> Result<Arc<Plan>, String> {
    let mut plan = Plan::clone(&*read(text, &Nesting(nested))?);
    plan.nested = table(&plan, nested);
    Ok(Arc::new(plan))
}

/// The plans that a plan nests, directly or through others. Their names stand for their files.
fn table(plan: &Plan, nested: &NestedPlans) -> NestedPlaybooks {
    let mut table = NestedPlaybooks::default();
    for name in plan.checks.iter().filter_map(|check| check.nested_name()) {
        let Some(found) = nested.get(name) else { continue };
        let NestedPlaybooks { names, files } = found.nested.clone();
        let inner = NestedPlaybooks { names, ..NestedPlaybooks::default() };
        let plan = Arc::new(Plan { nested: inner, ..Plan::clone(found) });
        table.names.insert(name.to_owned(), name.to_owned());
        table.files.extend(files);
        table.files.insert(name.to_owned(), NestedPlaybook { plan, sha256: String::new() });
    }
    table
}

/// Plans that others may nest, by the name of their playbook.
pub type NestedPlans = BTreeMap<String, Arc<Plan>>;

fn read(text: &str, references: &dyn ReferenceResolver) -> Result<Arc<Plan>, String> {
    if escrow_playbook::file_kind(text.as_bytes()) == Some(escrow_playbook::FileKind::Chain) {
        let reading = escrow_playbook::read_chain(text.as_bytes(), "test.yaml", &catalog(), references);
        return reading.plan.map(Arc::new).ok_or_else(|| format!("{text}\n{:#?}", reading.diagnostics));
    }
    let text = yaml(text);
    let reading = escrow_playbook::read(&text, "test.yaml", &catalog(), references);
    reading.plan.map(Arc::new).ok_or_else(|| format!("{text}\n{:#?}", reading.diagnostics))
}

/// A nested playbook that is called `promises.yaml` promises `notes` at `notes.md`; no other promises anything.
struct Promising;

impl ReferenceResolver for Promising {
    fn nested_artifacts(&self, name: &str) -> Vec<ExpectedArtifact> {
        if name != "promises.yaml" {
            return Vec::new();
        }
        let text = "artifacts: {expected: [{id: notes, path: notes.md}]}\nchecks: {a: {type: noop}}";
        let plan = escrow_playbook::read(text, name, &catalog(), &NoReferences).plan.expect("it is good");
        plan.artifacts.expected
    }
}

/// What nested plans change outside is known; what they deliver stays in their own directories.
struct Nesting<'a>(&'a NestedPlans);

impl ReferenceResolver for Nesting<'_> {
    fn nested_is_mutating(&self, name: &str) -> bool {
        let plan = self.0.get(name);
        plan.is_none_or(|plan| plan.checks.iter().any(|check| check.criticality == Criticality::External))
    }
}

/// The playbook that a shorthand stands for.
pub fn yaml(text: &str) -> String {
    if text.lines().any(|line| line.trim_end() == "checks:") {
        return text.to_owned();
    }
    let mut file = String::from("version: \"1.0\"\n");
    let mut checks = String::from("checks:\n");
    for part in parts(text) {
        match part.strip_prefix('@') {
            Some(key) => file.push_str(&format!("{}\n", key.trim())),
            None => checks.push_str(&check(part)),
        }
    }
    file + &checks
}

/// Splits at line ends and `;`, but not inside braces, brackets or quotes.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut quote, mut from) = (0_i32, None, 0);
    for (at, message) in text.char_indices() {
        match (quote, message) {
            (Some(open), _) if message == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(message),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth -= 1,
            (None, '\n' | ';') if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            (None, _) => {}
        }
    }
    parts.push(&text[from..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn check(part: &str) -> String {
    let (head, flow) = match part.find('{') {
        Some(at) => {
            let flow = part[at..].strip_prefix('{').and_then(|flow| flow.strip_suffix('}'));
            (&part[..at], flow.unwrap_or_else(|| panic!("`{part}` does not end with its brace")))
        }
        None => (part, ""),
    };
    let mut words = head.split_whitespace();
    let first = words.next().unwrap_or_else(|| panic!("`{part}` has no name"));
    let (name, needs) = first.split_once('<').map_or((first, None), |(name, needs)| (name, Some(needs)));
    let mut keys = Vec::new();
    if !names_a_type(flow) {
        keys.push("type: command".to_owned());
    }
    if let Some(needs) = needs {
        let quoted: Vec<String> = needs.split(',').map(|need| format!("\"{need}\"")).collect();
        keys.push(format!("depends_on: [{}]", quoted.join(", ")));
    }
    for word in words {
        keys.push(match word {
            "forEach" => "forEach: true".to_owned(),
            "map" | "reduce" => format!("fanout: {word}"),
            "external" | "internal" | "policy" | "info" => format!("criticality: {word}"),
            other => panic!("`{part}`: no such word: {other}"),
        });
    }
    if !flow.trim().is_empty() {
        keys.push(flow.trim().to_owned());
    }
    format!("  {name}: {{{}}}\n", keys.join(", "))
}

/// Whether the flow map has a `type` of its own, not one inside a nested map.
fn names_a_type(flow: &str) -> bool {
    let mut depth = 0;
    for (at, message) in flow.char_indices() {
        match message {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            't' if depth == 0 && flow[at..].starts_with("type:") => {
                let before = flow[..at].trim_end();
                if before.is_empty() || before.ends_with(',') {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::yaml;

    #[test]
    fn shorthand_stands_for_a_playbook() {
        let text = yaml("@name: short\nlist forEach; each<list,a|b external {if: \"a; b\"}; x {type: noop}");
        assert_eq!(
            text,
            "version: \"1.0\"\nname: short\nchecks:\n  list: {type: command, forEach: true}\n  \
             each: {type: command, depends_on: [\"list\", \"a|b\"], criticality: external, if: \"a; b\"}\n  \
             x: {type: noop}\n"
        );
    }
}
