//! Delivery as a distrustful user would check it: replaced directories, nested runs, secrets in files, and what is
//! reported about them.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

#[test]
fn an_artifact_directory_that_became_a_link_delivers_nothing() {
    for (told, script) in [
        ("the directory", r#"rm -rf "$ESCROW_ARTIFACTS"; ln -s /etc "$ESCROW_ARTIFACTS""#),
        (
            "one above it",
            r#"mkdir -p evil/"$ESCROW_RUN"; cp /etc/passwd evil/"$ESCROW_RUN"; rm -rf .escrow/artifacts; ln -s "$PWD/evil" .escrow/artifacts"#,
        ),
    ] {
        let desk = Desk::new();
        let playbook = format!(
            "artifacts: {{expected: [{{id: users, path: passwd}}, {{id: any, glob: '*'}}]}}\n\
             checks: {{swap: {{type: command, exec: {}}}}}",
            json!(script)
        );
        let (code, document) = desk.run(&playbook);
        assert_eq!(code, Some(1), "{told}");
        assert_eq!(document["run"]["reason"]["code"], "run.failed.missing_artifact", "{told}");
        assert_eq!(document["artifacts"]["produced"], json!([]), "{told}");
        for missing in document["artifacts"]["missing_required"].as_array().into_iter().flatten() {
            assert_eq!(missing["problem"], "outside", "{told}");
        }
    }
}

#[test]
fn a_link_that_was_there_before_the_run_is_the_users_own() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("elsewhere")).expect("a directory");
    std::os::unix::fs::symlink("elsewhere", desk.path().join("out")).expect("a link");
    let playbook = "artifacts: {expected: [{id: r, path: r.md}]}\n\
                    checks: {work: {type: command, exec: 'echo hi > $ESCROW_ARTIFACTS/r.md'}}";
    let (code, document) = desk.run_with(playbook, &["--artifacts", "out"]);
    assert_eq!((code, &document["artifacts"]["status"]), (Some(0), &json!("passed")));
    assert_eq!(desk.read("elsewhere/r.md"), "hi\n");
    assert_eq!(desk.escrow(&["artifacts", "last", "--get", "r"]).stdout, "hi\n");
}

#[test]
fn the_last_run_is_the_one_that_was_asked_for_not_one_inside_of_it() {
    let desk = Desk::new();
    desk.write("inner.yaml", "name: inner\nchecks: {a: {type: noop}}");
    let (_, document) = desk.run("name: outer\nchecks: {in: {type: playbook, playbook: inner.yaml}}");
    assert_eq!(desk.show("last")["run"], document["run"]);
}

#[test]
fn what_was_not_delivered_cannot_be_fetched_and_the_reason_is_told() {
    let desk = Desk::new();
    desk.run("artifacts: {expected: [{id: r, path: r.md}]}\nchecks: {a: {type: noop}}");
    let done = desk.escrow(&["artifacts", "last", "--get", "r"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("it was not delivered: `r` (r.md) is absent"), "{}", done.stderr);
}

#[test]
fn a_file_that_holds_a_secret_is_not_exported() {
    let desk = Desk::new();
    let playbook = "secrets: [TOKEN]\n\
        artifacts: {expected: [{id: leak, path: leak.md}, {id: fine, path: fine.md}]}\n\
        checks: {work: {type: command, secrets: [TOKEN], exec: 'cd $ESCROW_ARTIFACTS; echo $TOKEN > leak.md; echo ok > fine.md'}}";
    desk.write("playbook.yaml", playbook);
    let secret = "hunter2-and-more";
    let run = desk.command(&["run", "playbook.yaml", "--quiet"]).env("TOKEN", secret).status();
    assert!(run.expect("it runs").success());
    let done = desk.escrow(&["runs", "export", "last"]);
    let files = done.json()["artifacts"].clone();
    let file = |path: &str| {
        files.as_array().into_iter().flatten().find(|file| file["path"] == path).cloned().unwrap_or_default()
    };
    assert_eq!((&file("leak.md")["left_out"], &file("leak.md")["content"]), (&json!("secret"), &Value::Null));
    assert_eq!(file("fine.md")["content"], "b2sK");
    assert!(done.stderr.contains("`leak.md` is not in it: secret"), "{}", done.stderr);
    desk.write("run.json", &done.stdout);
    assert_eq!(desk.escrow(&["verify", "run.json"]).code, Some(0), "it is whole without the file");
}

#[test]
fn a_delivery_with_warnings_says_what_they_are_where_it_is_listed() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        "artifacts: {expected: [{id: notes, path: notes.md, required: false}, {id: log, path: l, required: false}]}\n\
         checks: {a: {type: noop}}",
    );
    assert_eq!(code, Some(0));
    let reason = &document["run"]["reason"];
    assert_eq!(reason["code"], "run.completed.with_warnings");
    assert_eq!(
        reason["summary"],
        "completed with warnings: optional artifact `notes` (notes.md) is absent, and 1 more"
    );
    assert_eq!(
        reason["evidence"][0],
        json!({"kind": "expected_artifact", "id": "notes", "label": "notes.md"})
    );
    let item = desk.escrow(&["attention", "--output", "json"]).json()["attention"][0].clone();
    assert_eq!((&item["kind"], &item["subject"]["id"]), (&json!("warning"), &json!("notes")));
}

