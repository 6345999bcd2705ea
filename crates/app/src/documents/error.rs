//! Why a command could not do its work.

use escrow_playbook::Diagnostic;
use serde_json::{Value, json};

pub fn error(code: &str, message: &str, help: Option<&str>, diagnostics: &[Diagnostic]) -> Value {
    json!({ "error": { "code": code, "message": message, "help": help, "diagnostics": diagnostics } })
}
