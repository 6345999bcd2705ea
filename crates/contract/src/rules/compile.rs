//! Compiles rules and reports every error with the key that causes it.

use std::collections::BTreeSet;

use escrow_expr::{Program, Reads};
use escrow_model::{Rule, RuleCheck};
use regex::RegexBuilder;
use serde_json::{Map, Number, Value};
use thiserror::Error;

use super::path::Path;
use super::python::repr;
use super::{CompiledRule, NAMES, RuleSet, Test, Type};

/// The limit on rules in a set.
const RULES_MAX: usize = 10_000;

/// An error in a rule that its author must correct.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct InvalidRule {
    /// The index of the rule.
    pub index: usize,
    /// The invalid key; `param` names the key inside `params`.
    pub key: &'static str,
    pub param: Option<String>,
    pub message: String,
    pub help: Option<String>,
}

pub(super) fn compile(rules: &[Rule]) -> Result<RuleSet, Vec<InvalidRule>> {
    let mut errors = Vec::new();
    let mut compiled = Vec::with_capacity(rules.len());
    let mut known = BTreeSet::new();
    if rules.len() > RULES_MAX {
        let message = format!("{} rules exceed the limit of {RULES_MAX}", rules.len());
        return Err(vec![InvalidRule { index: RULES_MAX, key: "rule_id", param: None, message, help: None }]);
    }
    for (index, rule) in rules.iter().enumerate() {
        let mut compiler = RuleCompiler { index, rule, errors: &mut errors };
        if rule.rule_id.trim().is_empty() {
            compiler.wrong("rule_id", "`rule_id` must not be empty".to_owned(), None);
        } else if !known.insert(rule.rule_id.as_str()) {
            let message = format!(
                "RuleSet already contains a rule with rule_id={}. Use a unique rule_id or remove the existing rule first.",
                repr(&rule.rule_id)
            );
            compiler.wrong("rule_id", message, None);
        }
        let path = Path::parse(&rule.field);
        if let Err(why) = &path {
            let help = "separate names with dots and write indices in brackets: `findings[0].file`";
            let message = format!("Rule {}: `field` is not a path: {why}.", repr(&rule.rule_id));
            compiler.wrong("field", message, Some(help.to_owned()));
        }
        let test = compiler.test();
        if let (Ok(path), Some(test), true) = (path, test, rule.enabled) {
            compiled.push(CompiledRule {
                rule_id: rule.rule_id.as_str().into(),
                field: rule.field.as_str().into(),
                quoted_field: repr(&rule.field),
                path,
                message: rule.message.clone(),
                test,
            });
        }
    }
    if errors.is_empty() { Ok(RuleSet { rules: compiled }) } else { Err(errors) }
}

/// Compiles one rule and collects its errors.
struct RuleCompiler<'a> {
    index: usize,
    rule: &'a Rule,
    errors: &'a mut Vec<InvalidRule>,
}

