//! Codex.

use escrow_protocol::vocabulary::LifecycleEventKind as Event;
use serde_json::{Value, json};

use crate::command_line::{hook_command, session_id, utf8};
use crate::hooks::{AnswerForm, CLAUDE_FIELDS, Condition, HookEvent};
use crate::install::{Form, HookFile};
use crate::observed::{Observed, Terminal, Usage};
use crate::stream::{count, text};
use crate::{
    CommandLine, Confinement, Conversation, ErrorKind, Exit, Figures, Harness, HarnessError, HarnessSpec,
    HookDialect, Known, LoginFile, Order, Permission, Progress, Report, StreamParser, Turn, Unsupported,
    ending, service_variables,
};

pub(crate) struct Codex;

static SPEC: HarnessSpec = HarnessSpec {
    name: "codex",
    package: "@openai/codex",
    tested_versions: &["0.166.0", "0.169.0"],
    key_variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    service_variables: service_variables!["OPENAI_BASE_URL"],
    base_url_variable: "OPENAI_BASE_URL",
    api_path: "/v1",
    scripted_model: "gpt-5.5",
    figures: Figures {
        // One turn is one prompt, whatever the number of model calls.
        turns: Known::AtEnd,
        input_tokens: Known::AtEnd,
        output_tokens: Known::AtEnd,
        cost: Known::Never,
        denials: Known::Never,
        tool_calls: Known::Streamed,
        model: Known::Never,
        session: Known::Streamed,
    },
    turn: Turn::Prompt,
    usage_is_cumulative: true,
    takes_session_id: false,
    login: Some(LoginFile { source: ".codex/auth.json", target: "codex/auth.json" }),
    hooks: &HOOKS,
};

impl Harness for Codex {
    fn spec(&self) -> &'static HarnessSpec {
        &SPEC
    }

    fn command(&self, order: &Order<'_>) -> Result<CommandLine, Unsupported> {
        let config = order.home.join("codex");
        let mut line = CommandLine { stdin: Some(order.prompt.to_owned()), ..CommandLine::default() };
        line.arguments(&["exec", "--skip-git-repo-check"]);
        if let Some(schema) = order.schema {
            let path = order.home.join("schema.json");
            line.arguments(&["--output-schema", utf8(&path)?]);
            line.json_file(path, schema);
        }
        if let Conversation::Resumed { id } = order.conversation {
            line.arguments(&["resume", session_id(id)?]);
        }
        line.arguments(&["--json", "--ignore-user-config"]);
        // Unless all of these are off, an unreachable service delays the exit by seconds.
        line.arguments(&["-c", "analytics.enabled=false", "--disable", "plugins", "--disable", "apps"]);
        line.option("-m", order.model);
        if let Some(url) = order.base_url {
            let provider = format!(
                "model_providers.escrow={{name=\"escrow\",base_url={},wire_api=\"responses\",\
                 env_key=\"OPENAI_API_KEY\",request_max_retries=1,stream_max_retries=1}}",
                json!(url)
            );
            line.arguments(&["-c", "model_provider=\"escrow\"", "-c", &provider]);
        }
        let mode = sandbox_mode(order);
        match order.conversation {
            Conversation::New { .. } => line.arguments(&["-s", mode, "-C", utf8(order.directory)?]),
            // `resume` takes neither flag, and without a mode it could not write.
            Conversation::Resumed { .. } => line.arguments(&["-c", &format!("sandbox_mode={}", json!(mode))]),
        };
        if mode == WORKSPACE_WRITE {
            let roots = format!("sandbox_workspace_write.writable_roots={}", json!([utf8(order.artifacts)?]));
            line.arguments(&["-c", &roots]);
        }
        if let Some(hook) = order.hook {
            // Without the flag no hook runs, and nothing says so. All hooks are our own: the user's configuration is
            // ignored.
            line.arguments(&["--dangerously-bypass-hook-trust"]);
            for event in SPEC.hooks.installed() {
                let command = json!(hook_command(hook, event.name));
                let setting =
                    format!("hooks.{}=[{{hooks=[{{type=\"command\",command={command}}}]}}]", event.name);
                line.arguments(&["-c", &setting]);
            }
        }
        line.arguments(&["-"]);
        line.env("CODEX_HOME", utf8(&config)?);
        // The directory must exist before the start.
        line.file(config.join(".keep"), String::new());
        Ok(line)
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(Parser::default())
    }
}

