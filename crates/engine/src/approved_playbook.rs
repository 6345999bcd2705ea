//! The nested playbook that an approval is for: its digest, and what it can do outside.
//!
//! **Invariant:** the digest covers every playbook that the nested run can reach. The nested run begins from the same
//! table, so what was shown is what runs.

use escrow_model::{
    ApprovedEffect, ApprovedPlaybook, Check, Criticality, EnvTemplates, Field, NestedPlaybook, Plan,
    ProviderName, Text, Tree,
};
use serde_json::{Map, Value, json};

use crate::approval::sha256;

/// None for a check that nests nothing, and in a run whose plan has no table of nested playbooks: there the check fails
/// when it starts.
pub fn approved_playbook(plan: &Plan, check: &Check) -> Option<ApprovedPlaybook> {
    let file = plan.nested.names.get(check.nested_name()?)?;
    let nested = plan.nested.files.get(file)?;
    let mut reachable = plan.nested.reachable(file);
    // The playbook itself first.
    reachable.sort_by_key(|(other, _)| other != file);
    let digests: Vec<(&str, &str)> =
        reachable.iter().map(|(file, nested)| (*file, nested.sha256.as_str())).collect();
    Some(ApprovedPlaybook {
        name: nested.plan.name.clone(),
        file: file.clone(),
        sha256: sha256(&serde_json::to_string(&digests).expect("texts are JSON")),
        external: reachable.iter().flat_map(|(_, nested)| effects(nested)).collect(),
    })
}

/// The effects of a nested run are those of its own checks, so checks that nest are left out.
fn effects(nested: &NestedPlaybook) -> impl Iterator<Item = ApprovedEffect> {
    let external =
        |check: &&Check| check.criticality == Criticality::External && check.provider != ProviderName::NESTED;
    nested.plan.checks.iter().filter(external).map(|check| {
        let request = written(check, &nested.plan.env);
        ApprovedEffect {
            playbook: nested.plan.name.clone(),
            check: check.name.clone(),
            provider: check.provider.clone(),
            command: in_words(&request),
            request,
            values: check.fields.values().flat_map(expressions_in).collect(),
        }
    })
}

/// What a check asks of its provider, as it is written: each key with its value, the command first.
fn written(check: &Check, playbook_env: &EnvTemplates) -> Map<String, Value> {
    let mut keys = Map::new();
    keys.extend(check.fields.get("exec").map(|exec| ("exec".to_owned(), value_of(exec))));
    let others = check.fields.iter().filter(|(name, _)| *name != "exec");
    keys.extend(others.map(|(name, field)| (name.clone(), value_of(field))));
    let mut env = playbook_env.clone();
    env.extend(check.env.clone());
    if !env.is_empty() {
        let env = env.iter().map(|(name, text)| (name.clone(), json!(text.source()))).collect();
        keys.insert("env".to_owned(), env);
    }
    if !check.secrets.is_empty() {
        keys.insert("secrets".to_owned(), json!(check.secrets));
    }
    keys
}

/// The same for people: a command of one line, or each key with its value on lines of its own. The lines of a value that
/// follow its first are indented, so none of them can be taken for a key.
fn in_words(request: &Map<String, Value>) -> Option<String> {
    let line = |(name, value): (&String, &Value)| format!("{name}: {}", shown(value).replace('\n', "\n  "));
    match (request.len(), request.get("exec").map(shown)) {
        (0, _) => None,
        (1, Some(exec)) if !exec.contains('\n') => Some(exec),
        (_, _) => Some(request.iter().map(line).collect::<Vec<_>>().join("\n")),
    }
}

/// The expressions that a command or a text has values from.
fn expressions_in(field: &Field) -> Vec<String> {
    let of_texts = |texts: &[Text]| {
        texts.iter().filter(|text| !text.is_constant()).map(|text| text.source().to_owned()).collect()
    };
    match field {
        Field::Shell(shell) => shell.expressions().map(|(_, expression)| expression.to_owned()).collect(),
        Field::Text(text) | Field::Url(text) => of_texts(std::slice::from_ref(text)),
        Field::Argv(texts) | Field::Texts(texts) => of_texts(texts),
        Field::Tree(_) | Field::Message(_) | Field::Block(_) | Field::Plain(_) => Vec::new(),
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| text.trim_end().to_owned())
}

fn value_of(field: &Field) -> Value {
    let sources = |texts: &[Text]| json!(texts.iter().map(|text| text.source()).collect::<Vec<_>>());
    match field {
        Field::Shell(shell) => json!(shell.source()),
        Field::Text(text) | Field::Url(text) => json!(text.source()),
        Field::Argv(texts) | Field::Texts(texts) => sources(texts),
        Field::Tree(tree) | Field::Message(tree) => tree_of(tree),
        Field::Block(block) => json!(block.source()),
        Field::Plain(value) => value.clone(),
    }
}

fn tree_of(tree: &Tree) -> Value {
    match tree {
        Tree::Leaf(value) => value.clone(),
        Tree::Text(text) => json!(text.source()),
        Tree::List(members) => members.iter().map(tree_of).collect(),
        Tree::Map(members) => Value::Object(
            members.iter().map(|(name, member)| (name.clone(), tree_of(member))).collect::<Map<_, _>>(),
        ),
    }
}
