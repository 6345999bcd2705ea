//! Shows: plays with gates. Starts a run of one, and says where its plays stand.

mod status;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::Plan;
use escrow_runtime::playbook_file::{self, Directories};
use escrow_store::{RunFilter, RunKinds};
use serde_json::json;

use crate::app::App;
use crate::error::Error;
use crate::inputs;
use crate::invocations::{self, NamedInvocation, NewInvocation, Origin};
use crate::outcomes::{self, NewOutcome};
use crate::playbooks::{LoadedPlaybook, loaded, unreadable};
use crate::runs::{self, GivenInputs, Order};

pub use status::{GateState, GateStatus, PlayStatus, document, plays};

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
    let content = json!({"outcome_kind": "show_plan", "plays": status::planned(&plan)}).to_string();
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
