//! Outcomes into a database, a transaction each, and the latest hundred of a kind out of 100,000, as in `outcomes.py`.

use escrow_contract::outcome::Kind;
use escrow_model::{OutcomeId, RecordedOutcome, ScopePath};
use escrow_store::{AddedOutcome, Durability, Mode, OutcomeFilter, Store};
use serde_json::{Value, json};

use crate::measure::{latency, rate};

const ROWS: usize = 100_000;

pub(crate) fn run() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(&directory.path().join("bench.db"), Mode::Write).expect("a database");
    let review = Kind::registered("review_verdict").expect("a kind");
    let mut number = 0_u64;
    rate("insert_artifact_new_rows", 5_000, "rows", |_, n| {
        for _ in 0..n {
            number += 1;
            // Judged and kept, as `outcomes add` does it; one transaction each.
            store.add_outcome(&added(number, review.judge(&content(number)).expect("an outcome"))).expect("kept");
        }
    });
    let ci = Kind::registered("ci_result").expect("a kind");
    let rest: Vec<AddedOutcome> = (number..ROWS as u64)
        .map(|number| {
            let kind = if number % 3 == 0 { &review } else { &ci };
            let content = if number % 3 == 0 { content(number) } else { json!({"lint_passed": number % 2 == 0}) };
            added(number + 1, kind.judge(&content).expect("an outcome"))
        })
        .collect();
    for some in rest.chunks(5_000) {
        store.add_outcomes(some, Durability::Grouped).expect("kept");
    }
    let kind = Some("review_verdict".to_owned());
    let latest = OutcomeFilter { kind: kind.clone(), limit: Some(100), ..OutcomeFilter::default() };
    latency("list_by_kind_latest_100_of_100k", || store.outcomes(&latest).expect("rows").len());
    let failed = OutcomeFilter { passed: Some(false), ..latest };
    latency("failed_reviews_latest_100_of_100k", || store.outcomes(&failed).expect("rows").len());
}

fn content(number: u64) -> Value {
    let finding = json!({
        "severity": "high", "category": "correctness", "file": "src/main.rs", "line": 42,
        "description": "off-by-one", "suggestion": "use n+1",
    });
    let verdict = if number % 2 == 0 { "REQUEST_CHANGES" } else { "APPROVE" };
    json!({
        "outcome_kind": "review_verdict", "summary": format!("round {number}"), "verdict": verdict, "round": 1,
        "findings": [finding, finding, finding],
    })
}

fn added(number: u64, outcome: escrow_model::Outcome) -> AddedOutcome {
    let at = 1_700_000_000_000 + number;
    AddedOutcome {
        created_at: at,
        run_id: None,
        invocation_id: Some("i-bench".into()),
        outcome: RecordedOutcome {
            id: OutcomeId::new(at, number),
            name: format!("r-{number}"),
            outcome,
            check: None,
            scope: ScopePath::root(),
            file_path: None,
        },
    }
}
