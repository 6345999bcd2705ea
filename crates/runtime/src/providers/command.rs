//! `type: command`: a shell script, or a program with its arguments.
//!
//! **Invariant:** a template value never reaches a shell parser. It comes as a value of its own, and goes into
//! the environment under a name that the script refers to.

mod handback;
mod lock;
pub(super) mod output;
pub(super) mod words;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use escrow_model::{
    Answer, Ending, FaultCode, Home, KeyKind, KeySpec, Mutates, ProviderFault, ProviderSpec, Request,
    steered_by,
};
use serde_json::{Map, Value, json};

use super::places::Places;
use crate::process::{End, Finished, Process, SpawnError, Spool, find_program, run};
use crate::providers::{Attempt, Performance, Provider};
use crate::sandbox::{Confinement, EXIT_NOT_CONFINED};
use handback::Handback;
use output::{Parse, Read};

pub struct Command;

static SPEC: ProviderSpec = ProviderSpec {
    name: "command",
    summary: "runs a shell script or a program; its output is what it prints",
    keys: &[
        KeySpec { name: "exec", kind: KeyKind::Exec, required: true },
        KeySpec { name: "shell", kind: KeyKind::Shell, required: false },
        KeySpec { name: "stdin", kind: KeyKind::Text, required: false },
        KeySpec { name: "parse", kind: KeyKind::Word(Parse::WORDS), required: false },
        KeySpec { name: "expect", kind: KeyKind::ExitCodes, required: false },
        KeySpec { name: "sandbox", kind: KeyKind::Sandbox, required: false },
        KeySpec { name: "lock", kind: KeyKind::Word(lock::WORDS), required: false },
    ],
    mutates: Mutates::Never,
    home: Home::Runtime,
    timeout_ms: 600_000,
    ..ProviderSpec::PURE
};

impl Provider for Command {
    fn spec(&self) -> &'static ProviderSpec {
        &SPEC
    }

    fn perform<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a> {
        Box::pin(perform(request, attempt))
    }
}

async fn perform(request: &Request, attempt: &Attempt) -> Answer {
    if attempt.cancellation.is_cancelled() {
        return Answer::fault(ProviderFault::transient(
            FaultCode::Cancelled,
            "interrupted by the end of the run",
        ));
    }
    let exec = match Exec::read(request) {
        Ok(exec) => exec,
        Err(fault) => return Answer::fault(fault),
    };
    let sandbox = match Confinement::declared(request) {
        Ok(sandbox) => sandbox,
        Err(fault) => return Answer::fault(fault),
    };
    let places = match Places::prepare(attempt, sandbox) {
        Ok(places) => places,
        Err(error) => {
            let message = format!("cannot write beneath `{}`: {error}", attempt.spool.display());
            return Answer::fault(ProviderFault::transient(FaultCode::Spawn, message));
        }
    };
    let mut command = match exec.command(request, attempt, &places) {
        Ok(command) => command,
        Err(error) => return spawn_fault(&error),
    };
    let has_descriptors = places.has_descriptors();
    if let Err(error) = places.hand_over_descriptors(&mut command) {
        let message = format!("cannot hand over a secret as a descriptor: {error}");
        return Answer::fault(ProviderFault::transient(FaultCode::Spawn, message));
    }
    let limit = Duration::from_millis(request.timeout_ms);
    let began = Instant::now();
    let _hold = match tokio::time::timeout(limit, lock::hold(request, attempt)).await {
        Ok(Ok(hold)) => hold,
        Ok(Err(fault)) => return Answer::fault(fault),
        Err(_) => return Answer::fault(lock::out_of_time(limit)),
    };
    let process = Process {
        is_plain: exec.is_shell()
            && attempt.environment.is_inherited()
            && places.confinement.is_none()
            && !has_descriptors,
        stdin: request.fields.get("stdin").and_then(Value::as_str).map(str::as_bytes),
        spool: Some(Spool {
            directory: &places.spool,
            label: &attempt.label,
            from_bytes: attempt.spool_from_bytes,
        }),
        live: attempt.live.as_deref(),
        redactor: Arc::clone(&attempt.redactor),
        deadline: Some(limit.saturating_sub(began.elapsed())),
        cancellation: attempt.cancellation.clone(),
        grace: attempt.grace,
        ..Process::new(command)
    };
    match run(process).await {
        Ok(finished) => answer(&exec, request, attempt, finished, &places),
        Err(error) => spawn_fault(&error),
    }
}

fn spawn_fault(error: &SpawnError) -> Answer {
    Answer::fault(ProviderFault::transient(FaultCode::Spawn, error.message()))
}

