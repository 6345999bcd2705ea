//! What `--extended` adds: a receipt for every failure, keys that gate, requirements, declared events, fan-out.

#![allow(clippy::needless_pass_by_value, reason = "test helpers take literals")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use escrow_protocol::callback::{Callback, CallbackEnd, Exit, Finished};
use escrow_protocol::receipt::{Ledger, ReceiptQuery};
use serde_json::{Value, json};

use super::super::LifecycleExit;
use super::{ScriptedSystem, SharedLedger};

fn dispatch(changes: Value) -> String {
    let mut request = json!({
        "schema_version": "lifeloop.v0.4", "event": "session.started", "event_id": "evt-1", "adapter_id": "codex",
        "adapter_version": "0.1.0", "integration_mode": "native_hook", "invocation_id": "inv-1",
        "harness_run_id": "run-1",
    });
    for (key, value) in changes.as_object().unwrap() {
        request[key] = value.clone();
    }
    json!({ "schema_version": "lifeloop.v0.4", "request": request }).to_string()
}

fn finished(exit: Exit, stdout: &str) -> CallbackEnd {
    CallbackEnd::Finished(Finished {
        exit,
        stdout: stdout.as_bytes().to_vec(),
        stderr: b"said\n".to_vec(),
        stderr_was_cut: false,
        write_error: None,
    })
}

