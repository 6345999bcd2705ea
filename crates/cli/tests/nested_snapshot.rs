//! Nested playbooks are those of the moment at which the outermost run started, whatever becomes of their files.

mod desk;

use desk::Desk;
use serde_json::Value;

fn waiting(desk: &Desk) -> Value {
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    assert_eq!(waits["approvals"].as_array().map(Vec::len), Some(1), "{waits}");
    waits["approvals"][0].clone()
}

fn approve(desk: &Desk) {
    let id = waiting(desk)["id"].as_str().expect("an id").to_owned();
    let approved = desk.escrow(&["approve", &id]);
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
}

fn remove(desk: &Desk, file: &str) {
    std::fs::remove_file(desk.path().join(file)).expect("it is there");
}

fn number_of_runs(desk: &Desk) -> usize {
    desk.escrow(&["runs", "--output", "json"]).json()["runs"].as_array().map_or(0, Vec::len)
}

const SHIP: &str =
    "name: ship\nchecks: {act: {type: command, criticality: external, exec: 'echo shown >> acts'}}";

#[test]
fn an_approval_of_a_nested_playbook_is_for_the_one_that_was_shown() {
    let desk = Desk::new();
    desk.write("ship.yaml", SHIP);
    let nest = "checks: {nest: {type: playbook, playbook: ship.yaml, requires_approval: true}}";
    assert_eq!(desk.run(nest).0, Some(4));
    let asked = waiting(&desk);
    let nested = &asked["nested"];
    assert_eq!(nested["name"], "ship", "{asked}");
    assert!(nested["file"].as_str().is_some_and(|file| file.ends_with("/ship.yaml")), "{asked}");
    assert_eq!(nested["external"][0]["check"], "act", "{asked}");
    assert_eq!(nested["external"][0]["command"], "echo shown >> acts", "{asked}");
    let short = &nested["sha256"].as_str().expect("a digest")[..12];
    let page = desk.escrow(&["approvals"]).stdout;
    assert!(page.contains("nested  ship ("), "{page}");
    assert!(page.contains(&format!("/ship.yaml)  sha256 {short}\n")), "{page}");
    assert!(page.contains("external  act (command): echo shown >> acts\n"), "{page}");
    desk.write("ship.yaml", &SHIP.replace("shown", "other"));
    approve(&desk);
    assert_eq!(desk.read("acts"), "shown\n");
}

#[test]
fn an_approval_of_a_nested_playbook_shows_what_each_effect_asks_for() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        r#"
name: inner
inputs: {n: {type: number, default: 5}}
checks:
  act:
    type: http
    method: POST
    url: https://example.com/{{ inputs.n }}
    headers: {X-Kind: release}
    json: {a: 1, b: ["{{ inputs.n }}"]}
  gh: {type: github, op: pr.merge, repo: a/b, number: 5}
  run:
    type: command
    criticality: external
    shell: bash
    stdin: "{{ inputs.n }}"
    env: {TARGET: prod}
    exec: |
      ./ship
      url: https://example.org
  plain: {type: noop, criticality: external}
"#,
    );
    let nest = "checks: {nest: {type: playbook, playbook: inner.yaml, requires_approval: true}}";
    assert_eq!(desk.run(nest).0, Some(4));
    let asked = waiting(&desk);
    let external = &asked["nested"]["external"];
    let lines =
        |index: usize| external[index]["command"].as_str().expect("a text").lines().collect::<Vec<_>>();
    for line in [
        "method: POST",
        "url: https://example.com/{{ inputs.n }}",
        r#"headers: {"X-Kind":"release"}"#,
        r#"json: {"a":1,"b":["{{ inputs.n }}"]}"#,
    ] {
        assert!(lines(0).contains(&line), "{line}: {external:#}");
    }
    for line in ["op: pr.merge", "repo: a/b", "number: 5"] {
        assert!(lines(1).contains(&line), "{line}: {external:#}");
    }
    // A line of a script is not taken for a key.
    for line in [
        "exec: ./ship",
        "  url: https://example.org",
        "shell: bash",
        "stdin: {{ inputs.n }}",
        r#"env: {"TARGET":"prod"}"#,
    ] {
        assert!(lines(2).contains(&line), "{line}: {external:#}");
    }
    let plain = external[3].as_object().expect("an object");
    assert_eq!(plain.get("command"), Some(&Value::Null), "what has no value is null: {external:#}");
    let page = desk.escrow(&["approvals"]).stdout;
    assert!(page.contains("external  act (http)\n"), "{page}");
    assert!(page.contains("  method: POST\n"), "{page}");
    assert!(page.contains("    url: https://example.org\n"), "{page}");
}

