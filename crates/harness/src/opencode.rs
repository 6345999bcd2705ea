//! OpenCode.

use escrow_protocol::vocabulary::LifecycleEventKind as Event;
use serde_json::{Value, json};

use crate::command_line::{session_id, utf8};
use crate::hooks::{AnswerForm, Condition, Fields, HookEvent};
use crate::install::{Form, HookFile};
use crate::observed::{Observed, Terminal, Usage};
use crate::stream::{amount, count, sum_of_counts, text};
use crate::{
    CommandLine, Confinement, Conversation, ErrorKind, Exit, Figures, Harness, HarnessError, HarnessSpec,
    HookDialect, Known, LoginFile, Order, Permission, Progress, Report, StreamParser, Turn, Unsupported,
    ending, service_variables,
};

pub(crate) struct OpenCode;

const VERSION: &str = "1.18.33";

static SPEC: HarnessSpec = HarnessSpec {
    name: "opencode",
    package: "opencode-ai",
    tested_versions: &[VERSION],
    key_variables: &[
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
        "OPENCODE_API_KEY",
    ],
    service_variables: service_variables!["OPENAI_BASE_URL"],
    base_url_variable: "OPENAI_BASE_URL",
    api_path: "/v1",
    scripted_model: "scripted",
    figures: Figures {
        turns: Known::Streamed,
        input_tokens: Known::Streamed,
        output_tokens: Known::Streamed,
        cost: Known::Streamed,
        denials: Known::Streamed,
        tool_calls: Known::Streamed,
        model: Known::Never,
        session: Known::Streamed,
    },
    turn: Turn::Answer,
    usage_is_cumulative: false,
    takes_session_id: false,
    login: Some(LoginFile { source: ".local/share/opencode/auth.json", target: "data/opencode/auth.json" }),
    hooks: &HOOKS,
};

impl Harness for OpenCode {
    fn spec(&self) -> &'static HarnessSpec {
        &SPEC
    }

    fn command(&self, order: &Order<'_>) -> Result<CommandLine, Unsupported> {
        if order.schema.is_some() {
            return Err(Unsupported::Schema { harness: SPEC.name });
        }
        // An argument with spaces would reach the model in quotation marks.
        let mut line = CommandLine { stdin: Some(order.prompt.to_owned()), ..CommandLine::default() };
        line.arguments(&["run", "--format", "json"]);
        let mut config = json!({"autoupdate": false, "share": "disabled", "permission": permission(order)});
        match (order.base_url, order.model) {
            (Some(url), Some(model)) => {
                // The key stays in the environment: `env` names its variable.
                config["provider"] = json!({"escrow": {
                    "npm": "@ai-sdk/openai-compatible",
                    "env": ["OPENAI_API_KEY"],
                    "options": {"baseURL": url},
                    "models": {model: {}},
                }});
                let model = format!("escrow/{model}");
                config["small_model"] = model.as_str().into();
                line.arguments(&["-m", &model]);
            }
            (Some(_), None) => {
                let variable = SPEC.base_url_variable;
                return Err(Unsupported::ModelRequired { harness: SPEC.name, variable });
            }
            (None, model) => {
                line.option("-m", model);
            }
        }
        // A given title saves a request to the model.
        line.arguments(&["--title", "escrow"]);
        if let Conversation::Resumed { id } = order.conversation {
            line.arguments(&["--session", session_id(id)?]);
        }
        let folders = [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
        ];
        for (variable, folder) in folders {
            line.env(variable, utf8(&order.home.join(folder))?);
        }
        for silenced in ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "PROJECT_CONFIG"] {
            line.env(&format!("OPENCODE_DISABLE_{silenced}"), "1");
        }
        // Without these two files it installs the plugin package over the network, and waits for it if there is a plugin.
        let own = order.home.join("config/opencode");
        line.file(own.join("node_modules/.keep"), String::new());
        let lock = json!({"packages": {"": {"dependencies": {"@opencode-ai/plugin": VERSION}}}});
        line.json_file(own.join("package-lock.json"), &lock);
        if let Some(hook) = order.hook {
            let plugin = order.home.join("escrow-hooks.js");
            config["plugin"] = json!([format!("file://{}", utf8(&plugin)?)]);
            line.file(plugin, self::plugin(hook));
        }
        line.env("OPENCODE_CONFIG_CONTENT", &config.to_string());
        Ok(line)
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        Box::new(Parser::default())
    }
}

