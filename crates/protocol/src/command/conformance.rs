//! `conformance run`: pushes a directory of fixtures through this implementation.

use std::path::PathBuf;

use serde_json::json;

use super::answer::{Answer, ExitCode, Failure, pretty};
use super::arguments::Arguments;
use super::world::{FixturesError, World};
use crate::conformance::Fixture;

pub(super) fn run(arguments: Arguments, world: &mut dyn World) -> Answer {
    let mut lines = String::new();
    match walk(arguments, world, &mut lines) {
        Ok(summary) => Answer::printed(lines + &summary),
        Err(failure) => Answer { stdout: lines, ..failure.into() },
    }
}

/// Prints a line per fixture, up to the first that does not do what it says.
fn walk(mut arguments: Arguments, world: &mut dyn World, lines: &mut String) -> Result<String, Failure> {
    match arguments.next_word().as_deref() {
        None => return Err(Failure::usage("conformance requires a subcommand: run")),
        Some("run") => {}
        Some(other) => {
            return Err(Failure::usage(format!("conformance: unknown subcommand `{other}` (expected: run)")));
        }
    }
    let (mut root, mut summary_only) = (PathBuf::from("tests/conformance"), false);
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--root" => {
                let value = arguments.raw_value_of("--root");
                root = value.map_err(|_| Failure::usage("--root requires a path"))?.into();
            }
            "--summary" => summary_only = true,
            other => return Err(Failure::usage(format!("conformance run: unknown flag `{other}`"))),
        }
    }
    let files = world.fixtures(&root).map_err(|error| match error {
        FixturesError::NotADirectory => {
            Failure::unreadable(format!("conformance run: root `{}` is not a directory", root.display()))
        }
        FixturesError::Unreadable { path, error } => {
            Failure::unreadable(format!("failed to read fixture `{}`: {error}", path.display()))
        }
    })?;
    if files.is_empty() {
        return Err(Failure::refused(format!(
            "conformance run: no fixtures found under `{}`",
            root.display()
        )));
    }
    let total = files.len();
    for file in files {
        let path = file.path.to_string_lossy().into_owned();
        let fixture = Fixture::read(&file.contents).map_err(|error| {
            Failure::unreadable(format!("failed to parse fixture envelope `{path}`: {error}"))
        })?;
        let row = fixture.check(&path);
        if !summary_only {
            let line = serde_json::to_string(&row);
            *lines += &line.map_err(|error| Failure::unreadable(format!("cannot write a line: {error}")))?;
            lines.push('\n');
        }
        if !row.outcome.is_as_expected() {
            return Err(Failure {
                exit_code: ExitCode::Refused,
                message: format!(
                    "conformance run: fixture `{path}` failed (kind={}, expect={:?}, outcome={})",
                    row.kind, row.expect, row.outcome
                ),
            });
        }
    }
    if !summary_only {
        return Ok(String::new());
    }
    pretty(&json!({ "passed": total, "root": root.display().to_string(), "total": total }))
}
