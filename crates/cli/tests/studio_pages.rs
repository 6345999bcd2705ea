//! What each page of Studio shows: plans of chains, strips, graphs, shows, outputs, logs, transcripts and differences.

mod desk;
mod studio_client;

use std::os::unix::fs::PermissionsExt;

use desk::{Desk, Done};
use studio_client::Studio;

/// Starts Studio without its scheduling loop.
fn studio(desk: &Desk) -> Studio {
    Studio::start_with(desk, &["--no-daemon"])
}

#[track_caller]
fn has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "`{part}` is not on the page:\n{page}");
    }
}

/// Runs a playbook, and answers with the id of its run.
#[track_caller]
fn run(desk: &Desk, playbook: &str, code: i32) -> String {
    let (ended, document) = desk.run(playbook);
    assert_eq!(ended, Some(code), "{document:#}");
    document["run"]["id"].as_str().expect("a run").to_owned()
}

#[test]
fn a_theme_is_kept_from_page_to_page_by_a_cookie() {
    let desk = Desk::new();
    let studio = studio(&desk);
    let chosen = studio.get("/?theme=dark");
    assert!(chosen.body.contains("data-theme=\"dark\""));
    let cookie = chosen.cookies.iter().find(|cookie| cookie.starts_with("theme=")).expect("a cookie");
    assert!(cookie.starts_with("theme=dark;") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(studio.get_with("/runs", "Cookie: theme=dark\r\n").body.contains("data-theme=\"dark\""));
    let forgotten = studio.get_with("/runs?theme=system", "Cookie: theme=dark\r\n");
    assert!(!forgotten.body.contains("data-theme"), "the system decides again");
    assert!(
        forgotten.cookies.iter().any(|cookie| cookie.starts_with("theme=;") && cookie.contains("Max-Age=0"))
    );
    let hostile = studio.get("/?theme=%22%3E%3Cscript%3E");
    assert!(!hostile.cookies.iter().any(|cookie| cookie.starts_with("theme")), "{:?}", hostile.cookies);
    assert!(!studio.get_with("/", "Cookie: theme=\"><b>\r\n").body.contains("data-theme"));
}

#[test]
fn typing_wrong_tokens_has_a_strict_limit_of_its_own() {
    let desk = Desk::new();
    let made = desk.escrow(&["studio", "token", "add", "ann", "--role", "read", "--output", "json"]).json();
    let token = made["token"]["text"].as_str().expect("a token").to_owned();
    let studio = Studio::start_with(&desk, &["--bind", "0.0.0.0", "--no-daemon"]);
    let origin = format!("Origin: http://{}\r\n", studio.host);
    let sign_in = |token: &str| studio.post("/sign-in", &[("token", token)], &origin).status;
    assert_eq!(sign_in(&token), 303);
    let guesses: Vec<u16> = (0..8).map(|number| sign_in(&format!("est_{number}"))).collect();
    assert_eq!(guesses, [401, 401, 401, 401, 401, 429, 429, 429]);
    assert_eq!(sign_in(&token), 429, "the answer tells nothing about the token");
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(studio.get_with("/api/runs", &bearer).status, 200, "others who have signed in go on");
}

#[test]
fn pages_are_compressed_for_browsers_that_accept_it() {
    let desk = Desk::new();
    let studio = studio(&desk);
    let plain = studio.get("/lifecycle");
    let packed = studio.get_with("/lifecycle", "Accept-Encoding: gzip\r\n");
    assert_eq!((plain.header("content-encoding"), packed.header("content-encoding")), ("", "gzip"));
    let length =
        |answer: &studio_client::Answer| answer.header("content-length").parse::<usize>().expect("a length");
    assert!(length(&packed) * 3 < length(&plain), "{} of {}", length(&packed), length(&plain));
    assert_eq!(studio.get_with("/lifecycle", "Accept-Encoding: gzip;q=0\r\n").header("content-encoding"), "");
}

#[test]
fn chains_say_when_they_fire_next_and_what_the_next_12_hours_bring() {
    let desk = Desk::new();
    desk.write("one.yaml", "name: one\nchecks: {a: {type: command, exec: echo a}}\n");
    for (name, trigger) in [
        ("often", "{schedule: every 2h}"),
        ("yearly", "{schedule: '0 0 1 1 *', timezone: Europe/Berlin}"),
        ("listens", "{event: pr.opened}"),
        ("rests", "{schedule: every 1h}"),
    ] {
        let text = format!("name: {name}\ntrigger: {trigger}\nsteps: [{{skill: one}}]\n");
        desk.write(&format!("{name}.yaml"), &text);
        let defined = desk.escrow(&["chain", "define", &format!("{name}.yaml")]);
        assert_eq!(defined.code, Some(0), "{}", defined.stderr);
    }
    assert_eq!(desk.escrow(&["chain", "pause", "rests"]).code, Some(0));
    let studio = studio(&desk);
    let page = studio.get("/chains").body;
    has(
        &page,
        &["Next fire", "Next 12 hours", "3 active, 1 paused", "on event", "often fires at ", "Europe/Berlin"],
    );
    let drawn = page
        .split("<svg class=\"sched\"")
        .nth(1)
        .expect("a drawing")
        .split("</svg>")
        .next()
        .expect("its end");
    assert_eq!(drawn.matches("class=\"ev\"").count(), 6, "every 2 hours, and nothing else: {drawn}");
    assert!(!drawn.contains("rests") && !drawn.contains("yearly"), "{drawn}");
    has(&studio.get("/chains/often").body, &["Next fire", "in 1 h"]);
    has(&studio.get("/chains/rests").body, &["Next fire", "paused"]);
}

#[test]
fn a_run_in_the_list_shows_how_each_of_its_checks_stands() {
    let desk = Desk::new();
    let text = "name: three\nchecks:\n  a: {type: command, exec: echo a}\n  b: {type: command, exec: exit 1}\n  \
                c: {type: command, depends_on: b, exec: echo c}\n";
    run(&desk, text, 1);
    let many: String =
        (0..40).map(|number| format!("  c{number}: {{type: command, exec: 'true'}}\n")).collect();
    run(&desk, &format!("name: many\nchecks:\n{many}"), 0);
    let studio = studio(&desk);
    let page = studio.get("/runs").body;
    has(&page, &["checks: 1 succeeded, 1 failed, 1 skipped", "checks: 40 succeeded"]);
    let strip = page.split("title=\"1 succeeded, 1 failed, 1 skipped\">").nth(1).expect("a strip");
    assert_eq!(strip.split("</span>").next().expect("its end").matches("<svg").count(), 3);
}

#[test]
fn the_plays_of_a_show_and_their_gates_are_drawn() {
    let desk = Desk::new();
    desk.write("show.yaml", "name: release\nplays:\n  build: {playbook: build.yaml, gate: accept.yaml}\n  announce: {playbook: announce.yaml, depends_on: build}\n");
    desk.write(
        "build.yaml",
        "inputs: {feedback: {default: ''}}\nchecks: {main: {type: command, exec: 'true'}}",
    );
    desk.write("announce.yaml", "checks: {main: {type: command, exec: 'true'}}");
    desk.write("accept.yaml", "checks:\n  judge:\n    type: command\n    outcome: gate_verdict\n    exec: |\n      echo '{\"gate_passed\": false, \"summary\": \"no tests yet\"}'\n");
    let played = desk.escrow(&["play", "run", "show.yaml"]);
    assert_eq!(played.code, Some(4), "{}{}", played.stdout, played.stderr);
    let page = studio(&desk).get("/shows").body;
    has(
        &page,
        &["Plays and gates of release", "waits for a person", "done again", "no tests yet", "g-node ghost"],
    );
    assert_eq!(page.matches("class=\"g-node").count(), 3, "two plays and a gate");
}

#[test]
fn a_string_schema_chooses_how_an_output_is_shown() {
    let desk = Desk::new();
    let text = r##"
name: shown
checks:
  md:
    type: command
    schema: markdown
    exec: printf '# Head\n\nSome **strong** `code` <img src=x>\n\n- item\n'
  review:
    type: command
    schema: code-review
    exec: |
      echo '{"issues": [{"file": "src/a.rs", "line": 7, "severity": "error", "message": "off by one", "suggestion": "use <="}, {"severity": "info", "message": "rename it"}]}'
  gate:
    type: command
    schema: gate_verdict
    exec: |
      echo '{"gate_passed": false, "summary": "not yet", "criteria": [{"name": "lint clean", "passed": true}]}'
  text:
    type: command
    schema: plain
    exec: "echo '# not a heading'"
"##;
    let id = run(&desk, text, 0);
    let page = studio(&desk).get(&format!("/runs/{id}")).body;
    has(
        &page,
        &[
            "<h3>Head</h3>",
            "<strong>strong</strong>",
            "&lt;img src=x&gt;",
            "Blocking findings",
            "src/a.rs:7",
            "off by one",
            "Suggestions (1)",
            "GATE VERDICT: REJECT",
            "lint clean",
            "# not a heading",
        ],
    );
    assert!(!page.contains("<img src=x"));
}

#[test]
fn a_graph_of_many_checks_folds_its_fan_outs_and_its_table_has_them_all() {
    let desk = Desk::new();
    let mut text = "name: wide\nchecks:\n  start: {type: command, exec: 'true'}\n".to_owned();
    for number in 0..200 {
        let work = if number == 77 { "type: command, exec: exit 1" } else { "type: noop" };
        text.push_str(&format!("  w{number}: {{{work}, depends_on: start}}\n"));
    }
    let id = run(&desk, &text, 1);
    let page = studio(&desk).get(&format!("/runs/{id}")).body;
    has(&page, &["201 checks", "drawn as 3 groups", "199 checks", "199 succeeded", "The same as a table"]);
    let drawing = page.split("aria-label=\"Graph of checks\"").nth(1).expect("a graph");
    let drawing = drawing.split("class=\"legend\"").next().expect("its end");
    assert_eq!(drawing.matches("class=\"g-node").count(), 3);
    assert!(drawing.contains("is-bad") && drawing.contains("w77"), "what failed stays alone");
    let table =
        page.split("id=\"graph-table\"").nth(1).expect("a table").split("</table>").next().expect("its end");
    assert_eq!(table.matches("<tr><th scope=\"row\">").count(), 201);
}

#[test]
fn a_log_has_pages_a_search_and_links_to_its_lines_that_stay_right() {
    let desk = Desk::new();
    let exec = "seq 1 100000; echo oops >&2; echo 'error: <b>' >&2";
    let id = run(&desk, &format!("name: long\nchecks: {{print: {{type: command, exec: \"{exec}\"}}}}\n"), 0);
    let studio = studio(&desk);
    let log = format!("/runs/{id}/logs/print");
    let last = studio.get(&log).body;
    has(&last, &["100002 lines", "id=\"print-1-E2\"", "data-total=\"100002\"", "error: &lt;b&gt;"]);
    let of_line = studio.get(&format!("{log}?attempt=1&line=L50000")).body;
    has(&of_line, &["id=\"print-1-L50000\"", "line=L50000#print-1-L50000"]);
    assert!(of_line.matches("<li id=").count() <= 2_000);
    let part = studio.get(&format!("{log}?attempt=1&part=1&from=49999")).body;
    assert!(part.starts_with("<div") && part.contains("id=\"print-1-L50000\""), "{}", &part[..200]);
    assert_eq!(part.matches("<li id=").count(), 500);
    let found = studio.get(&format!("{log}?find=99999")).body;
    has(&found, &["1 found", "id=\"print-1-L99999\""]);
    has(&studio.get(&format!("{log}?find=nowhere")).body, &["No line contains it."]);
    // The page of the run shows the end only, with the same numbers.
    has(&studio.get(&format!("/runs/{id}")).body, &["id=\"print-1-L100000\"", "id=\"print-1-E2\""]);
    for bad in ["?page=many", "?attempt=-1", "?part=1&from=x", "?part=1&out=x"] {
        assert_eq!(studio.get(&format!("{log}{bad}")).status, 400, "{bad}");
    }
    assert_eq!(studio.get(&format!("{log}?part=1&from=99999999999")).status, 200);
    assert_eq!(studio.get(&format!("{log}?attempt=7")).status, 404);
}

#[test]
fn what_a_running_check_prints_arrives_while_it_runs() {
    let desk = Desk::new();
    desk.write("slow.yaml", "name: slow\nchecks: {talk: {type: command, exec: 'seq 1 3000; echo first >&2; while [ ! -e go ]; do sleep 0.05; done; echo done'}}\n");
    let studio = studio(&desk);
    let mut child = desk.start(&["run", "slow.yaml", "--quiet"]);
    desk.until("it runs", || studio.json("/api/runs?status=running")["runs"][0]["id"].is_string());
    let id = studio.json("/api/runs?status=running")["runs"][0]["id"].as_str().expect("a run").to_owned();
    let log = format!("/runs/{id}/logs/talk");
    desk.until("its output is there", || studio.get(&log).body.contains("id=\"talk-1-L3000\""));
    let page = studio.get(&log).body;
    has(&page, &["data-follow=\"\"", "data-out=\"3000\"", "--follow", "running"]);
    has(&studio.get(&format!("/runs/{id}")).body, &["data-follow=\"\"", "id=\"talk-1-L3000\""]);
    let since = format!("{log}?attempt=1&part=1&out=3000&err=1");
    let nothing = studio.get(&since).body;
    assert!(nothing.contains("data-running") && !nothing.contains("<li"), "{nothing}");
    desk.write("go", "");
    child.wait().expect("it ends");
    let rest = studio.get(&since).body;
    assert!(!rest.contains("data-running") && rest.contains("id=\"talk-1-L3001\""), "{rest}");
    assert!(!rest.contains("L3000\""), "nothing comes twice: {rest}");
}

#[test]
fn the_transcript_of_an_agent_stands_beside_its_outcomes() {
    let desk = Desk::new();
    let claude = r##"#!/bin/sh
cat > /dev/null
line() { printf '%s\n' "$1"; }
line '{"type":"system","subtype":"init","session_id":"s1","model":"opus"}'
line '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I read the **change** <script>alert(1)</script>."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"src/lib.rs"}}]}}'
line '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no such file"}]}}'
line '{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"Nothing to complain about."}]}}'
line '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"Fine.","session_id":"s1","total_cost_usd":0.25,"modelUsage":{"opus":{"inputTokens":100,"outputTokens":20}},"permission_denials":[]}'
"##;
    let path = desk.write("bin/claude", claude);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be executed");
    desk.write("agent.yaml", "name: agent\nchecks: {main: {type: ai, harness: claude, prompt: Review it., permission_enforcement: advisory}}\n");
    let mut command = desk.command(&["run", "agent.yaml", "--output", "json"]);
    let done = Done::from(command.env("ESCROW_HARNESS_CLAUDE", &path).output().expect("it runs"));
    let id = done.json()["run"]["id"].as_str().expect("a run").to_owned();
    let page = studio(&desk).get(&format!("/runs/{id}")).body;
    has(
        &page,
        &[
            "Transcript",
            "1 tool call",
            "Turn 1",
            "I read the <strong>change</strong> &lt;script&gt;",
            "<b class=\"mono\">Read</b>",
            "Nothing to complain about.",
            "$0.25",
            "What it was asked",
            "Review it.",
            "What its program printed",
        ],
    );
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("id=\"graph\""), "one check needs no drawing");
}

