//! Arguments of `escrow chain`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::chain_loop::{ChainCheckArguments, ChainDaemonArguments};

#[derive(Debug, Args)]
pub(crate) struct ChainArguments {
    #[command(subcommand)]
    pub(crate) action: ChainAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChainAction {
    /// Make a chain file the active definition of its chain
    Define(DefineArguments),
    /// List chains; files that changed since they were defined are marked
    List,
    /// Show a chain: its definition, its state and its last runs
    Show(NamedChain),
    /// Show what a fire could do, and what would stop it; calls nothing
    Plan(FireArguments),
    /// Fire a chain, and wait until its run ends or pauses
    Fire(FireArguments),
    /// Let nothing but a person fire a chain
    Pause(NamedChain),
    /// Let the trigger of a paused chain fire it again
    Resume(NamedChain),
    /// Let a disabled chain be fired again
    Enable(NamedChain),
    /// Let nothing fire a chain
    Disable(NamedChain),
    /// Do everything that is due, resume what was abandoned, and return; for cron
    Check(ChainCheckArguments),
    /// The same again and again, hosting many runs at once, and receiving webhooks
    Daemon(ChainDaemonArguments),
    /// List runs of chains, newest first
    Runs(ChainRunsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct DefineArguments {
    /// The chain file
    pub(crate) file: PathBuf,
    /// Where its runs work, instead of here
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct NamedChain {
    /// The name of a chain
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct FireArguments {
    /// The name of a chain
    pub(crate) name: String,
    /// A JSON file with the event, which `trigger` reads
    #[arg(long, value_name = "FILE")]
    pub(crate) event: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ChainRunsArguments {
    /// Only runs of this chain
    pub(crate) name: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = super::at_least_one)]
    pub(crate) limit: usize,
}
