//! `verify` covers what people look at: journal, derived tables, the list of runs, and the head of an export.

mod desk;

use desk::{Desk, Done};
use serde_json::Value;

const PLAYBOOK: &str = "
version: '1.0'
name: deliver
checks:
  check:
    type: command
    exec: 'echo {}'
    guarantee: 'false'
";

/// A state with three runs.
fn home() -> (Desk, Vec<String>) {
    let desk = Desk::new();
    let runs = (0..3).map(|_| {
        let (code, document) = desk.run(PLAYBOOK);
        assert_eq!(code, Some(1), "{document}");
        document["run"]["id"].as_str().expect("an id").to_owned()
    });
    let runs = runs.collect();
    (desk, runs)
}

fn tamper(desk: &Desk, sql: &str) {
    let database = rusqlite::Connection::open(desk.path().join(".escrow/escrow.db")).expect("it opens");
    database.execute_batch(sql).expect("it can be changed");
}

#[track_caller]
fn refused(done: &Done, says: &str) {
    assert_eq!(done.code, Some(3), "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains(says), "{}", done.stderr);
}

#[test]
fn a_changed_row_that_people_look_at_is_found() {
    for (sql, table) in [
        ("UPDATE runs SET status = 'completed', reason_code = 'run.completed.ok'", "runs"),
        ("UPDATE runs SET reason_summary = 'all is well'", "runs"),
        ("DELETE FROM status_transitions WHERE id = 1", "status_transitions"),
        ("INSERT INTO warnings VALUES ('RUN', 1, '{\"code\": \"made_up\", \"message\": \"\"}')", "warnings"),
        (
            "INSERT INTO artifacts (id, run_id, created_at, kind, name, summary, content)
             VALUES ('o_1', 'RUN', 1, 'review_verdict', 'x', 'fine', '{}')",
            "artifacts",
        ),
    ] {
        let (desk, runs) = home();
        assert_eq!(desk.escrow(&["verify", &runs[0]]).code, Some(0));
        assert_eq!(desk.escrow(&["verify", "--all"]).code, Some(0));
        tamper(&desk, &sql.replace("RUN", &runs[0]));
        refused(&desk.escrow(&["verify", &runs[0]]), &format!("the table `{table}`"));
        refused(&desk.escrow(&["verify", "--all"]), &format!("the table `{table}`"));
    }
}

#[test]
fn a_changed_effect_is_found_also_where_runs_share_its_key() {
    let playbook = "
checks:
  own: {type: command, criticality: external, assume: 'true', guarantee: 'true', exec: echo own}
  shared: {type: command, effect_key: publish-1, criticality: external, assume: 'true', guarantee: 'true', exec: echo shared}
";
    for sql in [
        "UPDATE effects SET state = 'failed' WHERE generation IS NOT NULL AND run = 'RUN'",
        "DELETE FROM effects WHERE generation IS NOT NULL AND run = 'RUN'",
        "UPDATE effects SET answer = '\"forged\"' WHERE key = 'publish-1'",
        "DELETE FROM effects WHERE key = 'publish-1'",
        "INSERT INTO effects SELECT 'publish-2', run, name, scope, steps, generation, state, attempts, intended_at,
            answered_at, request_digest, answer FROM effects WHERE key = 'publish-1'",
    ] {
        let desk = Desk::new();
        let runs: Vec<String> = (0..2)
            .map(|_| desk.run(playbook).1["run"]["id"].as_str().expect("an id").to_owned())
            .collect();
        assert_eq!(desk.escrow(&["verify", &runs[0]]).code, Some(0));
        assert_eq!(desk.escrow(&["verify", &runs[1]]).code, Some(0));
        tamper(&desk, &sql.replace("RUN", &runs[0]));
        refused(&desk.escrow(&["verify", &runs[0]]), "the table `effects`");
    }
}

/// A state with a verdict and an invocation that people recorded.
fn recorded() -> Desk {
    let (desk, runs) = home();
    let verdict = r#"{"outcome_kind": "gate_verdict", "gate_passed": true}"#;
    let added = desk.escrow_given(&["outcomes", "add", "--run", &runs[0], "--name", "gate"], verdict);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert_eq!(desk.escrow(&["invocation", "start", "--name", "nightly"]).code, Some(0));
    assert_eq!(desk.escrow(&["verify", "--all"]).code, Some(0));
    desk
}

#[test]
fn what_people_recorded_beside_the_journals_is_found_when_it_is_changed() {
    let forged = "INSERT INTO added_outcomes (run, added) SELECT run, replace(added, json_extract(added, '$.outcome.id'), 'o_forged')
                  FROM added_outcomes; INSERT INTO artifacts SELECT 'o_forged', invocation_id, run_id, created_at, kind, name,
                  passed, summary, content, file_path FROM artifacts;";
    for (sql, found) in [
        (
            "UPDATE added_outcomes SET added = replace(added, '\"gate_passed\":true', '\"gate_passed\":false');
             UPDATE artifacts SET passed = 0, content = replace(content, 'true', 'false')",
            "row 1 of the table `added_outcomes`",
        ),
        ("DELETE FROM added_outcomes; DELETE FROM artifacts", "row 1 of the table `added_outcomes`"),
        ("UPDATE added_outcomes SET run = NULL", "row 1 of the table `added_outcomes`"),
        (forged, "row 2 of the table `added_outcomes`"),
        (
            "UPDATE invocations_said SET said = replace(said, 'nightly', 'hourly'); UPDATE invocations SET name = 'hourly'",
            "row 1 of the table `invocations_said`",
        ),
        ("DELETE FROM invocations_said; DELETE FROM invocations", "row 1 of the table `invocations_said`"),
    ] {
        let desk = recorded();
        let hash = desk.escrow(&["verify", "--all", "--output", "json"]).json()["hash"].to_string();
        tamper(&desk, sql);
        refused(&desk.escrow(&["verify", "--all"]), found);
        refused(&desk.escrow(&["verify", "--all", "--expect", hash.trim_matches('"')]), found);
        refused(&desk.escrow(&["verify", "last"]), found);
    }
    // A database that is made to look older has its rows linked again.
    let desk = recorded();
    tamper(&desk, &format!("{forged} PRAGMA user_version = 21"));
    desk.escrow(&["gc", "--keep", "9"]);
    refused(&desk.escrow(&["verify", "--all"]), "the list of runs was changed at position 6");
}

#[test]
fn an_outcome_that_was_added_changes_the_hash_of_the_state_and_goes_with_its_run() {
    let desk = recorded();
    let hash = || desk.escrow(&["verify", "--all", "--output", "json"]).json()["hash"].to_string();
    let before = hash();
    let verdict = r#"{"outcome_kind": "gate_verdict", "gate_passed": false}"#;
    desk.escrow_given(&["outcomes", "add", "--run", "last", "--name", "gate"], verdict);
    assert_ne!(hash(), before);
    assert_eq!(desk.escrow(&["gc", "--keep", "1"]).code, Some(0));
    let verified = desk.escrow(&["verify", "--all"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
}

#[test]
fn a_changed_end_of_the_ledger_of_receipts_is_found() {
    for sql in [
        "DELETE FROM receipt_head",
        "UPDATE receipt_head SET position = 5",
        "UPDATE receipt_head SET digest = zeroblob(32)",
        "UPDATE receipt_head SET digest = x'00'",
    ] {
        let (desk, _) = home();
        assert_eq!(desk.escrow(&["verify", "--all"]).code, Some(0));
        tamper(&desk, sql);
        refused(&desk.escrow(&["verify", "--all"]), "the ledger of receipts is broken");
    }
}

#[test]
fn a_deleted_run_is_noticed_and_one_that_gc_removed_is_not_missed() {
    let (desk, runs) = home();
    let removed = desk.escrow(&["gc", "--keep", "2", "--output", "json"]).json();
    assert_eq!(removed["removed"], Value::from(vec![runs[0].clone()]));
    let verified = desk.escrow(&["verify", "--all", "--output", "json"]).json();
    assert_eq!((&verified["runs"], &verified["removed"]), (&Value::from(2), &Value::from(1)));
    let gone = format!(
        "DELETE FROM entries WHERE journal = (SELECT id FROM journals WHERE run = '{0}');
         DELETE FROM journals WHERE run = '{0}'; DELETE FROM runs WHERE id = '{0}';
         DELETE FROM status_transitions WHERE entity_id = '{0}'",
        runs[1]
    );
    tamper(&desk, &gone);
    let words = format!("run `{}` was deleted", runs[1]);
    refused(&desk.escrow(&["verify", "--all"]), &words);
    refused(&desk.escrow(&["verify", &runs[2]]), &words);
    // Nor does it help to strike it off the list.
    tamper(&desk, &format!("DELETE FROM roster WHERE run = '{}'", runs[1]));
    refused(&desk.escrow(&["verify", "--all"]), "the list of runs was changed at position 2");
}

#[test]
fn the_last_run_cannot_be_struck_off_the_list_either() {
    let (desk, runs) = home();
    tamper(
        &desk,
        &format!(
            "DELETE FROM entries WHERE journal = (SELECT id FROM journals WHERE run = '{0}');
             DELETE FROM journals WHERE run = '{0}'; DELETE FROM roster WHERE run = '{0}'",
            runs[2]
        ),
    );
    refused(&desk.escrow(&["verify", &runs[0]]), "the list of runs was changed at position 3");
}

#[test]
fn a_run_that_was_not_created_here_is_noticed() {
    let (desk, runs) = home();
    tamper(&desk, "UPDATE journals SET run = 'r_00000000000000000000' WHERE id = 2");
    let verified = desk.escrow(&["verify", "--all"]);
    refused(&verified, "run `r_00000000000000000000` was neither created nor imported");
    refused(&verified, &format!("run `{}` was deleted", runs[1]));
}

/// Deletes every row of a run, as one who knows the tables would.
fn gone(run: &str) -> String {
    format!(
        "DELETE FROM entries WHERE journal = (SELECT id FROM journals WHERE run = '{run}');
         DELETE FROM journals WHERE run = '{run}'; DELETE FROM runs WHERE id = '{run}';
         DELETE FROM status_transitions WHERE entity_id = '{run}'; DELETE FROM effects WHERE run = '{run}';"
    )
}

#[test]
fn a_deletion_cannot_be_passed_off_as_a_removal_by_gc() {
    let mark =
        "UPDATE roster SET removed_at = 1790000000000, seq = 9, hash = zeroblob(32) WHERE run = 'RUN';";
    let row = "INSERT INTO roster (position, run, link, removed_at, seq, hash)
               SELECT position + 1, 'RUN', link, 1790000000000, 9, zeroblob(32) FROM roster_head;
               UPDATE roster_head SET position = position + 1;";
    let old = "UPDATE roster SET removed_at = 1790000000000, seq = 9, hash = zeroblob(32) WHERE run = 'RUN';
               DROP INDEX fires_failed; ALTER TABLE chains DROP COLUMN paused; PRAGMA user_version = 15;";
    for (forged, at) in [(mark, 2), (row, 4), (old, 4)] {
        let (desk, runs) = home();
        tamper(&desk, &(gone(&runs[1]) + &forged.replace("RUN", &runs[1])));
        // A verb that writes, so that a database which looks old is migrated.
        desk.escrow(&["gc", "--keep", "9"]);
        let words = format!("the list of runs was changed at position {at}");
        refused(&desk.escrow(&["verify", "--all"]), &words);
        refused(&desk.escrow(&["verify", &runs[2]]), &words);
    }
}

#[test]
fn a_removal_by_gc_changes_the_hash_of_the_state_and_a_run_may_come_back() {
    let (desk, runs) = home();
    assert_eq!(desk.escrow(&["runs", "export", &runs[0], "--out", "run.json"]).code, Some(0));
    let mut hashes = std::collections::BTreeSet::new();
    for removed in 1..3 {
        assert_eq!(desk.escrow(&["gc", "--keep", "2"]).code, Some(0));
        let verified = desk.escrow(&["verify", "--all", "--output", "json"]);
        assert_eq!(verified.code, Some(0), "{}", verified.stderr);
        assert_eq!(verified.json()["removed"], removed);
        assert!(hashes.insert(verified.json()["hash"].to_string()));
        assert_eq!(desk.escrow(&["runs", "import", "run.json"]).code, Some(0));
        assert_eq!(desk.escrow(&["verify", "--all"]).code, Some(0));
    }
}

#[test]
fn the_newest_run_is_missed_when_another_run_went_on_after_it() {
    let desk = Desk::new();
    desk.write(
        "waits.yaml",
        "version: '1.0'\nname: waits\nchecks:\n  ask:\n    type: command\n    exec: echo {}\n    requires_approval: true\n",
    );
    let waiting = desk.escrow(&["run", "waits.yaml", "--output", "json"]).json();
    let (_, newest) = desk.run(PLAYBOOK);
    let newest = newest["run"]["id"].as_str().expect("an id").to_owned();
    let asked = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = asked["approvals"][0]["id"].as_str().expect("an approval").to_owned();
    assert_eq!(desk.escrow(&["approve", &id]).code, Some(0), "{waiting}");
    assert_eq!(desk.escrow(&["verify", "--all"]).code, Some(0));
    let back = format!(
        "DELETE FROM roster WHERE run = '{newest}';
         UPDATE roster_head SET (position, link) = (SELECT position, link FROM roster ORDER BY position DESC LIMIT 1);"
    );
    tamper(&desk, &(gone(&newest) + &back));
    refused(&desk.escrow(&["verify", "--all"]), "the runs and removals account for");
}

#[test]
fn tables_views_triggers_and_indexes_are_those_that_escrow_made() {
    for (sql, what) in [
        ("CREATE TRIGGER quiet AFTER INSERT ON entries BEGIN DELETE FROM warnings; END", "trigger `quiet`"),
        ("CREATE VIEW shown AS SELECT * FROM runs", "view `shown`"),
        ("CREATE TABLE notes (text)", "table `notes`"),
        ("DROP INDEX roster_by_run", "index `roster_by_run`"),
        ("ALTER TABLE runs ADD COLUMN more TEXT", "table `runs`"),
    ] {
        let (desk, _) = home();
        assert_eq!(desk.escrow(&["verify", "--all"]).code, Some(0));
        tamper(&desk, sql);
        refused(
            &desk.escrow(&["verify", "--all"]),
            &format!("the {what} of the database is not as Escrow made it"),
        );
    }
}

#[test]
fn an_expected_hash_must_be_the_one_that_is_found() {
    let (desk, runs) = home();
    let hash_of = |arguments: &[&str]| {
        let mut all = vec!["verify", "--output", "json"];
        all.extend(arguments);
        desk.escrow(&all).json()["hash"].as_str().expect("a hash").to_owned()
    };
    assert_eq!(desk.escrow(&["runs", "export", &runs[0], "--out", "run.json"]).code, Some(0));
    for subject in [&runs[0], "run.json", "--all"] {
        let hash = hash_of(&[subject]);
        assert_eq!(desk.escrow(&["verify", subject, "--expect", &hash]).code, Some(0));
        assert_eq!(desk.escrow(&["verify", subject, "--expect", &hash.to_uppercase()]).code, Some(0));
        refused(&desk.escrow(&["verify", subject, "--expect", &"0".repeat(64)]), "its hash is");
    }
    assert_eq!(desk.escrow(&["verify", &runs[0], "--expect", "nonsense"]).code, Some(2));
    // The hash of the state covers every journal.
    let before = hash_of(&["--all"]);
    desk.run(PLAYBOOK);
    refused(&desk.escrow(&["verify", "--all", "--expect", &before]), "its hash is");
}

#[test]
fn the_head_of_an_export_says_what_its_journal_says() {
    let (desk, runs) = home();
    assert_eq!(desk.escrow(&["runs", "export", &runs[0], "--out", "run.json"]).code, Some(0));
    let export: Value = serde_json::from_str(&desk.read("run.json")).expect("JSON");
    for (field, lie) in
        [("status", "completed"), ("playbook", "another"), ("run", "r_00000000000000000000"), ("hash", "00")]
    {
        let mut changed = export.clone();
        changed[field] = lie.into();
        desk.write("changed.json", &changed.to_string());
        assert_eq!(desk.escrow(&["verify", "changed.json"]).code, Some(3), "{field}");
        assert_eq!(desk.escrow(&["runs", "import", "changed.json"]).code, Some(3), "{field}");
    }
    assert_eq!(desk.escrow(&["verify", "run.json"]).code, Some(0));
}

#[test]
fn an_export_cannot_choose_where_its_files_are_written() {
    let (desk, runs) = home();
    assert_eq!(desk.escrow(&["runs", "export", &runs[0], "--out", "run.json"]).code, Some(0));
    for id in ["../../elsewhere", "/elsewhere", "r_/../../elsewhere00000", "", "r_0", "\\u0000kept"] {
        desk.write("forged.json", &desk.read("run.json").replace(&runs[0], id));
        for verb in [&["verify", "forged.json"][..], &["runs", "import", "forged.json"]] {
            refused(&desk.escrow(verb), "`run` is not the id of a run");
        }
    }
}

#[test]
fn an_export_lists_every_artifact_of_its_journal_once() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        "version: '1.0'
name: deliver
artifacts: {expected: [{id: a, path: a.md}, {id: b, path: b.md}]}
checks:
  write: {type: command, exec: 'cd \"$ESCROW_ARTIFACTS\" && echo one > a.md && echo two > b.md'}
",
    );
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(desk.escrow(&["runs", "export", "last", "--out", "run.json"]).code, Some(0));
    assert_eq!(desk.escrow(&["verify", "run.json"]).code, Some(0));
    let export: Value = serde_json::from_str(&desk.read("run.json")).expect("JSON");
    type Lie = (&'static str, fn(&mut Vec<Value>));
    let lies: [Lie; 6] = [
        ("none is listed", Vec::clear),
        ("one is not listed", |artifacts| drop(artifacts.pop())),
        ("one is listed twice", |artifacts| artifacts.push(artifacts[0].clone())),
        ("one has another size", |artifacts| artifacts[0]["size"] = 5.into()),
        ("one has neither content nor a reason", |artifacts| {
            artifacts[0].as_object_mut().expect("an artifact").remove("content");
        }),
        ("one is said to hold a secret", |artifacts| {
            artifacts[0].as_object_mut().expect("an artifact").remove("content");
            artifacts[0]["left_out"] = "secret".into();
        }),
    ];
    for (lie, tell) in lies {
        let mut changed = export.clone();
        tell(changed["artifacts"].as_array_mut().expect("a list"));
        desk.write("changed.json", &changed.to_string());
        refused(&desk.escrow(&["verify", "changed.json"]), "md");
        assert_eq!(desk.escrow(&["runs", "import", "changed.json"]).code, Some(3), "{lie}");
    }
}

#[test]
fn every_member_of_an_export_is_covered_by_its_digest() {
    let (desk, runs) = home();
    let verdict =
        r#"{"outcome_kind": "gate_verdict", "summary": "fine", "gate_passed": true, "criteria": []}"#;
    let added = desk.escrow_given(&["outcomes", "add", "--name", "gate", "--run", &runs[0]], verdict);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert_eq!(desk.escrow(&["runs", "export", &runs[0], "--out", "run.json"]).code, Some(0));
    let export: Value = serde_json::from_str(&desk.read("run.json")).expect("JSON");
    assert_eq!(export["version"], 2);
    let (code, whole) =
        (desk.escrow(&["verify", "run.json"]).code, export["digest"].as_str().expect("a digest"));
    assert_eq!(code, Some(0));
    assert_eq!(desk.escrow(&["verify", "run.json", "--expect", whole]).code, Some(0));
    for (pointer, lie) in [
        ("/exported_at", "2020-01-01T00:00:00.000Z".into()),
        ("/escrow", "9.9.9".into()),
        ("/outcomes/0/outcome/summary", "awful".into()),
        ("/outcomes/0/created_at", 1.into()),
        ("/outcomes", Value::from(Vec::<Value>::new())),
        ("/version", 1.into()),
        ("/digest", "0".repeat(64).into()),
    ] {
        let mut changed = export.clone();
        *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}: {export}")) = lie;
        desk.write("changed.json", &changed.to_string());
        let done = desk.escrow(&["verify", "changed.json"]);
        assert_eq!(done.code, Some(3), "{pointer}: {}{}", done.stdout, done.stderr);
        assert_eq!(desk.escrow(&["runs", "import", "changed.json"]).code, Some(3), "{pointer}");
    }
    let mut without = export.clone();
    without.as_object_mut().expect("an object").remove("digest");
    desk.write("changed.json", &without.to_string());
    refused(&desk.escrow(&["verify", "changed.json"]), "digest");
}

#[test]
fn the_result_is_data_and_goes_to_stdout() {
    let (desk, runs) = home();
    assert_eq!(desk.escrow(&["runs", "export", &runs[0], "--out", "run.json"]).code, Some(0));
    for subject in [&runs[0], "run.json", "--all"] {
        let hash = desk.escrow(&["verify", subject, "--output", "json"]).json()["hash"].clone();
        let done = desk.escrow(&["verify", subject]);
        assert!(done.stdout.contains(hash.as_str().expect("a hash")), "{subject}: {}", done.stdout);
        assert_eq!(done.stderr, "", "{subject}");
    }
    let listed = desk.escrow(&["gc", "--keep", "2", "--dry-run"]);
    assert!(listed.stdout.contains(&format!("would remove {}", runs[0])), "{}", listed.stdout);
    assert_eq!(listed.stderr, "");
}

#[test]
fn a_shortened_export_is_noticed_also_when_it_is_made_to_look_old() {
    let (desk, runs) = home();
    assert_eq!(desk.escrow(&["runs", "export", &runs[0], "--out", "run.json"]).code, Some(0));
    let mut export: Value = serde_json::from_str(&desk.read("run.json")).expect("JSON");
    let entries = export["entries"].as_array_mut().expect("a list");
    entries.pop();
    let hash = entries.last().expect("an entry")["hash"].clone();
    (export["hash"], export["status"]) = (hash, "running".into());
    desk.write("shorter.json", &export.to_string());
    refused(&desk.escrow(&["verify", "shorter.json"]), "its `digest` is that of another document");
    export["version"] = 1.into();
    export.as_object_mut().expect("an object").remove("digest");
    desk.write("older.json", &export.to_string());
    refused(&desk.escrow(&["verify", "older.json"]), "digest");
}
