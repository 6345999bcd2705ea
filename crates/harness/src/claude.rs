//! Claude Code.

use escrow_protocol::vocabulary::LifecycleEventKind as Event;
use serde_json::{Map, Value, json};

use crate::command_line::{hook_settings, session_id, utf8};
use crate::hooks::{AnswerForm, CLAUDE_FIELDS, Condition, HookEvent};
use crate::install::{EntryForm, Form, HookFile};
use crate::observed::{Observed, Terminal, Usage};
use crate::stream::{amount, count, sum_of_counts, text};
use crate::{
    CommandLine, Conversation, ErrorKind, Exit, Figures, Harness, HarnessError, HarnessSpec, HookDialect,
    Known, LoginFile, Order, Permission, Progress, Report, StreamParser, Turn, Unsupported, ending, messages,
    service_variables,
};

pub(crate) struct Claude;

static SPEC: HarnessSpec = HarnessSpec {
    name: "claude",
    package: "@anthropic-ai/claude-code",
    tested_versions: &["2.1.197", "2.1.327"],
    key_variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    service_variables: service_variables!["ANTHROPIC_BASE_URL"],
    base_url_variable: "ANTHROPIC_BASE_URL",
    api_path: "",
    scripted_model: "claude-sonnet-4-5",
    figures: Figures {
        turns: Known::Streamed,
        // The usage on assistant lines is that of the first chunk and not final.
        input_tokens: Known::AtEnd,
        output_tokens: Known::AtEnd,
        cost: Known::AtEnd,
        denials: Known::AtEnd,
        tool_calls: Known::Streamed,
        model: Known::Streamed,
        session: Known::Streamed,
    },
    turn: Turn::Answer,
    usage_is_cumulative: false,
    takes_session_id: true,
    login: Some(LoginFile { source: ".claude/.credentials.json", target: "claude/.credentials.json" }),
    hooks: &HOOKS,
};

impl Harness for Claude {
    fn spec(&self) -> &'static HarnessSpec {
        &SPEC
    }

    fn command(&self, order: &Order<'_>) -> Result<CommandLine, Unsupported> {
        let config = order.home.join("claude");
        let settings = order.home.join("claude-settings.json");
        let artifacts = utf8(order.artifacts)?;
        let mut line = CommandLine { stdin: Some(order.prompt.to_owned()), ..CommandLine::default() };
        line.arguments(&["-p", "--output-format", "stream-json", "--verbose"]);
        line.option("--model", order.model);
        // No settings of the user or the project, no hooks and no MCP servers of theirs.
        line.arguments(&["--setting-sources", "", "--strict-mcp-config"]);
        line.arguments(&["--settings", utf8(&settings)?, "--add-dir", artifacts]);
        match order.permission {
            Permission::Read => {
                // `//` starts an absolute path in a permission rule; `Edit` stands for every tool that writes files.
                let rule = format!("Edit(/{artifacts}/**)");
                line.arguments(&["--permission-mode", "default", "--allowedTools", &rule]);
            }
            Permission::Edit => {
                line.arguments(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
            }
            Permission::Full => {
                line.arguments(&["--dangerously-skip-permissions"]);
                if order.is_root {
                    // Without it the flag is refused to root. `full` is the operator's explicit word for the same risk.
                    line.env("IS_SANDBOX", "1");
                }
            }
        }
        match order.conversation {
            Conversation::New { id } => line.arguments(&["--session-id", session_id(id)?]),
            Conversation::Resumed { id } => line.arguments(&["--resume", session_id(id)?]),
        };
        line.option("--max-turns", order.turns.map(|turns| turns.to_string()).as_deref());
        line.option("--max-budget-usd", order.usd.map(|usd| usd.to_string()).as_deref());
        line.option("--json-schema", order.schema.map(Value::to_string).as_deref());

        line.env("CLAUDE_CONFIG_DIR", utf8(&config)?)
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            // The default of 10 retries takes minutes, even for a wrong key.
            .env("CLAUDE_CODE_MAX_RETRIES", "2");
        if let Some(url) = order.base_url {
            line.env("ANTHROPIC_BASE_URL", url);
        }
        let hooks = hook_settings(order, SPEC.hooks);
        line.json_file(settings, &hooks.map_or_else(|| json!({}), |hooks| json!({"hooks": hooks})));
        Ok(line)
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(Parser::default())
    }
}

