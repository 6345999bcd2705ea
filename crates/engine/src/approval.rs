//! What an approval is for, and whose decision counts.
//!
//! **Invariant:** the digest covers everything that people are shown. If any of it differs when the check would start,
//! the approval is stale.

use std::collections::BTreeMap;

use escrow_model::{
    ApprovalSubject, ApprovedArtifact, ApprovedOutcome, ApprovedOutput, ApprovedValue, Check, CheckIndex,
    Criticality, Field, GrantedSecret, Message, OutputExcerpt, RecordedOutcome, RefusalCode, Request,
    SecretHandover, WaitKind, hex,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::approved_playbook::approved_playbook;
use crate::location::Location;
use crate::phase::Phase;
use crate::run::Run;
use crate::state::{Cell, Node, Wait};

/// How often a stale approval is asked for again. After that it counts as denied.
pub(crate) const ASKED_ANEW_MAX: u32 = 3;

/// Why a message changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("no approval or question is called `{0}`")]
    NoWait(String),
    #[error("`{0}` waits for something else")]
    OtherKind(String),
    #[error("`{text}` is none of: {choices}")]
    NotAChoice { text: String, choices: String },
    #[error("{actor} may not approve it; {by} may")]
    NotNamed { actor: String, by: String },
    #[error("{0} started or resumed the run, and the approval must be independent")]
    NotIndependent(String),
    #[error("{0} has already approved it")]
    Again(String),
    #[error("no check is called `{0}`")]
    NoCheck(String),
    #[error("no item is called `{0}`")]
    NoItem(String),
    #[error("`{0}` runs once per item")]
    PerItem(String),
    #[error("the effect of `{0}` is not unknown")]
    NotUnknown(String),
    #[error("the effect of `{0}` is no longer in question")]
    Settled(String),
    #[error("`reconcile` looks for the effect of `{0}` first")]
    LookedFor(String),
    #[error("an effect is under way or unknown")]
    EffectUnderWay,
    #[error("the run is already stopping")]
    Stopping,
}

impl Refusal {
    pub fn code(&self) -> RefusalCode {
        match self {
            Refusal::NoWait(_) => RefusalCode::NoWait,
            Refusal::OtherKind(_) => RefusalCode::OtherKind,
            Refusal::NotAChoice { .. } => RefusalCode::NotAChoice,
            Refusal::NotNamed { .. } => RefusalCode::NotNamed,
            Refusal::NotIndependent(_) => RefusalCode::NotIndependent,
            Refusal::Again(_) => RefusalCode::Again,
            Refusal::NoCheck(_) => RefusalCode::NoCheck,
            Refusal::NoItem(_) => RefusalCode::NoItem,
            Refusal::PerItem(_) => RefusalCode::PerItem,
            Refusal::NotUnknown(_) => RefusalCode::NotUnknown,
            Refusal::Settled(_) => RefusalCode::Settled,
            Refusal::LookedFor(_) => RefusalCode::LookedFor,
            Refusal::EffectUnderWay => RefusalCode::EffectUnderWay,
            Refusal::Stopping => RefusalCode::Stopping,
        }
    }
}

