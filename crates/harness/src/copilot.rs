//! GitHub Copilot CLI.

use escrow_protocol::vocabulary::LifecycleEventKind as Event;
use serde_json::{Map, Value, json};

use crate::command_line::{hook_command, prompt_argument, session_id, utf8};
use crate::hooks::{AnswerForm, Fields, HookEvent};
use crate::install::{EntryForm, Form, HookFile, TRUST};
use crate::observed::{Observed, Terminal, Usage};
use crate::stream::{count, text};
use crate::{
    Auth, CommandLine, Confinement, Conversation, ErrorKind, Exit, Figures, Harness, HarnessError,
    HarnessSpec, HookDialect, Known, Order, Permission, Progress, Report, StreamParser, Turn, Unsupported,
    ending, service_variables,
};

pub(crate) struct Copilot;

static SPEC: HarnessSpec = HarnessSpec {
    name: "copilot",
    package: "@github/copilot",
    tested_versions: &["1.0.102"],
    key_variables: &[
        "COPILOT_PROVIDER_API_KEY",
        "COPILOT_PROVIDER_BEARER_TOKEN",
        "COPILOT_GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN",
    ],
    service_variables: service_variables![
        "COPILOT_PROVIDER_BASE_URL",
        "COPILOT_PROVIDER_TYPE",
        "COPILOT_PROVIDER_WIRE_API"
    ],
    base_url_variable: "COPILOT_PROVIDER_BASE_URL",
    api_path: "/v1",
    scripted_model: "gpt-5.4",
    figures: Figures {
        turns: Known::Streamed,
        input_tokens: Known::Never,
        output_tokens: Known::Never,
        cost: Known::Never,
        denials: Known::Streamed,
        tool_calls: Known::Streamed,
        model: Known::Streamed,
        session: Known::AtEnd,
    },
    turn: Turn::Answer,
    usage_is_cumulative: false,
    takes_session_id: true,
    // The login is in the key store of the system.
    login: None,
    hooks: &HOOKS,
};

impl Harness for Copilot {
    fn spec(&self) -> &'static HarnessSpec {
        &SPEC
    }

    fn command(&self, order: &Order<'_>) -> Result<CommandLine, Unsupported> {
        if order.schema.is_some() {
            return Err(Unsupported::Schema { harness: SPEC.name });
        }
        if order.auth == Auth::Login {
            return Err(Unsupported::Login { harness: SPEC.name });
        }
        let config = order.home.join("copilot");
        let mut line = CommandLine::default();
        line.arguments(&["-p", &prompt_argument(SPEC.name, order.prompt)?]);
        line.arguments(&["--output-format", "json", "--no-color", "--log-level", "none", "--no-auto-update"]);
        line.arguments(&["--no-ask-user", "--allow-all-tools"]);
        match (order.permission, order.confinement) {
            // Denying `write` alone would leave `cat > file`.
            (Permission::Read, Confinement::Program) => {
                line.arguments(&["--deny-tool=write", "--deny-tool=shell"]);
            }
            (Permission::Read, Confinement::Kernel) | (Permission::Edit, _) => {
                line.arguments(&["--add-dir", utf8(order.artifacts)?]);
            }
            (Permission::Full, _) => {
                line.arguments(&["--allow-all-paths"]);
            }
        }
        match order.conversation {
            Conversation::New { id } => line.arguments(&["--session-id", session_id(id)?]),
            Conversation::Resumed { id } => line.arguments(&[&format!("--resume={}", session_id(id)?)]),
        };
        line.env("COPILOT_HOME", utf8(&config)?)
            // It unpacks itself into the cache.
            .env("XDG_CACHE_HOME", utf8(&order.home.join("cache"))?)
            .env("COPILOT_AUTO_UPDATE", "false");
        if let Some(model) = order.model {
            line.env("COPILOT_MODEL", model);
        }
        if let Some(url) = order.base_url {
            line.env("COPILOT_PROVIDER_BASE_URL", url).env("COPILOT_OFFLINE", "true");
        }
        if let Some(hook) = order.hook {
            let mut events = Map::new();
            for event in SPEC.hooks.installed() {
                let command = json!([{"type": "command", "bash": hook_command(hook, event.name)}]);
                events.insert(event.name.to_owned(), command);
            }
            line.json_file(config.join("hooks/escrow.json"), &json!({"version": 1, "hooks": events}));
        }
        Ok(line)
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(Parser::default())
    }
}

