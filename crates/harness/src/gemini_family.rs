//! What Gemini CLI and Qwen Code, its descendant, have in common: approval modes and `settings.json`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::command_line::hook_settings;
use crate::{CommandLine, Confinement, HookDialect, Order, Permission};

/// `default` allows neither edits nor the shell, and the mode between it and `yolo` no shell.
pub(crate) fn approval_mode(order: &Order<'_>) -> &'static str {
    match (order.permission, order.confinement) {
        (Permission::Read, Confinement::Program) => "default",
        (Permission::Read, Confinement::Kernel) | (Permission::Edit | Permission::Full, _) => "yolo",
    }
}

/// Writes the settings, with the limit of turns and the hooks that the order asks for.
pub(crate) fn settings_file(
    line: &mut CommandLine,
    path: PathBuf,
    mut settings: Value,
    order: &Order<'_>,
    hooks: &HookDialect,
) {
    if let Some(turns) = order.turns {
        settings["model"] = json!({"maxSessionTurns": turns});
    }
    if let Some(hooks) = hook_settings(order, hooks) {
        settings["hooks"] = hooks;
    }
    line.json_file(path, &settings);
}
