//! Many of everything that a list can have: causes that need a person, decided approvals, runs of shows, and chains.
//!
//! [`crate::write_history`] has runs, outcomes, effects, invocations and open approvals.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use escrow_model::{Millis, Plan, PlanKind};
use escrow_store::{BlockingStore, DefineChain, Mode};
use escrow_testkit::plan;
use serde_json::json;

use crate::history::{keep, play};
use crate::world::holder;

/// Writers at once: their commits share transactions.
const WRITERS: u64 = 16;

/// Writes `number` of each into the database at this path, the newest begun at `until`.
///
/// # Panics
///
/// If the store refuses one of them, which a test wants to know.
pub fn write_plenty(database: &Path, number: u64, until: Millis) {
    let store = BlockingStore::open(database, Mode::Write).expect("a database can be made");
    let approved = plan(
        "name: approved
checks:
  ship: {type: command, exec: ship, criticality: external, idempotent: true, requires_approval: true}
",
    );
    let show = as_show(&plan(
        "name: train
checks:
  build: {type: command, exec: work}
  announce: {type: command, exec: work, depends_on: build}
",
    ));
    let (next, life) = (AtomicU64::new(0), holder(1));
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                loop {
                    let one = next.fetch_add(1, Ordering::Relaxed);
                    if one >= number {
                        return;
                    }
                    let at = until.saturating_sub((number - one) * 60_000);
                    let text = format!("name: cause-{one}\nchecks:\n  main: {{type: command, exec: work}}\n");
                    for (place, plan, script) in
                        [(0, &plan(&text), "main: exit 1"), (1, &approved, "ship: 1"), (2, &show, "build: 1")]
                    {
                        let (run, journal) =
                            play(plan, at + place, one * 3 + place, None, &[script], Some("os:ben"));
                        keep(&store, &life, &run, &journal);
                    }
                    define(&store, one, at);
                }
            });
        }
    });
    // The last one to leave folds the write-ahead log into the database.
    drop(store);
}

fn as_show(plan: &Plan) -> Arc<Plan> {
    Arc::new(Plan { kind: PlanKind::Show, ..plan.clone() })
}

fn define(store: &BlockingStore, one: u64, at: Millis) {
    let chain = DefineChain {
        name: format!("chain-{one}"),
        definition: json!({"name": format!("chain-{one}"), "steps": [{"skill": "work"}]}),
        text: format!("name: chain-{one}\nsteps: [{{skill: work}}]\n"),
        sha256: format!("{one:064x}"),
        file: format!("/project/chain-{one}.yaml"),
        directory: "/project".to_owned(),
        by: Some("os:ann".to_owned()),
        at,
    };
    store.define_chain(&chain).expect("the store takes a chain");
}
