//! Folds the write-ahead log into the database, so that no commit has to wait for the disk.
//!
//! ```text
//!   commit ── the log is long ──▶ thread: fold in what there is, while others write
//!   leaving ─ the log is long ──▶ fold in the rest and begin the log anew: nobody here writes any more
//! ```
//!
//! Beginning anew keeps writers waiting for the disk. So it is done beside the work only when a process goes on and on,
//! and its log with it.
//!
//! **Invariant:** whoever opened the database for writing and leaves ends what was begun. Many short processes would
//! else begin it one after the other and never end it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

/// How many pages a log may have when everybody has left. Every process that comes to the database first reads all of
/// it.
const PAGES_MAX: i32 = 2_000;

/// How many it may have while somebody works.
const PAGES_MAX_AT_WORK: i32 = 8_000;

/// How much longer a log becomes before more of it is folded in.
const PAGES_MORE: i32 = 1_000;

/// How often, and how long after each other, it is tried to have the log for ourselves.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_micros(100);

pub(crate) struct Checkpointer {
    path: PathBuf,
    /// The length of the log at the last commit.
    pages: AtomicI32,
    /// The length at which the next sweep begins.
    due: AtomicI32,
    at_work: Mutex<Option<JoinHandle<()>>>,
}

impl Checkpointer {
    /// Looks after the log that this connection writes.
    pub(crate) fn of(connection: &mut Connection, path: &Path) -> rusqlite::Result<Arc<Checkpointer>> {
        let (pages, due) = (AtomicI32::new(0), AtomicI32::new(PAGES_MAX));
        let checkpointer =
            Arc::new(Checkpointer { path: path.to_owned(), pages, due, at_work: Mutex::new(None) });
        let told = Arc::clone(&checkpointer);
        connection.wal_hook(Some(move |_: &mut Wal, pages| {
            told.look_at(pages);
            Ok(())
        }))?;
        Ok(checkpointer)
    }

    fn look_at(&self, pages: i32) {
        self.pages.store(pages, Ordering::Relaxed);
        if pages < PAGES_MAX {
            self.due.store(PAGES_MAX, Ordering::Relaxed);
        } else if pages >= self.due.load(Ordering::Relaxed) {
            let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
            if at_work.as_ref().is_none_or(JoinHandle::is_finished) {
                self.due.store(pages.saturating_add(PAGES_MORE), Ordering::Relaxed);
                let path = self.path.clone();
                let sweep = if pages < PAGES_MAX_AT_WORK { fold_in } else { begin_anew };
                let thread = std::thread::Builder::new().name("escrow-checkpointer".into());
                // A log that is not folded in now is found by a later commit.
                *at_work = thread.spawn(move || drop(sweep(&path))).ok();
            }
        }
    }

    /// Waits for a sweep that was begun, and ends it.
    pub(crate) fn finish(&self) {
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = at_work {
            // A panic there leaves the log as it is.
            let _ = thread.join();
        }
        if self.pages.swap(0, Ordering::Relaxed) >= PAGES_MAX {
            // Whoever writes next finds the log as long as it is and tries again.
            let _ = begin_anew(&self.path);
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Folds in what nobody needs where it is, and keeps nobody waiting.
fn fold_in(path: &Path) -> rusqlite::Result<()> {
    fold(&connect(path)?)
}

/// Folds everything in and begins the log anew, unless somebody else goes on needing it.
fn begin_anew(path: &Path) -> rusqlite::Result<()> {
    let mut connection = connect(path)?;
    fold(&connection)?;
    for _ in 0..TRIES {
        let is_kept: bool = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get(0))?;
        if !is_kept {
            return write_over(&mut connection);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Who waits here for readers would keep writers waiting.
    connection.busy_timeout(Duration::ZERO)?;
    connection.execute_batch("PRAGMA synchronous=NORMAL")?;
    Ok(connection)
}

fn fold(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// That the log may begin anew is known to those who have the database open now, and lost with the last of them. So a
/// page is written over the old log: the one with the version, which is written also when it stays as it is.
fn write_over(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    transaction.execute_batch(&format!("PRAGMA user_version={version}"))?;
    transaction.commit()
}
