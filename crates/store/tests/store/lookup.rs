//! Runs are found by filter, by unique beginning, and as `last`.

use escrow_model::{ReasonCode, RunStatus};
use escrow_store::{BlockingStore, LookupError, Mode, RunFilter, Verification};

use crate::support::{House, ended, run_id};

fn check(house: &House, name: &str, expected: Result<&str, &[&str]>) {
    let found = match house.store.run(name) {
        Ok(row) => Ok(row.id.to_string()),
        Err(LookupError::None(_)) => Err(Vec::new()),
        Err(LookupError::Ambiguous { candidates, .. }) => {
            Err(candidates.iter().map(ToString::to_string).collect::<Vec<_>>())
        }
        Err(LookupError::Store(error)) => panic!("{error}"),
    };
    let expected = expected.map(str::to_owned).map_err(|many| many.iter().map(ToString::to_string).collect());
    assert_eq!(found, expected, "{name}");
}

#[test]
fn a_run_is_known_by_any_unique_beginning() {
    let house = House::new();
    check(&house, "last", Err(&[]));
    for (name, at) in [("1a", 3_000), ("1ab", 1_000), ("1b", 2_000), ("2", 500)] {
        house.start(name, at);
    }
    check(&house, "r_1ab", Ok("r_1ab"));
    check(&house, "1ab", Ok("r_1ab"));
    check(&house, "r_2", Ok("r_2"));
    check(&house, "1a", Ok("r_1a"));
    check(&house, "r_1", Err(&["r_1b", "r_1ab", "r_1a"]));
    check(&house, "r_3", Err(&[]));
    check(&house, "r_1%", Err(&[]));
    check(&house, "", Err(&[]));
    check(&house, "last", Ok("r_1a"));
}

#[test]
fn runs_are_listed_newest_first_and_filtered() {
    let house = House::new();
    for (name, at) in [("a", 1_000), ("b", 3_000), ("c", 2_000)] {
        house.start(name, at);
    }
    let mut tenant = house.start("d", 4_000);
    tenant.commit(&[ended(ReasonCode::FailedCheck)]);
    let names = |filter: RunFilter| -> Vec<String> {
        house.store.runs(&filter).unwrap().iter().map(|row| row.id.to_string()).collect()
    };
    assert_eq!(names(RunFilter::default()), ["r_d", "r_b", "r_c", "r_a"]);
    assert_eq!(names(RunFilter { limit: Some(2), ..RunFilter::default() }), ["r_d", "r_b"]);
    assert_eq!(names(RunFilter { since: Some(2_000), ..RunFilter::default() }), ["r_d", "r_b", "r_c"]);
    let running = RunFilter { status: Some(RunStatus::Running), ..RunFilter::default() };
    assert_eq!(names(running), ["r_b", "r_c", "r_a"]);
    let other = RunFilter { playbook: Some("other".into()), ..RunFilter::default() };
    assert_eq!(names(other), [""; 0]);
    let row = house.store.run("d").unwrap();
    assert_eq!((row.status, row.playbook.as_str(), row.seq), (RunStatus::Failed, "review", 2));
    assert_eq!(row.reason.unwrap().code, ReasonCode::FailedCheck);
}

#[test]
fn where_there_is_no_database_there_are_no_runs_and_none_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("escrow.db");
    let store = BlockingStore::open(&path, Mode::Read).unwrap();
    assert_eq!(store.runs(&RunFilter::default()).unwrap(), []);
    assert_eq!(store.feed(0, 10).unwrap(), []);
    assert_eq!(store.verify(&run_id("a")).unwrap(), Verification::NoSuchRun);
    assert!(matches!(store.run("last"), Err(LookupError::None(_))));
    assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none());

    // It is found as soon as somebody makes it.
    let _writer = BlockingStore::open(&path, Mode::Write).unwrap();
    assert_eq!(store.runs(&RunFilter::default()).unwrap(), []);
}
