//! Where the plays of a show stand, and what their gates decided.

use escrow_engine::{CheckReport, Run};
use escrow_model::outcome::digest;
use escrow_model::{CheckStatus, Plan, Play, SkipReason, rfc3339};
use serde_json::{Value, json};

/// The kind of outcome that opens a gate.
const VERDICT: &str = "gate_verdict";

/// A play of a run.
#[derive(Clone, Debug)]
pub struct PlayStatus<'r> {
    pub name: &'r str,
    pub playbook: Option<&'r str>,
    /// The plays that it waits for.
    pub depends_on: Vec<&'r str>,
    pub status: CheckStatus,
    pub skip_reason: Option<SkipReason>,
    /// How often it was attempted.
    pub runs: u32,
    /// Its last run.
    pub run_id: Option<&'r str>,
    pub gate: Option<GateStatus<'r>>,
    /// Whether its worktree is merged; `None` for a play without one.
    pub merged: Option<bool>,
}

#[derive(Clone, Debug)]
pub struct GateStatus<'r> {
    pub state: GateState,
    /// What its playbook said.
    pub verdict: Option<&'r Value>,
    pub run_id: Option<&'r str>,
    pub runs: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    Open,
    OpenedByPerson,
    /// A person is asked whether to open it.
    Waiting,
    /// Its playbook has not ended.
    Undecided,
    Closed,
}

impl GateState {
    pub fn as_str(self) -> &'static str {
        match self {
            GateState::Open => "open",
            GateState::OpenedByPerson => "opened_by_person",
            GateState::Waiting => "waiting",
            GateState::Undecided => "undecided",
            GateState::Closed => "closed",
        }
    }
}

impl GateStatus<'_> {
    /// The verdict in one line.
    pub fn summary(&self) -> Option<String> {
        digest(VERDICT, self.verdict?).ok().map(|digest| digest.summary)
    }
}

/// The plays of a run, in the order of the file.
pub fn plays(run: &Run) -> Vec<PlayStatus<'_>> {
    names(run.plan_of()).map(|play| play_status(run, play)).collect()
}

/// `play status`: where the plays of a run stand.
pub fn document(run: &Run) -> Value {
    json!({
        "id": run.options().run,
        "show": run.plan_of().name,
        "status": run.status(),
        "reason": run.reason(),
        "invocation_id": run.options().invocation,
        "started_at": rfc3339(run.started_at()),
        "ended_at": run.ended_at().map(rfc3339),
        "plays": plays(run).iter().map(play_document).collect::<Vec<_>>(),
    })
}

/// The plays of a plan, as the outcome `show_plan` keeps them.
pub(super) fn planned(plan: &Plan) -> Vec<Value> {
    let document = |play| json!({ "name": play, "playbook": playbook_of(plan, play), "depends_on": dependencies(plan, play) });
    names(plan).map(document).collect()
}

fn play_status<'r>(run: &'r Run, play: &'r str) -> PlayStatus<'r> {
    let plan = run.plan_of();
    let part = |part: Play| plan.find(&part.check_of(play)).map(|index| run.check_report(index));
    let has_succeeded = |check: &CheckReport<'_>| check.status == CheckStatus::Succeeded;
    let work = part(Play::Work);
    let gate = part(Play::Gate).map(|gate| {
        let approval = part(Play::Approval).map(|approval| approval.status);
        let state = if part(Play::Passed).is_some_and(|passed| has_succeeded(&passed)) {
            GateState::Open
        } else if approval == Some(CheckStatus::Succeeded) {
            GateState::OpenedByPerson
        } else if approval == Some(CheckStatus::Waiting) {
            GateState::Waiting
        } else if matches!(gate.status, CheckStatus::Pending | CheckStatus::Running) {
            GateState::Undecided
        } else {
            GateState::Closed
        };
        GateStatus {
            state,
            verdict: gate.answer.and_then(|answer| answer.outcome_of_kind(VERDICT)),
            run_id: gate.answer.and_then(|answer| answer.nested_run()),
            runs: gate.runs,
        }
    });
    PlayStatus {
        name: play,
        playbook: playbook_of(plan, play),
        depends_on: dependencies(plan, play),
        status: work.as_ref().map_or(CheckStatus::Pending, |work| work.status),
        skip_reason: work.as_ref().and_then(|work| work.skip_reason),
        runs: work.as_ref().map_or(0, |work| work.runs),
        run_id: work.as_ref().and_then(|work| work.answer?.nested_run()),
        gate,
        merged: part(Play::Merge).map(|merge| has_succeeded(&merge)),
    }
}

fn play_document(play: &PlayStatus<'_>) -> Value {
    let gate = play.gate.as_ref().map(|gate| {
        json!({
            "state": gate.state.as_str(),
            "verdict": gate.verdict,
            "run_id": gate.run_id,
            "runs": gate.runs,
        })
    });
    json!({
        "name": play.name,
        "playbook": play.playbook,
        "depends_on": play.depends_on,
        "status": play.status,
        "skip_reason": play.skip_reason,
        "runs": play.runs,
        "run_id": play.run_id,
        "gate": gate,
        "merged": play.merged,
    })
}

/// The names of the plays, in the order of the file.
fn names(plan: &Plan) -> impl Iterator<Item = &str> {
    let is_play = |name: &str| Play::of_check(plan, name).1 == Play::Work;
    plan.checks.iter().map(|check| check.name.as_str()).filter(move |name| is_play(name))
}

fn playbook_of<'p>(plan: &'p Plan, play: &str) -> Option<&'p str> {
    plan.find(play).and_then(|index| plan.check(index).nested_name())
}

/// The plays that a play waits for: its checks wait for theirs.
fn dependencies<'p>(plan: &'p Plan, play: &str) -> Vec<&'p str> {
    let mut found: Vec<&str> = Vec::new();
    let first = [Play::Worktree.check_of(play), play.to_owned()];
    let Some(index) = first.iter().find_map(|name| plan.find(name)) else { return found };
    for dependency in plan.check(index).needs.iter().flat_map(|need| &need.any_of) {
        let (name, _) = Play::of_check(plan, &plan.check(*dependency).name);
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
