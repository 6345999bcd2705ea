//! What an agent must have delivered before it may stop.
//!
//! **Invariant:** the files are judged by the same inspection and the same judge as at the end of the attempt.

use std::path::PathBuf;

use escrow_contract::judge_delivery;
use escrow_contract::outcome::Kind;
use escrow_model::{ArtifactContract, ExpectedArtifact, InspectedArtifact, Location, SeenFile, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entropy::now_ms;
use crate::inspection::{Depth, inspect};

/// What must be there before the agent may stop (`hold_stop: true`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StopDemand {
    pub artifacts: PathBuf,
    pub files: Vec<DemandedFile>,
    /// The schemas of own outcome kinds that the files name.
    #[serde(default)]
    pub kinds: Map<String, Value>,
    /// Files that were there when the run started.
    #[serde(default)]
    pub before: Vec<FileIdentity>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DemandedFile {
    pub location: Location,
    pub min_size: u64,
    pub description: String,
    #[serde(default)]
    pub mime_type: Option<String>,
    #[serde(default)]
    pub schema: Option<Value>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub fresh: bool,
}

/// Enough to tell whether a file is still the one that it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    pub path: String,
    pub inode: u64,
    pub changed_ns: i64,
}

impl StopDemand {
    /// Judges the files as the end of the attempt will.
    pub(super) fn missing(&self) -> Option<String> {
        let expected = self.files.iter().enumerate();
        let contract =
            ArtifactContract { expected: expected.map(|(index, file)| file.expected(index)).collect() };
        let directory = self.artifacts.canonicalize().unwrap_or_else(|_| self.artifacts.clone());
        let seen = inspect(&directory, &contract.expected, Depth::Full);
        let kinds = |name: &str| Kind::find(name, |own| self.kinds.get(own));
        let before = [InspectedArtifact {
            id: String::new(),
            files: self.before.iter().map(FileIdentity::as_seen).collect(),
            refused: None,
        }];
        let delivery = judge_delivery(&contract, &kinds, &before, &seen, now_ms()).delivery;
        let missing: Vec<String> = delivery
            .missing_required
            .iter()
            .map(|missing| {
                let path = self.artifacts.join(&missing.path);
                let joined = |before: &str, text: &str, after: &str| match text.is_empty() {
                    true => String::new(),
                    false => format!("{before}{text}{after}"),
                };
                let detail = joined(" (", &missing.detail, ")");
                let about = joined(": ", &missing.description, "");
                format!("- `{}` is {}{detail}{about}", path.display(), missing.problem.in_words())
            })
            .collect();
        if missing.is_empty() {
            return None;
        }
        Some(format!(
            "The contract of this task is not met:\n{}\nDeliver these files before you stop.",
            missing.join("\n")
        ))
    }
}

impl DemandedFile {
    fn expected(&self, index: usize) -> ExpectedArtifact {
        ExpectedArtifact {
            min_size: self.min_size,
            description: self.description.clone(),
            mime_type: self.mime_type.clone(),
            schema: self.schema.clone(),
            kind: self.kind.clone(),
            fresh: self.fresh,
            ..ExpectedArtifact::new(index.to_string(), self.location.clone(), Source::Playbook)
        }
    }
}

impl FileIdentity {
    fn as_seen(&self) -> SeenFile {
        SeenFile {
            path: self.path.clone(),
            inode: self.inode,
            changed_ns: self.changed_ns,
            size: 0,
            sha256: String::new(),
            mime_type: None,
            content: None,
            repeated_key: None,
            holds_secret: false,
            text: None,
        }
    }
}
