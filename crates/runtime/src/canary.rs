//! Starts a harness against a scripted model on the loopback interface, and reports which of its hooks fire.
//!
//! Everything is in a scratch directory: configuration, home, work. No key is needed and no service is reached.

use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use escrow_harness::frames::HOOK_EVENT;
use escrow_harness::scripted::Step;
use escrow_harness::{Auth, Confinement, Conversation, Exit, Harness, Order, Permission};
use escrow_protocol::receipt::{Ledger as _, MemoryLedger, ReceiptQuery};

use crate::hook_spool::HookSpool;
use crate::model_server::ModelServer;

/// How long the program may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a canary showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Canary {
    /// Events whose hook left a receipt, in the order of the first.
    pub fired: Vec<String>,
    /// Events that one prompt must fire, and did not.
    pub silent: Vec<&'static str>,
    /// Why the program did not end well.
    pub problem: Option<String>,
}

/// Runs one prompt. `scratch` is an empty directory; `hook` are the words of the hook's command.
pub fn run(harness: &dyn Harness, program: &Path, hook: &[String], scratch: &Path) -> io::Result<Canary> {
    let spec = harness.spec();
    let scratch = scratch.canonicalize()?;
    let place = |name: &str| -> io::Result<_> {
        let path = scratch.join(name);
        fs::create_dir_all(&path)?;
        Ok(path)
    };
    let (directory, home, artifacts) = (place("work")?, place("home")?, place("artifacts")?);
    let spool = HookSpool::create(&scratch.join("hooks"))?;
    let server = ModelServer::start(vec![Step::Say("Canary.".to_owned())])?;
    let base_url = format!("{}{}", server.url(), spec.api_path);
    let order = Order {
        prompt: "Say that you are there.",
        model: Some(spec.scripted_model),
        permission: Permission::Read,
        confinement: Confinement::Program,
        auth: Auth::Key,
        directory: &directory,
        home: &home,
        artifacts: &artifacts,
        conversation: Conversation::New { id: "6f1ab2c4-0d3e-4f5a-8b6c-7d8e9fa0b1c2" },
        turns: None,
        usd: None,
        schema: None,
        hook: Some(hook),
        base_url: Some(&base_url),
        is_root: rustix::process::geteuid().is_root(),
    };
    let line = match harness.command(&order) {
        Ok(line) => line,
        Err(error) => return Ok(Canary { problem: Some(error.to_string()), ..Canary::default() }),
    };
    for file in &line.files {
        if let Some(parent) = file.path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&file.path, &file.contents)?;
    }
    let mut command = Command::new(program);
    command.args(&line.arguments).current_dir(&directory).env_clear();
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &home)
        .env("TMPDIR", place("tmp")?);
    command.envs(spec.key_variables.first().map(|key| (key, "sk-canary")));
    command.env(spec.base_url_variable, &base_url);
    command.envs(line.env.iter().map(|(name, value)| (name, value)));
    spool.give_to(&mut command);
    let problem = run_to_end(command, line.stdin.as_deref(), harness, &scratch)?;

    let mut ledger = MemoryLedger::default();
    spool.collect(None, &mut ledger).map_err(io::Error::other)?;
    let receipts = ledger.query(&ReceiptQuery::default()).map_err(io::Error::other)?;
    let mut fired: Vec<String> = Vec::new();
    for event in receipts.iter().filter_map(|one| one.telemetry_summary.get(HOOK_EVENT)?.as_str()) {
        if !fired.iter().any(|known| known == event) {
            fired.push(event.to_owned());
        }
    }
    let silent = spec.hooks.of_one_prompt().map(|event| event.name);
    let silent = silent.filter(|name| !fired.iter().any(|event| event == name)).collect();
    Ok(Canary { fired, silent, problem })
}

/// Runs the program to its end. Says what went wrong, in its own words where it has some.
fn run_to_end(
    mut command: Command,
    stdin: Option<&str>,
    harness: &dyn Harness,
    scratch: &Path,
) -> io::Result<Option<String>> {
    let (out, errors) = (scratch.join("stdout"), scratch.join("stderr"));
    command.stdout(fs::File::create(&out)?).stderr(fs::File::create(&errors)?).process_group(0);
    command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Some(format!("the program cannot be started: {error}"))),
    };
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), stdin) {
        let _ = pipe.write_all(text.as_bytes());
    }
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let deadline = Instant::now() + TIMEOUT;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if Instant::now() >= deadline {
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let Some(status) = status else {
        let _ = child.wait();
        return Ok(Some(format!("the program did not end within {} s", TIMEOUT.as_secs())));
    };
    let mut parser = harness.parser();
    for line in String::from_utf8_lossy(&fs::read(&out)?).lines() {
        parser.line(line);
    }
    use std::os::unix::process::ExitStatusExt;
    let exit = status.code().map(Exit::Code).or(status.signal().map(Exit::Signal)).unwrap_or(Exit::Code(-1));
    let errors = fs::read(&errors)?;
    let report = parser.finish(exit, &String::from_utf8_lossy(&errors));
    Ok(report.error.map(|error| error.message))
}
