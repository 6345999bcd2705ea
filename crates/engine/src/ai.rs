//! Requests of `ai` checks: permission, budget and conversation are settled before the intent, so that journal, approval
//! and safe mode show exactly what the agent is told and allowed.

use escrow_model::{
    Answer, Budget, Check, CheckIndex, Ending, Event, Field, Issue, ProviderName, ReasonCode, Recovery,
    RetryKind, ScopePath, Severity, Verdict, Warning,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::graph::scope_toward;
use crate::location::Location;
use crate::phase::Phase;
use crate::run::Run;
use crate::turn::Deciding;
use crate::verdict::reason_of;

/// What the attempts of one decision have spent. A sum is unknown once an attempt did not tell its part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spent {
    usd: Option<f64>,
    turns: Option<u64>,
    tokens: Option<u64>,
}

impl Default for Spent {
    fn default() -> Self {
        Spent { usd: Some(0.0), turns: Some(0), tokens: Some(0) }
    }
}

impl Spent {
    pub(crate) fn add(&mut self, answer: &Answer) {
        // Without a record, no program was started.
        let Some(harness) = answer.record.get("harness") else { return };
        // A program that was refused before it did anything spent nothing, whatever it does not tell.
        let untold = was_refused(harness).then_some(0);
        let count = |key: &str| harness.get(key).and_then(Value::as_u64).or(untold);
        let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        let usd = harness.get("cost_usd").and_then(Value::as_f64).or(untold.map(|_| 0.0));
        self.usd = self.usd.zip(usd).map(|(sum, usd)| sum + usd);
        self.turns = sum(self.turns, count("turns"));
        self.tokens = sum(self.tokens, sum(count("input_tokens"), count("output_tokens")));
    }

    /// What is left of a budget; nothing when a limit is reached, or when spending is unknown.
    fn left_of(&self, budget: &Budget) -> Option<Budget> {
        let count_left = |limit: Option<u64>, spent: Option<u64>| match limit {
            Some(limit) => limit.checked_sub(spent?).filter(|left| *left > 0).map(Some),
            None => Some(None),
        };
        let usd = match budget.usd {
            Some(usd) => Some(usd - self.usd?).filter(|left| *left > 0.0).map(Some)?,
            None => None,
        };
        let turns = count_left(budget.turns, self.turns)?;
        Some(Budget { usd, turns, tokens: count_left(budget.tokens, self.tokens)? })
    }
}

/// Whether the program or its service refused to begin: no model answered, and no tool was called.
fn was_refused(harness: &Value) -> bool {
    let kind = harness.get("error").and_then(|error| error.get("kind")).and_then(Value::as_str);
    let is_refusal = kind.is_some_and(|kind| REFUSALS.contains(&kind));
    is_refusal && harness.get("tool_calls").and_then(Value::as_u64).unwrap_or(0) == 0
}

/// The kinds of errors with which harnesses are refused.
const REFUSALS: [&str; 5] = ["auth", "login", "usage", "blocked", "rate_limit"];

/// The member of a nested run's record with what its harnesses have spent.
pub const NESTED_TOTALS: &str = "totals";

/// What all attempts of a run have spent. A figure that no attempt told is absent, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HarnessTotals {
    /// The attempts that were answered by a harness.
    pub attempts: u32,
    pub turns: Option<u64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

impl HarnessTotals {
    pub(crate) fn add(&mut self, answer: &Answer) {
        let Some(harness) = answer.record.get("harness") else { return };
        let count = |key: &str| harness.get(key).and_then(Value::as_u64);
        let cost_usd = harness.get("cost_usd").and_then(Value::as_f64);
        let (turns, input_tokens, output_tokens) =
            (count("turns"), count("input_tokens"), count("output_tokens"));
        self.merge(&HarnessTotals { attempts: 1, turns, input_tokens, output_tokens, cost_usd });
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &HarnessTotals) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
        self.attempts += other.attempts;
        self.turns = sum(self.turns, other.turns);
        self.input_tokens = sum(self.input_tokens, other.input_tokens);
        self.output_tokens = sum(self.output_tokens, other.output_tokens);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
        };
    }
}

/// How often an attempt that broke its contract may be repaired.
pub(crate) fn repairs_of(spec: &Check) -> u32 {
    let declared = plain(spec, "repair").and_then(Value::as_u64);
    declared.and_then(|repairs| u32::try_from(repairs).ok()).unwrap_or(0)
}

