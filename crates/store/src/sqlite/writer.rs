//! The single writer: batches jobs from all runs into one transaction.
//!
//! Each job runs in its own savepoint: a job that fails takes only itself back. A batch is synced to the disk if
//! any of its jobs asks for that, and each job is answered only after the batch has been committed.
//!
//! A job that needs no sync and finds the connection free is done by the calling thread: waking another one costs
//! more than the work. Everything else queues for the writer's thread, which is started for the first such job.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tracing::debug;

use crate::commit::Durability;
use crate::error::{StoreError, StoreErrorKind};
use crate::sqlite::checkpointer::Checkpointer;
use crate::sqlite::connect;
use crate::sqlite::error::SqliteError;
use crate::sqlite::high_water_mark::{self, HighWaterMark};
use crate::sqlite::identity::{FileIdentity, WrittenFiles};

/// How many jobs one transaction takes, so that the first of a long queue need not wait for the last.
const BATCH_MAX: usize = 256;

/// Where a write comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A thread that may sleep while another process holds the write lock.
    Thread,
    /// A task, whose thread has other work: a locked database is left to the writer's thread.
    Task,
}

/// A change to the database, and the way to answer its caller. `attempt` may be called again after a rollback.
trait Job: Send {
    fn durability(&self) -> Durability;
    fn attempt(&mut self, connection: &Connection) -> Result<(), SqliteError>;
    fn answer(self: Box<Self>, failure: Option<StoreError>);
}

struct Task<T, Work, Reply> {
    durability: Durability,
    work: Work,
    reply: Reply,
    value: Option<T>,
}

impl<T, Work, Reply> Job for Task<T, Work, Reply>
where
    T: Send,
    Work: FnMut(&Connection) -> Result<T, SqliteError> + Send,
    Reply: FnOnce(Result<T, StoreError>) + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn attempt(&mut self, connection: &Connection) -> Result<(), SqliteError> {
        self.value = None;
        self.value = Some((self.work)(connection)?);
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<StoreError>) {
        let nothing_ran = || StoreError::new(StoreErrorKind::Internal, "the job was answered before it ran");
        (self.reply)(match failure {
            Some(error) => Err(error),
            None => self.value.ok_or_else(nothing_ran),
        });
    }
}

/// The callers' side. Dropping it drains the queue, then closes the connection.
pub(crate) struct Writer {
    connection: Arc<Mutex<WriteConnection>>,
    thread: OnceLock<Thread>,
    /// Jobs that the thread has not committed yet: no later job may overtake them.
    queued: Arc<AtomicUsize>,
    checkpointer: Arc<Checkpointer>,
}

struct Thread {
    /// Not bounded: every caller awaits its answer, so there are never more jobs than callers.
    queue: Option<Sender<Box<dyn Job>>>,
    handle: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn new(
        mut connection: Connection,
        path: PathBuf,
        identity: FileIdentity,
        busy_timeout: Duration,
    ) -> rusqlite::Result<Writer> {
        let checkpointer = Checkpointer::of(&mut connection, &path)?;
        let may_wait = Arc::new(AtomicBool::new(true));
        connect::wait_when_busy(&mut connection, busy_timeout, Arc::clone(&may_wait))?;
        // As `connect` has left it.
        let synced = Some(Durability::Grouped);
        let mark = HighWaterMark::new(&path);
        let files = WrittenFiles::new(&path, identity);
        let connection = WriteConnection { connection, path, files, synced, may_wait, mark };
        let connection = Arc::new(Mutex::new(connection));
        Ok(Writer { connection, thread: OnceLock::new(), queued: Arc::default(), checkpointer })
    }

    /// Waits for a checkpoint that is under way.
    pub(crate) fn settle(&self) {
        self.checkpointer.finish();
    }

