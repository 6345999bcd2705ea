//! Fault events in the journal: which checks a fault isolates, and when recovery is exhausted.

use escrow_testkit::check;

#[test]
fn a_fault_is_isolated_where_it_keeps_somebody_from_running() {
    check(
        "a; b<a; lone; passed info {continue_on_failure: true}; c<passed",
        &["a: exit 1", "lone: exit 1", "passed: exit 1"],
        "
        started a #1
        started lone #1
        started passed #1
        failed a command/exit_nonzero
        isolated a
        skipped b dependency_failed
        failed lone command/exit_nonzero
        failed passed command/exit_nonzero
        started c #1
        succeeded c
        warning passed check_failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn recovery_is_exhausted_once_nothing_is_left_to_try() {
    check(
        "a {on_fail: {run: [fix], retry: {max: 1}}}; fix",
        &["a: exit 1"],
        "
        started a #1
        failed a command/exit_nonzero
        recovery a started run fix
        routed a -> fix on_fail.run
        started fix #1
        succeeded fix
        recovery a started retry
        retry a #1
        started a #2
        failed a command/exit_nonzero
        recovery a started run fix
        routed a -> fix on_fail.run
        started fix #2
        succeeded fix
        recovery a exhausted
        run.failed.exit_nonzero",
    );
}
