//! `escrow chain check` and `escrow chain daemon`: the scheduling loop, once or kept running.

use std::net::SocketAddr;
use std::sync::Arc;

use escrow_app::schedule::{Expected, Pass, Prospect, Rehearsal, Scheduler};
use escrow_app::{App, Caller, Error, StateDirectory, fires, webhooks};
use escrow_model::{FireStatus, rfc3339};
use escrow_runtime::os_actor;
use escrow_runtime::process::runs_around;
use escrow_store::{FireRow, Occurrence};
use escrow_studio::Hooks;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::{ChainCheckArguments, ChainDaemonArguments, Output, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Ui, count, printable};

pub(crate) async fn check(arguments: &ChainCheckArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = Arc::new(session::app_for_many(shared, ui)?);
    let scheduler = Scheduler::new(Arc::clone(&app), arguments.jobs);
    if arguments.dry_run {
        return Ok(rehearsed(&scheduler.rehearse(arguments.at).await?, ui));
    }
    session::stop_on_signals(&app);
    let pass = scheduler.check(arguments.at).await?;
    let has_failed = pass.settled.iter().any(|fire| fire.status == FireStatus::Failed);
    let exit = if pass.problems.is_empty() && !has_failed { Exit::Completed } else { Exit::WorldFailed };
    match ui.output() {
        Output::Human => {
            tell(&pass, ui);
            if pass.is_quiet() {
                ui.say("nothing is due");
            }
        }
        Output::Json | Output::Jsonl => drop(ui.data(&json!({ "check": document(&pass) }))),
    }
    Ok(exit)
}

fn document(pass: &Pass) -> Value {
    let listed = |rows: &[FireRow]| rows.iter().map(fires::document).collect::<Vec<_>>();
    json!({
        "recorded": listed(&pass.recorded),
        "accepted": listed(&pass.accepted),
        "settled": listed(&pass.settled),
        "resumed": pass.resumed,
        "problems": pass.problems,
    })
}

/// What a pass did, a line each.
fn tell(pass: &Pass, ui: &Ui) {
    for fire in &pass.accepted {
        ui.say(&format!("fired {} by {}: run {}", printable(&fire.chain), printable(&fire.event), fire.run));
    }
    for fire in &pass.settled {
        let why = printable(fire.reason.as_deref().unwrap_or_default());
        let (chain, event) = (printable(&fire.chain), printable(&fire.event));
        match fire.status {
            FireStatus::Failed => ui.say_even_when_quiet(&format!(
                "warning: {chain} was fired by {event}, and its run could not begin: {why}"
            )),
            FireStatus::Missed => ui.say(&format!("missed {chain} by {event}: {why}")),
            FireStatus::Recorded | FireStatus::Accepted | FireStatus::Begun | FireStatus::Skipped => {
                ui.say(&format!("skipped {chain} by {event}: {why}"));
            }
        }
    }
    for run in &pass.resumed {
        ui.say(&format!("resumed run {run}"));
    }
    for problem in &pass.problems {
        ui.say_even_when_quiet(&format!("warning: {}", printable(problem)));
    }
}

fn rehearsed(found: &Rehearsal, ui: &Ui) -> Exit {
    if ui.output() != Output::Human {
        let due: Vec<Value> = found.due.iter().map(due_document).collect();
        let undecided: Vec<Value> = found.undecided.iter().map(fires::document).collect();
        ui.data(&json!({ "check": {
            "dry_run": true,
            "due": due,
            "undecided": undecided,
            "abandoned": found.abandoned,
            "problems": found.problems,
        } }));
        return Exit::Completed;
    }
    for Expected { occurrence: Occurrence { fire, .. }, decision } in &found.due {
        let what =
            format!("{} by {} ({})", printable(&fire.chain), printable(&fire.event), printable(&fire.key));
        match decision {
            Prospect::Fires => ui.page(&format!("would fire {what}")),
            Prospect::Waits(why) => ui.page(&format!("would fire {what}, {}", printable(why))),
            Prospect::Skipped(_, why) => ui.page(&format!("would skip {what}: {}", printable(why))),
        }
    }
    for fire in &found.undecided {
        ui.page(&format!("would decide {} of {}", printable(&fire.key), printable(&fire.chain)));
    }
    for run in &found.abandoned {
        ui.page(&format!("would resume run {run}"));
    }
    for problem in &found.problems {
        ui.say_even_when_quiet(&format!("warning: {}", printable(problem)));
    }
    if found.due.is_empty() && found.undecided.is_empty() && found.abandoned.is_empty() {
        ui.page("nothing is due");
    }
    Exit::Completed
}

