//! Answers one JSON request per line: the pure function behind `escrow eval --batch`.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::budget::Budget;
use crate::program::Program;
use crate::scope::JsonScope;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    expr: String,
    #[serde(default)]
    context: Option<Json>,
    #[serde(default)]
    block: bool,
}

/// Answers `{"expr": …, "context": {…}, "block": false}` with `{"value": …}`, `{"undefined": true}` or
/// `{"error": {"kind", "message"}}`. A line that cannot be read is answered with an error, too.
pub fn answer_line(line: &str, budget: Budget) -> String {
    answer(line, budget).to_string()
}

fn answer(line: &str, budget: Budget) -> Json {
    let request: Request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => {
            let message = format!("the line is not a request such as `{{\"expr\": \"1 + 1\"}}`: {error}");
            return failed("InputError", &message);
        }
    };
    let program =
        if request.block { Program::block(&request.expr) } else { Program::expression(&request.expr) };
    let program = match program {
        Ok(program) => program,
        Err(error) => return failed("SyntaxError", &error.message),
    };
    let context = request.context.unwrap_or_else(|| json!({}));
    match program.evaluate(&JsonScope(&context), budget) {
        Ok(answer) => match answer.into_json() {
            Some(value) => json!({ "value": value }),
            None => json!({ "undefined": true }),
        },
        Err(fault) => failed(fault.name(), fault.message()),
    }
}

fn failed(kind: &str, message: &str) -> Json {
    json!({ "error": { "kind": kind, "message": message } })
}
