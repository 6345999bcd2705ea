//! What a harness really did.

use serde::Serialize;
use serde_json::Value;

/// The result of one process. Unknown figures are `None`, never 0.
///
/// `input_tokens` include cached tokens, `output_tokens` include reasoning, whatever the program separates.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    pub session_id: Option<String>,
    pub model: Option<String>,
    pub turns: Option<u64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub is_error: bool,
    pub error: Option<HarnessError>,
    /// `None` if the harness does not report denials.
    pub permission_denials: Option<Vec<Denial>>,
    pub tool_calls: Option<u64>,
    pub final_text: Option<String>,
    /// The final text was longer than `FINAL_TEXT_BYTES_MAX`; its end is missing.
    pub final_text_is_cut: bool,
    /// The answer to `Order::schema`, if the program returns it apart from the text.
    pub structured: Option<Value>,
    /// The terminal line was read, has no error flag, and the program exited with 0.
    pub completed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HarnessError {
    pub kind: ErrorKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The model service failed or refused the request.
    Api,
    /// The service rejected the credentials.
    Auth,
    RateLimit,
    /// A hook blocked the prompt or stopped the run: there is no answer.
    Blocked,
    TurnLimit,
    Budget,
    /// The terminal line is missing.
    Truncated,
    /// The program was ended from outside.
    Killed,
    /// The program rejected its command line or configuration.
    Usage,
    /// There are no credentials.
    Login,
    /// The model gave no answer.
    Empty,
    Other,
}

/// A tool call that the program refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    pub tool: String,
    pub reason: Option<String>,
}
