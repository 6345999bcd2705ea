//! The state directory belongs to its owner: rights, where it is found, and whose is refused.

mod desk;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use desk::{Desk, Done};

const PLAYBOOK: &str = "
version: '1.0'
name: deliver
checks:
  write:
    type: command
    exec: |
      echo 'A=1' > $ESCROW_ENV
      mkdir $ESCROW_ARTIFACTS/folder
      echo hello > $ESCROW_ARTIFACTS/folder/file.txt
      head -c 100000 /dev/zero
";

/// Runs the binary under a umask.
fn under_umask(desk: &Desk, umask: &str, arguments: &[&str]) -> Done {
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(format!("umask {umask}; exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_escrow"))
        .args(arguments)
        .current_dir(desk.path())
        .stdin(Stdio::null())
        .env_remove("ESCROW_STATE");
    Done::from(command.output().expect("the binary runs"))
}

/// Everything beneath a directory, and the directory itself.
fn everything(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).expect("a directory can be read").flatten() {
            found.extend(everything(&entry.path()));
        }
    }
    found
}

fn check_private(desk: &Desk) {
    for path in everything(&desk.path().join(".escrow")) {
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.mode() & 0o777, expected, "{}", path.display());
    }
}

#[test]
fn directories_are_0700_and_files_0600_under_any_umask() {
    for umask in ["000", "022", "077", "027"] {
        let desk = Desk::new();
        desk.write("playbook.yaml", PLAYBOOK);
        assert_eq!(under_umask(&desk, umask, &["run", "playbook.yaml"]).code, Some(0), "{umask}");
        for export in
            ["runs export last --out .escrow/run.json", "outcomes export --out .escrow/outcomes.jsonl"]
        {
            let words: Vec<&str> = export.split(' ').collect();
            let done = under_umask(&desk, umask, &words);
            assert_eq!(done.code, Some(0), "{export}: {}", done.stderr);
        }
        assert!(desk.path().join(".escrow/run.json").exists());
        check_private(&desk);
    }
}

#[test]
fn a_state_directory_from_a_clone_loses_the_rights_of_others() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    desk.write(".escrow/playbooks/own.yaml", PLAYBOOK);
    let state = desk.path().join(".escrow");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    assert_eq!(fs::metadata(&state).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn the_umask_of_commands_is_that_of_their_caller() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "version: '1.0'\nchecks:\n  a: {type: command, exec: 'touch beside'}\n");
    assert_eq!(under_umask(&desk, "022", &["run", "playbook.yaml"]).code, Some(0));
    assert_eq!(fs::metadata(desk.path().join("beside")).unwrap().mode() & 0o777, 0o644);
}

#[test]
fn context_and_handback_files_are_gone_when_the_run_is_at_rest() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    let left: Vec<_> = everything(&desk.path().join(".escrow/spool"))
        .into_iter()
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .filter(|name| name.starts_with("context-") || name.starts_with("handback-"))
        .collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn git_sees_what_people_write_and_nothing_else() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(desk.path()).output().expect("git runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    git(&["init", "--quiet"]);
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    for kept in [
        "playbooks/a.yaml",
        "agents/b.md",
        "rules/c.yaml",
        "outcomes/d.json",
        "chains/e/f.yaml",
        "config.toml",
    ] {
        desk.write(&format!(".escrow/{kept}"), "");
    }
    let seen = git(&["ls-files", "--others", "--exclude-standard", ".escrow"]);
    let mut seen: Vec<&str> = seen.lines().collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            ".escrow/.gitignore",
            ".escrow/agents/b.md",
            ".escrow/chains/e/f.yaml",
            ".escrow/config.toml",
            ".escrow/outcomes/d.json",
            ".escrow/playbooks/a.yaml",
            ".escrow/rules/c.yaml",
        ]
    );
}

/// A `.escrow` that another user owns: root gives one away, everybody else links to one of root.
fn foreign_state(desk: &Desk) -> PathBuf {
    let state = desk.path().join(".escrow");
    if rustix::process::geteuid().is_root() {
        fs::create_dir(&state).expect("a directory");
        std::os::unix::fs::chown(&state, Some(4242), None).expect("root may");
    } else {
        symlink("/usr", &state).expect("a link");
    }
    state
}

#[test]
fn a_state_directory_of_another_user_is_refused_unless_it_is_named() {
    let desk = Desk::new();
    let state = foreign_state(&desk);
    fs::create_dir_all(desk.path().join("deep/down")).unwrap();
    let runs = |variables: &[(&str, &str)]| {
        let mut command = desk.command(&["runs"]);
        command.current_dir(desk.path().join("deep/down")).env_remove("SUDO_UID").env_remove("ESCROW_TRUST");
        command.envs(variables.iter().copied());
        Done::from(command.output().expect("the binary runs"))
    };
    let refused = runs(&[]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("belongs to another user"), "{}", refused.stderr);
    assert!(refused.stderr.contains("ESCROW_TRUST="), "{}", refused.stderr);
    let trust = format!("/elsewhere:{}", state.display());
    assert_eq!(runs(&[("ESCROW_TRUST", &trust)]).code, Some(0));
    assert_eq!(runs(&[("ESCROW_TRUST", ".escrow:../../.escrow")]).code, Some(3));
    assert_eq!(runs(&[("ESCROW_STATE", state.to_str().unwrap())]).code, Some(0));
    let named = desk.escrow(&["runs", "--state", state.to_str().unwrap()]);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    if rustix::process::geteuid().is_root() {
        assert_eq!(runs(&[("SUDO_UID", "4242")]).code, Some(0));
        assert_eq!(runs(&[("SUDO_UID", "4243")]).code, Some(3));
    }
}

