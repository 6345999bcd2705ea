//! Lends the login of the user to a harness, and takes it back.
//!
//! ```text
//!   ~/.claude/.credentials.json ──borrow──▶ private home ── the harness renews it
//!              ▲ locked                          │
//!              └──────── write_back ◀────────────┘  at once, at the end, or when the run is resumed
//! ```
//!
//! **Invariant:** one borrower at a time: two programs that renew the same token would invalidate each other's. What comes
//! back replaces the file at once, or not at all: only a login with the members of the one that was lent, and only while the
//! user's file still is the one that was lent. What is not written back is a [`Problem`] of the attempt, and of the next one if
//! Escrow was ended meanwhile.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use escrow_harness::{Auth, LoginFile};
use escrow_model::{FaultCode, ProviderFault};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::super::Attempt;
use super::home::{self, PrivateHome};
use super::task::Task;
use crate::beneath;
use crate::private_files::create_file;

/// A login that is lent, or nothing.
pub(super) struct LentLogin(Option<RefCell<Loan>>);

/// Why a renewed login was not written back.
#[derive(Debug)]
pub(super) enum Problem {
    /// The user has another login by now, which stays.
    Replaced,
    /// The program left something else than a renewed login: the user may be logged out.
    Lost { harness: String, why: String },
}

impl Problem {
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Problem::Replaced => false,
            Problem::Lost { .. } => true,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Replaced => formatter.write_str(
                "the login was changed while it was lent; the one that the program renewed was not written back",
            ),
            Problem::Lost { harness, why } => {
                write!(
                    formatter,
                    "{why}, and was not written back; if `{harness}` says that you are logged out, log in again"
                )
            }
        }
    }
}

struct Loan {
    source: PathBuf,
    /// The private home, which the harness can write to.
    home: PathBuf,
    target: PathBuf,
    note: NoteFile,
    /// What an attempt that ended with Escrow could not give back.
    left: Option<Problem>,
    /// What the user's file holds: what was lent, or what was written back since.
    contents: Vec<u8>,
    /// Held until the login was given back.
    lock: File,
}

/// Beside the private home, where the harness cannot write: what a resumed run needs to give a login back.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    harness: String,
    /// Of the login that was lent. The login itself is in no file but those of the harness.
    digest: String,
}

struct NoteFile {
    path: PathBuf,
    harness: &'static str,
}

/// How often a login that another agent has is asked for again.
const PATIENCE: Duration = Duration::from_millis(50);

/// How often is looked whether the harness has renewed its login. A renewed token may have made the old one worthless.
const LOOK: Duration = Duration::from_millis(250);

/// Credential files are a few kilobytes.
const BYTES_MAX: u64 = 1 << 20;

/// The end of the names of notes.
const NOTE: &str = "login";

/// The end of the names of files with what could not be given back after Escrow was ended.
const LOST: &str = "login-lost";

/// Shorter members are words, such as the kind of a subscription.
const SECRET_BYTES_MIN: usize = 16;

impl LentLogin {
    pub(super) async fn borrow(
        task: &Task<'_>,
        home: &PrivateHome,
        attempt: &Attempt,
        timeout_ms: u64,
    ) -> Result<LentLogin, ProviderFault> {
        let spec = task.harness.spec();
        if task.auth == Auth::Key {
            return Ok(LentLogin(None));
        }
        let Some(file) = spec.login else {
            let message =
                format!("the login of `{}` is no file and cannot be lent; use `auth: key`", spec.name);
            return Err(ProviderFault::logical(FaultCode::own("login"), message));
        };
        let Some(source) = source_of(file) else {
            let message = "`HOME` is not set, so there is no login to lend";
            return Err(ProviderFault::logical(FaultCode::own("login"), message));
        };
        let target = home.path().join(file.target);
        let missing = |error: &io::Error| {
            let message = format!(
                "there is no login to lend: `{}`: {error}; log in with `{}` first, or use `auth: key`",
                source.display(),
                spec.name
            );
            ProviderFault::logical(FaultCode::own("login"), message)
        };
        let deadline = Instant::now() + Duration::from_millis(timeout_ms);
        let lock = loop {
            match try_lock(&source).map_err(|error| missing(&error))? {
                Some(lock) => break lock,
                None if Instant::now() >= deadline => {
                    let message = format!("the login of `{}` is lent to another agent", spec.name);
                    return Err(ProviderFault::transient(FaultCode::Timeout, message));
                }
                None => tokio::select! {
                    () = tokio::time::sleep(PATIENCE) => {}
                    () = attempt.cancellation.cancelled() => {
                        let message = "interrupted by the end of the run";
                        return Err(ProviderFault::transient(FaultCode::Cancelled, message));
                    }
                },
            }
        };
        let contents = read(&source).map_err(|error| missing(&error))?;
        let note = NoteFile { path: home.path().with_extension(NOTE), harness: spec.name };
        let home = home.path().to_owned();
        let left = take_lost(&attempt.spool);
        let lent = note
            .write(&contents)
            .and_then(|()| beneath::create_file(&home, &target))
            .and_then(|mut file| file.write_all(&contents));
        if let Err(error) = lent {
            let _ = fs::remove_file(&note.path);
            return Err(missing(&error));
        }
        Ok(LentLogin(Some(RefCell::new(Loan { source, home, target, note, left, contents, lock }))))
    }

