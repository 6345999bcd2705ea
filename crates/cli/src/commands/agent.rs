//! `escrow agent`: gives one task to an agent, under the contract of its profile.

use std::io::Read;
use std::sync::Arc;

use anyhow::Result;
use escrow_playbook::{AgentLookup, render, suggest_agent};

use super::run;
use crate::arguments::{AgentArguments, RunArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Ui;

/// A task that is longer is a file, and belongs beside the work.
const PROMPT_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn agent(arguments: &AgentArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let name = &arguments.name;
    let directory = run::directory(arguments.frame.dir.as_deref())?;
    let profile = match escrow_runtime::agents::find(name, &[&directory]) {
        AgentLookup::Found(profile) => profile,
        AgentLookup::Unknown { known } => {
            return Err(Failure::author("unknown_agent", format!("unknown agent `{name}`"))
                .help(suggest_agent(name, &known))
                .into());
        }
        AgentLookup::Invalid { file, diagnostics } => {
            let rendered = render(&diagnostics, "", ui.paint.is_coloured());
            let message = format!("`{file}` is not a valid profile; nothing was run");
            return Err(Failure::diagnosed(message, diagnostics, rendered).into());
        }
    };
    let reading = escrow_runtime::playbook_file::of_agent(name, &directory);
    let Some(plan) = reading.plan else {
        // The playbook that it stands for is nobody's file: its lines would only puzzle.
        let code = if profile.command.is_none() { "agent_without_command" } else { "bad_profile" };
        let first = reading.diagnostics.first();
        let message =
            first.map_or_else(|| format!("the agent `{name}` cannot be run"), |one| one.message.clone());
        let failure = Failure::author(code, message);
        return Err(match first.and_then(|one| one.help.clone()) {
            Some(help) => failure.help(help),
            None => failure,
        }
        .into());
    };
    let prompt = prompt(&arguments.prompt)?;
    let run = RunArguments {
        file: None,
        event: None,
        inputs: vec![format!("prompt={prompt}")],
        only: Vec::new(),
        tags: Vec::new(),
        exclude_tags: Vec::new(),
        jobs: None,
        safe_mode: false,
        frame: arguments.frame.clone(),
        reports: Vec::new(),
    };
    run::run_plan(&run, shared, ui, &Arc::new(plan))
}

/// The task as it was typed, or from stdin.
fn prompt(given: &str) -> Result<String, Failure> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        let mut stdin = std::io::stdin().lock().take(PROMPT_BYTES_MAX + 1);
        stdin
            .read_to_string(&mut text)
            .map_err(|error| Failure::author("bad_input", format!("cannot read the prompt: {error}")))?;
    }
    if text.len() as u64 > PROMPT_BYTES_MAX {
        let message = format!("the prompt is longer than {PROMPT_BYTES_MAX} bytes");
        return Err(
            Failure::author("bad_input", message).help("put it into a file, and name that in the prompt")
        );
    }
    if text.trim().is_empty() {
        return Err(Failure::author("bad_input", "the prompt is empty"));
    }
    Ok(text)
}
