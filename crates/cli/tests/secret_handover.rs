//! How secrets reach commands, and that texts which people and commands bring later are redacted too.

mod desk;

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use desk::{Desk, Done};

const CANARY: &str = "canary-hunter/2+'x'";

fn run(desk: &Desk, arguments: &[&str]) -> Done {
    Done::from(desk.command(arguments).env("CANARY", CANARY).output().expect("the binary runs"))
}

/// No file of the state holds the value.
fn clean(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            clean(&path);
            continue;
        }
        let bytes = fs::read(&path).expect("it can be read");
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{} holds the secret", path.display());
    }
}

#[test]
fn a_secret_can_be_handed_over_as_a_file() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
version: '1.0'
secrets: { TOKEN: { env: CANARY }, OTHER: { env: CANARY } }
checks:
  use:
    type: command
    secrets: [{ name: TOKEN, as: file }, { name: OTHER, as: env }]
    exec: |
      test -f "$TOKEN"
      stat -c %a "$TOKEN" > mode || stat -f %Lp "$TOKEN" > mode
      test "$(cat "$TOKEN")" = "$OTHER"
      echo "$TOKEN" > where
      cat "$TOKEN"
"#,
    );
    let done = run(&desk, &["run", "playbook.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.json()["checks"]["use"]["output"], "***");
    assert_eq!(desk.read("mode").trim(), "400");
    assert!(!Path::new(desk.read("where").trim()).exists(), "it is gone when the command has ended");
    clean(&desk.path().join(".escrow"));
}

#[test]
fn a_secret_in_a_file_is_in_no_backup_and_a_killed_run_leaves_none() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
version: '1.0'
secrets: { TOKEN: { env: CANARY } }
checks:
  use:
    type: command
    secrets: [{ name: TOKEN, as: file }]
    exec: 'test -s "$TOKEN"; echo "$TOKEN" > where; touch started; sleep 30'
"#,
    );
    let runtime = desk.path().join("runtime");
    DirBuilder::new().mode(0o700).create(&runtime).expect("a new directory");
    let escrow = |arguments: &[&str]| {
        let mut command = desk.command(arguments);
        command.env("XDG_RUNTIME_DIR", &runtime).env("CANARY", CANARY);
        command
    };
    let mut child = escrow(&["run", "playbook.yaml", "--quiet"]).spawn().expect("the binary starts");
    desk.until("the command runs", || desk.path().join("started").exists());
    clean(&desk.path().join(".escrow"));
    assert!(Path::new(desk.read("where").trim()).starts_with(&runtime));

    assert!(escrow(&["backup", "copy"]).output().expect("it runs").status.success());
    clean(&desk.path().join("copy"));
    assert!(Path::new(desk.read("where").trim()).exists(), "another process leaves a file that is in use");

    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    assert!(escrow(&["runs", "--quiet"]).output().expect("it runs").status.success());
    assert!(!Path::new(desk.read("where").trim()).exists(), "the next process removes it");
    clean(&runtime);

    // Earlier versions had it in the state.
    let run = desk.show("last")["run"]["id"].as_str().expect("an id").to_owned();
    let left = desk.path().join(".escrow/spool").join(run).join("secret-use-00000001-1-TOKEN");
    fs::write(&left, CANARY).expect("it can be written");
    assert!(escrow(&["backup", "again"]).output().expect("it runs").status.success());
    clean(&desk.path().join("again"));
    assert!(escrow(&["cancel", "last"]).output().expect("it runs").status.success());
    assert!(!left.exists());
}

