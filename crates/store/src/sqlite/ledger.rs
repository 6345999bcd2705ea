//! The ledger of lifecycle receipts: numbered within their runs, found by their keys, hashed into one chain.
//!
//! ```text
//!   claim ──▶ receipt_keys (until …)
//!   record ─▶ receipt_runs: next number ─▶ receipts: body, digest ─▶ receipt_keys: receipt ─▶ receipt_head
//!   forget ─▶ receipts become forgotten_receipts, of which only the digest is left
//! ```
//!
//! **Invariant:** each operation is one transaction that takes the write lock first, so that processes which
//! share a ledger see each other's numbers and keys. Positions have no gaps: a missing one was
//! removed by another program.

pub(in crate::sqlite) mod chain;
mod query;

use std::path::{Path, PathBuf};
use std::time::Duration;

use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::{
    ChainDigest, ChainState, Claim, IdempotencyScope, Ledger, LedgerError, ReceiptQuery, Recorded, Retention,
    same_content,
};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};

use crate::error::{StoreError, StoreErrorKind};
use crate::sqlite::blocking::{Mode, Options};
use crate::sqlite::connect;
use crate::sqlite::error::SqliteError;
use crate::sqlite::identity::{FileIdentity, WrittenFiles};

/// Not derived from any journal, so these are migrated and never rebuilt.
pub(crate) const TABLES: &str = "
CREATE TABLE receipts (
    position INTEGER PRIMARY KEY,
    receipt_id TEXT NOT NULL UNIQUE,
    run TEXT,
    sequence INTEGER,
    client TEXT NOT NULL,
    adapter TEXT NOT NULL,
    event TEXT NOT NULL,
    status TEXT NOT NULL,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    digest BLOB NOT NULL,
    UNIQUE (run, sequence)
) STRICT;
CREATE INDEX receipts_at ON receipts (at);

CREATE TABLE forgotten_receipts (
    position INTEGER PRIMARY KEY,
    digest BLOB NOT NULL
) STRICT;

CREATE TABLE receipt_head (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    position INTEGER NOT NULL,
    digest BLOB
) STRICT;
INSERT INTO receipt_head VALUES (1, 0, NULL);