    pub(crate) fn submit<T: Send + 'static>(
        &self,
        durability: Durability,
        caller: Caller,
        work: impl FnMut(&Connection) -> Result<T, SqliteError> + Send + 'static,
        reply: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        let mut job: Box<dyn Job> = Box::new(Task { durability, work, reply, value: None });
        if durability == Durability::Grouped
            && self.queued.load(Ordering::Acquire) == 0
            && let Ok(mut connection) = self.connection.try_lock()
        {
            let written = match caller {
                Caller::Thread => Ok(connection.write(vec![job])),
                Caller::Task => connection.write_unless_locked(job),
            };
            drop(connection);
            match written {
                Ok(done) => return answer_all(done),
                Err(refused) => job = refused,
            }
        }
        self.enqueue(job);
    }

    fn enqueue(&self, job: Box<dyn Job>) {
        let start = || Thread::start(Arc::clone(&self.connection), Arc::clone(&self.queued));
        let thread = self.thread.get_or_init(start);
        self.queued.fetch_add(1, Ordering::AcqRel);
        let refused = match &thread.queue {
            Some(queue) => queue.send(job).err().map(|error| error.0),
            None => Some(job),
        };
        if let Some(job) = refused {
            self.queued.fetch_sub(1, Ordering::AcqRel);
            job.answer(Some(StoreError::new(StoreErrorKind::Internal, "the writer of the store is gone")));
        }
    }
}