/// The rules. Nothing may ask: a question ends the run without an answer. The artifact directory is outside of the
/// project, so external directories are allowed.
fn permission(order: &Order<'_>) -> Value {
    match (order.permission, order.confinement) {
        (Permission::Read, Confinement::Program) => json!({
            "*": "allow", "edit": "deny", "bash": "deny", "external_directory": "allow", "doom_loop": "deny",
        }),
        (Permission::Read, Confinement::Kernel) | (Permission::Edit, _) => {
            json!({"*": "allow", "external_directory": "allow", "doom_loop": "deny"})
        }
        (Permission::Full, _) => json!({"*": "allow", "external_directory": "allow", "doom_loop": "allow"}),
    }
}

/// The plugin before its words are filled in.
pub(crate) const PLUGIN: &str = include_str!("opencode_plugin.js");

/// The plugin that runs `hook` for every event with a lifecycle meaning.
pub(crate) fn plugin(hook: &[String]) -> String {
    let events: Vec<&str> = HOOKS.installed().map(|event| event.name).collect();
    PLUGIN.replace("\"EVENTS\"", &json!(events).to_string()).replace("\"HOOK\"", &json!(hook).to_string())
}

// The plugin process ends with the session, so that a stop cannot be held back.
static HOOKS: HookDialect = HookDialect {
    harness: "opencode",
    display_name: "OpenCode",
    file: HookFile {
        host: "opencode",
        project: ".opencode/plugin/escrow.js",
        user: ".config/opencode/plugin/escrow.js",
        is_unverified: false,
        note: None,
        form: Form::Plugin,
    },
    fields: Fields {
        session: &["/sessionID", "/input/sessionID", "/info/id"],
        turn: &["/output/message/id", "/input/messageID", "/messageID"],
        tool: &["/input/tool"],
        agent: &["/info/parentID"],
        prompt: &["/output/parts/0/text"],
        source: &[],
        stop_is_repeated: &[],
    },
    events: &[
        HookEvent::meaning("event:session.created", Event::SessionStarted, &[]).when(Condition::MainFrame),
        HookEvent::meaning("chat.message", Event::FrameOpening, &[AnswerForm::PluginContext]),
        HookEvent::silent("tool.execute.before", &[AnswerForm::PluginDeny]),
        HookEvent::silent("tool.execute.after", &[]),
        HookEvent::meaning("experimental.session.compacting", Event::ContextPressureObserved, &[]),
        HookEvent::meaning("event:session.compacted", Event::ContextCompacted, &[]),
        HookEvent::silent("event:session.error", &[]),
        HookEvent::silent("event:permission.asked", &[]),
        HookEvent::silent("event:permission.replied", &[]),
        HookEvent::meaning("event:session.idle", Event::FrameEnded, &[]),
        HookEvent::meaning("dispose", Event::SessionEnding, &[]),
    ],
};

/// A wrong flag prints the help.
const USAGE_MARKERS: &[&str] = &["opencode run [message..]"];

#[derive(Debug, Default)]
struct Parser {
    observed: Observed,
    error: Option<HarnessError>,
    /// The last step ended with reason `stop`, and nothing followed. A compaction writes such a step, too.
    is_answered: bool,
    /// A step began and has not ended: what it spends is not told yet.
    is_in_step: bool,
    steps: u64,
    input_tokens: Sum<u64>,
    output_tokens: Sum<u64>,
    cost_usd: Sum<f64>,
    was_rejected: bool,
}

/// What the steps so far have told. It is a lower bound as soon as one of them has told nothing that can be read.
#[derive(Debug, Clone, Copy, Default)]
struct Sum<T> {
    so_far: T,
    is_open: bool,
}

impl<T: Copy> Sum<T> {
    fn add(&mut self, told: Option<T>, add: impl FnOnce(T, T) -> T) {
        match told {
            Some(told) => self.so_far = add(self.so_far, told),
            None => self.is_open = true,
        }
    }

    fn known(self) -> Option<T> {
        (!self.is_open).then_some(self.so_far)
    }
}

impl StreamParser for Parser {
    fn read(&mut self, line: &Value, progress: &mut Vec<Progress>) {
        let Some(kind) = text(line, "type") else { return };
        if let Some(id) = text(line, "sessionID") {
            self.observed.anything = true;
            self.observed.session(id, progress);
        }
        let part = line.get("part").unwrap_or(&Value::Null);
        match kind {
            "step_start" => {
                self.is_in_step = true;
                self.go_on();
            }
            "text" => self.text(part, progress),
            "tool_use" => self.tool(part, progress),
            "step_finish" => self.step_finish(part, progress),
            "error" => self.error = Some(failure(line.get("error").unwrap_or(&Value::Null))),
            _ => {}
        }
    }

