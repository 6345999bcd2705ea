//! What must be true of the fires and the runs of chains in the end, whatever happened.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use escrow_engine::Run;
use escrow_model::{ChainId, Entry, Event, FireStatus, Message, ProviderName, RunId, RunStatus, WaitKind};
use escrow_store::{BlockingStore, ChainRunFilter, FireFilter, FireRow};
use escrow_testkit::Invariants;

use super::definitions::{Chain, Definition, Listens};
use crate::invariants::{chain_holds, effects};
use crate::memory::decode;
use crate::shrink::text_of;
use crate::tables::rebuild_changes_nothing;

/// What the world knows of itself.
pub(super) struct Known<'a> {
    pub(super) store: &'a BlockingStore,
    pub(super) chains: &'a [Chain],
    /// The keys under which each pull request may have fired.
    pub(super) pulls: Vec<[String; 2]>,
    /// The files that were written.
    pub(super) files: u64,
    /// Runs of chains, each with the definition that was active when it began.
    pub(super) begun: &'a BTreeMap<RunId, (ChainId, Definition)>,
    /// Every run that was created.
    pub(super) runs: Vec<RunId>,
}

pub(super) fn audit(known: &Known<'_>) -> Result<(), String> {
    let fires = known.store.fires(&FireFilter::default()).map_err(|error| error.to_string())?;
    settled_once(known, &fires)?;
    none_lost(known, &fires)?;
    for id in &known.runs {
        let journal = journal(known.store, id)?;
        let run = Run::replay(&journal).map_err(|error| format!("{id} does not replay: {error}"))?;
        whole(known, &run, &journal)?;
        match (&run.options().fire, known.begun.get(id)) {
            (Some(_), Some((_, definition))) => of_chain(known, &run, &journal, definition)?,
            (None, None) => {}
            (_, _) => return Err(format!("{id} is a run of a chain that no fire began")),
        }
    }
    rebuild_changes_nothing(known.store)
}