#[test]
fn an_approval_that_went_stale_says_what_differs() {
    let desk = Desk::new();
    let text = r#"
name: stale
checks:
  number: {type: command, exec: "echo x >> count; wc -l < count"}
  ship:
    type: command
    criticality: external
    depends_on: number
    requires_approval: true
    exec: "echo ship {{ outputs.number }}"
  again:
    type: command
    depends_on: number
    exec: sleep 0.3
    on_success: {transitions: [{when: "attempt < 2", to: number}]}
"#;
    let id = run(&desk, text, 4);
    let studio = studio(&desk);
    for path in [format!("/runs/{id}"), "/approvals".to_owned()] {
        let page = studio.get(&path).body;
        has(&page, &["What differs from what was asked before", "went stale", "<del>", "<ins>"]);
        let table =
            page.split("class=\"diff\"").nth(1).expect("a table").split("</table>").next().expect("its end");
        assert!(table.contains("outputs.number") && !table.contains("playbook"), "{table}");
    }
}

#[test]
fn claims_of_manifests_stand_beside_what_was_measured() {
    let desk = Desk::new();
    let page = studio(&desk).get("/lifecycle").body;
    has(
        &page,
        &["Claimed and measured", "session.started", "native", "claimed, and not measured yet", "claude"],
    );
}

