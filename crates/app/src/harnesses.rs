//! Installs Escrow's hook into the configuration of hosts, removes it, and says what is installed.
//!
//! **Invariant:** every file is read and edited in memory before the first one is written. A file that cannot be parsed
//! leaves all of them as they were. Each write replaces a file whole, with its old permissions.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use escrow_harness::install::{HookFile, Installed, Problem, Uninstalled, hook_file, hook_files};
use escrow_protocol::receipt::{Ledger as _, ReceiptQuery, gap_events};
use escrow_protocol::vocabulary::{ReceiptStatus, SupportState};
use escrow_runtime::canary::{self, Canary};
use escrow_runtime::{harness_program, random_u64};
use escrow_store::{Mode, ReceiptLedger};

pub use escrow_protocol::envelope::LifecycleReceipt;

use crate::error::Error;
use crate::hooks;
use crate::state::StateDirectory;

/// Larger configurations are refused.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// How many receipts `status` shows per host.
const RECEIPTS_SHOWN: usize = 3;

/// Whose configuration is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Project,
    User,
}

/// The directory that holds the configuration of every host.
#[derive(Clone, Debug)]
pub struct Root {
    pub scope: Scope,
    pub directory: PathBuf,
}

/// What happened to the configuration of one host.
#[derive(Debug)]
pub struct Change {
    pub host: &'static str,
    pub file: PathBuf,
    pub kind: ChangeKind,
    pub note: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Installed,
    /// The hook called another program before.
    Updated,
    Unchanged,
    Uninstalled,
    /// The file held nothing else and is gone.
    Removed,
}

/// What is known of one host.
#[derive(Debug)]
pub struct HostStatus {
    pub host: &'static str,
    pub program: Option<PathBuf>,
    pub version: Option<String>,
    pub tested_versions: &'static [&'static str],
    pub file: PathBuf,
    /// What the file says, or why it cannot be read.
    pub installed: Result<Installed, String>,
    /// The hook calls a program that is not this one.
    pub is_stale: bool,
    pub is_unverified: bool,
    pub note: Option<&'static str>,
    /// The newest receipts, newest first.
    pub receipts: Vec<LifecycleReceipt>,
    /// How many receipts there are of each lifecycle event.
    pub measured: BTreeMap<&'static str, usize>,
    /// What the manifest of its adapter promises.
    pub claims: Vec<Claim>,
    pub failures: usize,
}

/// What a manifest says of one lifecycle event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub event: &'static str,
    pub support: &'static str,
}

/// The lifecycle events that the adapter of a host claims to report.
fn claims(host: &str) -> Vec<Claim> {
    let Some(dialect) = escrow_harness::dialect(host) else { return Vec::new() };
    let manifest = escrow_harness::manifest::adapter(dialect, escrow_protocol::version::CURRENT).manifest;
    let claimed = manifest.lifecycle_events.iter();
    claimed
        .filter(|(_, claim)| claim.support != SupportState::Unavailable)
        .map(|(event, claim)| Claim { event: event.as_str(), support: claim.support.as_str() })
        .collect()
}

impl Root {
    pub fn find(scope: Scope, state: &StateDirectory) -> Result<Root, Error> {
        let directory = match scope {
            Scope::Project => state.path().parent().map(Path::to_owned),
            Scope::User => std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from),
        };
        let directory = directory.ok_or_else(|| {
            Error::author("no_home", "HOME is not set").help("set HOME, or use `--project`")
        })?;
        Ok(Root { scope, directory })
    }

    fn file(&self, host: &HookFile) -> PathBuf {
        self.directory.join(match self.scope {
            Scope::Project => host.project,
            Scope::User => host.user,
        })
    }
}

/// The hosts that are meant: the named one, or all.
pub fn hosts(named: Option<&str>) -> Result<Vec<&'static HookFile>, Error> {
    let Some(name) = named else { return Ok(hook_files().collect()) };
    let known = || hook_files().map(|file| file.host).collect::<Vec<_>>().join(", ");
    match hook_file(name) {
        Some(file) => Ok(vec![file]),
        None => Err(Error::author("unknown_host", format!("unknown host `{name}`"))
            .help(format!("choose one of {}", known()))),
    }
}

