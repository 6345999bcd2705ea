//! Approvals: who may give one, and what exactly is approved.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Criticality, ProviderName, Request, Text};

/// `requires_approval` of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRule {
    /// What people are asked, in place of a sentence with the name of the check.
    pub prompt: Option<Text>,
    pub terms: ApprovalTerms,
    /// How long it may be awaited. Then it counts as denied.
    pub expires_ms: u64,
}

impl ApprovalRule {
    /// How long an approval may be awaited, unless the playbook says otherwise.
    pub const EXPIRES_MS: u64 = 24 * 60 * 60 * 1000;
}

impl Default for ApprovalRule {
    fn default() -> ApprovalRule {
        ApprovalRule { prompt: None, terms: ApprovalTerms::default(), expires_ms: ApprovalRule::EXPIRES_MS }
    }
}

/// Whose approvals count, and how many are needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalTerms {
    /// `os:NAME`, `token:NAME` or a bare name, which matches either. Empty: anyone.
    pub by: Vec<String>,
    /// How many different actors must approve.
    pub count: u32,
    /// The actors who started or resumed the run do not count.
    pub independent: bool,
}

impl Default for ApprovalTerms {
    fn default() -> ApprovalTerms {
        ApprovalTerms { by: Vec::new(), count: 1, independent: false }
    }
}

impl ApprovalTerms {
    /// Whose approval is needed: `ann or ben`, `2 of ann, ben, eve`, `anyone, but not who started the run`.
    pub fn in_words(&self) -> String {
        let who = match (self.by.as_slice(), self.count) {
            ([], 1) => "anyone".to_owned(),
            ([], count) => format!("{count} people"),
            (by, 1) => by.join(" or "),
            (by, count) => format!("{count} of {}", by.join(", ")),
        };
        if self.independent { format!("{who}, but not who started the run") } else { who }
    }

    /// Whether `by` names the actor.
    pub fn names(&self, actor: Option<&str>) -> bool {
        let matches = |actor: &str, name: &str| {
            name == actor || actor.split_once(':').is_some_and(|(_, bare)| bare == name)
        };
        self.by.is_empty() || actor.is_some_and(|actor| self.by.iter().any(|name| matches(actor, name)))
    }
}

/// What is approved. The digest of an approval is over all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalSubject {
    pub playbook: String,
    /// The title of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub criticality: Criticality,
    /// Exactly what would be performed, with the environment that it would have.
    pub request: Request,
    /// The values in `exec`, each with the expression that gave it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ApprovedValue>,
    /// The command that finds out whether the effect has happened, as the playbook has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconcile: Option<String>,
    /// The secrets that the provider is given, without their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<GrantedSecret>,
    /// The playbook that a check of type `playbook` would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested: Option<ApprovedPlaybook>,
    pub inputs: Map<String, Value>,
    /// The outputs of the checks that it depends on, directly or not.
    pub outputs: Vec<ApprovedOutput>,
    pub outcomes: Vec<ApprovedOutcome>,
    pub artifacts: Vec<ApprovedArtifact>,
    pub terms: ApprovalTerms,
}

/// The nested playbook that an approval is for, as the run has it since it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedPlaybook {
    pub name: String,
    pub file: String,
    /// Of its plan and of those that it nests, directly or through others.
    pub sha256: String,
    /// Its external checks and those of the playbooks that it nests.
    pub external: Vec<ApprovedEffect>,
}

/// An external check of a nested playbook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedEffect {
    /// The playbook that has the check.
    pub playbook: String,
    pub check: String,
    #[serde(rename = "type")]
    pub provider: ProviderName,
    /// What it asks of its provider, as it is written: a command, or each key with its value. Templates are rendered when
    /// the nested run reaches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The same, each key with its value.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub request: Map<String, Value>,
    /// The expressions in it, which the nested run evaluates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// A value in a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedValue {
    pub expression: String,
    pub value: String,
}

/// A secret that a check is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedSecret {
    pub name: String,
    #[serde(rename = "as")]
    pub handover: SecretHandover,
}

/// How a secret reaches a process: `as` of a check's secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretHandover {
    #[default]
    Env,
    File,
    Fd,
}

impl SecretHandover {
    pub fn as_str(self) -> &'static str {
        match self {
            SecretHandover::Env => "env",
            SecretHandover::File => "file",
            SecretHandover::Fd => "fd",
        }
    }
}

/// The output of a check, in the scope that the approval stands on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovedOutput {
    pub check: String,
    pub sha256: String,
    /// The value itself, unless it is too large to show whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// What is shown of a value that is too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<OutputExcerpt>,
}

impl ApprovedOutput {
    /// Of larger values, as JSON, only the beginning and the end are shown. The digest is over the whole.
    pub const BYTES_MAX: usize = 16 * 1024;
}

/// The beginning and the end of a large output: of its text, or of its JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputExcerpt {
    /// The size of the whole.
    pub bytes: u64,
    pub head: String,
    pub tail: String,
}

impl OutputExcerpt {
    /// How much of either end is shown: little enough that the request stays in sight.
    pub const END_BYTES_MAX: usize = 2 * 1024;

    /// `None` for a text that can be shown whole.
    pub fn of(text: &str) -> Option<OutputExcerpt> {
        if text.len() <= ApprovedOutput::BYTES_MAX {
            return None;
        }
        let head = text.floor_char_boundary(OutputExcerpt::END_BYTES_MAX);
        let tail = text.ceil_char_boundary(text.len() - OutputExcerpt::END_BYTES_MAX);
        Some(OutputExcerpt {
            bytes: text.len() as u64,
            head: text[..head].to_owned(),
            tail: text[tail..].to_owned(),
        })
    }

    /// How much lies between the beginning and the end.
    pub fn left_out(&self) -> u64 {
        self.bytes.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }
}

/// A typed result that the approval stands on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovedOutcome {
    pub id: String,
    pub name: String,
    pub kind: String,
    pub passed: Option<bool>,
    pub summary: String,
    pub sha256: String,
}

/// A verified file that the approval stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedArtifact {
    pub id: String,
    pub path: String,
    pub size: u64,
    pub sha256: String,
    /// The check that verified it.
    pub check: String,
}

/// A file that is no longer what a check has verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedArtifact {
    pub id: String,
    pub path: String,
    /// The check that verified it, with its item.
    pub gate: String,
    /// Its digest then; empty for a file that was not there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// Its digest now; empty for a file that is gone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
}

impl ChangedArtifact {
    pub fn in_words(&self) -> String {
        let ChangedArtifact { id, path, gate, .. } = self;
        match (self.expected.is_empty(), self.found.is_empty()) {
            (true, _) => format!("artifact `{id}` has a new file ({path}) since `{gate}` verified it"),
            (false, true) => format!("artifact `{id}` ({path}) is gone since `{gate}` verified it"),
            (false, false) => format!("artifact `{id}` ({path}) has changed since `{gate}` verified it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_matches_an_actor_by_its_whole_form_or_by_the_bare_name() {
        let names = |by: &[&str], actor: Option<&str>| {
            let by = by.iter().map(|name| (*name).to_owned()).collect();
            ApprovalTerms { by, ..ApprovalTerms::default() }.names(actor)
        };
        assert!(names(&[], None));
        assert!(names(&["ann"], Some("os:ann")));
        assert!(names(&["ann"], Some("token:ann")));
        assert!(names(&["bob", "os:ann"], Some("os:ann")));
        assert!(!names(&["token:ann"], Some("os:ann")));
        assert!(!names(&["ann"], Some("os:anna")));
        assert!(!names(&["ann"], None));
        assert!(!names(&["os"], Some("os:ann")));
    }
}
