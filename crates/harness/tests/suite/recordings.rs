//! What the real programs printed.

use std::fs;
use std::path::{Path, PathBuf};

use escrow_harness::{Exit, Harness, Report};
use serde_json::Value;

pub(crate) struct Recording {
    pub(crate) case: String,
    pub(crate) lines: Vec<String>,
    pub(crate) stderr: String,
    pub(crate) exit: Exit,
    /// Event and input of each hook, in order.
    pub(crate) hooks: Vec<(String, Value)>,
}

impl Recording {
    pub(crate) fn report(&self, harness: &dyn Harness) -> Report {
        report(harness, &self.lines, self.exit, &self.stderr)
    }
}

pub(crate) fn report(harness: &dyn Harness, lines: &[String], exit: Exit, stderr: &str) -> Report {
    let mut parser = harness.parser();
    for line in lines {
        parser.line(line);
    }
    parser.finish(exit, stderr)
}

/// Every recording of a harness, by name.
pub(crate) fn of(harness: &dyn Harness) -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(harness.spec().name);
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 15, "{} has recordings", harness.spec().name);
    cases.iter().map(|case| read(case)).collect()
}

fn read(case: &Path) -> Recording {
    let text = |name: &str| fs::read_to_string(case.join(name)).unwrap_or_default();
    let lines = |name: &str| text(name).lines().map(str::to_owned).collect::<Vec<_>>();
    let meta: Value = serde_json::from_str(&text("meta.json")).expect("meta.json");
    let code = i32::try_from(meta["exit"].as_i64().expect("an exit code")).expect("an exit code");
    let hooks =
        lines("hooks.jsonl").into_iter().map(|line| hook(&line)).filter(|(event, _)| event != "_truncated");
    Recording {
        case: case.file_name().unwrap().to_str().unwrap().to_owned(),
        lines: lines("stdout.jsonl"),
        stderr: text("stderr.txt"),
        exit: if code < 0 { Exit::Signal(-code) } else { Exit::Code(code) },
        hooks: hooks.collect(),
    }
}

fn hook(line: &str) -> (String, Value) {
    let value: Value = serde_json::from_str(line).expect("a hook");
    (value["event"].as_str().expect("an event").to_owned(), value["stdin"].clone())
}
