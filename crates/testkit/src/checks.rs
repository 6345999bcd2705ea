//! The one door through which tests of the engine go.

use std::sync::Arc;

use escrow_engine::Run;
use escrow_engine::play::VirtualDrive;
use escrow_model::{Entry, Plan};
use serde_json::Value;

use crate::{Options, Script, Stage, document, plan, state, timeline};

/// A run that was played to its end, or to a wait.
pub struct Played {
    pub run: Run,
    pub journal: Vec<Entry>,
    pub now_ms: u64,
    pub turns: u64,
}

impl Played {
    pub fn document(&self) -> Value {
        document(&self.run)
    }

    /// One check of the document.
    pub fn check(&self, name: &str) -> Value {
        self.document()["checks"][name].clone()
    }

    pub fn reason(&self) -> &str {
        self.run.reason().map_or("running", |reason| reason.code.as_str())
    }

    /// The text of the first issue of a check.
    pub fn message(&self, name: &str) -> String {
        self.check(name)["issues"][0]["message"].as_str().unwrap_or_default().to_owned()
    }
}

/// Plays a plan in a scripted world and compares the journal with a timeline. Spaces do not matter.
#[track_caller]
pub fn check(text: &str, script: &[&str], expected: &str) -> Played {
    let played = play(text, script, &Options::default());
    let told = timeline(&played.journal, expected);
    compare(&told, expected, &played);
    played
}

/// The same, for where everything stands at last: `name status xRUNS …` for each check, then the reason.
#[track_caller]
pub fn tells(text: &str, script: &[&str], expected: &str) -> Played {
    let played = play(text, script, &Options::default());
    compare(&state(&played.run), expected, &played);
    played
}

/// Plays a plan, twice: the same script writes the same journal.
#[track_caller]
pub fn play(text: &str, script: &[&str], options: &Options) -> Played {
    let plan = plan(text);
    let played = once(&plan, script, options);
    let again = once(&plan, script, &Options { compare_replay: false, ..options.clone() });
    assert!(played.journal == again.journal, "the same script writes the same journal");
    played
}

fn once(plan: &Arc<Plan>, script: &[&str], options: &Options) -> Played {
    let script = Script::parse(script);
    let steps = script.steps.clone();
    let mut stage = Stage::start(plan, options, script);
    stage.play(&steps);
    let VirtualDrive { run, journal, now_ms, commits, .. } = stage.drive;
    Played { run, journal, now_ms, turns: commits.len() as u64 }
}

#[track_caller]
fn compare(told: &[String], expected: &str, played: &Played) {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let told: Vec<String> = told.iter().map(|line| words(line)).collect();
    let expected: Vec<String> = expected.lines().map(words).filter(|line| !line.is_empty()).collect();
    if told == expected {
        return;
    }
    let mut text = String::new();
    for (at, line) in told.iter().enumerate() {
        let mark = if expected.get(at) == Some(line) { ' ' } else { '>' };
        text.push_str(&format!("{mark} {line}\n"));
    }
    let reason = played.run.reason().map_or("", |reason| reason.summary.as_str());
    panic!("told:\n{text}({reason})\n\nexpected:\n{}\n", expected.join("\n"));
}
