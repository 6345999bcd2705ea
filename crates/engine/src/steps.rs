//! Steps of a chain: what `trigger` and `steps` show to its conditions and templates, and when a step is left out.
//!
//! **Invariant:** an outcome that is not there is false and empty below any member, never an error; a note says why.

use escrow_expr::{Explanation, Object, Scope, ScopeValue};
use escrow_model::{
    Answer, CheckIndex, Ending, FaultCode, Plan, Reason, ReasonCode, RunOptions, RunStatus, ScopePath,
    SkipReason, Step, Verdict,
};
use escrow_template::{PathStep, SeenRead, SeenValue};
use serde_json::{Map, Value, json};

use crate::cut_output;
use crate::explain::{Construct, Evaluation};
use crate::run::Run;
use crate::state::Cell;
use crate::view::{EventObject, View};

/// `steps`: by index, or by name.
pub(crate) struct StepsObject<'a> {
    steps: Vec<StepObject<'a>>,
}

struct StepObject<'a> {
    name: Option<&'a str>,
    members: Map<String, Value>,
    outcome: Option<&'a Value>,
    output: Output<'a>,
}

enum Output<'a> {
    Absent,
    Cut,
    Json(&'a Value),
}

impl<'a> StepsObject<'a> {
    /// The steps of a chain; `None` for other plans.
    pub(crate) fn of(run: &'a Run) -> Option<StepsObject<'a>> {
        let plan = &run.state.plan;
        plan.kind.chain()?;
        let steps = plan.indices().filter_map(|index| {
            let step = plan.check(index).step.as_ref()?;
            Some(StepObject::of(run, index, step))
        });
        Some(StepsObject { steps: steps.collect() })
    }
}

impl Object for StepsObject<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        self.steps.iter().find(|step| step.name == Some(name)).map(|step| ScopeValue::Object(step))
    }

    fn names(&self) -> Vec<&str> {
        self.steps.iter().filter_map(|step| step.name).collect()
    }

    fn item(&self, index: usize) -> Option<ScopeValue<'_>> {
        self.steps.get(index).map(|step| ScopeValue::Object(step))
    }
}

impl<'a> StepObject<'a> {
    fn of(run: &'a Run, index: CheckIndex, step: &'a Step) -> StepObject<'a> {
        let answer = run.step_answer(index);
        let members = json!({
            "index": index.place(),
            "name": step.name,
            "skill": step.work.skill(),
            "action": step.work.action(),
            "status": run.check_status(index),
            "skip_reason": run.step_skip(index),
            "timed_out": run.step_timed_out(index),
            "reason": run.step_reason(index),
            "run_id": answer.and_then(Answer::nested_run),
        });
        let output = match answer {
            _ if run.has_cut_output(index) => Output::Cut,
            Some(answer) if answer.nested_run().is_some() => {
                answer.output.get("outputs").map_or(Output::Absent, Output::Json)
            }
            Some(answer) => Output::Json(&answer.output),
            None => Output::Absent,
        };
        StepObject {
            name: step.name.as_deref(),
            members: members.as_object().cloned().unwrap_or_default(),
            outcome: run.step_outcome(index),
            output,
        }
    }
}

impl Object for StepObject<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        match name {
            "outcome" => Some(self.outcome.map_or(ScopeValue::Absent, ScopeValue::Json)),
            "output" => Some(match self.output {
                Output::Absent => ScopeValue::Absent,
                Output::Cut => ScopeValue::Unreadable(cut_output::WHY),
                Output::Json(output) => ScopeValue::Json(output),
            }),
            other => self.members.get(other).map(ScopeValue::Json),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.members.keys().map(String::as_str).chain(["outcome", "output"]).collect()
    }
}

impl Run {
    fn step_cell(&self, step: CheckIndex) -> Option<&Cell> {
        self.cell(step, &ScopePath::root())
    }

    /// The last answer of a step that has settled.
    fn step_answer(&self, step: CheckIndex) -> Option<&Answer> {
        let cell = self.step_cell(step)?;
        cell.answer.as_deref().filter(|_| cell.phase.is_settled() && cell.skipped().is_none())
    }

    fn step_skip(&self, step: CheckIndex) -> Option<SkipReason> {
        self.step_cell(step)?.skipped()
    }

