//! Runs a client: one deadline, blocking waits, and the whole group ended when it is over.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use escrow_protocol::callback::{
    Callback, CallbackEnd, Exit, Finished, STDERR_LIMIT_BYTES, STDOUT_LIMIT_BYTES,
};

enum Part {
    Written(io::Result<()>),
    Stdout(io::Result<(Vec<u8>, bool)>),
    Stderr(io::Result<(Vec<u8>, bool)>),
    Ended(io::Result<std::process::ExitStatus>),
}

pub(crate) fn run(callback: &Callback) -> CallbackEnd {
    let deadline = Instant::now() + Duration::from_millis(callback.deadline_ms);
    let started = Command::new(&callback.program)
        .args(&callback.arguments)
        .env_clear()
        .envs(callback.environment.of(std::env::vars_os()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return CallbackEnd::NotStarted(error.to_string()),
    };
    let group = child.id();
    let (sender, parts) = mpsc::channel();
    watch(&mut child, callback.input.clone(), &sender);
    let waiter = sender;
    thread::spawn(move || waiter.send(Part::Ended(child.wait())));

    let (mut written, mut stdout, mut stderr, mut ended) = (None, None, None, None);
    while written.is_none() || stdout.is_none() || stderr.is_none() || ended.is_none() {
        match parts.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Part::Written(result)) => written = Some(result),
            Ok(Part::Stdout(Ok((_, true)))) => {
                end_group(group);
                return CallbackEnd::Flooded;
            }
            Ok(Part::Stdout(result)) => stdout = Some(result),
            Ok(Part::Stderr(result)) => stderr = Some(result),
            Ok(Part::Ended(result)) => ended = Some(result),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                end_group(group);
                return CallbackEnd::TimedOut;
            }
        }
    }
    match (stdout, stderr, ended) {
        (Some(Ok((stdout, _))), Some(Ok((stderr, stderr_was_cut))), Some(Ok(status))) => {
            let exit = status.code().map_or(Exit::Signal, Exit::Code);
            debug_assert!(status.signal().is_some() || status.code().is_some());
            let write_error = written.and_then(Result::err).map(|error| error.to_string());
            CallbackEnd::Finished(Finished { exit, stdout, stderr, stderr_was_cut, write_error })
        }
        (Some(Err(error)), _, _) | (_, Some(Err(error)), _) | (_, _, Some(Err(error))) => {
            CallbackEnd::Unreadable(error.to_string())
        }
        (_, _, _) => CallbackEnd::TimedOut,
    }
}

fn watch(child: &mut Child, input: Vec<u8>, sender: &mpsc::Sender<Part>) {
    if let Some(mut pipe) = child.stdin.take() {
        let sender = sender.clone();
        thread::spawn(move || sender.send(Part::Written(pipe.write_all(&input))));
    }
    if let Some(pipe) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || sender.send(Part::Stdout(drain(pipe, STDOUT_LIMIT_BYTES, Beyond::Stop))));
    }
    if let Some(pipe) = child.stderr.take() {
        let sender = sender.clone();
        thread::spawn(move || sender.send(Part::Stderr(drain(pipe, STDERR_LIMIT_BYTES, Beyond::Discard))));
    }
}

#[derive(Clone, Copy)]
enum Beyond {
    Stop,
    Discard,
}

/// Reads to the end, keeps no more than the limit, and says whether there was more.
fn drain(mut pipe: impl Read, limit: usize, beyond: Beyond) -> io::Result<(Vec<u8>, bool)> {
    let mut kept = Vec::new();
    pipe.by_ref().take(limit as u64).read_to_end(&mut kept)?;
    let mut rest = [0; 8192];
    let has_more = pipe.read(&mut rest)? > 0;
    if has_more && matches!(beyond, Beyond::Discard) {
        io::copy(&mut pipe, &mut io::sink())?;
    }
    Ok((kept, has_more))
}

fn end_group(group: u32) {
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).stderr(Stdio::null()).status();
}
