//! What is known of a harness before it is started.

use escrow_model::HarnessFacts;

use crate::{Figures, HookDialect, Known};

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
    /// Where the program expects its API below the base URL.
    pub api_path: &'static str,
    /// A model that the program accepts without knowing the service, for conversations with the scripted model.
    pub scripted_model: &'static str,
    /// When each figure of a report is known.
    pub figures: Figures,
    pub turn: Turn,
    /// Whether token counts are of the whole conversation instead of the process.
    pub usage_is_cumulative: bool,
    /// Whether `Conversation::New` decides the session id. Otherwise the id is known from the stream only.
    pub takes_session_id: bool,
    /// The credential file, if the program keeps its login in one.
    pub login: Option<LoginFile>,
    pub hooks: &'static HookDialect,
}

impl HarnessSpec {
    /// What playbooks are checked against.
    pub fn facts(&self) -> HarnessFacts {
        HarnessFacts {
            name: self.name,
            usd: self.figures.cost,
            // A turn that is known at the end is one prompt, whatever the agent does: a limit would limit nothing.
            turns: if self.turn == Turn::Prompt { Known::Never } else { self.figures.turns },
            tokens: later(self.figures.input_tokens, self.figures.output_tokens),
            has_login_file: self.login.is_some(),
        }
    }
}

/// When both are known.
fn later(one: Known, other: Known) -> Known {
    match (one, other) {
        (Known::Never, _) | (_, Known::Never) => Known::Never,
        (Known::AtEnd, _) | (_, Known::AtEnd) => Known::AtEnd,
        (Known::Streamed, Known::Streamed) => Known::Streamed,
    }
}

/// What a program counts as a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// An answer of the model.
    Answer,
    /// A whole prompt, however many answers it takes.
    Prompt,
}

/// Where a program keeps its login, and where a private home expects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginFile {
    /// Relative to the user's home.
    pub source: &'static str,
    /// Relative to `Order::home`.
    pub target: &'static str,
}