// `Stop` takes context too, but then the agent continues: `BlockStop` says that plainly.
static HOOKS: HookDialect = HookDialect {
    harness: "claude",
    display_name: "Claude Code",
    file: HookFile {
        host: "claude",
        project: ".claude/settings.json",
        user: ".claude/settings.json",
        is_unverified: false,
        note: None,
        form: Form::Json(EntryForm::Matcher),
    },
    fields: CLAUDE_FIELDS,
    events: &[
        HookEvent::meaning("SessionStart", Event::SessionStarted, &[AnswerForm::Context])
            .when(Condition::NotAfterCompaction),
        HookEvent::meaning("UserPromptSubmit", Event::FrameOpening, &[AnswerForm::Context])
            .when(Condition::MainFrame),
        HookEvent::silent("UserPromptExpansion", &[]),
        HookEvent::silent("MessageDisplay", &[]),
        HookEvent::silent("PreToolUse", &[AnswerForm::ToolPermissionDeny, AnswerForm::Context]),
        HookEvent::silent("PostToolUse", &[AnswerForm::Context]),
        HookEvent::silent("PostToolUseFailure", &[]),
        HookEvent::silent("PostToolBatch", &[AnswerForm::Context]),
        HookEvent::meaning("SubagentStart", Event::FrameOpening, &[]),
        // A compaction ends an internal sub-agent that never started.
        HookEvent::meaning("SubagentStop", Event::FrameEnding, &[AnswerForm::StopDecisionBlock]),
        HookEvent::meaning("PreCompact", Event::ContextPressureObserved, &[]),
        HookEvent::meaning("PostCompact", Event::ContextCompacted, &[]),
        HookEvent::silent("InstructionsLoaded", &[]),
        HookEvent::silent("TaskCreated", &[]),
        HookEvent::silent("TaskCompleted", &[]),
        HookEvent::silent("CwdChanged", &[]),
        HookEvent::meaning("Stop", Event::FrameEnding, &[AnswerForm::StopDecisionBlock]),
        HookEvent::meaning("StopFailure", Event::FrameEnded, &[]),
        HookEvent::meaning("SessionEnd", Event::SessionEnding, &[]),
    ],
};

const USAGE_MARKERS: &[&str] = &["error: unknown option", "error: option", "cannot be used with root"];

/// The tool with which the model returns structured output.
const STRUCTURED_OUTPUT: &str = "StructuredOutput";

#[derive(Debug, Default)]
struct Parser {
    observed: Observed,
    terminal: Terminal,
    usage: Usage,
    turns: u64,
    last_message: Option<String>,
    prompt_was_blocked: bool,
    has_denials: bool,
    structured: Option<Value>,
}

impl StreamParser for Parser {
    fn read(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        let Some(kind) = text(line, "type") else { return };
        if let Some(id) = text(line, "session_id") {
            self.observed.anything = true;
            self.observed.session(id, progress);
        }
        match kind {
            "system" => self.system(line, progress),
            "assistant" => {
                self.count_turn(line, progress);
                self.answering_model(line, progress);
                messages::assistant(&mut self.observed, line, Some(STRUCTURED_OUTPUT), progress);
            }
            "user" => messages::user(&mut self.observed, line, progress),
            "result" => self.result(line, progress),
            _ => {}
        }
    }

    fn finish(&mut self, exit: Exit, stderr: &str) -> Report {
        let terminal = std::mem::take(&mut self.terminal);
        let mut usage = self.usage;
        usage.turns = usage.turns.or((self.turns > 0).then_some(self.turns));
        let anything = self.observed.anything;
        let denials = self.has_denials.then(|| std::mem::take(&mut self.observed.denials));
        let truncated = || ending::without_terminal_line(exit, stderr, anything, USAGE_MARKERS);
        let report = self.observed.report(terminal, exit, truncated, usage, denials);
        Report { structured: self.structured.take(), ..report }
    }
}

impl Parser {
    fn system(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        match text(line, "subtype") {
            Some("init") => {
                self.observed.prompts += 1;
                if let Some(model) = text(line, "model") {
                    self.observed.model(model, progress);
                }
            }
            Some("api_retry") => progress.push(Progress::Retrying {
                attempt: count(line, "attempt"),
                message: text(line, "error").unwrap_or("unknown").to_owned(),
            }),
            Some("informational") => {
                let prevents = line.get("prevent_continuation").and_then(Value::as_bool);
                self.prompt_was_blocked |= prevents == Some(true);
            }
            Some(_) | None => {}
        }
    }

    /// A turn is an answer of the main model: its content blocks come on several lines with one message id.
    fn count_turn(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        let id = line.pointer("/message/id").and_then(Value::as_str);
        if !messages::is_from_sub_agent(line) && (id.is_none() || self.last_message.as_deref() != id) {
            self.last_message = id.map(str::to_owned);
            self.turns += 1;
            progress.push(Progress::Turn(self.turns));
        }
    }

