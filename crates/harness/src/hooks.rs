//! Hook dialects as data: which events fire, what they mean on the lifecycle wire, how they are read and answered.
//!
//! A dialect lists only events that fire when the program runs without a terminal. Other events are read like these, but
//! mean nothing and cannot be answered.

use escrow_protocol::vocabulary::LifecycleEventKind;
use serde_json::{Value, json};

use crate::install::HookFile;

/// The hooks of one harness.
#[derive(Debug)]
pub struct HookDialect {
    pub harness: &'static str,
    /// The name that the vendor gives the program.
    pub display_name: &'static str,
    /// Where the program keeps its hooks.
    pub file: HookFile,
    pub events: &'static [HookEvent],
    pub(crate) fields: Fields,
}

/// A hook event that fires without a terminal.
#[derive(Debug)]
pub struct HookEvent {
    pub name: &'static str,
    /// A second spelling that the program accepts in its configuration.
    pub alias: Option<&'static str>,
    /// The meaning of the event, if `condition` holds.
    pub(crate) lifecycle: Option<LifecycleEventKind>,
    pub(crate) condition: Condition,
    pub(crate) answers: &'static [AnswerForm],
}

/// When an event has its lifecycle meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    /// Not when the session starts again after a compaction.
    NotAfterCompaction,
    /// In the main frame only: child frames have an event of their own.
    MainFrame,
    /// With a prompt: the program repeats the event without one.
    WithPrompt,
    /// For one tool.
    Tool(&'static str),
}

/// Where the facts are in a hook's input: JSON pointers, the first that is present counts.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) session: &'static [&'static str],
    pub(crate) turn: &'static [&'static str],
    pub(crate) tool: &'static [&'static str],
    pub(crate) agent: &'static [&'static str],
    pub(crate) prompt: &'static [&'static str],
    pub(crate) source: &'static [&'static str],
    pub(crate) stop_is_repeated: &'static [&'static str],
}

/// The fields that Claude Code introduced and most programs copied.
pub(crate) const CLAUDE_FIELDS: Fields = Fields {
    session: &["/session_id"],
    turn: &["/turn_id", "/prompt_id"],
    tool: &["/tool_name"],
    agent: &["/agent_id"],
    prompt: &["/prompt"],
    source: &["/source"],
    stop_is_repeated: &["/stop_hook_active"],
};

/// What a hook was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookInput {
    pub event: String,
    pub session_id: Option<String>,
    pub turn_id: Option<String>,
    pub tool: Option<String>,
    /// The sub-agent that the event is about.
    pub agent_id: Option<String>,
    pub prompt: Option<String>,
    /// Why a session starts: `startup`, `resume`, `compact` and others.
    pub source: Option<String>,
    /// Whether the agent continues because a hook blocked its stop. `qwen` says `true` the first time already.
    pub stop_is_repeated: Option<bool>,
}

/// What a hook wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    Nothing,
    /// The agent continues, with this instruction.
    BlockStop {
        reason: &'a str,
    },
    DenyTool {
        reason: &'a str,
    },
    AddContext {
        text: &'a str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerKind {
    BlockStop,
    DenyTool,
    AddContext,
}

/// What a hook process prints, and its exit code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookReply {
    pub exit_code: u8,
    pub stdout: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableHook {
    #[error("the input of the hook is not a JSON object")]
    NotAnObject,
    #[error("neither the command line nor the input names the event")]
    NoEvent,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a hook of `{harness}` cannot {what} at `{event}`")]
pub struct CannotAnswer {
    pub harness: &'static str,
    pub event: String,
    pub answer: AnswerKind,
    what: &'static str,
}

/// The JSON of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// `{"decision": "block", "reason": …}` holds back a stop.
    StopDecisionBlock,
    /// `{"decision": "deny", "reason": …}` holds back a stop.
    StopDecisionDeny,
    /// `{"decision": "deny", "reason": …}` denies a tool.
    ToolDecisionDeny,
    /// `{"hookSpecificOutput": {"permissionDecision": "deny", …}}`
    ToolPermissionDeny,
    /// `{"permissionDecision": "deny", …}`
    ToolFlatPermissionDeny,
    /// `{"hookSpecificOutput": {"additionalContext": …}}`
    Context,
    /// `{"additionalContext": …}`
    FlatContext,
    /// `{"deny": …}`, read by Escrow's own OpenCode plugin.
    PluginDeny,
    /// `{"context": …}`, read by Escrow's own OpenCode plugin.
    PluginContext,
}

