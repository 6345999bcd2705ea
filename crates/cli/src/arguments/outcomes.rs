//! `escrow outcomes` and `escrow rules`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct OutcomesArguments {
    #[command(subcommand)]
    pub(crate) action: Option<OutcomesAction>,
    #[command(flatten)]
    pub(crate) list: OutcomesList,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutcomesAction {
    /// List outcomes, newest first
    List(OutcomesList),
    /// Show one outcome as a card
    Show(OutcomeArgument),
    /// Store an outcome that is read from stdin
    Add(AddArguments),
    /// Write outcomes as JSON Lines, oldest first
    Export(OutcomesExport),
}

#[derive(Debug, Default, Args)]
pub(crate) struct OutcomesList {
    #[command(flatten)]
    pub(crate) which: OutcomesWhich,
    /// At most this many
    #[arg(long, default_value_t = 100, value_parser = super::at_least_one)]
    pub(crate) limit: usize,
}

/// Filters for outcomes.
#[derive(Debug, Default, Args)]
pub(crate) struct OutcomesWhich {
    /// Only outcomes of this kind, such as `review_verdict`
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only outcomes that passed
    #[arg(long, conflicts_with = "failed")]
    pub(crate) passed: bool,
    /// Only outcomes that did not pass
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only outcomes from within this time, e.g. `7d`
    #[arg(long, value_name = "DURATION")]
    pub(crate) since: Option<String>,
    /// Only outcomes of a run: its id, a unique beginning of it, or `last`
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Only outcomes of an invocation
    #[arg(long, value_name = "ID")]
    pub(crate) invocation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OutcomeArgument {
    /// An outcome: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) outcome: String,
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// A name for the outcome, such as `Round 1 verdict`
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// The run that it belongs to; inside a command, the run of that command
    #[arg(long, env = "ESCROW_RUN", value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The invocation that it belongs to, instead of that of its run
    #[arg(long, env = "ESCROW_INVOCATION", value_name = "ID")]
    pub(crate) invocation: Option<String>,
    /// A file that it is about, relative to the artifact directory
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OutcomesExport {
    #[command(flatten)]
    pub(crate) which: OutcomesWhich,
    /// The file to write, instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RulesArguments {
    #[command(subcommand)]
    pub(crate) action: RulesAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesAction {
    /// Judge the JSON on stdin, or each line of JSON Lines
    Check(RulesCheck),
}

#[derive(Debug, Args)]
pub(crate) struct RulesCheck {
    /// A file of rules, or the name of one in `.escrow/rules/`
    #[arg(value_name = "RULES")]
    pub(crate) rules: String,
}
