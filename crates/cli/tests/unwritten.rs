//! An answer that could not be written is not an answer: the exit code says so, whether the disk is full or the reader
//! has gone.

mod desk;

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use desk::Desk;

const PLAYBOOK: &str = "version: '1.0'\nchecks: {a: {type: command, exec: 'echo a'}}\n";

/// Every verb that answers, with what it reads.
const VERBS: &[(&[&str], &str)] = &[
    (&["run", "playbook.yaml", "--output", "json"], ""),
    (&["runs", "--output", "json"], ""),
    (&["runs", "show", "last", "--output", "json"], ""),
    (&["runs", "export", "last"], ""),
    (&["outcomes", "--output", "json"], ""),
    (&["approvals", "--output", "json"], ""),
    (&["attention", "--output", "json"], ""),
    (&["artifacts", "last", "--output", "json"], ""),
    (&["explain", "last", "--output", "json"], ""),
    (&["verify", "last", "--output", "json"], ""),
    (&["check", "playbook.yaml", "--output", "json"], ""),
    (&["schema", "playbook"], ""),
    (&["eval", "1 + 1", "--output", "json"], ""),
    (&["eval", "--batch"], "{\"expr\": \"1\"}\n"),
    (&["rules", "check", "rules.yaml", "--output", "json"], "{\"b\": 1}\n"),
    (&["rules", "check", "rules.yaml", "--output", "jsonl"], "{\"b\": 1}\n"),
    (&["completions", "bash"], ""),
    (&["lifecycle", "version"], ""),
    (&["lifecycle", "events"], ""),
    (&["lifecycle", "manifest", "list"], ""),
    (&["runs", "--no-such-option", "--output", "json"], ""),
    (&["doctor", "--output", "json"], ""),
    (&["effects", "--output", "json"], ""),
    (&["gc", "--keep", "9", "--output", "json"], ""),
];

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    desk.write("rules.yaml", "- {rule_id: a, field: b, check: required}\n");
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    desk
}

fn code(mut command: Command, input: &str, stdout: Stdio) -> Option<i32> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::null()).spawn().expect("it starts");
    // A verb that does not read may be gone by now.
    let _ = child.stdin.take().expect("its stdin").write_all(input.as_bytes());
    child.wait().expect("it ends").code()
}

#[test]
fn a_full_disk_exits_with_3_in_every_verb() {
    let Ok(_) = File::options().write(true).open("/dev/full") else { return };
    let desk = desk();
    for (arguments, input) in VERBS {
        let full = File::options().write(true).open("/dev/full").expect("a device that is always full");
        assert_eq!(code(desk.command(arguments), input, full.into()), Some(3), "{arguments:?}");
    }
}

#[test]
fn a_closed_pipe_exits_with_3_in_every_verb_that_answers_a_machine() {
    let desk = desk();
    for (arguments, input) in VERBS {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        assert_eq!(code(desk.command(arguments), input, writer.into()), Some(3), "{arguments:?}");
    }
}

#[test]
fn a_person_who_has_seen_enough_is_no_error() {
    let desk = desk();
    for arguments in [&["runs"][..], &["runs", "show", "last"], &["explain", "last"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        assert_eq!(code(desk.command(arguments), "", writer.into()), Some(0), "{arguments:?}");
    }
}