impl HookDialect {
    /// The event of a name, if it fires without a terminal.
    pub fn event(&self, name: &str) -> Option<&'static HookEvent> {
        self.events.iter().find(|event| event.name == name || event.alias == Some(name))
    }

    /// The events that `Harness::command` installs: those with a lifecycle meaning. A hook per tool call or per piece of
    /// text would cost a process each and tell nothing that the stream does not.
    pub fn installed(&self) -> impl Iterator<Item = &'static HookEvent> {
        self.events.iter().filter(|event| event.lifecycle.is_some())
    }

    /// The event at which context is added: the first of a session that takes it.
    pub fn context_event(&self) -> Option<&'static HookEvent> {
        self.installed().find(|event| event.can(AnswerKind::AddContext))
    }

    /// The events that every session with one prompt fires: no sub-agent, no compaction, no failure.
    pub fn of_one_prompt(&self) -> impl Iterator<Item = &'static HookEvent> {
        let is_rare = |name: &str| ["Subagent", "ompact", "Failure"].iter().any(|word| name.contains(word));
        self.installed().filter(move |event| event.tool().is_none() && !is_rare(event.name))
    }

    /// Whether the event is about a frame that another frame called.
    pub fn is_about_sub_agent(&self, input: &HookInput) -> bool {
        input.agent_id.is_some() || self.event(&input.event).is_some_and(|event| event.tool().is_some())
    }

    /// Reads the input of a hook. `event` is the name on the hook's command line; the input's own name is the fallback.
    pub fn read(&self, event: Option<&str>, input: &str) -> Result<HookInput, UnreadableHook> {
        let value: Value = serde_json::from_str(input).map_err(|_| UnreadableHook::NotAnObject)?;
        if !value.is_object() {
            return Err(UnreadableHook::NotAnObject);
        }
        let event = event
            .or_else(|| ["/hook_event_name", "/hookName"].iter().find_map(|key| value.pointer(key)?.as_str()))
            .ok_or(UnreadableHook::NoEvent)?;
        let field = |keys: &[&str]| -> Option<String> {
            keys.iter().find_map(|key| value.pointer(key)?.as_str()).map(str::to_owned)
        };
        Ok(HookInput {
            event: event.to_owned(),
            session_id: field(self.fields.session),
            turn_id: field(self.fields.turn),
            tool: field(self.fields.tool),
            agent_id: field(self.fields.agent),
            prompt: field(self.fields.prompt),
            source: field(self.fields.source),
            stop_is_repeated: self
                .fields
                .stop_is_repeated
                .iter()
                .find_map(|key| value.pointer(key)?.as_bool()),
        })
    }

    /// The lifecycle event that a hook observes, if any.
    pub fn lifecycle(&self, input: &HookInput) -> Option<LifecycleEventKind> {
        let event = self.event(&input.event)?;
        let holds = match event.condition {
            Condition::Always => true,
            Condition::NotAfterCompaction => input.source.as_deref() != Some("compact"),
            Condition::MainFrame => input.agent_id.is_none(),
            Condition::WithPrompt => input.prompt.as_deref().is_some_and(|prompt| !prompt.is_empty()),
            Condition::Tool(tool) => input.tool.as_deref() == Some(tool),
        };
        event.lifecycle.filter(|_| holds)
    }

    /// Writes an answer in this dialect, or says that the event cannot be answered so.
    pub fn write(&self, event: &str, answer: Answer<'_>) -> Result<HookReply, CannotAnswer> {
        let (kind, text) = match answer {
            Answer::Nothing => return Ok(HookReply::default()),
            Answer::BlockStop { reason } => (AnswerKind::BlockStop, reason),
            Answer::DenyTool { reason } => (AnswerKind::DenyTool, reason),
            Answer::AddContext { text } => (AnswerKind::AddContext, text),
        };
        let known = self.event(event);
        let form = known.and_then(|event| event.answers.iter().find(|form| form.kind() == kind));
        let (Some(known), Some(form)) = (known, form) else {
            return Err(CannotAnswer {
                harness: self.harness,
                event: event.to_owned(),
                answer: kind,
                what: kind.action(),
            });
        };
        Ok(HookReply { exit_code: 0, stdout: form.json(known.name, text).to_string() })
    }
}

