//! What needs a person: what waits for one, what ended badly, what was interrupted, what was delivered with warnings.
//! Grouped by cause, newest first. Two indexes answer it; no journal is read.
//!
//! What somebody dismissed is written down here, up to the newest occurrence that there was: a newer one brings it back.

mod causes;

use std::collections::BTreeMap;

use escrow_model::{Millis, RunId, WaitKind, hex};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::commit::Durability;
use crate::fault::{StoreError, Trouble};
use crate::lease::{Holder, Liveness};
use crate::store::Store;
use crate::tables::{from_json, json};

/// What cannot be derived; a step of the schema.
pub(crate) const TABLES: &str = "
CREATE TABLE dismissals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL,
    dismissal TEXT NOT NULL
) STRICT;
CREATE INDEX dismissals_by_fingerprint ON dismissals (fingerprint, number);
";

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// A check waits for an approval, an answer, or somebody who knows what became of an effect.
    Waiting,
    Failed,
    TimedOut,
    Aborted,
    /// Nobody drives the run any more.
    Interrupted,
    /// It completed, and an optional artifact is missing.
    Warning,
}

/// What a reason is about: a check, an expected artifact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    pub kind: String,
    pub id: String,
}

/// What makes two occurrences the same trouble.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    kind: AttentionKind,
    reason_code: Option<String>,
    playbook: String,
    subject: Option<Subject>,
}

/// Occurrences of one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionItem {
    /// `f_` and 12 characters: the same for the same kind, reason code, playbook and check or artifact.
    pub fingerprint: String,
    pub kind: AttentionKind,
    pub reason_code: Option<String>,
    pub playbook: String,
    pub subject: Option<Subject>,
    /// How often, since it was last dismissed.
    pub count: u64,
    pub first_at: Millis,
    pub last_at: Millis,
    /// Of the newest occurrence.
    pub summary: String,
    /// The newest first, at most five.
    pub runs: Vec<RunId>,
    /// What is to be answered: the newest wait.
    pub wait: Option<AttentionWait>,
    /// Somebody has seen it, and nothing came since.
    pub dismissed: Option<Dismissal>,
}

/// What a check asks of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttentionWait {
    pub id: String,
    pub kind: WaitKind,
    /// The check, with its item.
    pub place: String,
    pub expires_at: Option<Millis>,
}

/// That somebody has seen it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dismissal {
    pub at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub note: String,
    /// The newest occurrence that was seen.
    pub up_to: Millis,
    /// Its run, which breaks a tie.
    pub up_to_run: RunId,
}

/// How many runs an item names.
const RUNS_MAX: usize = 5;

/// One time that something happened.
struct Occurrence {
    cause: Cause,
    at: Millis,
    run: RunId,
    summary: String,
    wait: Option<AttentionWait>,
}

impl Store {
    /// Everything that needs a person, newest first; what was dismissed is among it, and says so. `judge` tells
    /// whether the process that drives a run still lives.
    pub fn attention(&self, judge: impl Fn(&Holder) -> Liveness) -> Result<Vec<AttentionItem>, StoreError> {
        self.read(|connection| {
            let dismissals = dismissals(connection)?;
            let mut items = BTreeMap::new();
            causes::ended(connection, &dismissals, &mut items)?;
            for one in
                causes::waiting(connection)?.into_iter().chain(causes::interrupted(connection, &judge)?)
            {
                add(one, &dismissals, &mut items);
            }
            let mut items: Vec<AttentionItem> = items.into_values().collect();
            items.sort_by(|a, b| (b.last_at, &b.runs).cmp(&(a.last_at, &a.runs)));
            Ok(items)
        })
    }

