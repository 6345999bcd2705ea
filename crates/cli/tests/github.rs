//! `type: github` against a server that speaks GitHub's shapes, well-behaved and not.

mod desk;
mod server;

use std::sync::{Arc, Mutex};

use desk::Desk;
use serde_json::{Value, json};
use server::{Received, Says, Server};

const TOKEN: &str = "ghs_t0ken-for-tests";
const HEAD: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

/// What the server knows, as GitHub would.
#[derive(Default)]
struct Repository {
    comments: Vec<Value>,
    labels: Vec<Value>,
    reviews: Vec<Value>,
    runs: Vec<Value>,
    statuses: Vec<Value>,
    issues: Vec<Value>,
    merged: bool,
    files: usize,
    next_id: u64,
    /// What goes wrong with the next requests that change something.
    faults: Vec<Fault>,
    /// What the next reads are answered with.
    reads: Vec<Says>,
    /// How many changes of what is there are refused.
    refused_patches: u32,
    /// Reviews with comments on lines are refused.
    refuses_lines: bool,
    /// What the pull request says of its files.
    changed_files: Option<usize>,
}

enum Fault {
    /// The answer is lost after the work was done.
    After(Says),
    /// The work is not done.
    Instead(Says),
}

impl Repository {
    fn answer(&mut self, got: &Received) -> Says {
        if got.method == "GET" {
            if !self.reads.is_empty() {
                return self.reads.remove(0);
            }
            return self.read(got);
        }
        if got.method == "PATCH" && self.refused_patches > 0 {
            self.refused_patches -= 1;
            return Says::json(422, &json!({ "message": "Validation Failed" }));
        }
        match (!self.faults.is_empty()).then(|| self.faults.remove(0)) {
            Some(Fault::Instead(says)) => says,
            Some(Fault::After(says)) => {
                self.write(got);
                says
            }
            None => self.write(got),
        }
    }

    fn read(&self, got: &Received) -> Says {
        let (path, query) = got.path.split_once('?').unwrap_or((&got.path, ""));
        let pull = json!({
            "number": 7, "merged": self.merged, "merge_commit_sha": "e5bd3914e2e596debea16f433f57875b5b90bcd6",
            "head": { "sha": HEAD, "ref": "topic" }, "changed_files": self.changed_files.unwrap_or(self.files),
        });
        match path.strip_prefix("/repos/octo/hello").unwrap_or_default() {
            "/pulls/7" if got.header("accept") == "application/vnd.github.diff" => {
                Says::text("diff --git a/a b/a")
            }
            "/pulls/7" => Says::json(200, &pull),
            "/pulls/7/files" => {
                let patch = "@@ -1,2 +1,3 @@\n a\n+b\n c";
                let file =
                    |n| json!({ "filename": format!("src/f{n}.rs"), "status": "modified", "patch": patch });
                paged(query, &(0..self.files).map(file).collect::<Vec<_>>())
            }
            "/issues/7/comments" => paged(query, &self.comments),
            "/issues/7/labels" => paged(query, &self.labels),
            "/pulls/7/reviews" => paged(query, &self.reviews),
            "/issues" => paged(query, &self.issues),
            path if path == format!("/commits/{HEAD}/statuses") => paged(query, &self.statuses),
            path if path == format!("/commits/{HEAD}/check-runs") => {
                Says::json(200, &json!({ "total_count": self.runs.len(), "check_runs": self.runs }))
            }
            _ => Says::json(404, &json!({ "message": "Not Found" })),
        }
    }