fn due_document(one: &Expected) -> Value {
    let fire = &one.occurrence.fire;
    let (refused, waits) = match &one.decision {
        Prospect::Fires => (None, None),
        Prospect::Waits(why) => (None, Some(why)),
        Prospect::Skipped(code, why) => (Some(json!({ "code": code, "summary": why })), None),
    };
    json!({
        "chain": fire.chain,
        "key": fire.key,
        "event": fire.event,
        "at": rfc3339(fire.at),
        "refused": refused,
        "waits": waits,
    })
}

pub(crate) async fn daemon(
    arguments: &ChainDaemonArguments,
    shared: &Shared,
    ui: &Ui,
) -> Result<Exit, Error> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    // Many runs at once report to their journals, not to this terminal.
    let caller = Caller { program: "daemon", actor: Some(os_actor()), runs_around };
    let app = Arc::new(App::new(state, caller));
    let hooks = match arguments.port {
        Some(port) => open_hooks(&app, SocketAddr::new(arguments.bind, port), ui).await?,
        None => None,
    };
    let scheduler = Scheduler::new(Arc::clone(&app), arguments.jobs);
    let mut told = ToldProblems::default();
    ui.say("watching the chains; SIGTERM lets runs come to rest, a second one ends them");
    ui.data_if_machine(
        &json!({ "daemon": { "url": hooks.as_ref().map(|hooks| format!("http://{}", hooks.address)) } }),
    );
    let serving = async {
        match hooks {
            Some(hooks) => hooks.serve().await,
            None => std::future::pending().await,
        }
    };
    let drained = async {
        asked_to_end().await;
        ui.say(&format!("draining: {} at work", count(scheduler.hosted(), "run")));
        scheduler.drain();
        asked_to_end().await;
        app.stop();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ran = scheduler.run(|pass| tell(&told.only_new(pass), ui)) => ran?,
        served = serving => served?,
        () = drained => {}
    }
    Ok(Exit::Completed)
}

/// The problems of the last pass. A daemon tells a problem once, not with every look.
#[derive(Default)]
struct ToldProblems(Vec<String>);

impl ToldProblems {
    /// The pass without the problems that the one before had, too.
    fn only_new(&mut self, pass: &Pass) -> Pass {
        let mut pass = pass.clone();
        let problems = pass.problems.clone();
        pass.problems.retain(|problem| !self.0.contains(problem));
        self.0 = problems;
        pass
    }
}

async fn open_hooks(app: &Arc<App>, address: SocketAddr, ui: &Ui) -> Result<Option<Hooks>, Error> {
    if !webhooks::has_any(app)? {
        return Err(Error::author("no_webhook", "`--port` is for webhooks, and the settings have none")
            .help("add `[webhook.github]` with `secret = { env = \"NAME\" }` to `.escrow/config.toml`"));
    }
    for why in webhooks::unusable(app)? {
        ui.say_even_when_quiet(&format!("warning: {}", printable(&why)));
    }
    let hooks = Hooks::open(Arc::clone(app), address).await?;
    ui.say(&format!("webhooks are received at http://{}/hooks/NAME", hooks.address));
    Ok(Some(hooks))
}

/// Ctrl-C or SIGTERM.
async fn asked_to_end() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