    /// Writes back what the harness renews, for as long as it runs.
    pub(super) async fn watch(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            // What cannot be written back now is told when the login is given back: the harness may be writing.
            let _ = self.write_back();
        }
    }

    pub(super) fn write_back(&self) -> Result<(), Problem> {
        self.0.as_ref().map_or(Ok(()), |loan| loan.borrow_mut().write_back())
    }

    /// The secret values of the login, which are redacted.
    pub(super) fn secrets(&self) -> Vec<Vec<u8>> {
        let contents = self.0.as_ref().map(|loan| loan.borrow().contents.clone());
        let login = contents.and_then(|contents| serde_json::from_slice(&contents).ok());
        let mut secrets = Vec::new();
        login.iter().for_each(|login| collect_secrets(login, &mut secrets));
        secrets
    }

    /// Takes the login back. A login that the harness renewed replaces that of the user.
    pub(super) fn give_back(self) -> Result<(), Problem> {
        let Some(loan) = self.0 else { return Ok(()) };
        let mut loan = loan.into_inner();
        let written = loan.write_back();
        let _ = beneath::remove_file(&loan.home, &loan.target);
        let _ = fs::remove_file(&loan.note.path);
        written?;
        loan.left.map_or(Ok(()), Err)
    }
}

impl Loan {
    fn write_back(&mut self) -> Result<(), Problem> {
        let lost = |why: String| Problem::Lost { harness: self.note.harness.to_owned(), why };
        let returned = beneath::read_file(&self.home, &self.target, BYTES_MAX);
        if returned.as_ref().is_ok_and(|returned| *returned == self.contents) {
            return Ok(());
        }
        if !read(&self.source).is_ok_and(|there| there == self.contents) {
            return Err(Problem::Replaced);
        }
        let returned = returned.map_err(|error| lost(unreadable(&error)))?;
        if let Some(difference) = difference(&self.contents, &returned) {
            return Err(lost(difference));
        }
        let written = replace(&self.source, &returned).map_err(|error| lost(unwritten(&error)))?;
        self.lock = written;
        self.contents = returned;
        // Without the note, a resumed run takes the login for one that the user has replaced, and leaves it.
        let _ = self.note.write(&self.contents);
        Ok(())
    }
}

impl NoteFile {
    fn write(&self, lent: &[u8]) -> io::Result<()> {
        let note = Note { harness: self.harness.to_owned(), digest: digest(lent) };
        create_file(&self.path)?.write_all(serde_json::to_string(&note)?.as_bytes())
    }
}

/// Gives back the logins that attempts of a run had when Escrow was ended. One that another agent has by now stays for the
/// next time.
pub(crate) fn return_left(spool: &Path) {
    with_extension(spool, NOTE).for_each(|note| return_and_tell(&note));
}

fn with_extension(spool: &Path, extension: &'static str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(spool).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(move |path| path.extension() == Some(OsStr::new(extension)))
}

