//! A small share of what `just simulate` plays, with every change.

use escrow_simulator::{Backend, Cases, Found, Settings, StoreKind, one, play, play_chains, simulate};

#[track_caller]
fn nothing_is_wrong(found: &Found, runs: u64) {
    if let Some(failure) = &found.failure {
        panic!("case {}: {}", failure.number, failure.report);
    }
    assert_eq!(found.runs, runs);
    assert!(found.lives > runs, "somebody was killed");
    for ending in ["completed", "failed", "cancelled", "timed_out"] {
        assert!(found.endings.contains_key(ending), "no run is {ending}");
    }
}

#[test]
fn runs_in_memory_keep_every_promise() {
    let settings =
        Settings { seed: 2, runs: 2_000, first: 0, store: StoreKind::Memory, jobs: 2, observer: |_| {} };
    nothing_is_wrong(&simulate(&settings), settings.runs);
}

#[test]
fn runs_on_sqlite_keep_every_promise() {
    let settings =
        Settings { seed: 3, runs: 128, first: 0, store: StoreKind::Sqlite, jobs: 2, observer: |_| {} };
    nothing_is_wrong(&simulate(&settings), settings.runs);
}

#[test]
fn a_case_is_the_same_whenever_it_is_played() {
    let mut cases = Cases::new(4);
    for case in (0..200).filter_map(|number| cases.case(number)) {
        let (one, other) = (play(&case, &Backend::Memory), play(&case, &Backend::Memory));
        assert_eq!(one.log, other.log, "case {}", case.number);
        assert!(one.journals == other.journals, "case {}", case.number);
    }
}

#[test]
fn no_fire_of_a_chain_is_lost_or_doubled() {
    for seed in 1..=3 {
        let played = play_chains(seed, 60).unwrap_or_else(|problem| panic!("{problem}"));
        assert!(played.runs >= 60 && played.nested > 0 && played.skipped > 0, "{played:?}");
        assert!(played.deaths > 0 && played.repeated > 0 && played.jumps > 0, "{played:?}");
    }
}

#[test]
fn a_world_of_chains_is_the_same_whenever_it_is_played() {
    let (one, other) = (play_chains(9, 40), play_chains(9, 40));
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// `reconcile` says `retry`, and another run hears that the effect happened before the next intent is committed.
#[test]
fn a_refused_retry_of_an_own_effect_is_not_decided_for_ever() {
    let (report, is_clean) = one(51, 303_560).expect("its plan loads");
    assert!(is_clean, "{report}");
}

/// A commit is refused because another run has the key, and before the journal is read again another process has taken
/// the run over and ended it.
#[test]
fn a_process_that_lost_an_ended_run_after_a_refused_commit_writes_nothing() {
    let (report, is_clean) = one(61, 158_197).expect("its plan loads");
    assert!(is_clean, "{report}");
}

/// A process wants to retry a nested run that failed, and another one, which has just taken it over, holds it.
#[test]
fn a_failed_nested_run_that_another_process_holds_is_waited_for() {
    let (report, is_clean) = one(81, 321_577).expect("its plan loads");
    assert!(is_clean, "{report}");
}