#[test]
fn the_digest_of_an_approval_covers_every_playbook_that_is_reached() {
    let digests = |exec: &str| {
        let desk = Desk::new();
        desk.write("deep.yaml", &SHIP.replace("echo shown >> acts", exec));
        desk.write("middle.yaml", "name: middle\nchecks: {deep: {type: playbook, playbook: deep.yaml}}");
        desk.run("checks: {nest: {type: playbook, playbook: middle.yaml, requires_approval: true}}");
        let asked = waiting(&desk);
        assert_eq!(asked["nested"]["external"][0]["playbook"], "ship", "{asked}");
        assert_eq!(asked["nested"]["external"][0]["command"], exec, "{asked}");
        let page = desk.escrow(&["approvals"]).stdout;
        assert!(page.contains(&format!("external  act of ship (command): {exec}\n")), "{page}");
        (asked["digest"].clone(), asked["nested"]["sha256"].clone())
    };
    let (one, other) = (digests("echo one"), digests("echo other"));
    assert_ne!(one.0, other.0);
    assert_ne!(one.1, other.1);
}

#[test]
fn a_check_that_rewrites_a_nested_playbook_has_no_influence_on_its_own_run() {
    let desk = Desk::new();
    let gated = "checks: {act: {type: command, exec: 'echo gated >> acts', requires_approval: true}}";
    desk.write("inner.yaml", gated);
    desk.write("middle.yaml", "checks: {deep: {type: playbook, playbook: inner.yaml}}");
    desk.write("free.yaml", &gated.replace("gated", "free").replace(", requires_approval: true", ""));
    let (code, document) = desk.run(
        "
checks:
  rewrite: {type: command, exec: 'cp free.yaml inner.yaml && cp free.yaml middle.yaml'}
  nest: {type: playbook, playbook: middle.yaml, depends_on: rewrite}
",
    );
    assert_eq!(code, Some(4), "the nested check asks: {document}");
    approve(&desk);
    assert_eq!(desk.read("acts"), "gated\n");
}

#[test]
fn a_nested_playbook_that_is_missing_or_broken_is_an_error_before_any_check_runs() {
    let desk = Desk::new();
    desk.write("broken.yaml", "checks:\n  a: {typ: noop}\n");
    desk.write("middle.yaml", "checks:\n  deep: {type: playbook, playbook: broken.yaml}\n");
    let playbook = "checks:
  first: {type: command, exec: 'touch ran'}
  gone: {type: playbook, playbook: gone.yaml, depends_on: first}
  nest: {type: playbook, playbook: middle.yaml, depends_on: first}
";
    desk.write("playbook.yaml", playbook);
    for verb in ["run", "check"] {
        let refused = desk.escrow(&[verb, "playbook.yaml"]);
        assert_eq!(refused.code, Some(2), "{verb}: {}", refused.stderr);
        for says in [
            "error[E0174]: nested playbook `gone.yaml` cannot be run",
            "playbook.yaml:3:26",
            "^^^^^^^^ file `gone.yaml` not found",
            "error[E0174]: nested playbook `middle.yaml` cannot be run",
            "middle.yaml:2:26",
            "error[E0106]: a check needs `type`",
            "broken.yaml:2:",
        ] {
            assert!(refused.stderr.contains(says), "{verb}: {says}: {}", refused.stderr);
        }
    }
    assert!(!desk.path().join("ran").exists());
    assert_eq!(number_of_runs(&desk), 0);
    let replayed = desk.escrow(&["replay", "last", "--with", "playbook.yaml"]);
    assert_eq!(replayed.code, Some(2), "{}", replayed.stderr);
    desk.write("p.test.yaml", "playbook: playbook.yaml\ntests: {t: {expect: {run: completed}}}\n");
    let tested = desk.escrow(&["test", "p.test.yaml"]);
    assert!(tested.stderr.contains("error[E0174]"), "{}", tested.stderr);
}

