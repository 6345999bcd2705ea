//! Plays are broken off after every commit, resumed from the journal alone, and must come to the same end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use escrow_app::documents;
use escrow_engine::Run;
use escrow_model::{Entry, Event, Plan, ScopedCheck};
use escrow_playbook::read_tests;
use escrow_runtime::inspection::{Depth, inspect};
use escrow_runtime::playbook_file::{self, Directories};
use escrow_runtime::rehearsal::{Rehearsal, Replies, Reply, Script, Takes, differences, rehearsal_of};
use escrow_simulator::Recorded;
use serde_json::Value;

/// A playbook, with what stands beside it.
fn plan_of(playbook: &Path) -> Arc<Plan> {
    let bytes = fs::read(playbook).expect("a file");
    let folder = playbook.parent().expect("its folder");
    Arc::new(playbook_file::read(playbook, &bytes, Directories::both(folder)).plan.expect("a plan"))
}

/// Every test of a file. Says how many crashes there were.
pub(crate) fn scripted(playbook: &Path, tests: &Path) -> usize {
    let text = |path: &Path| fs::read_to_string(path).expect("a file");
    let plan = plan_of(playbook);
    let tests = read_tests(&text(tests), "x.test.yaml").file.expect("a test file").tests;
    tests.iter().map(|case| survives(&case.name, &rehearsal_of(case, &plan))).sum()
}

/// Test files that end early are refused or played, and nothing panics. Says how many there were.
pub(crate) fn cut_short(playbook: &Path, tests: &Path) -> usize {
    let text = |path: &Path| fs::read_to_string(path).expect("a file");
    let plan = plan_of(playbook);
    let text = text(tests);
    let ends: Vec<usize> = (0..text.len()).step_by(13).filter(|end| text.is_char_boundary(*end)).collect();
    for end in &ends {
        let Some(file) = read_tests(&text[..*end], "x.test.yaml").file else { continue };
        if file.validate(&plan, &text[..*end], "x.test.yaml").is_empty() {
            for case in &file.tests {
                let played = rehearsal_of(case, &plan).play();
                let _ = differences(case, &played);
            }
        }
    }
    ends.len()
}

/// A real run, as it printed itself: its answers are the world of the plays. Says how many kills it survived.
pub(crate) fn recorded(told: &str, lines: &[Value], document: &Value) -> u64 {
    let entries: Vec<Entry> = lines
        .iter()
        .filter_map(|line| line.get("entry"))
        .map(|entry| escrow_store::read_entry(entry.clone()).expect("an entry reads back"))
        .collect();
    let replayed = Run::replay(&entries).expect("a journal that was just written replays");
    assert_eq!(&documents::run(&replayed), document, "{told}: the journal tells the same");
    let Event::RunStarted { plan, options, facts, .. } = &entries[0].event else { panic!("no start") };
    let mut replies: BTreeMap<ScopedCheck, Vec<Reply>> = BTreeMap::new();
    for entry in &entries {
        if let Event::AttemptAnswered { check, scope, answer, .. } = &entry.event {
            let reply = Reply { answer: answer.as_ref().clone(), takes: Takes::Ms(1), reconcile: None };
            replies.entry(ScopedCheck::new(check, scope)).or_default().push(reply);
        }
    }
    let script = Script {
        replies: replies.into_iter().map(|(place, replies)| (place, Replies::InTurn(replies))).collect(),
        messages: Vec::new(),
        sightings: inspect(Path::new(&options.artifacts), &replayed.expected_artifacts(), Depth::Full),
    };
    let rehearsal = Rehearsal { plan: plan.clone(), options: options.clone(), facts: facts.clone(), script };
    let played = rehearsal.play();
    assert_eq!(played.problems, Vec::<String>::new(), "{told}");
    assert_eq!(timeless(&played.run, &[]), timeless(&replayed, &[]), "{told}: played as it was run");
    survives(told, &rehearsal);
    let answers = entries.iter().filter_map(|entry| match &entry.event {
        Event::AttemptAnswered { check, scope, answer, .. } => Some(((check, scope), answer)),
        _ => None,
    });
    let mut recorded = Recorded {
        plan: plan.clone(),
        options: options.as_ref().clone(),
        facts: facts.as_ref().clone(),
        answers: BTreeMap::new(),
        seen: rehearsal.script.sightings.clone(),
    };
    for ((check, scope), answer) in answers {
        let turns = recorded.answers.entry(ScopedCheck::new(check, scope)).or_default();
        turns.push(answer.as_ref().clone());
    }
    survives_kills(told, &recorded, &replayed)
}

