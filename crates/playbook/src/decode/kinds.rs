//! Decodes references to outcome kinds and to rules.

use std::rc::Rc;

use escrow_contract::outcome::Kind;
use escrow_model::Rule;
use escrow_model::outcome::{KINDS, is_kind_name};

use super::Decoder;
use crate::diagnostic::{Problem, Severity};
use crate::rules::{self, read_rules};
use crate::suggest::did_you_mean;
use crate::yaml::{Entry, Node};

/// Names of layouts from other engines. They describe presentation and do not constrain the output.
const LAYOUTS: &[&str] = &["code-review", "issue-assistant", "overview", "markdown", "plain", "text", "json"];

/// Whether a `schema` name is a layout.
pub(crate) fn is_layout(name: &str) -> bool {
    LAYOUTS.contains(&name)
}

impl Decoder<'_> {
    /// The outcome kind that a value names. The schema of a custom kind becomes part of the plan.
    pub(super) fn kind(&mut self, node: &Rc<Node>) -> Option<String> {
        let name = node.scalar_text().filter(|name| !name.is_empty())?.to_owned();
        if Kind::registered(&name).is_some() || self.kinds.contains_key(&name) {
            return Some(name);
        }
        let declared = if is_kind_name(&name) { self.references.outcome_kind(&name) } else { None };
        let reason = match declared {
            None => {
                self.unknown_kind(&name, node);
                return None;
            }
            Some(Err(why)) => why,
            Some(Ok(schema)) => match Kind::custom(&name, &schema) {
                Ok(_) => {
                    self.kinds.insert(name.clone(), schema);
                    return Some(name);
                }
                Err(error) => error.to_string(),
            },
        };
        self.found().push(
            Problem::new("E0154", node.span.clone(), format!("outcome kind `{name}` is invalid"))
                .label(reason)
                .help(format!("`.escrow/outcomes/{name}.json` must be a JSON Schema (2020-12)")),
        );
        None
    }

    fn unknown_kind(&mut self, name: &str, node: &Node) {
        let custom = self.references.outcome_kind_names();
        let known = || KINDS.iter().map(|kind| kind.name).chain(custom.iter().map(String::as_str));
        let help = did_you_mean(name, known()).unwrap_or_else(|| {
            let all: Vec<String> = known().map(|name| format!("`{name}`")).collect();
            let file = if is_kind_name(name) {
                format!("`.escrow/outcomes/{name}.json`")
            } else {
                "`.escrow/outcomes/<kind>.json`, named in lower-case letters, digits and `_`".to_owned()
            };
            format!("the kinds are {}; a custom kind is a JSON Schema in {file}", all.join(", "))
        });
        self.found().push(
            Problem::new("E0153", node.span.clone(), format!("unknown outcome kind `{name}`"))
                .label("no such kind")
                .help(help),
        );
    }

    /// `schema: NAME`: an outcome kind that the output must match, or a layout.
    pub(super) fn card(&mut self, node: &Rc<Node>) -> Option<String> {
        let name = node.string()?;
        if is_layout(name) { Some(name.to_owned()) } else { self.kind(node) }
    }

    /// The rules of a check, inline or from a rules file. Rules that judge nothing are reported.
    pub(super) fn rules(&mut self, check: &Node) -> Vec<Rule> {
        let Some(entry) = check.entry("rules") else { return Vec::new() };
        let Some(rules) = self.rules_of(entry) else { return Vec::new() };
        // An empty list was reported as a key without effect.
        let is_empty_list = entry.value.list().is_some_and(<[_]>::is_empty);
        if !is_empty_list && !rules.iter().any(|rule| rule.enabled) {
            let label = if rules.is_empty() { "there are no rules" } else { "every rule is disabled" };
            self.found()
                .push(Problem::new("W0231", entry.value.span.clone(), "`rules` judge nothing").label(label));
        }
        rules
    }

    fn rules_of(&mut self, entry: &Entry) -> Option<Vec<Rule>> {
        if let Some(items) = entry.value.list() {
            return rules::decode(items, self.found());
        }
        let name = entry.value.string().filter(|name| !name.is_empty())?;
        let Some(found) = self.references.rules_file(name) else {
            self.found().push(
                Problem::new("E0152", entry.value.span.clone(), format!("rules file `{name}` not found"))
                    .label("no such file")
                    .help("name a file in the folder of the playbook or in `.escrow/rules/`, or write the rules here as a list"),
            );
            return None;
        };
        let (label, help) = match found.text.as_deref() {
            Err(why) => (why.to_string(), None),
            Ok(text) => {
                let reading = read_rules(text, &found.file);
                if let Some(rules) = reading.rules {
                    return Some(rules);
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
                    Some(format!("`escrow rules check {}` lists every problem with its line", found.file)),
                )
            }
        };
        self.found().push(
            Problem::new("E0152", entry.value.span.clone(), format!("rules file `{name}` is invalid"))
                .label(label)
                .maybe_help(help),
        );
        None
    }
}
