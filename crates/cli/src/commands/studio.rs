//! `escrow studio`: serves the web pages, and manages the tokens for them.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use escrow_app::tokens::{self, Role};
use escrow_app::{App, Caller, Error, StateDirectory};
use escrow_model::rfc3339;
use escrow_runtime::os_actor;
use escrow_runtime::process::runs_around;
use escrow_studio::{Settings, open};
use serde_json::{Value, json};

use crate::arguments::{Output, Shared, StudioAction, StudioArguments, TokenAction, TokenRole};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{TextTable, Ui};

pub(crate) fn studio(arguments: &StudioArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    // Runs that continue here report to their journal, not to this terminal.
    let caller = Caller { program: "studio", actor: Some(os_actor()), runs_around };
    let app = Arc::new(App::new(state, caller));
    if let Some(StudioAction::Token(action)) = &arguments.action {
        return token(action, &app, ui);
    }
    let settings = Settings { bind: arguments.bind, port: arguments.port, daemon: !arguments.no_daemon };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // The allocator keeps what the largest page took for each thread that ever worked on one, so idle threads end soon.
        // How many there may be is not limited further: a page waits for the store on a second thread.
        .thread_keep_alive(Duration::from_millis(200))
        .enable_all()
        .build()
        .map_err(|error| Error::world("runtime", format!("cannot start: {error}")))?;
    runtime.block_on(async {
        session::stop_on_signals(&app);
        let serving = open(Arc::clone(&app), settings).await?;
        announce(serving.address, arguments, ui);
        serving.serve().await
    })?;
    Ok(Exit::Completed)
}

fn announce(address: SocketAddr, arguments: &StudioArguments, ui: &Ui) {
    let url = format!("http://{address}/");
    match ui.output() {
        Output::Human => ui.say(&format!("Studio is at {url}    Ctrl-C ends it")),
        Output::Json | Output::Jsonl => drop(ui.data(&json!({ "studio": { "url": url } }))),
    }
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !arguments.no_open && (has_screen || cfg!(target_os = "macos")) {
        open_browser(&url);
    }
}

/// The address is printed, so a browser that does not open is no failure.
fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = Stdio::null;
    let _ = Command::new(program).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
}

fn token(action: &TokenAction, app: &App, ui: &Ui) -> Result<Exit, Error> {
    match action {
        TokenAction::Add { name, role } => {
            let role = match role {
                TokenRole::Read => Role::Read,
                TokenRole::Approve => Role::Approve,
                TokenRole::Admin => Role::Admin,
            };
            let (token, text) = tokens::add(app, name, role)?;
            let mut document = json!({ "token": token.document() });
            document["token"]["text"] = json!(text);
            match ui.output() {
                Output::Human => {
                    ui.say("It is shown once. Send it as `Authorization: Bearer TOKEN`.");
                    ui.page(&text);
                }
                Output::Json | Output::Jsonl => drop(ui.data(&document)),
            }
        }
        TokenAction::List => {
            let all = tokens::list(app.state())?;
            let documents: Vec<Value> = all.iter().map(tokens::Token::document).collect();
            match ui.output() {
                Output::Json => drop(ui.data(&json!({ "tokens": documents }))),
                Output::Jsonl => drop(documents.iter().all(|token| ui.data(&json!({ "token": token })))),
                Output::Human if all.is_empty() => ui.page("no tokens"),
                Output::Human => {
                    let mut table = TextTable::new();
                    for token in &all {
                        let (role, made) = (token.role.as_str(), rfc3339(token.created_at));
                        table.row(&[
                            (&token.name, ui.page.bold(&token.name)),
                            (role, role.to_owned()),
                            (&made, ui.page.dim(&made)),
                        ]);
                    }
                    ui.page(&table.render());
                }
            }
        }
        TokenAction::Remove { name } => {
            let token = tokens::remove(app, name)?;
            ui.say(&format!("removed `{}`; requests with it are refused from now on", token.name));
            ui.data_if_machine(&json!({ "token": token.document() }));
        }
    }
    Ok(Exit::Completed)
}
