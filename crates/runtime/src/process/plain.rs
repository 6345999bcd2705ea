//! Fast path for a plain command: one that gets our environment with some changes, in our directory.
//!
//! The standard library copies, sorts and joins the whole environment for each process, and the C library asks for each
//! signal. Here the environment is read once and handed on. It saves 4 % of the processor time of a command that does
//! nothing (docs/evidence.md).

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;

use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::Mode;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal as Sent, WaitOptions, getpid, kill_process, pidfd_open, pidfd_send_signal,
    waitpid,
};
use tokio::io::unix::AsyncFd;

use super::table::ignored_signals;
use super::watch::watch;

/// Where a process talks to; its input is empty.
pub(super) struct Streams<'a> {
    pub(super) stdout: BorrowedFd<'a>,
    pub(super) stderr: BorrowedFd<'a>,
}

/// Whether the command may go the short way: its program is found, its directory is ours, and we can wait for it.
///
/// The caller vouches that it inherits our environment and is called by the name of its program: a `Command` does not
/// tell.
pub(super) fn is_possible(command: &Command) -> bool {
    let is_found = command.get_program().as_bytes().contains(&b'/');
    is_found && handles_work() && command.get_current_dir().is_none_or(is_here)
}

/// Starts a command for which [`is_possible`], in a group of its own.
pub(super) fn start(command: &Command, streams: &Streams<'_>) -> io::Result<(PlainChild, Pid)> {
    let program = terminated(command.get_program().to_owned())?;
    let mut arguments = vec![Cow::Borrowed(program.as_c_str())];
    for argument in command.get_args() {
        arguments.push(Cow::Owned(terminated(argument.to_owned())?));
    }
    let environment = environment(command.get_envs())?;
    let pid = PREPARED.with_borrow_mut(|prepared| {
        let (actions, attributes) = prepared.for_streams(streams)?;
        posix_spawn(program.as_c_str(), actions, attributes, &arguments, &environment)
    })?;
    let pid = Pid::from_raw(pid.as_raw()).ok_or_else(|| io::Error::from(Errno::SRCH))?;
    Ok((PlainChild::new(pid)?, pid))
}

thread_local! {
    static PREPARED: RefCell<Prepared> = RefCell::default();
}

/// Spawn attributes and file actions, cached: the C library makes a system call for each descriptor in them, and the
/// same few descriptors recur.
#[derive(Default)]
struct Prepared {
    attributes: Option<PosixSpawnAttr>,
    actions: BTreeMap<(RawFd, RawFd), PosixSpawnFileActions>,
}

impl Prepared {
    fn for_streams(
        &mut self,
        streams: &Streams<'_>,
    ) -> nix::Result<(&PosixSpawnFileActions, &PosixSpawnAttr)> {
        if self.actions.len() >= ACTIONS_MAX {
            self.actions.clear();
        }
        let actions = match self.actions.entry((streams.stdout.as_raw_fd(), streams.stderr.as_raw_fd())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let actions = actions(*new.key())?;
                new.insert(actions)
            }
        };
        let attributes = match &mut self.attributes {
            Some(known) => known,
            empty @ None => empty.insert(attributes()?),
        };
        Ok((actions, attributes))
    }
}

/// More than ever run at once on most machines.
const ACTIONS_MAX: usize = 64;

fn actions((stdout, stderr): (RawFd, RawFd)) -> nix::Result<PosixSpawnFileActions> {
    let mut actions = PosixSpawnFileActions::init()?;
    actions.add_open(0, "/dev/null", OFlag::O_RDONLY, Mode::empty())?;
    actions.add_dup2(stdout, 1)?;
    actions.add_dup2(stderr, 2)?;
    Ok(actions)
}

fn attributes() -> nix::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
    )?;
    attributes.set_pgroup(nix::unistd::Pid::from_raw(0))?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_sigdefault(reset_signals())?;
    Ok(attributes)
}

/// The signals that a child does not ignore. Escrow ignores `SIGPIPE` for itself; other ignored signals were chosen by
/// the process that started Escrow, and its children inherit them.
///
/// `SIGPIPE` alone would do, but the C library makes a system call for each signal that is not in this set.
fn reset_signals() -> &'static SigSet {
    static RESET: OnceLock<SigSet> = OnceLock::new();
    RESET.get_or_init(|| {
        let named_ones = (1 << 31) - 1;
        let Some(ignored) = ignored_signals().filter(|ignored| ignored & !named_ones == 0) else {
            return SigSet::from(Signal::SIGPIPE);
        };
        let mut reset = SigSet::all();
        for signal in Signal::iterator() {
            if signal != Signal::SIGPIPE && ignored & (1 << (signal as u32 - 1)) != 0 {
                reset.remove(signal);
            }
        }
        reset
    })
}