impl Run {
    /// Why a message changes nothing, if it does not.
    pub fn refusal(&self, message: &Message) -> Option<Refusal> {
        match message {
            Message::Approve { id, by, .. } => match self.wait_for(id, &[WaitKind::Approval]) {
                Ok(wait) => self.refuses_approval(wait, by.as_deref()),
                Err(refusal) => Some(refusal),
            },
            // Anyone may deny.
            Message::Deny { id, .. } => self.wait_for(id, &[WaitKind::Approval, WaitKind::Input]).err(),
            Message::Answer { id, text, .. } => match self.wait_for(id, &[WaitKind::Input]) {
                Ok(wait) if !wait.choices.is_empty() && !wait.choices.contains(text) => {
                    Some(Refusal::NotAChoice { text: text.clone(), choices: wait.choices.join(", ") })
                }
                Ok(_) => None,
                Err(refusal) => Some(refusal),
            },
            Message::Assume { check, scope, .. } => {
                let Some(index) = self.graph.find(check) else {
                    return Some(Refusal::NoCheck(check.clone()));
                };
                let place = format!("{check}{scope}");
                match self.node(index, scope) {
                    Some(Node::Leaf(_)) => {}
                    Some(Node::Group(_) | Node::Unexpanded(_) | Node::SkippedGroup(_)) => {
                        return Some(Refusal::PerItem(place));
                    }
                    None => return Some(Refusal::NoItem(place)),
                }
                // While the ledger is asked again, a person may still answer what was asked before.
                let is_asked = |cell: &&Cell| cell.is_unknown() || cell.is_asked_elsewhere();
                let cell = self.cell(index, scope).filter(is_asked);
                match cell.map(|cell| &cell.phase) {
                    None => Some(Refusal::NotUnknown(place)),
                    // It was answered before, or the run is stopping and does not wait for the answer.
                    Some(Phase::Due | Phase::Settled { .. }) => Some(Refusal::Settled(place)),
                    Some(Phase::RetryWait { .. }) => Some(Refusal::LookedFor(place)),
                    Some(_) => None,
                }
            }
            Message::Cancel { successor, patient, .. } => {
                if self.state.admission.is_stopping() {
                    return Some(Refusal::Stopping);
                }
                let must_stay = (*patient || successor.is_some()) && self.has_effect_under_way();
                must_stay.then_some(Refusal::EffectUnderWay)
            }
        }
    }

    /// Whether an effect is being performed or judged, or unknown.
    pub(crate) fn has_effect_under_way(&self) -> bool {
        let is_under_way = |node: &Node| {
            node.cell().is_some_and(|cell| match cell.phase {
                Phase::Running { .. }
                | Phase::Reconciling { .. }
                | Phase::Inspecting { .. }
                | Phase::Answered => true,
                Phase::Pending
                | Phase::Due
                | Phase::Waiting { .. }
                | Phase::Consulting { .. }
                | Phase::RetryWait { .. }
                | Phase::Judged { .. }
                | Phase::Settled { .. } => false,
            })
        };
        let external =
            |index: &CheckIndex| self.state.plan.check(*index).criticality == Criticality::External;
        // After `retry` it is known not to have happened.
        let is_in_doubt = |node: &Node| node.cell().is_some_and(|cell| cell.is_unknown() && !cell.cleared);
        self.state.checks.iter().any(|check| check.nodes.values().any(is_in_doubt))
            || self
                .state
                .plan
                .indices()
                .filter(external)
                .any(|index| self.state.checks[index.place()].nodes.values().any(is_under_way))
    }

    fn wait_for(&self, id: &str, kinds: &[WaitKind]) -> Result<&Wait, Refusal> {
        match self.state.waits.get(id) {
            None => Err(Refusal::NoWait(id.to_owned())),
            Some(wait) if !kinds.contains(&wait.kind) => Err(Refusal::OtherKind(id.to_owned())),
            Some(wait) => Ok(wait),
        }
    }

    fn refuses_approval(&self, wait: &Wait, actor: Option<&str>) -> Option<Refusal> {
        let terms = wait.terms();
        let name = || actor.unwrap_or("an unknown actor").to_owned();
        if !terms.names(actor) {
            return Some(Refusal::NotNamed { actor: name(), by: terms.by.join(", ") });
        }
        let involved = |actor: &str| self.involved().any(|other| other == actor);
        if terms.independent && actor.is_none_or(involved) {
            return Some(Refusal::NotIndependent(name()));
        }
        let again = wait.approved_by.iter().any(|other| other.as_deref() == actor);
        again.then(|| Refusal::Again(name()))
    }

    /// The actors who started or resumed this run, or a run around it.
    pub fn involved(&self) -> impl Iterator<Item = &str> {
        self.state.options.started_by.iter().chain(&self.state.resumed_by).map(String::as_str)
    }