/// The real supervisor drives the run, and is killed at every commit: before it is written, and after.
fn survives_kills(told: &str, recorded: &Recorded, run: &Run) -> u64 {
    let whole = recorded.drive(None).unwrap_or_else(|problem| panic!("{told}: {problem}"));
    assert_eq!(timeless(&whole.run, &[]), timeless(run, &[]), "{told}: driven as it was run");
    for commit in 1..=whole.commits {
        for written in [false, true] {
            let place = format!("{told}: killed at commit {commit}, written: {written}");
            let rest = recorded.drive(Some((commit, written)));
            let rest = rest.unwrap_or_else(|problem| panic!("{place}: {problem}"));
            let (cut_off, found) = (&rest.cut_off, &rest.run);
            assert_eq!(timeless(found, cut_off), timeless(&whole.run, cut_off), "{place}");
        }
    }
    2 * whole.commits
}

/// Breaks a play off after every commit. Says how often.
fn survives(told: &str, rehearsal: &Rehearsal) -> usize {
    let whole = rehearsal.play();
    assert_eq!(whole.problems, Vec::<String>::new(), "{told}");
    for commit in &whole.commits {
        let again = rehearsal.play_on(&whole.journal, *commit).expect("the journal replays");
        let place = format!("{told}: broken off after entry {}", commit.entries);
        assert_eq!(again.problems, Vec::<String>::new(), "{place}");
        let cut_off = cut_off(&whole.journal[..commit.entries]);
        assert_eq!(timeless(&again.run, &cut_off), timeless(&whole.run, &cut_off), "{place}");
        let replayed = Run::replay(&again.journal).expect("the journal replays");
        assert!(replayed == again.run, "{place}: a replay rebuilds the run");
    }
    whole.commits.len()
}

/// External checks that were under way: their effects are unknown, and a person has them tried again.
fn cut_off(journal: &[Entry]) -> Vec<String> {
    let mut under_way = BTreeMap::new();
    for entry in journal {
        match &entry.event {
            Event::AttemptStarted { check, scope, external: true, .. } => {
                under_way.insert(ScopedCheck::new(check, scope), ());
            }
            Event::AttemptAnswered { check, scope, .. } => {
                under_way.remove(&ScopedCheck::new(check, scope));
            }
            _ => {}
        }
    }
    under_way.into_keys().map(|at| at.check).collect()
}

/// The document without what a crash may change: times, ids of waits, and how often what was cut off ran.
fn timeless(run: &Run, cut_off: &[String]) -> Value {
    let mut document = documents::run(run);
    for key in ["started_at", "ended_at"] {
        document["run"][key] = Value::Null;
    }
    document["artifacts"]["checked_at"] = Value::Null;
    for outcome in document["outcomes"].as_array_mut().into_iter().flatten() {
        outcome["id"] = Value::Null;
        outcome["created_at"] = Value::Null;
    }
    for evidence in document["run"]["reason"]["evidence"].as_array_mut().into_iter().flatten() {
        if evidence["kind"] == "wait" {
            evidence["id"] = Value::Null;
        }
    }
    // An effect that was lost is approved again.
    let decided = document["decisions"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let kept = decided.into_iter().filter(|one| !cut_off.iter().any(|check| one["check"] == **check));
    document["decisions"] =
        kept.map(|one| serde_json::json!([one["check"], one["scope"], one["decision"]])).collect();
    for check in cut_off {
        document["checks"][check]["runs"] = Value::Null;
        for item in document["checks"][check]["items"].as_array_mut().into_iter().flatten() {
            item["runs"] = Value::Null;
        }
    }
    document
}
