//! Approvals and questions: what waits for a person.

use std::sync::Arc;

use escrow_engine::Refusal;
use escrow_model::{ApprovalSubject, Event, Message, RunOptions};
use escrow_testkit::{
    NestedPlans, Options, Played, Script, Stage, check, document, plan, play, tells, try_plan_nesting,
};
use serde_json::json;

/// What the last approval was asked for.
fn subject(played: &Played) -> ApprovalSubject {
    let asked = played.journal.iter().rev().find_map(|entry| match &entry.event {
        Event::WaitStarted { subject, .. } => subject.as_deref().cloned(),
        _ => None,
    });
    asked.expect("an approval was asked for")
}

#[test]
fn an_approval_shows_the_request_the_inputs_and_what_it_stands_on() {
    let text = r#"@inputs: {version: {default: "1.2"}}
        @artifacts: {expected: [{id: notes, path: notes.md}]}
        build {artifacts: notes}; unrelated
        ship<build external {requires_approval: true, exec: "ship {{ inputs.version }} $TARGET", env: {MODE: "{{ outputs.build.mode }}"}}"#;
    let mut options = Options::default();
    options.facts.captured.insert("ship".into(), [("TARGET".to_owned(), "prod".to_owned())].into());
    let script = [r#"build: {"mode": "fast"}"#, r#"seen {"notes": 7}"#];
    let played = play(text, &script, &options);
    let subject = subject(&played);
    assert_eq!(subject.playbook, "test");
    assert_eq!(subject.inputs["version"], "1.2");
    assert_eq!(subject.request.env["MODE"], "fast");
    assert_eq!(subject.request.environment.as_ref().expect("it is captured")["TARGET"], "prod");
    assert!(subject.request.fields["exec"].to_string().contains("1.2"), "{:?}", subject.request.fields);
    let outputs: Vec<&str> = subject.outputs.iter().map(|output| output.check.as_str()).collect();
    assert_eq!(outputs, ["build"], "what it does not stand on is left out");
    assert_eq!(subject.artifacts[0].path, "notes.md");
    assert_eq!(subject.artifacts[0].check, "build");
}

#[test]
fn an_approval_of_a_nested_playbook_covers_everything_that_it_reaches() {
    let asked = |digest: &str| {
        let texts = [
            ("deep.yaml", r#"act external {exec: "ship {{ event.to }}"}; look"#),
            ("middle.yaml", "deep {type: playbook, playbook: deep.yaml}"),
            ("unrelated.yaml", "other external"),
        ];
        let mut nested = NestedPlans::new();
        for (name, text) in texts {
            nested.insert(name.into(), try_plan_nesting(text, &nested).expect("it loads"));
        }
        let text = "nest {type: playbook, playbook: middle.yaml, requires_approval: true}
            last<nest {type: playbook, playbook: unrelated.yaml}";
        let mut plan = try_plan_nesting(text, &nested).expect("it loads");
        let files = &mut Arc::make_mut(&mut plan).nested.files;
        files.get_mut("deep.yaml").expect("it is reached").sha256 = digest.into();
        let mut stage = Stage::start(&plan, &Options::default(), Script::parse(&[]));
        stage.play(&[]);
        stage.drive.run.waits().into_iter().next().expect("it asks")
    };
    let (one, other) = (asked("one"), asked("other"));
    assert_ne!(one.subject, other.subject);
    let nested = one.subject.as_ref().and_then(|subject| subject.nested.clone()).expect("it is shown");
    assert_eq!(nested.file, "middle.yaml");
    let external: Vec<_> =
        nested.external.iter().map(|one| (one.check.as_str(), one.command.as_deref())).collect();
    assert_eq!(external, [("act", Some("ship {{ event.to }}"))]);
}

#[test]
fn an_approval_names_the_outcomes_it_stands_on() {
    let text = "review {outcome: gate_verdict}; ship<review external {requires_approval: true}";
    let played = play(text, &[r#"review: {"gate_passed": true, "summary": "fine"}"#], &Options::default());
    let subject = subject(&played);
    assert_eq!(subject.outcomes.len(), 1);
    assert_eq!((subject.outcomes[0].kind.as_str(), subject.outcomes[0].passed), ("gate_verdict", Some(true)));
    assert_eq!(subject.outcomes[0].sha256.len(), 64);
}

#[test]
fn a_prompt_is_a_template() {
    let text = r#"@inputs: {to: {default: "prod"}}
        a {requires_approval: {prompt: "Deploy to {{ inputs.to }}?"}}"#;
    let played = play(text, &[], &Options::default());
    assert_eq!(played.run.waits()[0].prompt, "Deploy to prod?");
}

#[test]
fn a_stale_approval_is_asked_for_again_three_times_and_then_denied() {
    let text = "post {requires_approval: true}; e1; e2; e3; e4";
    let steps = [
        "e1: env K=1 after 10s",
        "e2: env K=2 after 20s",
        "e3: env K=3 after 30s",
        "e4: env K=4 after 40s",
        "wait 11s",
        "approve post",
        "wait 10s",
        "approve post",
        "wait 10s",
        "approve post",
        "wait 10s",
        "approve post",
    ];
    let played = tells(
        text,
        &steps,
        "post failed x0 approval/denied
         e1 succeeded x1
         e2 succeeded x1
         e3 succeeded x1
         e4 succeeded x1
         run.aborted.denied",
    );
    let asks = played.journal.iter().filter(|entry| matches!(entry.event, Event::WaitStarted { .. }));
    assert_eq!(asks.count(), 5, "the fifth is denied at once");
    let replaced = played
        .journal
        .iter()
        .filter(|entry| matches!(&entry.event, Event::WaitStarted { replaces: Some(_), .. }));
    assert_eq!(replaced.count(), 4);
    assert!(
        played.message("post").contains("has changed after each of 4 approvals"),
        "{}",
        played.message("post")
    );
}

#[test]
fn the_time_of_an_approval_can_be_set() {
    tells(
        "a {requires_approval: {expires: 10m}}",
        &["wait 599s", "approve a"],
        "a succeeded x1
         run.completed.ok",
    );
    tells(
        "a {requires_approval: {expires: 10m}}",
        &["wait 600s", "approve a"],
        "a failed x0 approval/denied
         run.aborted.denied",
    );
}

#[test]
fn several_people_must_approve_and_each_counts_once() {
    check(
        "a external {requires_approval: {count: 2}}",
        &["approve a os:ann", "approve a os:ann", "approve a os:ben"],
        "asks a approval
         run.waiting.approval
         run.waiting.approval
         refused approve
         started a #1
         succeeded a
         run.completed.ok",
    );
}

#[test]
fn one_denial_decides_although_others_have_approved() {
    tells(
        "a external {requires_approval: {count: 2}}",
        &["approve a os:ann", "deny a", "approve a os:ben"],
        "a failed x0 approval/denied
         run.aborted.denied",
    );
}

#[test]
fn only_the_named_may_approve() {
    check(
        "a {requires_approval: {by: [ann, \"token:ci\"]}}",
        &["approve a", "approve a os:ben", "approve a os:ci", "approve a os:ann"],
        "asks a approval
         run.waiting.approval
         refused approve
         refused approve
         refused approve
         started a #1
         succeeded a
         run.completed.ok",
    );
}

#[test]
fn an_independent_approval_is_not_given_by_who_started_or_resumed_the_run() {
    let mut options = Options::default();
    options.run = RunOptions { started_by: vec!["os:ann".into()], ..options.run };
    let text = "a {requires_approval: {independent: true}}";
    let mut played = play(text, &[], &options);
    let id = played.run.waits()[0].id.clone();
    let _turn = played.run.handle(
        played.now_ms,
        escrow_engine::Input::Resume { by: vec!["os:ben".into()], ledger: Vec::new() },
    );
    let refusal = |by: Option<&str>| {
        let by = by.map(str::to_owned);
        played.run.refusal(&Message::Approve { id: id.clone(), by, claim: None, note: None })
    };
    assert_eq!(refusal(Some("os:ann")), Some(Refusal::NotIndependent("os:ann".into())));
    assert_eq!(refusal(Some("os:ben")), Some(Refusal::NotIndependent("os:ben".into())));
    assert_eq!(refusal(None), Some(Refusal::NotIndependent("an unknown actor".into())));
    assert_eq!(refusal(Some("os:cid")), None);
}

#[test]
fn a_denial_says_who_and_why() {
    let mut played = play("a {requires_approval: true}", &[], &Options::default());
    let id = played.run.waits()[0].id.clone();
    let (by, note) = (Some("os:ann".to_owned()), Some("not on a Friday".to_owned()));
    let claim = Some("Ann B.".to_owned());
    let _turn = played
        .run
        .handle(played.now_ms, escrow_engine::Input::Message(Message::Deny { id, by, claim, note }));
    let reason = played.run.reason().expect("it ended");
    assert_eq!(reason.summary, "`a`: os:ann (as Ann B.) denied it: not on a Friday");
    assert!(reason.evidence.iter().any(|one| one.kind == "person" && one.id == "os:ann"));
    let decision = &played.run.decisions()[0];
    assert_eq!((decision.check.as_str(), decision.by.as_deref()), ("a", Some("os:ann")));
}

#[test]
fn a_check_that_requires_approval_waits_before_its_intent() {
    check(
        "post external {requires_approval: true}; b",
        &["approve post"],
        "
        asks post approval
        started b #1
        succeeded b
        run.waiting.approval
        started post #1
        succeeded post
        run.completed.ok",
    );
}

#[test]
fn a_denied_approval_aborts_the_run() {
    tells(
        "post external {requires_approval: true}; b<post; c",
        &["deny post"],
        "
        post failed x0 approval/denied
        b skipped x0 run_ended
        c succeeded x1
        run.aborted.denied",
    );
}

#[test]
fn an_approval_is_resolved_once() {
    check(
        "a {requires_approval: true}",
        &["a: never", "approve a", "approve a", "deny a", "cancel"],
        "
        asks a approval
        run.waiting.approval
        started a #1
        refused approve
        refused deny
        failed a command/cancelled
        run.cancelled.user",
    );
}

#[test]
fn an_approval_may_come_until_the_day_is_over() {
    tells(
        "a {requires_approval: true}",
        &["wait 86399s", "approve a"],
        "
        a succeeded x1
        run.completed.ok",
    );
    tells(
        "a {requires_approval: true}",
        &["wait 86400s", "approve a"],
        "
        a failed x0 approval/denied
        run.aborted.denied",
    );
}

#[test]
fn an_approval_that_nobody_gives_expires_to_a_denial() {
    tells(
        "a {requires_approval: true}",
        &["wait 25h"],
        "
        a failed x0 approval/denied
        run.aborted.denied",
    );
}

#[test]
fn an_approval_goes_stale_when_what_it_approves_changes() {
    // `x` is sent back once, so what `post` would do changes under the approval.
    let played = check(
        r#"x; post<x external {requires_approval: true, note: "{{ outputs.x }}"}
           back<x {on_success: {transitions: [{when: "attempt < 2", to: x}]}}"#,
        &["x: 1 then 2", "back: 1 after 5s", "wait 1s", "wait 10s", "approve post"],
        "started x #1
         succeeded x
         asks post approval
         started back #1
         succeeded back
         routed back -> x on_success.transition
         withdrawn post
         started x #2
         succeeded x
         asks post approval
         started back #2
         succeeded back
         run.waiting.approval
         started post #1
         succeeded post
         run.completed.ok",
    );
    assert_eq!(played.check("post")["runs"], 1);
}

#[test]
fn an_approval_outlives_a_crash() {
    check(
        "a {requires_approval: true}",
        &["crash", "approve a"],
        "
        asks a approval
        run.waiting.approval
        resumed
        run.waiting.approval
        started a #1
        succeeded a
        run.completed.ok",
    );
}

#[test]
fn a_retry_of_what_was_approved_does_not_ask_again() {
    check(
        "a {requires_approval: true, on_fail: {retry: {max: 1}}}",
        &["a: exit 1 then 1", "approve a"],
        "
        asks a approval
        run.waiting.approval
        started a #1
        failed a command/exit_nonzero
        retry a #1
        started a #2
        succeeded a
        run.completed.ok",
    );
}

#[test]
fn a_question_is_answered_by_a_message() {
    tells(
        r#"ask {type: human-input, prompt: "which?", choices: [red, blue]}; b<ask {guarantee: "outputs.ask === 'blue'"}"#,
        &["answer ask green", "answer ask blue"],
        "ask succeeded x1
         b succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_question_without_an_answer_expires_to_its_default() {
    tells(
        r#"ask {type: human-input, prompt: "which?", default: red}; b<ask {guarantee: "outputs.ask === 'red'"}"#,
        &["wait 25h"],
        "ask succeeded x1
         b succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_question_without_a_default_expires_to_a_denial() {
    tells(
        r#"ask {type: human-input, prompt: "which?"}; b<ask"#,
        &["wait 25h"],
        "
        ask failed x1 human-input/denied
        b skipped x0 run_ended
        run.aborted.denied",
    );
}

#[test]
fn a_question_may_be_denied() {
    tells(
        r#"ask {type: human-input, prompt: "which?"}; b"#,
        &["deny ask"],
        "
        ask failed x1 human-input/denied
        b succeeded x1
        run.aborted.denied",
    );
}

#[test]
fn messages_that_match_no_wait_are_refused() {
    check(
        r#"ask {type: human-input, prompt: "which?"}"#,
        &["approve ask", "answer nobody x", "answer ask x"],
        "
        started ask #1
        asks ask input
        run.waiting.input
        refused approve
        refused answer
        succeeded ask
        run.completed.ok",
    );
}

#[test]
fn what_is_waited_for_is_listed_with_its_prompt() {
    let played = play(
        r#"a {requires_approval: true}; ask {type: human-input, prompt: "which?", choices: [x, y]}"#,
        &[],
        &Options::default(),
    );
    let mut waits = played.run.waits();
    waits.sort_by_key(|wait| wait.check.clone());
    assert_eq!(waits.len(), 2);
    assert_eq!(waits[1].prompt, "which?");
    assert_eq!(waits[1].choices, ["x", "y"]);
    assert_eq!(played.reason(), "run.waiting.approval");
}

#[test]
fn each_item_asks_for_itself() {
    tells(
        "list forEach; post<list {requires_approval: true}",
        &["list: [0, 1]", "approve post[1]", "approve post[0]"],
        "list succeeded x1
         post succeeded x2
         post[0] succeeded x1
         post[1] succeeded x1
         run.completed.ok",
    );
}

#[test]
fn an_approved_external_item_does_not_hold_up_those_that_wait_for_approval() {
    tells(
        "list forEach; post<list external {requires_approval: true}",
        &["list: [0, 1]", "approve post[1]"],
        "list succeeded x1
         post waiting x1
         post[0] waiting x0
         post[1] succeeded x1
         run.waiting.approval",
    );
}

#[test]
fn a_default_that_is_none_of_the_choices_answers_nothing() {
    tells(
        r#"word; ask<word {type: human-input, prompt: "which?", choices: [red, blue], default: "{{ outputs.word }}"}"#,
        &[r#"word: "green""#, "wait 25h"],
        "
        word succeeded x1
        ask failed x1 human-input/denied
        run.aborted.denied",
    );
    tells(
        r#"word; ask<word {type: human-input, prompt: "which?", choices: [red, blue], default: "{{ outputs.word }}"}"#,
        &[r#"word: "blue""#, "wait 25h"],
        "
        word succeeded x1
        ask succeeded x1
        run.completed.ok",
    );
}

/// The next process may have a clock that is behind that of the one which asked.
#[test]
fn a_question_expires_by_the_time_of_who_asked_and_that_never_goes_backwards() {
    for text in ["a {requires_approval: {expires: 1h}}", "a {type: human-input, prompt: go, timeout: 1h}"] {
        let mut played = play(text, &[], &Options::default());
        let asked_at = played.now_ms;
        let before = played.run.waits()[0].clone();
        let expires_at = before.expires_at.expect("it expires");
        let behind = asked_at.saturating_sub(7_200_000);
        let resumed =
            played.run.handle(behind, escrow_engine::Input::Resume { by: Vec::new(), ledger: Vec::new() });
        assert!(resumed.entries.iter().all(|entry| entry.at >= expires_at - 3_600_000), "{text}");
        assert_eq!(played.run.waits()[0].expires_at, Some(expires_at), "{text}");
        let early = played.run.handle(expires_at - 1, escrow_engine::Input::Wake);
        assert!(early.entries.is_empty(), "{text}: {:?}", early.entries);
        let _late = played.run.handle(expires_at, escrow_engine::Input::Wake);
        assert!(played.run.waits().is_empty(), "{text}");
    }
}

#[test]
fn a_contract_that_breaks_while_a_person_is_asked_blocks_the_effect() {
    // `each` is skipped at once, because the list is empty, so that `post` does not wait for `gate`.
    let plan = plan(
        r#"list forEach; gate {fail_if: "output === 3"}; each<list,gate map; post<each reduce external {requires_approval: true}"#,
    );
    let script = Script::parse(&["list: []", "gate: 3 after 5s"]);
    let mut stage = Stage::start(&plan, &Options::default(), script);
    stage.play(&[]);
    assert_eq!(document(&stage.drive.run)["checks"]["gate"]["status"], "failed");
    for _ in 0..3 {
        let Some(wait) = stage.drive.run.waits().into_iter().next() else { break };
        stage.message(Message::Approve { id: wait.id, by: None, claim: None, note: None });
        stage.play(&[]);
    }
    let post = &document(&stage.drive.run)["checks"]["post"];
    assert_eq!((&post["runs"], &post["skip_reason"]), (&json!(0), &json!("contract_blocked")));
}
