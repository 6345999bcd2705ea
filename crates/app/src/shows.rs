//! Shows: plays with gates. Starts a run of one, and says where its plays stand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{Plan, Play};
use escrow_runtime::playbook_file::{self, Directories};
use escrow_store::{RunFilter, RunKinds};
use serde_json::{Value, json};

use crate::app::App;
use crate::documents;
use crate::error::Error;
use crate::inputs;
use crate::invocations::{self, NamedInvocation, NewInvocation, Origin};
use crate::outcomes::{self, NewOutcome};
use crate::playbooks::{LoadedPlaybook, loaded, unreadable};
use crate::runs::{self, GivenInputs, Order};

/// Reads a show with the playbooks of its plays and gates, or reports every problem in them.
pub fn load(path: &Path, directory: &Path) -> Result<LoadedPlaybook, Error> {
    let bytes = playbook_file::read_bytes(path).map_err(|error| unreadable(path, &error))?;
    compile(path, &bytes, directory)
}

pub(crate) fn compile(path: &Path, bytes: &[u8], directory: &Path) -> Result<LoadedPlaybook, Error> {
    loaded("bad_show", path, bytes, playbook_file::read_show(path, bytes, Directories::both(directory)))
}

/// What to run, and with what.
#[derive(Debug)]
pub struct ShowOrder {
    pub plan: Arc<Plan>,
    pub file: PathBuf,
    pub directory: PathBuf,
    /// `KEY=VALUE`.
    pub inputs: Vec<String>,
    pub jobs: Option<u32>,
}

/// Starts a run of a show under an invocation of its own, which keeps the plan, and drives it until it ends or waits.
pub async fn start(app: &App, order: ShowOrder) -> Result<Run, Error> {
    let ShowOrder { plan, file, directory, inputs, jobs } = order;
    // A bad input must not leave an invocation behind.
    inputs::read(&plan, &inputs).map_err(|error| error.without_secrets_of(&plan, &directory))?;
    let new =
        NewInvocation { name: Some(plan.name.clone()), skill: Some("show".into()), ..Default::default() };
    let invocation = invocations::start(app, new).await?;
    let named = || NamedInvocation { name: invocation.id.to_string(), origin: Origin::Request };
    let plays: Vec<Value> = plays(&plan).map(|play| play_of_plan(&plan, play)).collect();
    let content = json!({"outcome_kind": "show_plan", "plays": plays}).to_string();
    let kept = NewOutcome {
        name: "plan".into(),
        content: content.into(),
        invocation: Some(named()),
        run: None,
        file: None,
    };
    outcomes::add(app, kept).await?;
    let order = Order {
        file: Some(file),
        inputs: GivenInputs::Text(inputs),
        jobs,
        invocation: Some(named()),
        ..Order::new(plan, directory)
    };
    runs::start(app, order).await
}

/// The newest runs of shows.
pub async fn list(app: &App, limit: usize) -> Result<Vec<Run>, Error> {
    let queries = app.queries()?;
    let filter = RunFilter { kinds: RunKinds::Shows, limit: Some(limit), ..RunFilter::default() };
    let mut found = Vec::new();
    for row in queries.runs(&filter).await? {
        found.push(runs::replay(&*queries, &row).await?);
    }
    Ok(found)
}

/// `play status`: where the plays of a run stand.
pub fn document(run: &Run) -> Value {
    let plan = run.plan_of();
    let document = documents::run(run);
    let plays: Vec<Value> = plays(plan).map(|play| play_document(plan, &document["checks"], play)).collect();
    json!({
        "id": run.options().run,
        "show": plan.name,
        "status": document["run"]["status"],
        "reason": document["run"]["reason"],
        "invocation_id": document["run"]["invocation_id"],
        "started_at": document["run"]["started_at"],
        "ended_at": document["run"]["ended_at"],
        "plays": plays,
    })
}

/// The names of the plays, in the order of the file.
fn plays(plan: &Plan) -> impl Iterator<Item = &str> {
    let is_play = |name: &str| Play::of_check(plan, name).1 == Play::Work;
    plan.checks.iter().map(|check| check.name.as_str()).filter(move |name| is_play(name))
}

fn play_document(plan: &Plan, checks: &Value, play: &str) -> Value {
    let check = |part: Play| &checks[part.check_of(play)];
    let (work, gate) = (&checks[play], check(Play::Gate));
    let outcomes = gate["output"]["outcomes"].as_array();
    let verdict = outcomes.into_iter().flatten().find(|outcome| outcome["kind"] == "gate_verdict");
    let state = if gate.is_null() {
        Value::Null
    } else if check(Play::Passed)["status"] == "succeeded" {
        json!("open")
    } else if check(Play::Approval)["status"] == "succeeded" {
        json!("opened_by_person")
    } else if check(Play::Approval)["status"] == "waiting" {
        json!("waiting")
    } else if matches!(gate["status"].as_str(), Some("pending" | "running")) {
        json!("undecided")
    } else {
        json!("closed")
    };
    let gate = (!state.is_null()).then(|| {
        json!({
            "state": state,
            "verdict": verdict.map(|outcome| &outcome["content"]),
            "run_id": gate["result"]["run_id"],
            "runs": gate["runs"],
        })
    });
    json!({
        "name": play,
        "playbook": playbook_of(plan, play),
        "depends_on": dependencies(plan, play),
        "status": work["status"],
        "skip_reason": work["skip_reason"],
        "runs": work["runs"],
        "run_id": work["result"]["run_id"],
        "gate": gate,
        "merged": plan.find(&Play::Merge.check_of(play)).map(|_| check(Play::Merge)["status"] == "succeeded"),
    })
}

fn play_of_plan(plan: &Plan, play: &str) -> Value {
    json!({ "name": play, "playbook": playbook_of(plan, play), "depends_on": dependencies(plan, play) })
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
