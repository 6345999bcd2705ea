//! Effects: their keys and generations, and what is asked before one is attempted again.

use std::sync::Arc;

use escrow_engine::{Effect, Input, LedgerNews, Run, Turn};
use escrow_model::{
    Answer, EffectIntent, EffectState, Event, FaultCode, LedgerEffect, ProviderFault, RunId, ScopePath,
};
use escrow_testkit::{Options, Played, check, document, plan, play, tells};
use serde_json::json;

#[test]
fn the_key_is_the_same_through_retries_and_through_the_reopening_of_a_failed_run() {
    let played = play(
        "post external {on_fail: {retry: {max: 1}}}",
        &["post: exit 1 then exit 1 then 1", "wait 10s", "reopen"],
        &Options::default(),
    );
    let keys = keys(&played, "post");
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]), "one effect: {keys:?}");
    let generations: Vec<_> = intents(&played, "post").iter().map(|intent| intent.generation).collect();
    assert_eq!(generations, [Some(1), Some(1), Some(1)]);
}

#[test]
fn a_route_to_a_check_whose_effect_is_confirmed_begins_the_next_generation() {
    let text = r#"a; post<a external {on_success: {transitions: [{when: "attempt < 2", to: a}]}}"#;
    let played = play(text, &[], &Options::default());
    let intents = intents(&played, "post");
    assert_eq!(intents.iter().map(|intent| intent.generation).collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert_ne!(intents[0].key, intents[1].key);
    assert_ne!(requests(&played, "post")[0], requests(&played, "post")[1]);
}

#[test]
fn a_route_to_a_check_that_definitely_failed_begins_the_next_generation() {
    let text = r#"post external {on_fail: {transitions: [{when: "attempt < 2", to: post}]}}"#;
    let played = play(text, &["post: exit 1 then 1"], &Options::default());
    let intents = intents(&played, "post");
    assert_eq!(intents.iter().map(|intent| intent.generation).collect::<Vec<_>>(), [Some(1), Some(2)]);
}

#[test]
fn a_confirmed_effect_that_broke_its_contract_is_not_repeated_by_a_route() {
    check(
        r#"post external {guarantee: "output > 1", on_fail: {transitions: [{when: "attempt < 2", to: post}]}}"#,
        &["post: 1 then 2"],
        "
        started post #1
        failed post contract/guarantee_failed
        routed post -> post on_fail.transition
        asks post unknown_effect
        run.waiting.unknown_effect",
    );
}

#[test]
fn a_confirmed_effect_that_broke_its_contract_is_not_repeated_when_the_run_is_reopened() {
    let played = check(
        r#"post external {guarantee: "output > 1"}"#,
        &["post: 1 then 2", "reopen"],
        "
        started post #1
        failed post contract/guarantee_failed
        run.failed.guarantee_failed
        reopened post
        asks post unknown_effect
        run.waiting.unknown_effect",
    );
    assert_eq!(played.check("post")["runs"], 1);
}

#[test]
fn a_person_lets_it_run_again_under_the_same_key() {
    let played = tells(
        r#"post external {guarantee: "output > 1"}"#,
        &["post: 1 then 2", "reopen", "assume post retry"],
        "post succeeded x2
         run.completed.ok",
    );
    let keys = keys(&played, "post");
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn a_person_who_says_that_it_is_done_does_not_mend_its_contract() {
    tells(
        r#"post external {guarantee: "output > 1"}; next<post"#,
        &["post: 1 then 2", "reopen", "assume post done"],
        "post failed x1 contract/guarantee_failed
         next skipped x0 dependency_failed
         run.failed.guarantee_failed",
    );
}

#[test]
fn reconcile_lets_a_confirmed_effect_with_a_broken_contract_run_again() {
    check(
        r#"post external {reconcile: ./look, guarantee: "output > 1", retry_on: [logical], on_fail: {retry: {max: 1}}}"#,
        &["post: 1 then 2", "post?: \"retry\""],
        "
        started post #1
        failed post contract/guarantee_failed
        retry post #1
        reconcile post #1
        found post retry
        started post #2
        succeeded post
        run.completed.ok",
    );
}

#[test]
fn an_idempotent_effect_is_repeated_and_nothing_is_asked() {
    tells(
        r#"post external {idempotent: true, guarantee: "output > 1", retry_on: [logical, transient], on_fail: {retry: {max: 3}}}"#,
        &["post: 1 then timeout then exit 1 then 2"],
        "post succeeded x4
         run.completed.ok",
    );
}

#[test]
fn reconcile_is_asked_before_a_retry_whatever_the_fault_and_after_the_backoff() {
    for fault in ["exit 1", "timeout", "signal", "http 503"] {
        let played = check(
            "post external {reconcile: ./look, on_fail: {retry: {max: 2, backoff: {delay_ms: 10000}}}}",
            &[&format!("post: {fault} then 1"), "post?: \"retry\""],
            &if ["exit 1", "http 503"].contains(&fault) {
                format!(
                    "
                    started post #1
                    failed post {}
                    retry post #1
                    reconcile post #1
                    found post retry
                    started post #2
                    succeeded post
                    run.completed.ok",
                    if fault == "exit 1" { "command/exit_nonzero" } else { "command/status" }
                )
            } else {
                "
                started post #1
                retry post #1
                reconcile post #1
                found post retry
                started post #2
                succeeded post
                run.completed.ok"
                    .to_owned()
            },
        );
        let at = |wanted: fn(&Event) -> bool| {
            played
                .journal
                .iter()
                .filter(|entry| wanted(&entry.event))
                .map(|entry| entry.at)
                .collect::<Vec<_>>()
        };
        let answered = at(|event| matches!(event, Event::AttemptAnswered { .. }))[0];
        let asked = at(|event| matches!(event, Event::ReconcileStarted { .. }))[0];
        let again = at(|event| matches!(event, Event::AttemptStarted { .. }))[1];
        assert!(asked >= answered + 9_000, "after the backoff: {answered} {asked}");
        assert_eq!(asked, again, "right before the attempt");
    }
}

#[test]
fn a_definite_failure_that_reconcile_finds_done_is_a_success() {
    tells(
        "post external {reconcile: ./look, on_fail: {retry: {max: 2}}}",
        &["post: exit 1", "post?: \"done\""],
        "post succeeded x1
         run.completed.ok",
    );
}

#[test]
fn repeats_that_reconcile_wants_count_against_the_retries_of_the_check() {
    let played = play(
        "post external {reconcile: ./look, on_fail: {retry: {max: 2, backoff: {delay_ms: 1}}}}",
        &["post: lost", "post?: \"retry\""],
        &Options::default(),
    );
    assert_eq!(played.check("post")["runs"], 3, "two retries, and then a person");
    assert_eq!(played.reason(), "run.waiting.unknown_effect");
}

#[test]
fn the_output_of_an_effect_that_was_found_done_may_come_from_reconcile() {
    let played = tells(
        r#"post external {guarantee: "output.id === 7", reconcile: {exec: ./look, done: "output.found", output: "output.what"}}
           next<post {guarantee: "outputs.post.id === 7"}"#,
        &["post: timeout", r#"post?: {"found": true, "what": {"id": 7}}"#],
        "post succeeded x1
         next succeeded x1
         run.completed.ok",
    );
    assert_eq!(played.check("post")["output"], json!({"id": 7}));
}

#[test]
fn contracts_that_read_a_lost_output_fail() {
    for contract in [
        r#"guarantee: "output.id === 7""#,
        r#"fail_if: "output === 3""#,
        r#"schema: {type: object}"#,
        r#"rules: [{rule_id: id, field: id, check: required}]"#,
    ] {
        let played = play(
            &format!("post external {{{contract}, reconcile: ./look}}"),
            &["post: timeout", "post?: \"done\""],
            &Options::default(),
        );
        assert_eq!(played.check("post")["issues"][0]["rule_id"], "effect/output_lost", "{contract}");
        assert_eq!(played.check("post")["status"], "failed", "{contract}");
    }
}

#[test]
fn contracts_that_do_not_read_the_output_are_judged_without_it() {
    tells(
        r#"post external {guarantee: "attempt === 1", reconcile: ./look}"#,
        &["post: timeout", "post?: \"done\""],
        "post succeeded x1
         run.completed.ok",
    );
}

#[test]
fn the_output_of_a_failed_attempt_does_not_count_when_a_person_says_that_it_is_done() {
    tells(
        r#"post external {guarantee: "output.id === 7", reconcile: ./look, on_fail: {retry: {max: 1}}}"#,
        &[r#"post: exit 1 {"id": 7}"#, "post?: \"done\""],
        "post failed x1 effect/output_lost
         run.failed.check_failed",
    );
}

#[test]
fn items_are_known_by_their_values_and_their_occurrence_among_equals() {
    let played = play("list forEach; post<list external", &["list: [7, 8, 7]"], &Options::default());
    let keys = keys(&played, "post");
    assert_eq!(keys.len(), 3);
    assert!(keys[0] != keys[2], "two effects for two equal items");
    // A list in another order: the same items, the same keys.
    let other = play("list forEach; post<list external", &["list: [8, 7, 7]"], &Options::default());
    let mut sorted = (keys, self::keys(&other, "post"));
    sorted.0.sort();
    sorted.1.sort();
    assert_eq!(sorted.0, sorted.1);
}

#[test]
fn the_effect_key_of_a_nested_run_begins_with_that_of_the_check_around_it() {
    let mut options = Options::default();
    let plain = keys(&play("post external", &[], &options), "post");
    options.run.effect_origin = Some(escrow_model::EffectOrigin { key: "outer".into(), shared: false });
    let nested = keys(&play("post external", &[], &options), "post");
    assert_ne!(plain, nested);
    options.run.run = RunId::new(5, 5);
    let in_another_run = keys(&play("post external", &[], &options), "post");
    assert_eq!(nested, in_another_run, "the id of the nested run is not part of it");
}

#[test]
fn a_confirmed_effect_of_another_run_is_not_repeated_and_its_output_is_judged_here() {
    let played = tells(
        r#"post external {effect_key: "publish-1", guarantee: "output.id === 7"}; next<post {guarantee: "outputs.post.id === 7"}"#,
        &[r#"ledger publish-1 confirmed {"id": 7}"#],
        "post succeeded x0
         next succeeded x1
         run.completed.ok",
    );
    assert_eq!(played.check("post")["result"]["already_done"], true);
    assert_eq!(played.check("post")["runs"], 0);
    assert_eq!(played.check("post")["output"], json!({"id": 7}));
}

#[test]
fn an_effect_that_was_confirmed_before_counts_as_having_run() {
    tells(
        r#"post external {effect_key: "publish-1"}"#,
        &["ledger publish-1 confirmed 1"],
        "post succeeded x0
         run.completed.ok",
    );
}

#[test]
fn the_contracts_of_this_run_may_refuse_the_recorded_output() {
    tells(
        r#"post external {effect_key: "publish-1", guarantee: "output.id === 7"}; next<post"#,
        &[r#"ledger publish-1 confirmed {"id": 8}"#],
        "post failed x0 contract/guarantee_failed
         next skipped x0 dependency_failed
         run.failed.guarantee_failed",
    );
}

#[test]
fn a_loop_over_an_effect_that_is_already_done_has_the_loop_budget_of_any_other() {
    let text = r#"post external {effect_key: "publish-1", on_success: {goto: post}}"#;
    let played = play(text, &["ledger publish-1 confirmed 1"], &Options::default());
    assert_eq!(played.reason(), "run.failed.loop_budget");
}

#[test]
fn the_same_key_for_another_request_is_a_conflict() {
    let played = tells(
        r#"post external {effect_key: "publish-1"}"#,
        &["ledger publish-1 confirmed 1", "digest 123456789abcdef"],
        "post failed x0 effect/key_conflict
         run.failed.check_failed",
    );
    assert!(
        played.message("post").contains("run `r_elsewhere` used for another request"),
        "{}",
        played.message("post")
    );
}

#[test]
fn an_effect_that_is_under_way_or_unknown_in_another_run_waits_and_names_it() {
    for state in ["intended", "unknown"] {
        let played = play(
            r#"post external {effect_key: "publish-1"}"#,
            &[&format!("ledger publish-1 {state}")],
            &Options::default(),
        );
        assert_eq!(played.reason(), "run.waiting.unknown_effect");
        assert_eq!(played.check("post")["status"], "waiting");
        let reason = played.run.reason().expect("it waits");
        assert!(reason.summary.contains("r_elsewhere"), "{}", reason.summary);
        assert!(reason.evidence.iter().any(|one| one.kind == "run" && one.id == "r_elsewhere"));
    }
}

#[test]
fn a_run_that_waits_for_another_one_asks_the_ledger_again_when_it_is_resumed() {
    tells(
        r#"post external {effect_key: "publish-1"}"#,
        &["ledger publish-1 intended", "ledger publish-1 confirmed 1", "crash"],
        "post succeeded x0
         run.completed.ok",
    );
    tells(
        r#"post external {effect_key: "publish-1"}"#,
        &["ledger publish-1 unknown", "ledger publish-1 failed", "crash"],
        "post succeeded x1
         run.completed.ok",
    );
}

#[test]
fn an_unknown_effect_of_another_run_is_settled_by_idempotent_or_reconcile() {
    tells(
        r#"post external {effect_key: "publish-1", idempotent: true}"#,
        &["ledger publish-1 unknown"],
        "post succeeded x1
         run.completed.ok",
    );
    tells(
        r#"post external {effect_key: "publish-1", reconcile: ./look}"#,
        &["ledger publish-1 unknown", "post?: \"done\""],
        "post succeeded x0
         run.completed.ok",
    );
    tells(
        r#"post external {effect_key: "publish-1", reconcile: ./look}"#,
        &["ledger publish-1 unknown", "post?: \"retry\""],
        "post succeeded x1
         run.completed.ok",
    );
}

/// Two checks of one run have the same key. The ledger answers `b` with `then`.
fn only_one_of_two_starts(then: &str) {
    check(
        r#"a external {effect_key: "publish-1"}; b external {effect_key: "publish-1"}"#,
        &["a: 1 after 5s", "ledger publish-1 failed", then, "ledger publish-1 confirmed 1"],
        "
        ledger a asked publish-1
        ledger b asked publish-1
        ledger a failed
        started a #1
        ledger b intended
        asks b unknown_effect
        succeeded a
        ledger b asked publish-1
        ledger b confirmed
        withdrawn b
        reused b
        succeeded b
        run.completed.ok",
    );
}

#[test]
fn a_check_that_waits_for_another_check_of_the_same_run_asks_the_ledger_when_that_has_settled() {
    only_one_of_two_starts("ledger publish-1 intended");
}

/// The ledger was read before either of them had intended the effect.
#[test]
fn of_two_checks_that_find_a_key_free_at_once_only_one_starts() {
    only_one_of_two_starts("ledger publish-1 failed");
}

/// `reconcile` tells `a` that it may be tried again and `b` that it happened; the ledger was read between the two.
#[test]
fn of_two_opposite_findings_about_a_key_the_one_that_it_happened_counts() {
    let text = r#"a external {effect_key: "publish-1", reconcile: ./look}; b external {effect_key: "publish-1", reconcile: ./look}"#;
    let options = Options::default();
    let (mut run, mut turn) = Run::start(plan(text), Arc::new(options.run), Arc::new(options.facts), 1_000);
    let consulted = consultations(&turn);
    assert_eq!(consulted.len(), 2, "{:?}", turn.effects);
    let mut inspections = Vec::new();
    for asked in &consulted {
        turn = run.handle(1_000, ledger_answer(asked, EffectState::Unknown));
        inspections.extend(turn.effects.iter().filter_map(|effect| match effect {
            Effect::Reconcile { attempt, .. } => Some(attempt.clone()),
            _ => None,
        }));
    }
    let [a, b] = &inspections[..] else { panic!("both are reconciled: {inspections:?}") };

    turn = run.handle(1_001, Input::Reconciled { attempt: a.clone(), answer: Answer::done(json!("retry")) });
    let asked_again = consultations(&turn);
    turn = run.handle(1_002, Input::Reconciled { attempt: b.clone(), answer: Answer::done(json!("done")) });
    for asked in &asked_again {
        turn = run.handle(1_003, ledger_answer(asked, EffectState::Failed));
        assert_eq!(consultations(&turn).len(), 1, "the answer is older than the finding: {:?}", turn.effects);
    }
    let performed = turn.effects.iter().any(|effect| matches!(effect, Effect::Perform { .. }));
    assert!(!performed && !asked_again.is_empty(), "{:?}", turn.effects);
}

fn consultations(turn: &Turn) -> Vec<Effect> {
    turn.effects.iter().filter(|effect| matches!(effect, Effect::Consult { .. })).cloned().collect()
}

fn ledger_answer(asked: &Effect, state: EffectState) -> Input {
    let Effect::Consult { check, scope, key, digest } = asked.clone() else { panic!("{asked:?}") };
    let effect = LedgerEffect {
        run: RunId::from_stored("r_elsewhere"),
        check: "publish".into(),
        scope: ScopePath::default(),
        attempts: 1,
        state,
        digest,
        answer: None,
    };
    Input::LedgerAnswered { check, scope, key, effect: Some(Box::new(effect)) }
}

/// The run is resumed while it is at work, while `reconcile` looks, or while it is to look after a pause. By then another run
/// has had the effect, or a person has said that it did not happen.
#[test]
fn a_resumed_run_learns_from_the_ledger_what_became_of_its_effect_and_does_not_ask_reconcile() {
    let looks = r#"post external {effect_key: "publish-1", guarantee: "output === 7", reconcile: ./look}"#;
    let pauses = r#"post external {effect_key: "publish-1", guarantee: "output === 7", reconcile: ./look, on_fail: {retry: {max: 1}}}"#;
    for (text, is_answered) in [(looks, false), (looks, true), (pauses, false), (pauses, true)] {
        for (state, verdict) in [(EffectState::Confirmed, "succeeded"), (EffectState::Failed, "failed")] {
            let options = Options::default();
            let (mut run, turn) =
                Run::start(plan(text), Arc::new(options.run), Arc::new(options.facts), 1_000);
            let [asked] = &consultations(&turn)[..] else { panic!("{:?}", turn.effects) };
            let free = ledger_answer(asked, EffectState::Failed);
            let begun = run.handle(1_000, free);
            let [Effect::Perform { attempt, .. }] = &begun.effects[..] else { panic!("{:?}", begun.effects) };
            if is_answered {
                let lost = ProviderFault::transient(FaultCode::Timeout, "too slow").with_unknown_effect();
                let answer = Answer::fault(lost);
                let _answered = run.handle(1_001, Input::Answered { attempt: attempt.clone(), answer });
            }
            let [about] = &run.open_effects()[..] else { panic!("{:?}", run.open_effects()) };
            let Input::LedgerAnswered { effect: Some(effect), .. } = ledger_answer(asked, state) else {
                panic!("{asked:?}")
            };
            let answer = (state == EffectState::Confirmed).then(|| Arc::new(Answer::done(json!(7))));
            let news = LedgerNews { about: about.clone(), effect: LedgerEffect { answer, ..*effect } };
            let resumed = run.handle(1_002, Input::Resume { by: Vec::new(), ledger: vec![news] });
            let asks = resumed
                .effects
                .iter()
                .any(|effect| matches!(effect, Effect::Reconcile { .. } | Effect::Perform { .. }));
            assert!(!asks, "{text}: {:?}", resumed.effects);
            assert!(run.status().is_terminal(), "{text}: {:?}", resumed.entries);
            let document = document(&run);
            assert_eq!(document["checks"]["post"]["status"], verdict, "{text}");
        }
    }
}

#[test]
fn the_ledger_is_consulted_before_an_approval_is_asked() {
    tells(
        r#"post external {effect_key: "publish-1", requires_approval: true}"#,
        &["ledger publish-1 confirmed 1"],
        "post succeeded x0
         run.completed.ok",
    );
}

#[test]
fn the_word_of_a_person_about_the_effect_of_another_run_is_for_the_ledger() {
    for word in ["done", "failed", "retry"] {
        let said = format!("assume post {word}");
        let text = r#"post external {effect_key: "publish-1"}"#;
        let played = play(text, &["ledger publish-1 unknown", &said], &Options::default());
        let asked = played.journal.iter().find_map(|entry| match &entry.event {
            Event::MessageDelivered { effect, refused: None, .. } => effect.clone(),
            _ => None,
        });
        let asked = asked.expect("the answer names the effect");
        assert_eq!((asked.key.as_str(), asked.attempts_elsewhere), ("publish-1", Some(1)), "{word}");
    }
}

#[test]
fn a_question_that_the_ledger_has_answered_is_withdrawn_and_answers_no_approval() {
    let played = check(
        r#"post external {effect_key: "publish-1", requires_approval: true}"#,
        &[
            "ledger publish-1 unknown",
            "ledger publish-1 failed",
            "crash",
            "assume post done",
            "assume post retry",
        ],
        "
        ledger post asked publish-1
        ledger post unknown
        asks post unknown_effect
        run.waiting.unknown_effect
        resumed
        ledger post asked publish-1
        ledger post failed
        withdrawn post
        asks post approval
        run.waiting.approval
        refused assume
        refused assume",
    );
    assert_eq!(played.check("post")["runs"], 0);
}

#[test]
fn the_variables_that_are_handed_over_are_part_of_the_request() {
    let text = r#"a; post<a external {type: command, exec: "echo $TARGET", effect_key: "publish-1"}"#;
    let digest = |target: &str| {
        let played = play(text, &[&format!("a: env TARGET={target}")], &Options::default());
        intents(&played, "post").remove(0).digest
    };
    assert_eq!(digest("one"), digest("one"));
    assert_ne!(digest("one"), digest("two"));
}

#[test]
fn an_effect_key_without_a_value_fails_before_the_provider() {
    tells(
        r#"@inputs: {version: {type: string, default: ""}}
           post external {effect_key: "{{ inputs.version }}"}"#,
        &[],
        "post failed x0 system/template_error
         run.failed.expression_error",
    );
}

#[test]
fn a_persons_word_against_the_ledger_is_a_new_key() {
    let mut options = Options::default();
    options.run.again = vec!["post".into()];
    let text = r#"post external {effect_key: "publish-1"}"#;
    let played = play(text, &["ledger publish-1 confirmed 1"], &options);
    assert_eq!(played.check("post")["runs"], 1);
    let keys: Vec<String> = intents(&played, "post").into_iter().map(|intent| intent.key).collect();
    assert!(keys[0].starts_with("publish-1@r_"), "{keys:?}");
}

#[test]
fn the_idempotency_key_follows_from_the_key_alone() {
    let mut options = Options::default();
    let text = r#"post external {effect_key: "publish-1"}"#;
    let here = requests(&play(text, &[], &options), "post");
    options.run.run = RunId::new(9, 9);
    let elsewhere = requests(&play(text, &[], &options), "post");
    assert_eq!(here, elsewhere);
}

#[test]
fn a_route_to_a_check_with_an_effect_key_does_not_repeat_its_effect() {
    // The ledger of this play never hears of the run's own effect; its journal does.
    let text = r#"a; post<a external {effect_key: "publish-1", on_success: {transitions: [{when: "attempt < 2", to: a}]}}"#;
    let played = play(text, &[], &Options::default());
    assert_eq!(played.check("post")["runs"], 1, "{:?}", played.reason());
}

#[test]
fn a_map_scope_needs_the_item_in_its_effect_key() {
    let text = r#"list forEach; post<list external {effect_key: "publish"}"#;
    let problems = escrow_testkit::try_plan(text).expect_err("it does not load");
    assert!(problems.contains("E0171"), "{problems}");
    plan(r#"list forEach; post<list external {effect_key: "publish-{{ item }}"}"#);
}

fn intents(played: &Played, name: &str) -> Vec<EffectIntent> {
    let intents = played.journal.iter().filter_map(|entry| match &entry.event {
        Event::AttemptStarted { check, effect, .. } if check == name => effect.as_deref().cloned(),
        _ => None,
    });
    intents.collect()
}

fn keys(played: &Played, name: &str) -> Vec<String> {
    intents(played, name).into_iter().map(|intent| intent.key).collect()
}

fn requests(played: &Played, name: &str) -> Vec<String> {
    let requests = played.journal.iter().filter_map(|entry| match &entry.event {
        Event::AttemptStarted { check, request, .. } if check == name => {
            Some(request.idempotency_key.clone())
        }
        _ => None,
    });
    requests.collect()
}

#[test]
fn routes_that_arrive_before_their_target_starts_are_one_and_a_key_makes_the_number_certain() {
    let effects = |jobs: u32, key: &str| {
        let mut options = Options::default();
        options.run.parallelism = jobs;
        let plan = format!(
            "one {{on_success: {{goto: post}}}}; two {{on_success: {{goto: post}}}}; post external {{{key}}}"
        );
        let answers = ["one: 1 after 1s", "two: 1 after 5s", "post: 1 after 1s"];
        let ledger = ["ledger k failed", "ledger k confirmed 1"];
        let script: Vec<&str> = answers.into_iter().chain(ledger).collect();
        play(&plan, &script, &options).check("post")["runs"].clone()
    };
    assert_eq!((effects(1, ""), effects(4, "")), (json!(1), json!(2)));
    assert_eq!((effects(1, "effect_key: k"), effects(4, "effect_key: k")), (json!(1), json!(1)));
}
