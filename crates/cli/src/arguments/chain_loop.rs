//! Arguments of `escrow chain check` and `escrow chain daemon`.

use std::net::IpAddr;
use std::num::NonZeroUsize;

use clap::Args;
use escrow_model::{Millis, parse_rfc3339};

#[derive(Debug, Args)]
pub(crate) struct ChainCheckArguments {
    /// Judge schedules by this time, as in 2026-03-29T02:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) at: Option<Millis>,
    /// Show what would fire and what would be resumed; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How many runs are driven at once
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) jobs: NonZeroUsize,
}

#[derive(Debug, Args)]
pub(crate) struct ChainDaemonArguments {
    /// Receive the webhooks of the settings on this port; 0 chooses a free one
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// The address for webhooks
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS", requires = "port")]
    pub(crate) bind: IpAddr,
    /// How many runs are driven at once
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) jobs: NonZeroUsize,
}

fn time(text: &str) -> Result<Millis, String> {
    parse_rfc3339(text).ok_or_else(|| "write it as 2026-03-29T02:00:00Z".to_owned())
}