#[test]
fn a_secret_can_be_handed_over_as_an_open_file_that_only_its_command_has() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
version: '1.0'
secrets: { TOKEN: { env: CANARY }, OTHER: { env: CANARY }, PLAIN: { env: CANARY } }
checks:
  beside:
    type: command
    exec: 'sleep 0.3; ls /proc/self/fd > beside; echo "${TOKEN:-nothing}"'
  use:
    type: command
    secrets: [{ name: TOKEN, as: fd }, { name: OTHER, as: fd }, PLAIN]
    exec: |
      sleep 0.2
      case $TOKEN in /dev/fd/*) ;; *) exit 9 ;; esac
      test "$TOKEN" != "$OTHER"
      test "$(cat "$TOKEN")" = "$PLAIN"
      test "$(cat "$OTHER")" = "$PLAIN"
      # A second look, a child, and one that leaves the session read it from the beginning.
      test "$(sh -c 'cat "$TOKEN"')" = "$PLAIN"
      setsid -w sh -c 'cat "$TOKEN"' > twin
      test "$(cat twin)" = "$PLAIN"
      rm twin
      (echo changed > "$TOKEN") 2> /dev/null && exit 8
      cat "$TOKEN"
"#,
    );
    let done = run(&desk, &["run", "playbook.yaml", "--jobs", "2", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.json()["checks"]["use"]["output"], "***");
    assert_eq!(done.json()["checks"]["beside"]["output"], "nothing");
    assert!(!desk.read("beside").lines().any(|number| number == "20"), "another command has it, too");
    clean(desk.path());
}

#[test]
fn a_confined_command_reads_its_open_file() {
    let desk = Desk::new();
    let doctor = desk.escrow(&["doctor", "--output", "json"]).json();
    let all = doctor["abilities"].as_array().expect("a list").iter().all(|one| one["available"] == true);
    if !all {
        return;
    }
    desk.write(
        "playbook.yaml",
        r#"
version: '1.0'
secrets: { TOKEN: { env: CANARY } }
checks:
  use:
    type: command
    secrets: [{ name: TOKEN, as: fd }]
    sandbox: { filesystem: { read: [], write: [] }, network: none, limits: { files: 32 } }
    exec: 'wc -c < "$TOKEN"; cat "$TOKEN"'
"#,
    );
    let done = run(&desk, &["run", "playbook.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.json()["checks"]["use"]["output"], "19\n***");
}

#[test]
fn an_outcome_that_a_command_adds_is_redacted_however_the_secret_is_handed_over() {
    let desk = Desk::new();
    for form in ["env", "file", "fd"] {
        desk.write(
            "playbook.yaml",
            &format!(
                r#"
version: '1.0'
secrets: {{ TOKEN: {{ env: CANARY }} }}
checks:
  add:
    type: command
    secrets: [{{ name: TOKEN, as: {form} }}]
    exec: |
      value=$(cat "$TOKEN" 2> /dev/null || echo "$TOKEN")
      printf '{{"outcome_kind": "gate_verdict", "summary": "%s", "gate_passed": true}}' "$value" |
        {} outcomes add --name "verdict" --run "$ESCROW_RUN"
"#,
                env!("CARGO_BIN_EXE_escrow")
            ),
        );
        let done = run(&desk, &["run", "playbook.yaml"]);
        assert_eq!(done.code, Some(0), "{form}: {}", done.stderr);
        let outcomes = desk.escrow(&["outcomes", "--output", "json"]).stdout;
        assert!(outcomes.contains("***") && !outcomes.contains(CANARY), "{form}: {outcomes}");
        clean(&desk.path().join(".escrow"));
    }
}

/// The system gives the files of a process that cannot be dumped to root. Root itself sees no difference, so a test that
/// runs as root lets another user run Escrow.
#[cfg(target_os = "linux")]
#[test]
fn no_process_of_escrow_can_be_dumped_and_its_commands_can() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;

    let desk = Desk::new();
    fs::set_permissions(desk.path(), fs::Permissions::from_mode(0o777)).expect("our own directory");
    let own = fs::metadata("/proc/self").expect("our own process").uid();
    let user = if own == 0 { NOBODY } else { own };
    let command = |arguments: &[&str]| {
        let mut command = desk.command(arguments);
        if own == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let mut batch = command(&["eval", "--batch"]);
    let started = batch.stdin(std::process::Stdio::piped()).spawn();
    // Where the other user cannot reach the binary, there is nothing to see.
    let Ok(mut child) = started else { return };
    let owner = || fs::metadata(format!("/proc/{}/environ", child.id())).expect("it runs").uid();
    for _ in 0..500 {
        if owner() == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let found = owner();
    child.kill().expect("it can be ended");
    child.wait().expect("it is gone");
    assert_eq!(found, 0, "another process of the user can read its memory");

    desk.write(
        "playbook.yaml",
        "version: '1.0'\nchecks: {a: {type: command, exec: 'stat -c %u /proc/self/environ'}}\n",
    );
    let mut run = command(&["run", "playbook.yaml", "--output", "json"]);
    let done = Done::from(run.env("HOME", desk.path()).output().expect("it runs"));
    assert_eq!(done.json()["checks"]["a"]["output"], user, "{}", done.stderr);
}

#[test]
fn a_secret_is_handed_over_in_a_known_way_or_not_at_all() {
    let desk = Desk::new();
    for bad in [
        "{ name: TOKEN, as: socket }",
        "{ name: TOKEN, as: FD }",
        "{ as: fd }",
        "{ as: file }",
        "{ name: TOKEN, at: file }",
        "{ name: NONE, as: file }",
    ] {
        desk.write(
            "playbook.yaml",
            &format!(
                "version: '1.0'\nsecrets: [TOKEN]\nchecks: {{a: {{type: command, secrets: [{bad}], exec: 'true'}}}}\n"
            ),
        );
        assert_eq!(desk.escrow(&["check", "playbook.yaml"]).code, Some(2), "{bad}");
    }
}

#[test]
fn an_outcome_that_a_command_adds_is_redacted_however_the_secret_is_declared() {
    let desk = Desk::new();
    desk.write("token.txt", &format!("{CANARY}\n"));
    for source in ["{ env: CANARY }", "{ file: token.txt }", "{ command: [cat, token.txt] }"] {
        desk.write(
            "playbook.yaml",
            &format!(
                r#"
version: '1.0'
secrets: {{ TOKEN: {source} }}
checks:
  add:
    type: command
    secrets: TOKEN
    exec: |
      printf '{{"outcome_kind": "gate_verdict", "summary": "%s", "gate_passed": true}}' "$TOKEN" > outcome.json
      {} outcomes add --name "by $TOKEN" --run "$ESCROW_RUN" < outcome.json
"#,
                env!("CARGO_BIN_EXE_escrow")
            ),
        );
        let done = run(&desk, &["run", "playbook.yaml"]);
        assert_eq!(done.code, Some(0), "{source}: {}", done.stderr);
        let outcomes = desk.escrow(&["outcomes", "--output", "json"]).stdout;
        assert!(outcomes.contains("***") && !outcomes.contains(CANARY), "{source}: {outcomes}");
        clean(&desk.path().join(".escrow"));
    }
}

#[test]
fn a_nested_run_knows_the_secrets_of_the_run_around_it() {
    let desk = Desk::new();
    desk.write("inner.yaml", "version: '1.0'\ninputs: {path: {type: string}}\nchecks: {print: {type: command, exec: 'cat token.txt; env'}}\n");
    desk.write("token.txt", CANARY);
    desk.write(
        "playbook.yaml",
        "version: '1.0'\nsecrets: {TOKEN: {env: CANARY}}\nchecks: {nest: {type: playbook, playbook: inner.yaml}}\n",
    );
    let done = run(&desk, &["run", "playbook.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!done.stdout.contains(CANARY) && done.stdout.contains("***"), "{}", done.stdout);
    clean(&desk.path().join(".escrow"));
}

#[test]
fn notes_are_redacted_on_delivery_and_what_was_sent_is_gone() {
    let desk = Desk::new();
    // The person who approves cannot read the secret: only the process that drives the run can.
    desk.write("token.txt", &format!("{CANARY}\n"));
    desk.write(
        "playbook.yaml",
        "version: '1.0'\nsecrets: {TOKEN: {command: [cat, token.txt]}}\nchecks:\n  post: {type: command, secrets: TOKEN, requires_approval: true, exec: 'true'}\n",
    );
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(4));
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("an approval").to_owned();
    let note = format!("the token is {CANARY}");
    assert_eq!(desk.escrow(&["approve", &id, "--note", &note, "--no-run"]).code, Some(0));
    let resumed = desk.escrow(&["resume", "last"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    clean(&desk.path().join(".escrow"));
}

#[test]
fn the_reason_of_an_override_is_redacted() {
    let desk = Desk::new();
    desk.write("token.txt", &format!("{CANARY}\n"));
    desk.write(
        "playbook.yaml",
        "version: '1.0'\nsecrets: {TOKEN: {command: [cat, token.txt]}}\nchecks: {a: {type: command, secrets: TOKEN, exec: 'exit 1'}}\n",
    );
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(1));
    let why = format!("it printed {CANARY}");
    let done =
        desk.escrow(&["runs", "override", "last", "--status", "completed", "--by", "ann", "--why", &why]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    clean(&desk.path().join(".escrow"));
}
