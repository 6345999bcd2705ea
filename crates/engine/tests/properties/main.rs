//! What must hold for every plan with any answers.
//!
//! `ESCROW_PROPERTY_CASES` says how many plans are played in all (100,000 by default), and
//! `ESCROW_PROPERTY_SEED` plays one of them alone. A failure prints its seed and its plan.

#![allow(clippy::print_stderr, reason = "a failure prints its seed and its plan")]

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use escrow_engine::{Change, Run, compare, redecide};
use escrow_model::{
    Assumption, Criticality, Ending, Entry, Event, Message, Plan, RunStatus, ScopePath, Verdict, WaitKind,
};
use escrow_testkit::{
    Invariants, Options, PlanFeatures, RandomAnswers, Rng, Stage, document, random_plan, try_plan,
};
use serde_json::Value;

const CASES: u64 = 100_000;
/// Far more than any of these small plans needs.
const TURNS_MAX: usize = 5_000;
const MESSAGES_MAX: u64 = 60;
/// How often each plan is played. The first time it is also compared with its replay after every turn.
const PLAYS: u64 = 8;

/// Plays a share of all cases: `each` of them for every seed.
fn cases(percent: u64, each: u64, salt: u64, case: impl Fn(u64)) {
    #[allow(clippy::disallowed_methods, reason = "tests may be told how long to take")]
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = setting("ESCROW_PROPERTY_CASES").unwrap_or(CASES) * percent / 100 / each;
    let seeds: Vec<u64> = match setting("ESCROW_PROPERTY_SEED") {
        Some(seed) => vec![seed],
        None => (0..count).map(|number| number.wrapping_mul(0x9e37_79b9).wrapping_add(salt << 40)).collect(),
    };
    for seed in seeds {
        if let Err(problem) = catch_unwind(AssertUnwindSafe(|| case(seed))) {
            eprintln!("ESCROW_PROPERTY_SEED={seed}");
            resume_unwind(problem);
        }
    }
}

fn options() -> Options {
    let mut options = Options::default();
    options.run.parallelism = 3;
    options
}

fn random_answers(seed: u64, unknown: bool) -> RandomAnswers {
    let mut rng = Rng::new(seed);
    RandomAnswers { seed, fault_percent: 10 * rng.below(6), uneven: rng.chance(50), unknown }
}

/// Plays to the end, answering every wait.
fn finish(stage: &mut Stage<RandomAnswers>, rng: &mut Rng) {
    for _ in 0..MESSAGES_MAX {
        stage.play(&[]);
        assert!(stage.drive.commits.len() < TURNS_MAX, "the run does not settle");
        if stage.drive.run.status() != RunStatus::Waiting {
            break;
        }
        let wait = stage.drive.run.waits().into_iter().next().expect("a run that waits says for what");
        let (by, claim, note) = (None, None, None);
        let message = match wait.kind {
            WaitKind::Approval if rng.chance(90) => Message::Approve { id: wait.id, by, claim, note },
            WaitKind::Approval => Message::Deny { id: wait.id, by, claim, note },
            WaitKind::Input => Message::Answer { id: wait.id, text: "yes".into(), by },
            WaitKind::UnknownEffect => {
                let assumption = *rng.pick(&[Assumption::Done, Assumption::Failed, Assumption::Retry]);
                Message::Assume { check: wait.check, scope: wait.scope, assumption, by, why: None }
            }
            WaitKind::Nested => unreachable!("no plan here nests another"),
        };
        stage.message(message);
    }
    let status = stage.drive.run.status();
    assert!(status.is_terminal(), "the run is {status:?} for ever");
}

fn one_case(seed: u64, features: PlanFeatures) {
    let mut rng = Rng::new(seed);
    let text = random_plan(&mut rng, features);
    let Ok(plan) = try_plan(&text) else { return };
    for number in 0..PLAYS {
        let answers = random_answers(seed ^ number << 50, features.unknown);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut options = Options { compare_replay: number == 0, ..options() };
            // Without an event, `on` filters nothing.
            options.run.event = (number % 2 == 0).then(|| "push".to_owned());
            let mut stage = Stage::start(&plan, &options, answers.clone());
            finish(&mut stage, &mut rng.clone());
            Invariants::check(&plan, 3, &stage.drive.journal, &stage.drive.run);
            let replayed = Run::replay(&stage.drive.journal).expect("a journal replays");
            assert!(replayed == stage.drive.run, "a replay rebuilds the run");
        }));
        if let Err(problem) = outcome {
            eprintln!("{text}{answers:?}");
            resume_unwind(problem);
        }
    }
}

