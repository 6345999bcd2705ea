//! What playbooks are checked against when they name a harness.

/// The moment at which a figure becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// While the program runs: a limit can end it.
    Streamed,
    /// With the terminal line: a limit fails the attempt afterwards.
    AtEnd,
    /// Not at all: a limit cannot be kept.
    Never,
}

/// A harness, as far as a playbook depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarnessFacts {
    pub name: &'static str,
    /// When the figures of a budget are known.
    pub usd: Known,
    pub turns: Known,
    pub tokens: Known,
    /// Its login is a file, which can be lent.
    pub has_login_file: bool,
}

impl HarnessFacts {
    /// Why a text cannot name a model. It is an argument of a program, and must not be taken for one of its options.
    pub fn problem_of_model(name: &str) -> Option<&'static str> {
        const BYTES_MAX: usize = 256;
        if name.starts_with('-') {
            return Some("begins with `-`, as options of a program do");
        }
        if name.chars().any(char::is_control) {
            return Some("contains a control character");
        }
        (name.len() > BYTES_MAX).then_some("is longer than 256 bytes")
    }
}

/// `budget` of an `ai` check. An absent limit is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Budget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Input and output together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Budget {
    /// The key of a check.
    pub const FIELD: &str = "budget";
}