fn plain<'s>(spec: &'s Check, key: &str) -> Option<&'s Value> {
    match spec.fields.get(key) {
        Some(Field::Plain(value)) if spec.provider == ProviderName::AI => Some(value),
        _ => None,
    }
}

fn budget_of(spec: &Check) -> Budget {
    let declared = plain(spec, Budget::FIELD).cloned();
    declared.and_then(|declared| serde_json::from_value(declared).ok()).unwrap_or_default()
}

impl Run {
    /// What the harnesses of this run and of the runs that it nests have spent; none if no attempt was made with one.
    pub fn harness_totals(&self) -> Option<HarnessTotals> {
        let mut totals = self.state.totals;
        self.state.nested_totals.values().for_each(|nested| totals.merge(nested));
        Some(totals).filter(|totals| totals.attempts > 0)
    }

    /// The same without the runs that it nests.
    pub fn own_harness_totals(&self) -> Option<HarnessTotals> {
        Some(self.state.totals).filter(|totals| totals.attempts > 0)
    }

    /// Adds what an attempt has spent. A nested run that is opened again reports all that it ever spent.
    pub(crate) fn count_spending(&mut self, answer: &Answer) {
        self.state.totals.add(answer);
        let nested =
            answer.record.get(NESTED_TOTALS).and_then(|totals| HarnessTotals::deserialize(totals).ok());
        if let (Some(run), Some(totals)) = (answer.nested_run(), nested) {
            self.state.nested_totals.insert(run.to_owned(), totals);
        }
    }

    /// Completes the fields of an `ai` check with everything that its provider must not decide.
    pub(crate) fn complete_ai_request(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        fields: &mut Map<String, Value>,
    ) {
        let spec = self.state.plan.check(check);
        for key in ["repair", "reuse_session"] {
            fields.remove(key);
        }
        if let Some(author) = fields.remove("not_same_as").as_ref().and_then(Value::as_str) {
            fields.insert("not_same_as".to_owned(), self.models_of(author, check, scope));
        }
        if fields.remove("hold_stop") == Some(Value::Bool(true)) {
            fields.insert("hold_stop".to_owned(), self.stop_demand(check, scope));
        }
        let prompt = fields.get("prompt").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_repair = self.cell(check, scope).is_some_and(|cell| cell.is_repairing);
        let prompt = if is_repair {
            self.repair_prompt(check, scope)
        } else {
            match self.demands(check, scope) {
                Some(demands) => format!("{}\n\n{demands}", prompt.trim_end()),
                None => prompt,
            }
        };
        fields.insert("prompt".to_owned(), prompt.into());
        let permission = match fields.get("permission") {
            _ if self.state.options.safe_mode => json!("read"),
            Some(declared) => declared.clone(),
            None if self.state.plan.artifacts.expected.is_empty() => json!("read"),
            None => json!("edit"),
        };
        fields.insert("permission".to_owned(), permission);
        if let Some(schema) = spec.schema.as_ref().filter(|schema| schema.is_object()) {
            fields.insert("schema".to_owned(), schema.clone());
        }
        let spent = self.cell(check, scope).map(|cell| cell.spent).unwrap_or_default();
        if fields.contains_key(Budget::FIELD) {
            // A budget that is spent starts no attempt that could spend more: every limit is 0.
            let left = spent.left_of(&budget_of(spec)).unwrap_or_else(|| none_left(&budget_of(spec)));
            fields.insert(Budget::FIELD.to_owned(), json!(left));
        }
        if self.answer_is_owed(check) {
            fields.insert("answer".to_owned(), "required".into());
        }
        if self.keeps_conversation(spec) {
            fields.insert("keep_conversation".to_owned(), true.into());
        }
        if let Some(conversation) = self.conversation_to_resume(check, scope, is_repair) {
            fields.insert("conversation".to_owned(), conversation);
        }
    }

    /// The harnesses and models that did the work which this check judges, as they said themselves.
    fn models_of(&self, author: &str, judge: CheckIndex, scope: &ScopePath) -> Value {
        let plan = &self.state.plan;
        let mut used: Vec<Value> = Vec::new();
        if let Some(other) = plan.find(author) {
            let toward = scope_toward(&plan.check(judge).fan, scope, &plan.check(other).fan);
            for (_, node) in self.nodes_below(other, &toward) {
                let answer = node.cell().and_then(|cell| cell.answer.as_ref());
                let Some(harness) = answer.and_then(|answer| answer.record.get("harness")) else { continue };
                let one = json!({ "harness": harness.get("name"), "model": harness.get("model") });
                if !used.contains(&one) {
                    used.push(one);
                }
            }
        }
        json!({ "check": author, "used": used })
    }

