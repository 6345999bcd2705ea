//! Checks that nested playbooks can be run and receive the inputs that they declare.

use escrow_model::{Field, Input, Inputs, Mutates, Tree};
use indexmap::IndexMap;
use serde_json::Value;

use crate::ReferenceResolver;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::suggest_or_list;

/// A nested playbook is read when the outermost run starts, so one that cannot be run then never can. Wrong inputs
/// are warnings, because the check may never start; under `safety: strict` they are errors.
pub(super) fn check(
    drafts: &[Draft],
    references: &dyn ReferenceResolver,
    strict: bool,
    found: &mut Diagnostics,
) {
    for draft in drafts {
        let Some(file) = file_of(draft) else { continue };
        if let Some(error) = references.nested_error(file) {
            let message = format!("nested playbook `{file}` cannot be run");
            found.push(Problem::new("E0174", draft.span_of("playbook"), message).label(error.reason));
            found.add_from_other_file(&error.diagnostics);
        } else if let Some(declared) = references.nested_inputs(file) {
            for problem in wrong_inputs(draft, file, &declared) {
                found.push(problem.error_if(strict));
            }
        }
    }
}

/// The name of the nested playbook of a check.
pub(super) fn file_of(draft: &Draft) -> Option<&str> {
    match (draft.provider.mutates, draft.check.fields.get("playbook")) {
        (Mutates::AsNested, Some(Field::Plain(Value::String(file)))) => Some(file),
        _ => None,
    }
}

fn wrong_inputs(draft: &Draft, file: &str, declared: &Inputs) -> Vec<Problem> {
    let empty = IndexMap::new();
    let given = match draft.check.fields.get("with") {
        Some(Field::Tree(Tree::Map(given))) => given,
        None => &empty,
        // A template can render to any inputs.
        Some(_) => return Vec::new(),
    };
    let mut problems = Vec::new();
    for (name, value) in given {
        let with = draft.entry.value.entry("with").and_then(|with| with.value.entry(name));
        let span = with.map_or_else(|| draft.span_of("with"), |entry| entry.key_span.clone());
        match declared.get(name) {
            None => {
                let known = declared.keys().map(String::as_str);
                problems.push(
                    Problem::new("W0214", span, format!("`{file}` has no input `{name}`"))
                        .label("no such input")
                        .help(suggest_or_list(name, known, "inputs")),
                );
            }
            Some(input) if !may_be(value, input) => problems.push(
                Problem::new("W0214", span, format!("input `{name}` of `{file}` has the wrong type"))
                    .label(format!("expected {}", input.kind.with_article())),
            ),
            Some(_) => {}
        }
    }
    for (name, input) in declared {
        if input.required && input.default.is_none() && !given.contains_key(name) {
            problems.push(
                Problem::new("W0214", draft.span_of("with"), format!("`{file}` requires the input `{name}`"))
                    .label("the input is missing")
                    .help(format!("add `{name}: …` to `with`")),
            );
        }
    }
    problems
}

/// Whether the rendered value can have the declared type.
fn may_be(value: &Tree, input: &Input) -> bool {
    match value {
        Tree::Text(_) => true,
        Tree::Leaf(value) => input.kind.admits(value),
        Tree::List(_) => input.kind.admits(&Value::Array(Vec::new())),
        Tree::Map(_) => input.kind.admits(&Value::Object(serde_json::Map::new())),
    }
}
