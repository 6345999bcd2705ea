//! What a playbook needs of other files. Reading them is for those who may: this room asks.

use escrow_model::ExpectedArtifact;

use crate::Diagnostic;
use crate::profile::AgentProfile;

/// The files beside a playbook.
pub trait Neighbours {
    /// The nested playbook, as the file names it.
    fn playbook(&self, name: &str) -> Nested;

    /// The profile of an agent.
    fn agent(&self, name: &str) -> FoundAgent;
}

/// What is known of a nested playbook before it runs.
#[derive(Clone, Debug, Default)]
pub struct Nested {
    /// Whether it changes the world.
    pub changes: bool,
    /// What it promises to deliver.
    pub artifacts: Vec<ExpectedArtifact>,
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

/// No other files: nested playbooks are taken to change nothing, and there are no agents.
#[derive(Debug)]
pub struct Alone;

impl Neighbours for Alone {
    fn playbook(&self, _: &str) -> Nested {
        Nested::default()
    }

    fn agent(&self, _: &str) -> FoundAgent {
        FoundAgent::Unknown { known: Vec::new() }
    }
}