/// What the next attempt tells.
fn return_and_tell(note: &Path) {
    match return_one(note) {
        Ok(None) => {}
        Ok(Some((harness, why))) => {
            let told = json!({ "harness": harness, "why": why }).to_string();
            let _ =
                create_file(&note.with_extension(LOST)).and_then(|mut file| file.write_all(told.as_bytes()));
        }
        Err(error) => tracing::warn!(%error, "the login of an interrupted attempt was not written back"),
    }
}

fn take_lost(spool: &Path) -> Option<Problem> {
    let mut lost = None;
    for path in with_extension(spool, LOST) {
        let told: Option<Value> = read(&path).ok().and_then(|told| serde_json::from_slice(&told).ok());
        let member = |name| Some(told.as_ref()?.get(name)?.as_str()?.to_owned());
        lost = lost
            .or(member("harness").zip(member("why")).map(|(harness, why)| Problem::Lost { harness, why }));
        let _ = fs::remove_file(&path);
    }
    lost
}

/// Gives back the login that an interrupted attempt has left in a private home.
pub(super) fn return_of(home: &Path) {
    let note = home.with_extension(NOTE);
    if note.exists() {
        return_and_tell(&note);
    }
}

/// The harness, and why its login was not given back.
fn return_one(note: &Path) -> io::Result<Option<(String, String)>> {
    let home = note.with_extension(home::EXTENSION);
    let read_note: Note = serde_json::from_slice(&read(note)?)?;
    let file = escrow_harness::find(&read_note.harness).and_then(|harness| harness.spec().login);
    let (Some(file), Some(source)) = (file, file.and_then(source_of)) else {
        return fs::remove_file(note).map(|()| None);
    };
    let target = home.join(file.target);
    let mut lost = None;
    match try_lock(&source) {
        Ok(Some(_lock)) => {
            let lent = read(&source)?;
            if digest(&lent) == read_note.digest {
                let returned = beneath::read_file(&home, &target, BYTES_MAX);
                lost = match returned.as_ref().map(|returned| difference(&lent, returned)) {
                    Err(error) => Some(unreadable(error)),
                    Ok(Some(difference)) => Some(difference),
                    Ok(None) => {
                        let renewed = returned.unwrap_or_default();
                        if renewed != lent {
                            replace(&source, &renewed)?;
                        }
                        None
                    }
                };
            }
        }
        Ok(None) => return Ok(None),
        // The user has logged out.
        Err(_) => {}
    }
    let _ = beneath::remove_file(&home, &target);
    fs::remove_file(note)?;
    Ok(lost.map(|why| (read_note.harness, why)))
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "the program has removed its login, which may no longer be valid".to_owned()
        }
        _ => format!("what the program left of its login cannot be read ({error})"),
    }
}

fn unwritten(error: &io::Error) -> String {
    format!("the program has renewed its login, which could not be replaced ({error})")
}

fn source_of(file: LoginFile) -> Option<PathBuf> {
    std::env::var_os("HOME").map(|user| Path::new(&user).join(file.source))
}

fn digest(contents: &[u8]) -> String {
    escrow_model::hex(&Sha256::digest(contents))
}

/// Why a file is not what a harness makes of a login when it renews it: the same members, with other values of the same
/// kinds; a newer version may add members. A harness that was killed while it wrote leaves half a file, and an agent could leave
/// anything.
fn difference(lent: &[u8], returned: &[u8]) -> Option<String> {
    const KIND: &str = "what the program left of its login is not of the kind that was lent";
    let read = |contents| serde_json::from_slice::<Value>(contents).ok().filter(Value::is_object);
    let (Some(lent), Some(returned)) = (read(lent), read(returned)) else { return Some(KIND.to_owned()) };
    if lent.as_object().is_some_and(Map::is_empty) {
        return Some(KIND.to_owned());
    }
    // The name of a member is no secret.
    first_difference(&lent, &returned, "")
        .map(|member| format!("{KIND}: its member `{member}` is missing or malformed"))
}

