//! `type: ai`: gives a prompt to an AI harness, started without a terminal.
//!
//! ```text
//!   Request ──▶ Task ──Harness::command──▶ process ──lines──▶ Listener ──Report──▶ Answer
//!                        private home, confinement      └─ ends it when a limit is exceeded
//! ```
//!
//! **Invariant:** an exit code proves nothing. The answer is `Done` only if the program's terminal line was read without
//! an error. Nothing of the user's configuration is read or written, except a login that is lent.

mod answer;
mod confine;
mod final_text;
mod home;
mod hooks;
mod independence;
mod interrupted;
mod listener;
pub(crate) mod login;
pub mod program;
mod task;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use escrow_harness::Order;
use escrow_model::{Answer, Ending, FaultCode, ProviderFault, ProviderSpec, Request};
use escrow_playbook::AI_PROVIDER;

use super::places::Places;
use super::{Attempt, Performance, Provider};
use crate::cancellation::{Canceller, cancellation};
use crate::process::{Finished, Process, SpawnError, Spool, Stream, run};
use crate::redaction::Redactor;
use crate::sandbox::EXIT_NOT_CONFINED;
use confine::Enforcement;
use home::PrivateHome;
use hooks::Hooks;
use independence::Moment;
use interrupted::Interrupted;
use listener::Listener;
use login::LentLogin;
use task::Task;

pub struct Ai;

static SPEC: ProviderSpec = AI_PROVIDER;

impl Provider for Ai {
    fn spec(&self) -> &'static ProviderSpec {
        &SPEC
    }

    fn perform<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a> {
        Box::pin(async move { perform(request, attempt).await.unwrap_or_else(Answer::fault) })
    }
}

async fn perform(request: &Request, attempt: &Attempt) -> Result<Answer, ProviderFault> {
    let began = Instant::now();
    if attempt.cancellation.is_cancelled() {
        let message = "interrupted by the end of the run";
        return Err(ProviderFault::transient(FaultCode::Cancelled, message));
    }
    let mut task = Task::read(request, attempt)?;
    let interrupted = Interrupted::of(attempt);
    task.budget = interrupted.left_of(task.budget);
    if let Err(fault) = task.refuse_if_nothing_is_left() {
        let mut answer = Answer::fault(fault);
        if interrupted.has_spent() {
            let record = answer::harness_record(task.harness.spec(), &interrupted.report());
            answer.record.insert("harness".to_owned(), record);
        }
        return Ok(answer);
    }
    if let Some(judged) = &task.judged {
        judged.refuse_same(task.harness.spec(), task.model, Moment::Before)?;
    }
    let program = program::find(task.harness.spec(), request, attempt)?;
    let home = PrivateHome::open(&task, attempt)?;
    let login = match LentLogin::borrow(&task, &home, attempt, request.timeout_ms).await {
        Ok(login) => login,
        Err(fault) => {
            home.tidy();
            return Err(fault);
        }
    };
    let mut outcome = Err(ProviderFault::logical(FaultCode::Exception, "no way to start the harness"));
    for enforcement in Enforcement::ways(&task).iter().copied() {
        let left_ms = request.timeout_ms.saturating_sub(elapsed_ms(began));
        outcome =
            work(&task, &program, (&home, &login, &interrupted), enforcement, (request, attempt), left_ms)
                .await;
        if !matches!(&outcome, Err(fault) if fault.code == NOT_CONFINED) {
            break;
        }
    }
    let returned = login.give_back();
    home.tidy();
    let Err(problem) = returned else { return outcome };
    let mut answer = outcome.unwrap_or_else(Answer::fault);
    answer.record.insert("login_problem".into(), problem.to_string().into());
    if problem.is_lost() {
        answer.record.insert("login_lost".into(), true.into());
    }
    Ok(answer)
}

/// The fault of a confinement that cannot be set up.
const NOT_CONFINED: FaultCode = FaultCode::own("sandbox");

