//! Studio in a real Chromium: every page and every action, at the width of a desk and of a phone, in the light and in the
//! dark, with the keyboard, without script. `.ci/test-browser` installs what is needed and runs these.

mod chromium;
mod desk;
mod studio_client;

use std::path::{Path, PathBuf};

use chromium::{Browser, Viewport};
use desk::Desk;
use serde_json::{Value, json};
use studio_client::Studio;

fn project() -> Desk {
    let desk = Desk::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/studio");
    for name in ["pr-review", "headline", "rollout", "nightly", "nightly-chain"] {
        let text = std::fs::read_to_string(data.join(format!("{name}.yaml"))).expect("a playbook");
        desk.write(&format!("ledger/{name}.yaml"), &text);
    }
    desk
}

/// Runs a command inside the project, whose folder gives it its name.
fn escrow(desk: &Desk, arguments: &[&str]) -> desk::Done {
    let mut command = desk.command(arguments);
    desk::Done::from(command.current_dir(desk.path().join("ledger")).output().expect("the binary runs"))
}

/// Some history: a run of each kind, and a few of the same playbook.
fn history(desk: &Desk) {
    std::fs::create_dir_all(desk.path().join("ledger/.escrow")).expect("a state directory");
    for _ in 0..3 {
        escrow(desk, &["run", "nightly.yaml", "--quiet"]);
    }
    for number in ["478", "479", "480"] {
        escrow(desk, &["run", "pr-review.yaml", "--quiet", "--input", &format!("pr={number}")]);
    }
    let invocation = escrow(desk, &["invocation", "start", "--name", "Review #482", "--by", "ann"]).stdout;
    escrow(desk, &["run", "pr-review.yaml", "--quiet", "--invocation", invocation.trim()]);
    escrow(desk, &["run", "pr-review.yaml", "--quiet", "--input", "pr=481", "--input", "blocking=low"]);
    escrow(desk, &["run", "headline.yaml", "--quiet"]);
    escrow(desk, &["run", "rollout.yaml", "--quiet"]);
    escrow(desk, &["chain", "define", "nightly-chain.yaml"]);
    desk.write("ledger/docs-watch.yaml", "name: docs-watch\ndescription: Keeps the pages of the documentation true\ntrigger: {schedule: every 3h}\nsteps: [{skill: nightly}]\n");
    escrow(desk, &["chain", "define", "docs-watch.yaml"]);
    show(desk);
    agent(desk);
    stale(desk);
    desk.write("ledger/event.json", r#"{"day": "monday"}"#);
    escrow(desk, &["chain", "fire", "nightly-chain", "--event", "event.json", "--quiet"]);
}

/// A show whose gate stays closed.
fn show(desk: &Desk) {
    desk.write("ledger/release-show.yaml", "name: release-train\nplays:\n  build: {playbook: build.yaml, gate: accept.yaml}\n  notes: {playbook: build.yaml}\n  announce: {playbook: build.yaml, depends_on: [build, notes]}\n");
    desk.write(
        "ledger/build.yaml",
        "inputs: {feedback: {default: ''}}\nchecks: {main: {type: command, exec: 'true'}}",
    );
    desk.write("ledger/accept.yaml", "checks:\n  judge:\n    type: command\n    outcome: gate_verdict\n    exec: |\n      echo '{\"gate_passed\": false, \"summary\": \"the new endpoint has no test\", \"blocking_reason\": \"no test\"}'\n");
    escrow(desk, &["play", "run", "release-show.yaml", "--quiet"]);
}

/// A stand-in for Claude Code, which prints what the real one prints.
const CLAUDE: &str = r##"#!/bin/sh
cat > /dev/null
line() { printf '%s\n' "$1"; }
line '{"type":"system","subtype":"init","session_id":"s1","model":"claude-sonnet-4-5"}'
line '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I read the change and the code around it first."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"src/webhook/deliver.rs"}}]}}'
line '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}'
line '{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"cargo test -p webhook"}}]}}'
line '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no network"}]}}'
line '{"type":"assistant","message":{"id":"m3","content":[{"type":"text","text":"**One finding.** The signing secret reaches the log in `deliver.rs`."}]}}'
line '{"type":"result","subtype":"success","is_error":false,"num_turns":3,"result":"One finding.","session_id":"s1","total_cost_usd":0.31,"modelUsage":{"claude-sonnet-4-5":{"inputTokens":18204,"outputTokens":911}},"permission_denials":[]}'
"##;

fn agent(desk: &Desk) {
    use std::os::unix::fs::PermissionsExt;
    let path = desk.write("ledger/bin/claude", CLAUDE);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be executed");
    desk.write("ledger/security.yaml", "name: security-review\nchecks: {main: {type: ai, harness: claude, prompt: Review the change., permission_enforcement: advisory}}\n");
    let mut command = desk.command(&["run", "security.yaml", "--quiet"]);
    let done = command.env("ESCROW_HARNESS_CLAUDE", &path).current_dir(desk.path().join("ledger")).output();
    assert!(done.expect("it runs").status.success(), "the agent ends well");
}

/// An approval that is asked for again, because what it would do has changed.
fn stale(desk: &Desk) {
    let text = "name: publish\nchecks:\n  number: {type: command, exec: 'echo x >> count; wc -l < count'}\n  ship: {type: command, criticality: external, depends_on: number, requires_approval: true, exec: 'echo ship {{ outputs.number }}'}\n  again: {type: command, depends_on: number, exec: sleep 0.3, on_success: {transitions: [{when: 'attempt < 2', to: number}]}}\n";
    desk.write("ledger/publish.yaml", text);
    escrow(desk, &["run", "publish.yaml", "--quiet"]);
}

fn studio(desk: &Desk) -> Studio {
    let state = desk.path().join("ledger/.escrow");
    Studio::start_with(desk, &["--no-daemon", "--state", state.to_str().expect("a path")])
}

fn newest(studio: &Studio, query: &str) -> String {
    let runs = studio.json(&format!("/api/runs?{query}"));
    runs["runs"][0]["id"].as_str().unwrap_or_else(|| panic!("no run: {query}")).to_owned()
}

fn url(studio: &Studio, path: &str) -> String {
    format!("http://{}{path}", studio.host)
}

/// What axe finds against WCAG 2.1 AA.
fn violations(browser: &mut Browser) -> Vec<String> {
    let folder = std::env::var("ESCROW_TEST_BROWSER").expect("`.ci/test-browser` says where axe-core is");
    let axe = std::fs::read_to_string(Path::new(&folder).join("node_modules/axe-core/axe.min.js"))
        .expect("axe-core");
    browser.evaluate(&format!("{axe}; 0"));
    let found = browser.evaluate(
        "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}).then(r => \
         r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' — ' + n.failureSummary.slice(0, 200)).join(' | ')))",
    );
    found.as_array().into_iter().flatten().map(|one| one.as_str().unwrap_or_default().to_owned()).collect()
}

/// The folder for pictures, if they are wanted.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("ESCROW_SCREENSHOTS").map(PathBuf::from)
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn the_time_of_a_running_check_grows_although_nothing_is_committed() {
    let desk = Desk::new();
    desk.write(
        "ledger/long.yaml",
        "name: long\nchecks: {w: {type: command, exec: 'touch begun; sleep 25'}}\n",
    );
    std::fs::create_dir_all(desk.path().join("ledger/.escrow")).expect("a state directory");
    let mut command = desk.command(&["run", "long.yaml", "--quiet"]);
    let mut child = command.current_dir(desk.path().join("ledger")).spawn().expect("the binary starts");
    desk.until("the check has begun", || desk.path().join("ledger/begun").exists());
    let studio = studio(&desk);
    let mut browser = Browser::start();
    let run = newest(&studio, "status=running");
    browser.go(&url(&studio, &format!("/runs/{run}")));
    let places = [".verdict .ticks", "#timeline tbody .ticks", ".toc .ticks"];
    let before = places.map(|place| browser.text(place));
    let bar = "parseFloat(document.querySelector('#timeline rect.b').getAttribute('width'))";
    browser.until("every figure has grown", |browser| {
        places.iter().zip(&before).all(|(place, before)| browser.text(place) != *before)
    });
    let shown = browser.text(".verdict .ticks");
    browser.until("and goes on growing", |browser| browser.text(".verdict .ticks") != shown);
    assert!(browser.evaluate(bar).as_f64().is_some_and(|width| width > 50.0), "the bar reaches until now");
    assert_eq!(browser.troubles(), Vec::<String>::new());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
#[ignore = "needs Chromium and axe-core: .ci/test-browser"]
fn every_page_is_accessible_fits_a_phone_and_has_no_errors() {
    let desk = project();
    history(&desk);
    let studio = studio(&desk);
    let failed = newest(&studio, "status=failed&playbook=pr-review");
    let waiting = newest(&studio, "status=waiting&playbook=pr-review");
    let completed = newest(&studio, "status=completed&playbook=nightly");
    let pages = [
        ("attention", "/".to_owned()),
        ("runs", "/runs?playbook=pr-review".to_owned()),
        ("runs-all", "/runs".to_owned()),
        ("run-failed", format!("/runs/{failed}")),
        ("run-waiting", format!("/runs/{waiting}")),
        ("run-completed", format!("/runs/{completed}")),
        ("run-why", format!("/runs/{failed}?check=merge")),
        ("run-agent", format!("/runs/{}", newest(&studio, "playbook=security-review"))),
        ("run-stale", format!("/runs/{}", newest(&studio, "status=waiting&playbook=publish"))),
        ("log", format!("/runs/{failed}/logs/tests")),
        ("file", format!("/runs/{completed}/artifacts/report/index.md?view=1")),
        ("outcomes", "/outcomes?passed=false".to_owned()),
        ("approvals", "/approvals".to_owned()),
        ("shows", "/shows".to_owned()),
        ("chains", "/chains".to_owned()),
        ("chain", "/chains/nightly-chain".to_owned()),
        ("effects", "/effects".to_owned()),
        ("invocations", "/invocations".to_owned()),
        ("lifecycle", "/lifecycle".to_owned()),
        ("not-found", "/runs/r_nothing".to_owned()),
    ];
    let mut browser = Browser::start();
    let mut problems = Vec::new();
    for (screen, scheme) in [(Viewport::Desk, "light"), (Viewport::Desk, "dark"), (Viewport::Phone, "light")]
    {
        browser.screen(screen);
        browser.scheme(scheme);
        for (name, path) in &pages {
            browser.go(&url(&studio, path));
            for violation in violations(&mut browser) {
                problems.push(format!("{name} {screen:?} {scheme}: {violation}"));
            }
            let width = browser
                .evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            if width.as_i64().unwrap_or(0) > 0 {
                let who = browser.evaluate(
                    "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, .log ol, .cmd, .checks, .graph')).slice(0, 4).map(e => e.outerHTML.slice(0, 120)).join(' | ')",
                );
                problems.push(format!("{name} {screen:?}: {width} pixels too wide: {who}"));
            }
            let troubles: Vec<String> = browser
                .troubles()
                .into_iter()
                .filter(|trouble| !(trouble.contains("404") && *name == "not-found"))
                .collect();
            problems.extend(troubles.into_iter().map(|trouble| format!("{name}: {trouble}")));
            if let Some(folder) = pictures() {
                let suffix = match (screen, scheme) {
                    (Viewport::Phone, _) => "-phone",
                    (Viewport::Desk, "dark") => "-dark",
                    (Viewport::Desk, _) => "",
                };
                let is_wanted = suffix.is_empty() || ["attention", "run-failed", "approvals"].contains(name);
                if is_wanted && *name != "not-found" {
                    browser.picture(&folder.join(format!("{name}{suffix}.png")), 1_600);
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn one_click_leads_from_a_failed_run_to_its_cause() {
    let desk = project();
    history(&desk);
    let studio = studio(&desk);
    let mut browser = Browser::start();
    browser.go(&url(&studio, "/"));
    browser.click("#g-failed + ul .cause h3 a");
    browser.until("the cause is shown", |browser| browser.text("#why").contains("output.findings.filter"));
    assert!(browser.text(".verdict h1").contains("review"), "{}", browser.text(".verdict"));
    let is_seen = "(() => { const r = document.getElementById('why').getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0; })()";
    assert_eq!(browser.evaluate(is_seen), json!(true), "the reason is on the screen");
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn an_approval_in_the_browser_is_seen_to_continue_while_another_process_waits() {
    let desk = project();
    history(&desk);
    let studio = studio(&desk);
    let run = newest(&studio, "status=waiting&playbook=pr-review");
    let mut command = desk.command(&["wait", &run, "--quiet"]);
    let mut waiting = command
        .current_dir(desk.path().join("ledger"))
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let mut browser = Browser::start();
    browser.go(&url(&studio, &format!("/runs/{run}")));
    assert!(browser.text(".exact").contains("echo merged"), "what is approved is shown");
    browser.click(".btn.approve");
    browser.until("the run has completed", |browser| browser.text(".verdict .st").contains("Completed"));
    browser.until("the delivery is shown", |browser| browser.text("#artifacts").contains("changelog"));
    let code = waiting.wait().expect("it ends").code();
    // It may have seen the run while it still waited.
    assert!(matches!(code, Some(0 | 4)), "{code:?}");
    let decision = escrow(&desk, &["runs", "show", &run, "--output", "json"]).json()["decisions"][0].clone();
    assert_eq!(decision["decision"], "approved");
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn every_other_decision_can_be_made_in_the_browser() {
    let desk = project();
    history(&desk);
    let studio = studio(&desk);
    let status = |run: &str| -> Value { studio.json(&format!("/api/runs/{run}"))["run"]["status"].clone() };
    let mut browser = Browser::start();

    let question = newest(&studio, "status=waiting&playbook=release");
    browser.go(&url(&studio, &format!("/runs/{question}")));
    browser.click(".choices label:last-child input");
    browser.click(".ask form button");
    browser.until("the question is answered", |_| status(&question) == json!("completed"));

    let unknown = newest(&studio, "status=waiting&playbook=deploy");
    browser.go(&url(&studio, "/approvals"));
    browser.click(".ask.is-unk .choices label:first-of-type input");
    browser.click(".ask.is-unk form button");
    browser.until("the effect is settled", |_| status(&unknown) == json!("completed"));

    let approval = newest(&studio, "status=waiting&playbook=pr-review");
    browser.go(&url(&studio, &format!("/runs/{approval}")));
    browser.click(".btn.deny");
    browser.until("it is denied", |_| status(&approval) == json!("aborted"));

    let failed = newest(&studio, "status=failed&playbook=pr-review");
    let entries = |run: &str| {
        studio.json(&format!("/api/runs/{run}/journal"))["entries"].as_array().map_or(0, Vec::len)
    };
    let before = entries(&failed);
    browser.go(&url(&studio, &format!("/runs/{failed}")));
    browser.click(".verdict .btn.primary");
    browser.until("it ran again", |_| entries(&failed) > before);

    // A run of the chain waits; another one begins when it has ended.
    let first = studio.json("/api/chain-runs")["chain_runs"][0]["id"].as_str().expect("a run").to_owned();
    escrow(&desk, &["cancel", &first, "--quiet"]);
    browser.go(&url(&studio, "/chains/nightly-chain"));
    let fired = || studio.json("/api/chain-runs")["chain_runs"].as_array().map_or(0, Vec::len);
    let before = fired();
    browser.evaluate("document.getElementById('event').value = '{\"day\": \"sunday\"}'");
    browser.click("form[action$='/fire'] button");
    browser.until("the chain is fired", |_| fired() > before);
    browser.go(&url(&studio, "/chains/nightly-chain"));
    browser.click("form[action$='/pause'] button");
    browser.until("the chain is paused", |_| {
        studio.json("/api/chains/nightly-chain")["chain"]["status"] == json!("paused")
    });

    browser.go(&url(&studio, "/"));
    let causes = studio.json("/api/attention")["attention"].as_array().map_or(0, Vec::len);
    browser.click(".cause .more-menu summary");
    browser.evaluate("document.querySelector('.cause .more-menu input[name=note]').value = 'TICKET-7'");
    browser.click(".cause .more-menu button");
    browser.until("it is dismissed", |_| studio.json("/api/attention")["dismissed"] == json!(1));
    assert!(studio.json("/api/attention")["attention"].as_array().map_or(0, Vec::len) < causes);
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn a_run_that_begins_and_ends_elsewhere_is_seen_live() {
    let desk = project();
    history(&desk);
    desk.write("ledger/slow.yaml", "name: slow\nchecks: {a: {type: command, exec: sleep 2}, b: {type: command, depends_on: a, exec: echo b}}\n");
    let studio = studio(&desk);
    let mut browser = Browser::start();
    browser.go(&url(&studio, "/runs"));
    browser.until("the page is live", |browser| browser.text(".live") == "Live");
    let rows = browser.evaluate("document.querySelectorAll('[data-run]').length");
    let mut command = desk.command(&["run", "slow.yaml", "--quiet"]);
    let mut slow = command
        .current_dir(desk.path().join("ledger"))
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    browser.until("the new run waits behind a pill", |browser| {
        browser.text("[data-news]").contains("1 new run")
    });
    assert_eq!(
        browser.evaluate("document.querySelectorAll('[data-run]').length"),
        rows,
        "nothing moves under the reader"
    );
    browser.click("[data-news] a");
    browser.until("the run is listed", |browser| browser.text("#list").contains("slow"));
    let run = newest(&studio, "playbook=slow");
    browser.go(&url(&studio, &format!("/runs/{run}")));
    browser.until("its end is shown", |browser| browser.text(".verdict .st").contains("Completed"));
    slow.wait().expect("it ends");
    assert_eq!(browser.troubles(), Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn keys_move_between_failures_rows_and_pages() {
    let desk = project();
    history(&desk);
    let studio = studio(&desk);
    let mut browser = Browser::start();
    browser.go(&url(&studio, "/"));
    browser.press("f");
    let is_failure = "document.activeElement.closest('[data-failure]') !== null";
    assert_eq!(browser.evaluate(is_failure), json!(true), "`f` is at a failure");
    browser.press("k");
    assert_eq!(browser.evaluate("document.activeElement.closest('[data-row]') !== null"), json!(true));
    browser.press("/");
    assert_eq!(browser.evaluate("document.activeElement.id"), json!("q"));
    browser.press("f");
    assert_eq!(browser.evaluate("document.activeElement.value"), json!("f"), "keys are text in a field");
    browser.press("Escape");
    browser.press("?");
    assert!(browser.text("#keys-help").contains("next, previous failure"));
    for page in ["Effects", "Invocations", "Lifecycle"] {
        assert!(browser.text("#keys-help").contains(page), "{page}");
    }
    browser.press("Escape");
    assert_eq!(browser.evaluate("document.getElementById('keys-help')"), Value::Null);
    browser.press("g");
    browser.press("r");
    browser.until("it is at the runs", |browser| browser.evaluate("location.pathname") == json!("/runs"));
    // A page takes keys when its script has run.
    let at_failure = |browser: &mut Browser| {
        browser.press("f");
        browser.evaluate(is_failure) == json!(true)
    };
    browser.until("`f` is at a failed run", at_failure);
    browser.press("w");
    let is_why = "location.hash === '#why' && location.pathname.startsWith('/runs/r_') && document.getElementById('why') !== null";
    browser
        .until("`w` is at the reason of the focused run", |browser| browser.evaluate(is_why) == json!(true));
    browser.evaluate("document.querySelector('#check-merge summary').focus()");
    browser.press("w");
    let is_check = "location.search === '?check=merge' && location.hash === '#why'";
    browser.until("`w` is at the reason of the focused check", |browser| {
        browser.evaluate(is_check) == json!(true)
    });
    browser.go(&url(&studio, "/"));
    browser.until("`f` is at a failed cause", at_failure);
    browser.press("w");
    browser.until("`w` is at the reason of the focused cause", |browser| {
        browser.evaluate(is_why) == json!(true)
    });
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn long_names_and_numbers_stay_in_their_places() {
    let desk = project();
    let name = "a-check-with-a-name-that-is-much-too-long";
    desk.write(
        "ledger/long.yaml",
        &format!("name: long\nchecks:\n  {name}: {{type: command, exec: seq 12000}}\n  {name}-2: {{type: command, if: 'false', exec: 'true'}}\n"),
    );
    std::fs::create_dir_all(desk.path().join("ledger/.escrow")).expect("a state directory");
    escrow(&desk, &["run", "long.yaml", "--quiet"]);
    let studio = studio(&desk);
    let run = studio.json("/api/runs")["runs"][0]["id"].as_str().expect("a run").to_owned();
    let mut browser = Browser::start();
    for screen in [Viewport::Desk, Viewport::Phone] {
        browser.screen(screen);
        browser.go(&url(&studio, &format!("/runs/{run}")));
        let before_icon = "[...document.querySelectorAll('.g-node')].every((node) => node.querySelector('text').getBBox().x + node.querySelector('text').getBBox().width <= 108)";
        assert_eq!(browser.evaluate(before_icon), json!(true), "a name ends before its icon, {screen:?}");
        let in_cell = "[...document.querySelectorAll('.tl tbody th')].every((cell) => cell.scrollWidth <= cell.clientWidth || getComputedStyle(cell).overflow === 'hidden')";
        assert_eq!(browser.evaluate(in_cell), json!(true), "a name stays in its cell, {screen:?}");
        browser.go(&url(&studio, &format!("/runs/{run}/logs/{name}?line=L11000")));
        let in_line = "[...document.querySelectorAll('.log li a')].every((number) => { const range = document.createRange(); range.selectNodeContents(number); return range.getBoundingClientRect().left - number.closest('li').getBoundingClientRect().left >= 4; })";
        assert_eq!(browser.evaluate(in_line), json!(true), "numbers keep their distance, {screen:?}");
    }
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn everything_can_be_read_and_decided_without_script() {
    let desk = project();
    history(&desk);
    let studio = studio(&desk);
    let failed = newest(&studio, "status=failed&playbook=pr-review");
    let mut browser = Browser::start();
    browser.scripts(false);
    browser.go(&url(&studio, &format!("/runs/{failed}")));
    let page = browser.text("main");
    for part in ["REQUEST CHANGES", "changelog", "Missing", "output.findings.filter", "contract_blocked"] {
        assert!(page.contains(part), "`{part}` cannot be read:\n{page}");
    }
    let approval = newest(&studio, "status=waiting&playbook=pr-review");
    browser.go(&url(&studio, &format!("/runs/{approval}")));
    browser.click(".btn.approve");
    browser.until("it is approved", |_| {
        studio.json(&format!("/api/runs/{approval}"))["run"]["status"] == json!("completed")
    });
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn many_pages_in_one_tab_leave_no_connection_behind() {
    let desk = project();
    history(&desk);
    let studio = studio(&desk);
    let mut browser = Browser::start();
    for _ in 0..2 {
        for path in
            ["/", "/runs", "/outcomes", "/approvals", "/chains", "/effects", "/invocations", "/lifecycle"]
        {
            browser.go(&url(&studio, path));
            browser.until("the page is live", |browser| browser.text(".live") == "Live");
        }
    }
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn an_empty_project_explains_itself() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path().join("ledger/.escrow")).expect("a state directory");
    let studio = studio(&desk);
    let mut browser = Browser::start();
    browser.go(&url(&studio, "/"));
    assert!(browser.text("main").contains("Nothing has run here yet"));
    assert_eq!(violations(&mut browser), Vec::<String>::new());
    if let Some(folder) = pictures() {
        browser.picture(&folder.join("empty.png"), 1_000);
    }
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn a_log_of_a_hundred_thousand_lines_scrolls_and_its_links_stay_right() {
    let desk = project();
    std::fs::create_dir_all(desk.path().join("ledger/.escrow")).expect("a state directory");
    desk.write("ledger/long.yaml", "name: long\nchecks: {print: {type: command, exec: 'seq 1 100000'}}\n");
    escrow(&desk, &["run", "long.yaml", "--quiet"]);
    let studio = studio(&desk);
    let run = newest(&studio, "playbook=long");
    let log = format!("/runs/{run}/logs/print");
    let mut browser = Browser::start();
    browser.go(&url(&studio, &log));
    let has = |number: u32| format!("document.getElementById('print-1-L{number}') !== null");
    browser.until("the end is shown", |browser| browser.evaluate(&has(100_000)) == json!(true));
    browser.until("the list is divided", |browser| {
        browser.evaluate("document.querySelectorAll('.parts ol').length") == json!(200)
    });
    browser.evaluate("scrollTo(0, 0)");
    browser.until("the beginning is shown", |browser| browser.evaluate(&has(1)) == json!(true));
    browser.until("the end is let go", |browser| browser.evaluate(&has(100_000)) == json!(false));
    let lines = browser.evaluate("document.querySelectorAll('.log li').length").as_u64().unwrap_or(0);
    assert!(lines < 6_000, "{lines} lines are in the page");
    browser.go(&url(&studio, &format!("{log}?attempt=1&line=L50000#print-1-L50000")));
    let is_seen = "(() => { const r = document.getElementById('print-1-L50000')?.getBoundingClientRect(); return !!r && r.top > 0 && r.bottom < innerHeight; })()";
    browser.until("the line is in sight", |browser| browser.evaluate(is_seen) == json!(true));
    browser.press("/");
    assert_eq!(browser.evaluate("document.activeElement.id"), json!("log-search"));
    assert_eq!(browser.troubles(), Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn lines_of_a_running_check_are_seen_as_they_are_printed() {
    let desk = project();
    std::fs::create_dir_all(desk.path().join("ledger/.escrow")).expect("a state directory");
    desk.write("ledger/talk.yaml", "name: talk\nchecks: {talk: {type: command, exec: 'seq 1 2000; while [ ! -e go ]; do sleep 0.1; done; seq 2001 2200; while [ ! -e end ]; do sleep 0.1; done; echo bye'}}\n");
    let studio = studio(&desk);
    let mut command = desk.command(&["run", "talk.yaml", "--quiet"]);
    let mut child = command.current_dir(desk.path().join("ledger")).spawn().expect("it starts");
    desk.until("it runs", || studio.json("/api/runs?status=running")["runs"][0]["id"].is_string());
    let run = newest(&studio, "playbook=talk");
    let mut browser = Browser::start();
    browser.go(&url(&studio, &format!("/runs/{run}/logs/talk")));
    browser.until("it follows", |browser| browser.text("[data-follow-state]") == "following");
    desk.write("ledger/go", "");
    let has = |name: &str| format!("document.getElementById('talk-1-{name}') !== null");
    browser.until("new lines come", |browser| browser.evaluate(&has("L2200")) == json!(true));
    browser.go(&url(&studio, &format!("/runs/{run}")));
    browser.until("the run shows them, too", |browser| browser.evaluate(&has("L2200")) == json!(true));
    desk.write("ledger/end", "");
    child.wait().expect("it ends");
    browser.until("the end is shown", |browser| browser.text(".verdict .st").contains("Completed"));
    assert_eq!(browser.troubles(), Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium: .ci/test-browser"]
fn a_theme_holds_on_every_page() {
    let desk = project();
    history(&desk);
    let studio = studio(&desk);
    let mut browser = Browser::start();
    browser.scheme("light");
    browser.go(&url(&studio, "/"));
    browser.click(".foot a[href*='theme=dark']");
    browser.until("it is dark", |browser| {
        browser.evaluate("document.documentElement?.dataset.theme") == json!("dark")
    });
    browser.go(&url(&studio, "/runs"));
    assert_eq!(browser.evaluate("document.documentElement?.dataset.theme"), json!("dark"));
    let light = browser.evaluate("getComputedStyle(document.body).backgroundColor");
    browser.go(&url(&studio, "/runs?theme=light"));
    assert_ne!(browser.evaluate("getComputedStyle(document.body).backgroundColor"), light);
}