const WORKSPACE_WRITE: &str = "workspace-write";

/// Codex builds its sandbox from mounts, which a process that the kernel confines already cannot make.
fn sandbox_mode(order: &Order<'_>) -> &'static str {
    match (order.confinement, order.permission) {
        (Confinement::Kernel, _) | (Confinement::Program, Permission::Full) => "danger-full-access",
        (Confinement::Program, Permission::Edit) => WORKSPACE_WRITE,
        (Confinement::Program, Permission::Read) => "read-only",
    }
}

static HOOKS: HookDialect = HookDialect {
    harness: "codex",
    display_name: "Codex",
    file: HookFile {
        host: "codex",
        project: ".codex/config.toml",
        user: ".codex/config.toml",
        is_unverified: false,
        note: Some("codex runs hooks only after a person has trusted them in its terminal"),
        form: Form::Toml,
    },
    fields: CLAUDE_FIELDS,
    events: &[
        HookEvent::meaning("SessionStart", Event::SessionStarted, &[AnswerForm::Context])
            .when(Condition::NotAfterCompaction),
        // A sub-agent has `SubagentStart` as well.
        HookEvent::meaning("UserPromptSubmit", Event::FrameOpening, &[AnswerForm::Context])
            .when(Condition::MainFrame),
        HookEvent::silent("PreToolUse", &[AnswerForm::ToolPermissionDeny, AnswerForm::Context]),
        HookEvent::silent("PostToolUse", &[AnswerForm::Context]),
        HookEvent::meaning("PreCompact", Event::ContextPressureObserved, &[]),
        HookEvent::meaning("PostCompact", Event::ContextCompacted, &[]),
        HookEvent::meaning("SubagentStart", Event::FrameOpening, &[]),
        HookEvent::meaning("SubagentStop", Event::FrameEnding, &[]),
        // Codex does not limit how often a stop is held back.
        HookEvent::meaning("Stop", Event::FrameEnding, &[AnswerForm::StopDecisionBlock]),
        // Cut after one second.
        HookEvent::meaning("SessionEnd", Event::SessionEnding, &[]),
    ],
};

const USAGE_MARKERS: &[&str] =
    &["error: unexpected argument", "error: invalid value", "Error loading config"];

#[derive(Debug, Default)]
struct Parser {
    observed: Observed,
    terminal: Terminal,
    usage: Usage,
    turns: u64,
    /// The model wrote, thought or called a tool.
    is_answered: bool,
}

impl StreamParser for Parser {
    fn read(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        let Some(kind) = text(line, "type") else { return };
        match kind {
            "thread.started" => {
                self.observed.anything = true;
                if let Some(id) = text(line, "thread_id") {
                    self.observed.session(id, progress);
                }
            }
            "turn.started" => {
                self.observed.anything = true;
                self.turns += 1;
                progress.push(Progress::Turn(self.turns));
            }
            "item.started" | "item.completed" => {
                if let Some(item) = line.get("item") {
                    self.item(item, kind == "item.completed", progress);
                }
            }
            "turn.completed" => {
                self.observed.terminal_lines += 1;
                self.completed(line, progress);
            }
            "turn.failed" => {
                self.observed.terminal_lines += 1;
                let message = line.pointer("/error/message").and_then(Value::as_str).unwrap_or("turn failed");
                self.terminal = Terminal::Failed(failure(message));
            }
            // Not terminal: `turn.failed` follows if the retries were in vain.
            "error" => progress.push(Progress::Retrying {
                attempt: None,
                message: text(line, "message").unwrap_or("unknown").to_owned(),
            }),
            _ => {}
        }
    }

    fn finish(&mut self, exit: Exit, stderr: &str) -> Report {
        let terminal = std::mem::take(&mut self.terminal);
        let turns = match &terminal {
            Terminal::Failed(error) if error.kind == ErrorKind::Blocked => Some(0),
            Terminal::Failed(_) | Terminal::Clean | Terminal::Missing => {
                Observed::counted(self.turns, &terminal)
            }
        };
        let usage = Usage { turns, ..self.usage };
        let anything = self.observed.anything;
        // It says so at every start and explains nothing.
        let stderr = stderr.trim_start().trim_start_matches("Reading additional input from stdin...");
        let truncated = || ending::without_terminal_line(exit, stderr, anything, USAGE_MARKERS);
        self.observed.report(terminal, exit, truncated, usage, None)
    }
}

impl Parser {
    fn item(&mut self, item: &Value, is_completed: bool, progress: &mut Vec<Progress>) {
        let Some(kind) = text(item, "type") else { return };
        match kind {
            "agent_message" => {
                self.is_answered = true;
                let is_answer = is_completed && !self.observed.has_ended();
                if let Some(written) = text(item, "text").filter(|_| is_answer) {
                    self.observed.final_text.set(written);
                    progress.push(Progress::Text(written.to_owned()));
                }
            }
            "reasoning" => self.is_answered = true,
            "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call" | "web_search" => {
                self.is_answered = true;
                let id = text(item, "id").unwrap_or_default();
                let name = text(item, "tool").unwrap_or(kind);
                self.observed.tool_started(id, name, tool_input(item), progress);
                if is_completed {
                    let exit_code = item.get("exit_code").and_then(Value::as_i64).unwrap_or(0);
                    let failed = text(item, "status") == Some("failed") || exit_code != 0;
                    self.observed.tool_ended(id, failed, progress);
                }
            }
            // Warnings about the configuration have the type `error`.
            _ => {}
        }
    }

    fn completed(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        if let Some(usage) = line.get("usage") {
            self.usage.input_tokens = count(usage, "input_tokens");
            self.usage.output_tokens = count(usage, "output_tokens");
        }
        let total =
            self.usage.input_tokens.unwrap_or(0).saturating_add(self.usage.output_tokens.unwrap_or(0));
        if let (Some(input), Some(output)) = (self.usage.input_tokens, self.usage.output_tokens) {
            progress.push(Progress::Tokens { input, output });
        }
        if matches!(self.terminal, Terminal::Failed(_)) {
            return;
        }
        self.terminal = match (self.is_answered, total) {
            (true, _) => Terminal::Clean,
            (false, 0) => Terminal::Failed(ending::error(
                ErrorKind::Blocked,
                "a hook blocked the prompt: the turn ended without a request to the model",
            )),
            (false, _) => {
                Terminal::Failed(ending::error(ErrorKind::Empty, "the turn ended without an answer"))
            }
        };
    }
}

/// What a tool item is about.
fn tool_input(item: &Value) -> &Value {
    item.pointer("/changes/0").or_else(|| item.get("arguments")).unwrap_or(item)
}

/// The error of a failed turn. Some messages are the service's JSON.
fn failure(message: &str) -> HarnessError {
    let body: Option<Value> = serde_json::from_str(message).ok();
    let inner = body.as_ref().and_then(|body| body.pointer("/error/message")).and_then(Value::as_str);
    let kind = match ending::status_after(message, "status") {
        Some(status) => ending::kind_of_status(status),
        None if message.starts_with("Missing environment variable") => ErrorKind::Login,
        None if message.starts_with("Quota exceeded") => ErrorKind::RateLimit,
        None => ErrorKind::Api,
    };
    ending::error(kind, inner.unwrap_or(message))
}
