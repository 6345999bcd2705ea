//! Studio: the same documents and use cases as the command line, behind a guard, as pages that are whole without script.

mod desk;
mod studio_client;

use std::io::BufRead;
use std::path::Path;

use desk::Desk;
use serde_json::{Value, json};
use studio_client::Studio;

/// A project with a run of each kind: failed, waiting for an approval, a question, an unknown effect, completed.
fn project() -> Desk {
    let desk = Desk::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/studio");
    for name in ["pr-review", "headline", "rollout", "nightly"] {
        let text = std::fs::read_to_string(data.join(format!("{name}.yaml"))).expect("a playbook");
        desk.write(&format!("{name}.yaml"), &text);
    }
    let invocation = desk.escrow(&["invocation", "start", "--name", "Review 482"]).stdout;
    let run = |arguments: &[&str], code: i32| {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(code), "{arguments:?}: {}{}", done.stdout, done.stderr);
    };
    run(&["run", "nightly.yaml", "--quiet"], 0);
    run(&["run", "pr-review.yaml", "--quiet", "--invocation", invocation.trim()], 1);
    run(&["run", "pr-review.yaml", "--quiet", "--input", "pr=481", "--input", "blocking=low"], 4);
    run(&["run", "headline.yaml", "--quiet"], 4);
    run(&["run", "rollout.yaml", "--quiet"], 4);
    desk
}

/// The id of the newest run of a playbook with this status.
fn run_of(studio: &Studio, playbook: &str, status: &str) -> String {
    let runs = studio.json(&format!("/api/runs?playbook={playbook}&status={status}"));
    runs["runs"][0]["id"].as_str().unwrap_or_else(|| panic!("no such run: {runs}")).to_owned()
}

fn waiting(studio: &Studio, kind: &str) -> Value {
    let all = studio.json("/api/approvals");
    let waits = all["approvals"].as_array().expect("a list");
    waits.iter().find(|wait| wait["kind"] == kind).unwrap_or_else(|| panic!("no {kind}: {all}")).clone()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no `{name}`: {value}"))
}

#[test]
fn the_api_answers_with_the_documents_of_the_command_line() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let told = |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(["--output", "json"]);
        desk.escrow(&all).json()
    };
    assert_eq!(studio.json("/api/runs"), told(&["runs"]));
    assert_eq!(studio.json("/api/runs?status=failed"), told(&["runs", "--status", "failed"]));
    assert_eq!(
        studio.json("/api/outcomes?kind=ci_result&passed=true"),
        told(&["outcomes", "--kind", "ci_result", "--passed"])
    );
    assert_eq!(studio.json("/api/approvals"), told(&["approvals"]));
    assert_eq!(studio.json("/api/attention"), told(&["attention"]));
    assert_eq!(studio.json("/api/invocations"), told(&["invocation", "list"]));
    assert_eq!(studio.json("/api/effects"), told(&["effects"]));
    let run = run_of(&studio, "pr-review", "failed");
    assert_eq!(studio.json(&format!("/api/runs/{run}")), told(&["runs", "show", &run]));
    let journal = studio.json(&format!("/api/runs/{run}/journal"));
    assert!(journal["entries"][0]["entry"]["event"]["run_started"].is_object(), "{}", journal["entries"][0]);
    assert!(studio.json("/api/receipts")["receipts"].is_array());
}