/// Without a named host, those whose program is on this machine.
pub fn hosts_to_install(named: Option<&str>) -> Result<Vec<&'static HookFile>, Error> {
    let mut hosts = hosts(named)?;
    if named.is_none() {
        hosts.retain(|file| harness_program::find(file.host).is_some());
    }
    if hosts.is_empty() {
        return Err(Error::author("no_harness", "no harness is on PATH")
            .help("install one, or name a host with `--host HOST`"));
    }
    Ok(hosts)
}

/// Installs the hook of `program` for every host.
pub fn install(hosts: &[&'static HookFile], root: &Root, program: &Path) -> Result<Vec<Change>, Error> {
    let program = program.to_str().ok_or_else(|| {
        Error::world("program", format!("the path `{}` is not UTF-8", program.display()))
            .help("move `escrow` to a path that is")
    })?;
    let mut planned = Vec::new();
    for host in hosts {
        let file = real_file(root, host)?;
        let old = read(&file)?;
        let new = host.install(old.as_deref(), program).map_err(|problem| refused(&file, &problem))?;
        let had = match &old {
            Some(old) => host.installed(old).map_err(|problem| refused(&file, &problem))?,
            None => Installed::default(),
        };
        let kind = match &old {
            Some(old) if *old == new => ChangeKind::Unchanged,
            _ if had.events.is_empty() => ChangeKind::Installed,
            _ => ChangeKind::Updated,
        };
        planned.push((host, file, new, kind));
    }
    let mut changes = Vec::new();
    for (host, file, new, kind) in planned {
        if kind != ChangeKind::Unchanged {
            replace(&file, &new).map_err(|error| not_written(&file, &error))?;
        }
        changes.push(Change { host: host.host, file, kind, note: host.note });
    }
    Ok(changes)
}

/// Removes exactly what an installation added.
pub fn uninstall(hosts: &[&'static HookFile], root: &Root) -> Result<Vec<Change>, Error> {
    let mut planned = Vec::new();
    for host in hosts {
        let file = real_file(root, host)?;
        let Some(old) = read(&file)? else { continue };
        let installed = host.installed(&old).map_err(|problem| refused(&file, &problem))?;
        if installed.events.is_empty() {
            continue;
        }
        let new = host.uninstall(&old).map_err(|problem| refused(&file, &problem))?;
        if let Uninstalled::Text(text) = &new {
            let left = host.installed(text).map_err(|problem| refused(&file, &problem))?;
            if let Some(event) = left.events.first() {
                return Err(Error::author(
                    "not_removed",
                    format!("the hook of `{event}` in `{}` cannot be removed safely", file.display()),
                )
                .help("remove the entry that calls `escrow hook` by hand; Escrow has changed no file"));
            }
        }
        planned.push((host, file, new));
    }
    let mut changes = Vec::new();
    for (host, file, new) in planned {
        let (done, kind) = match new {
            Uninstalled::Text(text) => (replace(&file, &text), ChangeKind::Uninstalled),
            Uninstalled::Nothing => (remove(root, &file), ChangeKind::Removed),
        };
        done.map_err(|error| not_written(&file, &error))?;
        changes.push(Change { host: host.host, file, kind, note: None });
    }
    Ok(changes)
}

/// Whether the programs are started to ask for their versions, which takes a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    Ask,
    Leave,
}

/// What is installed where, and what the hooks have left in the ledger.
pub fn status(
    hosts: &[&'static HookFile],
    versions: Versions,
    root: &Root,
    program: &Path,
    state: &StateDirectory,
) -> Result<Vec<HostStatus>, Error> {
    // The ledger has no index by adapter, so it is read once for all.
    let known = match ledger(state)? {
        Some(mut ledger) => {
            let client_id = Some(escrow_runtime::hook_spool::CLIENT.to_owned());
            let query = ReceiptQuery { client_id, ..ReceiptQuery::default() };
            ledger.query(&query).map_err(|error| Error::world("state", error.to_string()))?
        }
        None => Vec::new(),
    };
    let programs: Vec<_> = std::thread::scope(|scope| {
        let ask = |host: &'static HookFile| {
            let found = harness_program::find(host.host);
            let asked = found.as_deref().filter(|_| versions == Versions::Ask);
            let version = asked.and_then(harness_program::version);
            (found, version)
        };
        let asked: Vec<_> = hosts.iter().map(|host| scope.spawn(move || ask(host))).collect();
        asked.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    let mut all = Vec::new();
    for (host, (found, version)) in hosts.iter().zip(programs) {
        let file = root.file(host);
        let installed = match real_file(root, host).and_then(|file| read(&file)) {
            Ok(Some(text)) => host.installed(&text).map_err(|problem| problem.to_string()),
            Ok(None) => Ok(Installed::default()),
            Err(error) => Err(error.to_string()),
        };
        let is_stale = installed
            .as_ref()
            .is_ok_and(|installed| installed.programs.iter().any(|named| Path::new(named) != program));
        let of_host = || known.iter().filter(|receipt| receipt.adapter_id == host.host);
        let failures = of_host().filter(|receipt| receipt.status == ReceiptStatus::Failed).count();
        let mut measured: BTreeMap<&'static str, usize> = BTreeMap::new();
        for receipt in of_host() {
            *measured.entry(receipt.event.as_str()).or_default() += 1;
        }
        let receipts = of_host().rev().take(RECEIPTS_SHOWN).cloned().collect();
        all.push(HostStatus {
            host: host.host,
            program: found,
            version,
            tested_versions: escrow_harness::find(host.host)
                .map_or(&[], |harness| harness.spec().tested_versions),
            file,
            installed,
            is_stale,
            is_unverified: host.is_unverified,
            note: host.note,
            receipts,
            measured,
            claims: claims(host.host),
            failures,
        });
    }
    Ok(all)
}

/// What a canary showed of one host.
#[derive(Debug)]
pub struct Diagnosis {
    pub host: &'static str,
    pub program: Option<PathBuf>,
    pub version: Option<String>,
    pub tested_versions: &'static [&'static str],
    /// `None`: the program is missing, or Escrow does not start it.
    pub canary: Option<Canary>,
    /// The claims of the manifest that the canary did not confirm.
    pub stale_claims: Vec<&'static str>,
    /// Key variables that are set.
    pub keys: Vec<&'static str>,
    /// The login file of the user, if it is there.
    pub login: Option<PathBuf>,
}

/// Starts each program with a scripted model and looks which hooks fire.
pub fn diagnose(hosts: &[&'static HookFile], program: &Path) -> Result<Vec<Diagnosis>, Error> {
    let scratch = Scratch::create()
        .map_err(|error| Error::world("scratch", format!("no scratch directory can be made: {error}")))?;
    let mut all = Vec::new();
    for host in hosts {
        let found = harness_program::find(host.host);
        let harness = escrow_harness::find(host.host);
        let mut canary = None;
        if let (Some(found), Some(harness)) = (&found, harness) {
            let words = [program.display().to_string(), "hook".into(), "--host".into(), host.host.into()];
            let place = scratch.0.join(host.host);
            let result =
                fs::create_dir_all(&place).and_then(|()| canary::run(harness, found, &words, &place));
            canary =
                Some(result.unwrap_or_else(|error| Canary {
                    problem: Some(error.to_string()),
                    ..Canary::default()
                }));
        }
        let spec = harness.map(|harness| harness.spec());
        let events = spec.map(|spec| spec.hooks);
        let silent = canary.iter().flat_map(|canary| &canary.silent);
        let claims = silent.filter_map(|name| Some(events?.event(name)?.lifecycle()?.as_str()));
        let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let login = spec.and_then(|spec| Some(home?.join(spec.login?.source)));
        all.push(Diagnosis {
            host: host.host,
            version: found.as_deref().and_then(harness_program::version),
            program: found,
            tested_versions: spec.map_or(&[], |spec| spec.tested_versions),
            stale_claims: claims.collect(),
            keys: spec.map_or(&[][..], |spec| spec.key_variables).iter().filter(is_set).copied().collect(),
            login: login.filter(|file| file.exists()),
            canary,
        });
    }
    Ok(all)
}

/// A directory that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn create() -> io::Result<Scratch> {
        let path = std::env::temp_dir().join(format!("escrow-doctor-{:016x}", random_u64()?));
        escrow_runtime::private_files::create_directory(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The newest receipts of the state, newest first.
pub fn receipts(
    state: &StateDirectory,
    adapter: Option<&str>,
    limit: usize,
) -> Result<Vec<LifecycleReceipt>, Error> {
    let Some(mut ledger) = ledger(state)? else { return Ok(Vec::new()) };
    let query = ReceiptQuery { adapter_id: adapter.map(str::to_owned), ..ReceiptQuery::default() };
    let mut receipts = ledger.query(&query).map_err(|error| Error::world("state", error.to_string()))?;
    receipts.reverse();
    receipts.truncate(limit);
    Ok(receipts)
}

/// What the hooks of a run's agents reported, oldest first.
pub fn receipts_of_run(state: &StateDirectory, run: &str) -> Result<Vec<LifecycleReceipt>, Error> {
    let Some(mut ledger) = ledger(state)? else { return Ok(Vec::new()) };
    let query = ReceiptQuery { harness_run_id: Some(run.to_owned()), ..ReceiptQuery::default() };
    ledger.query(&query).map_err(|error| Error::world("state", error.to_string()))
}

/// How many receipts are missing between those that arrived.
pub fn gaps(state: &StateDirectory) -> Result<usize, Error> {
    let Some(mut ledger) = ledger(state)? else { return Ok(0) };
    let gaps = gap_events(&mut ledger, &ReceiptQuery::default());
    Ok(gaps.map_err(|error| Error::world("state", error.to_string()))?.len())
}

/// The ledger of the state, if there is one. Receipts that wait beside it are taken in first.
fn ledger(state: &StateDirectory) -> Result<Option<ReceiptLedger>, Error> {
    let database = state.database();
    let failed = |error: String| Error::world("state", error);
    if hooks::are_waiting(state.path()) {
        let mut ledger =
            ReceiptLedger::open(&database, Mode::Write).map_err(|error| failed(error.to_string()))?;
        hooks::collect_waiting(state.path(), &mut ledger).map_err(|error| failed(error.to_string()))?;
        return Ok(Some(ledger));
    }
    if !database.is_file() {
        return Ok(None);
    }
    Ok(Some(ReceiptLedger::open(&database, Mode::Read)?))
}

/// The file behind links. One that leaves the project is refused: a clone must not direct a write elsewhere.
fn real_file(root: &Root, host: &HookFile) -> Result<PathBuf, Error> {
    let path = root.file(host);
    let is_link = fs::symlink_metadata(&path).is_ok_and(|file| file.file_type().is_symlink());
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(_) if is_link => {
            return Err(Error::author("link", format!("`{}` is a link that leads nowhere", path.display()))
                .help("remove the link, then call the command again"));
        }
        Err(_) => {
            let there = path.ancestors().skip(1).find_map(|above| Some((above, above.canonicalize().ok()?)));
            match there {
                Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(&path)),
                None => path.clone(),
            }
        }
    };
    let inside = root.directory.canonicalize().is_ok_and(|root| real.starts_with(root));
    if root.scope == Scope::Project && !inside {
        return Err(Error::author(
            "link",
            format!("`{}` is a link that leaves the project: `{}`", path.display(), real.display()),
        )
        .help("edit that file yourself, or install for the user with `--user`"));
    }
    Ok(real)
}

fn read(file: &Path) -> Result<Option<String>, Error> {
    let failed = |error: io::Error| {
        Error::world("unreadable", format!("cannot read `{}`: {error}", file.display()))
            .help("repair the file or its permissions, then call the command again")
    };
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.is_file() => {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, "not a plain file")));
        }
        Ok(found) if found.len() > FILE_BYTES_MAX => {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidData, "larger than 16 MiB")));
        }
        Ok(_) => {}
    }
    fs::read_to_string(file).map(Some).map_err(failed)
}

fn refused(file: &Path, problem: &Problem) -> Error {
    let place = problem.place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default();
    Error::author("unparsable", format!("`{}{place}`: {}", file.display(), problem.message))
        .help(problem.help)
}

fn not_written(file: &Path, error: &io::Error) -> Error {
    Error::world("unwritable", format!("cannot write `{}`: {error}", file.display()))
        .help("check the permissions of the directory")
}

/// Replaces a file whole, or creates it with its directory. Its permissions stay.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}.{:016x}", random_u64()?));
    let written = (|| {
        let mut handle = fs::OpenOptions::new().write(true).create_new(true).open(&new)?;
        handle.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(file) {
            handle.set_permissions(old.permissions())?;
        }
        handle.sync_all()?;
        fs::rename(&new, file)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Removes a file and, in a project, the directories that are empty without it.
fn remove(root: &Root, file: &Path) -> io::Result<()> {
    fs::remove_file(file)?;
    let Ok(top) = root.directory.canonicalize() else { return Ok(()) };
    let above = file.ancestors().skip(1).take_while(|above| **above != top && above.starts_with(&top));
    for folder in above {
        if root.scope == Scope::User || fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}
