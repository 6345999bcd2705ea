//! Which process holds a run: a living holder is never taken for dead, and a dead one does not hold a run forever.

mod desk;

use desk::{Desk, signal};
use rustix::process::Signal;
use serde_json::{Value, json};

const PLAYBOOK: &str = "
version: '1.0'
name: slow
checks:
  a: {type: command, exec: 'if test -e begun; then echo again; else touch begun; sleep 60; fi'}
";

/// A run whose process was killed.
fn killed() -> (Desk, String) {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the command runs", || desk.path().join("begun").exists());
    signal(child.id(), Signal::KILL);
    child.wait().expect("it is gone");
    let runs = desk.escrow(&["runs", "--output", "json"]).json();
    let run = runs["runs"][0]["id"].as_str().expect("a run").to_owned();
    (desk, run)
}

fn database(desk: &Desk) -> rusqlite::Connection {
    rusqlite::Connection::open(desk.path().join(".escrow/escrow.db")).expect("the database opens")
}

/// Changes the recorded holder, and when its lease lapses in milliseconds from now.
fn change_holder(desk: &Desk, changes: &Value, lapses_in_ms: i64) {
    let database = database(desk);
    let holder: String =
        database.query_row("SELECT holder FROM journals", [], |row| row.get(0)).expect("a holder");
    let mut holder: Value = serde_json::from_str(&holder).expect("JSON");
    for (field, value) in changes.as_object().expect("changes") {
        holder[field] = value.clone();
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let expires_at = i64::try_from(now.as_millis()).expect("it fits") + lapses_in_ms;
    database
        .execute("UPDATE journals SET holder = ?1, expires_at = ?2", (holder.to_string(), expires_at))
        .expect("it is changed");
}

fn status(desk: &Desk, run: &str) -> Value {
    desk.show(run)["run"]["status"].clone()
}

#[test]
fn the_holder_names_its_machine_its_boot_and_its_pid_namespace() {
    let (desk, _) = killed();
    let holder: String =
        database(&desk).query_row("SELECT holder FROM journals", [], |row| row.get(0)).expect("a holder");
    let holder: Value = serde_json::from_str(&holder).expect("JSON");
    for field in ["machine_id", "boot_id", "pid_namespace", "host"] {
        assert!(holder[field].is_string(), "{field}: {holder}");
    }
    assert!(holder["pid"].is_u64() && holder["process_started"].is_u64(), "{holder}");
}

#[test]
fn a_run_of_this_machine_is_picked_up_at_once() {
    let (desk, run) = killed();
    assert_eq!(desk.escrow(&["resume", "--all"]).code, Some(0));
    assert_eq!(status(&desk, &run), "completed");
}

#[test]
fn a_run_of_another_machine_is_left_alone_until_its_lease_has_lapsed() {
    for elsewhere in [
        json!({ "host": "elsewhere", "boot_id": "another", "machine_id": "another" }),
        // The same host name does not make it the same machine.
        json!({ "boot_id": "another", "machine_id": "0123456789abcdef0123456789abcdef" }),
        json!({ "pid_namespace": "pid:[1]" }),
    ] {
        let (desk, run) = killed();
        change_holder(&desk, &elsewhere, 60_000);
        desk.escrow(&["resume", "--all"]);
        assert_eq!(status(&desk, &run), "running", "{elsewhere}");
        change_holder(&desk, &elsewhere, -1);
        assert_eq!(desk.escrow(&["resume", "--all"]).code, Some(0), "{elsewhere}");
        assert_eq!(status(&desk, &run), "completed", "{elsewhere}");
    }
}

#[test]
fn a_living_holder_keeps_its_run_however_old_its_lease() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the command runs", || desk.path().join("begun").exists());
    // Under another name of the same machine, too.
    change_holder(&desk, &json!({ "host": "renamed" }), -3_600_000);
    desk.escrow(&["resume", "--all"]);
    let resumed = desk.escrow(&["resume", "last"]);
    assert_eq!(resumed.code, Some(4), "{}", resumed.stderr);
    assert!(child.try_wait().expect("it can be asked").is_none(), "it still runs");
    signal(child.id(), Signal::TERM);
    child.wait().expect("it ends");
}