#[test]
fn what_does_not_exist_or_cannot_be_understood_is_an_error_with_its_code() {
    let desk = Desk::new();
    let studio = Studio::start(&desk);
    for (path, status, code) in [
        ("/api/runs/r_nothing", 404, "unknown_run"),
        ("/api/runs?status=happy", 400, "usage"),
        ("/api/runs?since=yesterday", 400, "usage"),
        ("/api/runs?limit=many", 400, "usage"),
        ("/api/outcomes?passed=perhaps", 400, "usage"),
        ("/api/runs?statuss=failed", 400, "usage"),
        ("/api/openapi.json?all=1", 400, "usage"),
        ("/api/feed?form=1", 400, "usage"),
    ] {
        let answer = studio
            .send(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", studio.host));
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert_eq!(answer.json()["error"]["code"], code, "{path}");
    }
    for path in [
        "/runs?statuss=failed",
        "/?kind=failed",
        "/outcomes?pased=true",
        "/chains?name=a",
        "/effects?state=unknown",
    ] {
        let answer = studio.get(path);
        assert_eq!(answer.status, 400, "{path}: {}", answer.body);
        assert!(answer.body.contains("has no filter"), "{path}: {}", answer.body);
    }
    assert!(studio.get("/runs?statuss=failed").body.contains("one of status, playbook, invocation"));
    for path in
        ["/runs?status=failed&theme=dark", "/outcomes?kind=ci_result&run=", "/lifecycle?adapter=claude"]
    {
        assert_eq!(studio.get(path).status, 200, "{path}");
    }
    for path in
        ["/runs/r_nothing", "/nowhere", "/runs/r_x/artifacts/a", "/runs/r_x/logs/b", "/%00", "/runs/%ff"]
    {
        let answer = studio.get(path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(
            answer.header("content-type").starts_with("text/"),
            "{path}: {}",
            answer.header("content-type")
        );
    }
}

#[test]
fn a_page_of_another_site_cannot_reach_it_by_a_name_of_its_own() {
    let desk = Desk::new();
    let studio = Studio::start(&desk);
    for host in ["evil.example", "evil.example:7878", "127.0.0.1.evil.example", "10.0.0.1"] {
        let answer =
            studio.send(&format!("GET /api/runs HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
        assert_eq!(answer.status, 421, "{host}");
        assert!(!answer.body.contains("\"runs\""), "{host}");
    }
    let port = studio.host.rsplit(':').next().expect("a port");
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        let answer =
            studio.send(&format!("GET /api/runs HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
        assert_eq!(answer.status, 200, "{host}");
    }
}

#[test]
fn a_form_that_is_not_ours_changes_nothing() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let wait = waiting(&studio, "approval");
    let path = format!("/api/approvals/{}/approve", text(&wait, "id"));
    let digest = text(&wait, "digest");
    let (cookie, token) = studio.session();
    let own = format!("Origin: http://{}\r\n", studio.host);
    let with = |origin: &str, cookie: &str, token: &str| {
        studio
            .post(&path, &[("csrf", token), ("digest", digest)], &format!("{origin}Cookie: {cookie}\r\n"))
            .status
    };
    assert_eq!(with("", &cookie, &token), 403, "without an origin");
    assert_eq!(with("Origin: http://evil.example\r\n", &cookie, &token), 403, "from another site");
    assert_eq!(with("Origin: null\r\n", &cookie, &token), 403, "from a sandboxed frame");
    assert_eq!(with(&own, &cookie, "0000"), 403, "with another token");
    assert_eq!(with(&own, "escrow_session=other", &token), 403, "in another session");
    assert_eq!(
        with(&format!("{own}Sec-Fetch-Site: cross-site\r\n"), &cookie, &token),
        403,
        "fetched by another site"
    );
    assert_eq!(
        studio.post_json(&path, &json!({ "digest": digest }), "").status,
        403,
        "a program without a token"
    );
    assert_eq!(waiting(&studio, "approval")["status"], "pending");
    let plain = studio.send(&format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{own}Cookie: {cookie}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}",
        studio.host
    ));
    assert_eq!(plain.status, 400, "a body that a form cannot be");
}

#[test]
fn an_approval_given_in_the_browser_drives_the_run_to_its_end() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let wait = waiting(&studio, "approval");
    let (id, run, digest) = (text(&wait, "id"), text(&wait, "run_id"), text(&wait, "digest"));
    let page = studio.get(&format!("/runs/{run}")).body;
    assert!(
        page.contains(&format!("name=\"digest\" value=\"{digest}\"")),
        "the digest that is shown is posted"
    );
    assert!(page.contains("echo merged") && page.contains("asks for your approval"), "{page}");
    let answer =
        studio.submit(&format!("/api/approvals/{id}/approve"), &[("digest", digest), ("note", "reviewed")]);
    assert_eq!((answer.status, answer.header("location")), (303, format!("/runs/{run}").as_str()));
    desk.until("the run has ended", || desk.show(run)["run"]["status"] == "completed");
    let decision = &desk.show(run)["decisions"][0];
    assert_eq!((&decision["decision"], &decision["note"]), (&json!("approved"), &json!("reviewed")));
    assert!(text(decision, "by").starts_with("os:"), "{decision}");
    let again = studio.submit(&format!("/api/approvals/{id}/approve"), &[("digest", digest)]);
    assert_eq!(again.status, 409, "the first decision stands");
    for part in ["href=\"/approvals\"", "href=\"/runs\"", &format!("href=\"/runs/{run}\"")] {
        assert!(again.body.contains(part), "the page leads on: {part}: {}", again.body);
    }
}

#[test]
fn a_decision_about_something_else_than_was_shown_is_refused() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let wait = waiting(&studio, "approval");
    let path = format!("/api/approvals/{}/approve", text(&wait, "id"));
    assert_eq!(studio.submit(&path, &[("digest", &"0".repeat(64))]).status, 409);
    assert_eq!(studio.submit(&path, &[]).status, 400, "without a digest");
    assert_eq!(waiting(&studio, "approval")["status"], "pending");
}

