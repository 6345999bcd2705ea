//! Reads from a harness's log how full its context is.
//!
//! **Invariant:** the format of a log is not ours. Unknown lines are skipped, missing figures stay unknown, and a log
//! without figures gives no observation.

mod claude;
mod codex;
mod gemini;
mod records;

use crate::envelope::PressureObservation;

/// A harness whose log can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TelemetryHost {
    Claude,
    Codex,
    Gemini,
}

impl TelemetryHost {
    pub const ALL: &'static [Self] = &[Self::Claude, Self::Codex, Self::Gemini];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|host| host.as_str() == word)
    }
}

/// A log and what is known from elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TelemetryLog {
    pub text: String,
    /// When it was last written: the time of the observation.
    pub modified_epoch_s: u64,
    /// The model, in case the log names none.
    pub model_name: Option<String>,
    /// The size of the context, in case the log does not say.
    pub context_window_tokens: Option<u64>,
    /// Whether another source shows that the context was compacted.
    pub is_compacted: bool,
}

/// The newest observation in a log.
pub fn observe(host: TelemetryHost, log: &TelemetryLog) -> Option<PressureObservation> {
    let seen = match host {
        TelemetryHost::Claude => claude::read(log),
        TelemetryHost::Codex => codex::read(log),
        TelemetryHost::Gemini => gemini::read(log),
    }?;
    let window = seen.context_window_tokens.or(log.context_window_tokens);
    let used_pct = match (seen.total_tokens, window) {
        (Some(total), Some(window)) => total.saturating_mul(100).checked_div(window),
        (None, _) | (_, None) => None,
    };
    Some(PressureObservation {
        adapter_id: host.as_str().to_owned(),
        adapter_version: None,
        observed_at_epoch_s: log.modified_epoch_s,
        model_name: seen.model_name.or_else(|| log.model_name.clone()),
        total_tokens: seen.total_tokens,
        context_window_tokens: window,
        context_used_pct: used_pct.map(|pct| u8::try_from(pct.min(100)).unwrap_or(100)),
        compaction_signal: (seen.is_compacted || log.is_compacted).then_some(true),
        usage: seen.usage,
    })
}

/// The figures of one log.
#[derive(Default)]
struct Seen {
    model_name: Option<String>,
    total_tokens: Option<u64>,
    context_window_tokens: Option<u64>,
    is_compacted: bool,
    usage: crate::envelope::TokenUsage,
}
