//! Arguments of `escrow harness`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct HarnessArguments {
    #[command(subcommand)]
    pub(crate) action: HarnessAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HarnessAction {
    /// Install the hook into the configuration of harnesses, beside everything that is there
    Install(HarnessTarget),
    /// Remove exactly what `install` added
    Uninstall(HarnessTarget),
    /// Show programs, installed hooks and their last receipts
    Status(HarnessTarget),
    /// Start the programs with a scripted model, and show which hooks fire; needs no key
    Doctor(HarnessTarget),
}

#[derive(Debug, Args)]
pub(crate) struct HarnessTarget {
    /// Only this host: claude, codex, gemini, opencode, copilot, qwen or cursor [default for `install`: those on PATH]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// The configuration of this project [default]
    #[arg(long, conflicts_with = "user")]
    pub(crate) project: bool,
    /// The configuration of the user
    #[arg(long)]
    pub(crate) user: bool,
}
