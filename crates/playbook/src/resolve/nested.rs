//! The playbooks that checks nest, as far as they are known before anything runs: that each can be read, and that it is
//! given what it declares.

use escrow_model::{Field, Input, Inputs, Mutates, Tree};
use indexmap::IndexMap;
use serde_json::Value;

use crate::ReferenceResolver;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::near_or_all;

/// Warnings: an earlier check may still write the file. Errors where nothing may be left to chance.
pub(super) fn check(drafts: &[Draft], beside: &dyn ReferenceResolver, strict: bool, found: &mut Diagnostics) {
    for draft in drafts {
        let Some(file) = file_of(draft) else { continue };
        if let Some(trouble) = beside.trouble(file) {
            found.push(
                Problem::new("W0213", draft.span_of("playbook"), format!("`{file}` cannot be run"))
                    .label(trouble)
                    .error_if(strict),
            );
        } else if let Some(declared) = beside.inputs(file) {
            for problem in wrong_inputs(draft, file, &declared) {
                found.push(problem.error_if(strict));
            }
        }
    }
}

/// The playbook that a check nests.
pub(super) fn file_of(draft: &Draft) -> Option<&str> {
    match (draft.provider.mutates, draft.check.fields.get("playbook")) {
        (Mutates::AsNested, Some(Field::Plain(Value::String(file)))) => Some(file),
        _ => None,
    }
}

fn wrong_inputs(draft: &Draft, file: &str, declared: &Inputs) -> Vec<Problem> {
    let nothing = IndexMap::new();
    let given = match draft.check.fields.get("with") {
        Some(Field::Tree(Tree::Map(given))) => given,
        None => &nothing,
        // A template may give anything.
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
                        .label("unknown input")
                        .help(near_or_all(name, known, "inputs")),
                );
            }
            Some(input) if !may_be(value, input) => problems.push(
                Problem::new("W0214", span, format!("`{name}` of `{file}` is something else"))
                    .label(format!("it must be {}", input.kind.with_article())),
            ),
            Some(_) => {}
        }
    }
    for (name, input) in declared {
        if input.required && input.default.is_none() && !given.contains_key(name) {
            problems.push(
                Problem::new("W0214", draft.span_of("with"), format!("`{file}` needs `{name}`"))
                    .label("it is not given")
                    .help(format!("add `{name}: …` to `with`")),
            );
        }
    }
    problems
}

/// Whether the value, once it is rendered, may be of the declared type.
fn may_be(value: &Tree, input: &Input) -> bool {
    match value {
        Tree::Text(_) => true,
        Tree::Leaf(value) => input.kind.admits(value),
        Tree::List(_) => input.kind.admits(&Value::Array(Vec::new())),
        Tree::Map(_) => input.kind.admits(&Value::Object(serde_json::Map::new())),
    }
}