fn journal(store: &BlockingStore, run: &RunId) -> Result<Vec<Entry>, String> {
    let stored = store.journal(run).map_err(|error| error.to_string())?;
    stored.iter().map(decode).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// Each fire is recorded once, and either has its run or a reason.
fn settled_once(known: &Known<'_>, fires: &[FireRow]) -> Result<(), String> {
    let mut keys = BTreeSet::new();
    for fire in fires {
        if !keys.insert((&fire.chain_id, &fire.key)) {
            return Err(format!("fire `{}` is recorded twice", fire.key));
        }
        let has_run = known.begun.contains_key(&fire.run);
        match fire.status {
            FireStatus::Begun if has_run => {}
            FireStatus::Skipped | FireStatus::Missed if fire.code.is_some() && !has_run => {}
            status => {
                let run = if has_run { "a run" } else { "no run" };
                return Err(format!("fire `{}` of `{}` ends as {status:?} with {run}", fire.key, fire.chain));
            }
        }
    }
    let begun = fires.iter().filter(|fire| fire.status == FireStatus::Begun).count();
    if begun != known.begun.len() {
        return Err(format!("{begun} fires have {} runs", known.begun.len()));
    }
    let rows = known.store.chain_runs(&ChainRunFilter::default()).map_err(|error| error.to_string())?;
    if rows.len() != begun {
        return Err(format!("{begun} fires have {} rows of runs", rows.len()));
    }
    Ok(())
}

/// Every delivery fired every chain that waits for it; every end of a playbook's run fired the chain that waits for it.
fn none_lost(known: &Known<'_>, fires: &[FireRow]) -> Result<(), String> {
    let keys: BTreeSet<(&ChainId, &str)> =
        fires.iter().map(|fire| (&fire.chain_id, fire.key.as_str())).collect();
    for chain in known.chains {
        let playbook = match chain.listens {
            Listens::Clock => continue,
            Listens::Webhook => {
                for names in &known.pulls {
                    let told = names.iter().filter(|key| keys.contains(&(&chain.id, key.as_str()))).count();
                    if told != 1 {
                        return Err(format!("{names:?} fired `{}` {told} times", chain.name));
                    }
                }
                continue;
            }
            Listens::Files => {
                each_file_told_once(chain, fires, known.files)?;
                continue;
            }
            Listens::Runs(playbook) => playbook,
        };
        for id in &known.runs {
            let journal = journal(known.store, id)?;
            let Some(Event::RunStarted { plan, options, .. }) = journal.first().map(|entry| &entry.event)
            else {
                return Err(format!("{id} has no beginning"));
            };
            if options.fire.is_some()
                || plan.name != playbook
                || chain_of(known, id)? == Some(chain.id.clone())
            {
                continue;
            }
            for (entry, seq) in journal.iter().zip(1..) {
                let key = format!("run:{id}:{seq}");
                if matches!(entry.event, Event::RunEnded { .. }) && !keys.contains(&(&chain.id, key.as_str()))
                {
                    return Err(format!("the end of {id} did not fire `{}`", chain.name));
                }
            }
        }
    }
    Ok(())
}

fn each_file_told_once(chain: &Chain, fires: &[FireRow], files: u64) -> Result<(), String> {
    let of_chain = fires.iter().filter(|fire| fire.chain_id == chain.id);
    let mut told: Vec<&str> = of_chain
        .flat_map(|fire| fire.payload["added"].as_array().into_iter().flatten())
        .filter_map(|path| path.as_str())
        .collect();
    told.sort_unstable();
    let count = told.len() as u64;
    told.dedup();
    if count != files || told.len() as u64 != files {
        return Err(format!(
            "{files} files fired `{}` {count} times, {} of them different",
            chain.name,
            told.len()
        ));
    }
    Ok(())
}

/// The chain that a run belongs to, directly or through the runs around it.
fn chain_of(known: &Known<'_>, run: &RunId) -> Result<Option<ChainId>, String> {
    let mut run = run.clone();
    loop {
        if let Some((chain, _)) = known.begun.get(&run) {
            return Ok(Some(chain.clone()));
        }
        match journal(known.store, &run)?.first().map(|entry| &entry.event) {
            Some(Event::RunStarted { options, .. }) if options.parent.is_some() => {
                run = options.parent.clone().unwrap_or(run);
            }
            _ => return Ok(None),
        }
    }
}

/// The journal of a run, nested or not, is whole and has ended.
fn whole(known: &Known<'_>, run: &Run, journal: &[Entry]) -> Result<(), String> {
    let id = &run.options().run;
    if !run.status().is_terminal() {
        return Err(format!("{id} is {:?} for ever", run.status()));
    }
    let verification = known.store.verify(id).map_err(|error| error.to_string())?;
    chain_holds(&verification, journal.len())?;
    effects(run.plan_of(), journal).map_err(|problem| format!("{id}: {problem}"))?;
    makes_way(run, journal)?;
    let is_reopened = journal.iter().any(|entry| matches!(entry.event, Event::RunReopened { .. }));
    // An action whose condition reads a failed step may run behind it; a playbook has no such rule.
    if !is_reopened && run.options().fire.is_none() {
        let check = || Invariants::check(run.plan_of(), run.options().parallelism, journal, run);
        let told = catch_unwind(AssertUnwindSafe(check));
        told.map_err(|panic| format!("{id}: {}", text_of(panic.as_ref())))?;
    }
    Ok(())
}

/// A run that was asked to make way began nothing further, and did not end with an effect in doubt that nobody was asked about.
fn makes_way(run: &Run, journal: &[Entry]) -> Result<(), String> {
    let id = &run.options().run;
    let is_request = |entry: &Entry| {
        matches!(&entry.event, Event::MessageDelivered { message: Message::Cancel { patient: true, .. }, .. })
    };
    let Some(asked) = journal.iter().position(is_request) else { return Ok(()) };
    let (before, after) = journal.split_at(asked);
    if after.iter().any(|entry| matches!(entry.event, Event::RunReopened { .. })) {
        return Ok(());
    }
    let started = |entries: &[Entry]| -> BTreeSet<String> {
        let places = entries.iter().filter_map(|entry| match &entry.event {
            Event::AttemptStarted { check, scope, .. } => Some(format!("{check}{scope}")),
            _ => None,
        });
        places.collect()
    };
    if let Some(place) = started(after).difference(&started(before)).next() {
        return Err(format!("`{place}` of {id} began after the run was asked to make way"));
    }
    // A nested run whose time is up leaves the question to the run around it.
    if run.options().fire.is_none() || run.status() != RunStatus::Cancelled {
        return Ok(());
    }
    // Of what is to be tried again, a person has said that it did not happen.
    let is_answered = |place: &String| {
        journal.iter().any(|entry| match &entry.event {
            Event::MessageDelivered {
                message: Message::Assume { check, scope, .. }, refused: None, ..
            } => *place == format!("{check}{scope}"),
            _ => false,
        })
    };
    match run.unknown_effects().iter().find(|(place, _)| !is_answered(place)) {
        Some((place, _)) => Err(format!("{id} made way, and the effect of `{place}` is in doubt")),
        None => Ok(()),
    }
}

/// A run of a chain ran the definition that was active, its steps in their order, each behind its approval.
fn of_chain(known: &Known<'_>, run: &Run, journal: &[Entry], definition: &Definition) -> Result<(), String> {
    let (id, plan) = (&run.options().run, run.plan_of());
    if **plan != *definition.plan {
        return Err(format!("{id} ran another definition than the active one"));
    }
    let row = known.store.chain_run(id).map_err(|error| error.to_string())?;
    let row = row.ok_or_else(|| format!("{id} has no row among the runs of chains"))?;
    if row.status != run.status() || row.invocation_id != Some(id.chain_invocation().to_string()) {
        return Err(format!("{id} is {:?}, and its row says {row:?}", run.status()));
    }
    let mut reached = 0;
    let mut asked: BTreeMap<&str, &str> = BTreeMap::new();
    let mut approved: BTreeSet<&str> = BTreeSet::new();
    let mut refused: BTreeSet<&str> = BTreeSet::new();
    for entry in journal {
        match &entry.event {
            Event::WaitStarted { kind: WaitKind::Approval, check, id, .. } => {
                asked.insert(id, check);
            }
            Event::MessageDelivered { message: Message::Approve { id, .. }, refused: None, .. } => {
                approved.extend(asked.get(id.as_str()));
            }
            Event::MessageDelivered { message: Message::Deny { id, .. }, refused: None, .. }
            | Event::WaitExpired { id } => refused.extend(asked.get(id.as_str())),
            Event::AttemptStarted { check, .. } => {
                let index = plan.find(check).ok_or_else(|| format!("{id} has no step `{check}`"))?;
                if index.0 < reached {
                    return Err(format!("{id} went back from step {reached} to {}", index.0));
                }
                reached = index.0;
                let needs_approval = plan.check(index).requires_approval.is_some();
                if needs_approval && !approved.contains(check.as_str()) {
                    return Err(format!("`{check}` of {id} began without its approval"));
                }
                if refused.contains(check.as_str()) {
                    return Err(format!("`{check}` of {id} was refused and began"));
                }
            }
            _ => {}
        }
    }
    if !refused.is_empty() && run.status() == RunStatus::Completed {
        return Err(format!("{id} was refused and completed"));
    }
    steps(known, run, journal)
}

/// Each step that nests has one run, under the step's own invocation.
fn steps(known: &Known<'_>, run: &Run, journal: &[Entry]) -> Result<(), String> {
    let (id, plan) = (&run.options().run, run.plan_of());
    for index in plan.indices().filter(|index| plan.check(*index).provider == ProviderName::NESTED) {
        let invocation = id.step_invocation(index.0).to_string();
        let filter = escrow_store::RunFilter { invocation: Some(invocation), ..Default::default() };
        let rows = known.store.runs(&filter).map_err(|error| error.to_string())?;
        let of_step = rows.iter().filter(|row| row.depth == run.options().depth + 1).count();
        let name = &plan.check(index).name;
        let attempts = journal
            .iter()
            .filter(|entry| matches!(&entry.event, Event::AttemptStarted { check, .. } if check == name))
            .count();
        if of_step > attempts {
            return Err(format!("step `{name}` of {id} has {of_step} runs and {attempts} attempts"));
        }
    }
    Ok(())
}
