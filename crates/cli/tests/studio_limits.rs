//! Studio at its limits: nothing, one and ten thousand of everything, hostile names, unknown ids, a broken database, a full
//! disk, and viewers that never read.

mod desk;
mod studio_client;

use std::io::{BufRead, Write};
use std::process::Command;

use desk::Desk;
use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::Ledger;
use escrow_simulator::{History, write_history, write_plenty};
use escrow_store::ReceiptLedger;
use serde_json::Value;
use studio_client::Studio;

const PAGES: [&str; 9] =
    ["/", "/runs", "/outcomes", "/chains", "/shows", "/approvals", "/effects", "/invocations", "/lifecycle"];

const LISTS: [&str; 9] = [
    "/api/runs",
    "/api/outcomes",
    "/api/chains",
    "/api/chain-runs",
    "/api/approvals",
    "/api/attention",
    "/api/invocations",
    "/api/effects",
    "/api/receipts",
];

fn studio(desk: &Desk) -> Studio {
    Studio::start_with(desk, &["--no-daemon"])
}

fn history(desk: &Desk, runs: u64, waiting_each: u64) {
    let state = desk.path().join(".escrow");
    std::fs::create_dir_all(&state).expect("a state directory");
    let history = History { runs, checks: 4, waiting_each, large: 0, until: 1_790_000_000_000 };
    assert_eq!(write_history(&state.join("escrow.db"), history).runs, runs);
}

/// Bytes on the wire that a page may have.
const WEIGHT_MAX: usize = 100_000;

fn weight(answer: &studio_client::Answer) -> usize {
    answer.header("content-length").parse().expect("a length")
}

/// Every page and every list answers, and is of a size that a browser can show.
#[track_caller]
fn every_page_answers(desk: &Desk) {
    let studio = studio(desk);
    for path in PAGES {
        let answer = studio.get_with(path, "Accept-Encoding: gzip\r\n");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(weight(&answer) < WEIGHT_MAX, "{path} has {} bytes", weight(&answer));
    }
    for path in LISTS {
        assert_eq!(studio.get(path).status, 200, "{path}");
    }
    for path in ["/runs?limit=10000", "/outcomes?limit=10000", "/invocations?limit=1000", "/?all=1"] {
        assert_eq!(studio.get(path).status, 200, "{path}");
    }
    if let Some(run) = studio.json("/api/runs")["runs"][0]["id"].as_str() {
        assert_eq!(studio.get(&format!("/runs/{run}")).status, 200);
    }
}

#[test]
fn every_page_has_nothing_to_show() {
    every_page_answers(&Desk::new());
}

#[test]
fn every_page_has_one_of_everything() {
    let desk = Desk::new();
    history(&desk, 1, 1);
    every_page_answers(&desk);
}

#[test]
fn every_page_has_ten_thousand_things_that_wait() {
    let desk = Desk::new();
    history(&desk, 10_000, 1);
    every_page_answers(&desk);
}

#[test]
fn every_page_has_ten_thousand_things_that_are_done() {
    let desk = Desk::new();
    history(&desk, 10_000, 0);
    every_page_answers(&desk);
    let studio = studio(&desk);
    for path in ["/runs", "/effects", "/outcomes"] {
        assert!(
            studio.get(path).body.contains("older ones") || path == "/outcomes",
            "{path} says that there is more"
        );
    }
}

#[test]
fn every_page_has_many_causes_decisions_shows_chains_and_receipts() {
    every_page_has(400);
}

#[test]
#[ignore = "writes 30,000 runs, which takes minutes"]
fn every_page_has_ten_thousand_causes_decisions_shows_chains_and_receipts() {
    every_page_has(10_000);
}

#[track_caller]
fn every_page_has(number: u64) {
    let desk = Desk::new();
    let state = desk.path().join(".escrow");
    std::fs::create_dir_all(&state).expect("a state directory");
    write_plenty(&state.join("escrow.db"), number, 1_790_000_000_000);
    receipts(&state.join("escrow.db"), number);
    every_page_answers(&desk);
    let studio = studio(&desk);
    for (path, part) in [
        ("/", format!("{number} causes need you")),
        ("/", format!("and {} more", number - 100)),
        ("/approvals", "the newest 100".to_owned()),
        ("/shows", "20 runs and older ones".to_owned()),
        ("/chains", format!("and {} more", number - 100)),
        ("/lifecycle", format!(">{number}<")),
    ] {
        assert!(studio.get(path).body.contains(&part), "{path} does not say `{part}`");
    }
}

