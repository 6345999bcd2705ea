//! Bad input, and a world that fails: a clear error, the right exit code, nothing run, nothing lost.

mod desk;

use desk::Desk;

/// The exit code, and whether stderr says this.
fn check(playbook: Option<&str>, code: i32, says: &str) {
    let desk = Desk::new();
    if let Some(text) = playbook {
        desk.write("playbook.yaml", text);
    }
    let done = desk.escrow(&["run", "playbook.yaml"]);
    assert_eq!(done.code, Some(code), "{}", done.stderr);
    assert!(done.stderr.contains(says), "{}", done.stderr);
    assert!(!desk.path().join("ran").exists(), "nothing may run");
    if code == 2 && playbook.is_some() {
        let machine = desk.escrow(&["run", "playbook.yaml", "--output", "json"]).json();
        let first = &machine["error"]["diagnostics"][0];
        assert!(first["code"].as_str().is_some_and(|code| code.starts_with('E')), "{machine}");
        assert!(first["line"].is_u64(), "{machine}");
    }
}

#[test]
fn a_file_that_is_not_there() {
    check(None, 2, "there is no file `playbook.yaml`");
}

#[test]
fn an_empty_file() {
    check(Some(""), 2, "the file is empty");
}

#[test]
fn an_unknown_key_with_its_likely_meaning() {
    check(Some("checks: {a: {type: command, exec: 'touch ran', dependson: b}}"), 2, "depends_on");
}

#[test]
fn a_value_of_the_wrong_type() {
    check(Some("checks: {a: {type: command, exec: 'touch ran', timeout: [1]}}"), 2, "timeout");
}

#[test]
fn a_dependency_that_does_not_exist() {
    check(
        Some("checks: {lint: {type: noop}, a: {type: command, exec: 'touch ran', depends_on: [lnit]}}"),
        2,
        "lint",
    );
}

#[test]
fn a_cycle_of_dependencies() {
    check(Some("checks: {a: {type: noop, depends_on: b}, b: {type: noop, depends_on: a}}"), 2, "cycle");
}

#[test]
fn several_problems_are_told_at_once() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "nmae: x\nchecks:\n  a: {type: comand, exec: x}\n  b: {type: noop, if: '1 +'}\n",
    );
    let machine = desk.escrow(&["check", "playbook.yaml", "--output", "json"]).json();
    let problems = machine["error"]["diagnostics"].as_array().expect("diagnostics");
    assert_eq!(problems.len(), 3, "{machine}");
}

#[test]
fn usage_that_makes_no_sense() {
    let desk = Desk::new();
    for arguments in
        [&["run"][..], &["nonsense"], &["run", "x.yaml", "--jobs", "0"], &["runs", "--status", "sunny"]]
    {
        assert_eq!(desk.escrow(arguments).code, Some(2), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"], &["completions", "bash"]] {
        assert_eq!(desk.escrow(arguments).code, Some(0), "{arguments:?}");
    }
}

#[test]
fn a_run_that_is_not_there() {
    let desk = Desk::new();
    let done = desk.escrow(&["runs", "show", "r_nothing"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("no run is called `r_nothing`"), "{}", done.stderr);
    assert!(!desk.path().join(".escrow").exists(), "looking makes nothing");
    assert_eq!(desk.escrow(&["runs"]).code, Some(0), "an empty list is an answer");
}

#[test]
fn a_state_that_cannot_be_written() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: command, exec: 'touch ran'}}");
    let state = desk.write("state", "a file, not a directory");
    let done = desk.escrow(&["run", "playbook.yaml", "--state", &state.display().to_string()]);
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert!(done.stderr.contains("--state"), "{}", done.stderr);
    assert!(!desk.path().join("ran").exists());
}

#[test]
fn a_database_that_is_none() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: command, exec: 'touch ran'}}");
    desk.write(".escrow/escrow.db", &"this is not a database. ".repeat(100));
    let done = desk.escrow(&["run", "playbook.yaml"]);
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert!(!desk.path().join("ran").exists());
    assert!(desk.read(".escrow/escrow.db").starts_with("this is not a database"), "it is left as it was");
}

#[test]
fn a_command_that_does_not_exist() {
    let desk = Desk::new();
    let (code, document) = desk.run("checks: {a: {type: command, exec: [no-such-program-anywhere]}}");
    assert_eq!(code, Some(1));
    assert_eq!(document["run"]["reason"]["code"], "run.failed.exception");
    assert_eq!(document["checks"]["a"]["issues"][0]["rule_id"], "command/spawn");
}

