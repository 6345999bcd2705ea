//! `studio`: where it listens, and its tokens.

use std::net::IpAddr;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct StudioArguments {
    #[command(subcommand)]
    pub(crate) action: Option<StudioAction>,
    /// The port; 0 chooses a free one
    #[arg(long, default_value_t = 7878, value_name = "PORT")]
    pub(crate) port: u16,
    /// The address; elsewhere than on this machine, every request needs a token
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub(crate) bind: IpAddr,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Do not fire chains and do not pick up abandoned runs
    #[arg(long)]
    pub(crate) no_daemon: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudioAction {
    /// Make, list or remove tokens
    #[command(subcommand)]
    Token(TokenAction),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenAction {
    /// Make a token, and show it once
    Add {
        /// Actions are recorded as those of `token:NAME`
        name: String,
        /// What it may do
        #[arg(long, value_enum)]
        role: TokenRole,
    },
    /// List tokens
    List,
    /// Remove a token
    Remove { name: String },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TokenRole {
    /// Read everything
    Read,
    /// Read, and decide about what waits for a person
    Approve,
    /// Read, decide, resume and end runs, and fire chains
    Admin,
}
