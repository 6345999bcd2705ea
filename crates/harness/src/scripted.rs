//! A model that follows a script, so that real harnesses can be driven without a service.
//!
//! ```text
//!   POST /v1/messages, /v1/responses, /v1/chat/completions, /v1beta/models/M:generateContent
//!        ──ScriptedModel::answer──▶ Reply { bytes of the HTTP response, then }
//! ```
//!
//! **Invariant:** pure. The caller owns the socket. A request that offers no tools (titles, topic checks) is answered
//! without advancing the script.

mod anthropic;
mod chat;
mod gemini;
mod responses;
mod tools;

use serde_json::{Value, json};

use tools::Tools;

/// What the model does in answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A final answer.
    Say(String),
    /// A tool call that writes a file. Where the harness has no such tool, it is a command.
    WriteFile { path: String, contents: String },
    /// A tool call that runs a command.
    Run(String),
    /// A tool call by name, with its arguments.
    Call { tool: String, arguments: Value },
    /// An HTTP error.
    Fail(u16),
    /// No answer, until the harness gives up.
    Hang,
    /// Half an answer, and a closed connection.
    Cut(String),
}

/// The bytes of an HTTP response, and what the caller does after it wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub bytes: Vec<u8>,
    pub then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Close,
    /// Keep the connection open and write nothing.
    Hang,
}

/// A model with its script. Requests after the last step get a final answer.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    steps: Vec<Step>,
    played: usize,
    ids: u64,
}

/// What the tokens of every answer are said to be.
pub const INPUT_TOKENS: u64 = 1200;
pub const OUTPUT_TOKENS: u64 = 34;

/// What a request asks of its service, in the words that all services share.
struct Asked<'b> {
    body: &'b Value,
    model: String,
    streams: bool,
}

/// One answer, before it is put into the words of a service.
struct Turn {
    text: Option<String>,
    call: Option<Call>,
    /// Numbers the answer: ids of the service are made from it.
    id: u64,
    is_cut: bool,
}

struct Call {
    tool: String,
    kind: String,
    arguments: Value,
}

#[derive(Clone, Copy)]
enum Service {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

impl ScriptedModel {
    pub fn new(steps: Vec<Step>) -> ScriptedModel {
        ScriptedModel { steps, played: 0, ids: 0 }
    }

    /// How many steps were played.
    pub fn played(&self) -> usize {
        self.played
    }

    /// The response to a request. `path` may have a query.
    pub fn answer(&mut self, method: &str, path: &str, body: &[u8]) -> Reply {
        let path = path.split('?').next().unwrap_or(path);
        let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        if path.ends_with("/count_tokens") {
            return whole(200, &json!({"input_tokens": INPUT_TOKENS}));
        }
        if path.ends_with(":countTokens") {
            return whole(200, &json!({"totalTokens": INPUT_TOKENS}));
        }
        let model = || body.get("model").and_then(Value::as_str).unwrap_or("scripted").to_owned();
        let streams = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
        let (service, asked) = if path.ends_with("/messages") {
            (Service::Anthropic, Asked { body: &body, model: model(), streams })
        } else if path.ends_with("/responses") {
            (Service::Responses, Asked { body: &body, model: model(), streams })
        } else if path.ends_with("/chat/completions") {
            (Service::Chat, Asked { body: &body, model: model(), streams })
        } else if let Some((model, verb)) = path.rsplit('/').next().and_then(|last| last.split_once(':')) {
            let streams = verb.starts_with("stream");
            (Service::Gemini, Asked { body: &body, model: model.to_owned(), streams })
        } else if method == "GET" && path.ends_with("/models") {
            return whole(200, &json!({"object": "list", "data": []}));
        } else {
            return whole(404, &json!({"error": {"message": "not found", "type": "not_found"}}));
        };
        self.model_request(service, &asked)
    }

    fn model_request(&mut self, service: Service, asked: &Asked<'_>) -> Reply {
        let tools = Tools::offered(service, asked.body);
        self.ids += 1;
        let mut turn = Turn { text: None, call: None, id: self.ids, is_cut: false };
        if tools.is_empty() {
            turn.text = Some("ok".to_owned());
            return service.reply(asked, &turn);
        }
        let step = self.steps.get(self.played).cloned();
        self.played += usize::from(step.is_some());
        match step.unwrap_or_else(|| Step::Say("The script has ended.".to_owned())) {
            Step::Say(text) => turn.text = Some(text),
            Step::Cut(text) => {
                turn.text = Some(text);
                turn.is_cut = true;
            }
            Step::WriteFile { path, contents } => turn.call = Some(tools.write_file(&path, &contents)),
            Step::Run(command) => turn.call = Some(tools.run(&command)),
            Step::Call { tool, arguments } => turn.call = Some(tools.call(&tool, arguments)),
            Step::Fail(status) => return whole(status, &service.error(status)),
            Step::Hang => return Reply { bytes: Vec::new(), then: Then::Hang },
        }
        service.reply(asked, &turn)
    }
}

impl Service {
    fn reply(self, asked: &Asked<'_>, turn: &Turn) -> Reply {
        let (document, events) = match self {
            Service::Anthropic => (anthropic::document(asked, turn), anthropic::events(asked, turn)),
            Service::Responses => (responses::document(asked, turn), responses::events(asked, turn)),
            Service::Chat => (chat::document(asked, turn), chat::events(asked, turn)),
            Service::Gemini => (gemini::document(asked, turn), gemini::events(asked, turn)),
        };
        if !asked.streams {
            return whole(200, &document);
        }
        let mut stream: String = events.concat();
        let length = stream.len();
        if turn.is_cut {
            stream.truncate(stream.floor_char_boundary(length / 2));
        }
        response(200, "text/event-stream", length, stream.as_bytes())
    }

