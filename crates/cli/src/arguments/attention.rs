//! `escrow attention`, `escrow invocation`, `escrow wait` and `escrow runs override`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AttentionArguments {
    #[command(subcommand)]
    pub(crate) action: Option<AttentionAction>,
    #[command(flatten)]
    pub(crate) list: AttentionList,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AttentionAction {
    /// List what needs a person, newest first
    List(AttentionList),
    /// Hide an item until it happens again
    Dismiss(DismissArguments),
}

#[derive(Debug, Default, Args)]
pub(crate) struct AttentionList {
    /// Include dismissed items
    #[arg(long)]
    pub(crate) all: bool,
    /// Only items that occurred within this time, e.g. `7d`
    #[arg(long, value_name = "DURATION")]
    pub(crate) since: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = super::at_least_one)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct DismissArguments {
    /// The fingerprint that `escrow attention` shows, a run, or the id of an approval
    #[arg(value_name = "FINGERPRINT | RUN | ID")]
    pub(crate) what: String,
    /// Why it needs no attention
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: String,
    /// Your name [default: the current user]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InvocationArguments {
    #[command(subcommand)]
    pub(crate) action: InvocationAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InvocationAction {
    /// Start an invocation and print its id
    Start(InvocationStart),
    /// End an invocation with the status of its runs, or with a status of your own
    End(InvocationEndArguments),
    /// List invocations, newest first
    List(InvocationList),
    /// Show an invocation: its runs, its outcomes, its reason
    Show(InvocationShow),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct InvocationStart {
    /// A name for the invocation
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// The requested skill
    #[arg(long, value_name = "NAME")]
    pub(crate) skill: Option<String>,
    /// The request in words
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// The name of the person who asks [default: the current user]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InvocationEndArguments {
    /// An invocation: its id, a unique beginning of it, or `last`
    #[arg(env = "ESCROW_INVOCATION")]
    pub(crate) id: String,
    /// The status, instead of that of its runs: completed, failed, aborted or cancelled
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Your name [default: the current user]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// The reason; required for a better status than that of the runs, and to change a final status
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InvocationList {
    /// Only invocations with this status
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// Only invocations that started within this time, e.g. `7d`
    #[arg(long, value_name = "DURATION")]
    pub(crate) since: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = super::at_least_one)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct InvocationShow {
    /// An invocation: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// Show every change of status instead
    #[arg(long)]
    pub(crate) history: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WaitArguments {
    /// A run: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Give up after this time and exit with 124, e.g. `30m`
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// A run: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Show every change of status of the run, its checks and its approvals instead
    #[arg(long)]
    pub(crate) history: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OverrideArguments {
    /// A run that has ended: its id, a unique beginning of it, or `last`
    pub(crate) run: String,
    /// The new status: completed, failed, aborted or cancelled
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: String,
    /// Your name
    #[arg(long, value_name = "NAME")]
    pub(crate) by: String,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: String,
    /// Only if the run has this status now
    #[arg(long, value_name = "STATUS")]
    pub(crate) from: Option<String>,
}