    /// The outcome of a step that succeeded: the newest that its run stored.
    pub fn step_outcome(&self, step: CheckIndex) -> Option<&Value> {
        let cell = self.step_cell(step)?;
        cell.answer.as_deref().filter(|_| cell.has_succeeded())?.primary_outcome()
    }

    /// The nested run of the last attempt of a step.
    pub fn step_run(&self, step: CheckIndex) -> Option<&str> {
        self.step_cell(step)?.answer.as_deref()?.nested_run()
    }

    /// How a step ended: as its nested run says it, or as a run that failed by this step would.
    fn step_reason(&self, step: CheckIndex) -> Option<Reason> {
        let nested = self.step_answer(step).and_then(nested_reason);
        nested.or_else(|| self.failure_of(step).filter(|_| self.step_failed(step)))
    }

    fn step_timed_out(&self, step: CheckIndex) -> bool {
        let nested = |answer: &Answer| {
            nested_reason(answer).is_some_and(|reason| reason.code == ReasonCode::TimedOutDeadline)
        };
        let own = |answer: &Answer| matches!(&answer.ending, Ending::Fault(fault) if fault.code == FaultCode::Timeout);
        self.step_answer(step).is_some_and(|answer| nested(answer) || own(answer))
    }

    /// Whether later steps count this one as failed: it failed, timed out, or could not be decided.
    pub(crate) fn step_failed(&self, step: CheckIndex) -> bool {
        let root = ScopePath::root();
        self.step_cell(step).is_some_and(|cell| cell.has_settled_with(Verdict::Failed))
            || self.has_expression_error(step, &root)
    }

    /// The first step before this one that failed.
    pub(crate) fn failed_step_before(&self, step: CheckIndex) -> Option<CheckIndex> {
        self.state.plan.indices().take(step.place()).find(|earlier| self.step_failed(*earlier))
    }

    /// Whether the condition of a step reads this earlier step, which failed: its author has decided what then
    /// happens.
    pub(crate) fn answers_for(&self, step: CheckIndex, earlier: CheckIndex) -> bool {
        let plan = &self.state.plan;
        let condition = plan.check(step).step.as_ref().and_then(|step| step.condition.as_ref());
        let Some(condition) = condition.filter(|_| self.step_failed(earlier)) else { return false };
        let name = plan.check(earlier).step.as_ref().and_then(|step| step.name.as_deref());
        condition.reads().iter().filter(|read| read.name == "steps").any(|read| match read.path.first() {
            Some(PathStep::Item(index)) => *index == earlier.place(),
            Some(PathStep::Member(member)) => name == Some(member),
            None => false,
        })
    }

    /// The reason of a failed step as its nested run has it: it travels outwards unchanged.
    pub(crate) fn reason_of_step(&self, step: CheckIndex) -> Option<Reason> {
        self.state.plan.check(step).step.as_ref()?;
        let reason = nested_reason(self.step_answer(step)?)?;
        match reason.code.status() {
            RunStatus::Failed | RunStatus::TimedOut | RunStatus::Aborted | RunStatus::Cancelled => {
                Some(reason)
            }
            RunStatus::Running | RunStatus::Waiting | RunStatus::Completed => None,
        }
    }

    /// The condition of a step as it stands now, with what it reads. `None` for a step without one.
    pub fn step_condition(&self, step: CheckIndex) -> Option<Evaluation> {
        let view = View::before(self, step, &ScopePath::root());
        self.evaluate_condition(step, &view)
    }

    pub(crate) fn evaluate_condition(&self, step: CheckIndex, view: &View<'_>) -> Option<Evaluation> {
        let condition = self.state.plan.check(step).step.as_ref()?.condition.as_ref()?;
        let held = condition.holds(view);
        let result = match &held {
            Ok(held) => held.to_string(),
            Err(error) => error.to_string(),
        };
        let reads = condition.seen(view).into_iter().map(|read| {
            let value = self.seen_in_words(&read);
            (read.span, value)
        });
        let explanation = Explanation::of_reads(condition.source(), result, reads.collect());
        let held = held.ok();
        Some(Evaluation { construct: Construct::Condition, held, decisive: held != Some(true), explanation })
    }

