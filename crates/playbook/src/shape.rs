//! Validates the YAML tree against the key tables.
//!
//!   Node + KeyTable ──▶ unknown keys, wrong types, disallowed words, duplicates
//!
//! **Invariant:** malformed values are reported here and nowhere else, so the decoder can skip them silently.

pub(crate) mod check;
mod secrets;

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use escrow_model::ProviderSpec;

use crate::diagnostic::{Diagnostics, Problem};
use crate::duration;
use crate::foreign_keys::{self, Level};
use crate::keys::{self, KeyTable, Shape};
use crate::size;
use crate::suggest::{did_you_mean, nearest};
use crate::yaml::{Entry, Node};

/// Validates a playbook.
pub(crate) fn validate(file: &Node, catalog: &[ProviderSpec], found: &mut Diagnostics) {
    let mut validator = ShapeValidator { catalog, found };
    validator.map(file, &keys::FILE, file.span.clone());
    for misnamed in foreign_keys::misnamed_checks(file) {
        validator.check(&misnamed);
    }
}

/// Validates a chain. Its steps are validated as the checks that they become.
pub(crate) fn validate_chain(file: &Node, found: &mut Diagnostics) {
    ShapeValidator { catalog: &[], found }.map(file, &keys::CHAIN, file.span.clone());
}

/// Validates a show. Its plays are validated as the checks that they become, too.
pub(crate) fn validate_show(file: &Node, found: &mut Diagnostics) {
    ShapeValidator { catalog: &[], found }.map(file, &keys::SHOW, file.span.clone());
}

/// Validates a check that was synthesised from other keys of the file.
pub(crate) fn validate_check(entry: &Entry, catalog: &[ProviderSpec], found: &mut Diagnostics) {
    ShapeValidator { catalog, found }.check(entry);
}

/// Validates the front matter of an agent profile.
pub(crate) fn validate_profile(front: &Node, found: &mut Diagnostics) {
    ShapeValidator { catalog: &[], found }.map(front, &keys::PROFILE, front.span.clone());
}

/// Validates a rules file: a list of rules, or a map with `rules`.
pub(crate) fn validate_rules(file: &Node, found: &mut Diagnostics) {
    let mut validator = ShapeValidator { catalog: &[], found };
    match file.list() {
        Some(items) => validator.rules(items),
        None => validator.map(file, &keys::RULES, file.span.clone()),
    }
}

struct ShapeValidator<'a> {
    catalog: &'a [ProviderSpec],
    found: &'a mut Diagnostics,
}

