//! Completes `ai` checks with the default harness, and reports what their harness cannot do.

use std::collections::BTreeSet;

use escrow_model::{ArtifactContract, Budget, Field, HarnessFacts, Known, ProviderName, may_be_one_model};
use serde_json::Value;

use super::graph::Graph;
use crate::ReferenceResolver;
use crate::decode::{Draft, HARNESS_NAMES};
use crate::diagnostic::{Diagnostics, Problem};

pub(super) fn resolve(
    contract: &ArtifactContract,
    drafts: &mut [Draft],
    graph: &Graph,
    references: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) {
    if !drafts.iter().any(is_ai) {
        return;
    }
    if drafts.iter().any(|draft| is_ai(draft) && word(draft, "harness").is_none()) {
        fill_default(drafts, references, found);
    }
    deliver_everything(contract, drafts);
    for index in 0..drafts.len() {
        let draft = &drafts[index];
        if !is_ai(draft) {
            continue;
        }
        let harness = word(draft, "harness").and_then(|name| references.harness(name));
        if let Some(harness) = harness {
            check_budget(draft, &harness, found);
            check_login(draft, &harness, found);
        }
        if let Model::Named(name) = model_of(draft)
            && let Some(problem) = HarnessFacts::problem_of_model(name)
        {
            let message = format!("`model` {problem}");
            let help = "name a model as the harness does";
            found.push(Problem::new("E0108", draft.span_of("model"), message).label("no model").help(help));
        }
        check_independence(drafts, index, found);
        check_conversation(drafts, index, graph, found);
    }
}

fn fill_default(drafts: &mut [Draft], references: &dyn ReferenceResolver, found: &mut Diagnostics) {
    let default = match references.default_harness() {
        Ok(Some(name)) if HARNESS_NAMES.contains(&name.as_str()) => Ok(name),
        // The provider looks for one when the check starts.
        Ok(None) => return,
        Ok(Some(name)) => Err(format!("`[harness] default` of `config.toml` is `{name}`")),
        Err(problem) => Err(problem),
    };
    for draft in drafts.iter_mut().filter(|draft| is_ai(draft) && word(draft, "harness").is_none()) {
        match &default {
            Ok(name) => {
                draft.check.fields.insert("harness".to_owned(), Field::Plain(name.as_str().into()));
            }
            Err(problem) => found.push(
                Problem::new("E0108", draft.span_of("type"), "the default harness cannot be used")
                    .label(problem.clone())
                    .help(format!("the harnesses are {}", HARNESS_NAMES.join(", "))),
            ),
        }
    }
}

fn is_ai(draft: &Draft) -> bool {
    draft.check.provider == ProviderName::AI
}

/// A repair needs a look at the artifacts after the attempt. The only check of a run owes them all.
fn deliver_everything(contract: &ArtifactContract, drafts: &mut [Draft]) {
    if let [only] = drafts
        && plain(only, "repair").and_then(Value::as_u64).is_some_and(|repairs| repairs > 0)
        && only.check.artifacts.is_empty()
    {
        only.check.artifacts = contract.expected.iter().map(|artifact| artifact.id.clone()).collect();
    }
}

fn check_budget(draft: &Draft, harness: &HarnessFacts, found: &mut Diagnostics) {
    let Some(budget) = plain(draft, Budget::FIELD) else { return };
    for (key, known) in [("usd", harness.usd), ("turns", harness.turns), ("tokens", harness.tokens)] {
        if known == Known::Never && budget.get(key).is_some() {
            let name = harness.name;
            found.push(
                Problem::new("E0181", draft.span_of(Budget::FIELD), format!("`budget.{key}` cannot be kept"))
                    .label(format!("`{name}` does not say what it spends of it"))
                    .help(format!(
                        "limit something that `{name}` tells, use another harness, or set `timeout`"
                    )),
            );
        }
    }
}

fn check_login(draft: &Draft, harness: &HarnessFacts, found: &mut Diagnostics) {
    if word(draft, "auth") == Some("login") && !harness.has_login_file {
        let name = harness.name;
        found.push(
            Problem::new("E0184", draft.span_of("auth"), format!("the login of `{name}` cannot be lent"))
                .label("this harness keeps its login in no file")
                .help("write `auth: key`, and set one of its key variables"),
        );
    }
}