    /// `init` says which model was asked for; an answer says which one gave it. A gateway may map one to the other.
    fn answering_model(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        let model = line.pointer("/message/model").and_then(Value::as_str);
        // Messages of the program itself have `<synthetic>` in place of a model.
        if let Some(model) = model.filter(|name| !name.starts_with('<') && !messages::is_from_sub_agent(line))
        {
            self.observed.model(model, progress);
        }
    }

    fn result(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        self.observed.terminal_lines += 1;
        let is_first = self.observed.terminal_lines == 1;
        let told = Usage {
            turns: count(line, "num_turns"),
            cost_usd: amount(line, "total_cost_usd"),
            ..model_usage(line)
        };
        self.usage = if is_first { told } else { of_both(self.usage, told) };
        if let (Some(input), Some(output)) = (self.usage.input_tokens, self.usage.output_tokens) {
            progress.push(Progress::Tokens { input, output });
        }
        if let Some(cost) = self.usage.cost_usd {
            progress.push(Progress::Cost(cost));
        }
        let denied_before = if is_first { Vec::new() } else { self.observed.denials.clone() };
        self.has_denials = messages::denials(&mut self.observed, line, progress);
        if self.observed.denials.len() < denied_before.len() {
            self.observed.denials = denied_before;
        }
        self.structured = line.get("structured_output").filter(|value| !value.is_null()).cloned();
        if let Some(result) = text(line, "result") {
            self.observed.final_text.set(result);
        }
        // No later prompt makes up for one that failed.
        if !matches!(self.terminal, Terminal::Failed(_)) {
            self.terminal = self.error(line).map_or(Terminal::Clean, Terminal::Failed);
        }
    }

    /// The error of a result line. `subtype` says `success` for API errors, so `is_error` is asked as well.
    fn error(&self, line: &Value) -> Option<HarnessError> {
        let subtype = text(line, "subtype").unwrap_or("missing");
        let reason = text(line, "terminal_reason").unwrap_or_default();
        let first_error = line.pointer("/errors/0").and_then(Value::as_str);
        let message = text(line, "result").or(first_error).unwrap_or(subtype);
        let is_error = line.get("is_error").and_then(Value::as_bool).unwrap_or(true);
        let kind = match subtype {
            "error_max_turns" => ErrorKind::TurnLimit,
            "error_max_budget_usd" => ErrorKind::Budget,
            _ if reason.starts_with("aborted") => {
                return Some(ending::error(ErrorKind::Killed, &format!("interrupted: {reason}")));
            }
            _ if is_error => match count(line, "api_error_status") {
                Some(status) => ending::kind_of_status(status),
                None if message.contains("/login") => ErrorKind::Login,
                None if message.starts_with("Prompt is too long") => ErrorKind::Api,
                None => ErrorKind::Other,
            },
            "success" if reason == "hook_stopped" => ErrorKind::Blocked,
            "success" if count(line, "num_turns") == Some(0) => {
                if self.prompt_was_blocked {
                    ErrorKind::Blocked
                } else {
                    return Some(ending::error(ErrorKind::Empty, "the prompt was not answered by a model"));
                }
            }
            "success" => return None,
            _ => ErrorKind::Other,
        };
        Some(ending::error(kind, message))
    }
}

/// The sums over all models. `usage` of the same line lacks sub-agents and is 0 after a stream was cut.
/// The figures after a further prompt: tokens and cost are those of the process so far, turns those of the prompt. What one of
/// them does not tell is not known.
fn of_both(before: Usage, now: Usage) -> Usage {
    let larger = |one: Option<u64>, other: Option<u64>| Some(one?.max(other?));
    Usage {
        turns: before.turns.zip(now.turns).map(|(one, other)| one.saturating_add(other)),
        input_tokens: larger(before.input_tokens, now.input_tokens),
        output_tokens: larger(before.output_tokens, now.output_tokens),
        cost_usd: before.cost_usd.zip(now.cost_usd).map(|(one, other)| one.max(other)),
    }
}

fn model_usage(line: &Value) -> Usage {
    let models = line.get("modelUsage").and_then(Value::as_object);
    // An answer costs tokens; only a prompt that reached no model costs none.
    let is_told = |models: &&Map<String, Value>| !models.is_empty() || count(line, "num_turns") == Some(0);
    let Some(models) = models.filter(is_told) else { return Usage::default() };
    let sum = |pointers: &[&str]| {
        let mut counts = models.values().map(|model| sum_of_counts(model, pointers));
        counts.try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)))
    };
    Usage {
        input_tokens: sum(&["/inputTokens", "/cacheReadInputTokens", "/cacheCreationInputTokens"]),
        output_tokens: sum(&["/outputTokens"]),
        ..Usage::default()
    }
}
