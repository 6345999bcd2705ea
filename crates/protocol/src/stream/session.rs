//! The open questions of one client.

use std::collections::BTreeMap;

use serde_json::Value;

use super::message::{Incoming, Outgoing, QuestionId, StreamError, method_of, no_such_method};
use crate::callback::{CallbackFailure, CallbackResult};
use crate::envelope::{CallbackResponse, DispatchEnvelope};
use crate::version::WireVersion;

/// A conversation with one client, with its open questions.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    last_id: u64,
    open: BTreeMap<QuestionId, Question>,
}

#[derive(Debug, Clone, Copy)]
struct Question {
    version: WireVersion,
    deadline_ms: u64,
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub id: QuestionId,
    pub outcome: CallbackResult,
}

/// What a line from the client means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Answer(Settled),
    /// An answer without an open question: late, repeated or invented.
    Unexpected,
    /// A notification by the client.
    Remark {
        method: String,
    },
    /// A question by the client. `refusal` is the line that answers it.
    Question {
        method: String,
        refusal: String,
    },
}

impl Stream {
    /// Asks about one event: the line to send, and the id its answer will carry.
    pub fn ask(
        &mut self,
        envelope: &DispatchEnvelope,
        version: WireVersion,
        deadline_ms: u64,
    ) -> Result<(QuestionId, String), StreamError> {
        let id = QuestionId(self.last_id.wrapping_add(1));
        let line = Outgoing::new(Some(id), method_of(&envelope.request), envelope).line()?;
        self.last_id = id.0;
        self.open.insert(id, Question { version, deadline_ms });
        Ok((id, line))
    }

    /// Interprets one line from the client.
    pub fn hear(&mut self, line: &[u8]) -> Result<Heard, StreamError> {
        let message = Incoming::read(line)?;
        match (message.method, message.id) {
            (Some(method), Some(id)) => {
                let refusal = no_such_method(&id, &method);
                Ok(Heard::Question { method, refusal })
            }
            (Some(method), None) => Ok(Heard::Remark { method }),
            (None, id) => {
                let open = id.as_ref().and_then(Value::as_u64).map(QuestionId);
                let Some((id, question)) = open.and_then(|id| self.open.remove_entry(&id)) else {
                    return Ok(Heard::Unexpected);
                };
                let outcome = match (message.result, message.error) {
                    (Some(result), None) => understand(result, question.version),
                    (None, Some(error)) => {
                        Err(CallbackFailure::Declined { code: error.code, message: error.message })
                    }
                    (None, None) | (Some(_), Some(_)) => Err(CallbackFailure::Garbage(
                        "a JSON-RPC answer has either a result or an error".to_owned(),
                    )),
                };
                Ok(Heard::Answer(Settled { id, outcome }))
            }
        }
    }

    /// Settles every question whose deadline has passed.
    pub fn expire(&mut self, now_ms: u64) -> Vec<Settled> {
        self.settle_where(|question| question.deadline_ms <= now_ms, &CallbackFailure::TimedOut)
    }

    /// Settles every question with a failure, because the client has ended.
    pub fn close(&mut self, why: &CallbackFailure) -> Vec<Settled> {
        self.settle_where(|_| true, why)
    }

    fn settle_where(&mut self, is_over: impl Fn(&Question) -> bool, why: &CallbackFailure) -> Vec<Settled> {
        let over: Vec<QuestionId> =
            self.open.iter().filter(|(_, question)| is_over(question)).map(|(&id, _)| id).collect();
        for id in &over {
            self.open.remove(id);
        }
        over.into_iter().map(|id| Settled { id, outcome: Err(why.clone()) }).collect()
    }
}

fn understand(result: Value, version: WireVersion) -> CallbackResult {
    let response =
        CallbackResponse::from_value(result).map_err(|error| CallbackFailure::Garbage(error.to_string()))?;
    response.validate_as(version).map_err(CallbackFailure::Invalid)?;
    Ok(response)
}