/// One process, from its command line to its report.
async fn work(
    task: &Task<'_>,
    program: &std::path::Path,
    (home, login, interrupted): (&PrivateHome, &LentLogin, &Interrupted),
    enforcement: Enforcement,
    (request, attempt): (&Request, &Attempt),
    timeout_ms: u64,
) -> Result<Answer, ProviderFault> {
    let spec = task.harness.spec();
    let environment = attempt.environment.minimal_with(task.variables());
    let places = confine::places(task, home, enforcement, attempt)?;
    let base_url = base_url(spec.base_url_variable, request, attempt, &environment);
    let hooks = Hooks::prepare(spec.name, home, request).map_err(|error| io_fault(&error))?;
    let order = Order {
        prompt: task.prompt,
        model: task.model,
        permission: task.permission,
        confinement: enforcement.into(),
        auth: task.auth,
        directory: &super::places::absolute(&attempt.directory).map_err(|error| io_fault(&error))?,
        home: home.path(),
        artifacts: &places.artifacts,
        conversation: home.conversation(),
        turns: task.budget.turns.and_then(|turns| u32::try_from(turns).ok()),
        usd: task.budget.usd,
        schema: task.schema,
        hook: hooks.words(),
        base_url: base_url.as_deref(),
        is_root: rustix::process::geteuid().is_root(),
    };
    let line = task.command_line(&order)?;
    home.write(&line.files).map_err(|error| io_fault(&error))?;
    let mut command = std::process::Command::new(program);
    command.args(&line.arguments);
    if let Some(confinement) = &places.confinement {
        command = confinement.wrap(&command);
    }
    places.give_to(&mut command, request, attempt, &environment);
    home.give_to(&mut command);
    hooks.give_to(&mut command);
    command.envs(line.env.iter().map(|(name, value)| (name, value)));
    places.hand_over_descriptors(&mut command).map_err(|error| io_fault(&error))?;
    let (canceller, cancelled) = cancellation();
    let redactor = redactor(task, attempt, &environment, login);
    let listener = RefCell::new(Listener::new(task, (home, interrupted), canceller.clone(), attempt));
    let listen = |stream: Stream, bytes: &[u8]| {
        if stream == Stream::Stdout {
            listener.borrow_mut().hear(bytes);
        }
    };
    let process = Process {
        stdin: line.stdin.as_deref().map(str::as_bytes),
        spool: Some(Spool {
            directory: &places.spool,
            label: &attempt.label,
            from_bytes: attempt.spool_from_bytes,
        }),
        live: Some(&listen),
        redactor: Arc::clone(&redactor),
        deadline: Some(Duration::from_millis(timeout_ms)),
        cancellation: cancelled,
        grace: attempt.grace,
        stdout_tail_bytes_max: TAIL_BYTES,
        ..Process::new(command)
    };
    let figures = || listener.borrow().progress();
    let finished = tokio::select! {
        biased;
        finished = run_until_cancelled(process, attempt, &canceller) => finished,
        () = hooks.tick(spec.name, attempt, timeout_ms, figures) => unreachable!("ticks do not end"),
        () = login.watch() => unreachable!("it does not end"),
    };
    let finished = finished.map_err(|error| program::cannot_start(spec, &error))?;
    if let Some(fault) = not_confined(&places, &finished) {
        places.tidy();
        return Err(fault);
    }
    let mut answer = listener.into_inner().answer(&finished, attempt, timeout_ms);
    let ended_well = answer.ending == Ending::Done;
    if let Some(problem) = hooks.collect(spec.name, attempt, ended_well).await {
        answer.record.insert("hook_problem".into(), problem.into());
    }
    redactor.answer(&mut answer);
    // What the harness has renewed is a secret as well.
    let _ = login.write_back();
    let renewed = login.secrets();
    if !renewed.is_empty() {
        Arc::new(redactor.with(renewed.iter().map(Vec::as_slice))).answer(&mut answer);
    }
    places.tidy();
    Ok(answer)
}

/// Ends the process with the run, too.
async fn run_until_cancelled(
    process: Process<'_>,
    attempt: &Attempt,
    canceller: &Canceller,
) -> Result<Finished, SpawnError> {
    let mut running = std::pin::pin!(run(process));
    tokio::select! {
        biased;
        finished = &mut running => finished,
        () = attempt.cancellation.cancelled() => {
            canceller.cancel();
            running.await
        }
    }
}

/// The tail of standard output that is kept beside the report.
const TAIL_BYTES: usize = 64 * 1024;

fn not_confined(places: &Places, finished: &Finished) -> Option<ProviderFault> {
    let is_launchers = finished.end == crate::process::End::Exited(i32::from(EXIT_NOT_CONFINED));
    let fault = places.confinement.as_ref()?.failure().filter(|_| is_launchers)?;
    let help = "`permission_enforcement: advisory` leaves it to the harness";
    Some(ProviderFault { message: format!("{}; {help}", fault.message), ..fault })
}

/// Keys are secrets, declared or not, and so is a login.
fn redactor(
    task: &Task<'_>,
    attempt: &Attempt,
    environment: &super::Environment,
    login: &LentLogin,
) -> Arc<Redactor> {
    let keys: Vec<_> =
        task.harness.spec().key_variables.iter().filter_map(|name| environment.value(name)).collect();
    let lent = login.secrets();
    if keys.is_empty() && lent.is_empty() {
        return Arc::clone(&attempt.redactor);
    }
    let keys = keys.iter().map(|key| key.as_encoded_bytes());
    Arc::new(attempt.redactor.with(keys.chain(lent.iter().map(Vec::as_slice))))
}

fn base_url(
    variable: &str,
    request: &Request,
    attempt: &Attempt,
    environment: &super::Environment,
) -> Option<String> {
    let granted =
        || attempt.secrets.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone());
    let inherited =
        || environment.value(variable).or_else(granted).and_then(|value| value.into_string().ok());
    request.env.get(variable).cloned().or_else(inherited).filter(|url| !url.is_empty())
}

fn io_fault(error: &std::io::Error) -> ProviderFault {
    ProviderFault::transient(FaultCode::Spawn, format!("the harness cannot be started: {error}"))
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