    fn write(&mut self, got: &Received) -> Says {
        self.next_id += 1;
        let id = self.next_id;
        let body = if got.body.is_empty() { Value::Null } else { got.json() };
        let url = json!(format!("https://github.test/{id}"));
        let path = got.path.strip_prefix("/repos/octo/hello").unwrap_or_default();
        match (got.method.as_str(), path) {
            ("POST", "/issues/7/comments") => {
                let comment = json!({ "id": id, "body": body["body"], "html_url": url });
                self.comments.push(comment.clone());
                Says::json(201, &comment)
            }
            ("PATCH", path) if path.starts_with("/issues/comments/") => {
                let id: u64 = path.rsplit('/').next().and_then(|id| id.parse().ok()).expect("an id");
                let comment =
                    self.comments.iter_mut().find(|comment| comment["id"] == id).expect("a comment");
                comment["body"] = body["body"].clone();
                Says::json(200, comment)
            }
            ("POST", "/issues/7/labels") => {
                for label in body["labels"].as_array().expect("labels") {
                    self.labels.push(json!({ "name": label }));
                }
                Says::json(200, &json!(self.labels))
            }
            ("DELETE", path) if path.starts_with("/issues/7/labels/") => {
                let name = path.rsplit('/').next().expect("a name").replace("%20", " ");
                let count = self.labels.len();
                self.labels.retain(|label| label["name"] != name);
                Says::json(if self.labels.len() < count { 200 } else { 404 }, &json!([]))
            }
            ("POST", "/pulls/7/reviews")
                if self.refuses_lines
                    && body["comments"].as_array().is_some_and(|lines| !lines.is_empty()) =>
            {
                let errors = ["Pull request review thread line must be part of the diff"];
                Says::json(422, &json!({ "message": "Unprocessable Entity", "errors": errors }))
            }
            ("POST", "/pulls/7/reviews") => {
                let mut review =
                    json!({ "id": id, "html_url": url, "state": body["event"], "body": body["body"] });
                review["sent"] = body;
                self.reviews.push(review.clone());
                Says::json(200, &review)
            }
            ("POST", "/check-runs") => {
                let mut run = json!({ "id": id, "html_url": url, "conclusion": body["conclusion"],
                                      "external_id": body["external_id"], "name": body["name"] });
                run["output"] = json!({ "annotations_count": annotations(&body) });
                self.runs.push(run.clone());
                Says::json(201, &run)
            }
            ("PATCH", path) if path.starts_with("/check-runs/") => {
                let run = self.runs.last_mut().expect("a run");
                let before = run["output"]["annotations_count"].as_u64().expect("a count");
                run["output"]["annotations_count"] = json!(before + annotations(&body));
                Says::json(200, run)
            }
            ("POST", path) if path == format!("/statuses/{HEAD}") => {
                let mut status = body;
                status["id"] = json!(id);
                self.statuses.insert(0, status.clone());
                Says::json(201, &status)
            }
            ("PUT", "/pulls/7/merge") if body["sha"] != HEAD => Says::json(
                409,
                &json!({ "message": "Head branch was modified. Review and try the merge again." }),
            ),
            ("PUT", "/pulls/7/merge") => {
                self.merged = true;
                Says::json(200, &json!({ "merged": true, "sha": "e5bd3914", "message": "merged" }))
            }
            ("POST", "/issues") => {
                let issue =
                    json!({ "number": id, "html_url": url, "title": body["title"], "body": body["body"] });
                self.issues.insert(0, issue.clone());
                Says::json(201, &issue)
            }
            _ => Says::json(404, &json!({ "message": "Not Found" })),
        }
    }
}

fn annotations(body: &Value) -> u64 {
    let annotations = body["output"]["annotations"].as_array().map_or(0, Vec::len);
    assert!(annotations <= 50, "GitHub takes 50 annotations at a time, not {annotations}");
    annotations as u64
}

fn paged(query: &str, all: &[Value]) -> Says {
    let number = |name: &str| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse::<usize>().ok())
    };
    let (page, size) = (number("page").unwrap_or(1), number("per_page").unwrap_or(30));
    let items: Vec<&Value> = all.iter().skip((page - 1) * size).take(size).collect();
    Says::json(200, &json!(items))
}

struct World {
    desk: Desk,
    server: Server,
    repository: Arc<Mutex<Repository>>,
}

impl World {
    fn new() -> World {
        let repository = Arc::new(Mutex::new(Repository { files: 3, ..Repository::default() }));
        let shared = Arc::clone(&repository);
        let server = Server::start(move |got| shared.lock().expect("no holder panicked").answer(got));
        let desk = Desk::new();
        desk.write(
            "event.json",
            &json!({ "action": "opened", "repository": { "full_name": "octo/hello" },
                     "pull_request": { "number": 7, "head": { "sha": HEAD, "ref": "topic" }, "base": { "ref": "main" } } })
            .to_string(),
        );
        World { desk, server, repository }
    }

    fn with(&self, change: impl FnOnce(&mut Repository)) -> &World {
        change(&mut self.repository.lock().expect("no holder panicked"));
        self
    }

    fn see<T>(&self, look: impl FnOnce(&Repository) -> T) -> T {
        look(&self.repository.lock().expect("no holder panicked"))
    }

    fn run(&self, playbook: &str) -> (Option<i32>, Value) {
        self.run_with(playbook, &["--event", "pull_request=event.json"], &[])
    }

