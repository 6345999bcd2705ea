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
    /// Say that you have seen something; it returns when it happens again
    Dismiss(DismissArguments),
}

#[derive(Debug, Default, Args)]
pub(crate) struct AttentionList {
    /// Show what was dismissed too
    #[arg(long)]
    pub(crate) all: bool,
    /// Only what happened within this time, e.g. `7d`
    #[arg(long, value_name = "DURATION")]
    pub(crate) since: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct DismissArguments {
    /// What: its fingerprint as `escrow attention` lists it, a run, or what waits
    #[arg(value_name = "FINGERPRINT | RUN | ID")]
    pub(crate) what: String,
    /// Why it needs nobody
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: String,
    /// Who says so, instead of the user of this shell
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
    /// Begin an invocation, and print its id
    Start(InvocationStart),
    /// End an invocation, as its runs came out or as you say
    End(InvocationEndArguments),
    /// List invocations, newest first
    List(InvocationList),
    /// Show an invocation: its runs, its outcomes, its reason
    Show(InvocationShow),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct InvocationStart {
    /// What it is called
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// The skill that was asked for
    #[arg(long, value_name = "NAME")]
    pub(crate) skill: Option<String>,
    /// What was asked, in words
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Who asks, instead of the user of this shell
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InvocationEndArguments {
    /// An invocation: its id, a unique beginning of it, or `last`
    #[arg(env = "ESCROW_INVOCATION")]
    pub(crate) id: String,
    /// What it came to, instead of what its runs came to: completed, failed, aborted or cancelled
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Who says so, instead of the user of this shell
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Why; needed to call good what was not, and to say another word after the last
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InvocationList {
    /// Only those with this status
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// Only those that started within this time, e.g. `7d`
    #[arg(long, value_name = "DURATION")]
    pub(crate) since: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct InvocationShow {
    /// An invocation: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// Also every change of its status
    #[arg(long)]
    pub(crate) history: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WaitArguments {
    /// A run: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Wait no longer than this, e.g. `30m`; then exit with 124
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// A run: its id, a unique beginning of it, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Every change of status of the run, its checks and its approvals instead
    #[arg(long)]
    pub(crate) history: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OverrideArguments {
    /// A run that has ended: its id, a unique beginning of it, or `last`
    pub(crate) run: String,
    /// What it came to, in your word: completed, failed, aborted or cancelled
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: String,
    /// Who says so
    #[arg(long, value_name = "NAME")]
    pub(crate) by: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: String,
    /// Only if it has this status now
    #[arg(long, value_name = "STATUS")]
    pub(crate) from: Option<String>,
}