    fn finish(&mut self, exit: Exit, stderr: &str) -> Report {
        let terminal = match (self.error.take(), self.is_answered) {
            (Some(error), _) => Terminal::Failed(error),
            (None, true) => Terminal::Clean,
            (None, false) => Terminal::Missing,
        };
        let has_steps = self.steps > 0;
        let is_told = has_steps && !self.is_in_step;
        let usage = Usage {
            turns: has_steps.then_some(self.steps),
            input_tokens: self.input_tokens.known().filter(|_| is_told),
            output_tokens: self.output_tokens.known().filter(|_| is_told),
            // Without a price the program prints 0.
            cost_usd: self.cost_usd.known().filter(|cost| is_told && *cost > 0.0),
        };
        let denials = self.observed.streamed_denials(&terminal);
        let (anything, was_rejected) = (self.observed.anything, self.was_rejected);
        let truncated = || match exit {
            Exit::Code(0) if was_rejected => ending::error(
                ErrorKind::Truncated,
                "the run ended after a rejected permission, without an answer",
            ),
            Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => {
                ending::without_terminal_line(exit, stderr, anything, USAGE_MARKERS)
            }
        };
        self.observed.report(terminal, exit, truncated, usage, denials)
    }
}

impl Parser {
    fn text(&mut self, part: &Value, progress: &mut Vec<Progress>) {
        // The prompt that follows a compaction: the model's real answer is still to come.
        if part.get("synthetic").and_then(Value::as_bool) == Some(true) {
            self.go_on();
            return;
        }
        // Nothing follows a terminal line.
        self.is_answered = false;
        if let Some(written) = text(part, "text") {
            self.observed.final_text.push(written);
            progress.push(Progress::Text(written.to_owned()));
        }
    }

    /// What looked like the end was not: the program announces more.
    fn go_on(&mut self) {
        self.is_answered = false;
        self.observed.terminal_lines = 0;
        self.observed.final_text.clear();
    }

    /// A call is one line, written when it has ended.
    fn tool(&mut self, part: &Value, progress: &mut Vec<Progress>) {
        self.is_answered = false;
        let id = text(part, "callID").unwrap_or_default();
        let name = text(part, "tool").unwrap_or("unknown");
        let state = part.get("state").unwrap_or(&Value::Null);
        let failed = text(state, "status") == Some("error");
        self.observed.tool_started(id, name, state.get("input").unwrap_or(&Value::Null), progress);
        self.observed.tool_ended(id, failed, progress);
        if let Some(message) = text(state, "error").filter(|message| message.contains("rejected permission"))
        {
            self.was_rejected = true;
            self.observed.denied(name, Some(message), progress);
        }
    }

    fn step_finish(&mut self, part: &Value, progress: &mut Vec<Progress>) {
        self.steps += 1;
        progress.push(Progress::Turn(self.steps));
        self.is_in_step = false;
        let input = ["/tokens/input", "/tokens/cache/read", "/tokens/cache/write"];
        self.input_tokens.add(sum_of_counts(part, &input), u64::saturating_add);
        let output = ["/tokens/output", "/tokens/reasoning"];
        self.output_tokens.add(sum_of_counts(part, &output), u64::saturating_add);
        // A lower bound can exceed a limit, too.
        let (input, output) = (self.input_tokens.so_far, self.output_tokens.so_far);
        progress.push(Progress::Tokens { input, output });
        self.cost_usd.add(amount(part, "cost"), |sum, cost| sum + cost);
        if self.cost_usd.so_far > 0.0 {
            progress.push(Progress::Cost(self.cost_usd.so_far));
        }
        self.is_answered = text(part, "reason") == Some("stop");
        if self.is_answered {
            self.observed.terminal_lines += 1;
            self.was_rejected = false;
        }
    }
}

fn failure(error: &Value) -> HarnessError {
    let data = error.get("data").unwrap_or(&Value::Null);
    let name = text(error, "name").unwrap_or("error");
    let message = text(data, "message").unwrap_or(name);
    let kind = match (count(data, "statusCode"), name) {
        (Some(status), _) => ending::kind_of_status(status),
        (None, "ProviderAuthError") => ErrorKind::Login,
        (None, "APIError" | "ContextOverflowError" | "MessageOutputLengthError") => ErrorKind::Api,
        (None, "MessageAbortedError") => ErrorKind::Killed,
        (None, _) => ErrorKind::Other,
    };
    ending::error(kind, message)
}
