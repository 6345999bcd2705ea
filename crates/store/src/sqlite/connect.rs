//! Opens connections for writing and for reading.

use std::fs::{self, Metadata, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreErrorKind;
use crate::sqlite::error::SqliteError;
use crate::sqlite::identity::{FileIdentity, opened};
use crate::sqlite::{high_water_mark, schema};

/// Statements that stay prepared; more than all projections together have.
const STATEMENTS_CACHED: usize = 128;

/// The size that the write-ahead log is cut back to after a large transaction.
const WAL_BYTES_KEPT: u32 = 8 << 20;

/// The page size of new databases. A commit is short and writes whole pages, and the first process to open the database
/// reads all of them from the log.
const PAGE_BYTES: u32 = 2_048;

/// Opens the database for writing; makes it when it does not exist. Also says which file it is.
pub(crate) fn for_writing(
    path: &Path,
    busy_timeout: Duration,
) -> Result<(Connection, FileIdentity), SqliteError> {
    make_private(path);
    opened(path, || writer(path, busy_timeout))
}

fn writer(path: &Path, busy_timeout: Duration) -> Result<Connection, SqliteError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    prepare(&mut connection, busy_timeout)?;
    if connection.is_readonly("main")? {
        return Err(SqliteError::Known(StoreErrorKind::ReadOnly, "the database may not be written".into()));
    }
    let version = schema::version(&connection)?;
    if version == 0 {
        connection.execute_batch(&format!("PRAGMA page_size={PAGE_BYTES}"))?;
    }
    connection
        .execute_batch(&format!("PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit={WAL_BYTES_KEPT}"))?;
    // What is deleted is overwritten: a message may hold a secret until it is delivered.
    connection.query_row("PRAGMA secure_delete=ON", [], |_| Ok(()))?;
    use_wal(&connection, busy_timeout)?;
    if version != schema::VERSION {
        schema::migrate(&mut connection)?;
    }
    high_water_mark::record_loss(&connection, path)?;
    Ok(connection)
}

/// Opens the database for reading; `None` when it does not exist or is still empty.
///
/// The file is opened writable where that is allowed, because the log of a process that was killed may need to
/// be indexed again; `query_only` keeps us from changing anything. In a directory that may not be written and
/// that has no log, the file is read as it is.
pub(crate) fn for_reading(
    path: &Path,
    busy_timeout: Duration,
) -> Result<Option<(Connection, FileIdentity)>, SqliteError> {
    if !path.try_exists().unwrap_or(true) {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = || {
        reader(path, flags, busy_timeout).or_else(|error| match error.kind() {
            StoreErrorKind::Unopenable | StoreErrorKind::ReadOnly => {
                read_unchanging(path, busy_timeout).ok_or(error)
            }
            _ => Err(error),
        })
    };
    let ((connection, version), identity) = opened(path, read)?;
    match version {
        0 => Ok(None),
        schema::VERSION => Ok(Some((connection, identity))),
        found => Err(SqliteError::Known(
            StoreErrorKind::OlderVersion { found, known: schema::VERSION },
            format!("the database has version {found}, this Escrow reads version {}", schema::VERSION),
        )),
    }
}

fn reader(path: &Path, flags: OpenFlags, busy_timeout: Duration) -> Result<(Connection, u32), SqliteError> {
    let mut connection = Connection::open_with_flags(path, flags)?;
    prepare(&mut connection, busy_timeout)?;
    connection.execute_batch("PRAGMA query_only=ON")?;
    let version = schema::version(&connection)?;
    Ok((connection, version))
}

/// Reads a database that no process can be writing to: its directory refuses the log that a write would need.
fn read_unchanging(path: &Path, busy_timeout: Duration) -> Option<(Connection, u32)> {
    if log_of(path).try_exists().unwrap_or(true) {
        return None;
    }
    let escaped = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let address = format!("file:{escaped}?immutable=1");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    reader(Path::new(&address), flags, busy_timeout).ok()
}

/// Makes sure that only its owner can read the database. SQLite gives the log and the shared memory the same rights,
/// whatever the umask.
///
/// Problems are left to SQLite: it says better why a file cannot be opened. A database that belongs to another user
/// keeps its rights.
pub(crate) fn make_private(path: &Path) {
    let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    if let Ok(file) = new {
        // The umask may have taken even the owner's rights.
        let _ = file.set_permissions(Permissions::from_mode(0o600));
        return;
    }
    let shares = |metadata: &Metadata| metadata.is_file() && metadata.mode() & 0o077 != 0;
    for file in [path.to_owned(), log_of(path), shared_memory_of(path)] {
        if fs::metadata(&file).is_ok_and(|metadata| shares(&metadata)) {
            let _ = fs::set_permissions(&file, Permissions::from_mode(0o600));
        }
    }
}

/// The write-ahead log beside a database.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// The shared memory of the processes that have a database open.
fn shared_memory_of(path: &Path) -> PathBuf {
    let mut memory = path.as_os_str().to_owned();
    memory.push("-shm");
    memory.into()
}

fn prepare(connection: &mut Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    wait_when_busy(connection, busy_timeout, Arc::new(AtomicBool::new(true)))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Otherwise a statement whose parameter meets a partial index is planned again for every value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Asks again after a millisecond or a few, as long as `may_wait` says so. SQLite's own handler backs off to 100 ms,
/// which starves late comers when several processes commit all the time.
pub(crate) fn wait_when_busy(
    connection: &mut Connection,
    timeout: Duration,
    may_wait: Arc<AtomicBool>,
) -> rusqlite::Result<()> {
    let mut deadline = Instant::now();
    connection.busy_handler(Some(move |times: i32| {
        if !may_wait.load(Ordering::Relaxed) {
            return false;
        }
        if times == 0 {
            deadline = Instant::now() + timeout;
        }
        let pause = Duration::from_micros(if times < 10 { 200 } else { 2_000 });
        std::thread::sleep(pause);
        Instant::now() < deadline
    }))
}

/// Turns the write-ahead log on. Two processes that meet on a new database may be told "busy" without being
/// asked to wait, because waiting could deadlock; so the waiting is done here.
fn use_wal(connection: &Connection, timeout: Duration) -> Result<(), SqliteError> {
    let deadline = Instant::now() + timeout;
    loop {
        let mode = connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))?;
        if mode == "wal" {
            return Ok(());
        }
        match connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get::<_, String>(0)) {
            Ok(_) => {}
            Err(error) if is_busy(&error) => {}
            Err(error) => return Err(error.into()),
        }
        if Instant::now() > deadline {
            return Err(SqliteError::Known(
                StoreErrorKind::Locked,
                "the database could not be prepared in time".into(),
            ));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
