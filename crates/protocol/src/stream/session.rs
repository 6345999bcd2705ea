//! Who was asked what, and what has come back.

use std::collections::BTreeMap;

use serde_json::Value;

use super::message::{Incoming, Outgoing, QuestionId, StreamError, method_of, no_such_method};
use crate::callback::CallbackFailure;
use crate::envelope::{CallbackResponse, DispatchEnvelope};
use crate::version::WireVersion;

/// The questions that are open with one client.
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
    pub outcome: Result<CallbackResponse, CallbackFailure>,
}

/// What a line from the client was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Answer(Settled),
    /// An answer to nothing that is open: too late, twice, or made up.
    Unexpected,
    /// The client said something that wants no answer.
    Remark {
        method: String,
    },
    /// The client asked something itself. The line turns it away.
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

    /// Takes one line from the client.
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

    /// When the next question runs out, for whoever waits.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        self.open.values().map(|question| question.deadline_ms).min()
    }

    /// Gives up on every question whose time is over.
    pub fn expire(&mut self, now_ms: u64) -> Vec<Settled> {
        self.settle_where(|question| question.deadline_ms <= now_ms, &CallbackFailure::TimedOut)
    }

    /// Gives up on everything: the client has gone, and this is how.
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

fn understand(result: Value, version: WireVersion) -> Result<CallbackResponse, CallbackFailure> {
    let response =
        CallbackResponse::from_value(result).map_err(|error| CallbackFailure::Garbage(error.to_string()))?;
    response.validate_as(version).map_err(CallbackFailure::Invalid)?;
    Ok(response)
}