CREATE TABLE receipt_keys (
    client TEXT NOT NULL,
    adapter TEXT NOT NULL,
    key TEXT NOT NULL,
    position INTEGER,
    claimed_until INTEGER,
    PRIMARY KEY (client, adapter, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipt_keys_position ON receipt_keys (position);

CREATE TABLE receipt_runs (
    run TEXT PRIMARY KEY,
    last_sequence INTEGER NOT NULL,
    forgotten_sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// The receipts in one database file. Several processes may have it open.
pub struct ReceiptLedger {
    connection: Connection,
    path: PathBuf,
    files: WrittenFiles,
    mode: Mode,
}

/// How long the write-ahead log may be when a writer leaves.
///
/// Each event has a process of its own, which reads the whole log, writes once and never gets to restart the log. A
/// process that would leave a long log behind therefore checkpoints it.
const WAL_BYTES_LEFT: u64 = 100 * 4096;

impl Drop for ReceiptLedger {
    fn drop(&mut self) {
        let is_long =
            || std::fs::metadata(connect::log_of(&self.path)).is_ok_and(|log| log.len() > WAL_BYTES_LEFT);
        if self.mode == Mode::Write && is_long() {
            // Without waiting: pages that another process still reads stay, and the next process tries again.
            let _ = self.connection.busy_timeout(Duration::ZERO);
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }
}

impl ReceiptLedger {
    /// For writing, makes the file when it is not there; for reading, makes and changes nothing.
    pub fn open(path: &Path, mode: Mode) -> Result<ReceiptLedger, StoreError> {
        let busy_timeout = Options::default().busy_timeout;
        let opened = match mode {
            Mode::Write => open_for_writing(path, busy_timeout),
            Mode::Read => {
                connect::for_reading(path, busy_timeout).and_then(|found| found.ok_or_else(|| absent(path)))
            }
        };
        opened.map(|opened| ReceiptLedger::new(opened, path, mode)).map_err(|error| error.at(path))
    }

    /// For the receipts of hooks: written with the next sync of the system instead of one of their own. A crash of the
    /// machine loses the last ones, and no hook waits for the disk.
    pub fn open_grouped(path: &Path) -> Result<ReceiptLedger, StoreError> {
        let busy_timeout = Duration::from_secs(2);
        let opened = connect::for_writing(path, busy_timeout).map_err(|error| error.at(path))?;
        Ok(ReceiptLedger::new(opened, path, Mode::Write))
    }

    fn new((connection, identity): (Connection, FileIdentity), path: &Path, mode: Mode) -> ReceiptLedger {
        let files = WrittenFiles::new(path, identity);
        ReceiptLedger { connection, path: path.to_owned(), files, mode }
    }

    fn read<T>(&self, query: impl FnOnce(&Connection) -> Result<T, Problem>) -> Result<T, LedgerError> {
        query(&self.connection).map_err(|problem| problem.at(&self.path))
    }

    /// One transaction. What the work refuses is not written.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Problem>,
    ) -> Result<T, LedgerError> {
        let (path, files) = (&self.path, &mut self.files);
        let attempt = || -> Result<T, Problem> {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            files.verify()?;
            transaction.commit()?;
            files.verify()?;
            Ok(done)
        };
        attempt().map_err(|problem| problem.at(path))
    }
}

fn absent(path: &Path) -> SqliteError {
    match path.exists() {
        true => SqliteError::Known(StoreErrorKind::Foreign, "the file is empty, and not a ledger".into()),
        false => SqliteError::Known(StoreErrorKind::Unopenable, "there is no ledger".into()),
    }
}

/// A receipt is the proof that something was done, so it is on the disk before anybody sees it.
fn open_for_writing(path: &Path, busy_timeout: Duration) -> Result<(Connection, FileIdentity), SqliteError> {
    let (connection, identity) = connect::for_writing(path, busy_timeout)?;
    connection.execute_batch("PRAGMA synchronous=FULL")?;
    Ok((connection, identity))
}

/// Why an operation was not done, before it is known in which file.
enum Problem {
    Refused(LedgerError),
    SqliteError(SqliteError),
}

impl Problem {
    fn corrupt(what: impl Into<String>) -> Problem {
        Problem::SqliteError(SqliteError::Known(StoreErrorKind::Corrupt, what.into()))
    }

    fn at(self, path: &Path) -> LedgerError {
        match self {
            Problem::Refused(error) => error,
            Problem::SqliteError(error) => LedgerError::Storage(error.at(path).to_string()),
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Problem {
        Problem::SqliteError(error.into())
    }
}

impl From<SqliteError> for Problem {
    fn from(error: SqliteError) -> Problem {
        Problem::SqliteError(error)
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Problem {
        Problem::Refused(error)
    }
}

impl Ledger for ReceiptLedger {
    fn record(&mut self, draft: LifecycleReceipt) -> Result<Recorded, LedgerError> {
        self.write(|transaction| {
            let scope = IdempotencyScope::of(&draft);
            if let Some(scope) = &scope
                && let Some(kept) = find(transaction, scope)?
            {
                return if same_content(&kept, &draft) {
                    Ok(Recorded::Replay(kept))
                } else {
                    Err(LedgerError::Conflict(scope.idempotency_key.clone()).into())
                };
            }
            let (position, receipt) = keep(transaction, draft)?;
            if let Some(IdempotencyScope { client_id, adapter_id, idempotency_key }) = &scope {
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO receipt_keys VALUES (?1, ?2, ?3, ?4, NULL)")?
                    .execute((client_id, adapter_id, idempotency_key, position))?;
            }
            Ok(Recorded::New(receipt))
        })
    }

    fn record_attempt(&mut self, draft: LifecycleReceipt) -> Result<LifecycleReceipt, LedgerError> {
        self.write(|transaction| keep(transaction, draft).map(|(_, receipt)| receipt))
    }

    fn find(&mut self, scope: &IdempotencyScope) -> Result<Option<LifecycleReceipt>, LedgerError> {
        self.read(|connection| find(connection, scope))
    }

    fn query(&mut self, query: &ReceiptQuery) -> Result<Vec<LifecycleReceipt>, LedgerError> {
        self.read(|connection| query::receipts(connection, query))
    }

    fn claim(
        &mut self,
        scope: &IdempotencyScope,
        now_epoch_s: u64,
        lease_s: u64,
    ) -> Result<Claim, LedgerError> {
        let IdempotencyScope { client_id, adapter_id, idempotency_key } = scope;
        self.write(|transaction| {
            if let Some(receipt) = find(transaction, scope)? {
                return Ok(Claim::Replay(Box::new(receipt)));
            }
            let claimed_until: Option<Option<i64>> = transaction
                .prepare_cached(
                    "SELECT claimed_until FROM receipt_keys WHERE client = ?1 AND adapter = ?2 AND key = ?3",
                )?
                .query_row((client_id, adapter_id, idempotency_key), |row| row.get(0))
                .optional()?;
            if let Some(until) = claimed_until.flatten()
                && until > seconds(now_epoch_s)
            {
                return Ok(Claim::Busy { until_epoch_s: until.unsigned_abs() });
            }
            transaction
                .prepare_cached("INSERT OR REPLACE INTO receipt_keys VALUES (?1, ?2, ?3, NULL, ?4)")?
                .execute((
                    client_id,
                    adapter_id,
                    idempotency_key,
                    seconds(now_epoch_s.saturating_add(lease_s)),
                ))?;
            Ok(Claim::Granted)
        })
    }

    fn release(&mut self, scope: &IdempotencyScope) -> Result<(), LedgerError> {
        let IdempotencyScope { client_id, adapter_id, idempotency_key } = scope;
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "DELETE FROM receipt_keys
                     WHERE client = ?1 AND adapter = ?2 AND key = ?3 AND position IS NULL",
                )?
                .execute((client_id, adapter_id, idempotency_key))?;
            Ok(())
        })
    }

    fn forget(&mut self, retention: Retention) -> Result<u64, LedgerError> {
        self.write(|transaction| chain::forget(transaction, seconds(retention.before_epoch_s)))
    }

    fn forgotten_sequence(&mut self, harness_run_id: &str) -> Result<u64, LedgerError> {
        self.read(|connection| {
            let found: Option<u64> = connection
                .prepare_cached("SELECT forgotten_sequence FROM receipt_runs WHERE run = ?1")?
                .query_row([harness_run_id], |row| row.get(0))
                .optional()?;
            Ok(found.unwrap_or(0))
        })
    }

    fn verify(&mut self) -> Result<ChainState, LedgerError> {
        self.read(chain::verify)
    }
}

/// Numbers a draft and puts it at the end of the chain.
fn keep(
    transaction: &Transaction<'_>,
    mut draft: LifecycleReceipt,
) -> Result<(u64, LifecycleReceipt), Problem> {
    let is_taken = transaction
        .prepare_cached("SELECT 1 FROM receipts WHERE receipt_id = ?1")?
        .exists([&draft.receipt_id])?;
    if is_taken {
        return Err(LedgerError::DuplicateReceiptId(draft.receipt_id).into());
    }
    if let Some(run) = &draft.harness_run_id {
        let sequence: u64 = transaction
            .prepare_cached(
                "INSERT INTO receipt_runs VALUES (?1, 1, 0)
                 ON CONFLICT (run) DO UPDATE SET last_sequence = last_sequence + 1
                 RETURNING last_sequence",
            )?
            .query_row([run], |row| row.get(0))?;
        draft.sequence = Some(sequence);
    }
    let body = serde_json::to_vec(&draft).map_err(|error| Problem::corrupt(error.to_string()))?;
    let (last, previous) = chain::head(transaction)?;
    let position = last + 1;
    let digest = ChainDigest::after(previous.as_ref(), &body);
    transaction
        .prepare_cached("INSERT INTO receipts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?
        .execute((
            position,
            &draft.receipt_id,
            &draft.harness_run_id,
            draft.sequence,
            &draft.client_id,
            &draft.adapter_id,
            draft.event.as_str(),
            draft.status.as_str(),
            seconds(draft.at_epoch_s),
            &body,
            digest.as_bytes().as_slice(),
        ))?;
    transaction
        .prepare_cached("UPDATE receipt_head SET position = ?1, digest = ?2")?
        .execute((position, digest.as_bytes().as_slice()))?;
    Ok((position, draft))
}

fn find(connection: &Connection, scope: &IdempotencyScope) -> Result<Option<LifecycleReceipt>, Problem> {
    let mut statement = connection.prepare_cached(
        "SELECT receipts.receipt_id, body FROM receipt_keys JOIN receipts USING (position)
         WHERE receipt_keys.client = ?1 AND receipt_keys.adapter = ?2 AND key = ?3",
    )?;
    let mut rows = statement.query((&scope.client_id, &scope.adapter_id, &scope.idempotency_key))?;
    rows.next()?.map(receipt_in).transpose()
}

/// The receipt of a row `receipt_id, body`.
fn receipt_in(row: &Row<'_>) -> Result<LifecycleReceipt, Problem> {
    let body = row.get_ref(1)?.as_blob().ok().and_then(|bytes| std::str::from_utf8(bytes).ok());
    match body.map(LifecycleReceipt::read) {
        Some(Ok(receipt)) => Ok(receipt),
        Some(Err(_)) | None => {
            let id: String = row.get(0)?;
            Err(Problem::corrupt(format!("receipt `{id}` is not what was written")))
        }
    }
}

/// SQLite counts to half of what the wire does. No calendar reaches the other half.
fn seconds(epoch_s: u64) -> i64 {
    i64::try_from(epoch_s).unwrap_or(i64::MAX)
}