impl RuleCompiler<'_> {
    fn wrong(&mut self, key: &'static str, message: String, help: Option<String>) {
        self.errors.push(InvalidRule { index: self.index, key, param: None, message, help });
    }

    /// Reports `Rule 'r': …` about a param, present or missing.
    fn bad_param(&mut self, name: &str, what: &str, help: Option<String>) {
        let message = format!("Rule {}: {what}.", repr(&self.rule.rule_id));
        let param = Some(name.to_owned());
        self.errors.push(InvalidRule { index: self.index, key: "params", param, message, help });
    }

    fn test(&mut self) -> Option<Test> {
        let before = self.errors.len();
        let known: &[&str] = match self.rule.check {
            RuleCheck::Required => &[],
            RuleCheck::Type => &["type"],
            RuleCheck::Range => &["min", "max"],
            RuleCheck::Pattern => &["pattern", "flags", "max_length"],
            RuleCheck::Custom => &["expr", "error"],
        };
        for name in self.rule.params.keys().filter(|name| !known.contains(&name.as_str())) {
            let check = self.rule.check.as_str();
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            let help = match (name.as_str(), names.is_empty()) {
                ("callable", _) => "rules are data; write an expression over `value` as `expr`".to_owned(),
                (_, true) => format!("`{check}` takes no params"),
                (_, false) => format!("`{check}` takes {}", names.join(", ")),
            };
            self.bad_param(name, &format!("a '{check}' check has no param {}", repr(name)), Some(help));
        }
        let test = match self.rule.check {
            RuleCheck::Required => Some(Test::Required),
            RuleCheck::Type => self.kind().map(Test::Type),
            RuleCheck::Range => self.range(),
            RuleCheck::Pattern => self.pattern(),
            RuleCheck::Custom => self.custom(),
        };
        test.filter(|_| self.errors.len() == before)
    }

    fn params(&self) -> &Map<String, Value> {
        &self.rule.params
    }

    fn kind(&mut self) -> Option<Type> {
        let wanted = match self.params().get("type") {
            None => return Some(Type::Str),
            Some(Value::String(name)) => name.clone(),
            Some(other) => other.to_string(),
        };
        let found = Type::ALL.into_iter().find(|known| known.as_str() == wanted);
        if found.is_none() {
            let help = match wanted.as_str() {
                "string" | "text" => "write `str`".to_owned(),
                "integer" => "write `int`".to_owned(),
                "number" | "double" | "decimal" => {
                    "write `float`, which also accepts whole numbers".to_owned()
                }
                "boolean" => "write `bool`".to_owned(),
                "array" => "write `list`".to_owned(),
                "object" | "map" => "write `dict`".to_owned(),
                _ => {
                    format!(
                        "the types are {}",
                        Type::ALL.map(|known| format!("`{}`", known.as_str())).join(", ")
                    )
                }
            };
            self.bad_param("type", &format!("unknown type {}", repr(&wanted)), Some(help));
        }
        found
    }

    fn range(&mut self) -> Option<Test> {
        if self.params().is_empty() {
            let help = "`params: { min: 0 }`, `params: { max: 100 }`, or both".to_owned();
            self.bad_param("min", "'range' check requires params['min'] or params['max']", Some(help));
        }
        let min = self.bound("min");
        let max = self.bound("max");
        if let (Some(low), Some(high)) = (&min, &max)
            && super::is_below(high, low)
        {
            let (low, high) = (super::python::number(low), super::python::number(high));
            self.bad_param("max", &format!("no number is at least {low} and at most {high}"), None);
        }
        Some(Test::Range { min, max })
    }

    fn bound(&mut self, name: &str) -> Option<Number> {
        match self.params().get(name) {
            None => None,
            Some(Value::Number(number)) if number.as_f64().is_some_and(f64::is_finite) => {
                Some(number.clone())
            }
            Some(other) => {
                let kind = super::type_name(other);
                self.bad_param(name, &format!("{} must be a number, got '{kind}'", repr(name)), None);
                None
            }
        }
    }

    fn pattern(&mut self) -> Option<Test> {
        let length_max = match self.params().get("max_length") {
            None => None,
            Some(length) => match length.as_u64().and_then(|length| usize::try_from(length).ok()) {
                Some(length) => Some(length),
                None => {
                    self.bad_param("max_length", "'max_length' must be a whole number", None);
                    None
                }
            },
        };
        let flags = self.flags();
        let source = match self.params().get("pattern") {
            Some(Value::String(source)) => source.clone(),
            Some(other) => {
                let kind = super::type_name(other);
                self.bad_param("pattern", &format!("'pattern' must be a string, got '{kind}'"), None);
                return None;
            }
            None => {
                let help = "write a regular expression: `params: { pattern: '^[a-z]+$' }`".to_owned();
                self.bad_param("pattern", "'pattern' check requires params['pattern']", Some(help));
                return None;
            }
        };
        let flags = flags.unwrap_or_default();
        let built = RegexBuilder::new(&source)
            .case_insensitive(flags.contains('i'))
            .multi_line(flags.contains('m'))
            .dot_matches_new_line(flags.contains('s'))
            .ignore_whitespace(flags.contains('x'))
            .build();
        match built {
            Ok(regex) => Some(Test::Pattern { regex, source: repr(&source), length_max }),
            Err(error) => {
                let message = error.to_string();
                let last = message.lines().last().unwrap_or_default();
                let why = last.strip_prefix("error: ").unwrap_or(last).trim_end_matches('.');
                let help = "look-around and back-references are not supported, because matching must take linear time";
                self.bad_param("pattern", &format!("invalid regex pattern — {why}"), Some(help.to_owned()));
                None
            }
        }
    }

    /// Letters, or the number of the flags in Python's `re`.
    fn flags(&mut self) -> Option<String> {
        const SUMS: [(u64, &str); 5] = [(2, "i"), (8, "m"), (16, "s"), (32, ""), (64, "x")];
        let help = "write letters of `imsx`, or the number of the flags in Python";
        match self.params().get("flags") {
            None => Some(String::new()),
            Some(Value::String(letters)) if letters.chars().all(|letter| "imsx".contains(letter)) => {
                Some(letters.clone())
            }
            Some(Value::Number(sum))
                if sum.as_u64().is_some_and(|sum| sum & !(2 | 8 | 16 | 32 | 64) == 0) =>
            {
                let sum = sum.as_u64().unwrap_or(0);
                Some(SUMS.iter().filter(|(bit, _)| sum & bit != 0).map(|(_, letter)| *letter).collect())
            }
            Some(_) => {
                self.bad_param("flags", "'flags' are not valid pattern flags", Some(help.to_owned()));
                None
            }
        }
    }

    fn custom(&mut self) -> Option<Test> {
        let error = match self.params().get("error") {
            None => None,
            Some(Value::String(error)) => Some(error.clone()),
            Some(_) => {
                self.bad_param("error", "'error' must be a string", None);
                None
            }
        };
        let source = match self.params().get("expr") {
            Some(Value::String(source)) if !source.trim().is_empty() => source.clone(),
            _ => {
                let help =
                    "write an expression over `value`: `params: { expr: 'value % 2 === 0' }`".to_owned();
                self.bad_param("expr", "'custom' check requires params['expr']", Some(help));
                return None;
            }
        };
        let expression = match Program::expression(&source) {
            Ok(expression) => expression,
            Err(error) => {
                self.bad_param(
                    "expr",
                    &format!("'expr' is not a valid expression: {}", error.message),
                    error.help,
                );
                return None;
            }
        };
        self.names_are_known(&expression);
        Some(Test::Custom { expression, error })
    }

    fn names_are_known(&mut self, expression: &Program) {
        let reads: &Reads = expression.reads();
        let unknown: BTreeSet<&str> =
            reads.names.iter().map(|read| read.name.as_str()).filter(|name| !NAMES.contains(name)).collect();
        for name in unknown {
            let help = match name {
                "output" | "result" | "form" => "read `item`, the whole value".to_owned(),
                _ => "a rule expression can read `value` and `item`".to_owned(),
            };
            self.bad_param("expr", &format!("'expr' reads {}, which does not exist", repr(name)), Some(help));
        }
        if reads
            .effects
            .iter()
            .any(|effect| effect.name == Reads::CHANGE || effect.name.starts_with("memory"))
        {
            let help = "`=` assigns; compare with `===`".to_owned();
            self.bad_param("expr", "'expr' has a side effect", Some(help));
        }
    }
}