    /// Everything that an approval of this request would be for.
    pub(crate) fn approval_subject(&self, location: &Location, request: &Request) -> ApprovalSubject {
        let Location { check, scope } = location;
        let plan = &self.state.plan;
        let spec = plan.check(*check);
        let mut foundation = self.stands_on(*check, scope, self.cell(*check, scope));
        foundation.sort();
        let artifacts = self.verified_files(location).into_iter().map(|(gate, file)| ApprovedArtifact {
            id: file.id.clone(),
            path: file.path.clone(),
            size: file.size,
            sha256: file.sha256.clone(),
            check: self.named(gate.check, &gate.scope).to_string(),
        });
        let artifacts: Vec<ApprovedArtifact> = artifacts.chain(self.outer_files()).collect();
        ApprovalSubject {
            playbook: plan.name.clone(),
            title: self.state.title.clone(),
            criticality: spec.criticality,
            request: request.clone(),
            values: values_in(spec, request),
            reconcile: spec.reconcile.as_ref().and_then(|reconcile| reconcile.exec.as_ref()).map(source_of),
            secrets: granted(spec),
            nested: approved_playbook(plan, spec),
            inputs: self.state.inputs.as_object().cloned().unwrap_or_else(Map::new),
            outputs: foundation.iter().filter_map(|below| self.approved_output(below)).collect(),
            outcomes: self.approved_outcomes(&foundation, &artifacts),
            artifacts,
            terms: spec.requires_approval.as_ref().map(|rule| rule.terms.clone()).unwrap_or_default(),
        }
    }

    /// The files that runs around this one have verified, with their whole paths.
    fn outer_files(&self) -> impl Iterator<Item = ApprovedArtifact> {
        self.state.options.outer_artifacts.iter().flat_map(|artifact| {
            artifact.files.iter().map(|file| ApprovedArtifact {
                id: file.id.clone(),
                path: artifact.path_of(&file.path),
                size: file.size,
                sha256: file.sha256.clone(),
                check: artifact.gate.clone(),
            })
        })
    }

    /// The outcome of a chain's step is stored by the run that it nests.
    fn outcome_of_step(&self, below: &Location) -> Option<ApprovedOutcome> {
        let spec = self.state.plan.check(below.check);
        spec.step.as_ref()?;
        let content = self.step_outcome(below.check)?;
        let answer = self.cell(below.check, &below.scope)?.answer.as_ref()?;
        let stored = answer.output.get("outcomes")?.get(0)?;
        let text = |key: &str| stored.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(ApprovedOutcome {
            id: text("id"),
            name: spec.name.clone(),
            kind: text("kind"),
            passed: stored.get("passed").and_then(Value::as_bool),
            summary: text("summary"),
            sha256: sha256(&content.to_string()),
        })
    }

    fn approved_output(&self, Location { check, scope }: &Location) -> Option<ApprovedOutput> {
        let value = self.outputs_below(*check, scope).filter(|value| !value.is_null())?;
        let json = value.to_string();
        let is_whole = json.len() <= ApprovedOutput::BYTES_MAX;
        // Text is shown as it was printed. Escaped, it may be too long although it is short.
        let text = value.as_str().unwrap_or(&json);
        let excerpt = if is_whole { None } else { OutputExcerpt::of(text) };
        Some(ApprovedOutput {
            check: self.named(*check, scope).to_string(),
            sha256: sha256(&json),
            value: excerpt.is_none().then(|| value.clone()),
            excerpt,
        })
    }

    /// The newest outcome of each name that one of these checks gave, or that one of these files holds.
    fn approved_outcomes(
        &self,
        foundation: &[Location],
        artifacts: &[ApprovedArtifact],
    ) -> Vec<ApprovedOutcome> {
        let gave = |outcome: &RecordedOutcome| match (&outcome.check, &outcome.file_path) {
            (Some(check), _) => foundation.iter().any(|below| {
                self.state.plan.check(below.check).name == *check && below.scope.touches(&outcome.scope)
            }),
            (None, Some(path)) => artifacts.iter().any(|file| file.id == outcome.name && file.path == *path),
            (None, None) => false,
        };
        let mut approved: Vec<ApprovedOutcome> = Vec::new();
        for (_, outcome) in self.outcomes().filter(|(_, outcome)| gave(outcome)) {
            if approved.iter().any(|newer| newer.name == outcome.name) {
                continue;
            }
            approved.push(ApprovedOutcome {
                id: outcome.id.to_string(),
                name: outcome.name.clone(),
                kind: outcome.outcome.kind.clone(),
                passed: outcome.outcome.passed,
                summary: outcome.outcome.summary.clone(),
                sha256: sha256(&outcome.outcome.content.to_string()),
            });
        }
        approved.extend(foundation.iter().filter_map(|below| self.outcome_of_step(below)));
        approved.sort_by(|a, b| a.name.cmp(&b.name));
        approved
    }
}

