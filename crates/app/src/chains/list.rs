//! Lists chains and their runs.

use std::path::Path;

use escrow_model::{FireStatus, Plan};
use escrow_playbook::nearest;
use escrow_runtime::playbook_file;
use escrow_store::{ChainRow, ChainRunFilter, ChainRunRow, FireFilter, FireRow, Fires, Queries};

use super::define::{compile, digest_of};
use crate::app::App;
use crate::error::Error;

/// A defined chain, and what became of its file.
#[derive(Debug)]
pub struct ListedChain {
    pub row: ChainRow,
    pub file: FileState,
    /// Newest first.
    pub runs: Vec<ChainRunRow>,
    /// The last fire, if its run could not begin.
    pub not_begun: Option<FireRow>,
}

/// The file of a chain, compared with its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    Same,
    /// `chain define` would activate something else.
    Changed,
    Missing,
}

impl FileState {
    pub fn as_str(self) -> &'static str {
        match self {
            FileState::Same => "same",
            FileState::Changed => "changed",
            FileState::Missing => "missing",
        }
    }
}

/// How many runs a list looks back.
const RUNS_MAX: usize = 50;

/// How many fires it looks back.
const FIRES_MAX: usize = 50;

/// Every defined chain with its last runs.
pub async fn list(app: &App) -> Result<Vec<ListedChain>, Error> {
    let (queries, fires) = (app.queries()?, app.fires_to_read()?);
    let mut listed = Vec::new();
    for row in queries.chains().await? {
        listed.push(listed_chain(&*queries, &*fires, row).await?);
    }
    Ok(listed)
}

/// Every defined chain, without its runs.
pub async fn rows(app: &App) -> Result<Vec<ChainRow>, Error> {
    Ok(app.queries()?.chains().await?)
}

/// One of them, with its last runs.
pub async fn listed(app: &App, row: ChainRow) -> Result<ListedChain, Error> {
    listed_chain(&*app.queries()?, &*app.fires_to_read()?, row).await
}

async fn listed_chain(queries: &dyn Queries, fires: &dyn Fires, row: ChainRow) -> Result<ListedChain, Error> {
    let filter = ChainRunFilter { chain: Some(row.name.clone()), limit: Some(RUNS_MAX) };
    let runs = queries.chain_runs(&filter).await?;
    let newest = FireFilter { chain: Some(row.name.clone()), without_run: false, limit: Some(FIRES_MAX) };
    let mut fires = fires.fires(&newest).await?.into_iter();
    let last = fires.find(|fire| matches!(fire.status, FireStatus::Begun | FireStatus::Failed));
    let not_begun = last.filter(|fire| fire.status == FireStatus::Failed);
    Ok(ListedChain { file: file_state(&row), row, runs, not_begun })
}

fn file_state(row: &ChainRow) -> FileState {
    match playbook_file::read_bytes(Path::new(&row.file)) {
        Ok(bytes) if digest_of(&String::from_utf8_lossy(&bytes)) == row.sha256 => FileState::Same,
        Ok(_) => FileState::Changed,
        Err(_) => FileState::Missing,
    }
}

/// The chain with this name.
pub async fn find(app: &App, name: &str) -> Result<ChainRow, Error> {
    let queries = app.queries()?;
    if let Some(row) = queries.chain(name).await? {
        return Ok(row);
    }
    let all = queries.chains().await?;
    let error = unknown(name);
    Err(match nearest(name, all.iter().map(|row| row.name.as_str())) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error,
    })
}

/// The chain with this name, what became of its file, and its last runs.
pub async fn show(app: &App, name: &str) -> Result<ListedChain, Error> {
    let row = find(app, name).await?;
    listed_chain(&*app.queries()?, &*app.fires_to_read()?, row).await
}

pub(super) fn unknown(name: &str) -> Error {
    Error::not_found("unknown_chain", format!("no chain is called `{name}`"))
        .help("`escrow chain list` lists them, `escrow chain define FILE` defines one")
}

/// The plan of a chain as a fire would compile it now.
pub fn plan_of(row: &ChainRow) -> Result<Plan, Error> {
    Ok(compile(Path::new(&row.file), row.text.as_bytes(), Path::new(&row.directory))?.plan)
}