    fn run_with(&self, playbook: &str, more: &[&str], env: &[(&str, &str)]) -> (Option<i32>, Value) {
        self.desk.write("playbook.yaml", playbook);
        let mut arguments = vec!["run", "playbook.yaml", "--output", "json", "--quiet"];
        arguments.extend(more);
        let mut command = self.desk.command(&arguments);
        command.env("GITHUB_API_URL", &self.server.url).env("GITHUB_TOKEN", TOKEN).envs(env.iter().copied());
        let done = command.output().expect("it runs");
        let document = serde_json::from_slice(&done.stdout);
        let document =
            document.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&done.stderr)));
        (done.status.code(), document)
    }

    /// One check called `call`.
    fn call(&self, check: &str) -> (Option<i32>, Value) {
        self.run(&one(check))
    }
}

fn one(check: &str) -> String {
    let lines: String = check.lines().map(|line| format!("    {line}\n")).collect();
    format!("secrets: [GITHUB_TOKEN]\nchecks:\n  call:\n    type: github\n    secrets: GITHUB_TOKEN\n{lines}")
}

fn output(document: &Value) -> &Value {
    &document["checks"]["call"]["output"]
}

fn issue(document: &Value) -> &str {
    document["checks"]["call"]["issues"][0]["rule_id"].as_str().unwrap_or_default()
}

