//! Arms the triggers of chains as their definitions have them.

use std::path::PathBuf;

use escrow_model::{ChainStatus, EventTrigger, Trigger, TriggerRule, TriggerSource};
use escrow_playbook::read_trigger;
use escrow_runtime::config::{self, Settings};
use escrow_runtime::now_ms;
use escrow_store::{ArmChain, ArmSource, ArmedTrigger, ChainRow};

use crate::app::App;
use crate::error::Error;

/// The settings of the project.
pub(crate) fn settings(app: &App) -> Result<Settings, Error> {
    config::settings(app.state().path()).map_err(|error| {
        Error::author("settings", error.to_string()).help("correct the settings, or remove the table")
    })
}

/// The directory of the project, in which paths of triggers and commands are.
pub(crate) fn project(app: &App) -> PathBuf {
    app.state().path().parent().map(std::path::Path::to_owned).unwrap_or_default()
}

/// Arms every chain whose triggers are not armed as its definition and status have them.
pub async fn arm(app: &App) -> Result<(), Error> {
    let fires = app.fires()?;
    for row in fires.unarmed_chains().await? {
        fires.arm(&armed(row)).await?;
    }
    Ok(())
}

fn armed(row: ChainRow) -> ArmChain {
    let trigger = trigger_of(&row);
    let (rule, sources) =
        trigger.map_or((TriggerRule::Any, Vec::new()), |trigger| (trigger.rule, trigger.sources));
    let sources = sources
        .into_iter()
        .map(|source| {
            let event = match &source {
                TriggerSource::Schedule(_) => None,
                TriggerSource::Event(event) => Some(event.event.clone()),
            };
            ArmSource { source, event }
        })
        .collect();
    ArmChain { row, rule, sources, at: now_ms() }
}

/// The triggers of a chain that is not armed yet, as they would be.
pub(super) fn would_be_armed(row: &ChainRow) -> Vec<ArmedTrigger> {
    if row.status != ChainStatus::Active {
        return Vec::new();
    }
    let Some(trigger) = trigger_of(row) else { return Vec::new() };
    let sources = u32::try_from(trigger.sources.len()).unwrap_or(u32::MAX);
    (0..)
        .zip(trigger.sources)
        .map(|(position, source)| ArmedTrigger {
            chain_id: row.id.clone(),
            chain: row.name.clone(),
            position,
            sources,
            rule: trigger.rule,
            source,
            anchor: row.updated_at,
            after: row.updated_at,
            // Nothing has ended since it was defined a moment ago.
            feed: u64::MAX,
        })
        .collect()
}

/// The definition was valid when it was activated. One that an older Escrow accepted and this one does not fires by hand.
pub(crate) fn trigger_of(row: &ChainRow) -> Option<Trigger> {
    let trigger = read_trigger(&row.trigger()?.to_string(), &row.file).trigger?;
    let by_hand = |source: &TriggerSource| matches!(source, TriggerSource::Event(event) if event.event == EventTrigger::MANUAL);
    (!trigger.sources.iter().all(by_hand)).then_some(trigger)
}
