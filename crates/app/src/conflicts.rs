//! Settles conflicts between runs: what a run does when another one has its concurrency group.
//!
//! ```text
//!   store: RunConflict ──▶ Arbitration::settle ──▶ the run may try again, or ends with this reason
//! ```
//!
//! **Invariant:** nothing here decides who holds a group. The store does, in the transaction that creates or reopens the
//! run; a run that may try again asks the store again.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::time::Duration;

use escrow_engine::Run;
use escrow_model::{
    Event, Evidence, Message, Millis, OnConflict, Plan, Reason, ReasonCode, RefusalCode, RunId, RunOptions,
    RunStatus,
};
use escrow_runtime::{Cancellation, ProviderWorld};
use escrow_store::{Contested, Journal, RunConflict, RunRow, StoreError};
use thiserror::Error;

use crate::documents;
use crate::error::Error;

/// How often the end of the other run is looked for.
const INTERVAL: Duration = Duration::from_millis(100);

/// How often the process that drives the other run is looked for.
const LIVENESS_INTERVAL_MS: Millis = 1_000;

/// The caller of a run that meets another one.
pub trait Arbiter {
    /// Tells people what the run waits for.
    fn notice(&self, run: &Run, text: &str);

    /// Whether the caller is a part of this run, so that waiting for it would never end.
    fn is_inside(&self, run: &RunId) -> bool;

    /// The person who acts.
    fn actor(&self) -> Option<String>;

    /// Whether it can end runs that no process drives.
    fn ends_runs(&self) -> bool;

    /// Ends a run that no process drives. It has got the message that ends it.
    fn end<'a>(&'a self, run: &'a RunRow) -> Pin<Box<dyn Future<Output = Result<(), CannotEnd>> + 'a>>;
}

/// Why a run that no process drives was not ended.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct CannotEnd(pub String);

/// For nested runs: there is no terminal, and the thread belongs to the run around.
pub struct Unattended;

impl Arbiter for Unattended {
    fn notice(&self, _run: &Run, _text: &str) {}

    fn is_inside(&self, _run: &RunId) -> bool {
        false
    }

    fn actor(&self) -> Option<String> {
        None
    }

    fn ends_runs(&self) -> bool {
        false
    }

    fn end<'a>(&'a self, _run: &'a RunRow) -> Pin<Box<dyn Future<Output = Result<(), CannotEnd>> + 'a>> {
        Box::pin(async { Err(CannotEnd("a nested run ends only runs that a process drives".into())) })
    }
}

/// What follows from a conflict.
#[derive(Debug)]
pub(crate) enum Settled {
    /// The other run seems to have ended.
    TryAgain,
    /// The run does not start.
    Refused(Reason),
    /// The caller wants to stop.
    Stopped,
}

/// One run that wants to start or to be opened again, and the rules by which it meets others.
pub(crate) struct Arbitration<'a> {
    run: RunId,
    rule: OnConflict,
    /// When the run's own time is up.
    deadline: Option<Millis>,
    means: Means<'a>,
    /// Runs that were told to make way.
    told: BTreeSet<RunId>,
    /// Runs whose process seemed to be gone.
    suspected: BTreeSet<RunId>,
    /// Runs that people know it waits for.
    noticed: BTreeSet<RunId>,
    /// How far the journals of runs that were told to make way are read, and whether they have refused.
    read: BTreeMap<RunId, (u64, bool)>,
}

/// What a conflict is settled with.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) journal: &'a dyn Journal,
    pub(crate) world: &'a dyn ProviderWorld,
    pub(crate) stopping: &'a Cancellation,
    pub(crate) arbiter: &'a dyn Arbiter,
}