/// A check, and how many of its effects the server has.
type Change = (&'static str, fn(&Repository) -> usize);

/// Every operation that changes something, and how many of it the server has.
const CHANGES: [Change; 8] = [
    ("op: comment.create\nbody: hello", |repository| repository.comments.len()),
    ("op: labels.add\nvalues: [reviewed]", |repository| repository.labels.len()),
    ("op: labels.remove\nvalues: [never there]", |repository| 1 - repository.labels.len()),
    ("op: review.create\nbody: fine", |repository| repository.reviews.len()),
    ("op: check.create\nstate: success", |repository| repository.runs.len()),
    ("op: status.set\nstate: success\ncontext: gate", |repository| repository.statuses.len()),
    ("op: pr.merge", |repository| usize::from(repository.merged)),
    ("op: issue.create\ntitle: a defect", |repository| repository.issues.len()),
];

const RETRY: &str = "on_fail: {retry: {max: 2, backoff: {mode: fixed, delay_ms: 1}}}";

#[test]
fn every_operation_changes_what_it_says_once() {
    for (check, count) in CHANGES {
        let world = World::new();
        let (code, document) = world.call(check);
        assert_eq!(code, Some(0), "{check}: {document:#}");
        assert_eq!(world.see(count), 1, "{check}");
        assert_eq!(document["checks"]["call"]["criticality"], "external", "{check}");
        let got = world.server.received();
        assert!(got.iter().all(|got| got.header("authorization") == format!("Bearer {TOKEN}")), "{check}");
        assert!(!document.to_string().contains(TOKEN), "{check}");
    }
}

#[test]
fn an_effect_whose_answer_was_lost_is_found_again_and_not_repeated() {
    for lost in [Says::status(502), Says::Cut, Says::CutAfterHeaders { status: 201 }] {
        for (check, count) in CHANGES {
            let world = World::new();
            world.with(|repository| repository.faults.push(Fault::After(lost.clone())));
            let (code, document) = world.call(&format!("{check}\n{RETRY}"));
            assert_eq!(code, Some(0), "{check} after {lost:?}: {document:#}");
            assert_eq!(world.see(count), 1, "{check} after {lost:?}");
            assert_eq!(
                document["checks"]["call"]["runs"], 1,
                "{check}: GitHub has it, so nothing is tried again"
            );
        }
    }
}

#[test]
fn a_success_that_cannot_be_read_is_found_again_also_by_the_next_run() {
    let half = Says::Answer { status: 201, headers: vec![], body: "{\"id\":".into() };
    let unreadable = [
        half.with("Content-Type", "application/json"),
        Says::json(201, &json!(null)),
        Says::json(201, &json!({})),
        Says::status(201),
    ];
    for says in unreadable {
        for (check, count) in CHANGES {
            // What is removed is read back; the answer to the removal itself tells nothing.
            if check.contains("labels.remove") {
                continue;
            }
            let world = World::new();
            world.with(|repository| repository.faults.push(Fault::After(says.clone())));
            let keyed = format!("{check}\neffect_key: once");
            let (code, document) = world.call(&keyed);
            assert_eq!(code, Some(0), "{check} after {says:?}: {document:#}");
            let (code, document) = world.call(&keyed);
            assert_eq!(code, Some(0), "{check} after {says:?}: {document:#}");
            assert_eq!(world.see(count), 1, "{check} after {says:?}");
        }
    }
}

#[test]
fn what_was_changed_before_a_refusal_has_happened() {
    let findings: Vec<Value> = (1..=60)
        .map(|line| json!({ "severity": "low", "category": "c", "file": "a.rs", "line": line, "description": "d" }))
        .collect();
    let world = World::new();
    world.desk.write("verdict.json", &verdict(&json!(findings)));
    // The check run is created; its second batch of annotations is refused for good.
    world.with(|repository| repository.refused_patches = 5);
    let playbook = format!("{}    effect_key: once\n", REVIEW.replace("OP", "check.create"));
    let (code, document) = world.run(&playbook);
    assert_ne!(code, Some(0), "{document:#}");
    world.with(|repository| repository.refused_patches = 0);
    let effects = world.desk.escrow(&["effects", "--output", "json"]).json();
    assert_ne!(effects["effects"][0]["state"], "confirmed", "{effects:#}");
    let (_, document) = world.run(&playbook);
    assert_eq!(world.see(|repository| repository.runs.len()), 1, "{document:#}");
}

#[test]
fn an_effect_on_which_github_acts_late_is_not_repeated() {
    let world = World::new();
    world.with(|repository| {
        repository.faults.push(Fault::After(Says::Cut));
        // The first look comes before the request has arrived.
        repository.reads = vec![Says::json(200, &json!([]))];
    });
    let (code, document) = world.call(&format!("op: comment.create\nbody: hello\n{RETRY}"));
    assert_eq!(code, Some(0), "{document:#}");
    assert_eq!(world.see(|repository| repository.comments.len()), 1);
    assert_eq!(document["checks"]["call"]["runs"], 1, "{document:#}");
}

#[test]
fn an_effect_that_did_not_happen_is_tried_again() {
    for (check, count) in CHANGES {
        let world = World::new();
        if check.contains("labels.remove") {
            world.with(|repository| repository.labels.push(json!({ "name": "never there" })));
        }
        world.with(|repository| repository.faults.push(Fault::Instead(Says::status(502))));
        let (code, document) = world.call(&format!("{check}\n{RETRY}"));
        assert_eq!(code, Some(0), "{check}: {document:#}");
        assert_eq!(world.see(count), 1, "{check}");
        assert_eq!(document["checks"]["call"]["runs"], 2, "{check}");
    }
}

#[test]
fn a_person_is_asked_when_github_cannot_be_asked() {
    let world = World::new();
    world.with(|repository| {
        repository.faults.push(Fault::After(Says::status(502)));
        repository.reads = vec![Says::status(500)];
    });
    let (code, document) = world.call(&format!("op: comment.create\nbody: hello\n{RETRY}"));
    assert_eq!(code, Some(4), "{document:#}");
    assert_eq!(document["run"]["reason"]["code"], "run.waiting.unknown_effect");
    assert_eq!(world.see(|repository| repository.comments.len()), 1);
}

#[test]
fn a_limited_write_did_not_happen_and_is_tried_again_when_github_allows_it() {
    let limits = [
        Says::json(429, &json!({ "message": "slow down" })).with("Retry-After", "1"),
        Says::json(403, &json!({ "message": "API rate limit exceeded" }))
            .with("X-RateLimit-Remaining", "0")
            .with("X-RateLimit-Reset", "1"),
        Says::json(403, &json!({ "message": "You have exceeded a secondary rate limit" }))
            .with("Retry-After", "1"),
        // A secondary limit with requests left has no pause; the reset of the primary one is the best guess.
        Says::json(
            403,
            &json!({ "message": "You have exceeded a secondary rate limit. Please wait a few minutes." }),
        )
        .with("X-RateLimit-Remaining", "4999")
        .with("X-RateLimit-Reset", "1"),
    ];
    for limit in limits {
        let world = World::new();
        world.with(|repository| repository.faults.push(Fault::Instead(limit.clone())));
        let (code, document) = world.call(&format!("op: comment.create\nbody: hello\n{RETRY}"));
        assert_eq!(code, Some(0), "{limit:?}: {document:#}");
        assert_eq!(world.see(|repository| repository.comments.len()), 1);
        world.with(|repository| repository.faults.push(Fault::Instead(limit.clone())));
        let (code, document) = world.call("op: comment.create\nbody: hello");
        assert_eq!((code, issue(&document)), (Some(1), "github/rate_limited"), "{document:#}");
    }
    let world = World::new();
    let forbidden = Says::json(403, &json!({ "message": "Resource not accessible by integration" }));
    world.with(|repository| repository.faults.push(Fault::Instead(forbidden)));
    let (code, document) = world.call("op: comment.create\nbody: hello");
    assert_eq!((code, issue(&document)), (Some(1), "github/status"), "{document:#}");
    assert!(document.to_string().contains("Resource not accessible by integration"));
}

#[test]
fn a_limited_read_waits_by_itself() {
    let world = World::new();
    world.with(|repository| repository.reads = vec![Says::status(429).with("Retry-After", "0")]);
    let (code, document) = world.call("op: pr.get");
    assert_eq!(code, Some(0), "{document:#}");
    assert_eq!(output(&document)["number"], 7);
    assert_eq!(world.server.received().len(), 2);
    // A pause that is longer than the check may take is a fault at once.
    world.with(|repository| repository.reads = vec![Says::status(429).with("Retry-After", "3600")]);
    let (code, document) = world.call("op: pr.get");
    assert_eq!((code, issue(&document)), (Some(1), "github/rate_limited"), "{document:#}");
}

#[test]
fn pull_requests_are_read_page_by_page() {
    let world = World::new();
    world.with(|repository| repository.files = 250);
    let (code, document) = world.call("op: pr.files");
    assert_eq!(code, Some(0), "{document:#}");
    assert_eq!(output(&document).as_array().map(Vec::len), Some(250));
    assert_eq!(document["checks"]["call"]["criticality"], "info");
    assert_eq!(world.server.received().len(), 3);
    let (_, document) = world.call("op: pr.diff");
    assert_eq!(output(&document), "diff --git a/a b/a");
}

#[test]
fn a_comment_with_a_marker_is_updated() {
    let world = World::new();
    for (body, updated) in [("first", false), ("second", true)] {
        let (code, document) = world.call(&format!("op: comment.create\nmarker: summary\nbody: {body}"));
        assert_eq!(code, Some(0), "{document:#}");
        assert_eq!(output(&document)["updated"], updated);
    }
    let (_, document) = world.call("op: comment.create\nmarker: other\nbody: third");
    assert_eq!(output(&document)["updated"], false);
    let bodies = world.see(|repository| repository.comments.clone());
    assert_eq!(bodies.len(), 2);
    let body = bodies[0]["body"].as_str().expect("a body");
    assert!(body.starts_with("second\n") && body.contains("<!-- escrow:effect "), "{body}");
}

const REVIEW: &str = r#"secrets: [GITHUB_TOKEN]
checks:
  review:
    type: command
    exec: cat verdict.json
    outcome: review_verdict
  call:
    type: github
    op: OP
    depends_on: review
    secrets: GITHUB_TOKEN
    verdict: review
"#;

fn verdict(findings: &Value) -> String {
    json!({ "verdict": "REQUEST_CHANGES", "summary": "one thing blocks", "findings": findings }).to_string()
}

#[test]
fn a_marker_that_an_agent_writes_into_a_body_marks_nothing() {
    let world = World::new();
    let forged = "<!-- escrow:effect deploy --> <!-- escrow:comment summary -->";
    let (code, document) = world.call(&format!("op: comment.create\nbody: 'Fine. {forged}'"));
    assert_eq!(code, Some(0), "{document:#}");
    let (_, document) = world.call("op: comment.create\nmarker: summary\nbody: real");
    assert_eq!(output(&document)["updated"], false, "the forged marker names no comment");
    let bodies = world.see(|repository| repository.comments.clone());
    let body = bodies[0]["body"].as_str().expect("a body");
    assert_eq!(body.matches("<!-- escrow:").count(), 1, "its own marker alone: {body}");
}

#[test]
fn the_findings_of_a_verdict_become_comments_on_their_lines() {
    let world = World::new();
    let finding = |file: &str, line: u64, what: &str| json!({ "severity": "high", "category": "c", "file": file, "line": line, "description": what });
    let findings = json!([
        finding("src/f0.rs", 2, "on a line of the diff"),
        finding("src/f0.rs", 99, "outside of the diff"),
        finding("src/other.rs", 1, "in another file"),
        { "severity": "low", "category": "c", "description": "nowhere" },
    ]);
    world.desk.write("verdict.json", &verdict(&findings));
    let (code, document) = world.run(&REVIEW.replace("OP", "review.create"));
    assert_eq!(code, Some(0), "{document:#}");
    assert_eq!(output(&document)["comments"], 1);
    let sent = world.see(|repository| repository.reviews[0]["sent"].clone());
    assert_eq!((&sent["event"], &sent["commit_id"]), (&json!("REQUEST_CHANGES"), &json!(HEAD)));
    assert_eq!(sent["comments"][0]["path"], "src/f0.rs");
    assert_eq!((&sent["comments"][0]["line"], &sent["comments"][0]["side"]), (&json!(2), &json!("RIGHT")));
    let body = sent["body"].as_str().expect("a body");
    for part in ["one thing blocks", "outside of the diff", "in another file", "nowhere"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert!(!body.contains("on a line of the diff"), "{body}");
}

#[test]
fn a_review_whose_lines_github_refuses_has_its_findings_in_the_body() {
    let world = World::new();
    let finding = |line: u64, what: &str| json!({ "severity": "high", "category": "c", "file": "src/f0.rs", "line": line, "description": what });
    world.desk.write("verdict.json", &verdict(&json!([finding(2, "on a line"), finding(99, "outside")])));
    world.with(|repository| repository.refuses_lines = true);
    let (code, document) = world.run(&REVIEW.replace("OP", "review.create"));
    assert_eq!((code, &output(&document)["comments"]), (Some(0), &json!(0)), "{document:#}");
    let sent = world.see(|repository| repository.reviews.clone());
    assert_eq!(sent.len(), 1);
    let body = sent[0]["body"].as_str().expect("a body");
    assert!(
        body.contains("`src/f0.rs:2`") && body.contains("on a line") && body.contains("outside"),
        "{body}"
    );
    // Without lines it is refused for another reason, which is told.
    let refused =
        json!({ "message": "Unprocessable Entity", "errors": ["Can not approve your own pull request"] });
    world.with(|repository| repository.faults.push(Fault::Instead(Says::json(422, &refused))));
    let (code, document) = world.call("op: review.create\nbody: fine\nstate: approve");
    assert_eq!((code, issue(&document)), (Some(1), "github/status"), "{document:#}");
    assert!(document.to_string().contains("Can not approve your own pull request"), "{document:#}");
}

#[test]
fn a_text_that_is_too_long_is_shortened_and_found_again() {
    let world = World::new();
    world.desk.write("verdict.json", &verdict(&json!([])).replace("one thing blocks", &"x".repeat(70_000)));
    for op in ["review.create", "check.create"] {
        world.with(|repository| repository.faults.push(Fault::After(Says::Cut)));
        let (code, document) = world.run(&format!("{}    {RETRY}\n", REVIEW.replace("OP", op)));
        assert_eq!(code, Some(0), "{op}: {document:#}");
    }
    assert_eq!(world.see(|repository| (repository.reviews.len(), repository.runs.len())), (1, 1));
    for got in world.server.received() {
        let body = if got.body.is_empty() { Value::Null } else { got.json() };
        for text in [&body["body"], &body["output"]["summary"]] {
            assert!(text.as_str().unwrap_or_default().chars().count() <= 65_536);
        }
    }
}

#[test]
fn a_pull_request_with_more_files_than_github_lists_is_told() {
    let world = World::new();
    world.with(|repository| repository.files = 3_000);
    let (code, document) = world.call("op: pr.files\nguarantee: output.length === 3000");
    assert_eq!(code, Some(0), "{}", document["run"]);
    world.with(|repository| repository.changed_files = Some(3_001));
    let (code, document) = world.call("op: pr.files\nguarantee: output.length === 3000");
    assert_eq!((code, issue(&document)), (Some(1), "github/too_large"), "{}", document["run"]);
}

#[test]
fn a_diff_that_is_too_large_is_a_fault_and_never_a_part_of_it() {
    let world = World::new();
    let too_large = json!({ "message": "Sorry, the diff exceeded the maximum number of lines (20000)",
                            "errors": [{ "resource": "PullRequest", "field": "diff", "code": "too_large" }] });
    world.with(|repository| repository.reads = vec![Says::json(406, &too_large)]);
    let (code, document) = world.call("op: pr.diff");
    assert_eq!((code, issue(&document)), (Some(1), "github/status"), "{document:#}");
    assert!(document.to_string().contains("maximum number of lines"), "{document:#}");
    world.with(|repository| repository.reads = vec![Says::text(&"+x\n".repeat(6 << 20))]);
    let (code, document) = world.call("op: pr.diff");
    assert_eq!((code, issue(&document)), (Some(1), "github/too_large"), "{}", document["run"]);
}

#[test]
fn annotations_are_sent_fifty_at_a_time_and_continued_after_a_fault() {
    let findings: Vec<Value> = (1..=120)
        .map(|line| json!({ "severity": "medium", "category": "c", "file": "a.rs", "line": line, "description": "d" }))
        .collect();
    for fault in [None, Some(Fault::After(Says::status(502))), Some(Fault::Instead(Says::status(502)))] {
        let world = World::new();
        world.desk.write("verdict.json", &verdict(&json!(findings)));
        world.with(|repository| repository.faults.extend(fault));
        let (code, document) = world.run(&format!("{}    {RETRY}\n", REVIEW.replace("OP", "check.create")));
        assert_eq!(code, Some(0), "{document:#}");
        assert_eq!(
            (&output(&document)["annotations"], &output(&document)["conclusion"]),
            (&json!(120), &json!("failure"))
        );
        let runs = world.see(|repository| repository.runs.clone());
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0]["output"]["annotations_count"], 120);
    }
}