#[test]
fn nested_playbooks_are_found_where_the_commands_run() {
    let desk = Desk::new();
    desk.write("work/inner.yaml", "checks: {a: {type: command, exec: 'touch ran'}}");
    desk.write("books/p.yaml", "checks: {nest: {type: playbook, playbook: inner.yaml}}");
    assert_eq!(desk.escrow(&["run", "books/p.yaml"]).code, Some(2));
    let done = desk.escrow(&["run", "books/p.yaml", "--dir", "work"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(desk.path().join("work/ran").exists());
}

#[test]
fn a_playbook_may_nest_itself_by_any_path() {
    let desk = Desk::new();
    let folder = desk.path().file_name().expect("a name").to_string_lossy().into_owned();
    let (code, document) = desk.run(&format!(
        "
inputs: {{n: {{type: number, default: 0}}}}
checks:
  count: {{type: command, exec: 'echo {{{{ inputs.n }}}} >> counted'}}
  again: {{type: playbook, playbook: '../{folder}/playbook.yaml', if: 'inputs.n < 3', depends_on: count, with: {{n: '{{{{ inputs.n + 1 }}}}'}}}}
"
    ));
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(desk.read("counted"), "0\n1\n2\n3\n");
}

#[test]
fn a_run_that_was_killed_is_resumed_with_the_nested_playbooks_of_its_start() {
    let desk = Desk::new();
    desk.write("inner.yaml", "checks: {act: {type: command, exec: 'echo acted >> acts'}}");
    desk.write("middle.yaml", "checks: {deep: {type: playbook, playbook: inner.yaml}}");
    desk.write(
        "playbook.yaml",
        "
checks:
  long: {type: command, exec: 'touch long; until test -e go || ! test -e long; do sleep 0.05; done'}
  nest: {type: playbook, playbook: middle.yaml, depends_on: long}
",
    );
    let mut run = desk.start(&["run", "playbook.yaml"]);
    desk.until("it works", || desk.path().join("long").exists());
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    remove(&desk, "inner.yaml");
    remove(&desk, "middle.yaml");
    desk.write("go", "");
    let resumed = desk.escrow(&["resume", "last"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(desk.read("acts"), "acted\n");
}

/// The state that imports the run does not have the nested one, so a new one begins.
#[test]
fn an_imported_run_brings_its_nested_playbooks_along() {
    let desk = Desk::new();
    desk.write("inner.yaml", "checks: {act: {type: command, exec: 'test -e ready && echo acted >> acts'}}");
    assert_eq!(desk.run("checks: {nest: {type: playbook, playbook: inner.yaml}}").0, Some(1));
    remove(&desk, "inner.yaml");
    assert_eq!(desk.escrow(&["runs", "export", "last", "--out", "run.json"]).code, Some(0));
    let there = Desk::new();
    there.write("run.json", &desk.read("run.json"));
    assert_eq!(there.escrow(&["runs", "import", "run.json"]).code, Some(0));
    desk.write("ready", "");
    let resumed = there.escrow(&["resume", "last", "--failed"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(desk.read("acts"), "acted\n", "the directory of the run is that of the export");
}

#[test]
fn retries_and_routes_use_the_nested_playbook_of_the_start() {
    for again in
        ["retry: {max: 1, backoff: {delay_ms: 1}}", "transitions: [{when: attempt < 2, to: version}]"]
    {
        let desk = Desk::new();
        desk.write(
            "inner.yaml",
            "inputs: {v: {type: string}}\nchecks: {act: {type: command, exec: 'echo started {{ inputs.v }} >> acts; rm -f inner.yaml; test {{ inputs.v }} = b'}}",
        );
        let nest = format!(
            "
checks:
  version: {{type: command, exec: 'test -e second && echo b || echo a; touch second'}}
  nest: {{type: playbook, playbook: inner.yaml, depends_on: version, with: {{v: '{{{{ outputs.version }}}}'}}, on_fail: {{{again}}}}}
"
        );
        let (_, document) = desk.run(&nest);
        let acts = desk.read("acts");
        assert_eq!(acts.lines().count(), 2, "{again}: {acts}{document}");
    }
}

#[test]
fn a_run_nests_at_most_200_files_of_8_mib_together() {
    let desk = Desk::new();
    for number in 0..201 {
        desk.write(&format!("p{number}.yaml"), "checks: {a: {type: noop}}");
    }
    let nesting = |count: usize| {
        let checks = (0..count).map(|n| format!("  c{n}: {{type: playbook, playbook: p{n}.yaml}}\n"));
        format!("checks:\n{}", checks.collect::<String>())
    };
    desk.write("playbook.yaml", &nesting(200));
    assert_eq!(desk.escrow(&["check", "playbook.yaml"]).code, Some(0));
    desk.write("playbook.yaml", &nesting(201));
    let refused = desk.escrow(&["check", "playbook.yaml"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("a run can nest 200 files, and this is one more"), "{}", refused.stderr);
    let large = format!("checks: {{a: {{type: noop}}}}\n{}", "# comment\n".repeat(300_000));
    for number in 0..3 {
        desk.write(&format!("p{number}.yaml"), &large);
    }
    desk.write("playbook.yaml", &nesting(3));
    let refused = desk.escrow(&["check", "playbook.yaml"]);
    assert_eq!(refused.code, Some(2));
    let says = "the playbooks of a run are larger than 8 MiB together";
    assert!(refused.stderr.contains(says), "{}", refused.stderr);
}

/// The journal of the outer run contains the nested playbook long before the nested run begins.
#[test]
fn a_nested_playbook_with_its_own_secret_written_down_is_refused_before_anything_is_written() {
    let desk = Desk::new();
    desk.write("token", "wonderful-secret");
    desk.write(
        "inner.yaml",
        "secrets: {TOKEN: {file: token}}\nchecks: {a: {type: command, exec: 'echo wonderful-secret'}}",
    );
    desk.write("playbook.yaml", "checks: {nest: {type: playbook, playbook: inner.yaml, if: 'false'}}");
    let refused = desk.escrow(&["run", "playbook.yaml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("contains the value of a declared secret"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("wonderful-secret"), "{}", refused.stderr);
    assert_eq!(number_of_runs(&desk), 0);
    // A diagnostic quotes the line, and the secret in it.
    desk.write(
        "inner.yaml",
        "secrets: {TOKEN: {file: token}}\nchecks: {a: {typ: command, exec: 'echo wonderful-secret'}}",
    );
    let refused = desk.escrow(&["check", "playbook.yaml"]);
    assert_eq!(refused.code, Some(2));
    assert!(!refused.stderr.contains("wonderful-secret"), "{}", refused.stderr);
}

#[test]
fn playbooks_that_nest_each_other_are_external_where_one_of_them_is() {
    let desk = Desk::new();
    desk.write(
        "one.yaml",
        "checks: {other: {type: playbook, playbook: other.yaml}, act: {type: command, criticality: external, exec: 'touch acted'}}",
    );
    desk.write("other.yaml", "name: other\nchecks: {one: {type: playbook, playbook: one.yaml}}");
    for file in ["one.yaml", "other.yaml"] {
        let report = desk.escrow(&["check", file, "--output", "json"]).json();
        let checks = report["report"]["checks"].as_array().expect("checks").clone();
        assert!(checks.iter().all(|check| check["criticality"] == "external"), "{file}: {report}");
    }
    let (_, document) =
        desk.run_with("checks: {nest: {type: playbook, playbook: other.yaml}}", &["--safe-mode"]);
    assert_eq!(document["checks"]["nest"]["skip_reason"], "safe_mode", "{document}");
}