    /// Whether a later attempt may continue the conversation of this check.
    fn keeps_conversation(&self, spec: &Check) -> bool {
        let names_it =
            |other: &Check| plain(other, "reuse_session").and_then(Value::as_str) == Some(spec.name.as_str());
        repairs_of(spec) > 0
            || plain(spec, "reuse_session") == Some(&Value::Bool(true))
            || self.state.plan.checks.iter().any(names_it)
    }

    fn conversation_to_resume(&self, check: CheckIndex, scope: &ScopePath, is_repair: bool) -> Option<Value> {
        let plan = &self.state.plan;
        let spec = plan.check(check);
        let own = || self.cell(check, scope).and_then(|cell| cell.conversation.clone());
        if is_repair {
            return own();
        }
        match plain(spec, "reuse_session")? {
            Value::String(name) => {
                let other = plan.find(name)?;
                let toward = scope_toward(&spec.fan, scope, &plan.check(other).fan);
                self.cell(other, &toward)?.conversation.clone()
            }
            Value::Bool(true) => own(),
            _ => None,
        }
    }

    /// The harness ended well, its contract was not met, and there is a conversation, a repair and a budget left.
    pub(crate) fn may_repair(&self, check: CheckIndex, scope: &ScopePath, issues: &[Issue]) -> bool {
        let spec = self.state.plan.check(check);
        let Some(cell) = self.cell(check, scope) else { return false };
        let ended_well = cell.answer.as_ref().is_some_and(|answer| answer.ending == Ending::Done);
        repairs_of(spec) > cell.repairs
            && ended_well
            && cell.conversation.is_some()
            && issues.iter().any(is_repairable)
            && cell.spent.left_of(&budget_of(spec)).is_some()
    }
}

fn none_left(budget: &Budget) -> Budget {
    Budget { usd: budget.usd.map(|_| 0.0), turns: budget.turns.map(|_| 0), tokens: budget.tokens.map(|_| 0) }
}

/// A part of the contract that the agent can still deliver. `fail_if` judges what was delivered.
fn is_repairable(issue: &Issue) -> bool {
    let is_contract = matches!(
        reason_of(&issue.code),
        ReasonCode::FailedSchema
            | ReasonCode::FailedRule
            | ReasonCode::FailedGuarantee
            | ReasonCode::FailedOutcome
            | ReasonCode::FailedMissingArtifact
    );
    is_contract && issue.severity == Severity::Error
}

impl Deciding<'_> {
    /// A login of the user that was lent and could not be given back is the business of a person, however the attempt ended.
    pub(crate) fn warn_of_login(&mut self, check: CheckIndex, answer: &Answer) {
        let Some(problem) = answer.record.get("login_problem").and_then(Value::as_str) else { return };
        let is_lost = answer.record.get("login_lost") == Some(&Value::Bool(true));
        let name = self.plan().check(check).name.clone();
        self.warn_once(Warning {
            code: if is_lost { "login_lost" } else { "login_not_written_back" }.into(),
            message: format!("`{name}`: {problem}"),
            check: Some(name),
        });
    }

    /// True when a repair was scheduled: an attempt of its own that continues the conversation.
    pub(crate) fn schedule_repair(&mut self, location: &Location) -> bool {
        let Location { check, scope } = location;
        let Some(cell) = self.cell(*check, scope) else { return false };
        let is_open = matches!(cell.phase, Phase::Judged { .. }) && cell.has_verdict(Verdict::Failed);
        let number = cell.repairs + 1;
        if !is_open || !self.may_repair(*check, scope, &cell.last_result.issues) {
            return false;
        }
        let (name, at) = (self.plan().check(*check).name.clone(), self.at);
        let by = Recovery::Repair;
        self.record(Event::RecoveryStarted { check: name.clone(), scope: scope.clone(), by });
        let kind = RetryKind::Repair;
        self.record(Event::RetryScheduled { check: name, scope: scope.clone(), retry: number, at, kind });
        true
    }
}