#[test]
fn a_head_that_moved_is_not_merged() {
    let world = World::new();
    let (code, document) = world.call("op: pr.merge\nexpected_head: 0000000\nmethod: squash");
    assert_eq!((code, issue(&document)), (Some(1), "github/status"), "{document:#}");
    assert!(!world.see(|repository| repository.merged));
    let cannot = json!({ "message": "Pull Request is not mergeable" });
    world.with(|repository| repository.faults.push(Fault::Instead(Says::json(405, &cannot))));
    let (code, document) = world.call("op: pr.merge");
    assert_eq!((code, issue(&document)), (Some(1), "github/status"), "{document:#}");
    assert!(document.to_string().contains("not mergeable"), "{document:#}");
    let effects = world.desk.escrow(&["effects", "--output", "json"]).json();
    assert_eq!(effects["effects"][0]["state"], "failed", "{effects:#}");
    let (code, document) = world.call("op: pr.merge\nmethod: squash");
    assert_eq!(code, Some(0), "{document:#}");
    let sent = world.server.received().pop().expect("a request").json();
    assert_eq!(sent, json!({ "sha": HEAD, "merge_method": "squash" }));
}

#[test]
fn what_is_missing_or_malformed_is_refused_before_anything_is_sent() {
    let world = World::new();
    for check in [
        "op: comment.create\nbody: x\nrepo: ../../etc",
        "op: comment.create\nbody: x\nrepo: octo/hello/more",
        "op: comment.create\nbody: x\nnumber: 7/labels",
        "op: status.set\nstate: great",
        "op: review.create\nbody: x\nstate: great",
        "op: check.create\nbody: x",
        "op: review.create",
    ] {
        let (code, document) = world.call(check);
        assert_eq!((code, issue(&document)), (Some(1), "github/unsendable"), "{check}: {document:#}");
    }
    let (code, document) = world.run_with(&one("op: comment.create\nbody: x"), &[], &[]);
    assert_eq!((code, issue(&document)), (Some(1), "github/unsendable"), "{document:#}");
    let (code, document) = world.run("checks: {call: {type: github, op: comment.create, body: x}}\n");
    assert_eq!((code, issue(&document)), (Some(1), "github/unsendable"), "{document:#}");
    assert!(document.to_string().contains("token"), "{document:#}");
    assert!(world.server.received().is_empty());
}

