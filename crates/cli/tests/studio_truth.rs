//! What Studio shows is how things are: runs that were interrupted, items that were skipped, warnings, exported pages,
//! actions that can succeed, and questions that it understands.

mod desk;
mod studio_client;

use desk::Desk;
use rustix::process::Signal;
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

#[track_caller]
fn has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "`{part}` is not on the page:\n{page}");
    }
}

#[track_caller]
fn has_none(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(!page.contains(part), "`{part}` is on the page:\n{page}");
    }
}

/// A run whose process was killed while a check was under way.
fn interrupted(desk: &Desk) -> String {
    desk.write(
        "long.yaml",
        "name: long\nchecks: {w: {type: command, exec: 'echo hi; touch begun; sleep 30'}}\n",
    );
    let mut child = desk.start(&["run", "long.yaml", "--quiet"]);
    desk.until("the check has begun", || desk.path().join("begun").exists());
    desk::signal(child.id(), Signal::KILL);
    child.wait().expect("it is gone");
    let runs = desk.escrow(&["runs", "--output", "json"]).json();
    runs["runs"][0]["id"].as_str().expect("a run").to_owned()
}

#[test]
fn an_interrupted_run_is_nowhere_shown_as_running() {
    let desk = Desk::new();
    let id = interrupted(&desk);
    let studio = studio(&desk);
    let attention = studio.get("/").body;
    has(&attention, &[&format!("/runs/{id}#why")]);
    let page = studio.get(&format!("/runs/{id}")).body;
    has(&page, &["id=\"why\"", "Why it is interrupted", "was under way", "last entry"]);
    has_none(&page, &["href=\"#run\"", "data-since", "class=\"b run\""]);
    let runs = studio.get("/runs").body;
    has(&runs, &["0 running, 1 interrupted", "checks: 1 interrupted"]);
    has_none(&runs, &["href=\"#run\""]);
    let log = studio.get(&format!("/runs/{id}/logs/w")).body;
    has(&log, &["then it was interrupted"]);
    has_none(&log, &["escrow logs"]);
}

#[test]
fn only_items_that_printed_have_a_log() {
    let desk = Desk::new();
    let text = "name: fan\nchecks:\n  list: {type: command, exec: \"echo '[1,2,3,4,5]'\", forEach: true}\n  each: {type: command, depends_on: list, criticality: info, continue_on_failure: true, exec: 'echo {{ item }}; test {{ item }} != 3'}\n  sub: {type: command, depends_on: list, fanout: map, if: 'item !== 2 && item !== 4', exec: 'echo {{ item }}'}\n";
    let id = run(&desk, text, 0);
    let studio = studio(&desk);
    let page = studio.get(&format!("/runs/{id}")).body;
    let link = |item: usize| format!("/runs/{id}/logs/sub%5B{item}%5D");
    for item in [0, 2, 4] {
        has(&page, &[&link(item)]);
        assert_eq!(studio.get(&link(item)).status, 200);
    }
    has_none(&page, &[&format!("\"{}\"", link(1)), &format!("\"{}\"", link(3))]);
    has(&page, &["5 items, 2 skipped", "3 of 5 succeeded", "<span class=\"x\">×5</span>"]);
}

#[test]
fn a_check_that_failed_and_was_allowed_to_needs_attention() {
    let desk = Desk::new();
    let text = "name: w\nchecks:\n  warn: {type: command, exec: 'exit 1', continue_on_failure: true, criticality: info}\n  b: {type: command, exec: 'echo 1'}\n";
    let id = run(&desk, text, 0);
    let items = desk.escrow(&["attention", "--output", "json"]).json();
    let item = &items["attention"][0];
    assert_eq!(
        (item["kind"].as_str(), item["reason_code"].as_str()),
        (Some("warning"), Some("run.completed.with_warnings")),
        "{items:#}"
    );
    assert_eq!(item["check"], "warn");
    has(&studio(&desk).get("/").body, &["Completed with warnings", &format!("/runs/{id}#check-warn")]);
    // A run without the warning clears it.
    run(&desk, &text.replace("exit 1", "true"), 0);
    assert_eq!(desk.escrow(&["attention", "--output", "json"]).json()["attention"], serde_json::json!([]));
}

#[test]
fn an_exported_page_is_a_record_and_not_a_control() {
    let desk = Desk::new();
    let failed = run(
        &desk,
        "name: bad\nartifacts: {expected: [{id: a, path: a.md}]}\nchecks: {m: {type: command, outcome: ci_result, exec: 'echo \"{\\\"passed\\\": true, \\\"summary\\\": \\\"x\\\"}\"; exit 1'}}\n",
        1,
    );
    let waiting = run(
        &desk,
        "name: waits\nchecks: {ship: {type: command, criticality: external, requires_approval: true, exec: ./ship}}\n",
        4,
    );
    let studio = studio(&desk);
    for id in [failed, waiting] {
        let page = studio.get(&format!("/runs/{id}?export=1")).body;
        let page = page.split("</style>").nth(1).expect("what stands behind the stylesheet");
        has_none(page, &["<form", "csrf", " ago", "href=\"/", "data-relative", ">Export<"]);
        let day = desk.show(&id)["run"]["started_at"].as_str().expect("a time")[..10].to_owned();
        has(page, &[&format!("{day} "), " UTC", "As of "]);
    }
}

