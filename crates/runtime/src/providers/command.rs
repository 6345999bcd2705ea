//! `type: command`: a shell script, or a program with its arguments.
//!
//! **Invariant:** a template value never reaches a shell parser. It comes as a value of its own, and goes into
//! the environment under a name that the script refers to.

mod handback;
mod output;
mod secret_descriptor;
mod secret_file;
mod words;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_model::{
    Answer, Ending, FaultCode, Home, KeyKind, KeySpec, Mutates, ProviderFault, ProviderSpec, Request,
    Sandbox, steered_by,
};
use rustix::fs::{AtFlags, unlinkat};
use serde_json::{Map, Value, json};

use crate::private_files::{create_directory, create_file};
use crate::process::{
    AROUND_VARIABLE, End, Finished, Process, SpawnError, Spool, find_program, run, runs_around_commands,
};
use crate::providers::{Attempt, ContextFile, Performance, Provider};
use crate::sandbox::{Confinement, EXIT_NOT_CONFINED};
use handback::Handback;
use output::{Parse, Read};
use secret_descriptor::SecretDescriptor;
use secret_file::SecretFile;

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
    ],
    mutates: Mutates::Never,
    home: Home::Runtime,
    timeout_ms: 600_000,
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
    let has_descriptors = !places.secret_descriptors.is_empty();
    if let Err(error) = secret_descriptor::hand_over(&places.secret_descriptors, &mut command) {
        let message = format!("cannot hand over a secret as a descriptor: {error}");
        return Answer::fault(ProviderFault::transient(FaultCode::Spawn, message));
    }
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
        deadline: Some(Duration::from_millis(request.timeout_ms)),
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
        command.current_dir(&attempt.directory);
        attempt.environment.apply(&mut command);
        let is_free = |name: &&String| attempt.environment.value(name).is_none();
        command.envs(request.handed_env.iter().filter(|(name, _)| is_free(name)));
        command.envs(&request.env);
        command.envs(attempt.secrets.iter().map(|(name, value)| {
            let file = places.secret_files.iter().find(|file| file.is_of(name)).map(SecretFile::path);
            let descriptors = &places.secret_descriptors;
            let open = || descriptors.iter().find(|open| open.is_of(name)).map(SecretDescriptor::path);
            (name, file.or_else(open).map_or(value.as_os_str(), Path::as_os_str))
        }));
        command
            .env("ESCROW_STATE", &places.state)
            .env("ESCROW_RUN", attempt.run.as_str())
            .env("ESCROW_CHECK", &attempt.check)
            .env("ESCROW_ATTEMPT", attempt.number.to_string())
            .env("ESCROW_IDEMPOTENCY_KEY", &request.idempotency_key)
            .env("ESCROW_CONTEXT", places.context.path())
            .env("ESCROW_ARTIFACTS", &places.artifacts)
            .env("ESCROW_ENV", places.spool.join(&places.handback))
            .envs(runs_around_commands().map(|around| (AROUND_VARIABLE, around)))
            .envs(attempt.invocation.iter().map(|invocation| ("ESCROW_INVOCATION", invocation)));
        if let Some(item) = request.item.as_ref().map(Value::to_string)
            && item.len() <= ITEM_BYTES_MAX
        {
            command.env("ESCROW_ITEM", item);
        }
        if let Some(temporary) = &places.temporary {
            command.env("TMPDIR", temporary);
        }
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

/// The system takes no variable above 128 KiB and would not start the command. A larger item is left out: the
/// context has it.
const ITEM_BYTES_MAX: usize = 96 * 1024;

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The paths that a command gets in its environment. Absolute, because it may change its directory.
struct Places {
    spool: PathBuf,
    /// Held until the command has ended.
    context: Rc<ContextFile>,
    /// Next to the context file.
    handback: String,
    artifacts: PathBuf,
    state: PathBuf,
    /// Held until the command has ended.
    secret_files: Vec<SecretFile>,
    secret_descriptors: Vec<SecretDescriptor>,
    confinement: Option<Confinement>,
    /// The temporary directory of a command whose files are confined.
    temporary: Option<PathBuf>,
}

impl Places {
    fn prepare(attempt: &Attempt, sandbox: Option<Sandbox>) -> io::Result<Places> {
        let spool = absolute(&attempt.spool)?;
        let mut places = Places {
            context: attempt.contexts.file(&attempt.context)?,
            handback: attempt.contexts.take_name(),
            artifacts: absolute(&attempt.artifacts)?,
            state: absolute(&attempt.state)?,
            secret_files: Vec::new(),
            secret_descriptors: Vec::new(),
            confinement: None,
            temporary: None,
            spool,
        };
        // A crash may have left one here.
        if !attempt.contexts.is_fresh() {
            let _ = unlinkat(places.context.place(), &places.handback, AtFlags::empty());
        }
        for (name, value) in attempt.secrets.iter().filter(|(name, _)| attempt.secret_files.contains(name)) {
            places.secret_files.push(SecretFile::create(&places.spool, &attempt.label, name, value)?);
        }
        let open = attempt.secrets.iter().filter(|(name, _)| attempt.secret_descriptors.contains(name));
        for (place, (name, value)) in open.enumerate() {
            places.secret_descriptors.push(SecretDescriptor::create(place, name, value)?);
        }
        if let Some(sandbox) = sandbox {
            places.confine(sandbox, attempt)?;
        }
        Ok(places)
    }

    fn confine(&mut self, sandbox: Sandbox, attempt: &Attempt) -> io::Result<()> {
        let mut writable = vec![self.artifacts.clone()];
        if sandbox.filesystem.is_some() {
            let temporary = self.spool.join(format!("{}.tmp", attempt.label));
            create_directory(&temporary)?;
            // Only a file that exists can be made writable.
            let handback = self.spool.join(&self.handback);
            create_file(&handback)?;
            writable.extend([temporary.clone(), handback]);
            self.temporary = Some(temporary);
        }
        self.confinement = Some(Confinement {
            sandbox,
            directory: absolute(&attempt.directory)?,
            writable,
            readable: std::iter::once(self.context.path())
                .chain(self.secret_files.iter().map(SecretFile::path))
                .map(Path::to_owned)
                .collect(),
            state: self.state.clone(),
            report: self.spool.join(format!("{}.sandbox", attempt.label)),
        });
        Ok(())
    }

    /// Removes what only the command needed.
    fn tidy(&self) {
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_dir_all(temporary);
        }
    }
}

fn absolute(path: &Path) -> io::Result<PathBuf> {
    if path.is_absolute() { Ok(path.to_owned()) } else { std::path::absolute(path) }
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

fn record(finished: &Finished) -> Map<String, Value> {
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
