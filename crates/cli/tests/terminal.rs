//! What people read: the timeline of a run on stderr, without colour, with what varies masked.

mod desk;

use desk::Desk;

/// The ui of a run, with ids and times masked.
fn timeline(playbook: &str, more: &[&str]) -> String {
    let desk = Desk::new();
    desk.write("playbook.yaml", playbook);
    let mut arguments = vec!["run", "playbook.yaml"];
    arguments.extend(more);
    mask(&desk.escrow(&arguments).stderr)
}

fn mask(text: &str) -> String {
    let mut masked = String::new();
    for line in text.lines() {
        let words: Vec<String> = line
            .split(' ')
            .map(|word| {
                let digits = word.trim_end_matches("ms").trim_end_matches('s');
                let is_time = digits.len() < word.len()
                    && !digits.is_empty()
                    && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
                let is_id = |prefix: &str, length: usize| word.starts_with(prefix) && word.len() == length;
                if is_time {
                    "TIME".to_owned()
                } else if is_id("r_", 22) {
                    "RUN".to_owned()
                } else if word.starts_with("a_") || word.starts_with("(a_") {
                    "WAIT".to_owned()
                } else if word.starts_with("/tmp/") || word.starts_with("/var/") {
                    "DIRECTORY".to_owned()
                } else {
                    word.to_owned()
                }
            })
            .collect();
        // Times are right-aligned: what is left of them varies with their length.
        let line = words.join(" ");
        let squeezed: Vec<&str> = line.split("TIME").map(str::trim_end).collect();
        masked.push_str(&squeezed.join(" TIME"));
        masked.push('\n');
    }
    masked
}

#[test]
fn a_failing_run_tells_what_failed_what_it_printed_and_what_to_do() {
    let told = timeline(
        r#"
name: release
checks:
  build: {type: command, exec: "echo building; echo broken >&2; exit 2"}
  publish: {type: command, depends_on: build, exec: "true"}
  lint: {type: noop}
"#,
        &["--jobs", "1"],
    );
    assert_eq!(
        told,
        "run RUN  release
  ✓ lint TIME
  ✗ build TIME  exit code 2
  - publish           a dependency did not succeed: `build` did not succeed

✗ build
  command/exit_nonzero  exit code 2
  ── stdout ──
  building
  ── stderr ──
  broken
failed  run.failed.exit_nonzero  `build` failed: exit code 2 TIME
  next: escrow explain RUN build    or  escrow logs RUN build
"
    );
}

#[test]
fn a_missing_artifact_is_told_as_the_contract_has_it() {
    let told =
        timeline("artifacts: {expected: [{id: review, path: review.md}]}\nchecks: {a: {type: noop}}", &[]);
    assert_eq!(
        told,
        "run RUN  playbook
  ✓ a TIME

Run failed: missing required artifacts.
  review (review.md) — playbook

Run completed cleanly otherwise. Inspect with:
  escrow runs show RUN
failed  run.failed.missing_artifact  missing required artifacts: review (review.md) TIME
"
    );
}

#[test]
fn a_run_that_waits_says_for_what_and_how_to_continue() {
    let told = timeline("checks: {deploy: {type: command, exec: 'true', requires_approval: true}}", &[]);
    assert_eq!(
        told,
        "run RUN  playbook
    deploy waits: approve `deploy` WAIT
waiting  run.waiting.approval  `deploy` waits for a person: approve `deploy`
  approve `deploy`  escrow approve WAIT    or  escrow deny WAIT
    directory: DIRECTORY
    exec: true
"
    );
}

#[test]
fn quiet_says_nothing_of_a_success_and_no_escape_codes_reach_a_file() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: command, exec: 'true'}}");
    assert_eq!(desk.escrow(&["run", "playbook.yaml", "--quiet"]).stderr, "");
    desk.write("playbook.yaml", "checks: {a: {type: command, exec: 'exit 1'}}");
    assert!(!desk.escrow(&["run", "playbook.yaml"]).stderr.contains('\x1b'));
}

#[test]
fn colour_comes_when_it_is_forced_and_goes_when_it_is_refused() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: command, exec: 'exit 1'}}");
    let forced = desk.command(&["run", "playbook.yaml"]).env("CLICOLOR_FORCE", "1").output().expect("runs");
    assert!(String::from_utf8_lossy(&forced.stderr).contains("\x1b[1;31m"));
    let refused = desk
        .command(&["run", "playbook.yaml"])
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .output()
        .expect("runs");
    assert!(!String::from_utf8_lossy(&refused.stderr).contains('\x1b'));
}

