//! A state with a long history, for measurements and for tests of lists: runs that the real engine played in virtual time,
//! written through the real store.
//!
//! Most runs complete; some fail at one of their checks, some deliver nothing, a few wait for a person. Runs of five make
//! an invocation. Every run that completes has an outcome and a confirmed effect.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use escrow_engine::play::VirtualDrive;
use escrow_engine::{Input, Run};
use escrow_model::{Entry, Facts, InvocationId, Message, Millis, Plan, RunId, RunOptions};
use escrow_store::{BlockingStore, Created, Durability, Holder, Mode, NewRun};
use escrow_testkit::{Script, plan};

use crate::world::holder;

/// How much of everything there is.
#[derive(Clone, Copy, Debug)]
pub struct History {
    pub runs: u64,
    /// Checks of each run. A check makes three entries.
    pub checks: usize,
    /// Every so many runs one waits for a person; 0: none does.
    pub waiting_each: u64,
    /// The checks of one more run, the newest; 0: there is none.
    pub large: usize,
    /// When the newest run began.
    pub until: Millis,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub runs: u64,
    pub entries: u64,
    /// The run with many checks.
    pub large: Option<RunId>,
}

/// Playbooks that the runs are of.
const PLAYBOOKS: usize = 12;

/// Between the beginnings of two runs.
const APART_MS: u64 = 60_000;

/// Writers at once: their commits share transactions.
const WRITERS: u64 = 16;

/// Writes a history into the database at this path.
///
/// # Panics
///
/// If the store refuses a run that the engine played, which a test wants to know.
pub fn write_history(database: &Path, history: History) -> Written {
    let store = BlockingStore::open(database, Mode::Write).expect("a database can be made");
    let playbooks: Vec<Kinds> = (0..PLAYBOOKS).map(|number| Kinds::new(number, history.checks)).collect();
    let (next, entries) = (AtomicU64::new(0), AtomicU64::new(0));
    let life = holder(1);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS.min(history.runs.max(1)) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= history.runs {
                        return;
                    }
                    let journal = played(&playbooks, history, number);
                    entries.fetch_add(journal.1.len() as u64, Ordering::Relaxed);
                    keep(&store, &life, &journal.0, &journal.1);
                }
            });
        }
    });
    let mut written = Written { runs: history.runs, entries: entries.into_inner(), large: None };
    if history.large > 0 {
        let (id, journal) = large(history);
        written.runs += 1;
        written.entries += journal.len() as u64;
        keep(&store, &life, &id, &journal);
        written.large = Some(id);
    }
    // The last one to leave folds the write-ahead log into the database.
    drop(store);
    written
}

pub(crate) fn keep(store: &BlockingStore, life: &Holder, run: &RunId, journal: &[Entry]) {
    let new = NewRun { run, holder: life, entries: journal, durability: Durability::Grouped, parent: None };
    match store.create_run(new).expect("the store takes a run") {
        Created::Done { lease, .. } => store.release(&lease).expect("a lease is given back"),
        refused => panic!("the store refuses a run that was played: {refused:?}"),
    }
}

/// The plans of one playbook.
struct Kinds {
    works: Arc<Plan>,
    waits: Arc<Plan>,
}

impl Kinds {
    fn new(number: usize, checks: usize) -> Kinds {
        let text = |last: &str| {
            let mut text = format!("name: playbook-{number}\ntitle: 'Night {number}'\nchecks:\n");
            for check in 0..checks.saturating_sub(2) {
                let needs = if check == 0 { String::new() } else { format!(", depends_on: c{}", check - 1) };
                text.push_str(&format!("  c{check}: {{type: command, exec: work {check}{needs}}}\n"));
            }
            let before = checks.saturating_sub(3);
            text.push_str(&format!("  tests: {{type: command, exec: test, depends_on: c{before}, outcome: ci_result, guarantee: 'output.tests_passed === true'}}\n"));
            text.push_str(&format!("  post: {{type: command, exec: post, depends_on: tests, criticality: external, idempotent: true, guarantee: 'true', assume: 'true'{last}}}\n"));
            text
        };
        Kinds { works: plan(&text("")), waits: plan(&text(", requires_approval: true")) }
    }
}

/// One run of the history, which follows from its number alone.
fn played(playbooks: &[Kinds], history: History, number: u64) -> (RunId, Vec<Entry>) {
    let at = history.until.saturating_sub((history.runs - number) * APART_MS);
    let kinds = &playbooks[usize::try_from(number).unwrap_or(0) % playbooks.len()];
    let is_waiting = history.waiting_each > 0 && number % history.waiting_each == history.waiting_each - 1;
    // A cause is cleared by a later success of the same playbook, so the newest runs have some, too.
    let fails = number % 10 == 7 || number + 20 > history.runs;
    let answers = match (is_waiting, fails) {
        (false, true) => {
            r#"tests: {"outcome_kind": "ci_result", "tests_passed": false, "summary": "3 tests failed"}"#
        }
        (_, _) => {
            r#"tests: {"outcome_kind": "ci_result", "tests_passed": true, "summary": "412 of 412 tests passed"}"#
        }
    };
    let plan = if is_waiting { &kinds.waits } else { &kinds.works };
    let invocation = InvocationId::new(history.until, number / 5).to_string();
    play(plan, at, number, Some(invocation), &[answers], None)
}

fn large(history: History) -> (RunId, Vec<Entry>) {
    let mut text = "name: large\nchecks:\n  start: {type: command, exec: start}\n".to_owned();
    for number in 1..history.large {
        let needs = if number % 50 == 0 { format!("w{}", number - 1) } else { "start".to_owned() };
        text.push_str(&format!("  w{number}: {{type: command, exec: work {number}, depends_on: {needs}}}\n"));
    }
    play(&plan(&text), history.until, u64::MAX / 2, None, &["w77: exit 1"], None)
}

/// Plays one run. If it waits for an approval and there is an approver, to its end.
pub(crate) fn play(
    plan: &Arc<Plan>,
    at: Millis,
    number: u64,
    invocation: Option<String>,
    script: &[&str],
    approver: Option<&str>,
) -> (RunId, Vec<Entry>) {
    let id = RunId::new(at, number);
    let options = RunOptions {
        parallelism: 4,
        invocation,
        started_by: vec!["os:ann".into()],
        ..RunOptions::new(id.clone(), "/project", format!("/project/.escrow/artifacts/{id}"))
    };
    let mut script = Script::parse(script);
    let begun = Run::start(Arc::clone(plan), Arc::new(options), Arc::new(Facts::default()), at);
    let mut drive = VirtualDrive::begin(begun, at, &mut script);
    while drive.advance(at + APART_MS, &mut script) {}
    if let (Some(by), Some(wait)) = (approver, drive.run.waits().first()) {
        let message = Message::Approve { id: wait.id.clone(), by: Some(by.into()), claim: None, note: None };
        drive.handle(Input::Message(message), &mut script);
        while drive.advance(at + 2 * APART_MS, &mut script) {}
    }
    (id, drive.journal)
}