/// The path of the first member that is missing, empty, or of another kind.
fn first_difference(lent: &Value, returned: &Value, path: &str) -> Option<String> {
    let is_alike = match (lent, returned) {
        (Value::Object(lent), Value::Object(returned)) => {
            return lent.iter().find_map(|(key, lent)| {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match returned.get(key) {
                    Some(other) => first_difference(lent, other, &path),
                    None => Some(path),
                }
            });
        }
        (Value::String(lent), Value::String(returned)) => lent.is_empty() || !returned.is_empty(),
        (Value::Null, Value::Null | Value::String(_) | Value::Number(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Array(_), Value::Array(_)) => true,
        _ => false,
    };
    (!is_alike).then(|| path.to_owned())
}

fn collect_secrets(value: &Value, secrets: &mut Vec<Vec<u8>>) {
    let Value::Object(members) = value else { return };
    for member in members.values() {
        match member {
            Value::String(text) if text.len() >= SECRET_BYTES_MIN && !text.contains(' ') => {
                secrets.push(text.clone().into_bytes());
            }
            other => collect_secrets(other, secrets),
        }
    }
}

/// The file, locked; `None` while another process has it. A lock on a file that was replaced meanwhile is worth nothing.
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = open_plain(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::AGAIN) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let (held, there) = (file.metadata()?, fs::metadata(path)?);
    Ok((held.ino() == there.ino() && held.dev() == there.dev()).then_some(file))
}

/// Opens a plain file. A pipe of its name would hold Escrow up for ever.
fn open_plain(path: &Path) -> io::Result<File> {
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "not a plain file")),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    open_plain(path)?.take(BYTES_MAX).read_to_end(&mut contents)?;
    Ok(contents)
}

/// Replaces the file that a path leads to, keeping its mode. The new file is locked before it has the name.
fn replace(path: &Path, contents: &[u8]) -> io::Result<File> {
    let path = path.canonicalize()?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".escrow-{}", std::process::id()));
    let beside = path.with_file_name(name);
    let mode = fs::metadata(&path)?.permissions();
    let written = create_file(&beside).and_then(|mut file| {
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(contents)?;
        file.sync_all()?;
        fs::set_permissions(&beside, mode)?;
        fs::rename(&beside, &path)?;
        Ok(file)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_lent_to_one_at_a_time_also_after_it_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        fs::write(&path, "{}").unwrap();
        let first = try_lock(&path).unwrap().expect("free");
        assert!(try_lock(&path).unwrap().is_none());
        let second = replace(&path, b"{\"a\":1}").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\":1}");
        drop(first);
        assert!(try_lock(&path).unwrap().is_none(), "the new file is still lent");
        drop(second);
        assert!(try_lock(&path).unwrap().is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_a_login_with_all_of_its_members_is_a_renewal() {
        let lent = br#"{"oauth":{"token":"old","expires":1,"scopes":["a"]},"key":null}"#;
        for (returned, expected) in [
            (r#"{"oauth":{"token":"new","expires":2,"scopes":["a"]},"key":null}"#, true),
            (r#"{"key":"k","oauth":{"scopes":[],"token":"new","expires":2}}"#, true),
            (r#"{"oauth":{"token":"","expires":2,"scopes":["a"]},"key":null}"#, false),
            (r#"{"oauth":{"token":"new","expires":"2","scopes":["a"]},"key":null}"#, false),
            (r#"{"oauth":{"token":"new","expires":2,"scopes":["a"]},"key":null,"more":1}"#, true),
            (r#"{"oauth":{"token":"new"},"key":null}"#, false),
            ("{}", false),
            (r#"{"evil":true}"#, false),
            (r#"{"oauth":"#, false),
            ("[]", false),
            ("", false),
        ] {
            assert_eq!(difference(lent, returned.as_bytes()).is_none(), expected, "{returned}");
        }
        assert!(difference(b"{}", b"{}").is_some());
        let why =
            difference(lent, br#"{"oauth":{"token":"new","expires":2},"key":null}"#).expect("a difference");
        assert!(why.contains("`oauth.scopes` is missing"), "{why}");
    }

    #[test]
    fn long_members_are_secrets_and_words_are_none() {
        let login = serde_json::json!({
            "oauth": {"accessToken": "sk-ant-oat01-0123456789", "scopes": ["user:inference:all"], "kind": "max"},
        });
        let mut secrets = Vec::new();
        collect_secrets(&login, &mut secrets);
        assert_eq!(secrets, [b"sk-ant-oat01-0123456789".to_vec()]);
    }
}
