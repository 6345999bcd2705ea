//! Validates `secrets:` of a playbook: a list of environment variables, or a map from names to sources.

use std::ops::Range;

use super::ShapeValidator;
use crate::diagnostic::Problem;
use crate::keys;
use crate::yaml::{Entry, Node};

const SECRETS: &str = "a list of environment variables, or a map of names";

impl ShapeValidator<'_> {
    pub(super) fn secrets(&mut self, entry: &Entry) {
        let Some(members) = entry.value.map() else {
            return self.each(entry, SECRETS, |validator, item| {
                validator.name(entry, item, SECRETS);
                if let Some(name) = item.string() {
                    validator.secret_name(name, item.span.clone());
                }
            });
        };
        for member in members {
            self.secret_name(&member.key, member.key_span.clone());
            match member.value.map() {
                Some(sources) => self.source(member, sources),
                None => self.no_source(member),
            }
        }
    }

    /// Exactly one of `env`, `file` and `command`.
    fn source(&mut self, member: &Entry, sources: &[Entry]) {
        self.map(&member.value, &keys::SECRET, member.key_span.clone());
        let mut known =
            sources.iter().filter(|source| keys::SECRET.keys.iter().any(|key| key.name == source.key));
        match (known.next(), known.next()) {
            // The unknown key was reported.
            (None, _) if !sources.is_empty() => {}
            (None, _) => self.found.push(
                Problem::new(
                    "E0106",
                    member.key_span.clone(),
                    "a secret needs one of `env`, `file` and `command`",
                )
                .label("the source is missing"),
            ),
            (Some(first), Some(second)) => self.found.push(
                Problem::new(
                    "E0130",
                    second.key_span.clone(),
                    format!("`{}` and `{}` are mutually exclusive", first.key, second.key),
                )
                .label("second source")
                .also(first.key_span.clone(), "first source")
                .help("a secret has exactly one source"),
            ),
            (Some(only), None) => {
                if let ("env", Some(variable)) = (only.key.as_str(), only.value.string()) {
                    self.secret_name(variable, only.value.span.clone());
                }
            }
        }
    }

    fn no_source(&mut self, member: &Entry) {
        let name = &member.key;
        let (span, label) = if member.value.is_null() {
            (member.key_span.clone(), "no value".to_owned())
        } else {
            (member.value.span.clone(), format!("this is {}", member.value.describe()))
        };
        self.found.push(
            Problem::new("E0105", span, format!("`{name}` must name the source of the secret"))
                .label(label)
                .help(format!(
                    "write `{name}: {{ env: VARIABLE }}`, `{{ file: PATH }}` or `{{ command: [PROGRAM] }}`; \
                     a playbook never contains the value itself"
                )),
        );
    }

    /// A secret is removed from the environment of all other programs, so essential variables cannot be secrets.
    fn secret_name(&mut self, name: &str, span: Range<usize>) {
        if ESSENTIAL_VARIABLES.contains(&name) {
            self.found.push(
                Problem::new("E0128", span, format!("`{name}` cannot be a secret"))
                    .label("programs need this variable, and secrets are removed from their environment")
                    .help("give the secret another name"),
            );
        } else {
            self.variable(name, span);
        }
    }

    pub(super) fn argv(&mut self, entry: &Entry) {
        let Some(words) = entry.value.list() else {
            let help = entry.value.string().map(|text| {
                let words: Vec<&str> = text.split_whitespace().collect();
                format!("write `{}: [{}]`; no shell is involved", entry.key, words.join(", "))
            });
            self.found.push(
                Problem::new(
                    "E0105",
                    entry.value.span.clone(),
                    format!("`{}` must be a list: a program and its arguments", entry.key),
                )
                .label(format!("this is {}", entry.value.describe()))
                .maybe_help(help),
            );
            return;
        };
        if words.first().is_none_or(|program| program.scalar_text() == Some("")) {
            self.wrong_because(entry, "a list that starts with a program", "the program is missing");
        }
        for word in words.iter().filter(|word| word.scalar_text().is_none()) {
            self.wrong_argument(entry, word);
        }
    }

    fn wrong_argument(&mut self, entry: &Entry, word: &Node) {
        self.found.push(
            Problem::new("E0105", word.span.clone(), format!("`{}` must be a list of strings", entry.key))
                .label(format!("this is {}", word.describe())),
        );
    }
}

/// Variables that programs need to find their tools, home directory and locale.
const ESSENTIAL_VARIABLES: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE"];