#[test]
fn a_commands_escape_codes_do_not_reach_the_terminal() {
    let told = timeline(r#"checks: {a: {type: command, exec: "printf '\\033[2Jwiped'; exit 1"}}"#, &[]);
    assert!(!told.contains('\x1b'), "{told:?}");
    assert!(told.contains("[2Jwiped"), "{told}");
}

#[test]
fn fan_outs_are_counted_by_item_and_retries_and_routes_have_their_lines() {
    let told = timeline(
        r#"
name: fan
checks:
  list:
    type: command
    exec: "echo '[1, 2]'"
    forEach: true
    guarantee: Array.isArray(output)
    on_finish: {goto: after}
  each:
    type: command
    depends_on: list
    exec: 'test {{ item }} = 1 || test "$ESCROW_ATTEMPT" = 2'
    on_fail: {retry: {max: 1, backoff: {mode: fixed, delay_ms: 1}}}
  after: {type: noop}
"#,
        &["--jobs", "1"],
    );
    assert_eq!(
        told,
        "run RUN  fan
  ✓ list TIME
  ↻ each[1] TIME  exit code 1: retry 1 in TIME
  ✓ each[1] TIME  flaky: failed once before
  ✓ each TIME  2 items
  → after             on_finish of list
  ✓ after TIME
completed  run.completed.ok TIME
"
    );
}

#[test]
fn safe_mode_shows_what_it_kept_from_happening() {
    let told = timeline(
        r#"
inputs: {tag: {type: string, default: "v1 $(rm -rf /)"}}
checks:
  publish:
    type: command
    criticality: external
    assume: "true"
    guarantee: "true"
    exec: "publish --tag {{ inputs.tag }}"
"#,
        &["--safe-mode"],
    );
    assert!(told.contains("would have run: publish --tag \"‹v1 $(rm -rf /)›\""), "{told}");
}

#[test]
fn the_next_command_names_the_check_that_decided() {
    let told = timeline(
        r#"
checks:
  late: {type: command, exec: "sleep 0.3; exit 1"}
  early: {type: command, exec: "exit 1"}
"#,
        &["--jobs", "2"],
    );
    assert!(told.contains("`early` failed: exit code 1"), "{told}");
    assert!(told.contains("next: escrow explain RUN early"), "{told}");
}

#[test]
fn a_question_shows_its_choices_and_cannot_drive_the_terminal() {
    let desk = Desk::new();
    let playbook = r#"
checks:
  evil: {type: script, content: "return 'all \u001b[2J\u202efine'"}
  ask: {type: human-input, prompt: "Is {{ outputs.evil }} so?", choices: ["yes", "not yet"], depends_on: evil}
  hurl: {type: script, content: "throw new Error('\u001b[2Jboom')"}
"#;
    desk.write("playbook.yaml", playbook);
    let told = desk.escrow(&["run", "playbook.yaml"]).stderr;
    let listed = desk.escrow(&["approvals"]).stdout;
    // Every character is shown, also those that would drive the terminal.
    for (text, choices) in [(&told, " yes    or  'not yet'\n"), (&listed, "yes | 'not yet'")] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        assert!(text.contains(r"Is all \u{1b}[2J\u{202e}fine so?") && text.contains(choices), "{text}");
    }
    assert!(listed.contains("expires in 23h 59m"), "{listed}");
}

#[test]
fn no_name_of_a_playbook_or_a_file_and_no_description_drives_the_terminal() {
    let desk = Desk::new();
    let playbook = r#"
name: "evil \e[2J\a\u202eend"
checks:
  x: {type: noop}
  inner: {type: playbook, playbook: inner.yaml, criticality: info}
  fails: {type: command, depends_on: x, exec: "exit 1"}
artifacts: {expected: [{id: a, path: "a.md", description: "said \e[2J"}]}
"#;
    desk.write("playbook.yaml", playbook);
    desk.write("inner.yaml", "name: \"in \\e[2J\"\nchecks: {a: {type: noop}}\n");
    desk.write("un\u{1b}[2Jnamed.yaml", "checks: {a: {type: noop}}\n");
    desk.write("bro\u{1b}[2Jken.yaml", "checks: {a: {type: nope}}\n");
    let said: [&[&str]; 10] = [
        &["check", "playbook.yaml"],
        &["check", "un\u{1b}[2Jnamed.yaml"],
        &["check", "bro\u{1b}[2Jken.yaml"],
        &["run", "un\u{1b}[2Jnamed.yaml"],
        &["run", "playbook.yaml"],
        &["runs"],
        &["runs", "show", "last"],
        &["explain", "last"],
        &["resume", "last", "--failed"],
        &["gc", "--keep", "0", "--dry-run"],
    ];
    for arguments in said {
        let done = desk.escrow(arguments);
        let text = done.stdout + &done.stderr;
        assert!(!text.is_empty(), "{arguments:?}");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{arguments:?}: {text:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: command, exec: 'echo hello'}}");
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    let asked: [&[&str]; 6] = [
        &["check", "playbook.yaml"],
        &["run", "playbook.yaml", "--output", "json"],
        &["runs"],
        &["runs", "show", "last", "--output", "json"],
        &["runs", "export", "last"],
        &["logs", "last"],
    ];
    for arguments in asked {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full disk");
        let done = desk.command(arguments).stdout(full).output().expect("it starts");
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(told.contains("cannot write to stdout"), "{arguments:?}: {told}");
        assert_eq!(done.status.code(), Some(3), "{arguments:?}");
    }
}

#[test]
fn a_matrix_whose_items_could_not_be_evaluated_is_not_shown_as_done() {
    let told = timeline(
        r#"
checks:
  list: {type: command, forEach: true, exec: "echo '[1, 2, 3]'"}
  each: {type: command, depends_on: list, if: "item.name.length > 0", exec: "true"}
"#,
        &[],
    );
    let line = told.lines().find(|line| line.contains(" each ")).expect("a line for the matrix");
    assert!(line.contains("- each"), "{told}");
    assert!(line.contains("all 3 items skipped: a condition could not be evaluated"), "{told}");
}
