//! `escrow eval`: what an expression says, on its own, in bulk, or part by part.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;

use escrow_app::Error;
use escrow_expr::{Budget, JsonScope, Program, answer_line};
use serde_json::{Value, json};

use crate::arguments::{EvalArguments, Output};
use crate::exit::Exit;
use crate::terminal::{Ui, escaped_json, harmless};

/// A line of a batch may be this long.
const LINE_BYTES_MAX: usize = 64 << 20;

pub(crate) fn eval(arguments: &EvalArguments, ui: &Ui) -> Result<Exit, Error> {
    if arguments.batch {
        return batch(ui);
    }
    let source = arguments.expression.as_deref().unwrap_or_default();
    let context = arguments.context.as_deref().map_or_else(|| Ok(json!({})), read_context)?;
    let program = if arguments.block { Program::block(source) } else { Program::expression(source) };
    let program = program.map_err(|error| {
        let pointer = format!("{source}\n{}^", " ".repeat(source[..error.span.start].chars().count()));
        let failure = Error::author("syntax", format!("{}\n{pointer}", error.message));
        match error.help {
            Some(help) => failure.help(help),
            None => failure,
        }
    })?;
    let scope = JsonScope(&context);
    if arguments.explain {
        let (result, explanation) = program.explain(&scope, Budget::default());
        match ui.output() {
            Output::Human => ui.page(&harmless(&explanation.to_string())),
            Output::Json | Output::Jsonl => drop(ui.data(&json!({ "explanation": explanation }))),
        }
        return Ok(if result.is_ok() { Exit::Completed } else { Exit::WorkFailed });
    }
    match program.evaluate(&scope, Budget::default()) {
        Ok(answer) => {
            match (ui.output(), answer.into_json()) {
                (Output::Human, Some(value)) => ui.page(&escaped_json(value.to_string())),
                (Output::Human, None) => ui.page("undefined"),
                (Output::Json | Output::Jsonl, Some(value)) => drop(ui.data(&json!({ "value": value }))),
                (Output::Json | Output::Jsonl, None) => drop(ui.data(&json!({ "undefined": true }))),
            }
            Ok(Exit::Completed)
        }
        Err(fault) => {
            ui.error(&fault.to_string(), None);
            ui.data_if_machine(&json!({ "error": { "kind": fault.name(), "message": fault.message() } }));
            Ok(Exit::WorkFailed)
        }
    }
}

fn read_context(path: &Path) -> Result<Value, Error> {
    let file = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Error::author("bad_context", format!("cannot read `{file}`: {error}")))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Error::author("bad_context", format!("`{file}` is not JSON: {error}")))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(Error::author("bad_context", format!("`{file}` is not an object")))
    }
}

/// One answer per line, in order. A line that cannot be read gets an error and the next one its turn.
fn batch(ui: &Ui) -> Result<Exit, Error> {
    let broken = |error: io::Error| Error::world("io", error.to_string());
    let mut input = io::stdin().lock();
    let mut output = io::BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = io::Read::take(&mut input, LINE_BYTES_MAX as u64);
        if limited.read_until(b'\n', &mut line).map_err(broken)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        if !ui.is_answered(writeln!(output, "{}", answer_line(text, Budget::default()))) {
            // What is buffered cannot be written either.
            drop(output.into_parts());
            return Ok(Exit::Completed);
        }
    }
    ui.is_answered(output.flush());
    Ok(Exit::Completed)
}
