//! What is known of a harness while it runs.

use std::fmt;

/// The newest figures. What the harness does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct HarnessProgress {
    pub harness: &'static str,
    pub model: Option<String>,
    /// The tool that is at work, with what it works on.
    pub tool: Option<String>,
    pub turns: Option<u64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    /// The last line that the agent said.
    pub last_words: Option<String>,
}

pub type ProgressSink = Box<dyn Fn(&HarnessProgress)>;

impl fmt::Display for HarnessProgress {
    /// In one line: figures first, then what it does or says.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = vec![self.harness.to_owned()];
        parts.extend(self.turns.map(|turns| format!("turn {turns}")));
        if let (Some(input), Some(output)) = (self.input_tokens, self.output_tokens) {
            parts.push(format!("{} tokens", input.saturating_add(output)));
        }
        parts.extend(self.cost_usd.map(|cost| format!("${cost:.2}")));
        parts.extend(self.tool.as_ref().map(|tool| format!("[{tool}]")));
        parts.extend(self.last_words.clone());
        formatter.write_str(&parts.join(" · "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_is_known() {
        let mut progress = HarnessProgress { harness: "claude", ..HarnessProgress::default() };
        assert_eq!(progress.to_string(), "claude");
        progress.turns = Some(3);
        progress.cost_usd = Some(0.251);
        progress.tool = Some("Bash: ls".into());
        assert_eq!(progress.to_string(), "claude · turn 3 · $0.25 · [Bash: ls]");
    }
}
