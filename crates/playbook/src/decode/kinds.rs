//! Names of outcome kinds, and rules: what a check holds its output to beyond its own lines.

use std::rc::Rc;

use escrow_contract::outcome::Kind;
use escrow_model::Rule;
use escrow_model::outcome::{KINDS, is_kind_name};

use super::Decoder;
use crate::diagnostic::{Problem, Severity};
use crate::rules::{self, read_rules};
use crate::suggest::did_you_mean;
use crate::yaml::Node;

/// Layouts of other engines that say how an output is shown, and ask nothing of it.
const LAYOUTS: &[&str] = &["code-review", "issue-assistant", "overview", "markdown", "plain", "text", "json"];

/// Whether a `schema` that is a name only says how the output is shown.
pub(crate) fn is_layout(name: &str) -> bool {
    LAYOUTS.contains(&name)
}

impl Decoder<'_> {
    /// The outcome kind that a value names. An own kind joins the plan, so that it is judged the same anywhere.
    pub(super) fn kind(&mut self, node: &Rc<Node>) -> Option<String> {
        let name = node.written().filter(|name| !name.is_empty())?.to_owned();
        if Kind::registered(&name).is_some() || self.kinds.contains_key(&name) {
            return Some(name);
        }
        let stands_there = if is_kind_name(&name) { self.beside.outcome_kind(&name) } else { None };
        let trouble = match stands_there {
            None => {
                self.unknown_kind(&name, node);
                return None;
            }
            Some(Err(why)) => why,
            Some(Ok(schema)) => match Kind::own(&name, &schema) {
                Ok(_) => {
                    self.kinds.insert(name.clone(), schema);
                    return Some(name);
                }
                Err(error) => error.to_string(),
            },
        };
        self.found().push(
            Problem::new("E0154", node.span.clone(), format!("the kind `{name}` cannot be used"))
                .label(trouble)
                .help(format!("`.escrow/outcomes/{name}.json` is a JSON Schema (2020-12)")),
        );
        None
    }

    fn unknown_kind(&mut self, name: &str, node: &Node) {
        let own = self.beside.outcome_kinds();
        let known = || KINDS.iter().map(|kind| kind.name).chain(own.iter().map(String::as_str));
        let help = did_you_mean(name, known()).unwrap_or_else(|| {
            let all: Vec<String> = known().map(|name| format!("`{name}`")).collect();
            let own = if is_kind_name(name) {
                format!("`.escrow/outcomes/{name}.json`")
            } else {
                "`.escrow/outcomes/<kind>.json`, its name in lower-case letters, digits and `_`".to_owned()
            };
            format!("there are {}; an own kind is a JSON Schema in {own}", all.join(", "))
        });
        self.found().push(
            Problem::new("E0153", node.span.clone(), format!("no outcome kind is called `{name}`"))
                .label("unknown kind")
                .help(help),
        );
    }

    /// `schema: NAME`: an outcome kind whose shape the output must have, or a layout that asks nothing of it.
    pub(super) fn card(&mut self, node: &Rc<Node>) -> Option<String> {
        let name = node.string()?;
        if is_layout(name) { Some(name.to_owned()) } else { self.kind(node) }
    }

    /// The rules of a check, inline or from the file that it names.
    pub(super) fn rules(&mut self, check: &Node) -> Vec<Rule> {
        let Some(entry) = check.entry("rules") else { return Vec::new() };
        if let Some(items) = entry.value.list() {
            return rules::decode(items, self.found()).unwrap_or_default();
        }
        let Some(name) = entry.value.string().filter(|name| !name.is_empty()) else { return Vec::new() };
        let Some(found) = self.beside.rules(name) else {
            self.found().push(
                Problem::new("E0152", entry.value.span.clone(), format!("there is no file of rules `{name}`"))
                    .label("no such file")
                    .help("a file beside the playbook, or a name in `.escrow/rules/`; or write the rules here, as a list"),
            );
            return Vec::new();
        };
        let trouble = match found.text.as_deref() {
            Err(why) => (why.to_string(), None),
            Ok(text) => {
                let reading = read_rules(text, &found.file);
                if let Some(rules) = reading.rules {
                    return rules;
                }
                let errors = reading.diagnostics.iter().filter(|one| one.severity == Severity::Error);
                let mut errors = errors.peekable();
                let first = errors.peek().map_or_else(String::new, |one| {
                    format!("{}:{}:{}: {}", one.file, one.line, one.column, one.message)
                });
                let more = errors.count().saturating_sub(1);
                let more = if more > 0 { format!("; {more} more") } else { String::new() };
                (
                    format!("{first}{more}"),
                    Some(format!("`escrow rules check {}` shows every problem at its line", found.file)),
                )
            }
        };
        self.found().push(
            Problem::new("E0152", entry.value.span.clone(), format!("the rules of `{name}` cannot be used"))
                .label(trouble.0)
                .maybe_help(trouble.1),
        );
        Vec::new()
    }
}
