//! When each figure of a report is known.

/// The moment at which a figure becomes known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Known {
    /// While the program runs: a limit can end it.
    Streamed,
    /// With the terminal line: a limit fails the attempt afterwards.
    AtEnd,
    /// Not at all: a limit cannot be kept.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    pub turns: Known,
    pub input_tokens: Known,
    pub output_tokens: Known,
    pub cost: Known,
    pub denials: Known,
    pub tool_calls: Known,
    pub model: Known,
    pub session: Known,
}