#[test]
fn plans_without_routes_keep_every_law() {
    cases(33, PLAYS, 1, |seed| {
        one_case(seed, PlanFeatures { routes: false, unknown: false, people: false, keys: false })
    });
}

#[test]
fn plans_with_routes_keep_every_law() {
    cases(33, PLAYS, 2, |seed| {
        one_case(seed, PlanFeatures { routes: true, unknown: false, people: false, keys: false })
    });
}

#[test]
fn plans_with_unknown_effects_and_people_keep_every_law() {
    cases(29, PLAYS, 3, |seed| {
        one_case(seed, PlanFeatures { routes: true, unknown: true, people: true, keys: false })
    });
}

#[test]
fn the_same_inputs_write_the_same_journal() {
    let features = PlanFeatures { routes: true, unknown: true, people: true, keys: false };
    cases(3, 1, 4, |seed| {
        let text = random_plan(&mut Rng::new(seed), features);
        let Ok(plan) = try_plan(&text) else { return };
        let journal = || {
            let mut stage = Stage::start(&plan, &options(), random_answers(seed, true));
            finish(&mut stage, &mut Rng::new(seed));
            stage.drive.journal
        };
        assert!(journal() == journal(), "{text}");
    });
}

#[test]
fn a_run_that_is_cancelled_at_any_time_ends_and_starts_nothing_more() {
    let features = PlanFeatures { routes: true, unknown: true, people: true, keys: false };
    cases(1, 1, 6, |seed| {
        let mut rng = Rng::new(seed);
        let text = random_plan(&mut rng, features);
        let Ok(plan) = try_plan(&text) else { return };
        let mut stage = Stage::start(&plan, &options(), random_answers(seed, true));
        for _ in 0..rng.below(12) {
            stage.advance(u64::MAX);
        }
        if stage.drive.run.status().is_terminal() {
            return;
        }
        stage.message(Message::Cancel {
            by: None,
            system: false,
            successor: None,
            inside: None,
            patient: false,
        });
        let before = stage.drive.journal.len();
        stage.play(&[]);
        let started = stage.drive.journal[before..]
            .iter()
            .any(|entry| matches!(entry.event, Event::AttemptStarted { .. } | Event::Routed { .. }));
        assert!(!started, "{text}");
        // One that was ending by itself, and only looked at its artifacts, ends as it was going to.
        let was_ending = stage.drive.journal[..before]
            .iter()
            .any(|entry| matches!(entry.event, Event::MessageDelivered { refused: Some(_), .. }));
        assert!(was_ending || stage.drive.run.status() == RunStatus::Cancelled, "{text}");
        assert_eq!(stage.drive.pending(), 0, "{text}");
    });
}

/// One entry is lost, doubled, moved or changed places with another.
fn damaged(journal: &[Entry], rng: &mut Rng) -> Vec<Entry> {
    let mut journal = journal.to_vec();
    let any = |rng: &mut Rng| usize::try_from(rng.below(journal.len() as u64)).expect("it fits");
    let (one, other) = (any(rng), any(rng));
    match rng.below(4) {
        0 => drop(journal.remove(one)),
        1 => journal.insert(other, journal[one].clone()),
        2 => journal.swap(one, other),
        _ => {
            let next = (one + 1).min(journal.len() - 1);
            journal.swap(one, next);
        }
    }
    journal
}

