//! Finds what needs a person: open waits, runs that ended badly or were interrupted, effects that such runs left unknown,
//! and deliveries with warnings. Grouped by cause, newest first. Indexes answer it; no journal is read.
//!
//! A dismissal covers a cause up to its newest occurrence; a newer occurrence brings the cause back.

mod causes;

use std::collections::BTreeMap;

use escrow_model::{Millis, RunId, hex};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::attention::{AttentionItem, AttentionKind, AttentionWait, Dismissal, Subject};
use crate::commit::Durability;
use crate::error::StoreError;
use crate::lease::{Holder, Liveness};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::tables::{from_json, json};

/// What cannot be derived; a step of the schema.
pub(crate) const TABLES: &str = "
CREATE TABLE dismissals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL,
    dismissal TEXT NOT NULL
) STRICT;
CREATE INDEX dismissals_by_fingerprint ON dismissals (fingerprint, number);
";

/// What makes two occurrences the same error.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    kind: AttentionKind,
    reason_code: Option<String>,
    playbook: String,
    subject: Option<Subject>,
    /// Two waits are two requests, however alike they look.
    wait: Option<String>,
}

/// How many runs an item names.
const RUNS_MAX: usize = 5;

/// One run that has the cause.
struct Occurrence {
    cause: Cause,
    at: Millis,
    run: RunId,
    summary: String,
    title: Option<String>,
    wait: Option<AttentionWait>,
}

impl BlockingStore {
    /// Everything that needs a person, newest first; what was dismissed is among it, and says so. `judge` tells
    /// whether the process that drives a run still lives.
    pub fn attention(&self, judge: impl Fn(&Holder) -> Liveness) -> Result<Vec<AttentionItem>, StoreError> {
        self.read(|connection| {
            let dismissals = dismissals(connection)?;
            let mut items = BTreeMap::new();
            causes::ended(connection, &dismissals, &mut items)?;
            for one in causes::waiting(connection)?
                .into_iter()
                .chain(causes::interrupted(connection, &judge)?)
                .chain(causes::undelivered(connection)?)
                .chain(causes::unknown_effects(connection)?)
                .chain(causes::not_begun(connection)?)
                .chain(causes::lost_logins(connection)?)
            {
                add(one, &dismissals, &mut items);
            }
            let mut items: Vec<AttentionItem> = items.into_values().collect();
            items.sort_by(|a, b| (b.last_at, &b.runs).cmp(&(a.last_at, &a.runs)));
            Ok(items)
        })
    }

    /// Marks an item as seen in its current state.
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
        if let Some(wait) = &self.wait {
            hasher.update(wait);
        }
        format!("f_{}", hex(&hasher.finalize()[..6]))
    }
}

/// The latest of each fingerprint.
fn dismissals(connection: &Connection) -> Result<BTreeMap<String, Dismissal>, SqliteError> {
    let mut statement =
        connection.prepare_cached("SELECT fingerprint, dismissal FROM dismissals ORDER BY number")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, from_json(row, 1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Forgets dismissals whose last run was removed and whose cause has no other occurrence. Every holder counts as dead
/// here, so that no dismissal is forgotten too early.
pub(crate) fn forget_gone(connection: &Connection) -> Result<(), SqliteError> {
    let dismissals = dismissals(connection)?;
    let mut left = BTreeMap::new();
    causes::ended(connection, &dismissals, &mut left)?;
    for one in causes::waiting(connection)?
        .into_iter()
        .chain(causes::interrupted(connection, &|_| Liveness::Dead)?)
        .chain(causes::undelivered(connection)?)
        .chain(causes::unknown_effects(connection)?)
        .chain(causes::not_begun(connection)?)
        .chain(causes::lost_logins(connection)?)
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

/// Counts an occurrence in its item. Dismissed occurrences count only while there is no newer one.
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
        title: one.title.clone(),
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
        item.title = one.title;
    }
    if one.cause.kind != AttentionKind::NotBegun {
        item.runs.push(one.run);
    }
    item.runs.sort_by(|a, b| b.cmp(a));
    item.runs.truncate(RUNS_MAX);
}