#[test]
fn definitions_of_another_user_are_not_read() {
    if !rustix::process::geteuid().is_root() {
        return; // only root can give a directory away
    }
    let desk = Desk::new();
    desk.write(".escrow/rules/own.yaml", "- {rule_id: a, field: b, check: required}\n");
    assert_eq!(desk.escrow_given(&["rules", "check", "own"], "{\"b\": 1}").code, Some(0));
    std::os::unix::fs::chown(desk.path().join(".escrow"), Some(4242), None).unwrap();
    assert_eq!(desk.escrow_given(&["rules", "check", "own"], "{\"b\": 1}").code, Some(2));
}

#[test]
fn a_definition_of_another_user_in_an_own_state_is_not_read() {
    if !rustix::process::geteuid().is_root() {
        return; // only root can give a file away
    }
    let desk = Desk::new();
    let rules = desk.write(".escrow/rules/own.yaml", "- {rule_id: a, field: b, check: required}\n");
    let profile = desk.write(".escrow/agents/bot.md", "---\ncommand: [sh, -c, 'touch ran']\n---\n");
    let nested = desk.write(".escrow/playbooks/inner.yaml", PLAYBOOK);
    desk.write("outer.yaml", "version: '1.0'\nchecks:\n  it: {type: playbook, playbook: inner}\n");
    assert_eq!(desk.escrow(&["check", "outer.yaml"]).code, Some(0));
    for path in [&rules, &profile, &nested] {
        std::os::unix::fs::chown(path, Some(4242), None).unwrap();
    }
    let done = desk.escrow_given(&["rules", "check", "own"], "{\"b\": 1}");
    assert_eq!(done.code, Some(3));
    assert!(done.stderr.contains("belongs to another user (uid 4242)"), "{}", done.stderr);
    assert_eq!(desk.escrow(&["check", "outer.yaml"]).code, Some(2));
    desk.write("agent.yaml", "version: '1.0'\nchecks:\n  it: {type: agent, agent: bot, prompt: hello}\n");
    let done = desk.escrow(&["run", "agent.yaml"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("belongs to another user (uid 4242)"), "{}", done.stderr);
    assert!(!desk.path().join("ran").exists());
    // A folder of another user could be filled by them.
    std::os::unix::fs::chown(&profile, Some(0), None).unwrap();
    std::os::unix::fs::chown(profile.parent().unwrap(), Some(4242), None).unwrap();
    assert_eq!(desk.escrow(&["run", "agent.yaml"]).code, Some(2));
}

#[test]
fn a_link_that_leads_nowhere_is_an_error_and_no_reason_to_look_further_up() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    for (target, words) in [("nowhere", "leads nowhere"), (".escrow", "leads back to itself")] {
        let below = desk.path().join(format!("below-{target}"));
        fs::create_dir(&below).unwrap();
        symlink(target, below.join(".escrow")).unwrap();
        let done = Done::from(desk.command(&["runs"]).current_dir(&below).output().unwrap());
        assert_eq!(done.code, Some(3), "{target}");
        assert!(done.stderr.contains(words), "{}", done.stderr);
    }
    let below = desk.path().join("file");
    fs::create_dir(&below).unwrap();
    fs::write(below.join(".escrow"), "").unwrap();
    let done = Done::from(desk.command(&["runs"]).current_dir(&below).output().unwrap());
    assert!(done.stderr.contains("is not a directory"), "{}", done.stderr);
}

#[test]
fn the_address_of_a_service_is_no_directory() {
    let desk = Desk::new();
    desk.write("p.yaml", "checks:\n  a: {type: command, exec: 'touch ran'}\n");
    for address in ["postgres://someone:hunter2@127.0.0.1:1/db", "sqlite:///x"] {
        for (arguments, variable) in [(["--state", address].as_slice(), ""), (&[], address)] {
            let mut command = desk.command(&["run", "p.yaml"]);
            command.args(arguments);
            if !variable.is_empty() {
                command.env("ESCROW_STATE", variable);
            }
            let done = Done::from(command.output().expect("the binary runs"));
            assert_eq!(done.code, Some(2), "{}", done.stderr);
            assert!(done.stderr.contains("the state is a directory"), "{}", done.stderr);
            assert!(!done.stderr.contains("hunter2"), "the password is not repeated: {}", done.stderr);
        }
    }
    assert!(!desk.path().join("ran").exists() && !desk.path().join("postgres:").exists());
}
