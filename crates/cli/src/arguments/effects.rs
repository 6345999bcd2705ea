//! Arguments of `escrow effects`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct EffectsArguments {
    #[command(subcommand)]
    pub(crate) action: Option<EffectsAction>,
    #[command(flatten)]
    pub(crate) list: EffectsList,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EffectsAction {
    /// List effects, newest first
    List(EffectsList),
    /// Say whether an unknown effect happened
    Resolve(ResolveArguments),
}

#[derive(Debug, Args)]
pub(crate) struct EffectsList {
    /// Only effects of this run and the runs nested in it: its id, a unique beginning of it, or `last`
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Only the effect with this key
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveArguments {
    /// The key of an unknown effect
    pub(crate) key: String,
    /// `done`: it happened. `failed`: it did not
    pub(crate) resolution: ResolvedAs,
    /// Your name
    #[arg(long, value_name = "NAME")]
    pub(crate) by: String,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResolvedAs {
    Done,
    Failed,
}
