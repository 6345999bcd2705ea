//! `conformance run`: checks a directory of fixtures against this implementation.

use std::path::PathBuf;

use escrow_protocol::conformance::Fixture;
use serde_json::json;

use super::arguments::Arguments;
use super::output::{LifecycleError, VerbOutput, pretty};
use super::system::{FixturesError, System};

pub(super) fn run(arguments: Arguments, system: &mut dyn System) -> VerbOutput {
    let mut lines = String::new();
    match check_all(arguments, system, &mut lines) {
        Ok(summary) => VerbOutput::printed(lines + &summary),
        Err(failure) => VerbOutput { stdout: lines, ..failure.into() },
    }
}

/// Adds a line per fixture, up to the first that does not behave as it declares.
fn check_all(
    mut arguments: Arguments,
    system: &mut dyn System,
    lines: &mut String,
) -> Result<String, LifecycleError> {
    match arguments.next_word().as_deref() {
        None => return Err(LifecycleError::usage("conformance requires a subcommand: run")),
        Some("run") => {}
        Some(other) => {
            return Err(LifecycleError::usage(format!(
                "conformance: unknown subcommand `{other}` (expected: run)"
            )));
        }
    }
    let (mut root, mut summary_only) = (PathBuf::from("tests/conformance"), false);
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--root" => {
                let value = arguments.raw_value_of("--root");
                root = value.map_err(|_| LifecycleError::usage("--root requires a path"))?.into();
            }
            "--summary" => summary_only = true,
            other => return Err(LifecycleError::usage(format!("conformance run: unknown flag `{other}`"))),
        }
    }
    let files = system.fixtures(&root).map_err(|error| match error {
        FixturesError::NotADirectory => LifecycleError::unreadable(format!(
            "conformance run: root `{}` is not a directory",
            root.display()
        )),
        FixturesError::Unreadable { path, error } => {
            LifecycleError::unreadable(format!("failed to read fixture `{}`: {error}", path.display()))
        }
    })?;
    if files.is_empty() {
        return Err(LifecycleError::refused(format!(
            "conformance run: no fixtures found under `{}`",
            root.display()
        )));
    }
    let total = files.len();
    for file in files {
        let path = file.path.to_string_lossy().into_owned();
        let fixture = Fixture::read(&file.contents).map_err(|error| {
            LifecycleError::unreadable(format!("failed to parse fixture envelope `{path}`: {error}"))
        })?;
        let row = fixture.check(&path);
        if !summary_only {
            let line = serde_json::to_string(&row);
            *lines +=
                &line.map_err(|error| LifecycleError::unreadable(format!("cannot write a line: {error}")))?;
            lines.push('\n');
        }
        if !row.outcome.is_as_expected() {
            return Err(LifecycleError::refused(format!(
                "conformance run: fixture `{path}` failed (kind={}, expect={:?}, outcome={})",
                row.kind, row.expect, row.outcome
            )));
        }
    }
    if !summary_only {
        return Ok(String::new());
    }
    pretty(&json!({ "passed": total, "root": root.display().to_string(), "total": total }))
}
