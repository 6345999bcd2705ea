//! What stands beside a playbook in other files. Only who can read files can tell; this room asks.

use escrow_model::{ExpectedArtifact, Inputs};
use serde_json::Value;

use crate::Diagnostic;
use crate::profile::AgentProfile;

/// The neighbours of a playbook.
pub trait ReferenceResolver {
    /// Whether a nested playbook, as the file names it, changes the world.
    fn changes_the_world(&self, _playbook: &str) -> bool {
        false
    }

    /// Why a nested playbook could not be run as things stand.
    fn trouble(&self, _playbook: &str) -> Option<String> {
        None
    }

    /// What a nested playbook may be given; `None` where nobody knows.
    fn inputs(&self, _playbook: &str) -> Option<Inputs> {
        None
    }

    /// What a nested playbook promises to deliver.
    fn promises(&self, _playbook: &str) -> Vec<ExpectedArtifact> {
        Vec::new()
    }

    /// The profile of an agent.
    fn agent(&self, _name: &str) -> FoundAgent {
        FoundAgent::Unknown { known: Vec::new() }
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

/// What was found where agents have their profiles.
#[derive(Clone, Debug)]
pub enum FoundAgent {
    Profile(Box<AgentProfile>),
    /// There is one, and it is not good.
    Broken {
        file: String,
        diagnostics: Vec<Diagnostic>,
    },
    /// There is none of this name.
    Unknown {
        known: Vec<String>,
    },
}

/// Nothing beside it.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl ReferenceResolver for Alone {}
