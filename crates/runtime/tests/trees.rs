//! However a command ends, nothing that it started is left.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

mod support;

use std::process::Stdio;
use std::time::{Duration, Instant};

use escrow_model::{Ending, FaultCode};
use escrow_runtime::cancellation;
use escrow_runtime::process::{End, Process, run};
use serde_json::json;
use support::{Room, block_on, fault, processes_with, unique, zombies};

/// A room whose processes can be found by a word in their environment.
fn marked(script: &str) -> (Room, String) {
    let word = unique("tree");
    let mut room = Room::shell(script);
    room.request.env.insert("MARK".into(), word.clone());
    (room, word)
}

#[test]
fn a_deadline_ends_the_whole_tree() {
    for script in [
        "sleep 300",
        "sleep 300 & sleep 300 & wait",
        "sh -c 'sh -c \"sleep 300\"; true'; true",
        "setsid sleep 300 & sleep 300",
        "setsid -f sleep 300; sleep 300",
        "setsid -f sh -c 'setsid -f sleep 300; sleep 300'; sleep 300",
        "(setsid sh -c 'sleep 300 & sleep 300 & wait' &) ; sleep 300",
        "setsid -f sleep 300 >/dev/null 2>&1 </dev/null; sleep 300",
        "kill -STOP $$",
    ] {
        let (mut room, word) = marked(script);
        room.request.timeout_ms = 200;
        // No process here needs the grace period, so a long one must not slow the test.
        room.attempt.grace = Duration::from_secs(30);
        let began = Instant::now();
        let answer = room.run();
        assert_eq!(fault(&answer).code, FaultCode::Timeout, "{script}");
        assert_eq!(fault(&answer).message, "still running after 200ms: ended with all its children");
        assert!(fault(&answer).effect_unknown);
        assert_eq!(answer.record["timed_out"], json!(true));
        assert!(began.elapsed() < Duration::from_secs(15), "{script}: {:?}", began.elapsed());
        assert_eq!(processes_with(&word), 0, "{script}");
    }
}

#[test]
fn who_does_not_listen_is_killed_after_the_grace() {
    for script in [
        "trap '' TERM; while true; do sleep 0.05; done",
        "trap '' TERM; setsid -f sh -c 'trap \"\" TERM; while true; do sleep 0.05; done'; while true; do sleep 0.05; done",
    ] {
        let (mut room, word) = marked(script);
        room.request.timeout_ms = 100;
        let began = Instant::now();
        assert_eq!(fault(&room.run()).code, FaultCode::Timeout);
        let took = began.elapsed();
        assert!(took > Duration::from_millis(550) && took < Duration::from_secs(10), "{took:?}");
        assert_eq!(processes_with(&word), 0, "{script}");
    }
}

#[test]
fn who_listens_may_clean_up_and_say_a_last_word() {
    let (mut room, _) =
        marked("trap 'echo cleaned; exit 0' TERM; echo began; while true; do sleep 0.02; done");
    room.request.timeout_ms = 200;
    let answer = room.run();
    assert_eq!(
        fault(&answer).code,
        FaultCode::Timeout,
        "an orderly end after the deadline is still a timeout"
    );
    assert_eq!(answer.output, json!("began\ncleaned"));
}

#[test]
fn a_background_child_that_holds_the_pipe_does_not_hang_the_run() {
    for script in [
        "sleep 300 & echo done",
        "setsid -f sleep 300; echo done",
        "setsid -f sh -c 'sleep 300; true'; echo done",
        "(trap '' TERM; sleep 300) & echo done",
        "setsid -f sleep 300 >/dev/null 2>&1; echo done",
        "sleep 300 >/dev/null 2>&1 & echo done",
    ] {
        let (room, word) = marked(script);
        let began = Instant::now();
        let answer = room.run();
        assert_eq!((answer.ending, answer.output), (Ending::Done, json!("done")), "{script}");
        assert!(began.elapsed() < Duration::from_secs(15), "{script}: {:?}", began.elapsed());
        assert_eq!(processes_with(&word), 0, "{script}");
    }
}

#[test]
fn what_is_left_behind_may_finish_within_a_moment() {
    let (room, _) = marked("(sleep 0.1; echo late) & echo early");
    assert_eq!(room.run().output, json!("early\nlate"));
    let (room, _) = marked("(sleep 0.1; echo late > file) >/dev/null 2>&1 & echo early");
    room.run();
    assert_eq!(std::fs::read_to_string(room.path().join("file")).unwrap(), "late\n");
}