#[test]
fn bytes_that_are_not_text() {
    let desk = Desk::new();
    std::fs::write(desk.path().join("playbook.yaml"), [0xff, 0xfe, 0x00, 0x80]).expect("written");
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(2));
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let desk = Desk::new();
    desk.run("checks: {a: {type: command, exec: 'seq 100000'}}");
    let done = std::process::Command::new("sh")
        .args(["-c", "\"$0\" logs last a --stdout | head -1", env!("CARGO_BIN_EXE_escrow")])
        .current_dir(desk.path())
        .output()
        .expect("sh runs");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "1\n");
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn usage_that_makes_no_sense_is_json_too_when_that_is_asked() {
    let desk = Desk::new();
    for (arguments, says) in [
        (&["outcomes", "add", "--output", "json"][..], "--name"),
        (&["outcomes", "--passed", "--failed", "--output=json"], "cannot be used with"),
        (&["--output", "jsonl", "outcomes", "--limit", "many"], "many"),
        (&["rules", "bogus", "--output", "json"], "bogus"),
        (&["attention", "dismiss", "f_1", "--output", "json"], "--note"),
    ] {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(2), "{arguments:?}");
        let error = &done.json()["error"];
        assert_eq!(error["code"], "usage", "{arguments:?}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(says)), "{error}");
        assert!(done.stderr.contains(says), "people are told as well: {}", done.stderr);
    }
    assert_eq!(desk.escrow(&["outcomes", "add"]).stdout, "");
}

#[test]
fn quiet_silences_talk_and_no_error() {
    let desk = Desk::new();
    desk.write("bad.yaml", "checks: {a: {type: nonsense}}");
    let done = desk.escrow(&["run", "bad.yaml", "--quiet"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("bad.yaml:1:20"), "the line is told: {}", done.stderr);
    desk.write("good.yaml", "checks: {a: {type: noop}}");
    assert_eq!(desk.escrow(&["run", "good.yaml", "--quiet"]).stderr, "");
}

#[test]
fn a_file_without_end_is_not_read_to_its_end() {
    let desk = Desk::new();
    for arguments in [["check", "/dev/zero"], ["run", "/dev/zero"]] {
        let done = desk.escrow(&arguments);
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains("it is not a regular file"), "{}", done.stderr);
    }
    desk.write("playbook.yaml", "checks: {a: {type: noop}}");
    let done = desk.escrow(&["run", "playbook.yaml", "--event", "manual=/dev/zero"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("it is longer than"), "{}", done.stderr);
    assert_eq!(desk.escrow(&["test", "/dev/zero"]).code, Some(2));
}

#[test]
fn slips_on_the_command_line_are_answered_with_what_was_probably_meant() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "inputs: {list: {type: array, default: []}}\nchecks: {lint: {type: noop, on: [pr_opened]}, all: {type: noop}}",
    );
    let told = |arguments: &[&str], code: i32, says: &str| {
        let mut all = vec!["run", "playbook.yaml"];
        all.extend(arguments);
        let done = desk.escrow(&all);
        assert_eq!(done.code, Some(code), "{}", done.stderr);
        assert!(done.stderr.contains(says), "{}", done.stderr);
    };
    told(&["--only", "lnit"], 2, "did you mean `lint`?");
    told(&["--only", "publish"], 2, "the checks are lint, all");
    told(&["--event", "pr_opend"], 0, "no check listens to `pr_opend`: did you mean `pr_opened`?");
    told(&["--input", "list=1"], 2, "input `list` must be an array, not `1`");
    let fine = desk.escrow(&["run", "playbook.yaml", "--event", "deployed"]);
    assert!(!fine.stderr.contains("did you mean"), "events are free words: {}", fine.stderr);
}