/// The values in the commands of a request, each with the expression that gave it.
fn values_in(spec: &Check, request: &Request) -> Vec<ApprovedValue> {
    let mut all = Vec::new();
    for (name, field) in &spec.fields {
        let rendered = request.fields.get(name);
        match field {
            Field::Shell(shell) => {
                let values = rendered.and_then(|rendered| rendered.get("values"));
                all.extend(shell.expressions().map(|(variable, expression)| ApprovedValue {
                    expression: expression.to_owned(),
                    value: text_at(values.and_then(|values| values.get(variable))),
                }));
            }
            Field::Argv(words) => {
                let argv = rendered.and_then(|rendered| rendered.get("argv")).and_then(Value::as_array);
                let argv = argv.map_or(&[][..], Vec::as_slice);
                let from_values = words.iter().zip(argv).filter(|(word, _)| !word.reads().is_empty());
                all.extend(from_values.map(|(word, value)| ApprovedValue {
                    expression: word.source().to_owned(),
                    value: text_at(Some(value)),
                }));
            }
            // They are shown whole, each under its own name.
            Field::Text(_)
            | Field::Texts(_)
            | Field::Tree(_)
            | Field::Block(_)
            | Field::Plain(_)
            | Field::Url(_)
            | Field::Message(_) => {}
        }
    }
    all
}

fn text_at(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A command as the playbook has it. A list is written as JSON.
pub(crate) fn source_of(exec: &Field) -> String {
    match exec {
        Field::Shell(shell) => shell.source().to_owned(),
        Field::Argv(words) => json!(words.iter().map(|word| word.source()).collect::<Vec<_>>()).to_string(),
        Field::Text(text) | Field::Url(text) => text.source().to_owned(),
        Field::Texts(_) | Field::Tree(_) | Field::Block(_) | Field::Plain(_) | Field::Message(_) => {
            String::new()
        }
    }
}

fn granted(spec: &Check) -> Vec<GrantedSecret> {
    let handover = |name: &String| match (&spec.secret_files, &spec.secret_descriptors) {
        (files, _) if files.contains(name) => SecretHandover::File,
        (_, descriptors) if descriptors.contains(name) => SecretHandover::Fd,
        (_, _) => SecretHandover::Env,
    };
    spec.secrets.iter().map(|name| GrantedSecret { name: name.clone(), handover: handover(name) }).collect()
}

/// What an approval is bound to.
pub(crate) fn digest_of_subject(subject: &ApprovalSubject) -> String {
    sha256(&serde_json::to_string(subject).expect("a subject has only text keys"))
}

pub(crate) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Who denied something, and why, as it follows the name of a check.
pub(crate) fn denial_in_words(by: Option<&str>, claim: Option<&str>, note: Option<&str>) -> String {
    decision_in_words("denied", by, claim, note)
}

/// Who approved something, and why.
pub(crate) fn approval_in_words(by: Option<&str>, claim: Option<&str>, note: Option<&str>) -> String {
    decision_in_words("approved", by, claim, note)
}

fn decision_in_words(verb: &str, by: Option<&str>, claim: Option<&str>, note: Option<&str>) -> String {
    let who = match (by, claim) {
        (Some(by), Some(claim)) => format!("{by} (as {claim}) {verb} it"),
        (Some(by), None) => format!("{by} {verb} it"),
        (None, Some(claim)) => format!("{claim} {verb} it"),
        (None, None) => format!("it was {verb}"),
    };
    match note {
        Some(note) => format!("{who}: {note}"),
        None => who,
    }
}

impl Run {
    /// The variables that a process of this check inherits, where an approval fixes them.
    pub(crate) fn captured_environment(&self, check: CheckIndex) -> Option<BTreeMap<String, String>> {
        let spec = self.state.plan.check(check);
        spec.requires_approval.as_ref().filter(|_| crate::pure::needs_slot(&spec.provider))?;
        Some(self.state.facts.captured.get(&spec.name).cloned().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_names_its_actor_and_keeps_the_claim_apart() {
        assert_eq!(denial_in_words(Some("os:ann"), None, None), "os:ann denied it");
        assert_eq!(
            denial_in_words(Some("os:ann"), Some("Ben"), Some("too late")),
            "os:ann (as Ben) denied it: too late"
        );
        assert_eq!(denial_in_words(None, None, Some("no time left")), "it was denied: no time left");
    }
}
