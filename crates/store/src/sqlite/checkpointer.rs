//! Checkpoints the write-ahead log on a thread of its own, so that no commit waits for the disk.
//!
//! ```text
//!   commit ── the log is long ──▶ thread: passive checkpoint, while others write
//!   close ─── the log is long ──▶ full checkpoint, then restart the log: other processes may keep it open
//! ```
//!
//! Restarting the log makes writers wait for the disk. While a process works, that is done only once its log has grown
//! very long.
//!
//! **Invariant:** a process that opened the database for writing completes its checkpoint before it exits. Otherwise
//! many short processes would each begin one and none would complete it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

/// Pages that a log may have at exit. The first process to open the database reads all of them.
const PAGES_MAX_AT_EXIT: i32 = 2_000;

/// Pages that a log may have before it is restarted while the process works.
const PAGES_MAX_AT_WORK: i32 = 8_000;

/// How much a log grows between two passive checkpoints.
const PAGES_BETWEEN: i32 = 1_000;

/// How often, and how long after each other, a restart of the log is attempted.
const RESTART_ATTEMPTS: u32 = 50;
const RESTART_PAUSE: Duration = Duration::from_micros(100);

pub(crate) struct Checkpointer {
    path: PathBuf,
    /// The length of the log at the last commit.
    pages: AtomicI32,
    /// The length at which the next checkpoint begins.
    due: AtomicI32,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Checkpointer {
    /// Watches the log that this connection writes.
    pub(crate) fn of(connection: &mut Connection, path: &Path) -> rusqlite::Result<Arc<Checkpointer>> {
        let (pages, due) = (AtomicI32::new(0), AtomicI32::new(PAGES_MAX_AT_EXIT));
        let checkpointer =
            Arc::new(Checkpointer { path: path.to_owned(), pages, due, thread: Mutex::new(None) });
        let notified = Arc::clone(&checkpointer);
        connection.wal_hook(Some(move |_: &mut Wal, pages| {
            notified.committed(pages);
            Ok(())
        }))?;
        Ok(checkpointer)
    }

    fn committed(&self, pages: i32) {
        self.pages.store(pages, Ordering::Relaxed);
        if pages < PAGES_MAX_AT_EXIT {
            self.due.store(PAGES_MAX_AT_EXIT, Ordering::Relaxed);
        } else if pages >= self.due.load(Ordering::Relaxed) {
            let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
            if thread.as_ref().is_none_or(JoinHandle::is_finished) {
                self.due.store(pages.saturating_add(PAGES_BETWEEN), Ordering::Relaxed);
                let path = self.path.clone();
                let checkpoint = if pages < PAGES_MAX_AT_WORK { passive } else { full };
                let builder = std::thread::Builder::new().name("escrow-checkpointer".into());
                // When the thread cannot be started, a later commit tries again.
                *thread = builder.spawn(move || drop(checkpoint(&path))).ok();
            }
        }
    }

    /// Waits for a checkpoint that is under way, and completes it.
    pub(crate) fn finish(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic there leaves the log as it is.
            let _ = thread.join();
        }
        if self.pages.swap(0, Ordering::Relaxed) >= PAGES_MAX_AT_EXIT {
            // On failure the log stays long, and the next writer tries again.
            let _ = full(&self.path);
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Copies the pages that no reader needs in the log, without making any process wait.
fn passive(path: &Path) -> rusqlite::Result<()> {
    checkpoint_passively(&connect(path)?)
}

/// Copies all pages and restarts the log, unless another process keeps reading from it.
fn full(path: &Path) -> rusqlite::Result<()> {
    let mut connection = connect(path)?;
    checkpoint_passively(&connection)?;
    for _ in 0..RESTART_ATTEMPTS {
        let is_busy: bool = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get(0))?;
        if !is_busy {
            return overwrite_log(&mut connection);
        }
        std::thread::sleep(RESTART_PAUSE);
    }
    Ok(())
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Waiting for readers here would make writers wait too.
    connection.busy_timeout(Duration::ZERO)?;
    connection.execute_batch("PRAGMA synchronous=NORMAL")?;
    Ok(connection)
}

fn checkpoint_passively(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Makes a restart of the log permanent. SQLite keeps the restart in shared memory and loses it with the last open
/// connection, so one page is written over the start of the log: the page with the version, written even when the
/// version is unchanged.
fn overwrite_log(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    transaction.execute_batch(&format!("PRAGMA user_version={version}"))?;
    transaction.commit()
}