impl Thread {
    /// Without a thread every job is refused.
    fn start(connection: Arc<Mutex<WriteConnection>>, queued: Arc<AtomicUsize>) -> Thread {
        let (queue, jobs) = channel();
        let thread = std::thread::Builder::new().name("escrow-store".into());
        match thread.spawn(move || work_off(&connection, &queued, &jobs)) {
            Ok(handle) => Thread { queue: Some(queue), handle: Some(handle) },
            Err(_) => Thread { queue: None, handle: None },
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.queue = None;
        let Some(handle) = self.handle.take() else { return };
        // A reply may drop the last handle of the store, on the writer's own thread.
        if handle.thread().id() != std::thread::current().id() {
            // A panic there has been answered to its callers by a closed channel.
            let _ = handle.join();
        }
    }
}

fn work_off(connection: &Mutex<WriteConnection>, queued: &AtomicUsize, jobs: &Receiver<Box<dyn Job>>) {
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH_MAX {
            match jobs.try_recv() {
                Ok(job) => batch.push(job),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let done = locked(connection).write(batch);
        queued.fetch_sub(done.len(), Ordering::AcqRel);
        answer_all(done);
    }
}

/// After a panic the next batch rolls back what is left open; the connection itself is sound.
fn locked(connection: &Mutex<WriteConnection>) -> MutexGuard<'_, WriteConnection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Jobs, each with its failure.
type Done = Vec<(Box<dyn Job>, Option<StoreError>)>;

/// Outside the lock: a caller that is answered may submit its next job at once.
fn answer_all(done: Done) {
    for (job, failure) in done {
        job.answer(failure);
    }
}

struct WriteConnection {
    connection: Connection,
    path: PathBuf,
    files: WrittenFiles,
    /// What `PRAGMA synchronous` was last set to.
    synced: Option<Durability>,
    /// Whether the busy handler may sleep.
    may_wait: Arc<AtomicBool>,
    mark: HighWaterMark,
}

impl WriteConnection {
    /// Writes one job, or gives it back when another process holds the write lock.
    fn write_unless_locked(&mut self, mut job: Box<dyn Job>) -> Result<Done, Box<dyn Job>> {
        self.may_wait.store(false, Ordering::Relaxed);
        let begun = self.begin(job.durability());
        self.may_wait.store(true, Ordering::Relaxed);
        let failure = match begun {
            Err(error) if error.kind() == StoreErrorKind::Locked => return Err(job),
            Err(error) => Some(error),
            Ok(()) => self.finish(std::slice::from_mut(&mut job)).err(),
        };
        Ok(vec![(job, failure.map(|error| error.at(&self.path)))])
    }

    fn write(&mut self, mut batch: Vec<Box<dyn Job>>) -> Done {
        match self.try_batch(&mut batch) {
            Ok(failures) => {
                let named = |failure: Option<SqliteError>| failure.map(|error| error.at(&self.path));
                batch.into_iter().zip(failures.into_iter().map(named)).collect()
            }
            // A job that needs much space must not fail its neighbours.
            Err(error) if batch.len() > 1 && error.kind() == StoreErrorKind::DiskFull => {
                batch.into_iter().flat_map(|job| self.write(vec![job])).collect()
            }
            Err(error) => {
                let error = error.at(&self.path);
                batch.into_iter().map(|job| (job, Some(error.clone()))).collect()
            }
        }
    }

    /// Runs the batch as one transaction. `Err` means that none of it was written.
    fn try_batch(&mut self, batch: &mut [Box<dyn Job>]) -> Result<Vec<Option<SqliteError>>, SqliteError> {
        let durability = batch.iter().map(|job| job.durability()).max().unwrap_or(Durability::Grouped);
        self.begin(durability)?;
        self.finish(batch)
    }

    fn begin(&mut self, durability: Durability) -> Result<(), SqliteError> {
        self.roll_back(); // what a job that panicked has left open
        self.sync_as(durability)?;
        self.execute("BEGIN IMMEDIATE")
    }

    /// Runs the jobs inside the open transaction and commits it. `Err` means that none of it was written.
    fn finish(&mut self, batch: &mut [Box<dyn Job>]) -> Result<Vec<Option<SqliteError>>, SqliteError> {
        let mut failures = Vec::with_capacity(batch.len());
        if let [only] = batch {
            // What it leaves behind when it fails goes with the transaction.
            if let Err(error) = only.attempt(&self.connection) {
                self.roll_back();
                return Err(error);
            }
            failures.push(None);
        } else {
            self.try_jobs(batch, &mut failures)?;
        }
        let end = high_water_mark::end(&self.connection);
        if let Err(error) = self.files.verify().and_then(|()| self.execute("COMMIT")) {
            self.roll_back();
            return Err(error);
        }
        // A commit to files that lost their names meanwhile is lost too.
        self.files.verify()?;
        if let (Ok(Some(end)), Some(durability)) = (end, self.synced) {
            self.mark.record(end, durability);
        }
        debug!(jobs = batch.len(), synced = ?self.synced, "transaction committed");
        Ok(failures)
    }

    /// Runs each job in a savepoint of its own. `Err` means that the whole transaction is lost.
    fn try_jobs(
        &self,
        batch: &mut [Box<dyn Job>],
        failures: &mut Vec<Option<SqliteError>>,
    ) -> Result<(), SqliteError> {
        for job in batch.iter_mut() {
            match self.try_job(job.as_mut()) {
                Ok(failure) => failures.push(failure),
                Err(error) => {
                    self.roll_back();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Runs one job in a savepoint. `Err` means that the whole transaction is lost.
    fn try_job(&self, job: &mut dyn Job) -> Result<Option<SqliteError>, SqliteError> {
        self.execute("SAVEPOINT job")?;
        let Err(error) = job.attempt(&self.connection) else {
            self.execute("RELEASE job")?;
            return Ok(None);
        };
        // SQLite itself rolls everything back after some errors, above all when the disk is full.
        if self.connection.is_autocommit() {
            return Err(error);
        }
        self.execute("ROLLBACK TO job")?;
        self.execute("RELEASE job")?;
        Ok(Some(error))
    }

    /// With `FULL` every commit waits until the log is on the disk, and with it all commits before; with
    /// `NORMAL` a power cut may take the latest commits, a crash of the process takes nothing.
    fn sync_as(&mut self, durability: Durability) -> Result<(), SqliteError> {
        if self.synced != Some(durability) {
            self.synced = None;
            // Not a cached statement: SQLite obeys this pragma while it is prepared, not when it is run.
            self.connection.execute_batch(match durability {
                Durability::Full => "PRAGMA synchronous=FULL",
                Durability::Grouped => "PRAGMA synchronous=NORMAL",
            })?;
            self.synced = Some(durability);
        }
        Ok(())
    }

    fn execute(&self, sql: &str) -> Result<(), SqliteError> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            // It fails only when there is no transaction left, and then it has been rolled back.
            let _ = self.execute("ROLLBACK");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    fn connect(directory: &tempfile::TempDir) -> WriteConnection {
        let path = directory.path().join("escrow.db");
        let (connection, identity) = connect::for_writing(&path, Duration::from_secs(1)).unwrap();
        connection.execute_batch("CREATE TABLE boxes (size INTEGER, content BLOB)").unwrap();
        let mark = HighWaterMark::new(&path);
        let files = WrittenFiles::new(&path, identity);
        WriteConnection { connection, path, files, synced: None, may_wait: Arc::default(), mark }
    }

    /// Puts boxes of these sizes into one batch, -1 for one that breaks, and tells what became of each.
    fn check(writer: &mut WriteConnection, sizes: &[i64], expected: &[Option<StoreErrorKind>]) {
        let (sender, answers) = channel();
        let batch = sizes.iter().map(|&size| -> Box<dyn Job> {
            let sender = sender.clone();
            let work = move |connection: &Connection| {
                connection.execute("INSERT INTO boxes VALUES (?1, zeroblob(max(?1, 1)))", [size])?;
                let broken =
                    || SqliteError::Known(StoreErrorKind::OutOfStep { expected: 0, actual: 1 }, "no".into());
                if size < 0 { Err(broken()) } else { Ok(()) }
            };
            let reply = move |result: Result<(), StoreError>| {
                sender.send(result.err().map(|error| error.kind)).unwrap()
            };
            Box::new(Task { durability: Durability::Grouped, work, reply, value: None })
        });
        let before = boxes(writer);
        answer_all(writer.write(batch.collect()));
        drop(sender);
        assert_eq!(answers.iter().collect::<Vec<_>>(), expected);
        let kept = sizes.iter().zip(expected).filter(|(_, failure)| failure.is_none()).map(|(size, _)| *size);
        let expected: Vec<_> = before.into_iter().chain(kept).collect();
        assert_eq!(boxes(writer), expected, "what was confirmed is there, and nothing else");
    }

    fn boxes(writer: &WriteConnection) -> Vec<i64> {
        let mut statement = writer.connection.prepare("SELECT size FROM boxes ORDER BY rowid").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_job_that_fails_takes_only_itself_back() {
        let directory = tempfile::tempdir().unwrap();
        let broken = Some(StoreErrorKind::OutOfStep { expected: 0, actual: 1 });
        check(&mut connect(&directory), &[1, -1, 2, -1, 3], &[None, broken, None, broken, None]);
    }

    #[test]
    fn a_full_disk_fails_only_the_jobs_that_do_not_fit_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = connect(&directory);
        check(&mut writer, &[10, 20], &[None, None]);
        let pages: i64 = writer.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        writer.connection.execute_batch(&format!("PRAGMA max_page_count={}", pages + 2)).unwrap();
        let full = Some(StoreErrorKind::DiskFull);
        check(&mut writer, &[100_000], &[full]);
        check(&mut writer, &[30, 100_000, 40], &[None, full, None]);
        writer.connection.execute_batch("PRAGMA max_page_count=100000").unwrap();
        check(&mut writer, &[100_000], &[None]);
    }

    #[test]
    fn each_batch_is_synced_as_its_most_careful_job_asks() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = connect(&directory);
        use Durability::{Full, Grouped};
        for (jobs, level) in [
            (&[Grouped][..], 1),
            (&[Full], 2),
            (&[Grouped, Grouped], 1),
            (&[Grouped, Full, Grouped], 2),
            (&[Full], 2),
            (&[Grouped], 1),
        ] {
            let batch = jobs.iter().map(|&durability| -> Box<dyn Job> {
                Box::new(Task { durability, work: |_: &Connection| Ok(()), reply: |_| {}, value: None })
            });
            answer_all(writer.write(batch.collect()));
            let found: i64 = writer.connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
            assert_eq!(found, level, "{jobs:?}");
        }
    }
}
