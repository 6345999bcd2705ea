//! Qwen Code.

use escrow_protocol::vocabulary::LifecycleEventKind as Event;
use serde_json::{Value, json};

use crate::command_line::{prompt_argument, session_id, utf8};
use crate::gemini_family::{approval_mode, settings_file};
use crate::hooks::{AnswerForm, CLAUDE_FIELDS, Condition, HookEvent};
use crate::install::{EntryForm, Form, HookFile};
use crate::observed::{Observed, Terminal, Usage};
use crate::stream::{count, text};
use crate::{
    Auth, CommandLine, Conversation, ErrorKind, Exit, Figures, Harness, HarnessError, HarnessSpec,
    HookDialect, Known, LoginFile, Order, Progress, Report, StreamParser, Turn, Unsupported, ending,
    messages, service_variables,
};

pub(crate) struct Qwen;

static SPEC: HarnessSpec = HarnessSpec {
    name: "qwen",
    package: "@qwen-code/qwen-code",
    tested_versions: &["0.15.10", "0.24.4"],
    key_variables: &["OPENAI_API_KEY"],
    service_variables: service_variables!["OPENAI_BASE_URL"],
    base_url_variable: "OPENAI_BASE_URL",
    api_path: "/v1",
    scripted_model: "scripted",
    figures: Figures {
        turns: Known::AtEnd,
        input_tokens: Known::AtEnd,
        output_tokens: Known::AtEnd,
        cost: Known::Never,
        denials: Known::AtEnd,
        tool_calls: Known::Streamed,
        model: Known::Streamed,
        session: Known::Streamed,
    },
    turn: Turn::Answer,
    usage_is_cumulative: true,
    takes_session_id: false,
    login: Some(LoginFile { source: ".qwen/oauth_creds.json", target: "qwen/oauth_creds.json" }),
    hooks: &HOOKS,
};

impl Harness for Qwen {
    fn spec(&self) -> &'static HarnessSpec {
        &SPEC
    }

    fn command(&self, order: &Order<'_>) -> Result<CommandLine, Unsupported> {
        if order.schema.is_some() {
            return Err(Unsupported::Schema { harness: SPEC.name });
        }
        let config = order.home.join("qwen");
        let mut line = CommandLine::default();
        line.arguments(&[&prompt_argument(SPEC.name, order.prompt)?]);
        line.arguments(&["--output-format", "stream-json"]);
        let auth = match order.auth {
            Auth::Key => "openai",
            Auth::Login => "qwen-oauth",
        };
        line.arguments(&["--auth-type", auth]);
        line.option("--openai-base-url", order.base_url);
        line.option("-m", order.model);
        line.arguments(&["--approval-mode", approval_mode(order)]);
        line.arguments(&["--include-directories", utf8(order.artifacts)?]);
        if let Conversation::Resumed { id } = order.conversation {
            line.arguments(&["--resume", session_id(id)?]);
        }
        line.env("QWEN_HOME", utf8(&config)?).env("QWEN_CODE_NO_RELAUNCH", "1");
        let settings = json!({
            "general": {"disableAutoUpdate": true},
            "privacy": {"usageStatisticsEnabled": false},
            "telemetry": {"enabled": false},
            // It asks the model once more after the answer, with tools, and nothing reads what it remembers.
            "memory": {"enableManagedAutoMemory": false},
        });
        settings_file(&mut line, config.join("settings.json"), settings, order, SPEC.hooks);
        Ok(line)
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(Parser::default())
    }
}

