//! When each figure of a report is known.

use escrow_model::Known;

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