fn delivered(_: &Callback) -> CallbackEnd {
    finished(Exit::Code(0), r#"{"schema_version":"lifeloop.v0.4","status":"delivered"}"#)
}

const INVOKE: &[&str] = &["event", "invoke", "--client-cmd", "client", "--receipt-id", "r-1"];

fn with(further: &[&'static str]) -> Vec<&'static str> {
    INVOKE.iter().chain(further).copied().collect()
}

#[test]
fn a_callback_that_fails_leaves_a_receipt_with_its_class_and_posture() {
    for (end, class, retry, code) in [
        (CallbackEnd::TimedOut, "timeout", "safe_retry", "callback_timed_out"),
        (CallbackEnd::NotStarted("no".into()), "transport_error", "safe_retry", "callback_not_started"),
        (CallbackEnd::Flooded, "transport_error", "safe_retry", "callback_output_unreadable"),
        (finished(Exit::Code(7), ""), "transport_error", "safe_retry", "callback_exit_code"),
        (finished(Exit::Signal, ""), "transport_error", "safe_retry", "callback_signalled"),
        (finished(Exit::Code(0), "hi"), "invalid_request", "do_not_retry", "callback_output_garbage"),
        (
            finished(Exit::Code(0), r#"{"schema_version":"lifeloop.v0.2","status":"delivered"}"#),
            "invalid_request",
            "do_not_retry",
            "callback_response_invalid",
        ),
    ] {
        let scripted = end.clone();
        let mut system =
            ScriptedSystem { client: Some(Box::new(move |_| scripted.clone())), ..ScriptedSystem::default() };
        let compatible = system.run_on(INVOKE, &dispatch(json!({})));
        assert_eq!((compatible.exit, compatible.stdout.as_str()), (LifecycleExit::Refused, ""), "{end:?}");

        let answer = system.run_on(&with(&["--extended"]), &dispatch(json!({})));
        assert_eq!((answer.exit, &answer.stderr), (LifecycleExit::Refused, &compatible.stderr));
        let receipt: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!(receipt["status"], "failed");
        assert_eq!((&receipt["failure_class"], &receipt["retry_class"]), (&class.into(), &retry.into()));
        assert_eq!(receipt["warnings"][0]["code"], code);
    }
}

#[test]
fn a_retry_with_the_same_key_runs_the_callback_once() {
    let mut system = ScriptedSystem { client: Some(Box::new(delivered)), ..ScriptedSystem::default() };
    let invoke = with(&["--extended", "--ledger", "l"]);
    let first = system.run_on(&invoke, &dispatch(json!({ "idempotency_key": "k" })));
    let retry =
        system.run_on(&invoke, &dispatch(json!({ "idempotency_key": "k", "invocation_id": "inv-2" })));
    assert_eq!((first.exit, &first.stdout), (LifecycleExit::Done, &retry.stdout));
    assert_eq!(system.calls, 1);

    let other = system.run_on(&invoke, &dispatch(json!({ "idempotency_key": "k", "event_id": "evt-2" })));
    assert_eq!(system.calls, 1, "a key that means something else does not run either");
    assert_eq!(other.exit, LifecycleExit::Refused);
    assert!(other.stderr.contains("duplicate_id_conflict"));
    assert!(other.stdout.contains("state_conflict"));
}

#[test]
fn a_failed_attempt_leaves_its_key_free() {
    let mut ends = vec![CallbackEnd::TimedOut].into_iter();
    let client = move |callback: &Callback| ends.next().unwrap_or_else(|| delivered(callback));
    let mut system = ScriptedSystem { client: Some(Box::new(client)), ..ScriptedSystem::default() };
    let invoke = ["event", "invoke", "--client-cmd", "client", "--extended", "--ledger", "l"];
    let failed = system.run_on(&invoke, &dispatch(json!({ "idempotency_key": "k" })));
    assert!(failed.stdout.contains("\"sequence\": 1"), "{}", failed.stdout);
    let again = system.run_on(&invoke, &dispatch(json!({ "idempotency_key": "k" })));
    assert!(again.stdout.contains("\"sequence\": 2"), "{}{}", again.stdout, again.stderr);
    assert!(again.stdout.contains("\"status\": \"delivered\""));
    assert_eq!(system.calls, 2);
}

#[test]
fn a_failure_that_must_not_be_tried_again_uses_its_key_up() {
    let mut system = ScriptedSystem {
        client: Some(Box::new(|_| finished(Exit::Code(0), "garbage"))),
        ..ScriptedSystem::default()
    };
    let invoke = ["event", "invoke", "--client-cmd", "client", "--extended", "--ledger", "l"];
    let first = system.run_on(&invoke, &dispatch(json!({ "idempotency_key": "k" })));
    let retry = system.run_on(&invoke, &dispatch(json!({ "idempotency_key": "k" })));
    assert_eq!((system.calls, first.stdout), (1, retry.stdout));
}

#[test]
fn concurrent_writers_get_sequences_without_gaps_and_one_of_them_runs_a_shared_key() {
    let (writers, each) = (8, 50);
    let ledger = SharedLedger::default();
    let calls = AtomicUsize::new(0);
    thread::scope(|scope| {
        for writer in 0..writers {
            let (ledger, calls) = (ledger.clone(), &calls);
            scope.spawn(move || {
                let mut system = ScriptedSystem {
                    ledger,
                    client: Some(Box::new(delivered)),
                    ids: writer * 1_000,
                    ..ScriptedSystem::default()
                };
                let invoke = ["event", "invoke", "--client-cmd", "client", "--extended", "--ledger", "l"];
                for number in 0..each {
                    let answer = system
                        .run_on(&invoke, &dispatch(json!({ "event_id": format!("e-{writer}-{number}") })));
                    assert_eq!(answer.exit, LifecycleExit::Done, "{}", answer.stderr);
                }
                let before = system.calls;
                system.run_on(&invoke, &dispatch(json!({ "idempotency_key": "shared" })));
                calls.fetch_add(system.calls - before, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(calls.into_inner(), 1);
    let receipts = ledger.0.lock().unwrap().query(&ReceiptQuery::default()).unwrap();
    let mut sequences: Vec<u64> = receipts.iter().filter_map(|receipt| receipt.sequence).collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (1..=writers * each + 1).collect::<Vec<u64>>());
}

#[test]
fn requirements_on_the_wire_are_negotiated() {
    for (capability, level, status, failure) in [
        ("context_pressure", "required", "delivered", Value::Null),
        ("session_identity.harness_task_id", "required", "failed", json!("capability_unsupported")),
        ("session_identity.harness_task_id", "preferred", "degraded", Value::Null),
        ("session_identity.harness_task_id", "optional", "delivered", Value::Null),
        ("renewal.reset.manual", "required", "failed", json!("operator_required")),
    ] {
        let mut system = ScriptedSystem { client: Some(Box::new(delivered)), ..ScriptedSystem::default() };
        let wanted = json!([{ "capability": capability, "level": level, "desired": "native" }]);
        let envelope = dispatch(json!({ "metadata": { "capability_requirements": wanted } }));
        let answer = system.run_on(&with(&["--extended"]), &envelope);
        let receipt: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!(
            (&receipt["status"], &receipt["failure_class"]),
            (&status.into(), &failure),
            "{capability} {level}"
        );
        assert_eq!(system.calls, usize::from(status != "failed"));
        assert!(
            system.run_on(INVOKE, &envelope).stdout.contains("\"delivered\""),
            "compatible rules ignore requirements"
        );
    }
    let mut system = ScriptedSystem::default();
    let answer = system
        .run_on(&with(&["--extended"]), &dispatch(json!({ "metadata": { "capability_requirements": 1 } })));
    assert_eq!(answer.exit, LifecycleExit::Refused);
    assert!(answer.stdout.contains("invalid_request"), "{}", answer.stdout);
}

#[test]
fn events_that_the_adapter_does_not_declare_are_blocked() {
    let mut system = ScriptedSystem { client: Some(Box::new(delivered)), ..ScriptedSystem::default() };
    for changes in [json!({ "event": "session.ended" }), json!({ "integration_mode": "manual_skill" })] {
        let answer = system.run_on(&with(&["--extended"]), &dispatch(changes.clone()));
        assert!(answer.stdout.contains("event_not_declared"), "{}", answer.stdout);
        assert_eq!(system.calls, 0);
        assert!(
            ScriptedSystem { client: Some(Box::new(delivered)), ..ScriptedSystem::default() }
                .run_on(INVOKE, &dispatch(changes))
                .stdout
                .contains("\"delivered\"")
        );
    }
}

#[test]
fn every_client_gets_the_event_and_leaves_its_own_receipt() {
    let client = |callback: &Callback| match callback.program.to_str() {
        Some("bad") => CallbackEnd::TimedOut,
        _ => delivered(callback),
    };
    let mut system = ScriptedSystem { client: Some(Box::new(client)), ..ScriptedSystem::default() };
    let answer = system.run_on(
        &[
            "event",
            "invoke",
            "--extended",
            "--receipt-id",
            "r",
            "--ledger",
            "l",
            "--client-cmd",
            "good",
            "--client-id",
            "one",
            "--client-arg",
            "a",
            "--client-cmd",
            "bad",
            "--client-id",
            "two",
            "--client-cmd",
            "good",
        ],
        &dispatch(json!({ "idempotency_key": "k" })),
    );
    assert_eq!(answer.exit, LifecycleExit::Refused, "one of them failed");
    let receipts: Vec<Value> = serde_json::from_str(&answer.stdout).unwrap();
    let told: Vec<_> = receipts
        .iter()
        .map(|receipt| {
            (receipt["receipt_id"].clone(), receipt["client_id"].clone(), receipt["status"].clone())
        })
        .collect();
    let row = |id: &str, client: &str, status: &str| (json!(id), json!(client), json!(status));
    assert_eq!(
        told,
        [
            row("r.1", "one", "delivered"),
            row("r.2", "two", "failed"),
            row("r.3", "lifeloop-cli", "delivered")
        ][..]
    );
}

#[test]
fn clients_see_only_the_variables_that_are_allowed() {
    let client = |callback: &Callback| {
        let ours = ["PATH", "SECRET"].map(|name| (name.into(), "x".into()));
        assert_eq!(callback.environment.of(ours), [("PATH".into(), "x".into())]);
        delivered(callback)
    };
    let mut system = ScriptedSystem { client: Some(Box::new(client)), ..ScriptedSystem::default() };
    let answer = system.run_on(&with(&["--extended", "--allow-env", "PATH"]), &dispatch(json!({})));
    assert_eq!(answer.exit, LifecycleExit::Done, "{}", answer.stderr);
    let compatible = system.run_on(&with(&["--allow-env", "PATH"]), &dispatch(json!({})));
    assert_eq!(compatible.stderr, "event invoke: unknown flag `--allow-env`\n");
}

#[test]
fn adapters_that_are_not_there_leave_a_receipt_too() {
    let mut system = ScriptedSystem::default();
    let answer = system.run_on(&with(&["--extended"]), &dispatch(json!({ "adapter_id": "nobody" })));
    assert_eq!(answer.exit, LifecycleExit::Refused);
    assert_eq!(answer.stderr, "router rejected request: no registered adapter with id `nobody`\n");
    assert!(answer.stdout.contains("adapter_unavailable"), "{}", answer.stdout);
}

#[test]
fn old_receipts_are_forgotten_and_numbers_continue() {
    let mut system = ScriptedSystem { client: Some(Box::new(delivered)), ..ScriptedSystem::default() };
    let invoke = ["event", "invoke", "--client-cmd", "client", "--ledger", "l"];
    for at in [10, 20, 30] {
        system.now_epoch_s = at;
        system.run_on(&invoke, &dispatch(json!({})));
    }
    let forgotten = system.run(&["receipt", "forget", "--extended", "--ledger", "l", "--before", "30"]);
    assert_eq!(forgotten.stdout, "{\n  \"forgotten\": 2\n}\n");
    let next = system.run_on(&invoke, &dispatch(json!({})));
    assert!(next.stdout.contains("\"sequence\": 4"), "{}", next.stdout);
    let listed =
        system.run(&["receipt", "list", "--extended", "--ledger", "l", "--run-id", "run-1", "--limit", "1"]);
    assert_eq!(serde_json::from_str::<Vec<Value>>(&listed.stdout).unwrap().len(), 1);
}