impl HookEvent {
    /// The lifecycle event that this hook observes. `HookDialect::lifecycle` also looks at the input.
    pub fn lifecycle(&self) -> Option<LifecycleEventKind> {
        self.lifecycle
    }

    pub fn can(&self, answer: AnswerKind) -> bool {
        self.answers.iter().any(|form| form.kind() == answer)
    }

    /// The one tool that this event is observed for.
    pub(crate) fn tool(&self) -> Option<&'static str> {
        match self.condition {
            Condition::Tool(tool) => Some(tool),
            Condition::Always
            | Condition::NotAfterCompaction
            | Condition::MainFrame
            | Condition::WithPrompt => None,
        }
    }

    /// An event without a lifecycle meaning.
    pub(crate) const fn silent(name: &'static str, answers: &'static [AnswerForm]) -> Self {
        Self { name, alias: None, lifecycle: None, condition: Condition::Always, answers }
    }

    pub(crate) const fn meaning(
        name: &'static str,
        lifecycle: LifecycleEventKind,
        answers: &'static [AnswerForm],
    ) -> Self {
        Self { name, alias: None, lifecycle: Some(lifecycle), condition: Condition::Always, answers }
    }

    pub(crate) const fn when(self, condition: Condition) -> Self {
        Self { condition, ..self }
    }

    pub(crate) const fn or(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }
}

impl AnswerKind {
    pub const ALL: &'static [Self] = &[Self::BlockStop, Self::DenyTool, Self::AddContext];

    fn action(self) -> &'static str {
        match self {
            Self::BlockStop => "hold back a stop",
            Self::DenyTool => "deny a tool",
            Self::AddContext => "add context",
        }
    }
}

impl AnswerForm {
    fn kind(self) -> AnswerKind {
        match self {
            Self::StopDecisionBlock | Self::StopDecisionDeny => AnswerKind::BlockStop,
            Self::ToolDecisionDeny
            | Self::ToolPermissionDeny
            | Self::ToolFlatPermissionDeny
            | Self::PluginDeny => AnswerKind::DenyTool,
            Self::Context | Self::FlatContext | Self::PluginContext => AnswerKind::AddContext,
        }
    }

    // Codex discards an answer with a key that it does not know, and then lets the tool run. Keys are therefore exact.
    fn json(self, event: &str, text: &str) -> Value {
        match self {
            Self::StopDecisionBlock => json!({"decision": "block", "reason": text}),
            Self::StopDecisionDeny | Self::ToolDecisionDeny => json!({"decision": "deny", "reason": text}),
            Self::ToolPermissionDeny => json!({"hookSpecificOutput": {
                "hookEventName": event,
                "permissionDecision": "deny",
                "permissionDecisionReason": text,
            }}),
            Self::ToolFlatPermissionDeny => {
                json!({"permissionDecision": "deny", "permissionDecisionReason": text})
            }
            Self::Context => {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
            }
            Self::FlatContext => json!({"additionalContext": text}),
            Self::PluginDeny => json!({"deny": text}),
            Self::PluginContext => json!({"context": text}),
        }
    }
}
