//! `escrow hook --host HOST [--event NAME]`: the one program that every harness calls for its events.
//!
//! ```text
//!   stdin (JSON of the host) ──▶ app::hooks::answer ──▶ stdout (answer in the host's dialect), exit 0
//! ```
//!
//! Reads its arguments itself: clap exits with 2 for a bad command line, which some hosts take for a block.
//!
//! **Invariant:** nothing but an answer in the host's dialect is printed, unless the command line is wrong.

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use escrow_app::hooks::{self, HookCall, HookPlace};
use escrow_harness::{HookDialect, HookReply, dialect, dialects};
use escrow_protocol::vocabulary::FailureClass;
use escrow_runtime::{hook_spool, project};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const INPUT_BYTES_MAX: usize = 16 << 20;

/// Hosts write their input at once. One that does not must not be held up.
const INPUT_TIMEOUT: Duration = Duration::from_secs(5);

const HELP: &str = "\
Report an event of a harness; harnesses call this, see `escrow harness install`

Usage: escrow hook --host HOST [--event NAME] [--state DIR]

Reads the event's JSON from standard input, keeps a receipt, and answers in the dialect of the host.
";

/// The arguments behind `hook`, if the command line asks for it.
pub(crate) fn arguments_in(argv: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let mut words = argv.skip(1);
    (words.next()? == "hook").then(|| words.collect())
}

/// Answers one event.
pub(crate) fn run(words: &[OsString]) -> HookExit {
    let asked = match read(words) {
        Ok(Some(asked)) => asked,
        Ok(None) => {
            let _ = io::stdout().write_all(HELP.as_bytes());
            return HookExit(0);
        }
        Err(problem) => {
            let _ =
                writeln!(io::stderr(), "error: {problem}\n  help: escrow hook --host HOST [--event NAME]");
            return HookExit(1);
        }
    };
    // A bug of ours must not look like an answer.
    panic::set_hook(Box::new(|_| {}));
    let reply = panic::catch_unwind(AssertUnwindSafe(|| asked.answer())).unwrap_or_default();
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(reply.stdout.as_bytes()).and_then(|()| stdout.flush());
    HookExit(reply.exit_code)
}

/// The exit code of a hook: 0, unless the host's dialect blocks with another one, or the command line is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HookExit(pub(crate) u8);

struct Asked {
    dialect: &'static HookDialect,
    event: Option<String>,
    state: Option<PathBuf>,
}

fn read(words: &[OsString]) -> Result<Option<Asked>, String> {
    let (mut host, mut event, mut state) = (None, None, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let slot = match word.to_str() {
            Some("--help" | "-h") => return Ok(None),
            Some("--host") => &mut host,
            Some("--event") => &mut event,
            Some("--state") => &mut state,
            _ => return Err(format!("unexpected argument `{}`", word.to_string_lossy())),
        };
        let value = words.next().ok_or_else(|| format!("`{}` needs a value", word.to_string_lossy()))?;
        if slot.replace(value).is_some() {
            return Err(format!("`{}` is given twice", word.to_string_lossy()));
        }
    }
    let host = host.ok_or("`--host` is missing")?.to_string_lossy();
    let dialect = dialect(&host).ok_or_else(|| {
        let known: Vec<&str> = dialects().map(|dialect| dialect.harness).collect();
        format!("unknown host `{host}`, choose one of {}", known.join(", "))
    })?;
    Ok(Some(Asked {
        dialect,
        event: event.map(|event| event.to_string_lossy().into_owned()),
        state: state.map(PathBuf::from),
    }))
}

impl Asked {
    fn answer(self) -> HookReply {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let place = self.place();
        if let HookPlace::Nowhere = place {
            return HookReply::default();
        }
        hooks::answer(&HookCall {
            dialect: self.dialect,
            event: self.event.as_deref(),
            input: input(),
            place,
            run: variable("ESCROW_RUN"),
            invocation: variable("ESCROW_INVOCATION"),
        })
    }

    /// The spool of the run around, else the state: named, or found by searching upwards.
    fn place(&self) -> HookPlace {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(spool) = path(hook_spool::VARIABLE) {
            return HookPlace::Spool(spool);
        }
        let named = self.state.clone().or_else(|| path("ESCROW_STATE")).filter(|state| state.is_dir());
        let nearest = || project::nearest(&std::env::current_dir().ok()?).ok().flatten();
        named.or_else(nearest).map_or(HookPlace::Nowhere, HookPlace::State)
    }
}

/// Standard input to its end, within the limits.
fn input() -> Result<String, (FailureClass, String)> {
    let failed = |error: rustix::io::Errno| {
        (FailureClass::TransportError, format!("standard input cannot be read: {error}"))
    };
    let stdin = io::stdin();
    let deadline = Instant::now() + INPUT_TIMEOUT;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a few seconds fit");
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&left)) {
            Ok(0) => {
                let message =
                    format!("the host did not finish its input within {} s", INPUT_TIMEOUT.as_secs());
                return Err((FailureClass::Timeout, message));
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(failed(error)),
        }
        match rustix::io::read(&stdin, &mut buffer) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(failed(error)),
        }
        if bytes.len() > INPUT_BYTES_MAX {
            return Err((FailureClass::PayloadTooLarge, "the input is larger than 16 MiB".to_owned()));
        }
    }
    String::from_utf8(bytes).map_err(|_| (FailureClass::InvalidRequest, "the input is not UTF-8".to_owned()))
}
