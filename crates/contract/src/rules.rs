//! Evaluates rules over the fields of a result. All rules are evaluated in order.
//!
//!   [Rule] ──compile──▶ RuleSet ──judge(item)──▶ [BrokenRule]
//!
//! The messages match those of the Python rule engine word for word, because programs compare them. Unlike that
//! engine, booleans are not numbers, and invalid `params` are reported when the rules are compiled.
//!
//! **Invariant:** a compiled rule set judges any item in time linear in its size. Patterns never backtrack, and
//! `custom` expressions have a budget.

mod compile;
mod path;
mod python;

use std::sync::Arc;

use escrow_expr::{Budget, Program, Scope, ScopeValue};
use escrow_model::{BrokenRule, Rule, RuleCheck};
use regex::Regex;
use serde_json::{Number, Value};

pub use compile::InvalidRule;

use path::Path;
use python::{repr, truncated_repr, type_name};

/// Compiled rules.
#[derive(Clone, Debug)]
pub struct RuleSet {
    rules: Vec<CompiledRule>,
}

#[derive(Clone, Debug)]
struct CompiledRule {
    rule_id: Arc<str>,
    /// As written in the rule.
    field: Arc<str>,
    /// Quoted for messages.
    quoted_field: String,
    path: Path,
    message: Option<String>,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Required,
    Type(Type),
    Range {
        min: Option<Number>,
        max: Option<Number>,
    },
    /// `source` is quoted for messages.
    Pattern {
        regex: Regex,
        source: String,
        length_max: Option<usize>,
    },
    Custom {
        expression: Program,
        error: Option<String>,
    },
}

/// The types of a `type` rule, by their Python names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Str,
    Int,
    Float,
    Bool,
    List,
    Dict,
}

impl Type {
    const ALL: [Type; 6] = [Type::Str, Type::Int, Type::Float, Type::Bool, Type::List, Type::Dict];

    fn as_str(self) -> &'static str {
        match self {
            Type::Str => "str",
            Type::Int => "int",
            Type::Float => "float",
            Type::Bool => "bool",
            Type::List => "list",
            Type::Dict => "dict",
        }
    }

    /// An `int` is accepted for a `float`; a `bool` is neither.
    fn admits(self, value: &Value) -> bool {
        match self {
            Type::Str => value.is_string(),
            Type::Int => value.is_i64() || value.is_u64(),
            Type::Float => value.is_number(),
            Type::Bool => value.is_boolean(),
            Type::List => value.is_array(),
            Type::Dict => value.is_object(),
        }
    }
}

impl RuleSet {
    /// Compiles the enabled rules, or returns the errors of all rules.
    pub fn compile(rules: &[Rule]) -> Result<RuleSet, Vec<InvalidRule>> {
        compile::compile(rules)
    }

    /// The rules that an item breaks, in order.
    pub fn judge(&self, item: &Value) -> Vec<BrokenRule> {
        let mut broken = Vec::new();
        for rule in &self.rules {
            let value = rule.path.find(item);
            if let Some(message) = rule.violation(value, item) {
                broken.push(BrokenRule {
                    rule_id: Arc::clone(&rule.rule_id),
                    field: Arc::clone(&rule.field),
                    check: rule.check(),
                    message,
                });
            }
        }
        broken
    }