static HOOKS: HookDialect = HookDialect {
    harness: "qwen",
    display_name: "Qwen Code",
    file: HookFile {
        host: "qwen",
        project: ".qwen/settings.json",
        user: ".qwen/settings.json",
        is_unverified: false,
        note: None,
        form: Form::Json(EntryForm::Matcher),
    },
    fields: CLAUDE_FIELDS,
    events: &[
        // Says that the program has credentials; no other hook tells that a session starts or ends.
        HookEvent::silent("Notification", &[]),
        // Comes again, with an empty prompt, after every tool result.
        HookEvent::meaning("UserPromptSubmit", Event::FrameOpening, &[AnswerForm::Context])
            .when(Condition::WithPrompt),
        // The context of `PreToolUse` is not delivered.
        HookEvent::silent("PreToolUse", &[AnswerForm::ToolPermissionDeny]),
        HookEvent::silent("PostToolUse", &[AnswerForm::Context]),
        HookEvent::meaning("Stop", Event::FrameEnding, &[AnswerForm::StopDecisionBlock]),
    ],
};

const USAGE_MARKERS: &[&str] = &["Unknown argument", "Invalid values"];

/// Qwen Code reports a failed request as the answer of a successful run.
const API_ERROR: &str = "[API Error:";

#[derive(Debug, Default)]
struct Parser {
    observed: Observed,
    terminal: Terminal,
    usage: Usage,
    has_denials: bool,
}

impl StreamParser for Parser {
    fn read(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        let Some(kind) = text(line, "type") else { return };
        if let Some(id) = text(line, "session_id") {
            self.observed.anything = true;
            self.observed.session(id, progress);
        }
        match kind {
            "system" if text(line, "subtype") == Some("init") => {
                if let Some(model) = text(line, "model") {
                    self.observed.model(model, progress);
                }
            }
            "assistant" => messages::assistant(&mut self.observed, line, None, progress),
            "user" => messages::user(&mut self.observed, line, progress),
            "result" => self.result(line, progress),
            _ => {}
        }
    }

    fn finish(&mut self, exit: Exit, stderr: &str) -> Report {
        let terminal = std::mem::take(&mut self.terminal);
        let anything = self.observed.anything;
        let denials = self.has_denials.then(|| std::mem::take(&mut self.observed.denials));
        let truncated = || match exit {
            Exit::Code(53) => ending::error(ErrorKind::TurnLimit, "reached the limit of turns"),
            Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => {
                ending::without_terminal_line(exit, stderr, anything, USAGE_MARKERS)
            }
        };
        self.observed.report(terminal, exit, truncated, self.usage, denials)
    }
}

impl Parser {
    fn result(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        self.observed.terminal_lines += 1;
        self.usage.turns = count(line, "num_turns");
        if let Some(usage) = line.get("usage") {
            self.usage.input_tokens = count(usage, "input_tokens");
            self.usage.output_tokens = count(usage, "output_tokens");
        }
        if let (Some(input), Some(output)) = (self.usage.input_tokens, self.usage.output_tokens) {
            progress.push(Progress::Tokens { input, output });
        }
        self.has_denials = messages::denials(&mut self.observed, line, progress);
        if let Some(result) = text(line, "result") {
            self.observed.final_text.set(result);
        }
        self.terminal =
            failure(line, self.observed.final_text.as_str()).map_or(Terminal::Clean, Terminal::Failed);
    }
}

/// The error of a result line, by its flag, by its subtype, or by an answer that ends in an API error.
fn failure(line: &Value, answer: &str) -> Option<HarnessError> {
    let subtype = text(line, "subtype").unwrap_or("missing");
    let is_flagged = line.get("is_error").and_then(Value::as_bool).unwrap_or(true);
    let last = answer.rfind(API_ERROR).map(|start| &answer[start..]);
    let api_error = last.filter(|last| last.trim_end().ends_with(']'));
    if let Some(message) = api_error {
        let kind = ending::status_after(message, API_ERROR).map_or(ErrorKind::Api, ending::kind_of_status);
        return Some(ending::error(kind, message));
    }
    let message = line.pointer("/error/message").and_then(Value::as_str).unwrap_or(answer);
    match (is_flagged, subtype, count(line, "num_turns")) {
        (false, "success", Some(0)) => {
            Some(ending::error(ErrorKind::Blocked, "the prompt was not answered by a model"))
        }
        (false, "success", Some(_) | None) => None,
        (true, _, _) | (false, _, _) => Some(ending::error(ErrorKind::Other, message)),
    }
}
