//! The `command` provider with real processes: what goes in, what comes out.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

mod support;

use std::cell::RefCell;
use std::os::unix::fs::PermissionsExt;
use std::rc::Rc;

use escrow_model::{Ending, FaultClass, FaultCode};
use escrow_runtime::cancellation;
use escrow_runtime::process::Stream;
use escrow_runtime::providers::{Contexts, Environment};
use serde_json::{Value, json};
use support::{Room, block_on, fault, unique};

/// Runs the script and returns what expressions see as `output`.
fn output(script: &str) -> Value {
    let answer = Room::shell(script).run();
    assert_eq!(answer.ending, Ending::Done, "{script}");
    answer.output
}

#[test]
fn output_that_is_json_as_a_whole_is_parsed() {
    for (script, expected) in [
        (r#"echo '{"a": [1, 2.5, null]}'"#, json!({"a": [1, 2.5, null]})),
        ("printf '  \\n [1]\\n\\n'", json!([1])),
        ("echo 42", json!(42)),
        ("echo true", json!(true)),
        ("echo '\"text\"'", json!("text")),
    ] {
        assert_eq!(output(script), expected, "{script}");
    }
}

#[test]
fn other_output_is_text_with_one_newline_cut() {
    for (script, expected) in [
        ("echo hello", "hello"),
        ("printf hello", "hello"),
        ("printf 'a\\n\\n'", "a\n"),
        ("true", ""),
        ("printf '\\n'", ""),
        ("echo '{\"a\": 1} {\"b\": 2}'", "{\"a\": 1} {\"b\": 2}"),
        ("echo '{\"a\": 1'", "{\"a\": 1"),
        ("echo NaN", "NaN"),
        ("echo 007", "007"),
        ("echo 1.10", "1.10"),
        ("echo 4711e05", "4711e05"),
        ("echo 123456789012345678901234567890", "123456789012345678901234567890"),
        (r#"echo '{"a": 1, "a": 2}'"#, r#"{"a": 1, "a": 2}"#),
        ("printf 'a\\377b'", "a\u{fffd}b"),
        ("printf '\"\\377\"'", "\"\u{fffd}\""),
        ("printf 'a\\000b'", "a\0b"),
    ] {
        assert_eq!(output(script), json!(expected), "{script}");
    }
}

#[test]
fn json_nested_beyond_reason_is_text() {
    let deep = output("i=0; while [ $i -lt 200 ]; do printf '['; i=$((i+1)); done");
    assert_eq!(deep, json!("[".repeat(200)));
    let million = output("head -c 1000000 /dev/zero | tr '\\0' '['");
    assert_eq!(million.as_str().map(str::len), Some(1_000_000));
}

#[test]
fn beyond_16_mebibytes_the_output_is_its_tail_and_the_file_has_it_all() {
    let room = Room::shell("head -c 20971520 /dev/zero | tr '\\0' x; echo end");
    let answer = room.run();
    let text = answer.output.as_str().unwrap();
    assert!(text.ends_with("end"));
    assert_eq!(text.len(), 16 * 1024 * 1024 - 1);
    assert_eq!(answer.record["truncated"], json!(true));
    assert_eq!(answer.record["stdout_bytes"], json!(20_971_524));
    let file = answer.record["stdout_file"].as_str().unwrap();
    assert_eq!(std::fs::metadata(file).unwrap().len(), 20_971_524);
}

#[test]
fn a_tail_does_not_begin_with_a_torn_character() {
    // 3-byte characters, and a tail whose length no multiple of 3 fits.
    let room = Room::shell("yes '€' | tr -d '\\n' | head -c 18000000");
    let answer = room.run();
    assert!(answer.output.as_str().unwrap().starts_with('€'));
}

#[test]
fn exactly_16_mebibytes_are_not_truncated() {
    let answer = Room::shell("head -c 16777216 /dev/zero | tr '\\0' x").run();
    assert_eq!(answer.record["truncated"], json!(false));
    assert_eq!(answer.output.as_str().map(str::len), Some(16_777_216));
}

#[test]
fn the_record_tells_the_whole_story() {
    let room = Room::shell("echo out; echo oops >&2; exit 3");
    let answer = room.run();
    let record = &answer.record;
    assert_eq!(record["exitCode"], json!(3));
    assert_eq!(record["exit_code"], json!(3));
    assert_eq!(record["signal"], Value::Null);
    assert_eq!(record["stderr"], json!("oops\n"));
    assert_eq!(record["stdout_bytes"], json!(4));
    assert_eq!(record["stderr_bytes"], json!(5));
    assert_eq!(record["truncated"], json!(false));
    assert_eq!(record["timed_out"], json!(false));
    assert!(record["duration_ms"].as_u64().is_some());
    assert_eq!(std::fs::read_to_string(record["stderr_file"].as_str().unwrap()).unwrap(), "oops\n");
    assert_eq!(answer.output, json!("out"), "a fault keeps its output");
}

#[test]
fn a_silent_command_leaves_no_output_files() {
    let room = Room::shell("true");
    let answer = room.run();
    assert!(!answer.record.contains_key("stdout_file"));
    assert!(!room.attempt.spool.join("lint.1.stdout").exists());
    assert!(!room.attempt.spool.join("lint.1.stderr").exists());
}

#[test]
fn little_output_makes_no_file_unless_it_waits() {
    let file_of = |script: &str| {
        let mut room = Room::shell(script);
        room.attempt.spool_from_bytes = 1_000;
        let answer = room.run();
        answer.record.get("stdout_file").map(|file| std::fs::read_to_string(file.as_str().unwrap()).unwrap())
    };
    assert_eq!(file_of("echo little"), None);
    let numbers = (1..=1_000).map(|number| format!("{number}\n")).collect::<String>();
    assert_eq!(file_of("seq 500; seq 501 1000"), Some(numbers));
    assert_eq!(file_of("echo early; sleep 1.2; echo late"), Some("early\nlate\n".into()));
}

#[test]
fn a_large_stderr_keeps_its_tail_in_the_record() {
    let answer = Room::shell("head -c 200000 /dev/zero | tr '\\0' x >&2; echo last >&2").run();
    let stderr = answer.record["stderr"].as_str().unwrap();
    assert_eq!(stderr.len(), 64 * 1024);
    assert!(stderr.ends_with("last\n"));
    assert_eq!(answer.record["stderr_bytes"], json!(200_005));
}

#[test]
fn both_streams_full_at_once_do_not_block_the_command() {
    let answer = Room::shell(
        "i=0; while [ $i -lt 40 ]; do head -c 70000 /dev/zero; head -c 70000 /dev/zero >&2; i=$((i+1)); done",
    )
    .run();
    assert_eq!(answer.record["stdout_bytes"], json!(2_800_000));
    assert_eq!(answer.record["stderr_bytes"], json!(2_800_000));
}

#[test]
fn stdin_is_given_or_empty() {
    assert_eq!(output("cat"), json!(""), "without `stdin` there is nothing to wait for");
    let mut room = Room::shell("cat; cat");
    room.request.fields.insert("stdin".into(), json!("hello\n"));
    assert_eq!(room.run().output, json!("hello"));
}

#[test]
fn a_large_stdin_flows_while_the_output_does() {
    let mut room = Room::shell("cat");
    let large = "0123456789abcdef".repeat(500_000);
    room.request.fields.insert("stdin".into(), json!(large));
    let answer = room.run();
    assert_eq!(answer.output.as_str(), Some(large.as_str()));
}

#[test]
fn a_command_that_does_not_read_its_stdin_is_not_disturbed() {
    let mut room = Room::shell("echo done");
    room.request.fields.insert("stdin".into(), json!("x".repeat(5_000_000)));
    assert_eq!(room.run().output, json!("done"));
}

#[test]
fn values_come_through_the_environment_and_never_through_the_parser() {
    let nasty = "$(touch pwned) `id` ; rm -rf . ' \" \\ \n é";
    let room = Room::new(json!({"shell": "printf %s \"$V1\"", "values": {"V1": nasty}}));
    assert_eq!(room.run().output, json!(nasty));
    assert!(!room.path().join("pwned").exists());
    let room = Room::new(json!({"shell": "echo \"[$V1,$V2]\"", "values": {"V1": 7, "V2": {"a": null}}}));
    assert_eq!(room.run().output, json!([7, {"a": null}]));
}

#[test]
fn a_list_runs_without_a_shell() {
    let room = Room::argv(&["printf", "%s|", "$HOME", "a b", "*", ""]);
    assert_eq!(room.run().output, json!("$HOME|a b|*||"));
}

#[test]
fn a_program_is_found_in_the_path_that_the_command_gets() {
    let mut room = Room::argv(&["greet"]);
    let program = room.path().join("greet");
    std::fs::write(&program, "#!/bin/sh\necho \"hi from $0\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(fault(&room.run()).message, "`greet` was not found");
    room.request.env.insert("PATH".into(), format!("/nowhere:{}", room.path().display()));
    assert_eq!(room.run().output, json!(format!("hi from {}", program.display())));
    let relative = Room::argv(&["./greet"]);
    std::fs::copy(&program, relative.path().join("greet")).unwrap();
    assert_eq!(relative.run().output, json!("hi from ./greet"));
}

#[test]
fn the_command_knows_who_it_is() {
    let mut room = Room::shell(
        "echo $ESCROW_RUN $ESCROW_CHECK $ESCROW_ATTEMPT $ESCROW_IDEMPOTENCY_KEY \"$ESCROW_ITEM\" \
         $(cat $ESCROW_CONTEXT) $(cd $ESCROW_ARTIFACTS && pwd) $(pwd)",
    );
    room.attempt.number = 3;
    room.request.item = Some(json!({"n": [1]}));
    let here = room.path().canonicalize().unwrap().display().to_string();
    let run = room.attempt.run.clone();
    let expected =
        format!("{run} lint 3 key {{\"n\":[1]}} {{\"inputs\":{{\"a\":1}}}} {here}/artifacts {here}");
    assert_eq!(room.run().output, json!(expected));
}

#[test]
fn there_is_no_item_outside_a_map_scope_nor_one_too_large_for_the_system() {
    assert_eq!(output("echo ${ESCROW_ITEM-none}"), json!("none"));
    let mut room = Room::shell("echo ${ESCROW_ITEM-none}");
    room.request.item = Some(json!("x".repeat(300_000)));
    assert_eq!(room.run().output, json!("none"));
}

#[test]
fn the_environment_is_inherited_less_the_secrets() {
    // Cargo sets both for its tests.
    let mut room = Room::shell("echo ${CARGO_PKG_NAME-none} ${CARGO_PKG_VERSION-none} $EXTRA");
    room.request.env.insert("EXTRA".into(), "extra".into());
    room.attempt.environment = Environment::Inherit { secrets: vec!["CARGO_PKG_VERSION".into()] };
    assert_eq!(room.run().output, json!("escrow-runtime none extra"));
}

#[test]
fn a_strict_environment_has_only_the_minimum_and_what_is_given() {
    let mut room = Room::shell("env | cut -d= -f1 | sort | tr '\\n' ' '");
    room.request.env.insert("GIVEN".into(), "1".into());
    room.attempt.environment = Environment::Minimal {
        also: vec!["CARGO_PKG_NAME".into(), "CARGO_PKG_VERSION".into()],
        secrets: vec!["CARGO_PKG_VERSION".into(), "HOME".into()],
    };
    let answer = room.run();
    let names: Vec<_> = answer.output.as_str().unwrap().split_whitespace().collect();
    for name in ["GIVEN", "CARGO_PKG_NAME", "PATH", "ESCROW_RUN", "ESCROW_ENV"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for name in ["CARGO_PKG_VERSION", "HOME", "CARGO_MANIFEST_DIR"] {
        assert!(!names.contains(&name), "{name} in {names:?}");
    }
}

#[test]
fn lines_written_to_escrow_env_come_back() {
    let room =
        Room::shell("echo A=1 >> $ESCROW_ENV; echo 'B=two words' >> $ESCROW_ENV; echo bad >> $ESCROW_ENV");
    let answer = room.run();
    let pairs: Vec<_> = answer.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(pairs, ["A=1", "B=two words"]);
    assert_eq!(answer.record["env_problems"], json!(["line 3: no `=`"]));
}

#[test]
fn what_an_earlier_crash_left_in_the_spool_is_not_read() {
    let room = Room::shell("true");
    std::fs::create_dir_all(&room.attempt.spool).unwrap();
    std::fs::write(room.attempt.spool.join("handback-0.env"), "OLD=1").unwrap();
    assert!(room.run().env.is_empty());
}

#[test]
fn what_a_command_leaves_in_place_of_escrow_env_does_not_hinder_the_next() {
    let script = "if mkdir seen; then mkdir $ESCROW_ENV; else echo A=1 >> $ESCROW_ENV; fi 2>/dev/null";
    let room = Room::shell(script);
    assert!(room.run().record.contains_key("env_problems"));
    for _ in 0..3 {
        assert_eq!(room.run().env["A"], "1");
    }
}

#[test]
fn a_pipe_or_a_link_in_place_of_escrow_env_is_refused() {
    for script in ["mkfifo $ESCROW_ENV", "ln -s /etc/passwd $ESCROW_ENV", "mkdir $ESCROW_ENV"] {
        let answer = Room::shell(script).run();
        assert!(answer.env.is_empty());
        assert_eq!(answer.record["env_problems"], json!(["ESCROW_ENV is not a regular file"]), "{script}");
    }
}

#[test]
fn a_nonzero_exit_is_a_definite_transient_fault() {
    for code in [1, 2, 77, 255] {
        let answer = Room::shell(&format!("exit {code}")).run();
        let fault = fault(&answer);
        assert_eq!(
            (fault.code.as_str(), fault.class, fault.effect_unknown),
            ("exit_nonzero", FaultClass::Transient, false)
        );
        assert_eq!(fault.message, format!("exit code {code}"));
    }
}

#[test]
fn an_end_by_signal_leaves_the_effect_unknown() {
    for (signal, name) in [("KILL", "SIGKILL"), ("TERM", "SIGTERM"), ("SEGV", "SIGSEGV")] {
        let answer = Room::shell(&format!("kill -{signal} $$")).run();
        let fault = fault(&answer);
        assert_eq!((fault.code.as_str(), fault.effect_unknown), ("signal", true));
        assert_eq!(fault.message, format!("ended by {name}"));
        assert_eq!(answer.record["signal"], json!(name));
        assert_eq!(answer.record["exitCode"], Value::Null);
    }
}

#[test]
fn what_cannot_be_started_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "x").unwrap();
    let lost = folder.path().join("lost");
    std::fs::write(&lost, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&lost, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (plain, lost) = (plain.display().to_string(), lost.display().to_string());
    let long = "x".repeat(3_000_000);
    for (words, message) in [
        (vec!["no-such-program-here"], "`no-such-program-here` was not found".to_owned()),
        (vec!["/no/such/program"], "`/no/such/program` was not found".to_owned()),
        (vec![""], "`` was not found".to_owned()),
        (vec![plain.as_str()], format!("`{plain}` is not executable")),
        (vec!["/tmp"], "`/tmp` is not executable".to_owned()),
        (vec![lost.as_str()], format!("the interpreter that `{lost}` names in its first line was not found")),
        (vec!["echo", "a\0b"], "an argument or a variable contains a NUL character".to_owned()),
        (
            vec!["echo", long.as_str()],
            "the arguments and environment are too large for the system (one value may have 128 KiB)"
                .to_owned(),
        ),
    ] {
        let answer = Room::argv(&words).run();
        let fault = fault(&answer);
        assert_eq!((fault.code.as_str(), fault.effect_unknown), ("spawn", false));
        assert_eq!(fault.message, message);
    }
}

#[test]
fn a_missing_directory_is_named() {
    let mut room = Room::shell("true");
    room.attempt.directory = room.path().join("gone");
    let message = fault(&room.run()).message.clone();
    assert!(message.contains("/gone` does not exist"), "{message}");
}

#[test]
fn a_request_without_a_command_is_a_logical_fault() {
    for exec in [json!(null), json!({}), json!({"argv": []}), json!({"argv": [1]}), json!("text")] {
        let answer = Room::new(exec).run();
        assert_eq!(fault(&answer).class, FaultClass::Logical);
    }
}

#[test]
fn a_spool_that_cannot_be_made_is_a_fault_and_not_a_panic() {
    let mut room = Room::shell("true");
    std::fs::write(room.path().join("file"), "").unwrap();
    room.attempt.spool = room.path().join("file/spool");
    room.attempt.contexts = Rc::new(Contexts::new(&room.attempt.spool));
    assert_eq!(fault(&room.run()).code, FaultCode::Spawn);
}

#[test]
fn a_spool_that_breaks_does_not_disturb_the_command() {
    let room = Room::shell("mkdir ${ESCROW_ENV%/*}/lint.1.stdout; echo fine");
    let answer = room.run();
    assert_eq!((answer.ending, answer.output), (Ending::Done, json!("fine")));
    assert!(answer.record["stdout_file_problem"].as_str().unwrap().contains("directory"));
}

#[test]
fn who_watches_sees_the_output_before_the_end() {
    let mut room = Room::shell("echo one; while [ ! -e go ]; do sleep 0.01; done; echo two >&2");
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (watched, go) = (seen.clone(), room.path().join("go"));
    room.attempt.live = Some(Box::new(move |stream, bytes| {
        watched.borrow_mut().push((stream, String::from_utf8_lossy(bytes).into_owned()));
        std::fs::write(&go, "").unwrap();
    }));
    room.run();
    assert_eq!(*seen.borrow(), [(Stream::Stdout, "one\n".into()), (Stream::Stderr, "two\n".into())]);
}

#[test]
fn what_was_cancelled_before_it_started_has_no_effect() {
    let mut room = Room::shell("touch ran");
    let (canceller, ear) = cancellation();
    room.attempt.cancellation = ear;
    canceller.cancel();
    let answer = room.run();
    assert_eq!((fault(&answer).code.as_str(), fault(&answer).effect_unknown), ("cancelled", false));
    assert!(!room.path().join("ran").exists());
}

#[test]
fn two_hundred_commands_run_at_once_and_leave_no_descriptor_open() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let word = unique("crowd");
    block_on(async {
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                Room::shell("true").perform().await;
                let before = descriptors();
                let tasks: Vec<_> = (0..200)
                    .map(|number| {
                        let mut room = Room::shell("cat; echo $WORD >&2; sleep 0.2");
                        room.request.env.insert("WORD".into(), word.clone());
                        room.request.fields.insert("stdin".into(), json!(number.to_string()));
                        tokio::task::spawn_local(async move { (number, room.perform().await) })
                    })
                    .collect();
                for task in tasks {
                    let (number, answer) = task.await.unwrap();
                    assert_eq!(answer.ending, Ending::Done);
                    assert_eq!(answer.output, json!(number));
                }
                // Other tests of this binary run beside us and have some open.
                assert!(descriptors() < before + 100, "{before} before, {} after", descriptors());
            })
            .await;
    });
    assert_eq!(support::processes_with(&word), 0);
}