#[test]
fn a_denied_run_is_not_offered_to_be_run_again() {
    let desk = Desk::new();
    let asks = "name: waits\nchecks: {ship: {type: command, criticality: external, requires_approval: true, exec: ./ship}}\n";
    let denied = run(&desk, asks, 4);
    let wait = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["id"].clone();
    desk.escrow(&["deny", wait.as_str().expect("an id")]);
    let failed = run(&desk, "name: bad\nchecks: {m: {type: command, exec: exit 1}}\n", 1);
    let studio = studio(&desk);
    has_none(&studio.get(&format!("/runs/{denied}")).body, &["Run what failed again"]);
    has(&studio.get(&format!("/runs/{failed}")).body, &["Run what failed again"]);
}

#[test]
fn what_a_role_or_a_rule_forbids_is_not_offered() {
    let desk = Desk::new();
    let asks = "name: waits\nchecks: {ship: {type: command, criticality: external, requires_approval: true, exec: ./ship}}\n";
    let id = run(&desk, asks, 4);
    run(&desk, "name: bad\nchecks: {m: {type: command, exec: exit 1}}\n", 1);
    desk.write("one.yaml", "name: one\nchecks: {a: {type: command, exec: echo a}}\n");
    desk.write("chain.yaml", "name: hand\nsteps: [{skill: one}]\n");
    assert_eq!(desk.escrow(&["chain", "define", "chain.yaml"]).code, Some(0));
    let token = |role: &str| {
        let made = desk.escrow(&["studio", "token", "add", role, "--role", role, "--output", "json"]).json();
        format!("Authorization: Bearer {}\r\n", made["token"]["text"].as_str().expect("a token"))
    };
    let (read, approve) = (token("read"), token("approve"));
    let studio = studio(&desk);
    for path in [format!("/runs/{id}"), "/approvals".to_owned(), "/".to_owned(), "/chains/hand".to_owned()] {
        has_none(&studio.get_with(&path, &read).body, &["method=\"post\"", "recorded as"]);
    }
    has(&studio.get_with("/approvals", &read).body, &["needs a token with the role"]);
    let page = studio.get_with(&format!("/runs/{id}"), &approve).body;
    has(&page, &["btn approve", "recorded as"]);
    has_none(&page, &["Cancel run"]);
    has_none(&studio.get_with("/chains/hand", &approve).body, &["method=\"post\""]);
    let page = studio.get(&format!("/runs/{id}")).body;
    has(&page, &["btn approve", "Cancel run"]);
    assert_eq!(studio.get("/chains/hand").body.matches("by hand").count(), 2, "trigger and next fire");
    // Somebody else is named.
    let named =
        run(&desk, &asks.replace("requires_approval: true", "requires_approval: {by: [nobody-here]}"), 4);
    let page = studio.get(&format!("/runs/{named}")).body;
    has_none(&page, &["btn approve"]);
    has(&page, &["btn deny", "You cannot approve this", "may not approve it; nobody-here may"]);
}

#[test]
fn an_approver_whom_the_terms_exclude_sees_why_instead_of_a_button() {
    let desk = Desk::new();
    let asks = |terms: &str| {
        format!(
            "name: waits\nchecks: {{ship: {{type: command, criticality: external, requires_approval: {terms}, exec: ./ship}}}}\n"
        )
    };
    let independent = run(&desk, &asks("{independent: true}"), 4);
    let two = run(&desk, &asks("{count: 2}"), 4);
    let made =
        desk.escrow(&["studio", "token", "add", "ben", "--role", "approve", "--output", "json"]).json();
    let ben = format!("Authorization: Bearer {}\r\n", made["token"]["text"].as_str().expect("a token"));
    let studio = studio(&desk);
    for path in [format!("/runs/{independent}"), "/approvals".to_owned()] {
        let page = studio.get(&path).body;
        has(
            &page,
            &["You cannot approve this", "started or resumed the run, and the approval must be independent"],
        );
    }
    has_none(&studio.get(&format!("/runs/{independent}")).body, &["btn approve"]);
    has(&studio.get_with(&format!("/runs/{independent}"), &ben).body, &["btn approve", "starts at once"]);
    // One of two has approved: the same person is told so, and another one may.
    has(&studio.get(&format!("/runs/{two}")).body, &["1 more person has to approve before"]);
    let id =
        studio.json(&format!("/api/runs/{two}"))["run"]["waiting_for"][0]["id"].as_str().map(str::to_owned);
    let id = id.unwrap_or_else(|| {
        let all = desk.escrow(&["approvals", "--output", "json"]).json();
        let open = all["approvals"].as_array().expect("a list").iter().find(|one| one["run_id"] == *two);
        open.expect("it waits")["id"].as_str().expect("an id").to_owned()
    });
    assert_eq!(desk.escrow(&["approve", &id]).code, Some(0));
    let page = studio.get(&format!("/runs/{two}")).body;
    has_none(&page, &["btn approve"]);
    has(&page, &["has already approved it"]);
    has(&studio.get_with(&format!("/runs/{two}"), &ben).body, &["btn approve", "starts at once"]);
}

