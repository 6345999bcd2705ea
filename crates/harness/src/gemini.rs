//! Gemini CLI.

use escrow_protocol::vocabulary::LifecycleEventKind as Event;
use serde_json::{Value, json};

use crate::command_line::{session_id, utf8};
use crate::gemini_family::{approval_mode, settings_file};
use crate::hooks::{AnswerForm, CLAUDE_FIELDS, Condition, HookEvent};
use crate::install::{EntryForm, Form, HookFile, TRUST};
use crate::observed::{Observed, Terminal, Usage};
use crate::stream::{count, text};
use crate::{
    Auth, CommandLine, Conversation, ErrorKind, Exit, Figures, Harness, HarnessError, HarnessSpec,
    HookDialect, Known, LoginFile, Order, Progress, Report, StreamParser, Turn, Unsupported, ending,
    service_variables,
};

pub(crate) struct Gemini;

static SPEC: HarnessSpec = HarnessSpec {
    name: "gemini",
    package: "@google/gemini-cli",
    tested_versions: &["0.61.0"],
    key_variables: &["GEMINI_API_KEY"],
    service_variables: service_variables!["GOOGLE_GEMINI_BASE_URL"],
    base_url_variable: "GOOGLE_GEMINI_BASE_URL",
    api_path: "",
    scripted_model: "gemini-2.5-pro",
    figures: Figures {
        turns: Known::Streamed,
        input_tokens: Known::AtEnd,
        output_tokens: Known::AtEnd,
        cost: Known::Never,
        denials: Known::Streamed,
        tool_calls: Known::Streamed,
        model: Known::Streamed,
        session: Known::Streamed,
    },
    turn: Turn::Answer,
    usage_is_cumulative: false,
    takes_session_id: true,
    login: Some(LoginFile { source: ".gemini/oauth_creds.json", target: "gemini/.gemini/oauth_creds.json" }),
    hooks: &HOOKS,
};

impl Harness for Gemini {
    fn spec(&self) -> &'static HarnessSpec {
        &SPEC
    }

    fn command(&self, order: &Order<'_>) -> Result<CommandLine, Unsupported> {
        if order.schema.is_some() {
            return Err(Unsupported::Schema { harness: SPEC.name });
        }
        let config = order.home.join("gemini");
        let mut line = CommandLine { stdin: Some(order.prompt.to_owned()), ..CommandLine::default() };
        line.arguments(&["--output-format", "stream-json"]);
        line.option("-m", order.model);
        // Without the flag it refuses every directory that no person has trusted.
        line.arguments(&["--skip-trust", "--approval-mode", approval_mode(order)]);
        line.arguments(&["--include-directories", utf8(order.artifacts)?]);
        match order.conversation {
            Conversation::New { id } => line.arguments(&["--session-id", session_id(id)?]),
            Conversation::Resumed { id } => line.arguments(&["--resume", session_id(id)?]),
        };
        // The wrapper process that it would start swallows SIGTERM.
        line.env("GEMINI_CLI_HOME", utf8(&config)?).env("GEMINI_CLI_NO_RELAUNCH", "1");
        if let Some(url) = order.base_url {
            line.env("GOOGLE_GEMINI_BASE_URL", url);
        }
        let auth = match order.auth {
            Auth::Key => "gemini-api-key",
            Auth::Login => "oauth-personal",
        };
        let settings = json!({
            "security": {"auth": {"selectedType": auth}},
            "general": {"enableAutoUpdate": false, "maxAttempts": 2},
            "privacy": {"usageStatisticsEnabled": false},
            "telemetry": {"enabled": false},
        });
        settings_file(&mut line, config.join(".gemini/settings.json"), settings, order, SPEC.hooks);
        Ok(line)
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(Parser::default())
    }
}