/// `not_same_as`: the harness or the model must differ, and must be known to. A model that is a template is known when the
/// check starts: the provider refuses it then.
fn check_independence(drafts: &[Draft], index: usize, found: &mut Diagnostics) {
    let judge = &drafts[index];
    let Some(name) = word(judge, "not_same_as") else { return };
    let Some(author) = drafts.iter().find(|draft| draft.check.name == name) else { return };
    let span = judge.span_of("not_same_as");
    if author.check.name == judge.check.name || !is_ai(author) {
        found.push(
            Problem::new("E0182", span, format!("`{name}` is not another `ai` check"))
                .label("a check is compared with the `ai` check that it judges")
                .help("name the `ai` check whose work is judged"),
        );
        return;
    }
    let (own, other) = (word(judge, "harness"), word(author, "harness"));
    let are_other_programs = own.is_some() && other.is_some() && own != other;
    let (model, other_model) = (model_of(judge), model_of(author));
    let are_other_models = match (&model, &other_model) {
        (Model::Template, Model::Template | Model::Named(_)) | (Model::Named(_), Model::Template) => true,
        (Model::Named(model), Model::Named(other)) => !may_be_one_model(model, other),
        (Model::Default, _) | (_, Model::Default) => false,
    };
    if are_other_programs || (own == other && are_other_models) {
        return;
    }
    let is_unknown =
        own.is_none() || other.is_none() || model == Model::Default || other_model == Model::Default;
    let label = if is_unknown {
        format!("this check and `{name}` may have the same harness and model")
    } else if model == other_model {
        format!("this check and `{name}` have the same harness and model")
    } else {
        format!("the models of this check and of `{name}` are two names of one, or may be")
    };
    found.push(
        Problem::new("E0182", span, format!("`{name}` would be judged by the same model"))
            .label(label)
            .help("name another `harness`, or another `model` on both checks"),
    );
}

/// `reuse_session: CHECK`: a conversation of the same harness that is over by then.
fn check_conversation(drafts: &[Draft], index: usize, graph: &Graph, found: &mut Diagnostics) {
    let draft = &drafts[index];
    let Some(name) = word(draft, "reuse_session") else { return };
    let Some(other) = drafts.iter().position(|draft| draft.check.name == name) else { return };
    let (label, help) = if other != index && !is_ai(&drafts[other]) {
        ("it is no `ai` check".to_owned(), "name an `ai` check".to_owned())
    } else if word(&drafts[other], "harness") != word(draft, "harness") {
        ("it has another harness".to_owned(), "use the same `harness` on both checks".to_owned())
    } else if other != index && !depends_on(graph, index, other) {
        ("this check does not depend on it".to_owned(), format!("add `depends_on: {name}`"))
    } else {
        return;
    };
    let message = format!("the conversation of `{name}` cannot be reused");
    found.push(Problem::new("E0183", draft.span_of("reuse_session"), message).label(label).help(help));
}

/// Directly or not.
fn depends_on(graph: &Graph, index: usize, other: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![index];
    while let Some(next) = open.pop() {
        for need in &graph.needs[next] {
            if *need == other {
                return true;
            }
            if seen.insert(*need) {
                open.push(*need);
            }
        }
    }
    false
}

/// The model of an `ai` check, as far as it is known at load.
#[derive(PartialEq, Eq)]
enum Model<'d> {
    Named(&'d str),
    Template,
    /// The harness chooses.
    Default,
}

fn model_of(draft: &Draft) -> Model<'_> {
    match draft.check.fields.get("model") {
        Some(Field::Text(text)) if text.is_constant() => Model::Named(text.source()),
        Some(Field::Text(_)) => Model::Template,
        Some(Field::Plain(Value::String(name))) => Model::Named(name),
        Some(_) | None => Model::Default,
    }
}

fn plain<'d>(draft: &'d Draft, key: &str) -> Option<&'d Value> {
    match draft.check.fields.get(key) {
        Some(Field::Plain(value)) => Some(value),
        _ => None,
    }
}

fn word<'d>(draft: &'d Draft, key: &str) -> Option<&'d str> {
    plain(draft, key).and_then(Value::as_str)
}