impl<'a> Arbitration<'a> {
    /// For a run of this plan. Its own time counts from now.
    pub(crate) fn new(options: &RunOptions, plan: &Plan, means: Means<'a>) -> Arbitration<'a> {
        let timeout_ms = options.timeout_ms.or(plan.timeout_ms);
        Arbitration {
            run: options.run.clone(),
            rule: plan.concurrency.as_ref().map(|rule| rule.on_conflict).unwrap_or_default(),
            deadline: timeout_ms.map(|timeout| means.world.now_ms().saturating_add(timeout)),
            means,
            told: BTreeSet::new(),
            suspected: BTreeSet::new(),
            noticed: BTreeSet::new(),
            read: BTreeMap::new(),
        }
    }

    /// Whether the run has waited for another.
    pub(crate) fn has_waited(&self) -> bool {
        !self.noticed.is_empty()
    }

    pub(crate) async fn settle(&mut self, run: &Run, conflict: &RunConflict) -> Result<Settled, StoreError> {
        if self.means.arbiter.is_inside(&conflict.root.id) {
            return Ok(Settled::Refused(refusal(conflict, INSIDE, None)));
        }
        // The process that drives this run drives a sibling too, even if it has not taken it over yet.
        let is_driven = conflict.is_sibling || self.is_driven(&conflict.root.id).await?;
        // The run may have ended, or begun to wait, between the two looks. What the store says next is newer.
        if !is_driven
            && conflict.root.status == RunStatus::Running
            && self.suspected.insert(conflict.root.id.clone())
        {
            return Ok(Settled::TryAgain);
        }
        let why = match (conflict.root.status, is_driven) {
            (RunStatus::Waiting, _) => "which waits for a person",
            (_, true) => "which is running",
            (_, false) => "whose process is gone",
        };
        let refused = |why| Settled::Refused(refusal(conflict, why, Some(next(conflict, is_driven))));
        match self.rule {
            OnConflict::Refuse => Ok(refused(why)),
            OnConflict::Wait if is_driven && conflict.root.status != RunStatus::Waiting => {
                self.wait(run, conflict, "waiting for").await
            }
            OnConflict::Wait => Ok(refused(why)),
            OnConflict::Cancel => {
                if !is_driven && !self.means.arbiter.ends_runs() {
                    return Ok(refused(why));
                }
                let effect = "which has an effect under way or unknown";
                if self.told.insert(conflict.root.id.clone()) {
                    if conflict.has_open_effects {
                        return Ok(refused(effect));
                    }
                    let successor = Some(self.run.clone());
                    let message = Message::Cancel {
                        by: self.means.arbiter.actor(),
                        system: true,
                        successor,
                        inside: None,
                        patient: false,
                    };
                    self.means.journal.send(&conflict.root.id, &message, self.run.as_str()).await?;
                } else if self.stays(&conflict.root.id).await? {
                    return Ok(refused(effect));
                }
                if !is_driven && self.means.arbiter.end(&conflict.root).await.is_err() {
                    return Ok(refused(why));
                }
                self.wait(run, conflict, "cancelling").await
            }
        }
    }

    async fn is_driven(&self, run: &RunId) -> Result<bool, StoreError> {
        let lease = self.means.journal.lease_of(run).await?;
        Ok(lease.is_some_and(|lease| lease.standing(|holder| self.means.world.liveness(holder)).is_some()))
    }

    /// Whether the other run has refused to make way.
    ///
    /// Only entries that were not read before are read.
    async fn stays(&mut self, other: &RunId) -> Result<bool, StoreError> {
        let (from, stays) = self.read.get(other).copied().unwrap_or((0, false));
        if stays {
            return Ok(true);
        }
        let entries = self.means.journal.entries(other, from).await?;
        let stays = entries.iter().any(|(_, entry)| match &entry.event {
            Event::MessageDelivered {
                message: Message::Cancel { successor, .. },
                refusal: Some(RefusalCode::EffectUnderWay),
                ..
            } => successor.as_ref() == Some(&self.run),
            _ => false,
        });
        let read_to = entries.last().map_or(from, |(seq, _)| seq + 1);
        self.read.insert(other.clone(), (read_to, stays));
        Ok(stays)
    }

    /// Until the other run has ended, or its process no longer drives it.
    async fn wait(&mut self, run: &Run, conflict: &RunConflict, verb: &str) -> Result<Settled, StoreError> {
        if self.noticed.insert(conflict.root.id.clone()) {
            let (Contested::Group(name) | Contested::Artifacts(name)) = &conflict.over;
            let text = format!("{verb} {} of the concurrency group `{name}`", named(&conflict.root));
            self.means.arbiter.notice(run, &text);
        }
        let mut looked_at = self.means.world.now_ms();
        loop {
            tokio::select! {
                biased;
                () = self.means.stopping.cancelled() => return Ok(Settled::Stopped),
                () = tokio::time::sleep(INTERVAL) => {}
            }
            let now = self.means.world.now_ms();
            if self.means.journal.has_ended(&conflict.holder).await? {
                return Ok(Settled::TryAgain);
            }
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(Settled::Refused(out_of_time(conflict)));
            }
            if now.saturating_sub(looked_at) >= LIVENESS_INTERVAL_MS {
                looked_at = now;
                let has_refused =
                    self.told.contains(&conflict.root.id) && self.stays(&conflict.root.id).await?;
                if has_refused || !self.is_driven(&conflict.root.id).await? {
                    return Ok(Settled::TryAgain);
                }
            }
        }
    }
}