    fn error(self, status: u16) -> Value {
        let message = format!("scripted error {status}");
        match self {
            Service::Anthropic => {
                let kind = match status {
                    401 => "authentication_error",
                    429 => "rate_limit_error",
                    400..=499 => "invalid_request_error",
                    _ => "api_error",
                };
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Service::Responses | Service::Chat => {
                let code = match status {
                    401 => Some("invalid_api_key"),
                    429 => Some("rate_limit_exceeded"),
                    _ => None,
                };
                json!({"error": {"message": message, "type": "server_error", "param": null, "code": code}})
            }
            Service::Gemini => {
                let word = match status {
                    401 => "UNAUTHENTICATED",
                    429 => "RESOURCE_EXHAUSTED",
                    400..=499 => "INVALID_ARGUMENT",
                    _ => "INTERNAL",
                };
                json!({"error": {"code": status, "message": message, "status": word}})
            }
        }
    }
}

fn whole(status: u16, document: &Value) -> Reply {
    let body = document.to_string();
    response(status, "application/json", body.len(), body.as_bytes())
}

/// A response that says it has `length` bytes, whatever it has.
fn response(status: u16, media_type: &str, length: usize, body: &[u8]) -> Reply {
    let mut bytes = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    Reply { bytes, then: Then::Close }
}

/// A server-sent event with a name.
fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// A server-sent event without a name.
fn data(data: &Value) -> String {
    format!("data: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body_of(reply: &Reply) -> String {
        let text = String::from_utf8(reply.bytes.clone()).expect("text");
        text.split_once("\r\n\r\n").expect("a head and a body").1.to_owned()
    }

    const TOOLS: &str = r#"{"model":"m","stream":true,"tools":[{"name":"Write","input_schema":{}}]}"#;

    #[test]
    fn each_service_says_the_text_of_a_step() {
        for (path, body) in [
            ("/v1/messages", TOOLS),
            ("/v1/responses?x=1", r#"{"stream":true,"tools":[{"type":"function","name":"shell"}]}"#),
            ("/v1/chat/completions", r#"{"tools":[{"function":{"name":"bash"}}]}"#),
            (
                "/v1beta/models/g:streamGenerateContent",
                r#"{"tools":[{"functionDeclarations":[{"name":"write_file"}]}]}"#,
            ),
        ] {
            let mut model = ScriptedModel::new(vec![Step::Say("Hello there.".into())]);
            let reply = model.answer("POST", path, body.as_bytes());
            assert!(body_of(&reply).contains("Hello there."), "{path}: {}", body_of(&reply));
            assert_eq!(model.played(), 1);
        }
    }

    #[test]
    fn a_request_without_tools_does_not_advance_the_script() {
        let mut model = ScriptedModel::new(vec![Step::Say("main".into())]);
        let side = model.answer("POST", "/v1/messages", br#"{"model":"m"}"#);
        assert!(body_of(&side).contains("\"ok\""));
        assert_eq!(model.played(), 0);
        assert!(body_of(&model.answer("POST", "/v1/messages", TOOLS.as_bytes())).contains("main"));
    }

    #[test]
    fn a_cut_answer_is_shorter_than_it_says() {
        let mut model =
            ScriptedModel::new(vec![Step::Cut("half of this".into()), Step::Hang, Step::Fail(429)]);
        let reply = model.answer("POST", "/v1/messages", TOOLS.as_bytes());
        let head = String::from_utf8_lossy(&reply.bytes).into_owned();
        let length: usize = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next())
            .and_then(|length| length.parse().ok())
            .expect("a length");
        assert!(body_of(&reply).len() < length);
        assert_eq!(model.answer("POST", "/v1/messages", TOOLS.as_bytes()).then, Then::Hang);
        let failed = model.answer("POST", "/v1/messages", TOOLS.as_bytes());
        assert!(failed.bytes.starts_with(b"HTTP/1.1 429"));
    }

    #[test]
    fn a_file_is_written_with_the_tool_that_is_offered() {
        let step = || Step::WriteFile { path: "/a/b.md".into(), contents: "text".into() };
        for (path, body, expected) in [
            ("/v1/messages", TOOLS, r#""name":"Write""#),
            ("/v1/responses", r#"{"tools":[{"type":"function","name":"exec_command"}]}"#, "cat > '/a/b.md'"),
            (
                "/v1/responses",
                r#"{"tools":[{"type":"custom","name":"apply_patch"}]}"#,
                "*** Add File: /a/b.md",
            ),
            (
                "/v1/chat/completions",
                r#"{"tools":[{"function":{"name":"write"}}]}"#,
                r#"\"filePath\":\"/a/b.md\""#,
            ),
        ] {
            let reply = ScriptedModel::new(vec![step()]).answer("POST", path, body.as_bytes());
            assert!(body_of(&reply).contains(expected), "{}", body_of(&reply));
        }
    }
}