#[test]
fn an_operation_without_its_keys_does_not_load() {
    let desk = Desk::new();
    for (check, code) in [
        ("op: comment.create", "E0106"),
        ("op: labels.add", "E0106"),
        ("op: status.set", "E0106"),
        ("op: issue.create", "E0106"),
        ("op: pr.close", "E0108"),
        ("body: x", "E0106"),
        ("op: review.create\nverdict: reveiw", "E0102"),
    ] {
        desk.write("p.yaml", &one(check));
        let done = desk.escrow(&["check", "p.yaml"]);
        assert_eq!(done.code, Some(2), "{check}");
        assert!(done.stderr.contains(code), "{check}: {}", done.stderr);
    }
}

#[test]
fn a_retry_needs_no_reconcile_and_an_approval_shows_the_event_that_it_is_about() {
    let world = World::new();
    world.desk.write("p.yaml", &one(&format!("op: labels.add\nvalues: [x]\n{RETRY}")));
    let told = world.desk.escrow(&["check", "p.yaml"]);
    assert!(!told.stdout.contains("W0251") && !told.stderr.contains("W0251"), "{}", told.stderr);
    let (code, _) = world.call("op: pr.merge\nrequires_approval: true");
    assert_eq!(code, Some(4));
    let asked = world.desk.escrow(&["approvals"]).stdout;
    assert!(asked.contains("octo/hello") && asked.contains(HEAD), "{asked}");
}

