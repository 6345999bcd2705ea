//! Resolves what a playbook refers to in other files: nested playbooks, agents, rules and outcome kinds.
//!
//! **Invariant:** this crate reads no files. The caller implements [`ReferenceResolver`], and every answer is data.

use escrow_model::{ExpectedArtifact, HarnessFacts, Inputs};
use serde_json::Value;

use crate::Diagnostic;
use crate::profile::AgentProfile;

/// Answers questions about the files that a playbook names.
///
/// `nested_*` take the name of a nested playbook as the file writes it. The default methods resolve nothing.
pub trait ReferenceResolver {
    /// Whether the nested playbook has a check that changes the outside world.
    fn nested_is_mutating(&self, _playbook: &str) -> bool {
        false
    }

    /// Why the nested playbook cannot be run.
    fn nested_error(&self, _playbook: &str) -> Option<NestedError> {
        None
    }

    /// The inputs that the nested playbook declares; `None` when it could not be read.
    fn nested_inputs(&self, _playbook: &str) -> Option<Inputs> {
        None
    }

    /// The artifacts that the nested playbook expects.
    fn nested_artifacts(&self, _playbook: &str) -> Vec<ExpectedArtifact> {
        Vec::new()
    }

    /// The profile of an agent.
    fn agent(&self, _name: &str) -> AgentLookup {
        AgentLookup::Unknown { known: Vec::new() }
    }

    /// The JSON Schema of a custom outcome kind, or why its file cannot be read. `None` when there is no such file.
    fn outcome_kind(&self, _name: &str) -> Option<Result<Value, String>> {
        None
    }

    /// The names of all custom outcome kinds, for suggestions.
    fn outcome_kind_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The harness of this name.
    fn harness(&self, _name: &str) -> Option<HarnessFacts> {
        None
    }

    /// The harness of checks that name none, if there is one here; or why the settings cannot be read.
    fn default_harness(&self) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Whom `notify` tells where a step does not say; or why the settings cannot be read.
    fn notify(&self) -> Result<Option<NotifyTarget>, String> {
        Ok(None)
    }

    /// The rules file that a name refers to.
    fn rules_file(&self, _name: &str) -> Option<RulesFile> {
        None
    }
}

/// A nested playbook that cannot be run.
#[derive(Clone, Debug, Default)]
pub struct NestedError {
    pub reason: String,
    /// The errors of its file, each with the text that it points into.
    pub diagnostics: Vec<Diagnostic>,
}

/// How people are told, as the settings of the project have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotifyTarget {
    Webhook(String),
    /// A script for the shell.
    Script(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

/// A rules file that exists: its text, or why it cannot be read.
#[derive(Clone, Debug)]
pub struct RulesFile {
    pub file: String,
    pub text: Result<String, String>,
}

/// The result of looking up an agent by name.
#[derive(Clone, Debug)]
pub enum AgentLookup {
    Found(Box<AgentProfile>),
    /// The profile exists and has errors.
    Invalid {
        file: String,
        diagnostics: Vec<Diagnostic>,
    },
    /// No profile has this name. `known` lists the names that exist.
    Unknown {
        known: Vec<String>,
    },
}

/// Resolves nothing: nested playbooks count as read-only, and no agent, rules file or custom kind exists.
#[derive(Clone, Copy, Debug)]
pub struct NoReferences;

impl ReferenceResolver for NoReferences {}