/// A journal that no run wrote is refused, or it is one that a run could have written: then the accounting of the
/// run that it gives is right, and the run can be read.
#[test]
fn a_damaged_journal_is_refused_or_gives_a_sound_run() {
    let features = PlanFeatures { routes: true, unknown: true, people: true, keys: false };
    cases(2, 1, 9, |seed| {
        let mut rng = Rng::new(seed);
        let text = random_plan(&mut rng, features);
        let Ok(plan) = try_plan(&text) else { return };
        let mut stage = Stage::start(&plan, &options(), random_answers(seed, true));
        finish(&mut stage, &mut rng);
        let mut cut = usize::try_from(rng.below(stage.drive.journal.len() as u64)).expect("it fits");
        cut = cut.max(1);
        for journal in [&stage.drive.journal[..], &stage.drive.journal[..cut]] {
            for _ in 0..8 {
                let Ok(run) = Run::replay(&damaged(journal, &mut rng)) else { continue };
                assert_eq!(run.broken_invariant(), None, "{text}");
                document(&run);
            }
        }
    });
}

/// Stops after every commit in turn, replays, resumes and finishes in the same world. Answers come in the
/// order of their intents, so nothing but the crash differs.
#[test]
fn a_crash_after_any_commit_changes_nothing_in_the_end() {
    let features = PlanFeatures { routes: true, unknown: false, people: false, keys: false };
    cases(1, 1, 5, |seed| {
        let text = random_plan(&mut Rng::new(seed), features);
        let Ok(plan) = try_plan(&text) else { return };
        let world = || RandomAnswers { uneven: false, ..random_answers(seed, false) };
        let mut stage = Stage::start(&plan, &options(), world());
        finish(&mut stage, &mut Rng::new(seed));
        let expected = timeless(document(&stage.drive.run));
        for commit in &stage.drive.commits {
            let mut resumed = Stage::resume(&stage.drive.journal[..*commit], world(), false);
            if !resumed.drive.run.status().is_terminal() {
                finish(&mut resumed, &mut Rng::new(seed));
            }
            let document = timeless(document(&resumed.drive.run));
            assert!(document == expected, "{text}after entry {commit}:\n{document:#}\n{expected:#}");
        }
    });
}

/// Without routes nothing but a failure leads to a second attempt, so a confirmed effect must not see one.
#[test]
fn a_run_that_is_opened_again_repeats_no_confirmed_effect() {
    let features = PlanFeatures { routes: false, unknown: true, people: true, keys: false };
    cases(3, 1, 9, |seed| {
        let text = random_plan(&mut Rng::new(seed), features);
        let Ok(plan) = try_plan(&text) else { return };
        let mut stage = Stage::start(&plan, &options(), random_answers(seed, true));
        let mut rng = Rng::new(seed);
        finish(&mut stage, &mut rng);
        let ended = stage.drive.journal.len();
        if !stage.reopen() {
            return;
        }
        finish(&mut stage, &mut rng);
        assert!(Run::replay(&stage.drive.journal).expect("a journal replays") == stage.drive.run, "{text}");
        let confirmed = confirmed(&plan, &stage.drive.journal[..ended]);
        for entry in &stage.drive.journal[ended..] {
            if let Event::AttemptStarted { check, scope, .. } = &entry.event {
                let again = confirmed.contains(&(check.clone(), scope.clone()));
                assert!(!again, "{text}`{check}{scope}` was confirmed and is attempted again");
            }
        }
        let again = redecide(&stage.drive.journal, plan).expect("a journal replays");
        let differs = first_difference(&stage.drive.journal, &again.entries);
        assert!(again.entries == stage.drive.journal, "{text}{differs}");
    });
}

/// External checks outside of lists, whose last verdict is that they succeeded.
fn confirmed(plan: &Plan, journal: &[Entry]) -> BTreeSet<(String, ScopePath)> {
    let mut confirmed = BTreeSet::new();
    for entry in journal {
        if let Event::CheckJudged { check, scope, verdict, .. } = &entry.event {
            let spec = plan.check(plan.find(check).expect("it is in the plan"));
            let place = (check.clone(), scope.clone());
            match verdict {
                Verdict::Succeeded if spec.criticality == Criticality::External && spec.fan.is_empty() => {
                    confirmed.insert(place);
                }
                Verdict::Succeeded | Verdict::Failed => drop(confirmed.remove(&place)),
            }
        }
    }
    confirmed
}

