//! A check has our keys and its provider's.

use escrow_model::{KeyKind, KeySpec, ProviderSpec, turns_the_order};

use super::Judge;
use crate::diagnostic::Problem;
use crate::foreign::{self, Level};
use crate::keys::{self, Key, Shape};
use crate::suggest::did_you_mean;
use crate::yaml::Entry;

impl Judge<'_> {
    /// A check: our keys and its provider's.
    pub(super) fn check(&mut self, member: &Entry) {
        self.check_name(member);
        let Some(entries) = member.value.map() else {
            return self.map(&member.value, &keys::CHECK, member.key_span.clone());
        };
        let provider_name = member.value.get("type").and_then(|node| node.string());
        let provider =
            provider_name.and_then(|name| self.catalog.iter().find(|provider| provider.name == name));
        for entry in entries {
            if let Some(key) = keys::CHECK.keys.iter().find(|key| key.name == entry.key) {
                self.value(entry, &key.shape);
                continue;
            }
            match provider {
                Some(provider) => match provider.keys.iter().find(|key| key.name == entry.key) {
                    Some(key) => self.provider_value(entry, key),
                    None => self.foreign_to(entry, provider),
                },
                // Whose key it is can only be said once the provider is known.
                None if self.catalog.iter().any(|any| any.keys.iter().any(|key| key.name == entry.key)) => {}
                // Of an unknown provider it may be; a slip of one of ours, or a key of other engines, it is more likely.
                None if provider_name.is_some() && !is_ours(&entry.key) => {}
                None => self.unknown_key(entry, &keys::CHECK, check_keys(None)),
            }
        }
        match provider {
            None if member.value.entry("type").is_none() => self.missing_type(member),
            None => {}
            Some(provider) => {
                if provider.keys.iter().any(|key| key.name == "choices") {
                    self.default_is_a_choice(member);
                }
                for key in needed_by_operation(provider, member) {
                    self.missing_from(provider, key, member);
                }
                for key in
                    provider.keys.iter().filter(|key| key.required && member.value.entry(key.name).is_none())
                {
                    self.missing_from(provider, key.name, member);
                }
            }
        }
    }

    fn missing_from(&mut self, provider: &ProviderSpec, key: &str, member: &Entry) {
        let message = format!("a `{}` check needs `{key}`", provider.name);
        self.found.push(
            Problem::new("E0106", member.key_span.clone(), message)
                .label(format!("`{key}` is missing"))
                .help(format!("add `{key}: …`")),
        );
    }

    fn missing_type(&mut self, member: &Entry) {
        let entries = member.value.map().unwrap_or_default();
        if entries.iter().any(|entry| matches!(entry.key.as_str(), "run" | "uses")) {
            // Keys of other engines, whose help says which type it is.
            return;
        }
        let meant = self.catalog.iter().find(|provider| {
            provider.keys.iter().any(|key| key.required && entries.iter().any(|entry| entry.key == key.name))
        });
        self.found.push(
            Problem::new("E0106", member.key_span.clone(), "a check needs `type`")
                .label("`type` is missing")
                .help(match meant {
                    Some(provider) => format!("add `type: {}`", provider.name),
                    None => format!("there are {}", self.provider_names()),
                }),
        );
    }

    /// A key that neither checks nor this provider have.
    fn foreign_to(&mut self, entry: &Entry, provider: &ProviderSpec) {
        let owner = self.catalog.iter().find(|other| other.keys.iter().any(|key| key.name == entry.key));
        match owner {
            Some(owner) if foreign::replacement(&entry.key, Level::Check).is_none() => self.found.push(
                Problem::new(
                    "E0103",
                    entry.key_span.clone(),
                    format!("a `{}` check has no key `{}`", provider.name, entry.key),
                )
                .label("unknown key")
                .help(format!("`{}` is a key of `type: {}`", entry.key, owner.name)),
            ),
            Some(_) | None => self.unknown_key(entry, &keys::CHECK, check_keys(Some(provider))),
        }
    }

    fn check_name(&mut self, member: &Entry) {
        let name = &member.key;
        let trouble = if name.is_empty() {
            Some("nobody could speak of it")
        } else if name.trim() != name {
            Some("blanks around a name are easily lost")
        } else if name.len() > 128 {
            Some("at most 128 bytes")
        } else if name.chars().any(char::is_control) {
            Some("it has a control character")
        } else if name.contains(turns_the_order) {
            Some("it has a character that turns the order of what is read")
        } else if name.contains('|') {
            Some("`|` stands between alternatives in `depends_on`")
        } else if name.contains(['[', ']', '=']) {
            Some("`[`, `]` and `=` name items and answers at the command line")
        } else {
            None
        };
        if let Some(why) = trouble {
            self.found.push(
                Problem::new(
                    "E0129",
                    member.key_span.clone(),
                    format!("a check cannot be called `{}`", name.escape_debug()),
                )
                .label(why),
            );
        }
    }

    fn provider_value(&mut self, entry: &Entry, key: &KeySpec) {
        let node = &entry.value;
        if node.is_null() && !matches!(key.kind, KeyKind::Tree | KeyKind::Inputs) {
            return self.value(entry, &Shape::Text);
        }
        match key.kind {
            KeyKind::Tree => {}
            KeyKind::Inputs => self.inputs(entry),
            KeyKind::Text | KeyKind::Plain => self.value(entry, &Shape::Text),
            KeyKind::Block => self.value(entry, &Shape::Block),
            KeyKind::Bool => self.bool(entry),
            KeyKind::Number => {
                if node.number().is_none() {
                    self.wrong(entry, "a number");
                }
            }
            KeyKind::Word(words) => self.word(&entry.key, node, words),
            KeyKind::Texts | KeyKind::Exec => self.exec(entry),
        }
    }

    /// A string, or a list of them.
    pub(super) fn exec(&mut self, entry: &Entry) {
        let Some(items) = entry.value.list() else { return self.value(entry, &Shape::Text) };
        if items.is_empty() {
            self.wrong_saying(entry, "a list with something in it", "it is empty");
        }
        for item in items.iter().filter(|item| item.written().is_none()) {
            self.found.push(
                Problem::new(
                    "E0105",
                    item.span.clone(),
                    format!("`{}` must be a list of strings", entry.key),
                )
                .label(format!("this is {}", item.describe())),
            );
        }
    }

    fn provider_names(&self) -> String {
        self.catalog.iter().map(|provider| format!("`{}`", provider.name)).collect::<Vec<_>>().join(", ")
    }

    /// A template may come to a map.
    fn inputs(&mut self, entry: &Entry) {
        let node = &entry.value;
        let rendered = node.string().is_some_and(|text| text.contains("{{"));
        if node.map().is_none() && !node.is_null() && !rendered {
            self.wrong(entry, "a map of inputs");
        }
    }

    /// Silence must not answer what no person may.
    fn default_is_a_choice(&mut self, member: &Entry) {
        let (Some(choices), Some(default)) = (member.value.entry("choices"), member.value.entry("default"))
        else {
            return;
        };
        let (Some(list), Some(word)) = (choices.value.list(), default.value.string()) else { return };
        let plain: Vec<&str> = list.iter().filter_map(|choice| choice.string()).collect();
        // What templates come to is judged when they are rendered.
        let rendered = plain.iter().chain([&word]).any(|text| text.contains("{{") || text.contains("{%"));
        if rendered || plain.len() < list.len() || plain.contains(&word) {
            return;
        }
        let listed = plain.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ");
        self.found.push(
            Problem::new("E0108", default.value.span.clone(), format!("`default` cannot be `{word}`"))
                .label(format!("the choices are {listed}"))
                .also(choices.key_span.clone(), "the choices")
                .maybe_help(did_you_mean(word, plain)),
        );
    }

    pub(super) fn provider(&mut self, entry: &Entry) {
        let Some(name) = entry.value.string() else { return self.wrong(entry, "the name of a provider") };
        if self.catalog.iter().any(|provider| provider.name == name) {
            return;
        }
        let names = self.catalog.iter().map(|provider| provider.name);
        let help = FOREIGN_PROVIDERS
            .iter()
            .find(|(foreign, _)| *foreign == name)
            .map(|(_, help)| (*help).to_owned())
            .or_else(|| did_you_mean(name, names.clone()))
            .unwrap_or_else(|| format!("there are {}", self.provider_names()));
        self.found.push(
            Problem::new("E0107", entry.value.span.clone(), format!("no provider is called `{name}`"))
                .label("unknown provider")
                .help(help),
        );
    }
}

