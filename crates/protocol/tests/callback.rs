//! Whatever a client's process does is a response, or a failure with a class and a sentence.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use escrow_protocol::callback::{CallbackEnd, Exit, Finished, interpret};
use escrow_protocol::version::WireVersion;

const GOOD: &str = r#"{"schema_version":"lifeloop.v0.4","status":"delivered"}"#;

fn finished(stdout: &[u8], change: impl FnOnce(&mut Finished)) -> CallbackEnd {
    let mut finished = Finished {
        exit: Exit::Code(0),
        stdout: stdout.to_vec(),
        stderr: b"why\n".to_vec(),
        stderr_was_cut: false,
        write_error: None,
    };
    change(&mut finished);
    CallbackEnd::Finished(finished)
}

#[test]
fn every_way_of_ending_has_its_class_and_its_sentence() {
    let broken_pipe = |finished: &mut Finished| finished.write_error = Some("Broken pipe".to_owned());
    for (end, class, sentence) in [
        (
            CallbackEnd::NotStarted("no such file".into()),
            "transport_error",
            "failed to spawn callback subprocess: no such file",
        ),
        (CallbackEnd::TimedOut, "timeout", "callback subprocess exceeded configured timeout"),
        (
            CallbackEnd::Flooded,
            "transport_error",
            "failed to read subprocess stdout: subprocess stdout exceeded 16777216 bytes",
        ),
        (CallbackEnd::Unreadable("gone".into()), "transport_error", "failed to read subprocess stdout: gone"),
        (
            finished(GOOD.as_bytes(), |end| end.exit = Exit::Code(7)),
            "transport_error",
            "callback subprocess exited with code 7: why\n",
        ),
        (
            finished(GOOD.as_bytes(), |end| end.exit = Exit::Signal),
            "transport_error",
            "callback subprocess terminated by signal: why\n",
        ),
        (
            finished(b"", |end| (end.exit, end.stderr_was_cut) = (Exit::Code(1), true)),
            "transport_error",
            "callback subprocess exited with code 1: why\n\n[stderr truncated]\n",
        ),
        (
            finished(b"hi", broken_pipe),
            "transport_error",
            "failed to write request to subprocess stdin: Broken pipe",
        ),
        (
            finished(b"hi", |_| ()),
            "invalid_request",
            "subprocess stdout was not a valid JSON CallbackResponse: expected value at line 1 column 1",
        ),
        (
            finished(b"\xff", |_| ()),
            "invalid_request",
            "subprocess stdout was not a valid JSON CallbackResponse: expected value at line 1 column 1",
        ),
        (
            finished(b"", |_| ()),
            "invalid_request",
            "subprocess stdout was not a valid JSON CallbackResponse: EOF while parsing a value at line 1 column 0",
        ),
        (
            finished([GOOD, GOOD].concat().as_bytes(), |_| ()),
            "invalid_request",
            "subprocess stdout was not a valid JSON CallbackResponse: trailing characters at line 1 column 56",
        ),
        (
            finished(GOOD.replace("v0.4", "v0.2").as_bytes(), |_| ()),
            "invalid_request",
            "subprocess returned a CallbackResponse that failed validation: schema_version mismatch: expected `lifeloop.v0.4`, found `lifeloop.v0.2`",
        ),
    ] {
        let failure = interpret(end.clone(), WireVersion::V0_4).unwrap_err();
        assert_eq!(
            (failure.failure_class().as_str(), failure.to_string().as_str()),
            (class, sentence),
            "{end:?}"
        );
    }
}

#[test]
fn a_client_that_answers_without_listening_has_answered() {
    let end = finished(GOOD.as_bytes(), |finished| finished.write_error = Some("Broken pipe".to_owned()));
    interpret(end, WireVersion::V0_4).unwrap();
}