#[test]
fn the_event_of_a_workflow_is_read_from_actions() {
    let world = World::new();
    let push = json!({
        "ref": "refs/heads/topic", "after": HEAD, "repository": { "full_name": "octo/hello" },
        "commits": [{ "added": ["b.rs"], "modified": ["a.rs"], "removed": [] }, { "modified": ["a.rs"], "removed": ["c.rs"] }],
    });
    let path = world.desk.write("push.json", &push.to_string());
    let env = [("GITHUB_EVENT_PATH", path.to_str().expect("text")), ("GITHUB_EVENT_NAME", "push")];
    let playbook =
        "checks: {tell: {type: script, content: 'return [event.name, branch, filesChanged, event.after]'}}\n";
    let (code, document) = world.run_with(playbook, &["--event", "github"], &env);
    assert_eq!(code, Some(0), "{document:#}");
    let told = &document["checks"]["tell"]["output"];
    assert_eq!(*told, json!(["push", "topic", ["a.rs", "b.rs", "c.rs"], HEAD]));
    let (_, document) = world.run_with(&one("op: status.set\nstate: success"), &["--event", "gate"], &env);
    assert_eq!(document["checks"]["call"]["status"], "succeeded", "{document:#}");
}

/// The payloads of Actions, reduced to the members that count. A push has its commits without their files.
#[test]
fn the_files_of_a_workflow_come_from_its_commits_and_are_never_guessed() {
    let world = World::new();
    let git = |script: &str| {
        let git = "git -c user.name=a -c user.email=a@b.c -c commit.gpgsign=false";
        let script = script.replace("git ", &format!("{git} "));
        let mut shell = std::process::Command::new("sh");
        let done =
            shell.args(["-ec", &script]).current_dir(world.desk.path()).output().expect("git is there");
        assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text").trim().to_owned()
    };
    git("printf '*.json\\n*.yaml\\n' > .gitignore; git init -q -b main; git add .; git commit -qm 1");
    let before = git("git rev-parse HEAD");
    git("git switch -qc topic; echo 1 > a.rs; git add .; git commit -qm 2");
    let after = git("git rev-parse HEAD; git switch -q main");
    let repository = json!({ "full_name": "octo/hello" });
    let commits = json!([{ "id": after, "message": "2", "distinct": true, "author": { "name": "a" } }]);
    let push = json!({ "ref": "refs/heads/topic", "before": before, "after": after, "repository": repository, "commits": commits });
    let mut moved_back = push.clone();
    (moved_back["before"], moved_back["after"]) = (json!(after), json!(before));
    moved_back["commits"] = json!([]);
    let pull = json!({ "action": "synchronize", "number": 7, "repository": repository, "pull_request": {
        "number": 7, "base": { "ref": "main", "sha": before }, "head": { "ref": "topic", "sha": after } } });
    let playbook = "checks: {tell: {type: script, content: 'return [branch, filesChanged]'}}\n";
    for (name, payload) in
        [("push", &push), ("push", &moved_back), ("pull_request", &pull), ("pull_request_target", &pull)]
    {
        let path = world.desk.write("payload.json", &payload.to_string());
        let env = [("GITHUB_EVENT_PATH", path.to_str().expect("text")), ("GITHUB_EVENT_NAME", name)];
        let (code, document) = world.run_with(playbook, &["--event", "github"], &env);
        assert_eq!(code, Some(0), "{name}: {document:#}");
        assert_eq!(document["checks"]["tell"]["output"], json!(["topic", ["a.rs"]]), "{name}");
    }
    let unknown = push.to_string().replace(&before, &"1".repeat(40));
    let path = world.desk.write("payload.json", &unknown);
    let env = [("GITHUB_EVENT_PATH", path.to_str().expect("text")), ("GITHUB_EVENT_NAME", "push")];
    let (code, document) = world.run_with(playbook, &["--event", "github"], &env);
    assert_ne!(code, Some(0), "{document:#}");
    assert!(document.to_string().contains("fetch-depth: 0"), "{document:#}");
}

#[test]
fn the_example_of_the_page_runs() {
    let world = World::new();
    let page = include_str!("../../../docs/github.md");
    let example =
        page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let findings =
        json!([{ "severity": "high", "category": "c", "file": "src/f0.rs", "line": 2, "description": "d" }]);
    world.desk.write("verdict.json", &verdict(&findings));
    let (code, document) = world.run(example);
    assert_eq!(code, Some(0), "{document:#}");
    assert_eq!(world.see(|repository| (repository.reviews.len(), repository.labels.len())), (1, 1));
}
