//! Agents: what they are told, and how an attempt that broke its contract is repaired.

use escrow_model::{Event, Request};
use escrow_testkit::{Options, Played, check, play};

fn requests(played: &Played) -> Vec<&Request> {
    let started = played.journal.iter().filter_map(|entry| match &entry.event {
        Event::AttemptStarted { request, .. } => Some(&**request),
        _ => None,
    });
    started.collect()
}

fn field<'r>(request: &'r Request, key: &str) -> &'r str {
    request.fields.get(key).and_then(|value| value.as_str()).unwrap_or_default()
}

#[test]
fn a_broken_contract_is_repaired_in_the_same_conversation() {
    check(
        "a {type: ai, prompt: Count., repair: 2, guarantee: output === 3}",
        &["a: said 1 then said 2 then said 3"],
        "
        started a #1
        failed a contract/guarantee_failed
        repair a #1
        started a #2
        failed a contract/guarantee_failed
        repair a #2
        started a #3
        succeeded a
        run.completed.ok",
    );
}

#[test]
fn at_most_as_many_repairs_are_made_as_the_check_says() {
    check(
        "a {type: ai, prompt: Count., repair: 1, guarantee: output === 3}",
        &["a: said 1"],
        "
        started a #1
        failed a contract/guarantee_failed
        repair a #1
        started a #2
        failed a contract/guarantee_failed
        run.failed.guarantee_failed",
    );
}

#[test]
fn a_fault_and_a_failure_by_fail_if_are_not_repaired() {
    check(
        "a {type: ai, prompt: Count., repair: 3, fail_if: output === 1}",
        &["a: said 1"],
        "
        started a #1
        failed a a_fail_if
        run.failed.fail_if",
    );
    check(
        "a {type: ai, prompt: Count., repair: 3, guarantee: output === 1}",
        &["a: timeout"],
        "
        started a #1
        failed a ai/timeout
        run.failed.check_failed",
    );
}

#[test]
fn repairs_end_with_the_budget() {
    check(
        "a {type: ai, prompt: Count., repair: 9, budget: {usd: 2}, guarantee: output === 3}",
        &["a: said 1"],
        "
        started a #1
        failed a contract/guarantee_failed
        repair a #1
        started a #2
        failed a contract/guarantee_failed
        run.failed.guarantee_failed",
    );
}

#[test]
fn a_spent_budget_is_the_cause_before_all_others() {
    check(
        "b {fail_if: \"true\"}; a<b {type: ai, prompt: p}; c {type: ai, prompt: p}",
        &["b: 1 after 1s", "c: spent after 5s"],
        "
        started b #1
        started c #1
        failed b b_fail_if
        skipped a dependency_failed
        failed c ai/budget_exhausted
        run.failed.budget_exhausted",
    );
}

#[test]
fn the_request_says_what_is_demanded_and_then_what_is_missing() {
    let played = play(
        "a {type: ai, prompt: Count., repair: 1, budget: {usd: 5, turns: 9}, guarantee: output === 3}",
        &["a: said 1 then said 3"],
        &Options::default(),
    );
    let requests = requests(&played);
    assert_eq!(requests.len(), 2);
    let first = field(requests[0], "prompt");
    assert!(first.starts_with("Count.\n\nThis work is under contract."), "{first}");
    assert!(first.ends_with("- `output === 3`"), "{first}");
    assert_eq!(field(requests[0], "permission"), "read");
    assert!(requests[0].fields.get("conversation").is_none());
    let second = field(requests[1], "prompt");
    assert!(second.contains("- `output === 3` does not hold"), "{second}");
    assert_eq!(requests[1].fields["conversation"]["id"], "c");
    assert_eq!(requests[1].fields["budget"], serde_json::json!({"usd": 4.0, "turns": 8}));
    for key in ["repair", "reuse_session", "not_same_as"] {
        assert!(requests[1].fields.get(key).is_none(), "{key}");
    }
}
