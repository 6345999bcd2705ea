//! Escrow is killed at random moments, two hundred times and more: while it starts, while it works, while it goes
//! on with a run that was killed before, and when all is over. Nothing is lost and no effect is repeated.
//!
//! `ESCROW_KILLS_SEED` chooses other moments.

#![allow(clippy::print_stderr, reason = "a test of chance says which chance it took")]

mod chance;
mod desk;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use chance::Chance;
use desk::{Desk, is_running};
use escrow_model::{Ending, Event, RunId, RunStatus, WaitKind};
use escrow_store::{BlockingStore, Mode, RunFilter, StoredEntry, Verification};

/// `ESCROW_KILLS` asks for more.
fn kills() -> u32 {
    std::env::var("ESCROW_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

const AT_ONCE: u32 = 4;
/// After so many kills a run is left alone, and must end.
const KILLS_PER_RUN: u32 = 8;
/// Longer than a run takes, so that some are killed when they are over.
const MOMENTS_MS: u64 = 160;

/// `post` leaves one line when it begins and one when it has happened, so that the trace tells even what the journal cannot.
fn playbook(timeline: &str) -> String {
    format!(
        r#"
name: {timeline}
checks:
  one: {{type: command, exec: ": {timeline}; echo one >> trace"}}
  two: {{type: command, exec: ": {timeline}; sleep 0.02; echo two >> trace"}}
  post:
    type: command
    depends_on: [one, two]
    criticality: external
    assume: "true"
    guarantee: "true"
    exec: ": {timeline}; echo begun >> trace; sleep 0.03; echo posted >> trace; sleep 0.02"
  last: {{type: command, depends_on: post, exec: ": {timeline}; echo last >> trace"}}
"#
    )
}

#[test]
fn two_hundred_kills_lose_nothing_and_repeat_no_effect() {
    let seed = std::env::var("ESCROW_KILLS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(11);
    eprintln!("ESCROW_KILLS_SEED={seed}");
    let mark = format!("kills-{}", std::process::id());
    let (killed, unknown) = (AtomicU32::new(0), AtomicU32::new(0));
    let runs = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..AT_ONCE {
            let (mark, killed, unknown, runs) = (&mark, &killed, &unknown, &runs);
            scope.spawn(move || {
                let mut chance = Chance(seed * 1_000 + u64::from(thread));
                while killed.load(Ordering::Relaxed) < kills() {
                    let number = runs.fetch_add(1, Ordering::Relaxed);
                    let mut victim = Victim::new(&format!("{mark}-{number}"));
                    victim.lives(&mut chance, killed);
                    unknown.fetch_add(victim.unknown, Ordering::Relaxed);
                }
            });
        }
    });
    let killed = killed.into_inner();
    let (runs, unknown) = (runs.into_inner(), unknown.into_inner());
    eprintln!("{killed} kills of {runs} runs; {unknown} effects were unknown");
    assert!(killed >= kills());
    assert!(unknown > 0, "some effect was cut off");
    assert!(!is_running(&format!("{mark}-")), "a process was left behind");
}

/// A run that is killed again and again, in a directory of its own.
struct Victim {
    desk: Desk,
    run: Option<RunId>,
    /// The journal as it was before the latest life.
    known: Vec<StoredEntry>,
    trace: Vec<String>,
    lives: u32,
    /// The life in which the answer of a check was committed.
    confirmed_in: BTreeMap<String, u32>,
    unknown: u32,
}

impl Victim {
    fn new(timeline: &str) -> Victim {
        let desk = Desk::new();
        desk.write("playbook.yaml", &playbook(timeline));
        let (known, trace) = (Vec::new(), Vec::new());
        Victim { desk, run: None, known, trace, lives: 0, confirmed_in: BTreeMap::new(), unknown: 0 }
    }

    fn lives(&mut self, chance: &mut Chance, killed: &AtomicU32) {
        for _ in 0..KILLS_PER_RUN {
            let mut child = match &self.run {
                None => self.desk.start(&["run", "playbook.yaml"]),
                Some(run) => self.desk.start(&["resume", run.as_str()]),
            };
            std::thread::sleep(Duration::from_millis(chance.below(MOMENTS_MS)));
            // A process that is over but not yet waited for is killed in vain, and counts for nothing.
            let was_over = child.try_wait().expect("it can be asked").is_some();
            child.kill().expect("it can be killed");
            let by_signal = child.wait().expect("it is gone").code().is_none();
            killed.fetch_add(u32::from(by_signal && !was_over), Ordering::Relaxed);
            self.nothing_is_lost();
        }
        self.ends();
    }

    fn store(&self) -> Option<BlockingStore> {
        let path = self.desk.path().join(".escrow/escrow.db");
        path.exists().then(|| BlockingStore::open(&path, Mode::Read).expect("the database opens"))
    }

    /// The journal holds, begins as it did before, and no confirmed check left another trace.
    fn nothing_is_lost(&mut self) {
        let Some(store) = self.store() else { return };
        let rows = store.runs(&RunFilter::default()).expect("runs");
        assert!(rows.len() <= 1, "one run was begun");
        let Some(row) = rows.first() else { return };
        let before: Vec<String> = self.confirmed();
        let verified = store.verify(&row.id).expect("it can be verified");
        assert!(matches!(verified, Verification::Intact { .. }), "{verified:?}");
        let journal = store.journal(&row.id).expect("a journal");
        assert!(journal.starts_with(&self.known), "what was committed stays");
        let trace = self.trace_now();
        self.lives += 1;
        for check in before {
            let line = if check == "post" { "posted" } else { &check };
            // Each life before the answer was committed may have begun it once; none after it.
            let most = *self.confirmed_in.entry(check.clone()).or_insert(self.lives - 1);
            let found = u32::try_from(count(&trace, line)).expect("a few lines");
            assert!(found <= most, "{check} was confirmed in life {most}\n{trace:?}");
            assert!(check != "post" || found == 1, "it was posted once\n{trace:?}");
        }
        (self.run, self.known, self.trace) = (Some(row.id.clone()), journal, trace);
    }

    /// Checks whose answers were in the journal before the latest life.
    fn confirmed(&self) -> Vec<String> {
        self.events()
            .filter_map(|event| match event {
                Event::AttemptAnswered { check, answer, .. } if answer.ending == Ending::Done => Some(check),
                _ => None,
            })
            .collect()
    }

    fn events(&self) -> impl Iterator<Item = Event> {
        self.known.iter().map(|stored| escrow_store::decode_entry(&stored.bytes).expect("an entry").event)
    }

    fn trace_now(&self) -> Vec<String> {
        self.desk.read("trace").lines().map(str::to_owned).collect()
    }

    /// Drives the run to its end. Unknown effects are settled by looking at the trace.
    fn ends(&mut self) {
        let Some(run) = self.run.clone() else { return };
        for _ in 0..3 {
            let status = self.store().and_then(|store| store.run(run.as_str()).ok()).expect("the run").status;
            let posted = count(&self.trace_now(), "posted");
            match status {
                RunStatus::Completed => break,
                RunStatus::Waiting => {
                    let known = if posted > 0 { "post=done" } else { "post=retry" };
                    let done = self.desk.escrow(&["resume", run.as_str(), "--assume", known]);
                    assert_eq!(done.code, Some(0), "{}", done.stderr);
                }
                _ => {
                    let done = self.desk.escrow(&["resume", run.as_str()]);
                    assert!(matches!(done.code, Some(0 | 4)), "{}", done.stderr);
                }
            }
            self.nothing_is_lost();
            let intents = self.events().filter(|event| is_intent(event, "post")).count();
            assert!(count(&self.trace, "begun") <= intents, "each intent is acted on once: {:?}", self.trace);
        }
        let asked = |event: &Event| matches!(event, Event::WaitStarted { kind: WaitKind::UnknownEffect, .. });
        let was_asked = self.events().any(|event| asked(&event));
        self.unknown += u32::from(was_asked);
        let document = self.desk.show(run.as_str());
        assert_eq!(document["run"]["status"], "completed", "{document}");
        for check in ["one", "two", "post", "last"] {
            assert_eq!(document["checks"][check]["status"], "succeeded", "{check}");
        }
        assert_eq!(count(&self.trace, "posted"), 1, "it was posted once: {:?}", self.trace);
        assert!(count(&self.trace, "last") >= 1);
        assert_eq!(self.desk.escrow(&["verify", run.as_str()]).code, Some(0));
    }
}

fn count(trace: &[String], line: &str) -> usize {
    trace.iter().filter(|found| *found == line).count()
}

fn is_intent(event: &Event, of: &str) -> bool {
    matches!(event, Event::AttemptStarted { check, .. } if check == of)
}
