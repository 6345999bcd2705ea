//! Rules, in a file of their own or on a check: read, and every problem at its place.
//!
//!   - rule_id: age                 a file is a list of rules, or a map with `rules:`
//!     field: person.age
//!     check: range
//!     params: { min: 0, max: 150 }

use std::ops::Range;
use std::rc::Rc;

use escrow_contract::rules::{BadRule, RuleSet};
use escrow_model::{Rule, RuleCheck};
use serde_json::{Map, Value, json};

use crate::diagnostic::{Diagnostic, Diagnostics, Problem};
use crate::keys;
use crate::shape;
use crate::yaml::{self, Node};

/// What a file of rules came to.
#[derive(Debug)]
pub struct RulesReading {
    /// There when nothing is wrong.
    pub rules: Option<Vec<Rule>>,
    /// By place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a file of rules, in YAML or JSON. `file` is what diagnostics call it.
pub fn read_rules(text: &str, file: &str) -> RulesReading {
    let mut found = Diagnostics::default();
    let rules = whole_file(text, &mut found);
    let rules = rules.filter(|_| !found.has_errors());
    RulesReading { rules, diagnostics: found.finish(text, file) }
}

/// The JSON Schema of a file of rules, for editors.
pub fn rules_schema() -> Value {
    let rules = crate::editor::list_schema(&keys::RULE);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Escrow rules",
        "oneOf": [rules, crate::editor::map_schema(&keys::RULES)],
    })
}

fn whole_file(text: &str, found: &mut Diagnostics) -> Option<Vec<Rule>> {
    let root = yaml::parse(text, found).filter(|root| !root.is_null());
    let Some(root) = root else {
        if !found.has_errors() {
            found.push(
                Problem::new("E0109", 0..0, "the file is empty")
                    .label("there are no rules")
                    .help("a file of rules is a list: `- { rule_id: name, field: name, check: required }`"),
            );
        }
        return None;
    };
    shape::judge_rules(&root, found);
    let listed = root.list().or_else(|| root.get("rules").and_then(|rules| rules.list()))?;
    decode(listed, found)
}

/// Rules whose shapes were judged. What they say may still make no sense, and that is told here.
pub(crate) fn decode(items: &[Rc<Node>], found: &mut Diagnostics) -> Option<Vec<Rule>> {
    let rules: Vec<Option<Rule>> = items.iter().map(|item| rule(item)).collect();
    // A rule that lacks its shape was told of; the others are looked at all the same.
    let whole = rules.iter().all(Option::is_some);
    let places: Vec<&Rc<Node>> =
        items.iter().zip(&rules).filter(|(_, rule)| rule.is_some()).map(|(item, _)| item).collect();
    let rules: Vec<Rule> = rules.into_iter().flatten().collect();
    if let Err(bad) = RuleSet::compile(&rules) {
        for bad in bad {
            let Some(item) = places.get(bad.index) else { continue };
            found.push(Problem::new("E0151", place(item, &bad), bad.message.clone()).maybe_help(bad.help));
        }
        return None;
    }
    whole.then_some(rules)
}

fn rule(item: &Node) -> Option<Rule> {
    let text = |key: &str| item.get(key).and_then(|node| node.written()).map(str::to_owned);
    let params = match item.get("params").map(|params| params.json()) {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return None,
    };
    Some(Rule {
        rule_id: text("rule_id")?,
        field: text("field")?,
        check: RuleCheck::parse(&text("check")?)?,
        params,
        message: text("message"),
        enabled: item.get("enabled").and_then(|node| node.bool()).unwrap_or(true),
    })
}

/// The value that is wrong; or, when it is missing, where it should be.
fn place(item: &Node, bad: &BadRule) -> Range<usize> {
    let key = item.get(bad.key);
    let param = bad.param.as_deref().and_then(|name| key?.get(name));
    let whole = item.entry("check").map(|check| check.value.span.clone());
    param
        .map(|node| node.span.clone())
        .or_else(|| key.filter(|_| bad.param.is_none()).map(|node| node.span.clone()))
        .or(whole)
        .unwrap_or_else(|| item.span.clone())
}