/// Receipts of a harness, as its hooks report them.
fn receipts(database: &std::path::Path, number: u64) {
    let mut ledger = ReceiptLedger::open_grouped(database).expect("a ledger");
    for one in 0..number {
        let receipt = serde_json::json!({
            "schema_version": "lifeloop.v0.2",
            "receipt_id": format!("receipt-{one}"),
            "idempotency_key": null,
            "client_id": "escrow",
            "adapter_id": "claude",
            "invocation_id": "i_1",
            "event": "frame.ending",
            "event_id": format!("event-{one}"),
            "sequence": null,
            "parent_receipt_id": null,
            "integration_mode": "native_hook",
            "status": "observed",
            "at_epoch_s": 1_790_000_000u64 + one,
            "failure_class": null,
            "retry_class": null
        });
        let receipt = LifecycleReceipt::read(&receipt.to_string()).expect("a receipt");
        ledger.record(receipt).expect("it is recorded");
    }
}

#[test]
fn the_page_of_two_thousand_checks_is_light_and_many_of_it_take_the_memory_of_one() {
    let desk = Desk::new();
    let state = desk.path().join(".escrow");
    std::fs::create_dir_all(&state).expect("a state directory");
    let history = History { runs: 1, checks: 4, waiting_each: 0, large: 2_000, until: 1_790_000_000_000 };
    let large = write_history(&state.join("escrow.db"), history).large.expect("a run of many checks");
    let studio = studio(&desk);
    let page = format!("/runs/{large}");
    studio.get("/runs");
    let before = studio.own_memory_kb();
    std::thread::scope(|scope| {
        let viewers: Vec<_> =
            (0..12).map(|_| scope.spawn(|| studio.get_with(&page, "Accept-Encoding: gzip\r\n"))).collect();
        for viewer in viewers {
            let answer = viewer.join().expect("it is answered");
            assert_eq!(answer.status, 200);
            assert!(weight(&answer) < WEIGHT_MAX, "{} bytes", weight(&answer));
        }
    });
    // One takes 14 MB. Each on a thread of its own took 170 MB together, and the allocator kept them.
    let grown = studio.own_memory_kb().saturating_sub(before);
    assert!(grown < 45_000, "{grown} KB more after twelve pages");
    // The list is in parts; what failed is on the first, and each link leads to the part of its check.
    let first = studio.get(&page).body;
    for part in ["1 to 200 of 2000, what failed first", "id=\"check-w77\"", "drawn as", "100 of 2000 checks"]
    {
        assert!(first.contains(part), "`{part}` is not there");
    }
    let table = first.split("id=\"graph-table\"").nth(1).expect("a table");
    let link = table
        .split("href=\"")
        .find(|link| link.contains("#check-w1999\""))
        .expect("a link to the last check");
    let link = link.split('"').next().expect("its end");
    let part = studio.get(link.split('#').next().expect("a path")).body;
    assert!(part.contains("id=\"check-w1999\""), "{link} does not have it");
    assert!(!first.contains("id=\"check-w1999\""));
}