// The alias names give payloads with other keys.
static HOOKS: HookDialect = HookDialect {
    harness: "copilot",
    display_name: "GitHub Copilot CLI",
    file: HookFile {
        host: "copilot",
        project: ".github/hooks/escrow.json",
        user: ".copilot/hooks/escrow.json",
        is_unverified: false,
        note: Some(TRUST),
        form: Form::Json(EntryForm::Bash),
    },
    fields: Fields {
        session: &["/sessionId", "/session_id"],
        turn: &[],
        tool: &["/toolName", "/tool_name"],
        agent: &["/agentId", "/agent_id"],
        prompt: &["/prompt"],
        source: &["/source"],
        stop_is_repeated: &["/stop_hook_active"],
    },
    events: &[
        HookEvent::meaning("sessionStart", Event::SessionStarted, &[AnswerForm::FlatContext])
            .or("SessionStart"),
        HookEvent::meaning("userPromptSubmitted", Event::FrameOpening, &[AnswerForm::FlatContext])
            .or("UserPromptSubmit"),
        HookEvent::silent("userPromptTransformed", &[]),
        HookEvent::silent("preToolUse", &[AnswerForm::ToolFlatPermissionDeny, AnswerForm::FlatContext])
            .or("PreToolUse"),
        HookEvent::silent("permissionRequest", &[]).or("PermissionRequest"),
        HookEvent::silent("postToolUse", &[AnswerForm::FlatContext]).or("PostToolUse"),
        HookEvent::meaning("agentStop", Event::FrameEnding, &[AnswerForm::StopDecisionBlock]).or("Stop"),
        HookEvent::meaning("sessionEnd", Event::SessionEnding, &[]).or("SessionEnd"),
        HookEvent::silent("errorOccurred", &[]),
        HookEvent::silent("notification", &[]),
    ],
};

const USAGE_MARKERS: &[&str] = &["error: Invalid command format", "error: unknown option", "error: option"];

#[derive(Debug, Default)]
struct Parser {
    observed: Observed,
    terminal: Terminal,
    error: Option<HarnessError>,
    turns: u64,
}

impl StreamParser for Parser {
    fn read(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        let Some(kind) = text(line, "type") else { return };
        let data = line.get("data").unwrap_or(&Value::Null);
        self.observed.anything |= !data.is_null();
        match kind {
            "assistant.turn_start" => {
                self.turns += 1;
                progress.push(Progress::Turn(self.turns));
            }
            "assistant.message" => self.message(data, progress),
            "tool.execution_start" => {
                if let (Some(id), Some(name)) = (text(data, "toolCallId"), text(data, "toolName")) {
                    let input = data.get("arguments").unwrap_or(&Value::Null);
                    self.observed.tool_started(id, name, input, progress);
                }
            }
            "tool.execution_complete" => self.tool_complete(data, progress),
            "model.call_failure" => progress.push(Progress::Retrying {
                attempt: count(data, "retryAttempt"),
                message: text(data, "errorMessage").unwrap_or("the request failed").to_owned(),
            }),
            "session.error" => self.error = Some(failure(data)),
            "result" => self.result(line, progress),
            _ => {}
        }
    }

    fn finish(&mut self, exit: Exit, stderr: &str) -> Report {
        let terminal = match self.error.take() {
            Some(error) => Terminal::Failed(error),
            None => std::mem::take(&mut self.terminal),
        };
        let usage = Usage { turns: Observed::counted(self.turns, &terminal), ..Usage::default() };
        let denials = self.observed.streamed_denials(&terminal);
        let anything = self.observed.anything;
        let truncated = || ending::without_terminal_line(exit, stderr, anything, USAGE_MARKERS);
        self.observed.report(terminal, exit, truncated, usage, denials)
    }
}

impl Parser {
    fn message(&mut self, data: &Value, progress: &mut Vec<Progress>) {
        if let Some(model) = text(data, "model") {
            self.observed.model(model, progress);
        }
        let calls_tools =
            data.get("toolRequests").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
        let Some(written) = text(data, "content").filter(|_| !self.observed.has_ended()) else { return };
        // A message with tool calls announces work; the final one has none.
        self.observed.final_text.set(if calls_tools { "" } else { written });
        if !written.is_empty() {
            progress.push(Progress::Text(written.to_owned()));
        }
    }

    fn tool_complete(&mut self, data: &Value, progress: &mut Vec<Progress>) {
        let exit_code = data.pointer("/shellExecution/exitCode").and_then(Value::as_i64).unwrap_or(0);
        let failed = data.get("success").and_then(Value::as_bool) != Some(true) || exit_code != 0;
        let id = text(data, "toolCallId").unwrap_or_default();
        let tool = self.observed.tool_ended(id, failed, progress).unwrap_or_else(|| "unknown".to_owned());
        if data.pointer("/error/code").and_then(Value::as_str) == Some("denied") {
            let message = data.pointer("/error/message").and_then(Value::as_str);
            self.observed.denied(&tool, message, progress);
        }
    }

    fn result(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        self.observed.terminal_lines += 1;
        if let Some(id) = text(line, "sessionId") {
            self.observed.session(id, progress);
        }
        self.terminal = match line.get("exitCode").and_then(Value::as_i64) {
            Some(0) => Terminal::Clean,
            Some(code) => {
                let message = format!("the result line has the exit code {code}");
                Terminal::Failed(ending::error(ErrorKind::Other, &message))
            }
            None => Terminal::Failed(ending::error(ErrorKind::Other, "the result line has no exit code")),
        };
    }
}

fn failure(data: &Value) -> HarnessError {
    let kind = match (count(data, "statusCode"), text(data, "errorType")) {
        (Some(status), _) => ending::kind_of_status(status),
        (None, Some("authentication")) => ErrorKind::Auth,
        (None, Some("rate_limit")) => ErrorKind::RateLimit,
        (None, Some("query")) => ErrorKind::Api,
        (None, Some(_) | None) => ErrorKind::Other,
    };
    ending::error(kind, text(data, "message").unwrap_or("the session failed"))
}
