//! Activates definitions, and pauses, resumes, disables and enables chains.

use std::path::{Path, PathBuf};

use escrow_model::{ChainStatus, Plan, hex};
use escrow_runtime::now_ms;
use escrow_runtime::playbook_file::{self, Directories};
use escrow_store::{ChainDefined, ChainRow, DefineChain};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::around::refuse_secrets;
use crate::diagnosed::Diagnosed;
use crate::error::Error;
use crate::playbooks::{LoadedPlaybook, loaded, unreadable};
use crate::schedule;

/// A definition that was activated.
#[derive(Debug)]
pub struct Definition {
    pub defined: ChainDefined,
    pub plan: Plan,
    pub warnings: Diagnosed,
}

/// Reads a chain file and makes it the active definition of its chain. Runs that are under way keep the one that they
/// began with.
pub async fn define(app: &App, path: &Path, directory: &Path) -> Result<Definition, Error> {
    let LoadedPlaybook { plan, text, warnings } = load(path, directory)?;
    refuse_secrets(app, "the chain", &Value::String(text.clone())).await?;
    let wanted = DefineChain {
        name: plan.name.clone(),
        definition: escrow_playbook::chain_definition(&text),
        sha256: digest_of(&text),
        text,
        file: absolute(path).display().to_string(),
        directory: absolute(directory).display().to_string(),
        by: app.actor(),
        at: now_ms(),
    };
    let defined = app.records()?.define_chain(&wanted).await?;
    Ok(Definition { defined, plan, warnings })
}

/// Reads a chain file with the playbooks of its steps, or reports every problem in them.
pub(crate) fn load(path: &Path, directory: &Path) -> Result<LoadedPlaybook, Error> {
    let bytes = playbook_file::read_bytes(path).map_err(|error| unreadable(path, &error))?;
    compile(path, &bytes, directory)
}

/// Compiles the text of a chain, as it is stored or as its file has it.
pub(crate) fn compile(path: &Path, bytes: &[u8], directory: &Path) -> Result<LoadedPlaybook, Error> {
    loaded("bad_chain", path, bytes, playbook_file::read_chain(path, bytes, Directories::both(directory)))
}

pub(crate) fn digest_of(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Its trigger does not fire it any more; a person may.
pub async fn pause(app: &App, name: &str) -> Result<ChainRow, Error> {
    refuse_disabled(app, name).await?;
    set(app, name, ChainStatus::Paused).await
}

/// Its trigger fires it again.
pub async fn resume(app: &App, name: &str) -> Result<ChainRow, Error> {
    refuse_disabled(app, name).await?;
    set(app, name, ChainStatus::Active).await
}

/// Only `enable` undoes `disable`.
async fn refuse_disabled(app: &App, name: &str) -> Result<(), Error> {
    if super::find(app, name).await?.status == ChainStatus::Disabled {
        return Err(Error::person("disabled", format!("chain `{name}` is disabled"))
            .help(format!("`escrow chain enable {name}` enables it")));
    }
    Ok(())
}

/// Nothing fires it any more.
pub async fn disable(app: &App, name: &str) -> Result<ChainRow, Error> {
    set(app, name, ChainStatus::Disabled).await
}

/// It is as it was before it was disabled: a chain that was paused stays paused.
pub async fn enable(app: &App, name: &str) -> Result<ChainRow, Error> {
    super::find(app, name).await?;
    // Unless its triggers were put away when it was disabled, what happened since would fire it.
    schedule::arm(app).await?;
    let row = app.records()?.enable_chain(name, now_ms()).await?;
    schedule::begin_watching(app).await?;
    row.ok_or_else(|| super::list::unknown(name))
}

async fn set(app: &App, name: &str, status: ChainStatus) -> Result<ChainRow, Error> {
    super::find(app, name).await?;
    schedule::arm(app).await?;
    let row = app.records()?.set_chain_status(name, status, now_ms()).await?;
    // Changes of files count from here on.
    schedule::begin_watching(app).await?;
    row.ok_or_else(|| super::list::unknown(name))
}