/// Runs a script with these keys beside `exec`.
fn with_keys(script: &str, keys: &[(&str, Value)]) -> Room {
    let mut room = Room::shell(script);
    room.request.fields.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    room
}

#[test]
fn a_line_that_fails_fails_the_script() {
    let answer = Room::shell("echo before; false; echo after").run();
    assert_eq!(fault(&answer).code, FaultCode::ExitNonzero);
    assert_eq!(answer.output, json!("before"));
}

#[test]
fn bash_also_fails_when_the_left_side_of_a_pipeline_fails() {
    let script = "false | cat; echo after";
    assert_eq!(output(script), json!("after"), "plain sh loses the status");
    let answer = with_keys(script, &[("shell", json!("bash"))]).run();
    assert_eq!(fault(&answer).code, FaultCode::ExitNonzero);
    let answer = with_keys("a=(1 2); echo ${#a[@]}", &[("shell", json!("bash"))]).run();
    assert_eq!(answer.output, json!(2));
}

#[test]
fn another_program_gets_the_script_as_its_last_argument() {
    let answer = with_keys("one two", &[("shell", json!(["printf", "%s,%s", "first"]))]).run();
    assert_eq!(answer.output, json!("first,one two"));
    let answer = with_keys("x", &[("shell", json!(["no-such-program"]))]).run();
    assert_eq!(fault(&answer).code, FaultCode::Spawn);
}