/// An external check that is cut off after it has printed something.
const ROLLOUT: &str = "name: deploy
checks:
  rollout:
    type: command
    criticality: external
    timeout: 500ms
    EFFECT_KEY
    exec: |
      echo pushed layer 3 of 4
      sleep 20
";

#[test]
fn the_question_about_an_unknown_effect_shows_what_was_attempted() {
    let desk = Desk::new();
    desk.write("deploy.yaml", &ROLLOUT.replace("EFFECT_KEY", "effect_key: rollout-7"));
    for _ in 0..2 {
        assert_eq!(desk.escrow(&["run", "deploy.yaml", "--quiet"]).code, Some(4));
    }
    let waits = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"].clone();
    let first = waits[0]["run_id"].as_str().expect("a run").to_owned();
    for wait in waits.as_array().expect("a list") {
        let attempted = &wait["attempted"];
        assert_eq!(attempted["run_id"], first.as_str(), "the second run waits for the effect of the first");
        assert_eq!(attempted["key"], "rollout-7");
        assert_eq!(attempted["stdout"], "pushed layer 3 of 4");
        assert!(attempted["request"]["fields"]["exec"]["shell"].as_str().unwrap().contains("sleep 20"));
    }
    let parts = [
        "echo pushed layer 3 of 4\n",
        "sleep 20",
        "rollout-7",
        "still running after 500ms",
        &*desk.path().display().to_string(),
    ];
    let said = desk.escrow(&["approvals"]).stdout + &desk.escrow(&["attention"]).stdout;
    let explained = desk.escrow(&["explain", &first]).stdout;
    for part in parts {
        assert!(said.matches(part).count() >= 4, "`{part}`: {said}");
        assert!(explained.contains(part), "`{part}`: {explained}");
    }
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    for wait in waits.as_array().expect("a list") {
        let page = studio.get(&format!("/runs/{}", wait["run_id"].as_str().expect("a run"))).body;
        let exact = exact(&page);
        for part in parts {
            assert!(exact.contains(part), "`{part}` is not in the box: {exact}");
        }
        assert!(exact.contains("<p>pushed layer 3 of 4</p>"), "what it printed: {exact}");
    }
}