#[test]
fn unknown_and_hostile_ids_are_refused_everywhere() {
    let desk = Desk::new();
    desk.run("name: one\nchecks: {a: {type: command, exec: echo a}}\n");
    desk.escrow(&["studio", "token", "add", "root", "--role", "admin"]);
    let studio = studio(&desk);
    let ids = [
        "r_nothing",
        "nothing",
        "%00",
        "%ff%fe",
        "..",
        "..%2f..%2fetc%2fpasswd",
        "%3Cscript%3E",
        "'%20OR%201=1--",
        "%F0%9F%92%A9",
        "%25s%25n",
    ];
    let long = "x".repeat(4_000);
    for id in ids.into_iter().chain([long.as_str()]) {
        for path in [
            format!("/runs/{id}"),
            format!("/runs/{id}/logs/a"),
            format!("/runs/last/logs/{id}"),
            format!("/runs/{id}/artifacts/a"),
            format!("/runs/last/artifacts/{id}"),
            format!("/chains/{id}"),
            format!("/api/runs/{id}"),
            format!("/api/runs/{id}/journal"),
            format!("/api/chains/{id}"),
            format!("/assets/{id}"),
            format!("/runs/last?check={id}"),
            format!("/runs?invocation={id}"),
            format!("/outcomes?run={id}"),
            format!("/effects?run={id}"),
            format!("/api/feed?run={id}"),
        ] {
            let answer = studio.get(&path);
            assert!((400..500).contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
            assert!(!answer.body.contains("<script>alert") && !answer.body.contains("panicked"), "{path}");
        }
        for path in [
            format!("/api/runs/{id}/cancel"),
            format!("/api/runs/{id}/resume"),
            format!("/api/runs/{id}/retry"),
            format!("/api/runs/{id}/assume"),
            format!("/api/approvals/{id}/approve"),
            format!("/api/approvals/{id}/answer"),
            format!("/api/attention/{id}/dismiss"),
            format!("/api/chains/{id}/fire"),
            format!("/api/chains/{id}/pause"),
        ] {
            let fields =
                [("digest", "0"), ("text", "x"), ("note", "x"), ("check", "a"), ("assumption", "done")];
            let answer = studio.submit(&path, &fields);
            assert!((400..500).contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
        }
    }
}

/// A name that would run, close an attribute, or reorder what stands around it.
fn hostile(number: usize) -> String {
    format!("<script>alert({number})</script>\"'`&\u{202e}{number}")
}

/// The fields that others fill in, by the number in their text.
const FIELDS: [(&str, usize); 21] = [
    ("name of a playbook", 101),
    ("title of a run", 102),
    ("description of an artifact", 103),
    ("prompt of a question", 104),
    ("choice of a question", 105),
    ("name of an invocation", 106),
    ("prompt of an invocation", 107),
    ("person of an invocation", 108),
    ("summary of an outcome", 109),
    ("reason in an outcome", 110),
    ("criterion of an outcome", 111),
    ("line of stdout", 112),
    ("line of stderr", 113),
    ("description of a chain", 114),
    ("command of a step", 115),
    ("member of a trigger", 116),
    ("input", 117),
    ("approval prompt", 118),
    ("item of a fan-out", 119),
    ("message of an issue", 120),
    ("note of a dismissal", 121),
];

#[test]
fn hostile_names_in_every_field_are_shown_on_every_page_and_never_run() {
    let desk = Desk::new();
    let yaml = |number: usize| serde_json::to_string(&hostile(number)).expect("a string");
    let outcome = serde_json::json!({
        "outcome_kind": "gate_verdict", "gate_passed": false, "summary": hostile(109),
        "blocking_reason": hostile(110), "criteria": [{"name": hostile(111), "passed": false}],
    });
    desk.write("outcome.json", &outcome.to_string());
    desk.write("out.txt", &format!("{}\n", hostile(112)));
    desk.write("err.txt", &format!("{}\n", hostile(113)));
    desk.write("list.json", &serde_json::json!([hostile(119)]).to_string());
    let text = format!(
        "name: {name}\ntitle: {title}\ninputs: {{who: {{default: {input}}}}}\n\
         artifacts: {{expected: [{{id: a, path: a.md, description: {description}}}]}}\nchecks:\n  \
         gate: {{type: command, outcome: gate_verdict, exec: cat outcome.json}}\n  \
         print: {{type: command, exec: 'cat out.txt; cat err.txt >&2'}}\n  \
         list: {{type: command, forEach: true, exec: cat list.json}}\n  \
         each: {{type: log, depends_on: list, message: '{{{{ item }}}}'}}\n  \
         broken: {{type: command, exec: echo x, fail_if: {issue}, continue_on_failure: true}}\n  \
         ask: {{type: human-input, prompt: {prompt}, choices: [{choice}, other]}}\n  \
         ship: {{type: command, criticality: external, exec: 'echo {{{{ inputs.who }}}}', requires_approval: {{prompt: {approval}}}}}\n",
        name = yaml(101),
        title = yaml(102),
        input = yaml(117),
        description = yaml(103),
        issue = serde_json::to_string(&format!("output.trim() !== {}", yaml(120))).expect("a string"),
        prompt = yaml(104),
        choice = yaml(105),
        approval = yaml(118),
    );
    desk.write("evil.yaml", &text);
    let invocation = desk
        .escrow(&[
            "invocation",
            "start",
            "--name",
            &hostile(106),
            "--prompt",
            &hostile(107),
            "--by",
            &hostile(108),
        ])
        .stdout;
    let done = desk.escrow(&["run", "evil.yaml", "--quiet", "--invocation", invocation.trim()]);
    assert_eq!(done.code, Some(4), "{}{}", done.stdout, done.stderr);
    let chain = format!(
        "name: evil-chain\ndescription: {}\ntrigger: {{event: pr.opened, filter: {{branch: {}}}}}\nsteps: [{{action: shell, with: {{exec: {}}}}}]\n",
        yaml(114),
        yaml(116),
        yaml(115)
    );
    desk.write("chain.yaml", &chain);
    let defined = desk.escrow(&["chain", "define", "chain.yaml"]);
    assert_eq!(defined.code, Some(0), "{}", defined.stderr);
    let failing =
        format!("name: failing\ntitle: {}\nchecks: {{a: {{type: command, exec: exit 1}}}}\n", yaml(102));
    desk.run(&failing);
    let studio = studio(&desk);
    let items = studio.json("/api/attention")["attention"].as_array().expect("a list").clone();
    let failed = items.iter().find(|item| item["kind"] == "failed").expect("a failed run");
    let dismiss = format!("/api/attention/{}/dismiss", failed["fingerprint"].as_str().expect("a name"));
    assert_eq!(studio.submit(&dismiss, &[("note", &hostile(121))]).status, 303);
    let run = studio.json("/api/runs?status=waiting")["runs"][0]["id"].as_str().expect("a run").to_owned();
    let mut paths: Vec<String> = PAGES.iter().map(|path| (*path).to_owned()).collect();
    paths.extend(
        ["/?all=1", "/chains/evil-chain", "/runs?q=%3Cscript%3E", "/approvals?all=1"].map(str::to_owned),
    );
    paths.extend(
        ["", "?check=gate", "?check=broken", "?export=1", "/logs/print", "/logs/gate?find=%3Cscript%3E"]
            .map(|rest| format!("/runs/{run}{rest}")),
    );
    let mut seen: Vec<usize> = Vec::new();
    for path in &paths {
        let page = studio.get(path);
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        assert!(!page.body.contains("<script>alert"), "{path} has a script of somebody else");
        // A hidden form field sends a value back as it is and is not shown.
        let read: String = page
            .body
            .split(" value=\"")
            .map(|part| part.split_once('"').map_or(part, |(_, rest)| rest))
            .collect();
        assert!(!read.contains('\u{202e}'), "{path} has a mark that reorders text");
        assert!(
            !page.body.contains(" style=\"") && !page.body.contains(" onclick"),
            "{path} has something inline"
        );
        let shown =
            |number: &usize| page.body.contains(&format!("&lt;script&gt;alert({number})&lt;/script&gt;"));
        seen.extend(FIELDS.iter().map(|(_, number)| *number).filter(shown));
    }
    let unseen: Vec<&str> =
        FIELDS.iter().filter(|(_, number)| !seen.contains(number)).map(|(name, _)| *name).collect();
    assert!(unseen.is_empty(), "not shown on any page: {unseen:?}");
}

#[test]
fn a_database_that_becomes_garbage_while_it_serves_ends_nothing() {
    let desk = Desk::new();
    desk.run("name: one\nchecks: {a: {type: command, exec: echo a}}\n");
    let mut studio = studio(&desk);
    assert_eq!(studio.get("/runs").status, 200);
    let path = desk.path().join(".escrow/escrow.db");
    let length = std::fs::metadata(&path).expect("a database").len();
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).expect("it can be written");
    file.write_all(&vec![0x5a; usize::try_from(length).expect("a length")]).expect("it can be broken");
    file.sync_all().expect("it is written");
    for path in PAGES.iter().chain(&LISTS).chain(&["/runs/last", "/runs/last/logs/a"]) {
        let answer = studio.get(path);
        // What a reader has in its cache may still be right.
        assert!(matches!(answer.status, 200 | 404 | 500 | 503), "{path}: {}", answer.status);
        assert!(!answer.body.is_empty(), "{path} says nothing");
    }
    assert!(studio.is_alive(), "it still serves");
}

/// A small file system of its own; `None` where the test may not mount one.
struct SmallDisk<'a>(&'a std::path::Path);