/// Recorded runs are decided again: nothing is called, because everything is there; and nothing differs.
#[test]
fn deciding_a_recorded_run_again_under_the_same_plan_gives_the_same_journal() {
    let features = PlanFeatures { routes: true, unknown: true, people: true, keys: false };
    cases(3, 1, 7, |seed| {
        let text = random_plan(&mut Rng::new(seed), features);
        let Ok(plan) = try_plan(&text) else { return };
        let mut stage = Stage::start(&plan, &options(), random_answers(seed, true));
        let mut rng = Rng::new(seed);
        if rng.chance(20) {
            for _ in 0..rng.below(12) {
                stage.advance(u64::MAX);
            }
            stage.message(Message::Cancel {
                by: None,
                system: false,
                successor: None,
                inside: None,
                patient: false,
            });
        }
        finish(&mut stage, &mut rng);
        let again = redecide(&stage.drive.journal, plan).expect("a journal replays");
        assert!(again.unknown.is_empty(), "{text}everything was recorded: {:?}", again.unknown);
        assert!(again.assumed.is_empty(), "{text}everything was asked like this: {:?}", again.assumed);
        let compared = compare(&stage.drive.journal, &again).expect("a journal replays");
        assert_eq!(compared.change, Change::Same, "{text}{:?}", compared.differences);
        let differs = first_difference(&stage.drive.journal, &again.entries);
        assert!(again.entries == stage.drive.journal, "{text}{differs}");
    });
}

/// Whatever else the other plan says: it ends, it never asks for more than the record has, and what the record
/// lacks is named.
#[test]
fn deciding_a_recorded_run_again_under_another_plan_ends_and_makes_nothing_up() {
    let features = PlanFeatures { routes: true, unknown: true, people: true, keys: false };
    cases(3, 1, 8, |seed| {
        let mut rng = Rng::new(seed);
        let (text, other) = (random_plan(&mut rng, features), random_plan(&mut rng, features));
        let (Ok(plan), Ok(other_plan)) = (try_plan(&text), try_plan(&other)) else { return };
        let mut stage = Stage::start(&plan, &options(), random_answers(seed, true));
        finish(&mut stage, &mut Rng::new(seed));
        let again = redecide(&stage.drive.journal, Arc::clone(&other_plan)).expect("a journal replays");
        assert!(again.entries.len() < 100_000, "{text}{other}it does not end");
        let replayed = Run::replay(&again.entries).expect("what would have been is a journal");
        assert!(replayed == again.run, "{text}{other}");
        let recorded = answers(&stage.drive.journal);
        for (place, answer) in answers(&again.entries) {
            let made_here = plan_provider(&other_plan, &place.0) == "noop" || answer == "cancelled";
            assert!(made_here || recorded.get(&place) == Some(&answer), "{text}{other}{place:?} is made up");
        }
        let open = !again.run.status().is_terminal();
        let waits = again.run.status() == RunStatus::Waiting;
        assert!(!open || waits || !again.unknown.is_empty(), "{text}{other}it says why it does not end");
        compare(&stage.drive.journal, &again).expect("two journals compare");
    });
}

/// What came back for each attempt; a fault by its code.
fn answers(journal: &[Entry]) -> BTreeMap<(String, ScopePath, u32), String> {
    let answered = journal.iter().filter_map(|entry| match &entry.event {
        Event::AttemptAnswered { check, scope, attempt, answer } => {
            let text = match &answer.ending {
                Ending::Fault(fault) => fault.code.to_string(),
                Ending::Done => answer.output.to_string(),
            };
            Some(((check.clone(), scope.clone(), *attempt), text))
        }
        _ => None,
    });
    answered.collect()
}

fn plan_provider<'a>(plan: &'a Plan, check: &str) -> &'a str {
    plan.find(check).map_or("", |check| plan.check(check).provider.as_str())
}

fn first_difference(one: &[Entry], other: &[Entry]) -> String {
    let at = one.iter().zip(other).position(|(a, b)| a != b).unwrap_or(one.len().min(other.len()));
    format!("entry {at}:\n{:?}\n{:?}", one.get(at), other.get(at))
}

fn timeless(mut document: Value) -> Value {
    document["run"]["ended_at"] = Value::Null;
    document
}
