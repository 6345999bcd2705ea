//! One JSON-RPC line of the stream.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::callback::STDOUT_LIMIT_BYTES;
use crate::envelope::CallbackRequest;

/// A longer line ends the stream, because its end is unknown.
pub const LINE_LIMIT_BYTES: usize = STDOUT_LIMIT_BYTES;

/// The JSON-RPC id of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(pub(super) u64);

impl fmt::Display for QuestionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Why a line cannot be sent or understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    #[error("a line of the stream exceeded {LINE_LIMIT_BYTES} bytes")]
    TooLong,
    #[error("a line of the stream was not a JSON-RPC 2.0 message: {0}")]
    NotAMessage(String),
    #[error("cannot write a line of the stream: {0}")]
    Unwritable(String),
}

/// An outgoing message.
#[derive(Serialize)]
pub(super) struct Outgoing<'message, Params> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<QuestionId>,
    method: String,
    params: &'message Params,
}

impl<'message, Params: Serialize> Outgoing<'message, Params> {
    pub(super) fn new(id: Option<QuestionId>, method: String, params: &'message Params) -> Self {
        Self { jsonrpc: "2.0", id, method, params }
    }

    pub(super) fn line(&self) -> Result<String, StreamError> {
        let text = serde_json::to_string(self).map_err(|error| StreamError::Unwritable(error.to_string()))?;
        if text.len() >= LINE_LIMIT_BYTES {
            return Err(StreamError::TooLong);
        }
        Ok(text + "\n")
    }
}

/// The line for an event that expects no answer, such as `receipt.emitted`.
pub fn notification(request: &CallbackRequest) -> Result<String, StreamError> {
    Outgoing::new(None, method_of(request), request).line()
}

pub(super) fn method_of(request: &CallbackRequest) -> String {
    format!("event/{}", request.event)
}

/// The line that refuses a question by the client.
pub(super) fn no_such_method(id: &Value, method: &str) -> String {
    let refusal = serde_json::json!({
        "jsonrpc": "2.0",
        "id": id,
        "error": { "code": -32601, "message": format!("method `{method}` is not answered here") },
    });
    format!("{refusal}\n")
}

/// An incoming message: an answer, a question or a notification.
#[derive(Deserialize)]
pub(super) struct Incoming {
    pub(super) jsonrpc: String,
    #[serde(default)]
    pub(super) id: Option<Value>,
    #[serde(default)]
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) result: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<RpcError>,
}

#[derive(Deserialize)]
pub(super) struct RpcError {
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
}

impl Incoming {
    pub(super) fn read(line: &[u8]) -> Result<Self, StreamError> {
        if line.len() > LINE_LIMIT_BYTES {
            return Err(StreamError::TooLong);
        }
        let message: Self =
            serde_json::from_slice(line).map_err(|error| StreamError::NotAMessage(error.to_string()))?;
        if message.jsonrpc != "2.0" {
            return Err(StreamError::NotAMessage(format!("`jsonrpc` is `{}`", message.jsonrpc)));
        }
        Ok(message)
    }
}