/// The box with what a person decides about.
fn exact(page: &str) -> &str {
    let start = page.find("class=\"exact\"").unwrap_or_else(|| panic!("no box: {page}"));
    let end = page[start..].find("</footer>").unwrap_or_else(|| panic!("no end: {page}"));
    &page[start..start + end]
}

#[test]
fn an_effect_that_was_cut_off_with_its_escrow_shows_what_it_had_printed() {
    let desk = Desk::new();
    desk.write("deploy.yaml", &ROLLOUT.replace("timeout: 500ms", "").replace("EFFECT_KEY", ""));
    let mut run = desk.command(&["run", "deploy.yaml", "--quiet"]).spawn().expect("it starts");
    desk.until("it has printed", || {
        let spool = std::fs::read_dir(desk.path().join(".escrow/spool")).into_iter().flatten().flatten();
        let files = spool.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
        let is_output = |file: &std::fs::DirEntry| file.file_name().to_string_lossy().ends_with(".stdout");
        files.filter(is_output).any(|file| file.metadata().is_ok_and(|file| file.len() > 0))
    });
    run.kill().expect("it is killed");
    run.wait().expect("it has ended");
    assert_eq!(desk.escrow(&["resume", "last", "--quiet"]).code, Some(4));
    let attempted =
        desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["attempted"].clone();
    assert_eq!(attempted["stdout"], "pushed layer 3 of 4");
    assert_eq!(attempted["ended"], "Escrow was ended while this ran");
}

