//! Runs that leave home: exported, imported, verified, tampered with, and removed.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

const PLAYBOOK: &str = r#"
name: kept
artifacts: {expected: [{id: note, path: sub/note.md}]}
checks:
  note: {type: command, exec: 'mkdir "$ESCROW_ARTIFACTS/sub"; echo hello > "$ESCROW_ARTIFACTS/sub/note.md"'}
  loud: {type: command, exec: "seq 1 20000"}
"#;

/// A finished run, and its export.
fn exported() -> (Desk, Value) {
    let desk = Desk::new();
    let (code, document) = desk.run(PLAYBOOK);
    assert_eq!(code, Some(0), "{document}");
    let done = desk.escrow(&["runs", "export", "last", "--out", "run.json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let export = serde_json::from_str(&desk.read("run.json")).expect("JSON");
    (desk, export)
}

fn database(desk: &Desk) -> rusqlite::Connection {
    rusqlite::Connection::open(desk.path().join(".escrow/escrow.db")).expect("the database opens")
}

/// An export that was changed is refused by `verify` and `import` alike, in these words.
#[track_caller]
fn refused(desk: &Desk, text: &str, says: &str) {
    desk.write("changed.json", text);
    for arguments in [&["verify", "changed.json"][..], &["runs", "import", "changed.json"]] {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(3), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains(says), "{arguments:?}: {}", done.stderr);
    }
}

#[test]
fn an_exported_run_is_the_same_run_elsewhere() {
    let (desk, export) = exported();
    assert_eq!((&export["format"], &export["version"]), (&json!("escrow.run"), &json!(2)));
    assert_eq!(desk.escrow(&["verify", "run.json"]).code, Some(0));
    let elsewhere = Desk::new();
    elsewhere.write("run.json", &desk.read("run.json"));
    assert_eq!(elsewhere.escrow(&["runs", "import", "run.json"]).code, Some(0));
    assert_eq!(elsewhere.show("last"), desk.show("last"));
    assert_eq!(elsewhere.escrow(&["verify", "last"]).code, Some(0));
    let id = export["run"].as_str().expect("an id");
    assert_eq!(elsewhere.read(&format!(".escrow/artifacts/{id}/sub/note.md")), "hello\n");
    std::fs::remove_dir_all(desk.path().join(".escrow/spool")).expect("the output of the first home");
    let printed = elsewhere.escrow(&["logs", "last", "loud", "--stdout"]).stdout;
    assert_eq!(printed.lines().count(), 20_000, "output travels along");
    let again = elsewhere.escrow(&["runs", "import", "run.json"]);
    assert_eq!(again.code, Some(0));
    assert!(again.stderr.contains("already there"), "{}", again.stderr);
    let printed: Value =
        serde_json::from_str(&desk.escrow(&["runs", "export"]).stdout).expect("JSON on stdout");
    assert_eq!(printed["entries"], export["entries"]);
}

#[test]
fn a_tampered_entry_is_named() {
    let (desk, export) = exported();
    let mut changed = export.clone();
    let bytes = changed["entries"][3]["bytes"].as_str().expect("text").replace("{\"v\":", "{\"v\": ");
    changed["entries"][3]["bytes"] = json!(bytes);
    refused(&desk, &changed.to_string(), "broken at entry 4: the hash does not match");

    let mut dropped = export.clone();
    dropped["entries"].as_array_mut().expect("entries").remove(5);
    refused(&desk, &dropped.to_string(), "broken at entry 6: the entry is missing");

    let mut shortened = export.clone();
    let entries = shortened["entries"].as_array_mut().expect("entries");
    entries.pop();
    let left = entries.len();
    refused(&desk, &shortened.to_string(), &format!("broken at entry {}", left + 1));

    let mut renamed = export;
    renamed["run"] = json!("r_00000000000000000000");
    refused(&desk, &renamed.to_string(), "broken at entry 1");
}

#[test]
fn artifacts_are_held_against_the_journal() {
    let (desk, export) = exported();
    let mut changed = export.clone();
    changed["artifacts"][0]["content"] = json!("Z29vZGJ5ZQo=");
    refused(&desk, &changed.to_string(), "its content does not match its digest");
    let mut other = export.clone();
    other["artifacts"][0]["sha256"] = json!("00");
    refused(&desk, &other.to_string(), "is not what the journal says was delivered");
    let mut outside = export.clone();
    outside["artifacts"][0]["path"] = json!("../../evil");
    refused(&desk, &outside.to_string(), "leads out of the artifact directory");
    let mut output = export;
    output["outputs"][0]["path"] = json!("../evil.stdout");
    refused(&desk, &output.to_string(), "is not a name of an output file");
}

#[test]
fn what_is_no_export_is_told_as_what_it_is() {
    let (desk, export) = exported();
    let text = desk.read("run.json");
    refused(&desk, &text[..text.len() / 2], "cut off");
    refused(&desk, "not json", "it is not an exported run");
    refused(&desk, "{}", "`format` is not `escrow.run`");
    let mut newer = export.clone();
    newer["version"] = json!(99);
    newer["something"] = json!("new");
    refused(&desk, &newer.to_string(), "it has format version 99, this Escrow knows 1");
    assert_eq!(desk.escrow(&["verify", "./nowhere.json"]).code, Some(2));
    let mut more = export;
    more["surprise"] = json!(1);
    refused(&desk, &more.to_string(), "unknown field");
}

#[test]
fn a_run_that_may_still_be_driven_is_not_taken_in() {
    let desk = Desk::new();
    desk.run("checks: {ask: {type: human-input, prompt: Sure?}}");
    assert_eq!(desk.escrow(&["runs", "export", "last", "--out", "run.json"]).code, Some(0));
    assert_eq!(desk.escrow(&["verify", "run.json"]).code, Some(0));
    let done = desk.escrow(&["--state", "elsewhere", "runs", "import", "run.json"]);
    assert_eq!(done.code, Some(4), "{}", done.stderr);
    assert!(done.stderr.contains("has not ended"), "{}", done.stderr);
}

#[test]
fn a_changed_database_is_found_out_by_the_first_broken_entry() {
    let (desk, _) = exported();
    let changed = database(&desk)
        .execute("UPDATE entries SET bytes = CAST('{\"v\":1}' AS BLOB) WHERE seq = 5", [])
        .expect("an entry is changed");
    assert_eq!(changed, 1);
    let done = desk.escrow(&["verify", "last"]);
    assert_eq!(done.code, Some(3));
    assert!(done.stderr.contains("broken at entry 5: the hash does not match"), "{}", done.stderr);
    for arguments in [&["explain", "last"][..], &["runs", "export", "last"], &["runs", "show", "last"]] {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(3), "{arguments:?} {}", done.stderr);
        assert!(done.stderr.contains("entry 5"), "{arguments:?} {}", done.stderr);
    }
}