static HOOKS: HookDialect = HookDialect {
    harness: "gemini",
    display_name: "Gemini CLI",
    file: HookFile {
        host: "gemini",
        project: ".gemini/settings.json",
        user: ".gemini/settings.json",
        is_unverified: false,
        note: Some(TRUST),
        form: Form::Json(EntryForm::Matcher),
    },
    fields: CLAUDE_FIELDS,
    events: &[
        HookEvent::meaning("SessionStart", Event::SessionStarted, &[AnswerForm::Context]),
        HookEvent::meaning("BeforeAgent", Event::FrameOpening, &[AnswerForm::Context]),
        // Fires before every model call, whether or not anything is compressed.
        HookEvent::silent("PreCompress", &[]),
        HookEvent::silent("BeforeModel", &[]),
        HookEvent::silent("BeforeToolSelection", &[]),
        HookEvent::silent("AfterModel", &[]),
        // Sub-agents are a tool. The context of `BeforeTool` is not delivered.
        HookEvent::meaning("BeforeTool", Event::FrameOpening, &[AnswerForm::ToolDecisionDeny])
            .when(Condition::Tool(SUB_AGENT)),
        HookEvent::meaning("AfterTool", Event::FrameEnded, &[AnswerForm::Context])
            .when(Condition::Tool(SUB_AGENT)),
        // Gemini does not limit how often a stop is held back.
        HookEvent::meaning("AfterAgent", Event::FrameEnding, &[AnswerForm::StopDecisionDeny]),
        HookEvent::meaning("SessionEnd", Event::SessionEnding, &[]),
    ],
};

const SUB_AGENT: &str = "invoke_agent";
const USAGE_MARKERS: &[&str] = &["Unknown argument", "Invalid values", "Invalid configuration"];

/// The errors of tool results that are refusals. A tool that is not offered is one that the mode does not allow.
const DENIALS: &[&str] = &["tool_not_registered", "policy_violation", "invalid_tool_params"];

#[derive(Debug, Default)]
struct Parser {
    observed: Observed,
    terminal: Terminal,
    usage: Usage,
    turns: u64,
    /// The model is answering: texts and tool calls belong to one turn until something else comes.
    is_answering: bool,
    last_error: Option<String>,
    /// Why the last answer is not final, until another one begins.
    stopped: Option<HarnessError>,
}

impl StreamParser for Parser {
    fn read(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        let Some(kind) = text(line, "type") else { return };
        match kind {
            "init" => {
                self.observed.anything = true;
                if let Some(id) = text(line, "session_id") {
                    self.observed.session(id, progress);
                }
                if let Some(model) = text(line, "model") {
                    self.observed.model(model, progress);
                }
            }
            "message" if text(line, "role") == Some("assistant") => {
                self.answer(progress);
                if let Some(written) = text(line, "content").filter(|_| !self.observed.has_ended()) {
                    self.observed.final_text.push(written);
                    progress.push(Progress::Text(written.to_owned()));
                }
            }
            "message" => self.interrupt(),
            "tool_use" => {
                self.answer(progress);
                if let (Some(id), Some(name)) = (text(line, "tool_id"), text(line, "tool_name")) {
                    let input = line.get("parameters").unwrap_or(&Value::Null);
                    self.observed.tool_started(id, name, input, progress);
                }
            }
            "tool_result" => self.tool_result(line, progress),
            "error" => self.error_line(line),
            "result" => self.result(line, progress),
            _ => {}
        }
    }

    fn finish(&mut self, exit: Exit, stderr: &str) -> Report {
        let mut terminal = std::mem::take(&mut self.terminal);
        // The message of some API errors lacks the status, but the exit code has it.
        if let Terminal::Failed(error) = &mut terminal
            && error.kind == ErrorKind::Api
            && let Some(status) = status_of(exit)
        {
            error.kind = ending::kind_of_status(status);
        }
        let turns = Observed::counted(self.turns, &terminal);
        let denials = self.observed.streamed_denials(&terminal);
        let anything = self.observed.anything;
        let truncated = || {
            explained(exit, stderr)
                .unwrap_or_else(|| ending::without_terminal_line(exit, stderr, anything, USAGE_MARKERS))
        };
        self.observed.report(terminal, exit, truncated, Usage { turns, ..self.usage }, denials)
    }
}

impl Parser {
    fn answer(&mut self, progress: &mut Vec<Progress>) {
        if !self.is_answering {
            self.is_answering = true;
            self.stopped = None;
            self.turns += 1;
            self.forget_text();
            progress.push(Progress::Turn(self.turns));
        }
    }

    fn interrupt(&mut self) {
        self.is_answering = false;
    }