const RELEASE: &str = "name: release
inputs: {version: {type: string}}
checks:
  publish:
    type: command
    criticality: external
    idempotent: true
    exec: |
      echo publishing {{ inputs.version }}
      touch published
";

#[test]
fn the_approval_of_a_nested_playbook_shows_the_external_commands_in_its_box() {
    let desk = Desk::new();
    desk.write("release.yaml", RELEASE);
    desk.write(
        "ship.yaml",
        "name: ship
checks: {ask: {type: playbook, playbook: release.yaml, with: {version: '1.2'}, criticality: external, requires_approval: true}}
",
    );
    assert_eq!(desk.escrow(&["run", "ship.yaml", "--quiet"]).code, Some(4));
    let studio = Studio::start_with(&desk, &["--no-daemon"]);
    let page = studio.get("/approvals").body;
    for part in [
        "release.yaml",
        "1.2",
        "<code>publish</code>",
        "echo publishing {{ inputs.version }}",
        "touch published",
    ] {
        assert!(exact(&page).contains(part), "`{part}` is not in the box: {}", exact(&page));
    }
    let attention = studio.get("/").body;
    for part in ["release.yaml", "1.2", "echo publishing", "touch published", "Expires"] {
        assert!(attention.contains(part), "`{part}` is not said: {attention}");
    }
    assert!(!attention.contains("\\u{a}"), "line ends are line ends: {attention}");
}

