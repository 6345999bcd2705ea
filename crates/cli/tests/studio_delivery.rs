//! What the pages of Studio say about promised files: counted, compared with what is there now, and never cut where a
//! person decides.

mod desk;
mod studio_client;

use desk::Desk;
use studio_client::Studio;

fn studio(desk: &Desk) -> Studio {
    Studio::start_with(desk, &["--no-daemon"])
}

#[track_caller]
fn run(desk: &Desk, playbook: &str, code: i32) -> String {
    let (ended, document) = desk.run(playbook);
    assert_eq!(ended, Some(code), "{document:#}");
    document["run"]["id"].as_str().expect("a run").to_owned()
}

/// The text of a page, without its tags.
fn text(page: &str) -> String {
    let mut text = String::new();
    for piece in page.split('<') {
        text.push_str(piece.split_once('>').map_or(piece, |(_, after)| after));
    }
    text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[track_caller]
fn has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "`{part}` is not on the page:\n{page}");
    }
}

const ONE_FILE: &str = "name: ok\nartifacts: {expected: [{id: a, path: a.md}]}\nchecks: {m: {type: command, exec: 'echo one > \"$ESCROW_ARTIFACTS/a.md\"'}}\n";

#[test]
fn a_delivered_file_is_compared_with_what_was_verified_whenever_it_is_shown() {
    let desk = Desk::new();
    let id = run(&desk, ONE_FILE, 0);
    let studio = studio(&desk);
    let page = format!("/runs/{id}");
    has(&text(&studio.get(&page).body), &["OK 4 bytes", "unchanged since"]);
    let download = format!("/runs/{id}/artifacts/a.md");
    assert_eq!(studio.get(&download).header("escrow-since-verified"), "unchanged");
    // Of the same length: only the bytes tell.
    desk.write(&format!(".escrow/artifacts/{id}/a.md"), "two\n");
    let changed = text(&studio.get(&page).body);
    has(&changed, &["Changed since it was verified", "1 changed or gone since"]);
    assert!(!changed.contains("OK 4 bytes") && !changed.contains("unchanged since"), "{changed}");
    let answer = studio.get(&download);
    assert_eq!((answer.status, answer.header("escrow-since-verified")), (200, "changed"));
    assert_eq!(answer.header("content-disposition"), "attachment; filename*=UTF-8''changed-a.md");
    has(&studio.get(&format!("{download}?view=1")).body, &["Changed since it was verified"]);
}

#[test]
fn a_delivered_file_that_is_gone_has_no_links_any_more() {
    let desk = Desk::new();
    let id = run(&desk, ONE_FILE, 0);
    std::fs::remove_file(desk.path().join(format!(".escrow/artifacts/{id}/a.md"))).expect("it is there");
    let studio = studio(&desk);
    let page = studio.get(&format!("/runs/{id}")).body;
    has(&text(&page), &["Gone since it was verified"]);
    assert!(!page.contains(&format!("/runs/{id}/artifacts/a.md")), "{page}");
}

const MANY: &str = r#"name: c
artifacts:
  expected:
    - {id: a, path: a.txt}
    - {id: b, path: b.txt, if: "false"}
    - {id: d, path: d.txt, if: "false"}
    - {id: s, path: s.json, schema: {type: object, required: [x]}}
    - {id: e, path: e.txt}
    - {id: t, path: t.txt, min_size: 100}
    - {id: n, path: n.txt}
    - {id: g, glob: "g/*.txt", count: {min: 3}}
checks: {m: {type: command, exec: 'cd "$ESCROW_ARTIFACTS"; echo 1 > a.txt; echo "{}" > s.json; : > e.txt; echo 1 > t.txt; mkdir g; echo 1 > g/1.txt'}}
"#;

#[test]
fn only_artifacts_that_were_expected_are_counted() {
    let desk = Desk::new();
    let id = run(&desk, MANY, 1);
    let page = text(&studio(&desk).get(&format!("/runs/{id}")).body);
    has(&page, &["1 of 6 required", "2 not expected"]);
}

#[test]
fn a_rejected_file_is_not_said_to_be_undelivered() {
    let desk = Desk::new();
    let id = run(&desk, MANY, 1);
    let explained = desk.escrow(&["explain", &id, "--output", "json"]).json();
    let differs: Vec<&str> =
        explained["differs"].as_array().expect("a list").iter().filter_map(|one| one.as_str()).collect();
    assert_eq!(
        differs,
        [
            "`s` (`s.json`) would have to match its schema: \"x\" is a required property",
            "`e` (`e.txt`) would have to have content",
            "`t` (`t.txt`) would have to be larger: 2 of at least 100 bytes",
            "`n` would have to be delivered as `n.txt`",
            "`g` (`g/*.txt`) would have to match another number of files: 1 of at least 3",
        ]
    );
    let cause = explained["cause"]["summary"].as_str().expect("a sentence");
    assert!(cause.contains("`s` (s.json) is not what its schema says"), "{cause}");
    has(
        &text(&studio(&desk).get(&format!("/runs/{id}")).body),
        &["would have to match another number of files"],
    );
}

#[test]
fn the_files_of_a_pattern_are_seen_while_the_run_is_under_way() {
    let desk = Desk::new();
    let text_of = "name: g\nartifacts: {expected: [{id: g, glob: 'g/*.txt'}, {id: later, glob: 'x/*.txt'}]}\nchecks:\n  m: {type: command, exec: 'cd \"$ESCROW_ARTIFACTS\"; mkdir g; echo 1 > g/1.txt; echo 22 > g/2.txt'}\n  q: {type: human-input, prompt: 'ok?', depends_on: m}\n";
    let id = run(&desk, text_of, 4);
    let page = text(&studio(&desk).get(&format!("/runs/{id}")).body);
    has(&page, &["Pending there, 2 files, 5 bytes", "Pending not there yet"]);
}

#[test]
fn one_word_says_how_a_delivery_stands() {
    let desk = Desk::new();
    let text_of = "name: o\nartifacts: {expected: [{id: a, path: a.md}, {id: b, path: b.md, required: false}]}\nchecks: {m: {type: command, exec: 'echo one > \"$ESCROW_ARTIFACTS/a.md\"'}}\n";
    let id = run(&desk, text_of, 0);
    let page = text(&studio(&desk).get(&format!("/runs/{id}")).body);
    has(&page, &["1 of 1 required", "warning1 optional missing", "Verified warning"]);
}

#[test]
fn an_approval_shows_whole_what_it_stands_on() {
    let desk = Desk::new();
    let steps: String = (1..=60).map(|number| format!("step{number};")).collect();
    let text_of = format!(
        "name: big\nchecks:\n  plan: {{type: command, exec: 'echo \"{{\\\"steps\\\":\\\"{steps}DROP DATABASE prod\\\"}}\"'}}\n  apply: {{type: command, depends_on: plan, criticality: external, requires_approval: true, exec: './apply plan.json'}}\n"
    );
    let id = run(&desk, &text_of, 4);
    let digest =
        desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["outputs"][0]["sha256"]
            .clone();
    let studio = studio(&desk);
    for path in ["/approvals", &format!("/runs/{id}")] {
        let page = text(&studio.get(path).body);
        has(&page, &[&format!("{steps}DROP DATABASE prod"), digest.as_str().expect("a digest")]);
    }
}