/// A run with its title, if it has one.
pub(crate) fn named(row: &RunRow) -> String {
    match &row.title {
        Some(title) => format!("run {} ({title})", row.id),
        None => format!("run {} ({})", row.id, row.playbook),
    }
}

/// The command that settles the conflict.
pub(crate) fn next(conflict: &RunConflict, is_driven: bool) -> String {
    let root = &conflict.root;
    match (&conflict.wait, root.status) {
        (Some(wait), RunStatus::Waiting) => {
            documents::next_of_wait(wait).unwrap_or_else(|| format!("escrow runs show {}", root.id))
        }
        (None, RunStatus::Waiting) => format!("escrow runs show {}", root.id),
        (_, _) if is_driven => format!("escrow wait {}", root.id),
        (_, _) => format!("escrow resume {}", root.id),
    }
}

/// No command settles it: the run around this one ends only after this one.
const INSIDE: &str = "around this one, which would wait for itself: start it as a check of type `playbook`, which shares the \
                      group, or give it another group";

fn refusal(conflict: &RunConflict, why: &str, command: Option<String>) -> Reason {
    let (Contested::Group(name) | Contested::Artifacts(name)) = &conflict.over;
    let holder = named(&conflict.root);
    Reason {
        code: ReasonCode::FailedConflict,
        summary: format!("the concurrency group `{name}` is held by {holder}, {why}"),
        evidence: std::iter::once(Evidence::run(conflict.root.id.as_str(), "holds the concurrency group"))
            .chain(command.map(|command| Evidence::command(command, "settles it")))
            .collect(),
    }
}

fn out_of_time(conflict: &RunConflict) -> Reason {
    let (Contested::Group(name) | Contested::Artifacts(name)) = &conflict.over;
    let holder = named(&conflict.root);
    Reason {
        code: ReasonCode::TimedOutDeadline,
        summary: format!(
            "the run's own time was up while it waited for {holder} of the concurrency group `{name}`"
        ),
        evidence: vec![Evidence::run(conflict.root.id.as_str(), "holds the concurrency group")],
    }
}

/// For a run that exists and cannot be opened again, or continued, now.
pub(crate) fn conflict_error(conflict: &RunConflict) -> Error {
    match &conflict.over {
        Contested::Artifacts(_) => artifacts_in_use(conflict),
        Contested::Group(name) => {
            let message = format!("the concurrency group `{name}` is held by {}", named(&conflict.root));
            Error::conflict(message).help(format!("`escrow runs show {}` shows it", conflict.root.id))
        }
    }
}

/// A run that was refused because of this reason, and was not changed.
pub(crate) fn refused_error(reason: &Reason) -> Error {
    let command = reason.evidence.iter().find(|evidence| evidence.kind == "command");
    let error = Error::conflict(reason.summary.clone());
    match command {
        Some(command) => error.help(format!("`{}` settles it", command.id)),
        None => error,
    }
}

pub(crate) fn artifacts_in_use(conflict: &RunConflict) -> Error {
    let (Contested::Artifacts(directory) | Contested::Group(directory)) = &conflict.over;
    let root = &conflict.root;
    let message =
        format!("{} has not ended and delivers into the artifact directory `{directory}`", named(root));
    let next = match (&conflict.wait, root.status) {
        (Some(wait), RunStatus::Waiting) => documents::next_of_wait(wait),
        (_, _) => None,
    };
    let settles = next.unwrap_or_else(|| format!("escrow wait {}", root.id));
    Error::person("artifacts_in_use", message)
        .help(format!("give each run a directory of its own, or settle that run first: `{settles}`"))
}
