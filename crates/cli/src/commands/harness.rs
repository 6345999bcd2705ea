//! `escrow harness install | uninstall | status | doctor`: the hook in the configuration of harnesses.

use std::path::PathBuf;

use escrow_app::harnesses::{self, Change, ChangeKind, Diagnosis, HostStatus, Root, Scope, Versions};
use escrow_app::{Error, StateDirectory};
use escrow_model::rfc3339;
use escrow_protocol::envelope::LifecycleReceipt;
use serde_json::{Value, json};

use crate::arguments::{HarnessAction, HarnessArguments, HarnessTarget, Output, Shared};
use crate::exit::Exit;
use crate::terminal::{Ui, count, printable};

pub(crate) fn harness(arguments: &HarnessArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    match &arguments.action {
        HarnessAction::Install(target) => {
            let hosts = harnesses::hosts_to_install(target.host.as_deref())?;
            let changes = harnesses::install(&hosts, &root(target)?, &program()?)?;
            tell(&changes, ui);
        }
        HarnessAction::Uninstall(target) => {
            let hosts = harnesses::hosts(target.host.as_deref())?;
            let changes = harnesses::uninstall(&hosts, &root(target)?)?;
            if changes.is_empty() {
                ui.say("no hook of Escrow is installed there");
            }
            tell(&changes, ui);
        }
        HarnessAction::Status(target) => {
            let hosts = harnesses::hosts(target.host.as_deref())?;
            let state = StateDirectory::find(shared.state.as_deref())?;
            let all = harnesses::status(&hosts, Versions::Ask, &root(target)?, &program()?, &state)?;
            show(&all, ui);
        }
        HarnessAction::Doctor(target) => {
            let hosts = harnesses::hosts(target.host.as_deref())?;
            let all = harnesses::diagnose(&hosts, &program()?)?;
            if ui.output() == Output::Human {
                let page: Vec<String> = all.iter().map(|host| diagnosis_lines(host, ui)).collect();
                ui.page(&page.join("\n"));
            } else {
                ui.data(&json!({ "harnesses": all.iter().map(diagnosis).collect::<Vec<_>>() }));
            }
        }
    }
    Ok(Exit::Completed)
}

fn root(target: &HarnessTarget) -> Result<Root, Error> {
    let scope = if target.user { Scope::User } else { Scope::Project };
    Root::find(scope, &StateDirectory::find(None)?)
}

/// This program, as hooks call it.
fn program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|error| {
        Error::world("program", format!("the path of this program is unknown: {error}"))
            .help("call it by its absolute path")
    })
}

fn tell(changes: &[Change], ui: &Ui) {
    for change in changes {
        let file = printable(&change.file.display().to_string());
        let host = ui.paint.bold(change.host);
        ui.say(&match change.kind {
            ChangeKind::Installed => format!("{host}  hook installed in {file}"),
            ChangeKind::Updated => format!("{host}  hook updated in {file}"),
            ChangeKind::Unchanged => format!("{host}  hook is installed already in {file}"),
            ChangeKind::Uninstalled => format!("{host}  hook removed from {file}"),
            ChangeKind::Removed => format!("{host}  {file} removed: it held nothing else"),
        });
        if let Some(note) = change.note {
            ui.say(&format!("  note: {note}"));
        }
    }
    let one = |change: &Change| json!({ "host": change.host, "file": change.file, "change": word(change.kind), "note": change.note });
    ui.data_if_machine(&json!({ "changes": changes.iter().map(one).collect::<Vec<_>>() }));
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Installed => "installed",
        ChangeKind::Updated => "updated",
        ChangeKind::Unchanged => "unchanged",
        ChangeKind::Uninstalled => "uninstalled",
        ChangeKind::Removed => "removed",
    }
}

fn show(all: &[HostStatus], ui: &Ui) {
    if ui.output() != Output::Human {
        ui.data(&json!({ "harnesses": all.iter().map(document).collect::<Vec<_>>() }));
        return;
    }
    let page: Vec<String> = all.iter().map(|host| lines(host, ui)).collect();
    ui.page(&page.join("\n"));
}