/// What an operation cannot do without, where the provider as a whole can.
fn needed_by_operation<'k>(provider: &ProviderSpec, member: &Entry) -> impl Iterator<Item = &'k str> {
    let operation = member.value.get("operation").and_then(|node| node.string());
    let needed: &[&str] = match operation {
        Some("get" | "increment" | "delete") if provider.name == "memory" => &["key"],
        Some("set" | "append") if provider.name == "memory" => &["key", "value"],
        _ => &[],
    };
    needed.iter().copied().filter(|key| member.value.entry(key).is_none())
}

/// The names of all keys that a check of this provider may have.
fn check_keys(provider: Option<&ProviderSpec>) -> impl Iterator<Item = &str> + Clone {
    let own = provider.map(|provider| provider.keys).unwrap_or_default();
    keys::CHECK.keys.iter().map(|key: &Key| key.name).chain(own.iter().map(|key| key.name))
}

fn is_ours(key: &str) -> bool {
    foreign::replacement(key, Level::Check).is_some() || did_you_mean(key, check_keys(None)).is_some()
}

/// Providers of other engines, with ours.
const FOREIGN_PROVIDERS: &[(&str, &str)] = &[
    ("shell", "write `type: command`"),
    ("bash", "write `type: command`"),
    ("exec", "write `type: command`"),
    ("logger", "write `type: log`"),
    ("workflow", "write `type: playbook`"),
    ("http_client", "write `type: http`"),
    ("webhook", "write `type: http`"),
    ("claude-code", "write `type: ai` with `harness: claude`"),
    ("javascript", "write `type: script`"),
    ("js", "write `type: script`"),
    ("approval", "write `requires_approval: true` on the check that needs it, or `type: human-input`"),
    ("input", "write `type: human-input`"),
    ("human_input", "write `type: human-input`"),
];