#[test]
fn exit_codes_that_are_expected_are_no_fault() {
    let expecting = |script: &str, codes: Value| with_keys(script, &[("expect", codes)]).run();
    let answer = expecting("echo found; exit 2", json!([0, 2]));
    assert_eq!((&answer.ending, &answer.record["exitCode"]), (&Ending::Done, &json!(2)));
    assert_eq!(fault(&expecting("exit 1", json!([0, 2]))).code, FaultCode::ExitNonzero);
    assert!(fault(&expecting("exit 0", json!([2]))).message.contains("`expect`"));
}

#[test]
fn output_that_must_be_json_and_is_not_is_a_logical_fault() {
    let parsed = |script: &str, parse: &str| with_keys(script, &[("parse", json!(parse))]).run();
    let answer = parsed("echo not json", "json");
    assert_eq!(
        (fault(&answer).class, fault(&answer).code.as_str()),
        (FaultClass::Logical, "output_not_json")
    );
    assert_eq!(answer.output, json!("not json"));
    assert_eq!(fault(&parsed(r#"echo '{"a":1,"a":1}'"#, "json")).code.as_str(), "output_not_json");
    assert_eq!(fault(&parsed("echo no; exit 3", "json")).code, FaultCode::ExitNonzero);
    assert_eq!(parsed("echo 1.10", "json").output, json!(1.1));
    assert_eq!(parsed("echo 3", "text").output, json!("3"));
    assert_eq!(parsed("printf 'a\\n1\\n'", "lines").output, json!(["a", "1"]));
}

#[test]
fn short_output_that_is_not_text_has_a_file_with_every_byte() {
    let mut room = Room::shell("printf 'a\\377\\000b'");
    room.attempt.spool_from_bytes = 4096;
    let answer = room.run();
    let file = answer.record["stdout_file"].as_str().unwrap();
    assert_eq!(std::fs::read(file).unwrap(), b"a\xff\0b");
}
