//! Folds the write-ahead log into the database beside the work, so that no commit has to wait for the disk.
//!
//! ```text
//!   commit ── the log is long ──▶ thread: fold most of it in, while others write
//!                                         then the rest and begin the log anew, while they wait a moment
//! ```
//!
//! **Invariant:** whoever opened the database for writing and leaves waits for a sweep that was begun. Many short
//! processes would else begin it one after the other and never end it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

/// How many pages a log may have. Every process that comes to the database first reads all of it.
const PAGES_MAX: i32 = 1_000;

/// How much longer a log becomes before it is tried again: somebody may be reading what keeps it.
const PAGES_MORE: i32 = 500;

/// How often, and how long after each other, it is tried to have the log for ourselves.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_micros(100);

pub(crate) struct Sweeper {
    path: PathBuf,
    /// The length at which the next sweep begins.
    due: AtomicI32,
    at_work: Mutex<Option<JoinHandle<()>>>,
}

impl Sweeper {
    /// Looks after the log that this connection writes.
    pub(crate) fn of(connection: &mut Connection, path: &Path) -> rusqlite::Result<Arc<Sweeper>> {
        let due = AtomicI32::new(PAGES_MAX);
        let sweeper = Arc::new(Sweeper { path: path.to_owned(), due, at_work: Mutex::new(None) });
        let told = Arc::clone(&sweeper);
        connection.wal_hook(Some(move |_: &mut Wal, pages| {
            told.look_at(pages);
            Ok(())
        }))?;
        Ok(sweeper)
    }

    fn look_at(&self, pages: i32) {
        if pages < PAGES_MAX {
            self.due.store(PAGES_MAX, Ordering::Relaxed);
        } else if pages >= self.due.load(Ordering::Relaxed) {
            let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
            if at_work.as_ref().is_none_or(JoinHandle::is_finished) {
                self.due.store(pages.saturating_add(PAGES_MORE), Ordering::Relaxed);
                let path = self.path.clone();
                let thread = std::thread::Builder::new().name("escrow-sweeper".into());
                // A log that is not folded in now is found by a later commit.
                *at_work = thread.spawn(move || drop(sweep(&path))).ok();
            }
        }
    }

    /// Waits for a sweep that was begun.
    pub(crate) fn finish(&self) {
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = at_work {
            // A panic there leaves the log as it is.
            let _ = thread.join();
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.finish();
    }
}

/// That the log may begin anew is known to those who have the database open now, and lost with the last of them. So a
/// page is written over the old log: the one with the version, which is written also when it stays as it is.
fn begin_anew(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    transaction.execute_batch(&format!("PRAGMA user_version={version}"))?;
    transaction.commit()
}

fn sweep(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Who waits here for readers would keep writers waiting.
    connection.busy_timeout(Duration::ZERO)?;
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    for _ in 0..TRIES {
        let is_kept: bool = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get(0))?;
        if !is_kept {
            return begin_anew(&mut connection);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
