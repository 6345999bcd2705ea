//! Runs the clients of a lifecycle event, each as a process of its own, side by side.
//!
//! ```text
//!   Callback ─▶ process::run ─▶ CallbackEnd     (what it means is the protocol's to say)
//! ```
//!
//! **Invariant:** one deadline covers starting, writing, running and draining; when it has passed, or when a
//! client floods us, its whole tree is ended at once. Waiting blocks on descriptors; nothing is polled.

mod residents;

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Command;
use std::time::Duration;

use escrow_protocol::callback::{
    Callback, CallbackEnd, Environment, Exit, Finished, STDERR_LIMIT_BYTES, STDOUT_LIMIT_BYTES,
};
pub use residents::Residents;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, LocalSet};

use crate::cancellation::cancellation;
use crate::process::{self, Drain, End, Process, Stream, find_program};

/// Runs each client and tells how each ended, in the same order.
pub fn run(callbacks: &[Callback]) -> Vec<CallbackEnd> {
    let runtime = match current_thread_runtime() {
        Ok(runtime) => runtime,
        Err(error) => return vec![CallbackEnd::NotStarted(error.to_string()); callbacks.len()],
    };
    match callbacks {
        [only] => vec![runtime.block_on(Box::pin(run_one(only)))],
        several => LocalSet::new().block_on(&runtime, side_by_side(several)),
    }
}

fn current_thread_runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

async fn side_by_side(callbacks: &[Callback]) -> Vec<CallbackEnd> {
    let mut running = JoinSet::new();
    for (position, callback) in callbacks.iter().cloned().enumerate() {
        running.spawn_local(async move { (position, Box::pin(run_one(&callback)).await) });
    }
    let mut ends = running.join_all().await;
    ends.sort_by_key(|(position, _)| *position);
    ends.into_iter().map(|(_, end)| end).collect()
}

/// What a client has said so far.
#[derive(Default)]
struct Heard {
    stdout: Vec<u8>,
    stdout_is_flood: bool,
    stderr: Vec<u8>,
    stderr_was_cut: bool,
}

impl Heard {
    fn take(&mut self, stream: Stream, chunk: &[u8]) {
        match stream {
            Stream::Stdout if self.stdout.len() + chunk.len() > STDOUT_LIMIT_BYTES => {
                self.stdout_is_flood = true;
            }
            Stream::Stdout => self.stdout.extend_from_slice(chunk),
            Stream::Stderr => {
                let fits = chunk.len().min(STDERR_LIMIT_BYTES - self.stderr.len());
                self.stderr.extend_from_slice(&chunk[..fits]);
                self.stderr_was_cut |= fits < chunk.len();
            }
        }
    }
}

async fn run_one(callback: &Callback) -> CallbackEnd {
    let command = match command(&callback.program, &callback.arguments, &callback.environment) {
        Ok(command) => command,
        Err(why) => return CallbackEnd::NotStarted(why),
    };
    let heard = RefCell::new(Heard::default());
    let (canceller, cancellation) = cancellation();
    let listen = |stream: Stream, chunk: &[u8]| {
        let mut heard = heard.borrow_mut();
        heard.take(stream, chunk);
        if heard.stdout_is_flood {
            canceller.cancel();
        }
    };
    let process = Process {
        stdin: Some(&callback.input),
        live: Some(&listen),
        deadline: Some(Duration::from_millis(callback.deadline_ms)),
        drain: Drain::UntilDeadline,
        cancellation,
        // The caller of the hook must not wait any longer.
        grace: Duration::ZERO,
        // What was said is in `heard`, from its beginning.
        stdout_tail_bytes_max: 0,
        stderr_tail_bytes_max: 0,
        ..Process::new(command)
    };
    let finished = match process::run_or_say_why(process).await {
        Ok(finished) => finished,
        Err(error) => return CallbackEnd::NotStarted(error.to_string()),
    };
    let heard = heard.into_inner();
    let exit = match finished.end {
        _ if heard.stdout_is_flood => return CallbackEnd::Flooded,
        End::TimedOut | End::Cancelled => return CallbackEnd::TimedOut,
        End::Lost => return CallbackEnd::Unreadable("the system did not tell how it ended".to_owned()),
        End::Exited(code) => Exit::Code(code),
        End::Signalled(_) => Exit::Signal,
    };
    CallbackEnd::Finished(Finished {
        exit,
        stdout: heard.stdout,
        stderr: heard.stderr,
        stderr_was_cut: heard.stderr_was_cut,
        write_error: finished.input_problem.map(|error| error.to_string()),
    })
}

/// The command of a client. Programs are found on our own `PATH`, whatever the client may see of it.
fn command(program: &OsStr, arguments: &[OsString], environment: &Environment) -> Result<Command, String> {
    let mut command = match environment {
        // Without `envs`, the standard library uses `posix_spawn`.
        Environment::Inherited => Command::new(program),
        Environment::Only(_) => {
            let here = std::env::current_dir().map_err(|error| error.to_string())?;
            let path = std::env::var_os("PATH");
            let found = find_program(program, path.as_deref(), &here).map_err(|error| error.message())?;
            let mut command = Command::new(found);
            command.env_clear().envs(environment.of(std::env::vars_os()));
            command
        }
    };
    command.args(arguments);
    Ok(command)
}
