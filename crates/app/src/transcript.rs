//! What an agent did, as the recorded output of its harness tells it.

use escrow_harness::Progress;
use escrow_model::{Entry, Event};
use serde_json::Value;

/// Moments that are kept of one attempt; the last ones.
const MOMENTS_MAX: usize = 400;

/// Characters of one text.
const TEXT_LENGTH_MAX: usize = 8_000;

/// One thing that an agent said or did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A turn began. They are counted from 1.
    Turn(u64),
    Said(String),
    /// A tool was called. `failed` is unknown where the stream does not tell.
    Called {
        tool: String,
        about: String,
        failed: Option<bool>,
    },
    Denied {
        tool: String,
    },
    Retried(String),
}

/// The conversation of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    pub moments: Vec<Moment>,
    /// Earlier moments that are not among them.
    pub left_out: usize,
}

/// The prompt of the last attempt of a check.
pub fn last_prompt<'e>(entries: &'e [Entry], check: &str) -> Option<&'e str> {
    entries.iter().rev().find_map(|entry| match &entry.event {
        Event::AttemptStarted { check: name, request, .. } if name == check => {
            request.fields.get("prompt").and_then(Value::as_str)
        }
        _ => None,
    })
}

/// Reads the recorded standard output of a harness. `None`: Escrow does not know the harness.
pub fn transcript(harness: &str, stdout: &str) -> Option<Transcript> {
    let mut parser = escrow_harness::find(harness)?.parser();
    let mut transcript = Transcript::default();
    for line in stdout.lines() {
        for progress in parser.line(line) {
            transcript.take(progress);
        }
    }
    transcript.left_out = transcript.moments.len().saturating_sub(MOMENTS_MAX);
    transcript.moments.drain(..transcript.left_out);
    Some(transcript)
}

impl Transcript {
    fn take(&mut self, progress: Progress) {
        match progress {
            Progress::Turn(number) => {
                if self.moments.last() != Some(&Moment::Turn(number)) {
                    self.moments.push(Moment::Turn(number));
                }
            }
            Progress::Text(text) => match self.moments.last_mut() {
                // A stream may tell one text piece by piece.
                Some(Moment::Said(said)) => append(said, &text),
                _ => {
                    let mut said = String::new();
                    append(&mut said, &text);
                    self.moments.push(Moment::Said(said));
                }
            },
            Progress::ToolStarted { name, summary } => {
                self.moments.push(Moment::Called { tool: name, about: summary, failed: None });
            }
            Progress::ToolEnded { name, failed } => self.ended(&name, failed),
            Progress::Denied { tool } => self.moments.push(Moment::Denied { tool }),
            Progress::Retrying { message, .. } => self.moments.push(Moment::Retried(message)),
            // Figures of the whole attempt are in its record.
            Progress::Session(_) | Progress::Model(_) | Progress::Tokens { .. } | Progress::Cost(_) => {}
        }
    }

    /// The oldest call of the tool that has no end yet.
    fn ended(&mut self, name: &str, has_failed: bool) {
        let open = self.moments.iter_mut().find_map(|moment| match moment {
            Moment::Called { tool, failed: failed @ None, .. } if tool == name => Some(failed),
            _ => None,
        });
        if let Some(failed) = open {
            *failed = Some(has_failed);
        }
    }
}

fn append(said: &mut String, text: &str) {
    let room = TEXT_LENGTH_MAX.saturating_sub(said.len());
    said.push_str(&text[..text.floor_char_boundary(room)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_stream_tells_turns_texts_and_tools_in_their_order() {
        let stream = r#"
{"type":"system","subtype":"init","session_id":"s","model":"m","tools":[]}
{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"I look first."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"src/lib.rs"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}
not JSON
{"type":"assistant","message":{"id":"2","content":[{"type":"text","text":"Done."}]}}
"#;
        let transcript = transcript("claude", stream).expect("a known harness");
        let said: Vec<&Moment> =
            transcript.moments.iter().filter(|moment| !matches!(moment, Moment::Turn(_))).collect();
        assert_eq!(said[0], &Moment::Said("I look first.".into()));
        assert!(
            matches!(said[1], Moment::Called { tool, failed: Some(false), .. } if tool == "Read"),
            "{said:?}"
        );
        assert_eq!(said[2], &Moment::Said("Done.".into()));
    }

    #[test]
    fn an_unknown_harness_has_no_transcript() {
        assert_eq!(transcript("abacus", "{}"), None);
    }
}
