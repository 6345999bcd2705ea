//! What stands beside a playbook in other files. Only who can read files can tell; this room asks.

use serde_json::Value;

/// The neighbours of a playbook.
pub trait Beside {
    /// Whether a nested playbook, as the file names it, changes the world.
    fn changes_the_world(&self, _playbook: &str) -> bool {
        false
    }

    /// The JSON Schema of an own outcome kind, or why what stands there cannot be read.
    fn outcome_kind(&self, _name: &str) -> Option<Result<Value, String>> {
        None
    }

    /// The names of all own outcome kinds, for "did you mean".
    fn outcome_kinds(&self) -> Vec<String> {
        Vec::new()
    }

    /// The file of rules that a name stands for.
    fn rules(&self, _name: &str) -> Option<RulesText> {
        None
    }
}

/// A file of rules, as far as it could be read.
#[derive(Clone, Debug)]
pub struct RulesText {
    pub file: String,
    pub text: Result<String, String>,
}

/// Nothing beside it.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Beside for Alone {}