#[test]
fn old_runs_are_removed_whole_and_the_others_stay_whole() {
    let desk = Desk::new();
    for _ in 0..3 {
        desk.run(PLAYBOOK);
    }
    let newest = desk.show("last")["run"]["id"].as_str().expect("an id").to_owned();
    desk.run("checks: {ask: {type: human-input, prompt: Sure?}}");
    assert_eq!(desk.escrow(&["gc"]).code, Some(2), "it must be told what to keep");
    let dry = desk.escrow(&["gc", "--keep", "2", "--dry-run", "--output", "json"]);
    assert_eq!(dry.json()["removed"].as_array().map(Vec::len), Some(2), "{}", dry.stdout);
    assert_eq!(desk.escrow(&["runs", "--output", "json"]).json()["runs"].as_array().map(Vec::len), Some(4));

    let done = desk.escrow(&["gc", "--keep", "2", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.json()["bytes"].as_u64().is_some_and(|bytes| bytes > 100_000), "{}", done.stdout);
    let left = desk.escrow(&["runs", "--output", "json"]).json();
    assert_eq!(left["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(desk.escrow(&["verify", &newest]).code, Some(0));
    let folders =
        |name: &str| std::fs::read_dir(desk.path().join(".escrow").join(name)).map_or(0, Iterator::count);
    assert!(folders("artifacts") <= 2 && folders("spool") <= 2);

    assert_eq!(desk.escrow(&["gc", "--older-than", "0s", "--max-size", "0"]).code, Some(0));
    let left = desk.escrow(&["runs", "--output", "json"]).json();
    assert_eq!(left["runs"][0]["status"], "waiting", "what waits for a person stays");
    assert_eq!(left["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(desk.escrow(&["gc", "--max-size", "lots"]).code, Some(2));
}

/// Who swaps a delivered file for a link after the run gets its target into no export.
#[test]
fn nothing_outside_of_the_artifact_directory_is_carried() {
    let desk = Desk::new();
    desk.write("home/sub/note.md", "hello\n");
    let (code, document) = desk.run(PLAYBOOK);
    assert_eq!(code, Some(0), "{document}");
    let artifacts =
        desk.path().join(".escrow/artifacts").join(document["run"]["id"].as_str().expect("an id"));
    let carried = || {
        let export = desk.escrow(&["runs", "export", "last"]).json();
        (export["artifacts"][0]["content"].is_string(), export["artifacts"][0]["left_out"].clone())
    };
    assert_eq!(carried(), (true, Value::Null));
    let swap = |target: &std::path::Path| {
        let _ = std::fs::remove_dir_all(artifacts.join("sub")); // a folder first, a link then
        let _ = std::fs::remove_file(artifacts.join("sub"));
        std::os::unix::fs::symlink(target, artifacts.join("sub")).expect("a link can be made");
    };
    swap(&desk.path().join("home/sub"));
    assert_eq!(carried(), (false, json!("missing")), "the same bytes, but not from here");
    swap(std::path::Path::new("../../../home/sub"));
    assert_eq!(carried(), (false, json!("missing")));
    let text = desk
        .escrow(&["runs", "export", "last"])
        .stdout
        .replace("\"left_out\": \"missing\"", "\"content\": \"aGVsbG8K\"");
    desk.write("run.json", &text);
    desk.write("home/sub/note.md", "mine\n");
    let done = desk.escrow(&["runs", "import", "run.json"]);
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert_eq!(desk.read("home/sub/note.md"), "mine\n", "and nothing is written through a link");
    std::fs::create_dir(artifacts.join("real")).expect("a folder");
    std::fs::write(artifacts.join("real/note.md"), "hello\n").expect("a file");
    swap(std::path::Path::new("real"));
    assert_eq!(carried(), (true, Value::Null), "a link that stays inside is as good here as in the verdict");
    std::fs::write(artifacts.join("real/note.md"), "a".repeat(17 << 20)).expect("a file");
    assert_eq!(carried(), (false, json!("changed")));
    std::fs::remove_file(artifacts.join("real/note.md")).expect("a file");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        artifacts.join("real/note.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("a pipe");
    assert_eq!(carried(), (false, json!("missing")), "and reading does not wait for a writer");
}

#[test]
fn what_people_said_of_the_invocation_travels_with_its_runs() {
    let desk = Desk::new();
    let started =
        desk.escrow(&["invocation", "start", "--name", "nightly", "--prompt", "look", "--by", "ann"]);
    let id = started.stdout.trim().to_owned();
    let export = |name: &str| {
        assert_eq!(desk.escrow(&["runs", "export", "last", "--out", name]).code, Some(0));
        desk.read(name)
    };
    desk.run_with("checks: {a: {type: command, exec: exit 1}}", &["--invocation", &id]);
    let early = export("early.json");
    desk.run_with("checks: {b: {type: noop}}", &["--invocation", &id]);
    let end = ["invocation", "end", &id, "--status", "completed", "--by", "ann", "--why", "fixed"];
    assert_eq!(desk.escrow(&end).code, Some(0));
    let late = export("late.json");

    let shown = |desk: &Desk| desk.escrow(&["invocation", "show", &id, "--output", "json"]).json();
    for order in [[&early, &late], [&late, &early]] {
        let elsewhere = Desk::new();
        for text in order {
            elsewhere.write("run.json", text);
            let done = elsewhere.escrow(&["runs", "import", "run.json"]);
            assert_eq!(done.code, Some(0), "{}", done.stderr);
        }
        let (mut here, mut there) =
            (shown(&desk)["invocation"].clone(), shown(&elsewhere)["invocation"].clone());
        assert_eq!(there["name"], "nightly");
        assert_eq!(there["reason"]["code"], "invocation.completed.by_hand");
        for shown in [&mut here, &mut there] {
            // Its files lie elsewhere now; nothing else differs.
            shown.as_object_mut().map(|shown| shown.remove("runs"));
        }
        assert_eq!(there, here);
        let again = elsewhere.escrow(&["runs", "import", "run.json"]);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        assert_eq!(shown(&elsewhere)["invocation"]["status"], "completed");
    }

    let mut other: Value = serde_json::from_str(&late).expect("JSON");
    other["invocation"]["id"] = json!("i_another");
    refused(&desk, &other.to_string(), "is of another invocation");
    let mut better: Value = serde_json::from_str(&late).expect("JSON");
    better["invocation"]["said"][1]["ended"]["status"] = json!("failed");
    refused(&desk, &better.to_string(), "ends with an unknown reason");
}
