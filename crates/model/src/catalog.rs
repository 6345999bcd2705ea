//! What a provider declares about itself, so that playbooks can be checked before anything runs.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a provider, as a playbook writes it in `type`. Which names exist is for the catalog to say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderName(Cow<'static, str>);

impl ProviderName {
    /// Runs a program. The commands of `reconcile` and of agent profiles are performed by it.
    pub const COMMAND: ProviderName = ProviderName::from_static("command");
    /// Starts a harness. The engine completes its requests with what the contract demands.
    pub const AI: ProviderName = ProviderName::from_static("ai");
    /// Sends a request. The engine binds the file that it sends to the one that was verified.
    pub const HTTP: ProviderName = ProviderName::from_static("http");
    /// Its attempts are runs with a journal of their own, so the engine treats them apart.
    pub const NESTED: ProviderName = ProviderName::from_static("playbook");

    pub const fn from_static(name: &'static str) -> ProviderName {
        ProviderName(Cow::Borrowed(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for ProviderName {
    fn from(name: String) -> ProviderName {
        ProviderName(Cow::Owned(name))
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One provider: its name, its own keys, and all that other crates must know of it. They never compare its name.
#[derive(Clone, Copy, Debug)]
pub struct ProviderSpec {
    pub name: &'static str,
    pub summary: &'static str,
    pub keys: &'static [KeySpec],
    pub mutates: Mutates,
    pub home: Home,
    pub timeout_ms: u64,
    /// The keys that it needs in addition to the required ones, for some values of another key.
    pub conditional_keys: &'static [ConditionalKeys],
    /// Escrow itself sends a request over the network: through the operator's proxy, and in no sandbox.
    pub sends_requests: bool,
    /// It can find out by itself what became of an effect: a check of it needs no `reconcile`.
    pub finds_its_effects: bool,
}

impl ProviderSpec {
    /// A pure provider without keys, for `..ProviderSpec::PURE`: a spec states only what differs.
    pub const PURE: ProviderSpec = ProviderSpec {
        name: "",
        summary: "",
        keys: &[],
        mutates: Mutates::Never,
        home: Home::Engine,
        timeout_ms: 0,
        conditional_keys: &[],
        sends_requests: false,
        finds_its_effects: false,
    };

    pub const fn provider(&self) -> ProviderName {
        ProviderName::from_static(self.name)
    }

    /// Whether this is the provider of that name.
    pub fn is(&self, provider: &ProviderName) -> bool {
        self.name == provider.as_str()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    pub name: &'static str,
    pub kind: KeyKind,
    pub required: bool,
}

/// The keys that a check needs when it has this word.
#[derive(Clone, Copy, Debug)]
pub struct ConditionalKeys {
    pub key: &'static str,
    pub word: &'static str,
    pub needs: &'static [&'static str],
}

/// How the value of a key is written, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A string template.
    Text,
    /// The same; where it is absent, this template.
    TextOr(&'static str),
    /// The name of a check, whose output is handed over.
    OutputOf,
    /// Any value, whose strings are templates; a string that is one insertion keeps its type.
    Tree,
    /// The same, and it must be a map, or a template of one.
    Inputs,
    /// A shell script, or a list that is an argument vector.
    Exec,
    /// A statement block of the expression language.
    Block,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A string that is taken as it is.
    Plain,
    /// The same, and it may be empty.
    PlainOrEmpty,
    Bool,
    Number,
    /// A list of string templates, or one.
    Texts,
    /// How the programs that it starts are confined.
    Sandbox,
    /// `sh`, `bash`, or a list: a program and its arguments, which gets the script as its last argument.
    Shell,
    /// A list of exit codes.
    ExitCodes,
    /// A whole number, at least 0.
    Count,
    /// Limits of what a harness may spend.
    Budget,
    /// The name of another check.
    Check,
    /// `true`, or the name of a check.
    CheckOrTrue,
    /// A URL template, whose values are encoded for their places.
    Url,
    /// Any value that is sent to others; its strings are templates, and may name granted secrets as `$NAME`.
    Message,
    /// The same, and it must be a map, or a template of one.
    MessageMap,
    /// A list of HTTP statuses.
    Statuses,
    /// Whether redirects are followed, or how many.
    Redirects,
    /// `10s`, or a number of milliseconds.
    Duration,
    /// `16M`, or a number of bytes.
    Size,
}

/// Whether a check of this provider changes the world outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutates {
    Never,
    Always,
    /// Unless the named key has one of these words (or is absent, when the first word is the default).
    UnlessKeyIs {
        key: &'static str,
        words: &'static [&'static str],
        default: &'static str,
    },
    /// If a check of the nested playbook does.
    AsNested,
}

/// Where the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Pure: the engine computes the answer itself.
    Engine,
    /// A person answers with a message.
    Person,
    /// The runtime performs it, with processes, files and the network.
    Runtime,
}