#[test]
fn a_dismissed_cause_is_not_offered_for_dismissal() {
    let desk = Desk::new();
    run(&desk, "name: bad\nchecks: {m: {type: command, exec: exit 1}}\n", 1);
    let studio = studio(&desk);
    has(&studio.get("/?all=1").body, &["/dismiss\""]);
    desk.escrow(&["attention", "dismiss", "last", "--note", "known"]);
    has_none(&studio.get("/?all=1").body, &["/dismiss\""]);
}

#[test]
fn values_that_a_filter_does_not_know_are_refused_with_the_known_ones() {
    let desk = Desk::new();
    let id = run(&desk, "name: a\nchecks: {a: {type: command, exec: echo a}}\n", 0);
    let studio = studio(&desk);
    let journal = format!("/api/runs/{id}/journal");
    let log = format!("/runs/{id}/logs/a");
    for (address, says) in [
        ("/outcomes?kind=nope".to_owned(), "ci_result"),
        ("/api/outcomes?kind=nope".to_owned(), "ci_result"),
        ("/api/runs?all=maybe".to_owned(), "true, false"),
        ("/?all=zz".to_owned(), "true, false"),
        (format!("{journal}?format=xml"), "json, jsonl"),
        (format!("/runs/{id}?export=2"), "true, false"),
        ("/?theme=bogus".to_owned(), "light, dark, system"),
        ("/api/feed?brief=maybe".to_owned(), "true, false"),
        ("/runs?reason=nope".to_owned(), "run.failed.exit_nonzero"),
        ("/runs?by=size".to_owned(), "invocation, time"),
        (format!("{log}?line=Z9"), "L7"),
        ("/runs?status=failed&status=completed".to_owned(), "given twice"),
    ] {
        let answer = studio.get(&address);
        assert_eq!(answer.status, 400, "{address}");
        has(&answer.body, &[says]);
    }
    for address in [
        "/runs?status=any&reason=any&since=any".to_owned(),
        "/?all".to_owned(),
        "/api/runs?all=false".to_owned(),
        format!("{journal}?format=jsonl"),
        "/outcomes?kind=ci_result&passed=any".to_owned(),
        "/runs?reason=run.completed.ok&by=time".to_owned(),
    ] {
        assert_eq!(studio.get(&address).status, 200, "{address}");
    }
    has(&studio.get(&format!("{log}?line=L1")).body, &["class=\"at\""]);
}

#[test]
fn the_api_answers_with_documents_wherever_it_is_asked() {
    let desk = Desk::new();
    let studio = studio(&desk);
    let nowhere = studio.get("/api/nope");
    assert_eq!((nowhere.status, nowhere.json()["error"]["code"].as_str()), (404, Some("unknown_call")));
    let host = &studio.host;
    let put = studio.send(&format!("DELETE /api/runs HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
    assert_eq!(
        (put.status, put.header("allow"), put.json()["error"]["code"].as_str()),
        (405, "GET", Some("method"))
    );
    // The address of a form, opened by a person.
    let form = studio.get("/api/approvals/a_1/approve");
    assert_eq!((form.status, form.header("allow")), (405, "POST"));
    has(&form.body, &["takes POST", "<nav"]);
}

#[test]
fn decisions_are_listed_by_the_time_at_which_they_were_made() {
    let desk = Desk::new();
    let asks =
        |name: &str| format!("name: {name}\nchecks: {{{name}: {{type: human-input, prompt: 'ok?'}}}}\n");
    for name in ["first", "second"] {
        run(&desk, &asks(name), 4);
    }
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = |check: &str| {
        let all = waits["approvals"].as_array().expect("a list");
        all.iter().find(|one| one["check"] == check).expect("it waits")["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    for check in ["second", "first"] {
        assert_eq!(desk.escrow(&["answer", &id(check), "yes"]).code, Some(0));
    }
    let all = desk.escrow(&["approvals", "--all", "--output", "json"]).json();
    let order: Vec<&str> =
        all["approvals"].as_array().expect("a list").iter().filter_map(|one| one["check"].as_str()).collect();
    assert_eq!(order, ["first", "second"], "newest decision first");
}