#[test]
fn nested_runs_stand_below_the_run_that_they_are_nested_in() {
    let desk = Desk::new();
    desk.write("inner.yaml", "name: inner\nchecks: {a: {type: command, exec: echo a}}\n");
    desk.write(
        "outer.yaml",
        "name: outer\nchecks:\n  one: {type: playbook, playbook: inner.yaml}\n  two: {type: playbook, playbook: inner.yaml, depends_on: one}\n",
    );
    let invocation = desk.escrow(&["invocation", "start", "--name", "Release"]).stdout;
    for arguments in [&["--quiet"][..], &["--quiet"], &["--quiet", "--invocation", invocation.trim()]] {
        let all: Vec<&str> = ["run", "outer.yaml"].into_iter().chain(arguments.iter().copied()).collect();
        assert_eq!(desk.escrow(&all).code, Some(0));
    }
    let studio = studio(&desk);
    for path in ["/runs", "/runs?by=time"] {
        let page = studio.get(path).body;
        let names: Vec<&str> = page
            .split("class=\"rid\"")
            .skip(1)
            .map(|rest| &rest[rest.find('>').unwrap() + 1..][..5])
            .collect();
        assert_eq!(names, ["outer", "inner", "inner"].repeat(3), "{path}");
    }
    let page = studio.get("/runs").body;
    has(&page, &["9 runs", "1 run, 2 nested"]);
    let inside = page.split("class=\"rid\" href=\"").nth(2).and_then(|rest| rest.split('"').next());
    let crumbs = studio.get(inside.expect("a nested run")).body;
    has(crumbs.split("class=\"verdict\"").next().expect("what stands above"), &[">Release</a>"]);
    let shell =
        page.split("In a shell: <code>").nth(1).and_then(|rest| rest.split('<').next()).expect("a command");
    let words: Vec<&str> = shell.split(' ').skip(1).chain(["--output", "json"]).collect();
    assert_eq!(
        desk.escrow(&words).json()["runs"].as_array().map(Vec::len),
        Some(9),
        "{shell} lists the same"
    );
    let alone = studio.get("/runs?playbook=inner").body;
    has(&alone, &["escrow runs --all --playbook inner --limit 100", "in <a class=\"id\""]);
}

