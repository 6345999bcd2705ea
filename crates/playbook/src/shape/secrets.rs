//! `secrets:` at the top of a playbook: names of environment variables, or names with where each comes from.

use std::ops::Range;

use super::Judge;
use crate::diagnostic::Problem;
use crate::keys;
use crate::yaml::{Entry, Node};

const SECRETS: &str = "a list of environment variables, or a map of names";

impl Judge<'_> {
    pub(super) fn secrets(&mut self, entry: &Entry) {
        let Some(members) = entry.value.map() else {
            return self.each(entry, SECRETS, |judge, item| {
                judge.name(entry, item, SECRETS);
                if let Some(name) = item.string() {
                    judge.secret_name(name, item.span.clone());
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
            // A key that there is not was reported.
            (None, _) if !sources.is_empty() => {}
            (None, _) => self.found.push(
                Problem::new(
                    "E0106",
                    member.key_span.clone(),
                    "a secret needs one of `env`, `file` and `command`",
                )
                .label("nothing says where it comes from"),
            ),
            (Some(first), Some(second)) => self.found.push(
                Problem::new(
                    "E0130",
                    second.key_span.clone(),
                    format!("`{}` and `{}` exclude each other", first.key, second.key),
                )
                .label("the second place")
                .also(first.key_span.clone(), "the first")
                .help("a secret comes from one place"),
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
            (member.key_span.clone(), "nothing follows".to_owned())
        } else {
            (member.value.span.clone(), format!("this is {}", member.value.describe()))
        };
        self.found.push(
            Problem::new("E0105", span, format!("`{name}` must say where the secret comes from"))
                .label(label)
                .help(format!(
                    "write `{name}: {{ env: VARIABLE }}`, `{{ file: PATH }}` or `{{ command: [PROGRAM] }}`; \
                     the value itself never stands in a playbook"
                )),
        );
    }

    /// The name of a variable that programs can do without: it is taken out of every environment.
    fn secret_name(&mut self, name: &str, span: Range<usize>) {
        if INDISPENSABLE.contains(&name) {
            self.found.push(
                Problem::new("E0128", span, format!("`{name}` cannot be a secret"))
                    .label("programs need it, and a secret is taken out of their environment")
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
                format!("write `{}: [{}]`; there is no shell", entry.key, words.join(", "))
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
        if words.first().is_none_or(|program| program.written() == Some("")) {
            self.wrong_saying(entry, "a list that begins with a program", "it names no program");
        }
        for word in words.iter().filter(|word| word.written().is_none()) {
            self.word_of_argv(entry, word);
        }
    }

    fn word_of_argv(&mut self, entry: &Entry, word: &Node) {
        self.found.push(
            Problem::new("E0105", word.span.clone(), format!("`{}` must be a list of strings", entry.key))
                .label(format!("this is {}", word.describe())),
        );
    }
}

/// What programs need to find their tools, their home and their language.
const INDISPENSABLE: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE"];