impl ShapeValidator<'_> {
    /// A map with the keys of a table. A missing key is reported at `owner`.
    fn map(&mut self, node: &Node, table: &KeyTable, owner: Range<usize>) {
        let Some(entries) = node.map() else {
            let what = table.what;
            let help = (table.what == "`retry`").then(|| "write `retry: { max: 2 }`".to_owned());
            self.found.push(
                Problem::new("E0105", node.span.clone(), format!("{what} must be a map"))
                    .label(format!("this is {}", node.describe()))
                    .maybe_help(help),
            );
            return;
        };
        for entry in entries {
            match table.keys.iter().find(|key| key.name == entry.key) {
                Some(key) => self.value(entry, &key.shape),
                None => self.unknown_key(entry, table, table.keys.iter().map(|key| key.name)),
            }
        }
        for key in table.keys.iter().filter(|key| key.required && node.entry(key.name).is_none()) {
            self.missing(key.name, table, owner.clone());
        }
    }

    fn missing(&mut self, name: &str, table: &KeyTable, owner: Range<usize>) {
        let help = match name {
            "to" => "name the target check, or write `to: null` to stop".to_owned(),
            _ => format!("add `{name}: …`"),
        };
        self.found.push(
            Problem::new("E0106", owner, format!("{} needs `{name}`", table.what))
                .label(format!("`{name}` is missing"))
                .help(help),
        );
    }

    fn unknown_key<'k>(
        &mut self,
        entry: &Entry,
        table: &KeyTable,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        let name = &entry.key;
        if self.found.is_full() {
            return;
        }
        let level = if std::ptr::eq(table, &keys::FILE) {
            Some(Level::File)
        } else if std::ptr::eq(table, &keys::CHECK) {
            Some(Level::Check)
        } else if std::ptr::eq(table, &keys::ARTIFACT) {
            Some(Level::Artifact)
        } else if std::ptr::eq(table, &keys::PROFILE) {
            Some(Level::Profile)
        } else if std::ptr::eq(table, &keys::ROUTING)
            || std::ptr::eq(table, &keys::ON_FAIL)
            || std::ptr::eq(table, &keys::ROUTING_LIMITS)
        {
            Some(Level::Routing)
        } else {
            None
        };
        if let Some(foreign) = level.and_then(|level| foreign_keys::find(name, level)) {
            let help = foreign.help;
            self.found.push(
                Problem::new("E0104", entry.key_span.clone(), format!("`{name}` is a key of other engines"))
                    .label("not supported by Escrow")
                    .help(help),
            );
            return;
        }
        let elsewhere = || {
            if name == "retry" && std::ptr::eq(table, &keys::ROUTING) {
                return Some("only failures are retried; put it into `on_fail`".to_owned());
            }
            (level == Some(Level::File) && keys::CHECK.keys.iter().any(|key| key.name == name))
                .then(|| format!("`{name}` is a key of a check; check the indentation"))
        };
        let help = elsewhere().or_else(|| did_you_mean(name, known.clone())).unwrap_or_else(|| {
            let all: Vec<String> = known.map(|key| format!("`{key}`")).collect();
            format!("the keys are {}", all.join(", "))
        });
        self.found.push(
            Problem::new("E0103", entry.key_span.clone(), format!("{} has no key `{name}`", table.what))
                .label("unknown key")
                .help(help),
        );
    }

    fn value(&mut self, entry: &Entry, shape: &Shape) {
        let node = &entry.value;
        let allows_null = matches!(shape, Shape::Any | Shape::TargetOrNull)
            || matches!(shape, Shape::Named(table) if std::ptr::eq(*table, &keys::CHECK));
        if node.is_null() && self.found.has_unresolved_alias_at(&node.span) {
            return;
        }
        if node.is_null() && !allows_null {
            self.found.push(
                Problem::new("E0105", entry.key_span.clone(), format!("`{}` has no value", entry.key))
                    .label("no value")
                    .help("add a value, or remove the key"),
            );
            return;
        }
        match shape {
            Shape::Any => {}
            Shape::Text | Shape::Template => {
                if node.scalar_text().is_none() {
                    self.wrong(entry, "a string");
                } else if node.scalar_text() == Some("")
                    && !matches!(entry.key.as_str(), "description" | "default")
                {
                    self.wrong_because(entry, "a string", "empty");
                }
            }
            Shape::Bool => self.bool(entry),
            Shape::Count { min, max } => self.count(entry, *min, *max),
            Shape::Amount => self.amount(entry),
            Shape::Duration => {
                if let Err(why) = duration::milliseconds(node) {
                    self.found.push(
                        Problem::new(
                            "E0121",
                            node.span.clone(),
                            format!("`{}` must be a duration", entry.key),
                        )
                        .label(why)
                        .help("write `500ms`, `30s`, `10m` or `1h30m`; a number is milliseconds"),
                    );
                } else if let Some(number) = duration::bare_number(node)
                    && number < BARE_MS_MIN
                    && LIMITS.contains(&entry.key.as_str())
                {
                    let key = &entry.key;
                    self.found.push(
                        Problem::new("W0222", node.span.clone(), format!("`{key}` is {number} milliseconds"))
                            .label("a number is milliseconds")
                            .help(format!("write `{key}: {number}s` for seconds, or `{key}: {number}ms` if it is meant so")),
                    );
                }
            }
            Shape::Size => {
                if let Err(why) = size::bytes(node) {
                    self.found.push(
                        Problem::new("E0105", node.span.clone(), format!("`{}` must be a size", entry.key))
                            .label(why)
                            .help("write `512M` or `2G`; a number is bytes"),
                    );
                }
            }
            Shape::Version => self.word(&entry.key, node, keys::VERSIONS),
            Shape::Word(words) => self.word(&entry.key, node, words),
            Shape::Words(words) => self.each(entry, "a word, or a list of words", |validator, item| {
                validator.word(&entry.key, item, words);
            }),
            Shape::Expression => self.expression(entry, node),
            Shape::Expressions => match node.list() {
                Some(items) => {
                    self.not_empty(entry, items);
                    for item in items {
                        self.expression(entry, item);
                    }
                }
                None => self.expression(entry, node),
            },
            Shape::Block => {
                if node.string().is_none() {
                    self.wrong(entry, "a block of statements");
                }
            }
            Shape::Texts => self.each(entry, STRINGS, |validator, item| validator.name(entry, item, STRINGS)),
            Shape::Paths if node.list().is_some_and(|items| items.is_empty()) => {}
            Shape::Paths => self.each(entry, STRINGS, |validator, item| validator.name(entry, item, STRINGS)),
            Shape::Events => self.each(entry, EVENT_LIST, |validator, item| {
                validator.name(entry, item, EVENT_LIST);
                validator.event(item);
            }),
            Shape::Event => {
                self.name(entry, node, "an event");
                self.event(node);
            }
            Shape::Provider => self.provider(entry),
            Shape::Needs | Shape::Targets => {
                self.each(entry, CHECKS, |validator, item| validator.name(entry, item, CHECKS));
            }
            Shape::Target => self.name(entry, node, "the name of a check"),
            Shape::TargetOrNull => {
                if !node.is_null() {
                    self.name(entry, node, "the name of a check, or null");
                }
            }
            Shape::Secrets => self.secrets(entry),
            Shape::SecretNames => {
                if node.map().is_some() {
                    return self.map(node, &keys::GRANTED_SECRET, entry.key_span.clone());
                }
                self.each(entry, SECRET_NAMES, |validator, item| match item.map() {
                    Some(_) => validator.map(item, &keys::GRANTED_SECRET, item.span.clone()),
                    None => validator.name(entry, item, SECRET_NAMES),
                });
            }
            Shape::ArtifactIds => {
                self.each(entry, ARTIFACT_IDS, |validator, item| validator.name(entry, item, ARTIFACT_IDS));
            }
            Shape::Argv => self.argv(entry),
            Shape::Exec => self.exec(entry),
            Shape::Reconcile => match node.map() {
                Some(_) => self.map(node, &keys::RECONCILE, entry.key_span.clone()),
                None => self.exec(entry),
            },
            Shape::Approval => match node.map() {
                Some([]) => self.wrong_because(entry, "`true` or a map", "empty"),
                Some(_) => self.map(node, &keys::APPROVAL, entry.key_span.clone()),
                None if node.bool().is_some() => {}
                None => self.found.push(
                    Problem::new(
                        "E0105",
                        node.span.clone(),
                        "`requires_approval` must be `true`, `false` or a map",
                    )
                    .label(format!("this is {}", node.describe()))
                    .help("write `requires_approval: true`, or `requires_approval: { by: [ann], count: 1 }`"),
                ),
            },
            Shape::Environment => self.environment(entry),
            Shape::SchemaOrCard => {
                if node.map().is_none() && node.string().is_none() {
                    self.wrong(entry, "a JSON Schema, or the name of a card");
                }
            }
            Shape::Schema => {
                if node.map().is_none() {
                    self.wrong(entry, "a JSON Schema");
                }
            }
            Shape::Rules => match node.list() {
                Some(items) => {
                    self.not_empty(entry, items);
                    self.rules(items);
                }
                None if node.string().is_some() => self.value(entry, &Shape::Text),
                None => self.wrong(entry, "a list of rules, or the name of a rules file"),
            },
            Shape::Params => {
                if node.map().is_none() {
                    self.wrong(entry, "a map");
                }
            }
            Shape::Kind => self.name(entry, node, "the name of an outcome kind"),
            Shape::Identifier => self.identifier(entry),
            Shape::Map(table) => self.map(node, table, entry.key_span.clone()),
            Shape::Named(table) => self.named(entry, table),
            Shape::List(table) => match node.list() {
                Some(items) => {
                    self.not_empty(entry, items);
                    for item in items {
                        self.map(item, table, item.span.clone());
                    }
                }
                None => self.wrong(entry, "a list"),
            },
        }
    }

    fn rules(&mut self, items: &[Rc<Node>]) {
        for item in items {
            self.map(item, &keys::RULE, item.span.clone());
        }
    }

    fn wrong(&mut self, entry: &Entry, expected: &str) {
        let label = format!("this is {}", entry.value.describe());
        self.wrong_because(entry, expected, &label);
    }

    fn wrong_because(&mut self, entry: &Entry, expected: &str, label: &str) {
        self.found.push(
            Problem::new("E0105", entry.value.span.clone(), format!("`{}` must be {expected}", entry.key))
                .label(label),
        );
    }

    fn bool(&mut self, entry: &Entry) {
        if entry.value.bool().is_some() {
            return;
        }
        let meant = match entry.value.string().map(str::to_ascii_lowercase).as_deref() {
            Some("yes" | "on" | "y" | "true") => Some("true"),
            Some("no" | "off" | "n" | "false") => Some("false"),
            _ => None,
        };
        self.found.push(
            Problem::new(
                "E0105",
                entry.value.span.clone(),
                format!("`{}` must be `true` or `false`", entry.key),
            )
            .label(format!("this is {}", entry.value.describe()))
            .maybe_help(meant.map(|word| format!("write `{}: {word}`", entry.key))),
        );
    }

    fn amount(&mut self, entry: &Entry) {
        match entry.value.number().map(|number| number.as_f64()) {
            None => self.wrong(entry, "a number"),
            Some(Some(amount)) if amount.is_finite() && amount > 0.0 => {}
            Some(_) => self.found.push(
                Problem::new("E0122", entry.value.span.clone(), format!("`{}` is out of range", entry.key))
                    .label("expected a number above 0"),
            ),
        }
    }

    fn count(&mut self, entry: &Entry, min: u64, max: u64) {
        let Some(number) = entry.value.number() else { return self.wrong(entry, "a whole number") };
        let fits = number.as_u64().is_some_and(|value| (min..=max).contains(&value));
        if !fits {
            let bounds = match (min, max) {
                (min, max) if max >= u64::from(u32::MAX) => {
                    format!("expected a whole number of at least {min}")
                }
                (min, max) => format!("expected a whole number from {min} to {max}"),
            };
            self.found.push(
                Problem::new("E0122", entry.value.span.clone(), format!("`{}` is out of range", entry.key))
                    .label(bounds),
            );
        }
    }

    fn word(&mut self, key: &str, node: &Node, words: &[&str]) {
        let listed = || words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        match node.scalar_text() {
            Some(text) if words.contains(&text) => {}
            Some(text) => self.found.push(
                Problem::new("E0108", node.span.clone(), format!("`{key}` cannot be `{text}`"))
                    .label(format!("expected one of {}", listed()))
                    .maybe_help(did_you_mean(text, words.iter().copied())),
            ),
            None => self.found.push(
                Problem::new("E0105", node.span.clone(), format!("`{key}` must be one of {}", listed()))
                    .label(format!("this is {}", node.describe())),
            ),
        }
    }

    /// A list, or a single item. Items must differ.
    fn each(&mut self, entry: &Entry, expected: &str, mut validate_item: impl FnMut(&mut Self, &Node)) {
        let Some(items) = entry.value.list() else {
            if entry.value.scalar().is_none() {
                return self.wrong(entry, expected);
            }
            return validate_item(self, &entry.value);
        };
        self.not_empty(entry, items);
        let mut seen: BTreeMap<&str, &Range<usize>> = BTreeMap::new();
        for item in items {
            validate_item(self, item);
            let Some(text) = item.scalar_text() else { continue };
            if let Some(first) = seen.get(text) {
                self.found.push(
                    Problem::new("E0111", item.span.clone(), format!("`{}` lists `{text}` twice", entry.key))
                        .label("second entry")
                        .also((*first).clone(), "first entry")
                        .help("remove one of them"),
                );
            } else {
                seen.insert(text, &item.span);
            }
        }
    }

    fn not_empty(&mut self, entry: &Entry, items: &[Rc<Node>]) {
        if items.is_empty() {
            self.found.push(
                Problem::new("W0211", entry.value.span.clone(), format!("`{}` has no effect", entry.key))
                    .label("the list is empty")
                    .help("remove the key, or fill the list"),
            );
        }
    }

    fn name(&mut self, entry: &Entry, item: &Node, expected: &str) {
        match item.string() {
            Some("") => self.found.push(
                Problem::new("E0105", item.span.clone(), format!("`{}` must not be empty", entry.key))
                    .label("empty"),
            ),
            Some(_) => {}
            None => {
                let help = item
                    .scalar_text()
                    .filter(|_| item.scalar().is_some())
                    .map(|text| format!("quote it: `\"{text}\"`"));
                self.found.push(
                    Problem::new("E0105", item.span.clone(), format!("`{}` must be {expected}", entry.key))
                        .label(format!("this is {}", item.describe()))
                        .maybe_help(help),
                );
            }
        }
    }

    fn expression(&mut self, entry: &Entry, item: &Node) {
        if item.string().is_none() && item.bool().is_none() {
            let template =
                item.map().is_some().then(|| "quote an expression that starts with `{`".to_owned());
            self.found.push(
                Problem::new("E0105", item.span.clone(), format!("`{}` must be an expression", entry.key))
                    .label(format!("this is {}", item.describe()))
                    .maybe_help(template),
            );
        }
    }

    /// Any word can be an event. One that nearly matches a known event is probably misspelled.
    fn event(&mut self, item: &Node) {
        let Some(name) = item.string().filter(|name| !EVENTS.contains(name)) else { return };
        if let Some(near) = nearest(name, EVENTS.iter().copied()) {
            self.found.push(
                Problem::new("W0208", item.span.clone(), format!("unknown event `{name}`"))
                    .label("this event may never occur")
                    .help(format!("did you mean `{near}`?")),
            );
        }
    }

    fn variable(&mut self, name: &str, span: Range<usize>) {
        let mut letters = name.chars();
        let good = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if !good {
            self.found.push(
                Problem::new("E0128", span, format!("`{name}` is not a valid environment variable name"))
                    .label("only letters, digits and `_` are allowed, and no digit first"),
            );
        } else if name.starts_with("ESCROW_") {
            self.found.push(
                Problem::new("E0128", span, format!("`{name}` is reserved"))
                    .label("Escrow sets the variables that start with `ESCROW_`")
                    .help("choose another name"),
            );
        }
    }

    fn environment(&mut self, entry: &Entry) {
        let Some(entries) = entry.value.map() else {
            return self.wrong(entry, "a map of environment variables");
        };
        for variable in entries {
            self.variable(&variable.key, variable.key_span.clone());
            if variable.value.scalar().is_none() || variable.value.is_null() {
                self.wrong(variable, "a string");
            }
        }
    }

    fn identifier(&mut self, entry: &Entry) {
        let good = entry.value.scalar_text().is_some_and(|text| {
            !text.is_empty()
                && text.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
        });
        if !good {
            self.found.push(
                Problem::new(
                    "E0124",
                    entry.value.span.clone(),
                    format!("`{}` is not an identifier", entry.key),
                )
                .label("only letters, digits, `_` and `-` are allowed"),
            );
        }
    }

    fn named(&mut self, entry: &Entry, table: &'static KeyTable) {
        let node = &entry.value;
        if node.is_null() {
            return;
        }
        let Some(entries) = node.map() else {
            let help = node.list().is_some().then(|| {
                format!("below `{}:`, write a name and the keys of {}, without `-`", entry.key, table.what)
            });
            self.found.push(
                Problem::new(
                    "E0105",
                    node.span.clone(),
                    format!("`{}` must be a map from names to maps", entry.key),
                )
                .label(format!("this is {}", node.describe()))
                .maybe_help(help),
            );
            return;
        };
        for member in entries {
            if std::ptr::eq(table, &keys::CHECK) {
                self.check(member);
            } else {
                self.map(&member.value, table, member.key_span.clone());
            }
        }
    }
}

/// A limit below this that is given without a unit was probably meant in seconds.
const BARE_MS_MIN: u64 = 1_000;

/// The keys whose durations limit how long something may take.
const LIMITS: &[&str] = &["timeout", "expires"];

const STRINGS: &str = "a string, or a list of strings";
const EVENT_LIST: &str = "an event, or a list of events";
const CHECKS: &str = "the name of a check, or a list of names";
const ARTIFACT_IDS: &str = "the id of an artifact, or a list of ids";
const SECRET_NAMES: &str = "the name of a secret, or a list of names";

/// Known events. Others are allowed; these serve to detect misspellings.
const EVENTS: &[&str] = &[
    "pr_opened",
    "pr_updated",
    "pr_closed",
    "issue_opened",
    "issue_comment",
    "manual",
    "schedule",
    "webhook_received",
    "file_changed",
    "run_completed",
];
