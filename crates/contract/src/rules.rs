//! Rules over the fields of a result. All of them speak, in order; none stops the others.
//!
//!   [Rule] ──compile──▶ RuleSet ──judge(item)──▶ [BrokenRule]
//!
//! The messages are those of the rule sets that came before, word for word, so that whoever matched on them still
//! can. What those let through is refused: NaN and booleans are no numbers, and `params` that make no sense are
//! found before anything is judged.
//!
//! **Invariant:** a rule set that compiled judges every item, in time linear in its size. Patterns never backtrack,
//! and a `custom` expression has a budget.

mod compile;
mod path;
mod python;

use std::sync::Arc;

use escrow_expr::{Budget, Program, Scope, ScopeValue};
use escrow_model::{BrokenRule, Rule, RuleCheck};
use regex::Regex;
use serde_json::{Number, Value};

pub use compile::{BadRule, RULES_MAX};

use path::Path;
use python::{beginning, repr, type_name};

/// Rules that make sense, ready to judge.
#[derive(Clone, Debug)]
pub struct RuleSet {
    rules: Vec<Compiled>,
}

#[derive(Clone, Debug)]
struct Compiled {
    rule_id: Arc<str>,
    /// As it was written.
    field: Arc<str>,
    /// As messages write it.
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
    /// `source` as messages write it.
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

/// The types that a rule can ask for, by the names that Python has for them.
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
    /// The rules that are enabled, compiled; or everything that is wrong with any of them.
    pub fn compile(rules: &[Rule]) -> Result<RuleSet, Vec<BadRule>> {
        compile::compile(rules)
    }

    /// The rules that an item breaks, in the order in which they were given.
    pub fn judge(&self, item: &Value) -> Vec<BrokenRule> {
        let mut broken = Vec::new();
        for rule in &self.rules {
            let value = rule.path.find(item);
            if let Some(message) = rule.reproach(value, item) {
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

    /// Whether an item keeps every rule.
    pub fn admits(&self, item: &Value) -> bool {
        self.rules.iter().all(|rule| rule.reproach(rule.path.find(item), item).is_none())
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl Compiled {
    fn check(&self) -> RuleCheck {
        match self.test {
            Test::Required => RuleCheck::Required,
            Test::Type(_) => RuleCheck::Type,
            Test::Range { .. } => RuleCheck::Range,
            Test::Pattern { .. } => RuleCheck::Pattern,
            Test::Custom { .. } => RuleCheck::Custom,
        }
    }

    /// What is wrong with a value, or nothing.
    fn reproach(&self, value: Option<&Value>, item: &Value) -> Option<String> {
        let value = value.filter(|value| !value.is_null());
        match (&self.test, value) {
            (Test::Required, Some(_)) => None,
            (Test::Required, None) => self.say(&[" is required but missing or None."]),
            (Test::Custom { expression, error }, value) => {
                self.custom(expression, error.as_deref(), value, item)
            }
            // Whether there must be something is for `required` to say.
            (Test::Type(_) | Test::Range { .. } | Test::Pattern { .. }, None) => None,
            (Test::Type(wanted), Some(value)) if wanted.admits(value) => None,
            (Test::Type(wanted), Some(value)) => {
                self.say(&[" must be type '", wanted.as_str(), "', got '", type_name(value), "'."])
            }
            (Test::Range { min, max }, Some(Value::Number(number))) => {
                if let Some(min) = min.as_ref().filter(|min| is_below(number, min)) {
                    self.say(&[
                        " = ",
                        &python::number(number),
                        " is below minimum ",
                        &python::number(min),
                        ".",
                    ])
                } else if let Some(max) = max.as_ref().filter(|max| is_below(max, number)) {
                    self.say(&[
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
            (Test::Range { .. }, Some(value)) => {
                self.say(&[": range check requires numeric type, got '", type_name(value), "'."])
            }
            (Test::Pattern { regex, source, length_max }, Some(Value::String(text))) => {
                let max = length_max.unwrap_or(usize::MAX);
                // Code points, as Python counts; bytes are never fewer, so short texts need no counting.
                let length = if text.len() > max { text.chars().count() } else { 0 };
                if length > max {
                    let (length, max) = (length.to_string(), max.to_string());
                    let limit = " exceeds the maximum allowed for pattern matching (";
                    return self.say(&[": input length ", &length, limit, &max, ")."]);
                }
                if regex.is_match(text) {
                    return None;
                }
                self.say(&[" value ", &beginning(text), " does not match pattern ", source, "."])
            }
            (Test::Pattern { .. }, Some(value)) => {
                self.say(&[": pattern check requires str, got '", type_name(value), "'."])
            }
        }
    }

    /// The author's message, or `Field 'f'` and what follows.
    fn say(&self, usual: &[&str]) -> Option<String> {
        if let Some(message) = &self.message {
            return Some(message.clone());
        }
        let length: usize = usual.iter().map(|part| part.len()).sum();
        let mut message = String::with_capacity("Field ".len() + self.quoted_field.len() + length);
        message.push_str("Field ");
        message.push_str(&self.quoted_field);
        usual.iter().for_each(|part| message.push_str(part));
        Some(message)
    }

    fn custom(
        &self,
        expression: &Program,
        error: Option<&str>,
        value: Option<&Value>,
        item: &Value,
    ) -> Option<String> {
        let seen = Seen { value: value.unwrap_or(&Value::Null), item };
        match (expression.test(&seen, BUDGET), error) {
            (Ok(true), _) => None,
            (Ok(false), Some(error)) if self.message.is_none() => Some(error.to_owned()),
            (Ok(false), _) => self.say(&[" failed custom check ", &repr(&self.rule_id), "."]),
            // A rule that cannot be evaluated is broken, and says so itself.
            (Err(fault), _) => Some(format!(
                "Rule {}: custom check raised {}: {}.",
                repr(&self.rule_id),
                fault.name(),
                fault.message()
            )),
        }
    }
}

/// What one `custom` expression may use.
const BUDGET: Budget = Budget { steps: 150_000, memory_bytes: 16 << 20, depth: Budget::DEPTH_MAX };

/// The names that a `custom` expression may read.
const NAMES: [&str; 2] = ["value", "item"];

/// What a `custom` expression sees: the value of the field, null when there is none, and the whole item.
struct Seen<'a> {
    value: &'a Value,
    item: &'a Value,
}

impl Scope for Seen<'_> {
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

/// Exact for whole numbers, however large.
fn is_below(one: &Number, other: &Number) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one < other,
        // JSON has no NaN, and bounds are refused that are none; what cannot be compared is not within.
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