/// `exec` as it was rendered.
enum Exec<'a> {
    Shell { script: &'a str, values: Option<&'a Map<String, Value>> },
    Program { program: &'a str, arguments: &'a [Value] },
}

impl<'a> Exec<'a> {
    fn read(request: &'a Request) -> Result<Exec<'a>, ProviderFault> {
        let exec = request.fields.get("exec");
        if let Some(script) = exec.and_then(|exec| exec.get("shell")).and_then(Value::as_str) {
            let values = exec.and_then(|exec| exec.get("values")).and_then(Value::as_object);
            return Ok(Exec::Shell { script, values });
        }
        let argv = exec.and_then(|exec| exec.get("argv")).and_then(Value::as_array);
        match argv.and_then(|argv| argv.split_first()) {
            Some((Value::String(program), arguments)) => Ok(Exec::Program { program, arguments }),
            _ => Err(ProviderFault::logical(
                FaultCode::own("request"),
                "`exec` is neither a script nor a list of words",
            )),
        }
    }

    fn command(
        &self,
        request: &Request,
        attempt: &Attempt,
        places: &Places,
    ) -> Result<std::process::Command, SpawnError> {
        let find = |program: &str| {
            let inherited = || attempt.environment.value("PATH");
            let path = request.env.get("PATH").map(OsString::from).or_else(inherited);
            find_program(OsStr::new(program), path.as_deref(), &attempt.directory)
        };
        let mut command = match self {
            Exec::Shell { script, .. } => {
                let mut command = match Shell::of(request) {
                    Shell::Sh => {
                        let mut command = std::process::Command::new("/bin/sh");
                        command.args(["-e", "-c"]);
                        command
                    }
                    Shell::Bash => {
                        let mut command = std::process::Command::new(find("bash")?);
                        command.args(["-eo", "pipefail", "-c"]);
                        command
                    }
                    Shell::Other { program, arguments } => {
                        let mut command = std::process::Command::new(find(program)?);
                        command.args(arguments.iter().map(text_of));
                        command
                    }
                };
                command.arg(script);
                command
            }
            Exec::Program { program, arguments } => {
                let mut command = std::process::Command::new(find(program)?);
                command.arg0(program).args(arguments.iter().map(text_of));
                command
            }
        };
        if let Some(confinement) = &places.confinement {
            command = confinement.wrap(&command);
        }
        places.give_to(&mut command, request, attempt, &attempt.environment);
        command.env("ESCROW_ENV", places.spool.join(&places.handback));
        if let Exec::Shell { values: Some(values), .. } = self {
            command.envs(values.iter().map(|(name, value)| (name, text_of(value))));
        }
        Ok(command)
    }

    fn is_shell(&self) -> bool {
        matches!(self, Exec::Shell { .. })
    }
}

/// What interprets a script. The first two stop at the first command that fails.
enum Shell<'a> {
    /// `/bin/sh -e`
    Sh,
    /// `bash -eo pipefail`
    Bash,
    /// Gets the script as its last argument.
    Other { program: &'a str, arguments: &'a [Value] },
}

