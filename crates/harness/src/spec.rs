//! What is known of a harness before it is started.

use crate::{Figures, HookDialect};

/// The constants of one harness.
#[derive(Debug)]
pub struct HarnessSpec {
    /// The name in playbooks, and of the executable that is searched for on `PATH`.
    pub name: &'static str,
    /// The npm package that contains the program.
    pub package: &'static str,
    /// The versions whose recordings are in the tests.
    pub tested_versions: &'static [&'static str],
    /// Variables with credentials, handed over from the operator's environment.
    pub key_variables: &'static [&'static str],
    /// Documented variables that select the service: base URL, provider, proxy.
    pub service_variables: &'static [&'static str],
    /// The variable from which `Order::base_url` is taken.
    pub base_url_variable: &'static str,
    /// When each figure of a report is known.
    pub figures: Figures,
    /// Whether token counts are of the whole conversation instead of the process.
    pub usage_is_cumulative: bool,
    /// Whether `Conversation::New` decides the session id. Otherwise the id is known from the stream only.
    pub takes_session_id: bool,
    /// The credential file, if the program keeps its login in one.
    pub login: Option<LoginFile>,
    pub hooks: &'static HookDialect,
}

/// Where a program keeps its login, and where a private home expects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginFile {
    /// Relative to the user's home.
    pub source: &'static str,
    /// Relative to `Order::home`.
    pub target: &'static str,
}
