//! Reads rules, from a rules file or from a check, and reports every problem at its position.
//!
//!   - rule_id: age                 a rules file is a list of rules, or a map with `rules:`
//!     field: person.age
//!     check: range
//!     params: { min: 0, max: 150 }

use std::ops::Range;
use std::rc::Rc;

use escrow_contract::rules::{InvalidRule, RuleSet};
use escrow_model::{Rule, RuleCheck};
use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, Diagnostics, Problem};
use crate::shape;
use crate::yaml::{self, Node};

/// The result of reading a rules file.
#[derive(Debug)]
pub struct RulesReading {
    /// `None` when there are errors.
    pub rules: Option<Vec<Rule>>,
    /// Ordered by position in the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a rules file in YAML or JSON. `file` is its name in diagnostics.
pub fn read_rules(text: &str, file: &str) -> RulesReading {
    let mut found = Diagnostics::default();
    let rules = whole_file(text, &mut found);
    let rules = rules.filter(|_| !found.has_errors());
    RulesReading { rules, diagnostics: found.finish(text, file) }
}

fn whole_file(text: &str, found: &mut Diagnostics) -> Option<Vec<Rule>> {
    let root = yaml::parse(text, found).filter(|root| !root.is_null());
    let Some(root) = root else {
        if !found.has_errors() {
            found.push(
                Problem::new("E0109", 0..0, "the file is empty")
                    .label("no rules")
                    .help("a rules file is a list: `- { rule_id: name, field: name, check: required }`"),
            );
        }
        return None;
    };
    shape::validate_rules(&root, found);
    let listed = root.list().or_else(|| root.get("rules").and_then(|rules| rules.list()))?;
    decode(listed, found)
}

/// Decodes rules after `shape` has validated them, and reports those that do not compile.
pub(crate) fn decode(items: &[Rc<Node>], found: &mut Diagnostics) -> Option<Vec<Rule>> {
    let rules: Vec<Option<Rule>> = items.iter().map(|item| rule(item)).collect();
    // Malformed rules were already reported; the others are still compiled.
    let complete = rules.iter().all(Option::is_some);
    let decoded: Vec<&Rc<Node>> =
        items.iter().zip(&rules).filter(|(_, rule)| rule.is_some()).map(|(item, _)| item).collect();
    let rules: Vec<Rule> = rules.into_iter().flatten().collect();
    if let Err(errors) = RuleSet::compile(&rules) {
        for invalid in errors {
            let Some(item) = decoded.get(invalid.index) else { continue };
            found.push(
                Problem::new("E0151", span_of(item, &invalid), invalid.message.clone())
                    .maybe_help(invalid.help),
            );
        }
        return None;
    }
    complete.then_some(rules)
}

fn rule(item: &Node) -> Option<Rule> {
    let text = |key: &str| item.get(key).and_then(|node| node.scalar_text()).map(str::to_owned);
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

/// The span of the invalid value, or of `check` when the value is missing.
fn span_of(item: &Node, invalid: &InvalidRule) -> Range<usize> {
    let key = item.get(invalid.key);
    let param = invalid.param.as_deref().and_then(|name| key?.get(name));
    let check = item.entry("check").map(|check| check.value.span.clone());
    param
        .map(|node| node.span.clone())
        .or_else(|| key.filter(|_| invalid.param.is_none()).map(|node| node.span.clone()))
        .or(check)
        .unwrap_or_else(|| item.span.clone())
}