#[test]
fn a_scrubbed_environment_does_not_hide_a_daemon() {
    let seconds = format!("300.{}", escrow_runtime::random_u64().unwrap() % 1_000_000_000);
    for script in [
        format!("env -i setsid -f sleep {seconds}; sleep 300"),
        format!("env -i setsid sleep {seconds} & sleep 300"),
    ] {
        let (mut room, _) = marked(&script);
        room.request.timeout_ms = 200;
        assert_eq!(fault(&room.run()).code, FaultCode::Timeout);
        // Whose it is can only be told when no other attempt runs, and other tests run attempts beside us.
        let until = Instant::now() + Duration::from_secs(120);
        while processes_with(&seconds) > 0 && Instant::now() < until {
            Room::shell("true").run();
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(processes_with(&seconds), 0, "{script}");
    }
}

#[test]
fn attempts_do_not_end_each_others_processes() {
    block_on(async {
        let (long, word) = marked(
            "setsid -f sh -c 'while [ ! -e go ]; do sleep 0.05; done; echo kept > kept'; touch ready; \
             while [ ! -e kept ]; do sleep 0.05; done; cat kept",
        );
        let (ready, go) = (long.path().join("ready"), long.path().join("go"));
        let quick = async {
            while !ready.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            for _ in 0..10 {
                let (mut room, _) = marked("setsid -f sleep 300 >/dev/null 2>&1; sleep 300");
                room.request.timeout_ms = 30;
                room.perform().await;
                assert!(processes_with(&word) > 0);
            }
            std::fs::write(&go, "").unwrap();
        };
        let (answer, ()) = tokio::join!(long.perform(), quick);
        assert_eq!(answer.output, json!("kept"));
    });
}

#[test]
fn children_that_others_started_are_left_alone() {
    let mut other = std::process::Command::new("sleep").arg("300").stdout(Stdio::null()).spawn().unwrap();
    let (mut room, _) = marked("setsid -f sleep 300; sleep 300");
    room.request.timeout_ms = 100;
    room.run();
    assert!(other.try_wait().unwrap().is_none(), "it lives");
    other.kill().unwrap();
    Room::shell("true").run();
    assert!(other.wait().is_ok(), "its end was not taken away");
}

#[test]
fn cancelling_ends_the_whole_tree() {
    let (mut room, word) = marked("setsid -f sleep 300; sleep 300 & echo began; wait");
    let (canceller, ear) = cancellation();
    room.attempt.cancellation = ear;
    let began = Instant::now();
    room.attempt.live = Some(Box::new(move |_, _| canceller.cancel()));
    let answer = room.run();
    assert_eq!((fault(&answer).code.as_str(), fault(&answer).effect_unknown), ("cancelled", true));
    assert!(fault(&answer).message.ends_with("ended with all its children"), "{}", fault(&answer).message);
    assert_eq!(answer.output, json!("began"));
    assert!(began.elapsed() < Duration::from_secs(15));
    assert_eq!(processes_with(&word), 0);
}

#[test]
fn a_canceller_that_goes_away_cancels_nothing() {
    let (mut room, _) = marked("sleep 0.1; echo fine");
    let (canceller, ear) = cancellation();
    room.attempt.cancellation = ear;
    drop(canceller);
    assert_eq!(room.run().output, json!("fine"));
}

#[test]
fn dropping_the_work_kills_what_it_started() {
    let (room, word) = marked("setsid -f sleep 300; sleep 300 & wait");
    block_on(async {
        let dropped = tokio::time::timeout(Duration::from_millis(200), room.perform()).await;
        assert!(dropped.is_err());
    });
    let until = Instant::now() + Duration::from_secs(5);
    while processes_with(&word) > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(processes_with(&word), 0);
}

#[test]
fn who_forks_while_being_ended_is_caught() {
    let (mut room, word) = marked(
        "spread() { trap '' TERM; while true; do setsid -f sleep 300; sleep 0.01; done; }; spread & spread & wait",
    );
    room.request.timeout_ms = 150;
    room.attempt.grace = Duration::from_millis(50);
    let answer = room.run();
    assert_eq!(fault(&answer).message, "still running after 150ms: ended with all its children");
    assert_eq!(processes_with(&word), 0);
}

#[test]
fn a_hundred_daemons_are_ended_and_leave_no_zombies() {
    let (mut room, word) = marked(
        "i=0; while [ $i -lt 100 ]; do setsid -f sleep 300; setsid -f true; i=$((i+1)); done; echo ready; sleep 300",
    );
    room.attempt.grace = Duration::from_secs(30);
    let (canceller, ear) = cancellation();
    room.attempt.cancellation = ear;
    room.attempt.live = Some(Box::new(move |_, _| canceller.cancel()));
    room.run();
    assert_eq!(processes_with(&word), 0);
    let until = Instant::now() + Duration::from_secs(10);
    while zombies() > 10 && Instant::now() < until {
        Room::shell("true").run();
    }
    assert!(zombies() <= 10, "{} zombies", zombies());
}

#[test]
fn a_process_can_be_run_without_a_provider() {
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "echo out; exit 4"]);
    let finished = block_on(run(Process::new(command))).unwrap();
    assert_eq!(finished.end, End::Exited(4));
    assert_eq!(finished.stdout.tail, b"out\n");
    assert_eq!((finished.stdout.file, finished.unended), (None, 0));
}
