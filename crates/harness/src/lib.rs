//! AI harnesses as pure functions over text: what to start, what its output means, how its hooks speak.
//!
//! ```text
//!  Order ──Harness::command──▶ CommandLine { arguments, env, files, stdin }
//!  stdout lines ──StreamParser::line──▶ Progress      exit, stderr ──StreamParser::finish──▶ Report
//!  hook input ──HookDialect::read──▶ HookInput        Answer ──HookDialect::write──▶ HookReply
//! ```
//!
//! **Invariant:** no I/O, no clock, no environment, no process. The caller starts programs, writes the private files and
//! hands over the lines. Nothing here trusts an exit code: a run is complete only if its terminal line was read.

mod claude;
mod codex;
mod command_line;
mod copilot;
mod ending;
mod figures;
mod gemini;
mod hooks;
mod messages;
mod observed;
mod opencode;
mod order;
mod qwen;
mod report;
mod stream;

pub use command_line::{CommandLine, PrivateFile, Unsupported};
pub use figures::{Figures, Known};
pub use hooks::{
    Answer, AnswerKind, CannotAnswer, HookDialect, HookEvent, HookInput, HookReply, UnreadableHook,
};
pub use order::{Auth, Confinement, Conversation, Order, Permission};
pub use report::{Denial, ErrorKind, HarnessError, Report};
pub use stream::{Exit, FINAL_TEXT_BYTES_MAX, LINE_BYTES_MAX, Progress, StreamParser};

/// An AI program that Escrow can start, read and hook into.
pub trait Harness: Sync {
    /// The name in playbooks.
    fn name(&self) -> &'static str;
    /// The executable that is searched for on `PATH`.
    fn program(&self) -> &'static str;
    /// The npm package that contains the program.
    fn package(&self) -> &'static str;
    /// The versions whose recordings are in the tests.
    fn tested_versions(&self) -> &'static [&'static str];
    /// Variables with credentials, handed over from the operator's environment.
    fn key_variables(&self) -> &'static [&'static str];
    /// Documented variables that select the service: base URL, provider, proxy.
    fn service_variables(&self) -> &'static [&'static str];
    /// The variable from which `Order::base_url` is taken.
    fn base_url_variable(&self) -> &'static str;
    /// When each figure of a report is known.
    fn figures(&self) -> Figures;
    /// Whether token counts are of the whole conversation instead of the process.
    fn usage_is_cumulative(&self) -> bool {
        false
    }
    /// Whether `Conversation::New` decides the session id. Otherwise the id is known from the stream only.
    fn takes_session_id(&self) -> bool;
    /// The credential file, if the program keeps its login in one.
    fn login(&self) -> Option<LoginFile>;
    fn command(&self, order: &Order<'_>) -> Result<CommandLine, Unsupported>;
    fn parser(&self) -> Box<dyn StreamParser>;
    fn hooks(&self) -> &'static HookDialect;
}

/// Where a program keeps its login, and where a private home expects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginFile {
    /// Relative to the user's home.
    pub source: &'static str,
    /// Relative to `Order::home`.
    pub target: &'static str,
}

/// Every harness, in the order in which `PATH` is searched for a default.
pub static HARNESSES: &[&dyn Harness] =
    &[&claude::Claude, &codex::Codex, &gemini::Gemini, &opencode::OpenCode, &copilot::Copilot, &qwen::Qwen];

pub fn find(name: &str) -> Option<&'static dyn Harness> {
    HARNESSES.iter().copied().find(|harness| harness.name() == name)
}

/// Proxy and certificate variables that every program understands.
macro_rules! service_variables {
    ($($own:literal),* $(,)?) => {
        &[
            $($own,)* "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
            "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE",
        ]
    };
}
use service_variables;

#[cfg(test)]
mod tests {
    use super::{HARNESSES, find};

    #[test]
    fn names_are_unique_and_found() {
        for (index, harness) in HARNESSES.iter().enumerate() {
            assert!(HARNESSES[..index].iter().all(|other| other.name() != harness.name()));
            assert_eq!(find(harness.name()).map(|found| found.package()), Some(harness.package()));
            assert!(harness.service_variables().contains(&harness.base_url_variable()));
        }
        assert!(find("cursor").is_none());
    }
}
