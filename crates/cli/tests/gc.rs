//! `gc` removes journals before files, and finishes what it began.

mod desk;

use desk::Desk;

const PLAYBOOK: &str = "
version: '1.0'
checks: {a: {type: command, exec: 'echo a > $ESCROW_ARTIFACTS/a'}}
";

#[test]
fn files_that_an_interrupted_gc_left_are_removed_by_the_next_one() {
    let desk = Desk::new();
    let (code, document) = desk.run(PLAYBOOK);
    assert_eq!(code, Some(0), "{document}");
    let run = document["run"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(desk.escrow(&["gc", "--keep", "0"]).code, Some(0));
    // As a process leaves it that is killed between the journal and the files.
    let (left, foreign) = (format!(".escrow/artifacts/{run}/a"), ".escrow/artifacts/r_of_nobody/a");
    desk.write(&left, "");
    desk.write(foreign, "");
    assert_eq!(desk.escrow(&["gc", "--keep", "0"]).code, Some(0));
    assert!(!desk.path().join(left).exists(), "it belongs to a run that was removed");
    assert!(desk.path().join(foreign).exists(), "it belongs to no run that was ever here");
}

#[test]
fn the_name_of_the_event_has_both_spellings_in_the_context_file() {
    let desk = Desk::new();
    let (code, document) = desk.run_with(
        "version: '1.0'\nchecks: {a: {type: command, exec: 'cat $ESCROW_CONTEXT', guarantee: 'event.name == event.event_name'}}\n",
        &["--event", "pr_opened"],
    );
    assert_eq!(code, Some(0), "{document}");
    let event = &document["checks"]["a"]["output"]["event"];
    assert_eq!((&event["name"], &event["event_name"]), (&"pr_opened".into(), &"pr_opened".into()), "{event}");
}

#[test]
fn a_run_with_an_unknown_effect_stays_and_gc_says_so() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        "checks: {post: {type: command, criticality: external, exec: 'touch began; sleep 20.0519', timeout: 1s}}",
    );
    assert_eq!(code, Some(4), "{document}");
    let run = document["run"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(desk.escrow(&["cancel", &run]).code, Some(0));
    let kept = desk.escrow(&["gc", "--keep", "0", "--output", "json"]);
    assert_eq!(kept.code, Some(0));
    assert_eq!(kept.json()["kept"], serde_json::json!([run]));
    assert!(kept.stderr.contains(&format!("kept {run}")), "{}", kept.stderr);
    let effects = desk.escrow(&["effects", "--output", "json"]).json();
    let key = effects["effects"][0]["key"].as_str().expect("it is listed").to_owned();
    let settled = desk.escrow(&["effects", "resolve", &key, "failed", "--by", "ada", "--why", "I looked"]);
    assert_eq!(settled.code, Some(0), "{}", settled.stderr);
    assert_eq!(
        desk.escrow(&["gc", "--keep", "0", "--output", "json"]).json()["removed"],
        serde_json::json!([run])
    );
}
