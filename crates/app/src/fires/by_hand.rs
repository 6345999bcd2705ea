//! Fires a chain by hand: waits for the turn of the fire, then drives its run until it ends or waits.

use std::time::Duration;

use escrow_engine::Run;
use escrow_model::RunId;
use escrow_runtime::now_ms;
use escrow_store::{ChainRow, FireDecision, FireRow, NewFire};
use serde_json::json;

use super::replace::{Replaced, replace};
use super::turn::{Turn, has_not_begun};
use super::{begin, decide};
use crate::app::App;
use crate::around::refuse_secrets;
use crate::chains::{self, FireEvent};
use crate::error::Error;
use crate::runs;

/// How often a fire looks whether its turn has come.
const TURN_INTERVAL: Duration = Duration::from_millis(200);

/// Fires a chain and drives its run until it ends or waits. A fire that must wait for its turn waits here as long as a living
/// process brings the turn nearer; `told` learns what it waits for.
pub(crate) async fn fire_by_hand(
    app: &App,
    chain: &ChainRow,
    mut event: FireEvent,
    told: &mut dyn FnMut(&str),
) -> Result<Run, Error> {
    let fires = app.fires()?;
    refuse_secrets(app, "the event", &json!([event.name, event.payload])).await?;
    event.depth = depth_here(app, chain).await?.saturating_add(1);
    let new = NewFire {
        chain_id: chain.id.clone(),
        chain: chain.name.clone(),
        key: chains::fire_key()?,
        at: now_ms(),
        event: event.name,
        payload: event.payload,
        depth: event.depth,
        refused: None,
    };
    let mut fire = fires.record_fire(&new).await?;
    let mut turn = Turn::default();
    loop {
        match decide(app, &fire).await? {
            FireDecision::Accepted(accepted) => {
                return match begin(app, &accepted).await? {
                    Some(run) => chains::drive(app, run).await,
                    None => begun_elsewhere(app, &accepted.run).await,
                };
            }
            FireDecision::Waits { fire: waiting, runs } => {
                fire = waiting;
                turn.look(app, &fire, &runs, told).await?;
            }
            FireDecision::Replaces { fire: waiting, runs } => {
                fire = waiting;
                for run in &runs {
                    if replace(app, run, &fire.run).await? == Replaced::Asks {
                        return Err(effect_in_doubt(&fire, run));
                    }
                }
                turn.look(app, &fire, &runs, told).await?;
            }
            FireDecision::Settled(settled) => return refused(app, &settled).await,
        }
        app.unless_stopped(tokio::time::sleep(TURN_INTERVAL)).await?;
    }
}

fn effect_in_doubt(fire: &FireRow, open: &RunId) -> Error {
    has_not_begun(fire, &format!("an effect of run `{open}` may or may not have happened"))
        .help("settle it (`escrow approvals` says how); then `escrow chain check` begins this fire")
}

async fn refused(app: &App, fire: &FireRow) -> Result<Run, Error> {
    let Some(code) = fire.code else {
        return begun_elsewhere(app, &fire.run).await;
    };
    let why = fire.reason.as_deref().unwrap_or_default();
    Err(Error::person("fire_skipped", format!("chain `{}` was not fired: {why}", fire.chain))
        .help(format!("`escrow explain {}` says what to do", code.as_str())))
}

/// A daemon or a check began the run, and drives it.
async fn begun_elsewhere(app: &App, run: &RunId) -> Result<Run, Error> {
    match app.unless_stopped(Box::pin(runs::wait(app, run.as_str(), None))).await?? {
        Some(run) => Ok(run),
        None => runs::replay_of(&*app.queries()?, run).await,
    }
}

/// The depth of the chain run that the caller is a part of; 0 outside of chains.
async fn depth_here(app: &App, chain: &ChainRow) -> Result<u32, Error> {
    let fires = app.fires()?;
    let mut depth = 0;
    for run in app.runs_around() {
        let Some(around) = fires.fire_of_run(&RunId::from_stored(run)).await? else { continue };
        if around.chain_id == chain.id {
            let message = format!("a step of chain `{}` cannot fire the chain", chain.name);
            return Err(Error::person("own_step", message).help("let the chain have one more step instead"));
        }
        depth = depth.max(around.depth);
    }
    Ok(depth)
}