    /// Whether an item satisfies every rule.
    pub fn admits(&self, item: &Value) -> bool {
        self.rules.iter().all(|rule| rule.violation(rule.path.find(item), item).is_none())
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl CompiledRule {
    fn check(&self) -> RuleCheck {
        match self.test {
            Test::Required => RuleCheck::Required,
            Test::Type(_) => RuleCheck::Type,
            Test::Range { .. } => RuleCheck::Range,
            Test::Pattern { .. } => RuleCheck::Pattern,
            Test::Custom { .. } => RuleCheck::Custom,
        }
    }

    /// The message if the value breaks the rule.
    fn violation(&self, value: Option<&Value>, item: &Value) -> Option<String> {
        let value = value.filter(|value| !value.is_null());
        match (&self.test, value) {
            (Test::Required, Some(_)) => None,
            (Test::Required, None) => self.message_or_default(&[" is required but missing or None."]),
            (Test::Custom { expression, error }, value) => {
                self.custom(expression, error.as_deref(), value, item)
            }
            // Only `required` rejects a missing value.
            (Test::Type(_) | Test::Range { .. } | Test::Pattern { .. }, None) => None,
            (Test::Type(wanted), Some(value)) if wanted.admits(value) => None,
            (Test::Type(wanted), Some(value)) => self.message_or_default(&[
                " must be type '",
                wanted.as_str(),
                "', got '",
                type_name(value),
                "'.",
            ]),
            (Test::Range { min, max }, Some(Value::Number(number))) => {
                if let Some(min) = min.as_ref().filter(|min| is_below(number, min)) {
                    self.message_or_default(&[
                        " = ",
                        &python::number(number),
                        " is below minimum ",
                        &python::number(min),
                        ".",
                    ])
                } else if let Some(max) = max.as_ref().filter(|max| is_below(max, number)) {
                    self.message_or_default(&[
                        " = ",
                        &python::number(number),
                        " exceeds maximum ",
                        &python::number(max),
                        ".",
                    ])
                } else {
                    None
                }
            }
            (Test::Range { .. }, Some(value)) => self.message_or_default(&[
                ": range check requires numeric type, got '",
                type_name(value),
                "'.",
            ]),
            (Test::Pattern { regex, source, length_max }, Some(Value::String(text))) => {
                let max = length_max.unwrap_or(usize::MAX);
                // Length in code points, as in Python. There are never more of them than bytes.
                let length = if text.len() > max { text.chars().count() } else { 0 };
                if length > max {
                    let (length, max) = (length.to_string(), max.to_string());
                    let limit = " exceeds the maximum allowed for pattern matching (";
                    return self.message_or_default(&[": input length ", &length, limit, &max, ")."]);
                }
                if regex.is_match(text) {
                    return None;
                }
                self.message_or_default(&[
                    " value ",
                    &truncated_repr(text),
                    " does not match pattern ",
                    source,
                    ".",
                ])
            }
            (Test::Pattern { .. }, Some(value)) => {
                self.message_or_default(&[": pattern check requires str, got '", type_name(value), "'."])
            }
        }
    }

    /// The rule's own message, or `Field 'f'` followed by `parts`.
    fn message_or_default(&self, parts: &[&str]) -> Option<String> {
        if let Some(message) = &self.message {
            return Some(message.clone());
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut message = String::with_capacity("Field ".len() + self.quoted_field.len() + length);
        message.push_str("Field ");
        message.push_str(&self.quoted_field);
        parts.iter().for_each(|part| message.push_str(part));
        Some(message)
    }

    fn custom(
        &self,
        expression: &Program,
        error: Option<&str>,
        value: Option<&Value>,
        item: &Value,
    ) -> Option<String> {
        let scope = RuleScope { value: value.unwrap_or(&Value::Null), item };
        match (expression.test(&scope, BUDGET), error) {
            (Ok(true), _) => None,
            (Ok(false), Some(error)) if self.message.is_none() => Some(error.to_owned()),
            (Ok(false), _) => self.message_or_default(&[" failed custom check ", &repr(&self.rule_id), "."]),
            // A rule that cannot be evaluated counts as broken; the message names the error.
            (Err(fault), _) => Some(format!(
                "Rule {}: custom check raised {}: {}.",
                repr(&self.rule_id),
                fault.name(),
                fault.message()
            )),
        }
    }
}

/// The budget of one `custom` expression.
const BUDGET: Budget = Budget { steps: 150_000, memory_bytes: 16 << 20, depth: Budget::DEPTH_MAX };

/// The names that a `custom` expression can read.
const NAMES: [&str; 2] = ["value", "item"];

/// The scope of a `custom` expression: the value of the field, or null, and the whole item.
struct RuleScope<'a> {
    value: &'a Value,
    item: &'a Value,
}

impl Scope for RuleScope<'_> {
    fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
        match name {
            "value" => Some(ScopeValue::Json(self.value)),
            "item" => Some(ScopeValue::Json(self.item)),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }
}

/// Compares exactly for integers of any size.
fn is_below(one: &Number, other: &Number) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one < other,
        // Numbers that cannot be compared count as out of range.
        _ => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => one.partial_cmp(&other).is_none_or(|order| order.is_lt()),
            _ => true,
        },
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "tests hand in literals")]
mod tests;
