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

use escrow_expr::{Budget, Given, Program, Scope};
use escrow_model::{BrokenRule, Rule, RuleCheck};
use regex::Regex;
use serde_json::{Number, Value};

pub use compile::{BadRule, RULES_MAX};

use path::Path;
use python::{repr, type_name};

/// Rules that make sense, ready to judge.
#[derive(Clone, Debug)]
pub struct RuleSet {
    rules: Vec<Compiled>,
}

#[derive(Clone, Debug)]
struct Compiled {
    rule_id: String,
    /// As it was written.
    field: String,
    path: Path,
    message: Option<String>,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Required,
    Type(Type),
    Range { min: Option<Number>, max: Option<Number> },
    Pattern { regex: Regex, source: String, length_max: Option<usize> },
    Custom { expression: Program, error: Option<String> },
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
                    rule_id: rule.rule_id.clone(),
                    field: rule.field.clone(),
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
        let field = || repr(&self.field);
        let said = |usual: String| Some(self.message.clone().unwrap_or(usual));
        match (&self.test, value) {
            (Test::Required, Some(_)) => None,
            (Test::Required, None) => said(format!("Field {} is required but missing or None.", field())),
            (Test::Custom { expression, error }, value) => {
                self.custom(expression, error.as_ref(), value, item)
            }
            // Whether there must be something is for `required` to say.
            (Test::Type(_) | Test::Range { .. } | Test::Pattern { .. }, None) => None,
            (Test::Type(wanted), Some(value)) if wanted.admits(value) => None,
            (Test::Type(wanted), Some(value)) => said(format!(
                "Field {} must be type '{}', got '{}'.",
                field(),
                wanted.as_str(),
                type_name(value)
            )),
            (Test::Range { min, max }, Some(Value::Number(number))) => {
                if let Some(min) = min.as_ref().filter(|min| is_below(number, min)) {
                    let (number, min) = (python::number(number), python::number(min));
                    said(format!("Field {} = {number} is below minimum {min}.", field()))
                } else if let Some(max) = max.as_ref().filter(|max| is_below(max, number)) {
                    let (number, max) = (python::number(number), python::number(max));
                    said(format!("Field {} = {number} exceeds maximum {max}.", field()))
                } else {
                    None
                }
            }
            (Test::Range { .. }, Some(value)) => said(format!(
                "Field {}: range check requires numeric type, got '{}'.",
                field(),
                type_name(value)
            )),
            (Test::Pattern { regex, source, length_max }, Some(Value::String(text))) => {
                if let Some(max) = length_max {
                    // Code points, as Python counts; bytes are never fewer, so short texts need no counting.
                    let length = if text.len() > *max { text.chars().count() } else { 0 };
                    if length > *max {
                        return said(format!(
                            "Field {}: input length {length} exceeds the maximum allowed for pattern matching ({max}).",
                            field()
                        ));
                    }
                }
                if regex.is_match(text) {
                    return None;
                }
                let (text, pattern) = (repr(text), repr(source));
                said(format!("Field {} value {text} does not match pattern {pattern}.", field()))
            }
            (Test::Pattern { .. }, Some(value)) => {
                said(format!("Field {}: pattern check requires str, got '{}'.", field(), type_name(value)))
            }
        }
    }

    fn custom(
        &self,
        expression: &Program,
        error: Option<&String>,
        value: Option<&Value>,
        item: &Value,
    ) -> Option<String> {
        let seen = Seen { value: value.unwrap_or(&Value::Null), item };
        match expression.test(&seen, BUDGET) {
            Ok(true) => None,
            Ok(false) => {
                let usual =
                    || format!("Field {} failed custom check {}.", repr(&self.field), repr(&self.rule_id));
                Some(self.message.clone().or_else(|| error.cloned()).unwrap_or_else(usual))
            }
            // A rule that cannot be evaluated is broken, and says so itself.
            Err(fault) => Some(format!(
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
    fn name(&self, name: &str) -> Option<Given<'_>> {
        match name {
            "value" => Some(Given::Json(self.value)),
            "item" => Some(Given::Json(self.item)),
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