#[test]
fn a_denial_an_answer_an_assumption_a_retry_and_a_dismissal_are_use_cases_of_the_app() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let approval = waiting(&studio, "approval");
    let deny = format!("/api/approvals/{}/deny", text(&approval, "id"));
    assert_eq!(studio.submit(&deny, &[("digest", text(&approval, "digest"))]).status, 303);
    let run = text(&approval, "run_id");
    desk.until("it is denied", || desk.show(run)["run"]["reason"]["code"] == "run.aborted.denied");

    let question = waiting(&studio, "input");
    let answer = format!("/api/approvals/{}/answer", text(&question, "id"));
    assert_eq!(studio.submit(&answer, &[("text", "no choice")]).status, 400);
    assert_eq!(studio.submit(&answer, &[("text", "Neither")]).status, 303);
    let run = text(&question, "run_id");
    desk.until("it is answered", || desk.show(run)["run"]["status"] == "completed");

    let unknown = waiting(&studio, "unknown_effect");
    let run = text(&unknown, "run_id");
    let assume = format!("/api/runs/{run}/assume");
    assert_eq!(studio.submit(&assume, &[("check", "rollout"), ("assumption", "maybe")]).status, 400);
    assert_eq!(studio.submit(&assume, &[("check", "rollout"), ("assumption", "done")]).status, 303);
    desk.until("it is settled", || desk.show(run)["run"]["status"] == "completed");

    let failed = run_of(&studio, "pr-review", "failed");
    let entries = |run: &str| {
        studio.json(&format!("/api/runs/{run}/journal"))["entries"].as_array().map_or(0, Vec::len)
    };
    let before = entries(&failed);
    assert_eq!(studio.submit(&format!("/api/runs/{failed}/retry"), &[]).status, 303);
    desk.until("it ran again", || {
        entries(&failed) > before && desk.show(&failed)["run"]["status"] == "failed"
    });

    let item = studio.json("/api/attention")["attention"]
        .as_array()
        .expect("a list")
        .first()
        .cloned()
        .expect("a cause");
    let dismiss = format!("/api/attention/{}/dismiss", text(&item, "fingerprint"));
    assert_eq!(studio.submit(&dismiss, &[("note", "")]).status, 400, "a note is needed");
    assert_eq!(studio.submit(&dismiss, &[("note", "TICKET-1")]).status, 303);
    assert_eq!(studio.json("/api/attention")["dismissed"], 1);
}

#[test]
fn a_waiting_run_can_be_cancelled() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let run = text(&waiting(&studio, "input"), "run_id").to_owned();
    assert_eq!(studio.submit(&format!("/api/runs/{run}/cancel"), &[]).status, 303);
    desk.until("it is cancelled", || desk.show(&run)["run"]["status"] == "cancelled");
    let late = studio.submit(&format!("/api/runs/{run}/cancel"), &[]);
    assert_eq!(late.status, 409);
    assert!(late.body.contains(&format!("href=\"/runs/{run}\"")), "{}", late.body);
}

