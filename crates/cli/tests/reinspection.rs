//! What a check has verified is looked at again before an effect behind it: files that appear, files that never counted,
//! and files that several items wrote.

mod desk;

use std::fs;

use desk::Desk;

fn code_of(document: &serde_json::Value) -> &str {
    document["run"]["reason"]["code"].as_str().unwrap_or_default()
}

/// `mk` writes `f.txt`, and `ship` ships every file. Before it is approved, `then` is done to the artifacts.
fn ship_after(expected: &str, listed: &str, then: impl FnOnce(&std::path::Path)) -> (Desk, String) {
    let desk = Desk::new();
    let playbook = format!(
        "artifacts: {{expected: [{{id: f, path: f.txt}}, {expected}]}}
checks:
  mk: {{type: command, exec: 'echo good > \"$ESCROW_ARTIFACTS/f.txt\"', artifacts: {listed}}}
  ship: {{type: command, depends_on: mk, criticality: external, requires_approval: true,
         exec: 'cat \"$ESCROW_ARTIFACTS\"/*.txt > shipped'}}"
    );
    let out = desk.path().join("out");
    let (code, document) = desk.run_with(&playbook, &["--artifacts", out.to_str().expect("it is text")]);
    assert_eq!(code, Some(4), "{document}");
    then(&out);
    let asked = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = asked["approvals"][0]["id"].as_str().expect("an id");
    desk.escrow(&["approve", id]);
    let code = code_of(&desk.show("last")).to_owned();
    (desk, code)
}

#[test]
fn an_optional_artifact_that_was_absent_and_appears_blocks_the_effect() {
    let (desk, code) = ship_after("{id: o, path: o.txt, required: false}", "[f, o]", |out| {
        fs::write(out.join("o.txt"), "evil").expect("it is writable");
    });
    assert_eq!(code, "run.failed.artifact_changed");
    assert!(!desk.path().join("shipped").exists());
}

#[test]
fn so_does_the_first_file_of_an_optional_glob() {
    let expected = "{id: o, glob: 'more-*.txt', required: false, count: {min: 0}}";
    let (_, code) = ship_after(expected, "[f, o]", |out| {
        fs::write(out.join("more-1.txt"), "evil").expect("it is writable");
    });
    assert_eq!(code, "run.failed.artifact_changed");
}

#[test]
fn an_artifact_that_no_check_looked_at_may_appear() {
    let (_, code) = ship_after("{id: o, path: o.txt, required: false}", "f", |out| {
        fs::write(out.join("o.txt"), "more").expect("it is writable");
    });
    assert_eq!(code, "run.completed.ok");
}

#[test]
fn a_file_that_a_glob_rejects_is_not_taken_for_a_new_one() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"artifacts: {expected: [{id: f, glob: "*.json", schema: {type: object, required: [ok]}}]}
checks:
  a:
    type: command
    artifacts: f
    exec: |
      echo '{"ok": 1}' > "$ESCROW_ARTIFACTS/a.json"
      echo '{"bad": 1}' > "$ESCROW_ARTIFACTS/b.json"
  ship: {type: command, depends_on: a, criticality: external, exec: echo shipped}"#,
    );
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["checks"]["ship"]["status"], "succeeded");
}

#[test]
fn of_a_file_that_several_items_verified_the_last_version_counts() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"artifacts: {expected: [{id: f, path: f.txt}]}
checks:
  list: {type: script, content: 'return [1,2]', forEach: true, concurrency: 1}
  w: {type: command, depends_on: list, artifacts: f, exec: 'echo "$ESCROW_ITEM" > "$ESCROW_ARTIFACTS/f.txt"'}
  ship: {type: command, depends_on: w, fanout: reduce, criticality: external, exec: 'cat "$ESCROW_ARTIFACTS/f.txt"'}"#,
    );
    assert_eq!((code, code_of(&document)), (Some(0), "run.completed.ok"), "{document}");
    assert_eq!(document["checks"]["ship"]["output"], 2);
}

#[test]
fn what_an_item_verified_is_not_expected_when_its_list_does_not_have_it_any_more() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
artifacts: {expected: [{id: part, glob: 'part-*'}]}
checks:
  list: {type: command, forEach: true, exec: 'if [ -e twice ]; then echo "[1]"; else echo "[1, 2]"; fi'}
  each: {type: command, depends_on: list, artifacts: part, exec: 'echo x > "$ESCROW_ARTIFACTS/part-{{ item }}"'}
  sum:
    type: command
    depends_on: each
    exec: 'if [ -e twice ]; then echo done; else touch twice; rm "$ESCROW_ARTIFACTS/part-2"; exit 1; fi'
    on_fail: {goto: list}
  publish: {type: command, depends_on: sum, criticality: external, exec: touch published}
"#,
    );
    assert_eq!(code, Some(0), "{document:#}");
    assert!(desk.path().join("published").exists());
}
