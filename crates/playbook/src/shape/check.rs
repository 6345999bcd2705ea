//! Validates a check: the common keys and those of its provider.

use escrow_model::{ConditionalKeys, KeyKind, KeySpec, ProviderSpec, is_of_transport, turns_the_order};

use super::ShapeValidator;
use crate::diagnostic::Problem;
use crate::foreign_keys::{self, Level};
use crate::keys::{self, Key, Shape};
use crate::suggest::did_you_mean;
use crate::yaml::{Entry, Node};

impl ShapeValidator<'_> {
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
                    None => self.unknown_provider_key(entry, provider),
                },
                // The key may be valid; that depends on the missing provider.
                None if self.catalog.iter().any(|any| any.keys.iter().any(|key| key.name == entry.key)) => {}
                // A key of an unknown provider cannot be judged, unless it resembles a common or foreign key.
                None if provider_name.is_some() && !resembles_check_key(&entry.key) => {}
                None => self.unknown_key(entry, &keys::CHECK, check_keys(None)),
            }
        }
        match provider {
            None if member.value.entry("type").is_none() => self.missing_type(member),
            None => {}
            Some(provider) => {
                if provider.keys.iter().any(|key| key.name == "choices") {
                    self.check_default_choice(member);
                }
                if provider.keys.iter().any(|key| key.kind == KeyKind::Url) {
                    self.body_of_message(member);
                    self.headers_of_message(member);
                }
                for key in conditionally_missing(provider, member) {
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
            // The diagnostic of the foreign key already names the type.
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
                    None => format!("the providers are {}", self.provider_names()),
                }),
        );
    }

    /// A key that neither checks nor this provider accept.
    fn unknown_provider_key(&mut self, entry: &Entry, provider: &ProviderSpec) {
        let owner = self.catalog.iter().find(|other| other.keys.iter().any(|key| key.name == entry.key));
        match owner {
            Some(owner) if foreign_keys::find(&entry.key, Level::Check).is_none() => self.found.push(
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
            Some("the name is empty")
        } else if name.trim() != name {
            Some("the name starts or ends with white space")
        } else if name.len() > 128 {
            Some("the name is longer than 128 bytes")
        } else if name.chars().any(char::is_control) {
            Some("the name contains a control character")
        } else if name.contains(turns_the_order) {
            Some("the name contains a character that changes the text direction")
        } else if name.contains('|') {
            Some("`|` separates alternatives in `depends_on`")
        } else if name.contains(['[', ']', '=']) {
            Some("`[`, `]` and `=` have a meaning on the command line")
        } else {
            None
        };
        if let Some(why) = trouble {
            self.found.push(
                Problem::new(
                    "E0129",
                    member.key_span.clone(),
                    format!("invalid check name `{}`", name.escape_debug()),
                )
                .label(why),
            );
        }
    }

    fn provider_value(&mut self, entry: &Entry, key: &KeySpec) {
        let node = &entry.value;
        if node.is_null() && !matches!(key.kind, KeyKind::Tree | KeyKind::Inputs | KeyKind::Message) {
            return self.value(entry, &Shape::Text);
        }
        match key.kind {
            KeyKind::Tree | KeyKind::Message => {}
            KeyKind::Inputs => self.inputs(entry, "a map of inputs"),
            KeyKind::MessageMap => self.inputs(entry, "a map"),
            KeyKind::PlainOrEmpty if node.string() == Some("") => {}
            KeyKind::Text
            | KeyKind::TextOr(_)
            | KeyKind::OutputOf
            | KeyKind::Plain
            | KeyKind::PlainOrEmpty
            | KeyKind::Url => self.value(entry, &Shape::Text),
            KeyKind::Block => self.value(entry, &Shape::Block),
            KeyKind::Bool => self.bool(entry),
            KeyKind::Number => {
                if node.number().is_none() {
                    self.wrong(entry, "a number");
                }
            }
            KeyKind::Word(words) => self.word(&entry.key, node, words),
            KeyKind::Texts | KeyKind::Exec => self.exec(entry),
            KeyKind::Sandbox => self.map(node, &keys::SANDBOX, entry.key_span.clone()),
            KeyKind::Shell if node.list().is_some() => self.exec(entry),
            KeyKind::Shell => self.word(&entry.key, node, SHELLS),
            KeyKind::ExitCodes => self.numbers(entry, &EXIT_CODES),
            KeyKind::Statuses => self.numbers(entry, &STATUSES),
            KeyKind::Redirects if node.bool().is_some() => {}
            KeyKind::Redirects => self.value(entry, &Shape::Count { min: 0, max: REDIRECTS_MAX }),
            KeyKind::Duration => self.value(entry, &Shape::Duration),
            KeyKind::Size => self.value(entry, &Shape::Size),
            KeyKind::Count => self.value(entry, &Shape::Count { min: 0, max: 1000 }),
            KeyKind::Budget => self.map(node, &keys::BUDGET, entry.key_span.clone()),
            KeyKind::Check => self.value(entry, &Shape::Target),
            KeyKind::CheckOrTrue if node.bool() == Some(true) => {}
            KeyKind::CheckOrTrue if node.bool() == Some(false) || node.string().is_none() => {
                self.wrong(entry, "`true` or the name of a check");
            }
            KeyKind::CheckOrTrue => self.value(entry, &Shape::Target),
        }
    }

    /// A list of numbers within bounds.
    fn numbers(&mut self, entry: &Entry, kind: &NumberKind) {
        let NumberKind { plural, one, min, max } = kind;
        let Some(items) = entry.value.list() else {
            return self.wrong(entry, &format!("a list of {plural}"));
        };
        if items.is_empty() {
            self.wrong_because(entry, "a list that is not empty", "empty");
        }
        let is_one = |node: &Node| node.json().as_u64().is_some_and(|number| (*min..=*max).contains(&number));
        for item in items.iter().filter(|item| !is_one(item)) {
            self.found.push(
                Problem::new(
                    "E0105",
                    item.span.clone(),
                    format!("`{}` must be a list of {plural}", entry.key),
                )
                .label(format!("this is {}", item.describe()))
                .help(format!("{one} is a number from {min} to {max}")),
            );
        }
    }

    /// A string, or a list of them.
    pub(super) fn exec(&mut self, entry: &Entry) {
        let Some(items) = entry.value.list() else { return self.value(entry, &Shape::Text) };
        if items.is_empty() {
            self.wrong_because(entry, "a list that is not empty", "empty");
        }
        for item in items.iter().filter(|item| item.scalar_text().is_none()) {
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

    /// A template can render to a map.
    fn inputs(&mut self, entry: &Entry, expected: &str) {
        let node = &entry.value;
        let rendered = node.string().is_some_and(|text| text.contains("{{"));
        if node.map().is_none() && !node.is_null() && !rendered {
            self.wrong(entry, expected);
        }
    }

    /// The default answer of a prompt must be one of its choices.
    fn check_default_choice(&mut self, member: &Entry) {
        let (Some(choices), Some(default)) = (member.value.entry("choices"), member.value.entry("default"))
        else {
            return;
        };
        let (Some(list), Some(word)) = (choices.value.list(), default.value.string()) else { return };
        let plain: Vec<&str> = list.iter().filter_map(|choice| choice.string()).collect();
        // Templates are validated when they are rendered.
        let rendered = plain.iter().chain([&word]).any(|text| text.contains("{{") || text.contains("{%"));
        if rendered || plain.len() < list.len() || plain.contains(&word) {
            return;
        }
        let listed = plain.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ");
        self.found.push(
            Problem::new("E0108", default.value.span.clone(), format!("`default` cannot be `{word}`"))
                .label(format!("expected one of {listed}"))
                .also(choices.key_span.clone(), "the choices")
                .maybe_help(did_you_mean(word, plain)),
        );
    }

    /// A message has one body, and a method that takes one.
    fn body_of_message(&mut self, member: &Entry) {
        let mut bodies = ["body", "json", "form", "file"].iter().filter_map(|key| member.value.entry(key));
        let Some(first) = bodies.next() else { return };
        for second in bodies {
            let message = format!("`{}` and `{}` are mutually exclusive", first.key, second.key);
            self.found.push(
                Problem::new("E0130", second.key_span.clone(), message)
                    .label("second body")
                    .also(first.key_span.clone(), "first body")
                    .help("a request has one of `body`, `json`, `form` and `file`"),
            );
        }
        match member.value.entry("method") {
            None => self.found.push(
                Problem::new("E0106", member.key_span.clone(), format!("`{}` needs a `method`", first.key))
                    .label("without `method` the request is a GET, which has no body")
                    .help("add `method: POST`"),
            ),
            Some(method) if matches!(method.value.string(), Some("GET" | "HEAD" | "OPTIONS")) => {
                let message = format!("`{}` cannot be sent with this method", first.key);
                self.found.push(
                    Problem::new("E0130", method.value.span.clone(), message)
                        .label("a request without a body")
                        .also(first.key_span.clone(), "the body")
                        .help("write `method: POST`, or put the values into `query`"),
                );
            }
            Some(_) => {}
        }
    }

    /// Headers that follow from the request are not set by its author.
    fn headers_of_message(&mut self, member: &Entry) {
        let headers = member.value.get("headers").and_then(|headers| headers.map()).unwrap_or_default();
        let names = headers.iter().map(|header| (header.key.as_str(), &header.key_span));
        let idempotency = member.value.get("idempotency_header");
        let idempotency = idempotency.and_then(|node| Some((node.string()?, &node.span)));
        for (name, span) in names.chain(idempotency) {
            if is_of_transport(name) {
                self.found.push(
                    Problem::new("E0108", span.clone(), format!("the header `{name}` cannot be set"))
                        .label("it follows from the URL, the body and the connection")
                        .help("remove it"),
                );
            }
        }
    }

    pub(super) fn provider(&mut self, entry: &Entry) {
        let Some(name) = entry.value.string() else { return self.wrong(entry, "the name of a provider") };
        if self.catalog.iter().any(|provider| provider.name == name) {
            return;
        }
        let names = self.catalog.iter().map(|provider| provider.name);
        let foreign = FOREIGN_PROVIDERS.iter().find(|(foreign, _)| *foreign == name);
        let help = foreign
            .map(|(_, help)| (*help).to_owned())
            .or_else(|| did_you_mean(name, names.clone()))
            .unwrap_or_else(|| format!("the providers are {}", self.provider_names()));
        self.found.push(
            Problem::new("E0107", entry.value.span.clone(), format!("unknown provider `{name}`"))
                .label("no such provider")
                .help(help),
        );
    }
}

/// The keys that the provider needs because of the value of another key, and that are missing.
fn conditionally_missing(provider: &ProviderSpec, member: &Entry) -> impl Iterator<Item = &'static str> {
    let applies = |condition: &&ConditionalKeys| {
        member.value.get(condition.key).and_then(|node| node.string()) == Some(condition.word)
    };
    let needed = provider.conditional_keys.iter().filter(applies).flat_map(|condition| condition.needs);
    needed.copied().filter(|key| member.value.entry(key).is_none())
}

/// The names of all keys of a check with this provider.
fn check_keys(provider: Option<&ProviderSpec>) -> impl Iterator<Item = &str> + Clone {
    let own = provider.map(|provider| provider.keys).unwrap_or_default();
    keys::CHECK.keys.iter().map(|key: &Key| key.name).chain(own.iter().map(|key| key.name))
}

fn resembles_check_key(key: &str) -> bool {
    foreign_keys::find(key, Level::Check).is_some() || did_you_mean(key, check_keys(None)).is_some()
}

/// Numbers that a key lists.
struct NumberKind {
    plural: &'static str,
    one: &'static str,
    min: u64,
    max: u64,
}

const EXIT_CODES: NumberKind = NumberKind { plural: "exit codes", one: "an exit code", min: 0, max: 255 };
const STATUSES: NumberKind = NumberKind { plural: "statuses", one: "a status", min: 200, max: 599 };

/// More redirects than any server needs.
const REDIRECTS_MAX: u64 = 10;

/// The shells that have a name.
const SHELLS: &[&str] = &["sh", "bash"];

/// Providers of other engines, with their replacements.
pub(crate) const FOREIGN_PROVIDERS: &[(&str, &str)] = &[
    ("shell", "write `type: command`"),
    ("bash", "write `type: command`"),
    ("exec", "write `type: command`"),
    ("logger", "write `type: log`"),
    ("workflow", "write `type: playbook`"),
    ("http_client", "write `type: http`"),
    ("http_input", "fire the playbook from a chain, which listens to webhooks"),
    ("webhook", "write `type: http`"),
    ("claude-code", "write `type: ai` with `harness: claude`"),
    ("mcp", "call the server with a program and `type: command`"),
    ("git-checkout", "write `type: command` with `git clone` or `git worktree add` in `exec`"),
    ("javascript", "write `type: script`"),
    ("js", "write `type: script`"),
    ("approval", "write `requires_approval: true` on the check that needs it, or `type: human-input`"),
    ("input", "write `type: human-input`"),
    ("human_input", "write `type: human-input`"),
];