impl<'a> SmallDisk<'a> {
    fn mount(path: &'a std::path::Path) -> Option<SmallDisk<'a>> {
        std::fs::create_dir_all(path).expect("a directory");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"]).arg(path).output();
        mounted.is_ok_and(|done| done.status.success()).then_some(SmallDisk(path))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

#[test]
fn a_full_disk_while_approving_is_told_and_the_approval_can_be_given_later() {
    let desk = Desk::new();
    let path = desk.path().join("small");
    // Without the right to mount there is no small disk to fill.
    let Some(_disk) = SmallDisk::mount(&path) else { return };
    let state = path.join(".escrow");
    let state = state.to_str().expect("a path");
    desk.write(
        "ask.yaml",
        "name: ask\nchecks: {a: {type: command, exec: echo a, requires_approval: true}}\n",
    );
    assert_eq!(desk.escrow(&["run", "ask.yaml", "--quiet", "--state", state]).code, Some(4));
    let mut studio = Studio::start_with(&desk, &["--no-daemon", "--state", state]);
    let wait = studio.json("/api/approvals")["approvals"][0].clone();
    let text = |name: &str| wait[name].as_str().expect("a text").to_owned();
    let filler = path.join("filler");
    let mut file = std::fs::File::create(&filler).expect("a file");
    while file.write_all(&[0; 4_096]).is_ok() {}
    let approve = format!("/api/approvals/{}/approve", text("id"));
    let digest = text("digest");
    let refused = studio.submit(&approve, &[("digest", digest.as_str())]);
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(studio.is_alive());
    assert_eq!(studio.get("/approvals").status, 200, "it can still be read");
    std::fs::remove_file(&filler).expect("there is room again");
    drop(file);
    let given = studio.submit(&approve, &[("digest", digest.as_str())]);
    assert_eq!(given.status, 303, "{}", given.body);
    let show = || -> Value { studio.json(&format!("/api/runs/{}", text("run_id"))) };
    desk.until("the run has completed", || show()["run"]["status"] == "completed");
}

#[test]
fn a_viewer_that_never_reads_holds_neither_memory_nor_other_viewers() {
    let desk = Desk::new();
    let items = "[...Array(600).keys()]";
    let text = format!(
        "name: many\nchecks:\n  list: {{type: script, forEach: true, content: \"return {items}\"}}\n  each: {{type: script, depends_on: list, content: \"return 'x'.repeat(20000)\"}}\n"
    );
    desk.write("many.yaml", &text);
    let studio = studio(&desk);
    let silent: Vec<_> = (0..20).map(|_| studio.events("/api/feed?after=0", "")).collect();
    let reader = studio.events("/api/feed?brief=1&after=0", "");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let before = studio.memory_kb();
    let done = desk.escrow(&["run", "many.yaml", "--quiet"]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let (mut last, mut count) = (0u64, 0usize);
    for line in reader.lines().map_while(Result::ok) {
        if let Some(id) = line.strip_prefix("id: ") {
            let id: u64 = id.parse().expect("a position");
            assert_eq!(id, last + 1, "nothing is missed");
            (last, count) = (id, count + 1);
        }
        if line.contains("run_ended") {
            break;
        }
    }
    assert!(count > 1_800, "{count} entries");
    let grown = studio.memory_kb().saturating_sub(before);
    // 12 MB were committed; twenty viewers that held them would take 240.
    assert!(grown < 80_000, "{grown} KB more for viewers that do not read");
    assert_eq!(studio.get("/runs").status, 200);
    drop(silent);
}

#[test]
fn many_pages_of_a_long_run_are_made_at_once() {
    let desk = Desk::new();
    let list = "const all = []; for (let i = 0; i < 200; i++) all.push(i); return all";
    let (_, document) = desk.run(&format!(
        "checks:\n  list: {{type: script, forEach: true, content: '{list}'}}\n  each: {{type: script, depends_on: list, content: 'return item'}}\n"
    ));
    let page = format!("/runs/{}", document["run"]["id"].as_str().expect("an id"));
    let studio = studio(&desk);
    std::thread::scope(|scope| {
        let viewers: Vec<_> = (0..24).map(|_| scope.spawn(|| studio.get(&page).status)).collect();
        for viewer in viewers {
            assert_eq!(viewer.join().expect("it is answered"), 200);
        }
    });
}