    /// The value of a read; of an absent one, why it is absent.
    fn seen_in_words(&self, read: &SeenRead) -> String {
        match &read.value {
            SeenValue::Json(value) => value.to_string(),
            SeenValue::Undefined => "undefined".to_owned(),
            SeenValue::Absent => format!("empty ({})", self.absence_in_words(read)),
        }
    }

    fn absence_in_words(&self, read: &SeenRead) -> String {
        let Some(step) = self.step_read(&read.source) else { return "absent".to_owned() };
        let name = &self.state.plan.check(step).name;
        let what = match self.step_skip(step) {
            Some(reason) => format!("was skipped: {reason}", reason = reason.as_str()),
            None if self.step_failed(step) => "failed".to_owned(),
            None => "gave no outcome".to_owned(),
        };
        format!("step {} `{name}` {what}", step.place())
    }

    /// The step that a read such as `steps[0].outcome` is about.
    fn step_read(&self, source: &str) -> Option<CheckIndex> {
        let plan = &self.state.plan;
        let rest = source.strip_prefix("steps")?;
        let selector = rest.trim_start_matches(['.', '[']);
        let end = selector.find(['.', '[', ']']).unwrap_or(selector.len());
        let selector = selector[..end].trim_matches('"');
        match selector.parse::<usize>() {
            Ok(index) => plan.indices().nth(index),
            Err(_) => plan.indices().find(|index| {
                plan.check(*index).step.as_ref().is_some_and(|step| step.name.as_deref() == Some(selector))
            }),
        }
    }

    /// Notes about reads of outcomes that are not there, for a decision that is written down.
    pub(crate) fn absent_notes(&self, step: CheckIndex, view: &View<'_>) -> Vec<String> {
        let condition = self.state.plan.check(step).step.as_ref().and_then(|step| step.condition.as_ref());
        let seen = condition.map(|condition| condition.seen(view)).unwrap_or_default();
        let absent = seen.iter().filter(|read| read.value == SeenValue::Absent);
        let mut notes: Vec<String> = absent
            .map(|read| format!("`{}` is empty: {}", read.source, self.absence_in_words(read)))
            .collect();
        notes.dedup();
        notes
    }
}

/// The reason with which the nested run of an answer ended.
fn nested_reason(answer: &Answer) -> Option<Reason> {
    answer.nested_run()?;
    serde_json::from_value(answer.output.get("reason")?.clone()).ok()
}

/// The condition of a step as far as the event alone decides it.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownCondition {
    pub source: String,
    /// Absent while it depends on steps that have not run, or where it cannot be evaluated.
    pub held: Option<bool>,
    /// What it reads of the event, with the values.
    pub reads: Vec<(String, Option<String>)>,
}

/// Looks at the condition of a step before anything has run.
pub fn known_condition(plan: &Plan, step: CheckIndex, options: &RunOptions) -> Option<KnownCondition> {
    let condition = plan.check(step).step.as_ref()?.condition.as_ref()?;
    let scope = TriggerScope { event: EventObject::at_start(options) };
    let is_of_event = |name: &str| name == "trigger" || name == "event";
    let seen = condition.seen(&scope);
    let reads = condition.reads().iter().zip(seen).map(|(read, seen)| {
        let value = match seen.value {
            SeenValue::Json(value) if is_of_event(&read.name) => Some(value.to_string()),
            SeenValue::Undefined if is_of_event(&read.name) => Some("undefined".to_owned()),
            SeenValue::Json(_) | SeenValue::Absent | SeenValue::Undefined => None,
        };
        (seen.source, value)
    });
    let is_known = condition.reads().iter().all(|read| is_of_event(&read.name));
    Some(KnownCondition {
        source: condition.source().to_owned(),
        held: if is_known { condition.holds(&scope).ok() } else { None },
        reads: reads.collect(),
    })
}

/// What is known before a run: the event.
struct TriggerScope<'a> {
    event: EventObject<'a>,
}

impl Scope for TriggerScope<'_> {
    fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
        (name == "trigger" || name == "event").then_some(ScopeValue::Object(&self.event))
    }

    fn names(&self) -> Vec<&str> {
        vec!["trigger", "event"]
    }
}