#[test]
fn a_nested_playbook_that_is_not_there_or_broken_is_told_before_anything_runs() {
    let desk = Desk::new();
    desk.write("broken.yaml", "checks:\n  a: {typ: noop}\n");
    let playbook =
        "checks: {x: {type: playbook, playbook: gone.yaml}, y: {type: playbook, playbook: broken.yaml}}";
    desk.write("playbook.yaml", playbook);
    let refused = desk.escrow(&["check", "playbook.yaml"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("error[E0174]"), "{}", refused.stderr);
    assert!(refused.stderr.contains("file `gone.yaml` not found"), "{}", refused.stderr);
    assert!(refused.stderr.contains("line 2: a check needs `type` (E0106)"), "{}", refused.stderr);
}

#[test]
fn what_a_nested_playbook_does_not_take_is_told_before_anything_runs() {
    let desk = Desk::new();
    desk.write(
        "deploy.yaml",
        "inputs:\n  target: {type: string, required: true}\n  times: {type: number, default: 1}\nchecks: {a: {type: noop}}\n",
    );
    let playbook = "checks:\n  x:\n    type: playbook\n    playbook: deploy.yaml\n    with: {targt: staging, times: [2]}\n";
    desk.write("playbook.yaml", playbook);
    let warned = desk.escrow(&["check", "playbook.yaml"]);
    assert_eq!(warned.code, Some(0), "{}", warned.stderr);
    for says in [
        "warning[W0214]: `deploy.yaml` has no input `targt`",
        "did you mean `target`?",
        "expected a number",
        "`deploy.yaml` requires the input `target`",
    ] {
        assert!(warned.stderr.contains(says), "{says}: {}", warned.stderr);
    }
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(1), "and nothing of it runs");
    desk.write("playbook.yaml", &format!("safety: strict\n{playbook}"));
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(2));
    let good = "with: {target: '{{ event.name }}', times: 2}";
    desk.write("playbook.yaml", &playbook.replace("with: {targt: staging, times: [2]}", good));
    let fine = desk.escrow(&["check", "playbook.yaml"]);
    assert!(!fine.stderr.contains("W0214"), "{}", fine.stderr);
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
}

#[test]
fn a_command_line_that_cannot_be_read_is_told_to_tools_too() {
    let desk = Desk::new();
    for arguments in [
        &["run", "--output", "json"][..],
        &["--output=json", "rnu"],
        &["runs", "--nope", "--output", "jsonl"],
    ] {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(2));
        assert_eq!(done.json()["error"]["code"], "usage", "{arguments:?}");
        assert!(done.stderr.starts_with("error: "), "{}", done.stderr);
    }
    assert_eq!(desk.escrow(&["rnu"]).stdout, "");
}

#[test]
fn an_error_that_quotes_a_name_does_not_drive_the_terminal() {
    let done = Desk::new().escrow(&["run", "a\u{1b}[2J\u{202e}b.yaml"]);
    assert!(done.stderr.contains("a[2Jb.yaml"), "{:?}", done.stderr);
    assert!(!done.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", done.stderr);
}

/// Opening a pipe waits until somebody writes to it.
#[test]
fn a_playbook_that_is_no_regular_file_is_refused() {
    let desk = Desk::new();
    let made = std::process::Command::new("mkfifo").arg(desk.path().join("pipe.yaml")).status();
    assert!(made.expect("mkfifo runs").success());
    desk.write("outer.yaml", "checks: {nest: {type: playbook, playbook: pipe.yaml}}");
    for verb in ["check", "run"] {
        let refused = desk.escrow(&[verb, "pipe.yaml"]);
        assert_eq!(refused.code, Some(2), "{verb}: {}", refused.stderr);
        assert!(refused.stderr.contains("it is not a regular file"), "{verb}: {}", refused.stderr);
    }
    assert!(desk.escrow(&["check", "outer.yaml"]).stderr.contains("E0174"));
    assert_eq!(desk.escrow(&["run", "outer.yaml"]).code, Some(2));
}

#[test]
fn a_list_of_nothing_is_refused() {
    let desk = Desk::new();
    for verb in ["runs", "attention", "outcomes"] {
        assert_eq!(desk.escrow(&[verb, "--limit", "0"]).code, Some(2), "{verb}");
        assert_eq!(desk.escrow(&[verb, "--limit", "1"]).code, Some(0), "{verb}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let desk = Desk::new();
    let playbook = "
artifacts: {expected: [{id: r, path: r}]}
checks: {write: {type: command, exec: 'head -c 300000 /dev/zero > $ESCROW_ARTIFACTS/r'}}
";
    assert_eq!(desk.run(playbook).0, Some(0));
    for arguments in [&["--help"][..], &["artifacts", "last", "--get", "r"], &["runs"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = desk.command(arguments).stdout(writer).status().expect("the binary runs");
        assert_eq!(status.code(), Some(0), "{arguments:?}");
    }
}