#[test]
fn an_own_kind_that_cannot_be_used_is_told_as_that() {
    let desk = Desk::new();
    desk.write(".escrow/outcomes/load.json", "not JSON");
    desk.write(".escrow/outcomes/soak.json", r#"{"type": "nonsense"}"#);
    desk.write(".escrow/outcomes/good.json", "{}");
    for (kind, why) in [
        ("load", "outcome kind `load` is invalid: "),
        ("load", "load.json is not valid JSON"),
        ("soak", "`.escrow/outcomes/soak.json` is not a valid JSON Schema"),
        ("sock", "unknown outcome kind `sock`"),
    ] {
        let content = format!(r#"{{"outcome_kind": "{kind}"}}"#);
        let done = desk.escrow_given(&["outcomes", "add", "--name", "x"], &content);
        assert_eq!(done.code, Some(2), "{kind}");
        assert!(done.stderr.contains(why), "{kind}: {}", done.stderr);
    }
    let listed = desk.escrow(&["outcomes", "--kind", "sock"]);
    assert!(listed.stderr.contains("ci_result, test_result"), "{}", listed.stderr);
}

/// A name that clears the reader's screen.
#[test]
fn names_and_contents_of_what_was_delivered_do_not_drive_the_terminal() {
    let desk = Desk::new();
    desk.write(
        "verdict.json",
        r#"{"verdict": "REJECT", "summary": "a\u001b[2Jb", "reviewer": "\u001b]0;x\u0007"}"#,
    );
    desk.write("odd.json", r#"{"\u001b[2J": 1}"#);
    desk.write(
        "playbook.yaml",
        "artifacts:\n  expected:\n    - {id: g, glob: '*.md'}\n    - {id: v, path: v.json, kind: review_verdict}\n    \
         - {id: odd, path: odd.json, schema: {additionalProperties: {type: string}}}\n\
         checks:\n  work:\n    type: command\n    exec: |\n      \
         cp verdict.json \"$ESCROW_ARTIFACTS/v.json\"; cp odd.json \"$ESCROW_ARTIFACTS\"\n      \
         echo 1 > \"$ESCROW_ARTIFACTS/$(printf '\\033[2Jred.md')\"\n  \
         judged: {type: command, exec: cat odd.json, schema: {additionalProperties: {type: string}}}\n",
    );
    let run = desk.escrow(&["run", "playbook.yaml"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("odd (odd.json)"), "{}", run.stderr);
    let mut told = vec![("run".to_owned(), run.stdout + &run.stderr)];
    for words in [
        &["runs"][..],
        &["runs", "show", "last"],
        &["runs", "show", "last", "--history"],
        &["artifacts", "last"],
        &["artifacts", "last", "--get", "x"],
        &["outcomes"],
        &["outcomes", "show", "last"],
        &["attention"],
        &["explain", "last"],
        &["explain", "last", "judged"],
        &["logs", "last"],
    ] {
        let done = desk.escrow(words);
        told.push((words.join(" "), done.stdout + &done.stderr));
    }
    for (words, text) in told {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{words}: {text:?}");
    }
}

#[test]
fn an_export_without_end_is_not_read_to_its_end() {
    let desk = Desk::new();
    std::os::unix::fs::symlink("/dev/zero", desk.path().join("run.json")).expect("a link");
    for words in [&["verify", "run.json"][..], &["runs", "import", "run.json"]] {
        let done = desk.escrow(words);
        assert_eq!(done.code, Some(3), "{words:?}");
        assert!(done.stderr.contains("it is a device"), "{words:?}: {}", done.stderr);
    }
}