    /// Keeps that somebody has seen an item as it is now.
    pub fn dismiss(
        &self,
        item: &AttentionItem,
        at: Millis,
        by: Option<String>,
        note: String,
    ) -> Result<Dismissal, StoreError> {
        let up_to_run = item.runs.first().cloned().unwrap_or_else(|| RunId::from_stored(""));
        let dismissal = Dismissal { at, by, note, up_to: item.last_at, up_to_run };
        let (fingerprint, kept) = (item.fingerprint.clone(), dismissal.clone());
        self.write(Durability::Full, move |connection| {
            connection
                .prepare_cached("INSERT INTO dismissals (fingerprint, dismissal) VALUES (?1, ?2)")?
                .execute((&fingerprint, json(&kept)?))?;
            Ok(())
        })?;
        Ok(dismissal)
    }
}

impl Cause {
    fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        let kind = format!("{:?}", self.kind);
        let subject = self.subject.as_ref().map_or(["", ""], |one| [&one.kind, &one.id]);
        for part in
            [&kind, self.reason_code.as_deref().unwrap_or_default(), &self.playbook, subject[0], subject[1]]
        {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        format!("f_{}", hex(&hasher.finalize()[..6]))
    }
}

/// The latest of each fingerprint.
fn dismissals(connection: &Connection) -> Result<BTreeMap<String, Dismissal>, Trouble> {
    let mut statement =
        connection.prepare_cached("SELECT fingerprint, dismissal FROM dismissals ORDER BY number")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, from_json(row, 1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Forgets dismissals of what no longer is there: the run that was seen last is gone, and nothing of its cause is left.
/// Whoever drives a run may be dead for all this knows.
pub(crate) fn forget_gone(connection: &Connection) -> Result<(), Trouble> {
    let dismissals = dismissals(connection)?;
    let mut left = BTreeMap::new();
    causes::ended(connection, &dismissals, &mut left)?;
    for one in
        causes::waiting(connection)?.into_iter().chain(causes::interrupted(connection, &|_| Liveness::Dead)?)
    {
        add(one, &dismissals, &mut left);
    }
    let mut is_here = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM journals WHERE run = ?1)")?;
    let mut forget = connection.prepare_cached("DELETE FROM dismissals WHERE fingerprint = ?1")?;
    for (fingerprint, seen) in dismissals.iter().filter(|(fingerprint, _)| !left.contains_key(*fingerprint)) {
        if !is_here.query_row([seen.up_to_run.as_str()], |row| row.get(0))? {
            forget.execute([fingerprint])?;
        }
    }
    Ok(())
}

impl Dismissal {
    fn covers(&self, at: Millis, run: &RunId) -> bool {
        (at, run) <= (self.up_to, &self.up_to_run)
    }
}

/// Counts an occurrence in its item; one that was dismissed shows only when nothing newer does.
fn add(
    one: Occurrence,
    dismissals: &BTreeMap<String, Dismissal>,
    items: &mut BTreeMap<String, AttentionItem>,
) {
    let fingerprint = one.cause.fingerprint();
    let dismissed = dismissals.get(&fingerprint).filter(|seen| seen.covers(one.at, &one.run));
    let fresh = |one: &Occurrence| AttentionItem {
        fingerprint: fingerprint.clone(),
        kind: one.cause.kind,
        reason_code: one.cause.reason_code.clone(),
        playbook: one.cause.playbook.clone(),
        subject: one.cause.subject.clone(),
        count: 0,
        first_at: one.at,
        last_at: one.at,
        summary: one.summary.clone(),
        runs: Vec::new(),
        wait: one.wait.clone(),
        dismissed: dismissed.cloned(),
    };
    let item = items.entry(fingerprint.clone()).or_insert_with(|| fresh(&one));
    if item.dismissed.is_some() && dismissed.is_none() {
        *item = fresh(&one);
    } else if item.dismissed.is_none() && dismissed.is_some() {
        return;
    }
    item.count += 1;
    item.first_at = item.first_at.min(one.at);
    if one.at > item.last_at {
        (item.last_at, item.summary, item.wait) = (one.at, one.summary, one.wait);
    }
    item.runs.push(one.run);
    item.runs.sort_by(|a, b| b.cmp(a));
    item.runs.truncate(RUNS_MAX);
}
