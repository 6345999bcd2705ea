//! What a contract demands, in words for an agent.

use escrow_model::outcome::Kind;
use escrow_model::{
    CheckIndex, ExpectedArtifact, IssueCode, Location as Place, MissingArtifact, ProviderName, Rule,
    ScopePath, Severity, folder_in_scope, folder_of,
};
use serde_json::{Map, Value, json};

use crate::run::Run;

/// Longer schemas are named, not quoted: the agent is told what is wrong with its answer.
const SCHEMA_BYTES_MAX: usize = 32 * 1024;

impl Run {
    /// What follows the prompt: the files to write, with their paths, and what the answer must be. `None` when the contract
    /// demands nothing.
    pub(crate) fn demands(&self, check: CheckIndex, scope: &ScopePath) -> Option<String> {
        let parts: Vec<String> =
            [self.files_demanded(check, scope), self.answer_demanded(check)].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| {
            format!(
                "This work is under contract. It is judged by what is delivered, not by what is said.\n\n{}",
                parts.join("\n\n")
            )
        })
    }

    /// The files that must be there before the agent may stop: what it owes, whatever else holds.
    pub(crate) fn stop_demand(&self, check: CheckIndex, scope: &ScopePath) -> Value {
        let directory = self.state.options.artifacts.trim_end_matches('/');
        let is_certain = |artifact: &&ExpectedArtifact| artifact.required && artifact.condition.is_none();
        let file = |artifact: &ExpectedArtifact| {
            let path = self.path(check, scope, artifact);
            let label = path.strip_prefix(&format!("{directory}/")).unwrap_or(&path);
            let location = match &artifact.location {
                Place::Path(_) => json!({"path": label}),
                Place::Glob { count, .. } => json!({"glob": {"pattern": label, "count": count}}),
            };
            json!({
                "location": location, "min_size": artifact.min_size, "description": artifact.description,
                "mime_type": artifact.mime_type, "schema": artifact.schema, "kind": artifact.kind,
                "fresh": artifact.fresh,
            })
        };
        let owed: Vec<&ExpectedArtifact> = self.owed(check).into_iter().filter(is_certain).collect();
        let kinds: Map<String, Value> = owed
            .iter()
            .filter_map(|artifact| artifact.kind.as_ref())
            .filter_map(|kind| Some((kind.clone(), self.state.plan.outcome_kinds.get(kind)?.clone())))
            .collect();
        // What was there before the run is no delivery.
        let before = self.state.facts.before.iter().flat_map(|artifact| &artifact.files);
        let before: Vec<Value> = before
            .map(|file| json!({"path": file.path, "inode": file.inode, "changed_ns": file.changed_ns}))
            .collect();
        let files: Vec<Value> = owed.into_iter().map(file).collect();
        json!({"artifacts": directory, "files": files, "kinds": kinds, "before": before})
    }

    /// Whether an attempt without an answer has delivered nothing. Files may be all that is owed; a schema and an outcome kind
    /// judge the missing answer themselves, so that it can be repaired.
    pub(crate) fn answer_is_owed(&self, check: CheckIndex) -> bool {
        let spec = self.state.plan.check(check);
        if spec.outcome.is_some() || spec.schema.as_ref().is_some_and(Value::is_object) {
            return false;
        }
        let judged = spec.guarantee.iter().chain(&spec.fail_if);
        let is_read = judged.into_iter().any(|expression| expression.reads().uses("output"));
        self.owed(check).is_empty() || !spec.rules.is_empty() || is_read
    }

    /// Exactly what is missing after an attempt.
    pub(crate) fn repair_prompt(&self, check: CheckIndex, scope: &ScopePath) -> String {
        let mut lines = Vec::new();
        let result = self.cell(check, scope).map(|cell| &cell.last_result);
        let missing = result.map(|result| result.missing.as_slice()).unwrap_or_default();
        for artifact in missing {
            lines.push(self.missing_line(check, scope, artifact));
        }
        let issues = result.map(|result| result.issues.as_slice()).unwrap_or_default();
        for issue in issues.iter().filter(|issue| issue.severity == Severity::Error) {
            // The list of missing artifacts has the paths.
            if issue.code != IssueCode::ArtifactMissing || missing.is_empty() {
                lines.push(format!("- {}", issue.message));
            }
        }
        let about_answer = issues
            .iter()
            .any(|issue| matches!(issue.code, IssueCode::SchemaValidationFailed | IssueCode::OutcomeInvalid));
        let answer = if about_answer { self.answer_demanded(check) } else { None };
        let answer = answer.map(|answer| format!("\n\n{answer}")).unwrap_or_default();
        format!(
            "The contract is not met yet. This is missing:\n{}\n\nDeliver it now. What is already delivered stays.{answer}",
            lines.join("\n")
        )
    }

    fn missing_line(&self, check: CheckIndex, scope: &ScopePath, missing: &MissingArtifact) -> String {
        let detail = if missing.detail.is_empty() { String::new() } else { format!(" ({})", missing.detail) };
        let expected = self.state.plan.artifacts.expected.iter().find(|one| one.id == missing.id);
        let described = expected.map_or_else(String::new, |expected| self.described(expected));
        let path =
            expected.map_or_else(|| missing.path.clone(), |expected| self.path(check, scope, expected));
        let optional = if missing.required { "" } else { "optional: " };
        format!("- {optional}{path} is {}{detail}{described}", missing.problem.in_words())
    }

    fn files_demanded(&self, check: CheckIndex, scope: &ScopePath) -> Option<String> {
        let owed = self.owed(check);
        if owed.is_empty() {
            return None;
        }
        let lines: Vec<String> = owed
            .iter()
            .map(|artifact| {
                let optional = if artifact.required { "" } else { " (optional)" };
                format!("- {}{optional}{}", self.path(check, scope, artifact), self.described(artifact))
            })
            .collect();
        Some(format!("Write these files, at exactly these paths:\n{}", lines.join("\n")))
    }

    /// The artifacts that a check delivers: those that it lists, those of its own folder, and for the only `ai` check of a
    /// run those that no check lists.
    fn owed(&self, check: CheckIndex) -> Vec<&ExpectedArtifact> {
        let plan = &self.state.plan;
        let spec = plan.check(check);
        let agents = plan.checks.iter().filter(|other| other.provider == ProviderName::AI).count();
        let is_listed = |id: &String| plan.checks.iter().any(|other| other.artifacts.contains(id));
        let is_owed = |artifact: &&ExpectedArtifact| match &artifact.check {
            Some(owner) => *owner == spec.name,
            None => spec.artifacts.contains(&artifact.id) || (agents == 1 && !is_listed(&artifact.id)),
        };
        plan.artifacts.expected.iter().filter(is_owed).collect()
    }

    /// The absolute path or pattern of an artifact in this scope.
    fn path(&self, check: CheckIndex, scope: &ScopePath, artifact: &ExpectedArtifact) -> String {
        let spec = self.state.plan.check(check);
        let directory = self.state.options.artifacts.trim_end_matches('/');
        let label = artifact.location.label();
        let own = match &artifact.check {
            Some(owner) if *owner == spec.name => {
                let folder = folder_of(owner);
                label
                    .strip_prefix(&format!("{folder}/"))
                    .map(|rest| format!("{}/{rest}", folder_in_scope(owner, scope)))
            }
            Some(_) | None => None,
        };
        format!("{directory}/{}", own.as_deref().unwrap_or(label))
    }

    fn described(&self, artifact: &ExpectedArtifact) -> String {
        let mut words = Vec::new();
        if !artifact.description.is_empty() {
            words.push(artifact.description.clone());
        }
        if let Place::Glob { count, .. } = &artifact.location {
            words.push(match count.max {
                Some(max) => format!("a pattern for {} to {max} files", count.min),
                None => format!("a pattern for at least {} files", count.min),
            });
        }
        if artifact.min_size > 1 {
            words.push(format!("at least {} bytes", artifact.min_size));
        }
        if let Some(mime_type) = &artifact.mime_type {
            words.push(format!("media type {mime_type}"));
        }
        if let Some(schema) = artifact.kind.as_deref().and_then(|kind| self.kind_schema(kind)) {
            words.push(format!("JSON that satisfies this JSON Schema: {}", quoted_schema(&schema)));
        }
        if let Some(schema) = &artifact.schema {
            words.push(format!("JSON that satisfies this JSON Schema: {}", quoted_schema(schema)));
        }
        if let Some(condition) = &artifact.condition {
            words.push(format!("expected only if `{}` holds", condition.source()));
        }
        if words.is_empty() { String::new() } else { format!(" — {}", words.join("; ")) }
    }

    fn answer_demanded(&self, check: CheckIndex) -> Option<String> {
        let spec = self.state.plan.check(check);
        let mut parts = Vec::new();
        let of_card = match &spec.schema {
            Some(Value::String(card)) => self.kind_schema(card),
            Some(schema) => Some(schema.clone()),
            None => None,
        };
        let of_outcome = spec.outcome.as_deref().and_then(|kind| self.kind_schema(kind));
        for schema in of_card.into_iter().chain(of_outcome) {
            parts.push(format!(
                "The final answer must be JSON and nothing else, and satisfy this JSON Schema:\n{}",
                quoted_schema(&schema)
            ));
        }
        let rules = spec.rules.iter().filter(|rule| rule.enabled).map(rule_line);
        let guarantees = spec.guarantee.iter().map(|guarantee| format!("- `{}`", guarantee.source()));
        let conditions: Vec<String> = rules.chain(guarantees).collect();
        if !conditions.is_empty() {
            parts.push(format!(
                "The final answer is `output` in these conditions, which must hold:\n{}",
                conditions.join("\n")
            ));
        }
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    fn kind_schema(&self, kind: &str) -> Option<Value> {
        let own = self.state.plan.outcome_kinds.get(kind).cloned();
        own.or_else(|| Kind::find(kind).map(|kind| (kind.schema)()))
    }
}

fn rule_line(rule: &Rule) -> String {
    match &rule.message {
        Some(message) => format!("- `{}`: {message}", rule.field),
        None if rule.params.is_empty() => format!("- `{}`: {}", rule.field, rule.check.as_str()),
        None => {
            let params = Value::Object(rule.params.clone());
            format!("- `{}`: {} {params}", rule.field, rule.check.as_str())
        }
    }
}

fn quoted_schema(schema: &Value) -> String {
    let text = schema.to_string();
    if text.len() <= SCHEMA_BYTES_MAX { text } else { "(too long to quote)".to_owned() }
}