#[test]
fn every_page_says_what_the_journal_says() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let failed = run_of(&studio, "pr-review", "failed");
    let page = studio.get(&format!("/runs/{failed}")).body;
    for part in [
        "run.failed.guarantee_failed",
        "does not hold",
        "output.findings.filter(",
        "id=\"why\"",
        "would have to",
        "REQUIRED",
        "changelog.md",
        "Missing",
        "REQUEST CHANGES",
        "The signing secret still reaches the log",
        "CI RESULT: PASSED",
        "412 / 412",
        "contract_blocked",
        "reading src/webhook/deliver.rs (+118 -31)",
        "id=\"review-1-L",
        "class=\"g-node is-bad",
        "Run what failed again",
        "attempt_started",
        "hash chain ends in",
    ] {
        assert!(page.contains(part), "`{part}` is not on the page of the run:\n{page}");
    }
    for (path, parts) in [
        (
            "/",
            vec![
                "causes need you",
                "Waits for you",
                "may or may not have taken effect",
                "run.failed.guarantee_failed",
            ],
        ),
        ("/runs", vec!["Review 482", "pr-review", "nightly", "Waiting", "Completed"]),
        ("/runs?playbook=pr-review", vec!["runs by checks", "2 of 2"]),
        ("/runs?status=failed", vec!["status=failed"]),
        ("/runs?q=guarantee", vec!["guarantee_failed"]),
        (
            "/outcomes?passed=false",
            vec!["review_verdict", "escrow outcomes --failed", "/api/outcomes?passed=false"],
        ),
        ("/approvals", vec!["Approve ", "echo merged", "Webhook retries", "What became of it?"]),
        ("/effects", vec!["confirmed", "rollout", "unknown"]),
        ("/invocations", vec!["Review 482", "review_verdict"]),
        ("/lifecycle", vec!["claude", "0 gaps"]),
    ] {
        let page = studio.get(path);
        assert_eq!(page.status, 200, "{path}");
        for part in parts {
            assert!(page.body.contains(part), "`{part}` is not on {path}:\n{}", page.body);
        }
    }
    let why = studio.get(&format!("/runs/{failed}?check=merge")).body;
    assert!(why.contains("Why <code>merge</code>") && why.contains("why-path"), "{why}");
}

