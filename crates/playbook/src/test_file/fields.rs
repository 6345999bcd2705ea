//! Reads the values of a test file and reports those of the wrong type.

use std::collections::BTreeMap;
use std::rc::Rc;

use escrow_model::ScopePath;
use serde_json::{Map, Value};

use super::CheckRef;
use crate::diagnostic::{Diagnostics, Problem};
use crate::duration;
use crate::suggest::did_you_mean;
use crate::yaml::{Entry, Node};

/// Reads values and collects their problems.
pub(super) struct Reader<'a> {
    pub(super) found: &'a mut Diagnostics,
}

impl Reader<'_> {
    /// The entries of a map with these keys. `what` names the map in messages.
    pub(super) fn map<'n>(&mut self, node: &'n Node, what: &str, keys: &[&str]) -> &'n [Entry] {
        let entries = self.any_map(node, what);
        for entry in entries.iter().filter(|entry| !keys.contains(&entry.key.as_str())) {
            let help = did_you_mean(&entry.key, keys.iter().copied())
                .unwrap_or_else(|| format!("the keys are {}", backticked(keys)));
            self.found.push(
                Problem::new("E0103", entry.key_span.clone(), format!("{what} has no key `{}`", entry.key))
                    .label("unknown key")
                    .help(help),
            );
        }
        entries
    }

    /// The entries of a map whose keys are names.
    pub(super) fn any_map<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Entry] {
        node.map().unwrap_or_else(|| {
            self.wrong(node, &format!("{what} must be a map"));
            &[]
        })
    }

    pub(super) fn wrong(&mut self, node: &Node, message: &str) {
        self.found.push(
            Problem::new("E0105", node.span.clone(), message).label(format!("this is {}", node.describe())),
        );
    }

    pub(super) fn text(&mut self, entry: &Entry) -> Option<String> {
        let text = entry.value.scalar_text().map(str::to_owned);
        if text.is_none() {
            self.wrong(&entry.value, &format!("`{}` must be a string", entry.key));
        }
        text
    }

    pub(super) fn flag(&mut self, entry: &Entry) -> Option<bool> {
        let flag = entry.value.bool();
        if flag.is_none() {
            self.wrong(&entry.value, &format!("`{}` must be `true` or `false`", entry.key));
        }
        flag
    }

    pub(super) fn whole_number(&mut self, entry: &Entry) -> Option<u64> {
        let number = entry.value.number().and_then(serde_json::Number::as_u64);
        if number.is_none() {
            self.wrong(&entry.value, &format!("`{}` must be a whole number", entry.key));
        }
        number
    }

    pub(super) fn exit_code(&mut self, entry: &Entry) -> Option<i32> {
        let code = entry.value.number().and_then(serde_json::Number::as_i64);
        let code = code.and_then(|code| i32::try_from(code).ok()).filter(|code| (0..=255).contains(code));
        if code.is_none() {
            self.wrong(&entry.value, &format!("`{}` must be a number from 0 to 255", entry.key));
        }
        code
    }

    pub(super) fn duration_ms(&mut self, entry: &Entry) -> Option<u64> {
        match duration::milliseconds(&entry.value) {
            Ok(ms) => Some(ms),
            Err(why) => {
                let message = format!("`{}` must be a duration", entry.key);
                self.found.push(
                    Problem::new("E0121", entry.value.span.clone(), message)
                        .label(why)
                        .help("write `500ms`, `30s` or `2h`; a number is milliseconds"),
                );
                None
            }
        }
    }

    /// One of the given words.
    pub(super) fn word<T: Copy>(&mut self, node: &Node, key: &str, words: &[(&str, T)]) -> Option<T> {
        let listed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let Some(text) = node.scalar_text() else {
            self.wrong(node, &format!("`{key}` must be one of {}", backticked(&listed)));
            return None;
        };
        let known = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if known.is_none() {
            self.found.push(
                Problem::new("E0108", node.span.clone(), format!("`{key}` cannot be `{text}`"))
                    .label(format!("expected one of {}", backticked(&listed)))
                    .maybe_help(did_you_mean(text, listed.iter().copied())),
            );
        }
        known
    }

    /// The items of a list. A single value counts as a list of one.
    pub(super) fn items<'n>(&mut self, node: &'n Rc<Node>) -> &'n [Rc<Node>] {
        node.list().unwrap_or(std::slice::from_ref(node))
    }

    pub(super) fn texts(&mut self, entry: &Entry) -> Vec<String> {
        let mut texts = Vec::new();
        for item in self.items(&entry.value) {
            match item.scalar_text() {
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong(item, &format!("`{}` must be a list of strings", entry.key)),
            }
        }
        texts
    }

    pub(super) fn object(&mut self, entry: &Entry) -> Map<String, Value> {
        match entry.value.json() {
            Value::Object(object) => object,
            _ => {
                self.wrong(&entry.value, &format!("`{}` must be a map", entry.key));
                Map::new()
            }
        }
    }

    pub(super) fn variables(&mut self, entry: &Entry) -> BTreeMap<String, String> {
        let what = format!("`{}`", entry.key);
        let mut variables = BTreeMap::new();
        for variable in self.any_map(&entry.value, &what) {
            if let Some(text) = self.text(variable) {
                variables.insert(variable.key.clone(), text);
            }
        }
        variables
    }

    /// The check or item that a key names.
    pub(super) fn check_ref_of_key(&mut self, entry: &Entry) -> Option<CheckRef> {
        self.check_ref(&entry.key, entry.key_span.clone())
    }

    /// The check or item that a value names.
    pub(super) fn check_ref_of_value(&mut self, entry: &Entry) -> Option<CheckRef> {
        let text = self.text(entry)?;
        self.check_ref(&text, entry.value.span.clone())
    }

    pub(super) fn check_ref(&mut self, text: &str, span: std::ops::Range<usize>) -> Option<CheckRef> {
        match parse_check_ref(text) {
            Some((check, scope)) => Some(CheckRef { check: check.to_owned(), scope, span }),
            None => {
                self.found.push(
                    Problem::new("E0105", span, format!("invalid item `{text}`"))
                        .label("write `check[0]`, or `check[0][2]` for a nested item"),
                );
                None
            }
        }
    }
}

/// The words in backticks, separated by commas.
pub(super) fn backticked(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn parse_check_ref(text: &str) -> Option<(&str, ScopePath)> {
    let Some(bracket) = text.find('[') else { return Some((text, ScopePath::root())) };
    let (check, mut rest) = text.split_at(bracket);
    let mut indices = Vec::new();
    while !rest.is_empty() {
        let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
        indices.push(index.parse().ok()?);
        rest = after;
    }
    Some((check, ScopePath::new(indices)))
}
