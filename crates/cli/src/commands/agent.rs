//! `escrow agent`: gives one task to an agent, under the contract of its profile.

use std::io::Read;
use std::sync::Arc;

use escrow_app::{Error, playbooks};

use super::run;
use crate::arguments::{AgentArguments, RunArguments, Shared};
use crate::exit::Exit;
use crate::terminal::Ui;

/// A task that is longer is a file, and belongs beside the work.
const PROMPT_BYTES_MAX: u64 = 1 << 20;

pub(crate) async fn agent(arguments: &AgentArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let directory = run::directory(arguments.frame.dir.as_deref())?;
    let plan = playbooks::of_agent(&arguments.name, &directory)?;
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
        again: Vec::new(),
        stream: false,
        timestamps: false,
        verbose: false,
        fail_on_skip: false,
        frame: arguments.frame.clone(),
        reports: Vec::new(),
    };
    run::run_plan(&run, shared, ui, &Arc::new(plan), "").await
}

/// The task as it was typed, or from stdin.
fn prompt(given: &str) -> Result<String, Error> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        let mut stdin = std::io::stdin().lock().take(PROMPT_BYTES_MAX + 1);
        stdin
            .read_to_string(&mut text)
            .map_err(|error| Error::author("bad_input", format!("cannot read the prompt: {error}")))?;
    }
    if text.len() as u64 > PROMPT_BYTES_MAX {
        let message = format!("the prompt is longer than {PROMPT_BYTES_MAX} bytes");
        return Err(
            Error::author("bad_input", message).help("put it into a file, and name that in the prompt")
        );
    }
    if text.trim().is_empty() {
        return Err(Error::author("bad_input", "the prompt is empty"));
    }
    Ok(text)
}