impl<'a> Shell<'a> {
    fn of(request: &'a Request) -> Shell<'a> {
        match request.fields.get("shell") {
            Some(Value::String(word)) if word == "bash" => Shell::Bash,
            Some(Value::Array(words)) => match words.split_first() {
                Some((Value::String(program), arguments)) => Shell::Other { program, arguments },
                _ => Shell::Sh,
            },
            _ => Shell::Sh,
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn answer(
    exec: &Exec<'_>,
    request: &Request,
    attempt: &Attempt,
    finished: Finished,
    places: &Places,
) -> Answer {
    let Handback { env, mut problems, is_gone } = handback::take(places.context.place(), &places.handback);
    let (env, of_operator) = without_operators_variables(env);
    problems.extend(of_operator);
    if is_gone && finished.unended == 0 {
        attempt.contexts.give_name_back(&places.handback);
    }
    let mut record = record(&finished);
    if !problems.is_empty() {
        record.insert("env_problems".into(), problems.into());
    }
    places.tidy();
    let is_launchers = finished.end == End::Exited(i32::from(EXIT_NOT_CONFINED));
    let not_confined = places.confinement.as_ref().and_then(Confinement::failure).filter(|_| is_launchers);
    let mut ending = match not_confined {
        Some(fault) => Ending::Fault(fault),
        None => ending(exec, request, &finished),
    };
    let Read { output, repeated_key, fault } = output::read(finished.stdout, Parse::of(request));
    if let Some(path) = repeated_key {
        record.insert("repeated_key".into(), path.into());
    }
    // What a command that failed has printed need not be complete.
    if let (Ending::Done, Some(fault)) = (&ending, fault) {
        ending = Ending::Fault(fault);
    }
    Answer { ending, output, record, env, flaw: None }
}

/// A variable that the operator has set is refused, also one that commands do not inherit.
fn without_operators_variables(env: BTreeMap<String, String>) -> (BTreeMap<String, String>, Vec<String>) {
    let (refused, free): (BTreeMap<_, _>, BTreeMap<_, _>) =
        env.into_iter().partition(|(name, _)| std::env::var_os(name).is_some() && steered_by(name).is_none());
    let say = |name: String| format!("`{name}` was not handed on: the operator has set it");
    (free, refused.into_keys().map(say).collect())
}

/// The exit codes that are no fault.
fn is_expected(code: i32, request: &Request) -> bool {
    match request.fields.get("expect").and_then(Value::as_array) {
        Some(codes) => codes.iter().any(|expected| expected.as_i64() == Some(i64::from(code))),
        None => code == 0,
    }
}

fn ending(exec: &Exec<'_>, request: &Request, finished: &Finished) -> Ending {
    let ended = match finished.unended {
        0 => "ended with all its children".to_owned(),
        1 => "ended, but 1 process could not be".to_owned(),
        count => format!("ended, but {count} processes could not be"),
    };
    let fault = match finished.end {
        End::Exited(code) if is_expected(code, request) => return Ending::Done,
        End::Exited(0) => {
            ProviderFault::transient(FaultCode::ExitNonzero, "exit code 0, which `expect` does not list")
        }
        End::Exited(code) => {
            ProviderFault::transient(FaultCode::ExitNonzero, words::exit_message(code, exec.is_shell()))
        }
        End::Signalled(signal) => {
            ProviderFault::transient(FaultCode::Signal, format!("ended by {}", words::signal_name(signal)))
                .with_unknown_effect()
        }
        End::TimedOut => {
            let limit = words::duration(Duration::from_millis(request.timeout_ms));
            ProviderFault::transient(FaultCode::Timeout, format!("still running after {limit}: {ended}"))
                .with_unknown_effect()
        }
        End::Cancelled => {
            let after = words::duration(finished.duration);
            ProviderFault::transient(FaultCode::Cancelled, format!("cancelled after {after}: {ended}"))
                .with_unknown_effect()
        }
        End::Lost => ProviderFault::transient(FaultCode::Signal, "the system did not tell how it ended")
            .with_unknown_effect(),
    };
    Ending::Fault(fault)
}

pub(super) fn record(finished: &Finished) -> Map<String, Value> {
    let (code, signal) = match finished.end {
        End::Exited(code) => (Some(code), None),
        End::Signalled(signal) => (None, Some(words::signal_name(signal))),
        End::TimedOut | End::Cancelled | End::Lost => (None, None),
    };
    let mut record = Map::with_capacity(12);
    let mut put = |key: &str, value: Value| record.insert(key.into(), value);
    put("exitCode", json!(code));
    put("exit_code", json!(code));
    put("signal", json!(signal));
    put("timed_out", (finished.end == End::TimedOut).into());
    put("duration_ms", u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX).into());
    put("truncated", finished.stdout.is_truncated().into());
    if finished.stderr.is_truncated() {
        put("stderr_truncated", true.into());
    }
    put("stdout_bytes", finished.stdout.total_bytes.into());
    put("stderr_bytes", finished.stderr.total_bytes.into());
    put("stderr", finished.stderr.text().into());
    for (stream, captured) in [("stdout", &finished.stdout), ("stderr", &finished.stderr)] {
        if let Some(file) = &captured.file {
            put(&format!("{stream}_file"), file_text(file));
        }
        if let Some(problem) = &captured.spool_problem {
            put(&format!("{stream}_file_problem"), problem.as_str().into());
        }
    }
    if finished.stdout.file.is_none()
        && !finished.stdout.tail.is_empty()
        && finished.stdout.tail.len() <= STDOUT_KEPT
    {
        put("stdout", finished.stdout.text().into());
    }
    if finished.stdout.redacted || finished.stderr.redacted {
        put(Answer::REDACTED, true.into());
    }
    if finished.unended > 0 {
        put("unended_processes", finished.unended.into());
    }
    record
}

/// Output that has no file is kept as it was printed, beside what was read from it.
const STDOUT_KEPT: usize = 64 * 1024;

fn file_text(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}
