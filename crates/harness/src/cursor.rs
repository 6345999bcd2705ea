//! Cursor: hooks only. Escrow does not start it, and no recording proves these events.

use escrow_protocol::vocabulary::LifecycleEventKind as Event;

use crate::HookDialect;
use crate::hooks::{Fields, HookEvent};
use crate::install::{EntryForm, Form, HookFile};

/// As the vendor documents them. Nothing is answered: no answer has been seen to work.
pub(crate) static HOOKS: HookDialect = HookDialect {
    harness: "cursor",
    display_name: "Cursor (unverified)",
    file: HookFile {
        host: "cursor",
        project: ".cursor/hooks.json",
        user: ".cursor/hooks.json",
        is_unverified: true,
        note: Some("unverified: written as the vendor documents it, tried with no real program"),
        form: Form::Json(EntryForm::Command),
    },
    fields: Fields {
        session: &["/conversation_id"],
        turn: &["/generation_id"],
        tool: &["/tool_name"],
        agent: &[],
        prompt: &["/prompt"],
        source: &[],
        stop_is_repeated: &[],
    },
    events: &[
        HookEvent::meaning("sessionStart", Event::SessionStarted, &[]),
        HookEvent::meaning("beforeSubmitPrompt", Event::FrameOpening, &[]),
        HookEvent::meaning("stop", Event::FrameEnding, &[]),
        HookEvent::meaning("sessionEnd", Event::SessionEnding, &[]),
    ],
};
