//! What enters a run, without secrets: so the engine never knows one, and the journal and everything derived
//! from it are clean.

use std::sync::Arc;

use escrow_model::{
    Answer, Ending, Entry, Event, Facts, InspectedArtifact, Message, Plan, Request, RunOptions,
};
use escrow_store::{entry_document, plan_document, read_entry};
use serde_json::Value;
use thiserror::Error;

use super::Redactor;

/// A secret stands where it cannot be taken out.
#[derive(Debug, Error)]
#[error("a secret has the value of a word that Escrow itself must write down")]
pub struct Inseparable;

impl Redactor {
    /// The event's payload, which comes from outside and may hold a secret by chance. Tells whether it does.
    pub fn payload(self: &Arc<Redactor>, options: &mut RunOptions) -> bool {
        self.members(&mut options.payload)
    }

    pub fn facts(self: &Arc<Redactor>, facts: &mut Facts) {
        let mut found = false;
        for value in
            facts.env.values_mut().chain(facts.captured.values_mut().flat_map(|one| one.values_mut()))
        {
            found |= self.text(value);
        }
        match &mut facts.git {
            Some(Ok(git)) => {
                let branches = git.branch.iter_mut().chain(git.base_branch.iter_mut());
                for text in git.files_changed.iter_mut().chain(branches) {
                    found |= self.text(text);
                }
            }
            Some(Err(problem)) => drop(self.text(problem)),
            None => {}
        }
        facts.redacted |= found;
        self.sightings(&mut facts.before);
    }

    pub fn sightings(self: &Arc<Redactor>, sightings: &mut [InspectedArtifact]) {
        for sighting in sightings {
            if let Some(refused) = &mut sighting.refused {
                self.text(&mut refused.detail);
            }
            for file in &mut sighting.files {
                self.text(&mut file.path);
                if let Some(text) = &mut file.text {
                    self.text(text);
                }
                if let Some(content) = &mut file.content {
                    self.value(content);
                }
            }
        }
    }

    pub fn answer(self: &Arc<Redactor>, answer: &mut Answer) {
        if self.is_empty {
            return;
        }
        if let Ending::Fault(fault) = &mut answer.ending {
            self.text(&mut fault.message);
        }
        let mut found = self.value(&mut answer.output);
        for (_, value) in &mut answer.record {
            // Figures of the record are ours: a duration may look like a secret and is none.
            if !value.is_number() {
                found |= self.value(value);
            }
        }
        answer.env.retain(|name, _| !self.finds(name.as_bytes()));
        for value in answer.env.values_mut() {
            found |= self.text(value);
        }
        if found {
            answer.mark_redacted();
        }
    }

    pub fn message(self: &Arc<Redactor>, message: &mut Message) {
        let texts = match message {
            Message::Approve { by, claim, note, .. } | Message::Deny { by, claim, note, .. } => {
                [by.as_mut(), claim.as_mut(), note.as_mut()]
            }
            Message::Answer { text, by, .. } => [Some(text), by.as_mut(), None],
            Message::Assume { by, why, .. } => [by.as_mut(), why.as_mut(), None],
            Message::Cancel { by, .. } => [by.as_mut(), None, None],
        };
        for text in texts.into_iter().flatten() {
            self.text(text);
        }
    }

    /// Whether the plan has a secret written into it. It cannot be taken out: the plan would do another thing.
    pub fn finds_in_plan(&self, plan: &Plan) -> bool {
        !self.is_empty && plan_document(plan).is_ok_and(|plan| self.finds_in(&plan))
    }

    /// As `finds_in_plan`, of what a run is told and cannot do without.
    pub fn finds_in_options(&self, options: &RunOptions) -> bool {
        let told = [&options.directory, &options.artifacts].into_iter();
        let told = told.chain(&options.file).chain(&options.event).chain(&options.invocation);
        let told = told.chain(&options.only).chain(&options.tags).chain(&options.exclude_tags);
        told.into_iter().any(|text| self.finds(text.as_bytes()))
    }

    fn finds_in(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => self.finds(text.as_bytes()),
            Value::Array(items) => items.iter().any(|item| self.finds_in(item)),
            Value::Object(members) => members.iter().any(|(name, member)| {
                !is_our_word(name) && self.finds(name.as_bytes()) || self.finds_in(member)
            }),
        }
    }

    /// The last look before an entry is written; tells whether it found something.
    pub fn entry(self: &Arc<Redactor>, entry: &mut Entry) -> Result<bool, Inseparable> {
        if self.is_empty {
            return Ok(false);
        }
        let mut document = entry_document(entry).map_err(|_| Inseparable)?;
        if !self.finds_in(&document) {
            return Ok(false);
        }
        self.strings(&mut document);
        *entry = read_entry(document).map_err(|_| Inseparable)?;
        if let Event::AttemptAnswered { answer, .. } = &mut entry.event {
            Arc::make_mut(answer).mark_redacted();
        }
        if let Event::LedgerAnswered { effect: Some(effect), .. } = &mut entry.event
            && let Some(answer) = &mut effect.answer
        {
            Arc::make_mut(answer).mark_redacted();
        }
        if let Event::Reconciled { answer, .. } = &mut entry.event {
            answer.mark_redacted();
        }
        Ok(true)
    }

    pub fn request(self: &Arc<Redactor>, request: &mut Request) -> Result<bool, Inseparable> {
        if self.is_empty {
            return Ok(false);
        }
        let mut document = serde_json::to_value(&*request).map_err(|_| Inseparable)?;
        if !self.finds_in(&document) {
            return Ok(false);
        }
        self.strings(&mut document);
        *request = serde_json::from_value(document).map_err(|_| Inseparable)?;
        Ok(true)
    }

    /// Strings, and names that are not ours; figures are left as they are.
    fn strings(self: &Arc<Redactor>, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => drop(self.text(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.strings(item)),
            Value::Object(members) => {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(mut name, mut member)| {
                        self.strings(&mut member);
                        if !is_our_word(&name) {
                            self.text(&mut name);
                        }
                        (name, member)
                    })
                    .collect();
            }
        }
    }
}

/// The names of our own members are made of these. A secret of only messages that is the name of a member was
/// taken out when it entered.
fn is_our_word(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}
