//! Runs of playbooks that have ended, read from the feed by position.

use escrow_model::{ChainId, Event, RunId};
use rusqlite::{Connection, OptionalExtension};

use crate::entry::decode;
use crate::error::StoreError;
use crate::fire::EndedRun;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;

/// How many ends are read at once.
const ENDS_MAX: u64 = 500;

impl BlockingStore {
    /// Runs of playbooks that ended after this position of the feed, and the position up to which it was read.
    pub fn ended_runs(&self, after: u64) -> Result<(Vec<EndedRun>, u64), StoreError> {
        self.read(|connection| {
            let end: u64 = connection
                .prepare_cached("SELECT coalesce(max(global), 0) FROM entries")?
                .query_row([], |row| row.get(0))?;
            let mut statement = connection.prepare_cached(
                "SELECT entries.global, journals.run, entries.seq, entries.bytes
                 FROM entries JOIN journals ON journals.id = entries.journal
                 WHERE entries.global > ?1 AND entries.global <= ?2
                   AND instr(entries.bytes, CAST('\"run_ended\"' AS BLOB)) > 0
                 ORDER BY entries.global LIMIT ?3",
            )?;
            let mut rows = statement.query((after, end, ENDS_MAX))?;
            let (mut ended, mut read, mut last) = (Vec::new(), 0, after);
            while let Some(row) = rows.next()? {
                let (position, run, seq): (u64, String, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let bytes: Vec<u8> = row.get(3)?;
                (read, last) = (read + 1, position);
                let entry = decode(&run, seq, &bytes)?;
                if let Event::RunEnded { .. } = entry.event {
                    ended.extend(described(position, &run, seq, entry.at, connection)?);
                }
            }
            Ok((ended, if read < ENDS_MAX { end } else { last }))
        })
    }
}

/// `None` for a run of a chain or of a show, and for one that was removed.
fn described(
    position: u64,
    run: &str,
    seq: u64,
    ended_at: u64,
    connection: &Connection,
) -> Result<Option<EndedRun>, SqliteError> {
    let found: Option<(bool, Option<String>)> = connection
        .prepare_cached(
            "SELECT runs.kind <> 'playbook',
                    (SELECT chain_runs.id FROM chain_runs WHERE chain_runs.id = runs.root)
             FROM runs WHERE runs.id = ?1",
        )?
        .query_row([run], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((false, chain_run)) = found else { return Ok(None) };
    let origin: Option<(String, Option<u32>)> = match &chain_run {
        Some(chain_run) => connection
            .prepare_cached(
                "SELECT chain_runs.chain_id, fires.depth
                 FROM chain_runs LEFT JOIN fires ON fires.run = chain_runs.id WHERE chain_runs.id = ?1",
            )?
            .query_row([chain_run], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?,
        None => None,
    };
    let (chain, depth) = match origin {
        // A fire that is not recorded is one from outside.
        Some((chain, depth)) => (Some(ChainId::from_stored(chain)), depth.unwrap_or(1)),
        None => (None, 0),
    };
    let run = RunId::from_stored(run);
    let chain_run = chain_run.map(RunId::from_stored);
    Ok(Some(EndedRun { position, run, seq, ended_at, chain_run, chain, depth }))
}