/// The variables as `NAME=value`: our own, less those that change, then the changed ones.
fn environment<'a>(
    changes: impl Iterator<Item = (&'a OsStr, Option<&'a OsStr>)>,
) -> io::Result<Vec<Cow<'static, CStr>>> {
    let inherited = inherited();
    let mut is_changed = vec![false; inherited.len()];
    let mut changed = Vec::new();
    for (name, value) in changes {
        if let Ok(place) = inherited.binary_search_by(|(known, _)| known.as_os_str().cmp(name)) {
            is_changed[place] = true;
        }
        if let Some(value) = value {
            changed.push(Cow::Owned(variable(name, value)?));
        }
    }
    let kept = inherited.iter().zip(is_changed).filter(|(_, is_changed)| !is_changed);
    let kept = kept.map(|((_, text), _)| Cow::Borrowed(text.as_c_str()));
    Ok(kept.chain(changed).collect())
}

/// Our own environment, sorted by name. Nothing in this process changes it.
fn inherited() -> &'static [(OsString, CString)] {
    static INHERITED: OnceLock<Vec<(OsString, CString)>> = OnceLock::new();
    INHERITED.get_or_init(|| {
        let variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let texts = variables.into_iter().filter_map(|(name, value)| {
            let text = variable(&name, &value).ok()?;
            Some((name, text))
        });
        texts.collect()
    })
}

fn variable(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    let mut text = Vec::with_capacity(name.len() + value.len() + 2);
    text.extend_from_slice(name.as_bytes());
    text.push(b'=');
    text.extend_from_slice(value.as_bytes());
    Ok(CString::new(text)?)
}

fn terminated(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

/// Whether the directory is our own. Compared by inode, because the path may name another directory by now. Escrow never
/// changes its directory.
fn is_here(directory: &Path) -> bool {
    static HERE: OnceLock<Option<(u64, u64)>> = OnceLock::new();
    let identity = |path: &Path| rustix::fs::stat(path).ok().map(|told| (told.st_dev, told.st_ino));
    let here = HERE.get_or_init(|| identity(Path::new(".")));
    here.is_some() && identity(directory) == *here
}

/// Whether the system gives handles of processes: Linux since 5.3, and not in every sandbox.
fn handles_work() -> bool {
    static WORK: OnceLock<bool> = OnceLock::new();
    *WORK.get_or_init(|| pidfd_open(getpid(), PidfdFlags::NONBLOCK).is_ok())
}

/// A child known by a handle.
pub(super) struct PlainChild {
    pid: Pid,
    handle: AsyncFd<OwnedFd>,
    status: Option<ExitStatus>,
}

impl PlainChild {
    fn new(pid: Pid) -> io::Result<PlainChild> {
        let handle = pidfd_open(pid, PidfdFlags::NONBLOCK).map_err(io::Error::from).and_then(watch);
        match handle {
            Ok(handle) => Ok(PlainChild { pid, handle, status: None }),
            Err(error) => {
                // Without a handle it could not be waited for, so it must not run.
                let _ = kill_process(pid, Sent::KILL);
                let _ = waitpid(Some(pid), WaitOptions::empty());
                Err(error)
            }
        }
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.status {
                return Ok(status);
            }
            let mut ready = self.handle.readable().await?;
            self.status = reap(self.pid)?;
            if self.status.is_none() {
                ready.clear_ready();
            }
        }
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = reap(self.pid)?;
        }
        Ok(self.status)
    }

    pub(super) fn start_kill(&mut self) -> io::Result<()> {
        match self.status {
            Some(_) => Ok(()),
            None => Ok(pidfd_send_signal(self.handle.get_ref().as_fd(), Sent::KILL)?),
        }
    }
}

fn reap(pid: Pid) -> io::Result<Option<ExitStatus>> {
    let ended = waitpid(Some(pid), WaitOptions::NOHANG)?;
    Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
}

impl Drop for PlainChild {
    /// The child is not reaped here: its pid must not be reused until its tree has been ended. The next search for
    /// orphans reaps it.
    fn drop(&mut self) {
        let _ = self.start_kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(changes: &[(&str, Option<&str>)]) -> Vec<String> {
        let changes = changes.iter().map(|(name, value)| (OsStr::new(*name), value.map(OsStr::new)));
        let all = environment(changes).unwrap();
        all.iter().map(|text| text.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_variable_is_inherited_unless_it_is_changed_or_removed() {
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        assert!(texts(&[]).contains(&path));
        assert!(!texts(&[("PATH", None)]).iter().any(|text| text.starts_with("PATH=")));
        let changed = texts(&[("PATH", Some("/bin")), ("FRESH", Some("a=b")), ("ABSENT", None)]);
        let paths: Vec<_> = changed.iter().filter(|text| text.starts_with("PATH=")).collect();
        assert_eq!(paths, ["PATH=/bin"]);
        assert!(changed.contains(&"FRESH=a=b".to_owned()));
        assert_eq!(changed.len(), texts(&[]).len() + 1);
    }

    #[test]
    fn a_variable_with_a_nul_character_is_refused() {
        let refused = environment([(OsStr::new("A"), Some(OsStr::new("b\0c")))].into_iter());
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
