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
mod cursor;
mod ending;
mod figures;
pub mod frames;
mod gemini;
mod gemini_family;
mod hooks;
pub mod install;
pub mod manifest;
mod messages;
mod observed;
mod opencode;
mod order;
mod qwen;
mod report;
pub mod scripted;
mod spec;
mod stream;

pub use command_line::{CommandLine, PrivateFile, Unsupported};
pub use escrow_model::Known;
pub use figures::Figures;
pub use hooks::{
    Answer, AnswerKind, CannotAnswer, HookDialect, HookEvent, HookInput, HookReply, UnreadableHook,
};
pub use order::{Auth, Confinement, Conversation, Order, Permission};
pub use report::{Denial, ErrorKind, HarnessError, Report};
pub use spec::{HarnessSpec, LoginFile, Turn};
pub use stream::{Exit, FINAL_TEXT_BYTES_MAX, LINE_BYTES_MAX, Progress, StreamParser};

/// An AI program that Escrow can start, read and hook into.
pub trait Harness: Sync {
    fn spec(&self) -> &'static HarnessSpec;
    fn command(&self, order: &Order<'_>) -> Result<CommandLine, Unsupported>;
    fn parser(&self) -> Box<dyn StreamParser>;
}

/// Every harness, in the order in which `PATH` is searched for a default.
pub static HARNESSES: &[&dyn Harness] =
    &[&claude::Claude, &codex::Codex, &gemini::Gemini, &opencode::OpenCode, &copilot::Copilot, &qwen::Qwen];

pub fn find(name: &str) -> Option<&'static dyn Harness> {
    HARNESSES.iter().copied().find(|harness| harness.spec().name == name)
}

/// The hook dialects: those of every harness, and that of Cursor, which has hooks only.
pub fn dialects() -> impl Iterator<Item = &'static HookDialect> {
    HARNESSES.iter().map(|harness| harness.spec().hooks).chain([&cursor::HOOKS])
}

/// The hook dialect of a host.
pub fn dialect(host: &str) -> Option<&'static HookDialect> {
    dialects().find(|dialect| dialect.harness == host)
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
            assert!(HARNESSES[..index].iter().all(|other| other.spec().name != harness.spec().name));
            assert_eq!(
                find(harness.spec().name).map(|found| found.spec().package),
                Some(harness.spec().package)
            );
            assert!(harness.spec().service_variables.contains(&harness.spec().base_url_variable));
        }
        assert!(find("cursor").is_none());
    }
}
