//! The persisted shape of what a run was started with, and of messages to it.

use std::collections::BTreeMap;

use escrow_model::{
    Assumption, ChainFire, ChainId, ChainStep, EffectOrigin, Facts, GitFacts, InspectedArtifact, Message,
    OuterArtifact, RunId, RunOptions, ScopePath,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::persist::{Persist, RestoreError, Written, persisted_as_is, record, record_enum};

persisted_as_is!(ChainId, RunId, ScopePath, Map<String, Value>, String, Value, bool, u32, u64);

record!(RunOptionsRecord for RunOptions {
    run: RunId,
    event: Option<String> = default,
    payload: Map<String, Value> = default,
    inputs: Map<String, Value> = default,
    only: Vec<String> = default,
    tags: Vec<String> = default,
    exclude_tags: Vec<String> = default,
    safe_mode: bool = default,
    again: Vec<String> = default,
    parallelism: u32,
    timeout_ms: Option<u64> = default,
    invocation: Option<String> = default,
    fire: Option<ChainFire> = default,
    step: Option<ChainStep> = default,
    depth: u32,
    parent: Option<RunId> = default,
    effect_origin: Option<EffectOrigin> = default,
    file: Option<String> = default,
    directory: String,
    artifacts: String,
    started_by: Vec<String> = default,
    environment: Option<BTreeMap<String, String>> = default,
    outer_artifacts: Vec<OuterArtifact> = default,
});

record!(ChainFireRecord for ChainFire {
    chain: ChainId,
    key: String,
    depth: u32,
});

record!(ChainStepRecord for ChainStep {
    chain_run: RunId,
    index: u32,
});

record!(EffectOriginRecord for EffectOrigin {
    key: String,
    shared as "successor": bool = default,
});

record!(FactsRecord for Facts {
    env: BTreeMap<String, String> = default,
    captured: BTreeMap<String, BTreeMap<String, String>> = default,
    git: Option<Result<GitFacts, String>> = default,
    before: Vec<InspectedArtifact> = default,
    redacted: bool = default,
});

record!(GitFactsRecord for GitFacts {
    files_changed: Vec<String>,
    branch: Option<String>,
    base_branch: Option<String>,
});

/// What git answered, or why it did not.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GitRecord {
    Facts(GitFactsRecord),
    Error(String),
}

impl Persist for Result<GitFacts, String> {
    type Record = GitRecord;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "snake_case")]
        enum Git<'a> {
            Facts(Written<'a, GitFacts>),
            Error(&'a str),
        }
        let git = match self {
            Ok(facts) => Git::Facts(Written(facts)),
            Err(why) => Git::Error(why),
        };
        git.serialize(serializer)
    }

    fn restore(record: GitRecord) -> Result<Self, RestoreError> {
        Ok(match record {
            GitRecord::Facts(facts) => Ok(GitFacts::restore(facts)?),
            GitRecord::Error(why) => Err(why),
        })
    }
}

record_enum!(MessageRecord for Message {
    Approve {
        id: String,
        by: Option<String> = default,
        claim: Option<String> = default,
        note: Option<String> = default,
    },
    Deny {
        id: String,
        by: Option<String> = default,
        claim: Option<String> = default,
        note: Option<String> = default,
    },
    Answer { id: String, text: String, by: Option<String> = default },
    Assume {
        check: String,
        scope: ScopePath = default,
        assumption: Assumption,
        by: Option<String> = default,
        why: Option<String> = default,
    },
    Cancel { by: Option<String> = default, system: bool, successor: Option<RunId> = default, inside: Option<RunId> = default, patient: bool = default },
});