    /// What was said before a tool call is no part of the answer, unless the answer was complete.
    fn forget_text(&mut self) {
        if !self.observed.has_ended() {
            self.observed.final_text.clear();
        }
    }

    fn tool_result(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        self.interrupt();
        self.forget_text();
        let failed = text(line, "status") != Some("success");
        let id = text(line, "tool_id").unwrap_or_default();
        let tool = self.observed.tool_ended(id, failed, progress).unwrap_or_else(|| "unknown".to_owned());
        let kind = line.pointer("/error/type").and_then(Value::as_str).unwrap_or_default();
        let message = line.pointer("/error/message").and_then(Value::as_str);
        if DENIALS.contains(&kind) {
            self.observed.denied(&tool, message, progress);
        }
        if kind == "stop_execution" {
            self.stopped = Some(ending::error(ErrorKind::Blocked, message.unwrap_or("stopped by a hook")));
        }
    }

    /// A warning does not end the run, but if nothing follows it, there is no answer.
    fn error_line(&mut self, line: &Value) {
        self.interrupt();
        let message = text(line, "message").unwrap_or("unknown error");
        if message.starts_with("Agent execution blocked") {
            self.stopped = Some(ending::error(ErrorKind::Blocked, message));
        } else if message.starts_with("Loop detected") {
            self.stopped = Some(ending::error(ErrorKind::Other, message));
        }
        self.last_error = Some(message.to_owned());
    }

    fn result(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        self.observed.terminal_lines += 1;
        if let Some(stats) = line.get("stats") {
            let input = count(stats, "input_tokens");
            // `total_tokens` includes the reasoning that `output_tokens` lacks.
            let beyond_input =
                count(stats, "total_tokens").zip(input).and_then(|(all, input)| all.checked_sub(input));
            let output = count(stats, "output_tokens").map(|output| output.max(beyond_input.unwrap_or(0)));
            self.usage = Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
            if let (Some(input), Some(output)) = (input, output) {
                progress.push(Progress::Tokens { input, output });
            }
        }
        self.terminal = if text(line, "status") == Some("success") {
            self.stopped.take().map_or(Terminal::Clean, Terminal::Failed)
        } else {
            Terminal::Failed(self.failure(line))
        };
    }

    fn failure(&self, line: &Value) -> HarnessError {
        let kind = line.pointer("/error/type").and_then(Value::as_str);
        let message = line.pointer("/error/message").and_then(Value::as_str).or(self.last_error.as_deref());
        let message = message.unwrap_or("the result line says `error` without a message");
        let kind = match kind {
            Some("FatalTurnLimitedError") => ErrorKind::TurnLimit,
            Some("FatalAuthenticationError") => ErrorKind::Login,
            Some("FatalInputError" | "FatalConfigError") => ErrorKind::Usage,
            Some("FatalCancellationError") => ErrorKind::Killed,
            Some(_) | None if message.contains("empty response") => ErrorKind::Empty,
            Some(_) | None => match ending::status_after(message, "\"code\"") {
                Some(status) => ending::kind_of_status(status),
                None => ErrorKind::Api,
            },
        };
        ending::error(kind, message)
    }
}

/// The HTTP status behind an exit code: the remainder of its division by 256.
fn status_of(exit: Exit) -> Option<u64> {
    match exit {
        Exit::Code(145) => Some(401),
        Exit::Code(147) => Some(403),
        Exit::Code(173) => Some(429),
        Exit::Code(144) => Some(400),
        Exit::Code(244) => Some(500),
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => None,
    }
}

/// The error that an exit code tells without any output.
fn explained(exit: Exit, stderr: &str) -> Option<HarnessError> {
    let Exit::Code(code) = exit else { return None };
    // Below the message come stack traces and advice.
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.clone().find(|line| line.contains("Gemini API")).or_else(|| lines.next_back());
    let message = message.unwrap_or("nothing on standard error");
    let kind = match code {
        41 => ErrorKind::Login,
        42 | 52 | 55 => ErrorKind::Usage,
        53 => ErrorKind::TurnLimit,
        _ => ending::kind_of_status(status_of(exit)?),
    };
    Some(ending::error(kind, &format!("exit code {code}: {message}")))
}
