//! What was true of the world when a run started: read once, journaled, never read again.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{ChainFire, ChainStep, EffectOrigin, InspectedArtifact, OuterArtifact, RunId};

/// The facts that the plan's expressions and templates name, and no others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Variables of the environment that are named literally.
    pub env: BTreeMap<String, String>,
    /// The environment of each check that requires approval, by its name: the documented minimum, and what its `exec`
    /// and `env` name.
    pub captured: BTreeMap<String, BTreeMap<String, String>>,
    /// Absent when nothing names it; an error text when it could not be read.
    pub git: Option<Result<GitFacts, String>>,
    /// The expected artifacts as they were before the run.
    pub before: Vec<InspectedArtifact>,
    /// A secret was replaced in the event's payload, in a variable or in a fact of git.
    pub redacted: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFacts {
    pub files_changed: Vec<String>,
    pub branch: Option<String>,
    pub base_branch: Option<String>,
}

/// An event as expressions see it: its payload with its name.
pub fn event_object(name: &str, mut payload: Map<String, Value>) -> Value {
    payload.insert("name".to_owned(), Value::String(name.to_owned()));
    Value::Object(payload)
}

/// How this run was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    pub run: RunId,
    /// `None`: nothing is filtered by `on`, and `event.name` is `manual`.
    pub event: Option<String>,
    /// The event's payload, whose members expressions read beside `event.name`.
    pub payload: Map<String, Value>,
    pub inputs: Map<String, Value>,
    pub only: Vec<String>,
    pub tags: Vec<String>,
    pub exclude_tags: Vec<String>,
    pub safe_mode: bool,
    /// Checks that a person wants to run although the ledger has their effects: they get new keys.
    pub again: Vec<String>,
    pub parallelism: u32,
    pub timeout_ms: Option<u64>,
    pub invocation: Option<String>,
    /// The fire that it answers, for a run of a chain.
    pub fire: Option<ChainFire>,
    /// The step that it is of, for a run that a chain began.
    pub step: Option<ChainStep>,
    /// How many playbook runs this one is nested in.
    pub depth: u32,
    /// The run that this one is nested in.
    pub parent: Option<RunId>,
    /// Where the keys of its effects begin, if it is nested.
    pub effect_origin: Option<EffectOrigin>,
    /// The file that the plan was read from: nested playbooks are looked for beside it.
    pub file: Option<String>,
    pub directory: String,
    pub artifacts: String,
    /// The actors who started the run. For a nested run also those who resumed the runs around it.
    pub started_by: Vec<String>,
    /// The whole environment of its commands, where an approval around this run has fixed it.
    pub environment: Option<BTreeMap<String, String>>,
    /// What the runs around this one have verified before it: looked at again before each of its effects.
    pub outer_artifacts: Vec<OuterArtifact>,
}

impl RunOptions {
    /// The event as expressions see it: its payload with its name. None for a run without one.
    pub fn event_object(&self) -> Option<Value> {
        self.event.as_deref().map(|name| event_object(name, self.payload.clone()))
    }

    /// A run of every check, without event, payload or invocation.
    pub fn new(run: RunId, directory: impl Into<String>, artifacts: impl Into<String>) -> RunOptions {
        RunOptions {
            run,
            event: None,
            payload: Map::new(),
            inputs: Map::new(),
            only: Vec::new(),
            tags: Vec::new(),
            exclude_tags: Vec::new(),
            safe_mode: false,
            again: Vec::new(),
            parallelism: 1,
            timeout_ms: None,
            invocation: None,
            fire: None,
            step: None,
            depth: 0,
            parent: None,
            effect_origin: None,
            file: None,
            directory: directory.into(),
            artifacts: artifacts.into(),
            started_by: Vec::new(),
            environment: None,
            outer_artifacts: Vec::new(),
        }
    }
}