fn diagnosis_lines(host: &Diagnosis, ui: &Ui) -> String {
    let version = host.version.as_deref().unwrap_or("version unknown");
    let program = match &host.program {
        Some(program) => format!("{version}  {}", program.display()),
        None => "not on PATH".to_owned(),
    };
    let mut text = format!("{}  {}\n", ui.page.bold(host.host), printable(&program));
    if let Some(version) = &host.version
        && !host.tested_versions.is_empty()
        && !host.tested_versions.contains(&version.as_str())
    {
        text += &format!("  tested with {}, not with this version\n", host.tested_versions.join(", "));
    }
    if let Some(canary) = &host.canary {
        if let Some(problem) = &canary.problem {
            text += &format!("  {}: {}\n", ui.page.red("failed"), printable(problem));
        }
        let fired: Vec<String> = canary.fired.iter().map(|event| printable(event)).collect();
        let fired = if fired.is_empty() { "none".to_owned() } else { fired.join(", ") };
        text += &format!("  hooks that fired: {fired}\n");
        if !canary.silent.is_empty() {
            let silent = canary.silent.join(", ");
            text += &format!("  {}: {silent}\n", ui.page.yellow("hooks that did not fire"));
            let claims = host.stale_claims.join(", ");
            text += &format!("  {}: {claims}\n", ui.page.yellow("stale claims of the manifest"));
        }
    } else if host.program.is_some() {
        text += "  Escrow does not start this program\n";
    }
    let login = host.login.as_ref().map(|file| file.display().to_string());
    let known: Vec<String> = host.keys.iter().map(|key| (*key).to_owned()).chain(login).collect();
    let known = if known.is_empty() { "none found".to_owned() } else { known.join(", ") };
    text + &format!("  credentials: {}\n", printable(&known))
}

fn diagnosis(host: &Diagnosis) -> Value {
    let canary = host.canary.as_ref();
    json!({
        "host": host.host,
        "program": host.program,
        "version": host.version,
        "tested_versions": host.tested_versions,
        "fired": canary.map(|canary| &canary.fired),
        "silent": canary.map(|canary| &canary.silent),
        "problem": canary.and_then(|canary| canary.problem.as_ref()),
        "stale_claims": host.stale_claims,
        "keys": host.keys,
        "login": host.login,
    })
}

fn lines(host: &HostStatus, ui: &Ui) -> String {
    let program = match (&host.program, &host.version) {
        (Some(program), Some(version)) => format!("{version}  {}", program.display()),
        (Some(program), None) => format!("version unknown  {}", program.display()),
        (None, _) => "not on PATH".to_owned(),
    };
    let mut text = format!("{}  {}\n", ui.page.bold(host.host), printable(&program));
    if let Some(version) = &host.version
        && !host.tested_versions.is_empty()
        && !host.tested_versions.contains(&version.as_str())
    {
        text += &format!("  tested with {}, not with this version\n", host.tested_versions.join(", "));
    }
    let file = printable(&host.file.display().to_string());
    text += &match &host.installed {
        Err(problem) => format!("  {}  {file}: {}\n", ui.page.red("unreadable"), printable(problem)),
        Ok(installed) if installed.events.is_empty() => {
            format!("  not installed: `escrow harness install --host {}`\n", host.host)
        }
        Ok(installed) => {
            let unverified = if host.is_unverified { "  unverified" } else { "" };
            let events = count(installed.events.len(), "event");
            format!("  {}  {events}  {file}{unverified}\n", ui.page.green("installed"))
        }
    };
    if host.is_stale {
        text += &format!(
            "  {}: the hook calls another program: `escrow harness install --host {}`\n",
            ui.page.yellow("stale"),
            host.host
        );
    }
    if host.failures > 0 {
        text += &format!(
            "  {}: `escrow lifecycle receipt list --extended --adapter-id {} --status failed`\n",
            ui.page.red(&count(host.failures, "failed receipt")),
            host.host
        );
    }
    for receipt in &host.receipts {
        let at = rfc3339(receipt.at_epoch_s.saturating_mul(1000)).replace('T', " ");
        let session = receipt.harness_session_id.as_deref().unwrap_or("-");
        text += &format!("  {at}  {}  {}  {}\n", receipt.event, receipt.status, printable(session));
        for warning in &receipt.warnings {
            text += &format!("    {}\n", printable(&warning.message));
        }
    }
    text
}

fn document(host: &HostStatus) -> Value {
    let (installed, problem) = match &host.installed {
        Ok(installed) => (installed.clone(), None),
        Err(problem) => (Default::default(), Some(problem)),
    };
    let receipt = |receipt: &LifecycleReceipt| json!(receipt);
    json!({
        "host": host.host,
        "program": host.program,
        "version": host.version,
        "tested_versions": host.tested_versions,
        "file": host.file,
        "installed": !installed.events.is_empty(),
        "events": installed.events,
        "programs": installed.programs,
        "stale": host.is_stale,
        "unverified": host.is_unverified,
        "problem": problem,
        "note": host.note,
        "failures": host.failures,
        "receipts": host.receipts.iter().map(receipt).collect::<Vec<_>>(),
    })
}