#[test]
fn a_chain_is_shown_fired_paused_and_continued() {
    let desk = project();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/studio/nightly-chain.yaml");
    desk.write("nightly-chain.yaml", &std::fs::read_to_string(data).expect("a chain"));
    let defined = desk.escrow(&["chain", "define", "nightly-chain.yaml"]);
    assert_eq!(defined.code, Some(0), "{}", defined.stderr);
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    assert!(studio.get("/chains").body.contains("never fired"));
    let before = studio.get("/chains/nightly-chain").body;
    assert!(
        before.contains("it has not run yet")
            && before.contains("asks a person")
            && before.contains("0 2 * * *"),
        "{before}"
    );
    assert_eq!(studio.submit("/api/chains/nightly-chain/fire", &[("event", "no JSON")]).status, 400);
    let fired = studio.submit("/api/chains/nightly-chain/fire", &[("event", r#"{"day": "monday"}"#)]);
    assert_eq!((fired.status, fired.header("location")), (303, "/chains/nightly-chain"), "{}", fired.body);
    desk.until("it waits", || {
        studio.json("/api/chain-runs")["chain_runs"][0]["status"] == "waiting_approval"
    });
    let told = |arguments: &[&str]| desk.escrow(&[arguments, &["--output", "json"]].concat()).json();
    assert_eq!(studio.json("/api/chains"), told(&["chain", "list"]));
    assert_eq!(studio.json("/api/chain-runs?chain=nightly-chain"), told(&["chain", "runs", "nightly-chain"]));
    assert_eq!(studio.json("/api/chains/nightly-chain"), told(&["chain", "show", "nightly-chain"]));
    let page = studio.get("/chains/nightly-chain").body;
    for part in ["steps.report.status", "trigger.day", "monday", "held", "Night of monday", "waiting"] {
        assert!(page.contains(part), "`{part}` is not on the page of the chain:\n{page}");
    }
    let all = studio.json("/api/approvals");
    let waits = all["approvals"].as_array().expect("a list");
    let wait = waits
        .iter()
        .find(|wait| wait["prompt"].as_str().is_some_and(|prompt| prompt.contains("monday")))
        .expect("a wait");
    let approve = format!("/api/approvals/{}/approve", text(wait, "id"));
    assert_eq!(studio.submit(&approve, &[("digest", text(wait, "digest"))]).status, 303);
    desk.until("it has ended", || studio.json("/api/chain-runs")["chain_runs"][0]["status"] == "completed");
    assert_eq!(studio.submit("/api/chains/nightly-chain/pause", &[]).status, 303);
    assert_eq!(studio.json("/api/chains")["chains"][0]["status"], "paused");
    assert_eq!(studio.submit("/api/chains/nightly-chain/resume", &[]).status, 303);
    assert_eq!(studio.json("/api/chains")["chains"][0]["status"], "active");
    assert_eq!(studio.get("/chains/nothing").status, 404);
}

#[test]
fn a_delivered_file_is_an_attachment_or_text_and_never_a_page() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let run = run_of(&studio, "nightly", "completed");
    let path = format!("/runs/{run}/artifacts/report/index.md");
    let file = studio.get(&path);
    assert_eq!((file.status, file.header("content-type")), (200, "application/octet-stream"));
    assert!(file.header("content-disposition").starts_with("attachment"));
    assert!(file.header("content-security-policy").starts_with("sandbox"));
    assert_eq!(file.header("x-content-type-options"), "nosniff");
    let view = studio.get(&format!("{path}?view=1")).body;
    assert!(
        view.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !view.contains("<script>alert"),
        "{view}"
    );
    assert!(view.contains("<h3>Report</h3>") && view.contains("Source"), "Markdown is rendered: {view}");
    let stored = format!(".escrow/artifacts/{run}/report/index.md");
    desk.write(&stored, "another text");
    assert!(studio.get(&format!("{path}?view=1")).body.contains("Changed since it was verified"));
    for outside in
        ["..%2F..%2Fescrow.db", "%2Fetc%2Fpasswd", "report%2F..%2F..%2F..%2Fescrow.db", "nothing.md"]
    {
        let answer = studio.get(&format!("/runs/{run}/artifacts/{outside}"));
        assert_eq!(answer.status, 404, "{outside}: {}", answer.body);
    }
}

#[test]
fn the_log_of_a_check_is_whole_on_a_page_of_its_own() {
    let desk = Desk::new();
    desk.write(
        "many.yaml",
        "name: many\nchecks: {print: {type: command, exec: 'seq 1 4500; echo \"<b>end</b>\"'}}\n",
    );
    desk.escrow(&["run", "many.yaml", "--quiet"]);
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let run = run_of(&studio, "many", "completed");
    let last = studio.get(&format!("/runs/{run}/logs/print")).body;
    assert!(
        last.contains("&lt;b&gt;end&lt;/b&gt;") && last.contains("id=\"print-1-L4501\""),
        "the last page is shown first"
    );
    let first = studio.get(&format!("/runs/{run}/logs/print?page=1")).body;
    assert!(
        first.contains("id=\"print-1-L1\"")
            && first.contains("id=\"print-1-L2000\"")
            && !first.contains("L2001\"")
    );
    let raw = studio.get(&format!("/runs/{run}/logs/print?raw=1"));
    assert_eq!((raw.header("content-type"), raw.body.lines().count()), ("text/plain; charset=utf-8", 4501));
}

#[test]
fn hostile_names_and_texts_are_shown_and_never_run() {
    let desk = Desk::new();
    let evil = "<script>alert(1)</script>\"'`&";
    let quoted = evil.replace('\'', "''");
    desk.write(
        "evil.yaml",
        &format!(
            "name: '{quoted}'\ntitle: '{quoted}'\nartifacts: {{expected: [{{id: a, path: a.md, description: '{quoted}'}}]}}\n\
             checks:\n  evil:\n    type: command\n    outcome: gate_verdict\n    criticality: external\n    exec: |\n      cat <<'X'\n      \
             {{\"outcome_kind\": \"gate_verdict\", \"gate_passed\": false, \"summary\": \"<script>alert(1)</script>\", \"blocking_reason\": \"<img src=x onerror=alert(1)>\", \"criteria\": [{{\"name\": \"<script>alert(1)</script>\", \"passed\": false}}]}}\n      X\n      \
             echo '<script>alert(1)</script>' >&2\n  ask:\n    type: human-input\n    prompt: '{quoted}'\n    choices: ['{quoted}', '<b>']\n"
        ),
    );
    let invocation =
        desk.escrow(&["invocation", "start", "--name", evil, "--prompt", evil, "--by", evil]).stdout;
    let done = desk.escrow(&["run", "evil.yaml", "--quiet", "--invocation", invocation.trim()]);
    assert_eq!(done.code, Some(4), "{}{}", done.stdout, done.stderr);
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let run = studio.json("/api/runs")["runs"][0]["id"].as_str().expect("a run").to_owned();
    let paths = [
        "/",
        "/runs",
        "/outcomes",
        "/approvals",
        "/effects",
        "/invocations",
        "/lifecycle",
        "/runs?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/outcomes?kind=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    ];
    let of_run = [
        format!("/runs/{run}"),
        format!("/runs/{run}?check=evil"),
        format!("/runs/{run}/logs/evil"),
        format!("/runs/{run}?export=1"),
    ];
    for path in paths.into_iter().map(str::to_owned).chain(of_run) {
        let page = studio.get(&path);
        // An unknown kind is refused, and the refusal names it.
        let status = if path.starts_with("/outcomes?kind=") { 400 } else { 200 };
        assert_eq!(page.status, status, "{path}: {}", page.body);
        assert!(
            !page.body.contains("<script>alert") && !page.body.contains("<img src=x"),
            "{path} has a script:\n{}",
            page.body
        );
        assert!(
            !page.body.contains("style=\"") && !page.body.contains(" onclick"),
            "{path} has something inline"
        );
    }
    assert!(studio.get(&format!("/runs/{run}")).body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn every_page_has_the_headers_of_a_strict_site() {
    let desk = Desk::new();
    let studio = Studio::start(&desk);
    for path in ["/", "/runs", "/nowhere", "/api/runs"] {
        let answer = studio.get(path);
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
    }
    let page = studio.get("/");
    let cookie = page.cookies.first().expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let style = page
        .body
        .split("href=\"/assets/studio-")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a stylesheet");
    let asset = studio.get(&format!("/assets/studio-{style}"));
    assert_eq!((asset.status, asset.header("content-type")), (200, "text/css; charset=utf-8"));
    assert!(asset.header("cache-control").contains("immutable"));
    assert_eq!(studio.get("/assets/studio-000000000000.css").status, 404);
}

#[test]
fn an_empty_project_explains_itself() {
    let desk = Desk::new();
    let studio = Studio::start(&desk);
    for path in ["/", "/runs"] {
        let page = studio.get(path).body;
        assert!(page.contains("Nothing has run here yet") && page.contains("escrow init"), "{path}");
    }
    for path in ["/outcomes", "/chains", "/shows", "/approvals", "/effects", "/invocations", "/lifecycle"] {
        assert_eq!(studio.get(path).status, 200, "{path}");
    }
}

#[test]
fn the_feed_tells_what_happens_and_resumes_where_a_viewer_stopped() {
    let desk = Desk::new();
    desk.write("one.yaml", "name: one\nchecks: {a: {type: command, exec: echo a}}\n");
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let ids = |path: &str, headers: &str, number: usize| -> Vec<u64> {
        let mut found = Vec::new();
        let mut stream = studio.events(path, headers);
        let mut line = String::new();
        while found.len() < number {
            line.clear();
            assert_ne!(stream.read_line(&mut line).expect("it tells"), 0, "the stream ended");
            if let Some(id) = line.strip_prefix("id: ").or_else(|| line.strip_prefix("id:")) {
                found.push(id.trim().parse().expect("a position"));
            }
        }
        found
    };
    desk.escrow(&["run", "one.yaml", "--quiet"]);
    let all = ids("/api/feed?after=0", "", 4);
    assert!(all.is_sorted(), "{all:?}");
    let resumed = ids("/api/feed?after=0", &format!("Last-Event-ID: {}\r\n", all[1]), 2);
    assert_eq!(resumed, all[2..4], "nothing is told twice, and nothing is missed");
    let mut live = studio.events(&format!("/api/feed?brief=1&after={}", u32::MAX), "");
    let mut head = String::new();
    live.read_line(&mut head).expect("it answers");
    assert!(head.contains("200"), "{head}");
    let feed = studio.events("/api/feed?brief=1", "");
    let reader = std::thread::spawn(move || {
        let mut lines = feed.lines().map_while(Result::ok);
        lines.find(|line| line.contains("run_ended")).is_some()
    });
    // The viewer is there before the run begins, or catches up from where it came.
    std::thread::sleep(std::time::Duration::from_millis(300));
    desk.escrow(&["run", "one.yaml", "--quiet"]);
    assert!(reader.join().expect("it reads"), "the end of the run was told");
}

#[test]
fn elsewhere_than_on_this_machine_every_request_needs_a_token() {
    let desk = project();
    let refused = desk.escrow(&["studio", "--bind", "0.0.0.0", "--port", "0", "--no-open"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("escrow studio token add"), "{}", refused.stderr);
    let token = |name: &str, role: &str| {
        let made = desk.escrow(&["studio", "token", "add", name, "--role", role, "--output", "json"]).json();
        text(&made["token"], "text").to_owned()
    };
    let (reader, approver) = (token("ann", "read"), token("bea", "approve"));
    let kept = desk.read(".escrow/studio-tokens.json");
    assert!(
        !kept.contains(&reader) && !kept.contains(reader.trim_start_matches("est_")),
        "only digests are kept: {kept}"
    );
    let studio = Studio::start_with(&desk, &["--bind", "0.0.0.0", "--no-daemon"]);
    assert_eq!(studio.get("/").status, 401);
    assert!(studio.get("/").body.contains("needs a token"));
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    assert_eq!(studio.get_with("/api/runs", &bearer("est_wrong")).status, 401);
    assert_eq!(studio.get_with("/api/runs", &bearer(&reader)).status, 200);
    let waits = studio.get_with("/api/approvals", &bearer(&reader)).json();
    let wait = waits["approvals"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|wait| wait["kind"] == "approval")
        .expect("one")
        .clone();
    let path = format!("/api/approvals/{}/approve", text(&wait, "id"));
    let document = json!({ "digest": wait["digest"] });
    assert_eq!(studio.post_json(&path, &document, &bearer(&reader)).status, 403, "a reader decides nothing");
    let cancel = format!("/api/runs/{}/cancel", text(&wait, "run_id"));
    assert_eq!(
        studio.post_json(&cancel, &json!({}), &bearer(&approver)).status,
        403,
        "an approver ends nothing"
    );
    let given = studio.post_json(&path, &document, &bearer(&approver));
    assert_eq!(given.status, 200, "{}", given.body);
    let run = text(&wait, "run_id");
    desk.until("it has ended", || desk.show(run)["run"]["status"] == "completed");
    assert_eq!(desk.show(run)["decisions"][0]["by"], "token:bea");
    let signed =
        studio.post("/sign-in", &[("token", &reader)], &format!("Origin: http://{}\r\n", studio.host));
    assert_eq!(signed.status, 303);
    let cookie =
        signed.cookies.iter().find(|cookie| cookie.starts_with("escrow_token")).expect("a cookie").clone();
    let cookie = cookie.split(';').next().expect("a pair").to_owned();
    assert_eq!(studio.get_with("/runs", &format!("Cookie: {cookie}\r\n")).status, 200);
    assert_eq!(desk.escrow(&["studio", "token", "remove", "ann"]).code, Some(0));
    assert_eq!(
        studio.get_with("/api/runs", &bearer(&reader)).status,
        401,
        "a removed token is refused at once"
    );
}

/// Approves over HTTP as a script would that does not care for tokens.
const APPROVES: &str = r#"
port=$1
ask() { exec 3<>"/dev/tcp/127.0.0.1/$port"; printf "$1" >&3; cat <&3; }
page=$(ask "GET /approvals HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nAccept: text/html\r\nConnection: close\r\n\r\n")
cookie=$(printf '%s' "$page" | grep -o 'escrow_session=[a-z0-9_]*' | head -n 1)
token=$(printf '%s' "$page" | grep -o 'data-csrf="[0-9a-f]*"' | head -n 1 | cut -d'"' -f2)
body="csrf=$token&digest=$3"
ask "POST /api/approvals/$2/approve HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nOrigin: http://127.0.0.1:$port\r\nCookie: $cookie\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${#body}\r\nConnection: close\r\n\r\n$body" | head -n 1
"#;

#[test]
fn a_command_of_a_run_cannot_approve_through_the_browsers_door() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let wait = waiting(&studio, "approval");
    let port = studio.host.rsplit(':').next().expect("a port").to_owned();
    let (id, digest) = (text(&wait, "id"), text(&wait, "digest"));
    desk.write("approves.sh", APPROVES);
    let inside = format!(
        "name: inside\nchecks: {{agent: {{type: command, exec: bash approves.sh {port} {id} {digest}}}}}\n"
    );
    let (_, document) = desk.run(&inside);
    let output = document["checks"]["agent"]["output"].to_string();
    assert!(output.contains(" 403 "), "{document}");
    assert_eq!(waiting(&studio, "approval")["status"], "pending");
    let outside = std::process::Command::new("bash")
        .args(["approves.sh", &port, id, digest])
        .current_dir(desk.path())
        .output()
        .expect("bash runs");
    let told = String::from_utf8_lossy(&outside.stdout).into_owned();
    assert!(told.contains(" 200 "), "the same script outside of a run is a person's: {told}");
}

#[test]
fn guessing_tokens_becomes_slow() {
    let desk = Desk::new();
    desk.escrow(&["studio", "token", "add", "ann", "--role", "read"]);
    let studio = Studio::start_with(&desk, &["--bind", "0.0.0.0", "--no-daemon"]);
    let statuses: Vec<u16> = (0..40)
        .map(|number| studio.get_with("/api/runs", &format!("Authorization: Bearer est_{number}\r\n")).status)
        .collect();
    assert!(statuses.contains(&401) && statuses.last() == Some(&429), "{statuses:?}");
}

#[test]
fn abandoned_runs_are_picked_up() {
    let desk = Desk::new();
    desk.write("wait.yaml", "name: wait\nchecks: {ask: {type: human-input, prompt: Well?}, b: {type: command, depends_on: ask, exec: echo b}}\n");
    desk.escrow(&["run", "wait.yaml", "--quiet"]);
    let wait = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0].clone();
    assert_eq!(desk.escrow(&["answer", text(&wait, "id"), "fine", "--no-run"]).code, Some(0));
    let run = text(&wait, "run_id");
    assert_eq!(desk.show(run)["run"]["status"], "waiting");
    let _studio = Studio::start(&desk);
    desk.until("the run has ended", || desk.show(run)["run"]["status"] == "completed");
}

#[test]
fn the_openapi_document_describes_every_call() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let document = studio.json("/api/openapi.json");
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            assert!(
                operation["summary"].is_string() && operation["responses"]["200"].is_object(),
                "{method} {path}"
            );
            if method == "get" && !path.contains('{') && path != "/api/feed" {
                assert_eq!(studio.get(path).status, 200, "{path}");
            }
        }
    }
}

#[test]
fn a_body_that_is_too_large_and_a_method_that_is_unknown_are_refused() {
    let desk = Desk::new();
    let studio = Studio::start(&desk);
    let large = "x".repeat(300 * 1024);
    let answer = studio.submit("/api/attention/f_1/dismiss", &[("note", &large)]);
    assert_eq!(answer.status, 413);
    let deleted =
        studio.send(&format!("DELETE /runs HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", studio.host));
    assert_eq!(deleted.status, 405);
}

#[test]
fn a_database_that_breaks_while_it_serves_is_an_answer_and_not_an_end() {
    let desk = project();
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let run = run_of(&studio, "nightly", "completed");
    let database = rusqlite::Connection::open(desk.path().join(".escrow/escrow.db")).expect("a database");
    database
        .execute("UPDATE entries SET bytes = x'00' WHERE seq > 2", ())
        .map_or_else(|error| panic!("the test knows the table: {error}"), |changed| assert!(changed > 0));
    drop(database);
    let answer = studio.get(&format!("/runs/{run}"));
    assert!(matches!(answer.status, 500 | 503), "{}: {}", answer.status, answer.body);
    assert!(answer.body.contains("Runs"), "it says where to go");
    assert_eq!(studio.get("/runs").status, 200, "other pages are still served");
}

#[test]
fn a_database_that_was_removed_or_replaced_takes_no_decision_and_nothing_acts() {
    for replaced in [false, true] {
        let desk = Desk::new();
        desk.write("ship.yaml", "checks: {ship: {type: command, exec: touch shipped, criticality: external, requires_approval: true}}\n");
        assert_eq!(desk.escrow(&["run", "ship.yaml", "--quiet"]).code, Some(4));
        let studio = Studio::start_with(&desk, &["--no-daemon"]);
        let wait = waiting(&studio, "approval");
        let (cookie, token) = studio.session();
        let state = desk.path().join(".escrow");
        for side in ["escrow.db", "escrow.db-wal", "escrow.db-shm", "escrow.db-mark"] {
            drop(std::fs::remove_file(state.join(side)));
        }
        if replaced {
            rusqlite::Connection::open(state.join("escrow.db"))
                .and_then(|other| other.execute_batch("CREATE TABLE other (name TEXT)"))
                .expect("another database");
        }
        let decided = studio.post(
            &format!("/api/approvals/{}/approve", text(&wait, "id")),
            &[("csrf", &token), ("digest", text(&wait, "digest"))],
            &format!("Origin: http://{}\r\nCookie: {cookie}\r\n", studio.host),
        );
        assert_eq!(decided.status, 503, "{}", decided.body);
        assert!(decided.body.contains("was removed or replaced while it was open"), "{}", decided.body);
        for path in ["/", "/runs", "/approvals", "/api/runs", "/api/approvals", "/effects", "/outcomes"] {
            assert_eq!(studio.get(path).status, 503, "{path}");
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!desk.path().join("shipped").exists(), "nothing acted");
    }
}