#[test]
fn the_run_of_a_chain_and_those_of_its_steps_are_one_group() {
    let desk = Desk::new();
    desk.write("report.yaml", "name: report\nchecks: {a: {type: command, criticality: external, idempotent: true, exec: \"echo a\\necho b\"}}\n");
    desk.write("chain.yaml", "name: nightly\nsteps: [{skill: report}, {skill: report}]\n");
    assert_eq!(desk.escrow(&["chain", "define", "chain.yaml"]).code, Some(0));
    for _ in 0..2 {
        assert_eq!(desk.escrow(&["chain", "fire", "nightly", "--quiet"]).code, Some(0));
    }
    let studio = studio(&desk);
    let page = studio.get("/runs").body;
    assert_eq!(page.matches("class=\"inv\"").count(), 2, "a group for each run of the chain");
    assert_eq!(page.matches("1 run, 2 nested").count(), 2);
    assert!(!page.contains("in <a class=\"id\""), "each step stands below the run of its chain");
    // Found alone, a step says where it belongs; asked for by its invocation, it is what was asked for.
    has(&studio.get("/runs?playbook=report").body, &["in <a class=\"id\""]);
    let step = studio.json("/api/chain-runs")["chain_runs"][0]["steps"][0]["invocation_id"].clone();
    let step = step.as_str().expect("an invocation");
    has(&studio.get(&format!("/runs?invocation={step}")).body, &["1 run, 1 invocation", step]);
    // One request is one card, with the steps below the run of the chain.
    let page = studio.get("/invocations").body;
    assert_eq!(page.matches("<section class=\"sect\"").count(), 2, "{page}");
    assert_eq!(page.matches("<tr class=\"nested\">").count(), 4);
    // Commands of several lines are shown as such.
    let page = studio.get("/chains/nightly").body;
    has(&page, &["echo a\necho b\n"]);
    assert!(!page.contains("\\u{a}"));
}

#[test]
fn a_gate_whose_verdict_has_no_summary_shows_why_it_is_closed() {
    let desk = Desk::new();
    desk.write("show.yaml", "name: train\nplays:\n  build: {playbook: build.yaml, gate: accept.yaml}\n");
    desk.write(
        "build.yaml",
        "inputs: {feedback: {default: ''}}\nchecks: {main: {type: command, exec: 'true'}}\n",
    );
    desk.write("accept.yaml", "checks:\n  judge:\n    type: command\n    outcome: gate_verdict\n    exec: |\n      echo '{\"gate_passed\": false, \"blocking_reason\": \"no test for the endpoint\"}'\n");
    assert_eq!(desk.escrow(&["play", "run", "show.yaml", "--quiet"]).code, Some(4));
    let studio = studio(&desk);
    has(&studio.get("/shows").body, &["waits for a person", "no test for the endpoint"]);
}

#[test]
fn a_run_with_warnings_says_so_once_and_not_in_green() {
    let desk = Desk::new();
    let id = run(
        &desk,
        "artifacts: {expected: [{id: notes, path: notes.md, required: false, description: Notes}]}
checks: {bench: {type: command, exec: sleep 0.02}}",
        0,
    );
    let studio = studio(&desk);
    let page = studio.get(&format!("/runs/{id}")).body;
    let verdict = &page
        [page.find("class=\"verdict\"").expect("a verdict")..page.find("class=\"facts\"").expect("facts")];
    let headline =
        verdict.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).expect("a headline");
    assert_eq!(verdict.matches(headline).count(), 1, "{verdict}");
    has(&page, &["Verified <b class=\"warn\">warning</b>"]);
    let measured =
        studio.json(&format!("/api/runs/{id}"))["checks"]["bench"]["result"]["duration_ms"].to_string();
    let timeline = &page[page.find("id=\"timeline\"").expect("a timeline")..];
    let row = timeline.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next()).expect("rows");
    assert!(
        row.contains(&format!(">{measured}ms<")),
        "the timeline has the time of the list: {measured}: {row}"
    );
}
