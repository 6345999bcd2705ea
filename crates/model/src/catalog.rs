//! What a provider declares about itself, so that playbooks can be checked before anything runs.

/// One provider: its name, its own keys, whether it changes the world.
#[derive(Clone, Copy, Debug)]
pub struct ProviderSpec {
    pub name: &'static str,
    pub summary: &'static str,
    pub keys: &'static [KeySpec],
    pub mutates: Mutates,
    pub home: Home,
    pub timeout_ms: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    pub name: &'static str,
    pub kind: KeyKind,
    pub required: bool,
}

/// How the value of a key is written, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A string template.
    Text,
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
    Bool,
    Number,
    /// A list of string templates, or one.
    Texts,
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

/// Who does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Pure: the engine computes the answer itself.
    Engine,
    /// A person answers with a message.
    Person,
    /// The effect_runner of the runtime.
    EffectRunner,
}
