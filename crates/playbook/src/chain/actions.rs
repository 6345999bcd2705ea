//! The actions of chains: each is a call of a provider with other names for its keys.

use std::rc::Rc;

use crate::diagnostic::{Diagnostics, Problem};
use crate::references::{NotifyTarget, ReferenceResolver};
use crate::suggest::did_you_mean;
use crate::yaml::{Entry, Node};

/// One action.
struct Action {
    name: &'static str,
    provider: &'static str,
    /// Keys of the check that the action sets itself.
    fixed: &'static [(&'static str, &'static str)],
    /// Keys of `with`, and the key of the check that each becomes.
    keys: &'static [(&'static str, &'static str)],
    /// Of each group, one key must be given.
    needs: &'static [&'static [&'static str]],
}

/// The names of all actions, in the order of the documentation.
pub(crate) const ACTION_NAMES: &[&str] = &{
    let mut names = [""; ACTIONS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = ACTIONS[at].name;
        at += 1;
    }
    names
};

const ACTIONS: &[Action] = &[
    Action {
        name: "gh-merge",
        provider: "github",
        fixed: &[("op", "pr.merge")],
        keys: &[
            ("pr", "number"),
            ("number", "number"),
            ("repo", "repo"),
            ("method", "method"),
            ("expected_head", "expected_head"),
        ],
        needs: &[],
    },
    Action {
        name: "gh-comment",
        provider: "github",
        fixed: &[("op", "comment.create")],
        keys: &[
            ("pr", "number"),
            ("issue", "number"),
            ("number", "number"),
            ("repo", "repo"),
            ("body", "body"),
            ("marker", "marker"),
        ],
        needs: &[&["body"]],
    },
    Action {
        name: "gh-label",
        provider: "github",
        fixed: &[("op", "labels.add")],
        keys: &[
            ("pr", "number"),
            ("issue", "number"),
            ("number", "number"),
            ("repo", "repo"),
            ("add", "values"),
            ("labels", "values"),
            ("remove", "values"),
        ],
        needs: &[&["add", "labels", "remove"]],
    },
    Action {
        name: "gh-issue",
        provider: "github",
        fixed: &[("op", "issue.create")],
        keys: &[("repo", "repo"), ("title", "title"), ("body", "body"), ("labels", "values")],
        needs: &[&["title"]],
    },
    Action {
        name: "gh-review",
        provider: "github",
        fixed: &[("op", "review.create")],
        keys: &[
            ("pr", "number"),
            ("number", "number"),
            ("repo", "repo"),
            ("body", "body"),
            ("state", "state"),
            ("sha", "sha"),
            ("verdict", VERDICT),
        ],
        needs: &[&["body", "verdict"]],
    },
    Action {
        name: "gh-status",
        provider: "github",
        fixed: &[("op", "status.set")],
        keys: &[
            ("repo", "repo"),
            ("sha", "sha"),
            ("state", "state"),
            ("context", "context"),
            ("description", "description"),
        ],
        needs: &[&["state"]],
    },
    Action {
        name: "shell",
        provider: "command",
        fixed: &[],
        keys: &[
            ("exec", "exec"),
            ("run", "exec"),
            ("command", "exec"),
            ("shell", "shell"),
            ("stdin", "stdin"),
            ("parse", "parse"),
            ("expect", "expect"),
            ("sandbox", "sandbox"),
        ],
        needs: &[&["exec", "run", "command"]],
    },
    Action {
        name: "http",
        provider: "http",
        fixed: &[],
        keys: &[
            ("url", "url"),
            ("method", "method"),
            ("headers", "headers"),
            ("query", "query"),
            ("body", "body"),
            ("json", "json"),
            ("form", "form"),
            ("file", "file"),
            ("expect", "expect"),
            ("follow_redirects", "follow_redirects"),
            ("connect_timeout", "connect_timeout"),
            ("max_bytes", "max_bytes"),
            ("allow_private", "allow_private"),
            ("ca_file", "ca_file"),
            ("idempotency_header", "idempotency_header"),
        ],
        needs: &[&["url"]],
    },
    Action {
        name: "notify",
        provider: "http",
        fixed: &[],
        keys: &[
            ("message", MESSAGE),
            ("url", "url"),
            ("webhook", "url"),
            ("command", "exec"),
            ("allow_private", "allow_private"),
        ],
        needs: &[&["message"]],
    },
];

/// Not a key of the provider as it is written: the outcome of a step is handed over in its place.
pub(super) const VERDICT: &str = "verdict";

/// Becomes the body or the standard input, depending on who is notified.
const MESSAGE: &str = "message";

/// The keys of the check that an action becomes, and the outcome that it hands over.
pub(super) struct Translated {
    pub(super) entries: Vec<Entry>,
    pub(super) verdict: Option<Rc<Node>>,
}

/// Whether an action calls GitHub, which needs a token.
pub(super) fn is_github(action: &str) -> bool {
    action.starts_with("gh-")
}

/// Translates `with` of an action. Problems are reported where the file has them.
pub(super) fn translate(
    name: &Entry,
    with: Option<&Entry>,
    references: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) -> Translated {
    let mut translated = Translated { entries: Vec::new(), verdict: None };
    let Some(action) = name.value.string().and_then(|name| ACTIONS.iter().find(|one| one.name == name))
    else {
        return translated;
    };
    if with.is_some_and(|with| with.value.map().is_none()) {
        return translated;
    }
    let given = with.and_then(|with| with.value.map()).unwrap_or_default();
    let mut used: Vec<(&str, &Entry)> = Vec::new();
    for entry in given {
        let Some((_, key)) = action.keys.iter().find(|(key, _)| *key == entry.key) else {
            unknown(action, entry, found);
            continue;
        };
        if let Some((_, other)) = used.iter().find(|(known, _)| known == key) {
            let message = format!("`{}` and `{}` are mutually exclusive", other.key, entry.key);
            found.push(
                Problem::new("E0130", entry.key_span.clone(), message)
                    .label(format!("`{}` is given here", entry.key))
                    .also(other.key_span.clone(), format!("`{}` is given here", other.key))
                    .help("keep one of them, or make two steps"),
            );
            continue;
        }
        used.push((key, entry));
    }
    let owner = with.map_or(&name.key_span, |with| &with.key_span);
    for needed in action.needs {
        if !given.iter().any(|entry| needed.contains(&entry.key.as_str())) {
            let words: Vec<String> = needed.iter().map(|key| format!("`{key}`")).collect();
            let message = format!("`{}` needs {}", action.name, words.join(" or "));
            found.push(
                Problem::new("E0106", owner.clone(), message)
                    .label("missing in `with`")
                    .help(format!("add `{}: …` to `with`", needed[0])),
            );
        }
    }
    let mut provider = action.provider;
    let at = |key: &str, text: &str| text_entry(key, name, text);
    let mut entries = Vec::new();
    let removes = given.iter().any(|entry| entry.key == "remove");
    for (key, text) in action.fixed {
        let text = if removes && *text == "labels.add" { "labels.remove" } else { text };
        entries.push(at(key, text));
    }
    for (key, entry) in &used {
        match *key {
            VERDICT => translated.verdict = Some(Rc::clone(&entry.value)),
            MESSAGE => {}
            key => entries.push(Entry { key: key.to_owned(), ..(*entry).clone() }),
        }
    }
    if action.name == "notify" && !used.iter().any(|(key, _)| ["url", "exec"].contains(key)) {
        entries.extend(told_by_default(name, references, found));
    }
    if let Some((_, message)) = used.iter().find(|(key, _)| *key == MESSAGE) {
        let runs_program = entries.iter().any(|entry| entry.key == "exec");
        if runs_program || used.iter().any(|(key, _)| *key == "exec") {
            provider = "command";
            entries.push(Entry { key: "stdin".to_owned(), ..(*message).clone() });
        } else {
            entries.push(at("method", "POST"));
            let text = Entry { key: "text".to_owned(), ..(*message).clone() };
            let body = Rc::new(Node::map_at(message.value.span.clone(), vec![text]));
            entries.push(Entry { key: "json".to_owned(), key_span: message.key_span.clone(), value: body });
        }
    }
    entries.insert(0, at("type", provider));
    entries.push(at("criticality", "external"));
    translated.entries = entries;
    translated
}

/// The receiver that the settings of the project name, for a step without one.
fn told_by_default(name: &Entry, references: &dyn ReferenceResolver, found: &mut Diagnostics) -> Vec<Entry> {
    let why = match references.notify() {
        Ok(Some(NotifyTarget::Webhook(url))) => {
            // It is the operator's word, who may name a server of their own.
            let private = Entry { key: "allow_private".to_owned(), ..text_entry("", name, "") };
            let private = Entry { value: Rc::new(Node::bool_at(name.value.span.clone(), true)), ..private };
            return vec![text_entry("url", name, &url), private];
        }
        Ok(Some(NotifyTarget::Script(script))) => return vec![text_entry("exec", name, &script)],
        Ok(Some(NotifyTarget::Argv(words))) => {
            let span = name.value.span.clone();
            let words = words.into_iter().map(|word| Rc::new(Node::text_at(span.clone(), word)));
            let value = Rc::new(Node::list_at(span.clone(), words.collect()));
            return vec![Entry { key: "exec".to_owned(), key_span: span, value }];
        }
        Ok(None) => "no `[notify]` in `.escrow/config.toml`".to_owned(),
        Err(why) => why,
    };
    found.push(
        Problem::new("E0106", name.value.span.clone(), "`notify` has no receiver")
            .label(why)
            .help("add `url: …` or `command: …` to `with`, or `[notify]` to `.escrow/config.toml`"),
    );
    Vec::new()
}

fn unknown(action: &Action, entry: &Entry, found: &mut Diagnostics) {
    let known = || action.keys.iter().map(|(key, _)| *key);
    let help = did_you_mean(&entry.key, known()).unwrap_or_else(|| {
        let all: Vec<String> = known().map(|key| format!("`{key}`")).collect();
        format!("the keys are {}", all.join(", "))
    });
    let message = format!("`with` of `{}` has no key `{}`", action.name, entry.key);
    found.push(Problem::new("E0103", entry.key_span.clone(), message).label("unknown key").help(help));
}

/// A synthesised key, attributed to the name of the action.
fn text_entry(key: &str, name: &Entry, text: &str) -> Entry {
    let value = Rc::new(Node::text_at(name.value.span.clone(), text.to_owned()));
    Entry { key: key.to_owned(), key_span: name.value.span.clone(), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_needs_of_an_action_are_its_keys() {
        for action in ACTIONS {
            let is_key = |need: &&str| action.keys.iter().any(|(key, _)| key == need);
            assert!(action.needs.iter().all(|group| group.iter().all(&is_key)), "{}", action.name);
        }
    }
}
