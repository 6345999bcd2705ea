//! Agent profiles, and how playbooks apply them.

use escrow_model::{Field, Plan, Source};
use escrow_playbook::{read, read_agent, read_profile, render, report};

use crate::support::{CATALOG, Project, REVIEWER};

fn plan(text: &str) -> Plan {
    let reading = read(text, "x.yaml", CATALOG, &Project);
    reading.plan.unwrap_or_else(|| panic!("{}", render(&reading.diagnostics, text, false)))
}

/// The diagnostics, one line each: code, file, line, message.
fn diagnostics(text: &str) -> Vec<String> {
    let reading = read(text, "x.yaml", CATALOG, &Project);
    let line =
        |one: &escrow_playbook::Diagnostic| format!("{} {}:{} {}", one.code, one.file, one.line, one.message);
    reading.diagnostics.iter().map(line).collect()
}

/// `id path source`, in order.
fn contract(plan: &Plan) -> Vec<String> {
    let line = |one: &escrow_model::ExpectedArtifact| {
        let required = if one.required { "" } else { " optional" };
        format!("{} {} {}{required}", one.id, one.location.label(), one.source.as_str())
    };
    plan.artifacts.expected.iter().map(line).collect()
}

#[test]
fn a_profile_describes_the_agent_and_its_artifacts() {
    let reading = read_profile(REVIEWER.as_bytes(), "reviewer.md", "reviewer");
    assert_eq!(reading.diagnostics, []);
    let profile = reading.profile.expect("valid");
    assert_eq!((profile.name.as_str(), profile.description.as_str()), ("reviewer", "reviews changes"));
    assert!(matches!(&profile.command, Some(Field::Argv(words)) if words.len() == 3));
    assert_eq!(profile.timeout_ms, Some(300_000));
    assert!(profile.artifacts.expected.iter().all(|one| one.source == Source::AgentProfile));
    assert!(profile.instructions.starts_with("You are a reviewer."));
}

#[test]
fn harness_keys_are_kept() {
    let text =
        "---\nmodel: claude/sonnet\npermission: edit\nauth: login\nbudget: { usd: 1.5, turns: 20 }\n---\n";
    let profile = read_profile(text.as_bytes(), "a.md", "a").profile.expect("valid");
    assert_eq!((profile.harness.as_deref(), profile.model.as_deref()), (Some("claude"), Some("sonnet")));
    assert_eq!((profile.permission.as_deref(), profile.auth.as_deref()), (Some("edit"), Some("login")));
    assert_eq!(profile.budget, Some(serde_json::json!({ "usd": 1.5, "turns": 20 })));
}

#[test]
fn every_problem_of_a_profile_is_reported_with_its_line() {
    for (text, expected) in [
        ("", &["E0164:1"][..]),
        ("# no front matter", &["E0164:1"]),
        ("---\ncommand: x\n", &["E0164:1"]),
        ("---\nname: other\ncomand: x\ncolour: red\n---\n", &["E0165:2", "E0103:3", "E0103:4"]),
        ("---\nexec: x\nartifacts: {}\n---\n", &["E0104:2", "E0104:3"]),
        ("---\ncommand: {}\n---\n", &["E0105:2"]),
        ("---\ncommand: []\ntimeout: soon\nharness: cloude\n---\n", &["E0105:2", "E0121:3", "E0108:4"]),
        ("---\ncommand: echo {{ outputs.x }} {{ nothing }}\n---\n", &["E0114:2", "E0114:2"]),
        ("---\ncommand: eval {{ env.X }}\n---\n", &["E0119:2"]),
        ("---\nartifact_defaults: []\n---\n", &["E0105:2"]),
        ("---\nartifact_defaults: { expected: [{ path: a }, { id: b }] }\n---\n", &["E0106:2", "E0127:2"]),
        (
            "---\nartifact_defaults:\n  expected:\n    - { id: a, path: /a }\n    - { id: a, path: b }\n---\n",
            &["E0126:4", "E0125:5"],
        ),
        ("---\na: [\n---\n", &["E0101:2"]),
        ("---\n- a\n---\n", &["E0105:2"]),
    ] {
        let reading = read_profile(text.as_bytes(), "a.md", "a");
        let found: Vec<String> =
            reading.diagnostics.iter().map(|one| format!("{}:{}", one.code, one.line)).collect();
        assert_eq!(found, expected, "{text:?}: {}", render(&reading.diagnostics, "", false));
        assert!(reading.profile.is_none(), "{text:?}");
    }
    assert_eq!(read_profile(b"---\n\xff\n---\n", "a.md", "a").diagnostics[0].code, "E0137");
    let huge = format!("---\n---\n{}", "x".repeat(600_000));
    assert_eq!(read_profile(huge.as_bytes(), "a.md", "a").diagnostics[0].code, "E0134");
}

#[test]
fn the_playbook_replaces_artifacts_of_the_run_agent_by_id() {
    let text = "
agent: reviewer
artifacts:
  expected:
    - { id: summary, path: summary.md }
    - { id: report, path: final.md, description: the last one }
checks: { a: { type: noop } }
";
    let plan = plan(text);
    assert_eq!(
        contract(&plan),
        ["report final.md playbook", "verdict verdict.json agent_profile", "summary summary.md playbook"]
    );
    let report = report(&plan).artifacts.expect("there is a contract");
    assert_eq!(
        report.lines,
        [
            "contract resolved (3 expected: 3 required, 0 optional)",
            "sources: 2 from playbook, 1 from agent_profile",
            "all paths relative-OK",
            "`report` of the playbook replaces that of the agent_profile",
        ]
    );
    assert_eq!(report.expected[0].replaces, Some(Source::AgentProfile));
}

#[test]
fn the_report_states_that_there_are_no_collisions() {
    let report =
        report(&plan("agent: reviewer\nchecks: { a: { type: noop } }")).artifacts.expect("a contract");
    assert_eq!(report.lines[3], "no id collisions with agent_profile defaults");
    assert_eq!((report.required, report.optional), (1, 1));
}

#[test]
fn the_agent_of_a_check_delivers_into_the_folder_of_the_check() {
    let text = "
artifacts: { expected: [{ id: notes, path: notes.md }, { id: second__report, path: elsewhere.md }] }
checks:
  first: { type: agent, agent: reviewer, prompt: 'Look at {{ event.name }}', artifacts: [verdict, notes] }
  second: { type: agent, agent: reviewer, prompt: again, timeout: 1m, env: { MODE: loose, MORE: x } }
";
    let plan = plan(text);
    assert_eq!(
        contract(&plan),
        [
            "notes notes.md playbook",
            "second__report elsewhere.md playbook",
            "first__report first/report.md agent_profile optional",
            "first__verdict first/verdict.json agent_profile",
            "second__verdict second/verdict.json agent_profile",
        ]
    );
    let [first, second] = plan.checks.as_slice() else { panic!("two checks") };
    assert_eq!(first.artifacts, ["first__verdict", "notes"]);
    assert_eq!((first.provider.as_str(), first.own_folder, first.timeout_ms), ("command", true, 300_000));
    assert_eq!(second.timeout_ms, 60_000);
    let env: Vec<String> =
        second.env.iter().map(|(name, text)| format!("{name}={}", text.source())).collect();
    assert_eq!(env, ["MODE=loose", "MORE=x"]);
    assert_eq!(first.fields.keys().collect::<Vec<_>>(), ["exec", "stdin"]);
}

#[test]
fn the_prompt_is_a_template_and_the_instructions_are_not() {
    let plan = plan("checks: { a: { type: agent, agent: reviewer, prompt: 'on {{ event.name }}' } }");
    let Field::Text(stdin) = &plan.checks[0].fields["stdin"] else { panic!("text") };
    assert!(stdin.source().ends_with("\n\non {{ event.name }}"));
    assert!(stdin.source().contains("{{ \"{\" }}{ braces }}"), "{}", stdin.source());
}

#[test]
fn artifacts_of_a_nested_playbook_are_prefixed_with_the_check() {
    let plan = plan("checks: { deploy: { type: playbook, playbook: nested.yaml } }");
    assert_eq!(contract(&plan), ["deploy__notes deploy/notes.md playbook"]);
    assert_eq!(plan.artifacts.expected[0].check.as_deref(), Some("deploy"));
}

#[test]
fn an_unknown_agent_is_reported_with_suggestions() {
    let reading = read(
        "agent: reveiwer\nchecks: { a: { type: agent, agent: absent, prompt: x } }",
        "x.yaml",
        CATALOG,
        &Project,
    );
    let helps: Vec<_> = reading.diagnostics.iter().map(|one| one.help.clone().unwrap_or_default()).collect();
    assert_eq!(
        helps,
        ["did you mean `reviewer`?", "the agents are `broken`, `reviewer`, `thinker`"],
        "{:#?}",
        reading.diagnostics
    );
}

#[test]
fn an_invalid_profile_is_reported_once_with_its_own_lines() {
    let text = "checks:\n  a: { type: agent, agent: broken, prompt: x }\n  b: { type: agent, agent: broken, prompt: x }\n";
    assert_eq!(
        diagnostics(text),
        [
            "E0162 x.yaml:2 the profile of agent `broken` is invalid",
            "E0103 .escrow/agents/broken.md:2 an agent profile has no key `comand`",
            "E0126 .escrow/agents/broken.md:3 invalid artifact path `../a`",
            "E0125 .escrow/agents/broken.md:3 duplicate artifact id `a`",
        ]
    );
    let reading = read(text, "x.yaml", CATALOG, &Project);
    let shown = render(&reading.diagnostics, text, false);
    assert!(shown.contains("2 | comand: x"), "{shown}");
    assert!(shown.contains("did you mean `command`?"), "{shown}");
}

#[test]
fn an_agent_without_a_command_is_an_ai_check() {
    let plan = plan(
        "checks: { a: { type: agent, agent: thinker, prompt: 'on {{ event.name }}', permission: full, repair: 2 } }",
    );
    let check = &plan.checks[0];
    assert_eq!((check.provider.as_str(), check.timeout_ms), ("ai", 1_800_000));
    let Field::Text(prompt) = &check.fields["prompt"] else { panic!("text") };
    assert_eq!(prompt.source(), "Think.\n\non {{ event.name }}");
    for (key, value) in [("harness", "claude"), ("model", "opus"), ("permission", "full")] {
        assert_eq!(check.fields[key], Field::Plain(value.into()));
    }
    assert_eq!(check.fields["repair"], Field::Plain(2.into()));
    let other = self::plan("checks: { a: { type: agent, agent: thinker, prompt: x, harness: codex } }");
    assert_eq!(other.checks[0].fields["harness"], Field::Plain("codex".into()));
    assert!(!other.checks[0].fields.contains_key("model"), "a model belongs to its harness");
    assert_eq!(read_agent("thinker", CATALOG, &Project).diagnostics, []);
    assert_eq!(
        diagnostics("checks: { a: { type: agent, prompt: x } }"),
        ["E0106 x.yaml:1 an `agent` check needs `agent`"]
    );
}

#[test]
fn the_keys_of_a_harness_mean_nothing_to_a_command() {
    assert_eq!(
        diagnostics("checks: { a: { type: agent, agent: reviewer, prompt: x, repair: 1, model: m } }"),
        ["W0211 x.yaml:1 `repair` has no effect", "W0211 x.yaml:1 `model` has no effect"]
    );
}

#[test]
fn the_only_check_owes_every_artifact_when_it_can_be_repaired() {
    let playbook = |repair: u32| {
        format!(
            "artifacts: {{ expected: [{{ id: x, path: x }}] }}\n\
             checks: {{ a: {{ type: ai, prompt: p, repair: {repair} }} }}"
        )
    };
    assert_eq!(plan(&playbook(1)).checks[0].artifacts, ["x"]);
    assert!(plan(&playbook(0)).checks[0].artifacts.is_empty());
}

#[test]
fn a_task_for_an_agent_is_a_plan_of_one_check() {
    let reading = read_agent("reviewer", CATALOG, &Project);
    assert_eq!(reading.diagnostics, []);
    let plan = reading.plan.expect("valid");
    assert_eq!((plan.name.as_str(), plan.checks.len()), ("reviewer", 1));
    assert_eq!((plan.checks[0].name.as_str(), plan.checks[0].own_folder), ("main", false));
    assert_eq!(
        contract(&plan),
        ["report report.md agent_profile optional", "verdict verdict.json agent_profile"]
    );
}

#[test]
fn a_prompt_with_a_command_agent_is_a_check_of_that_agent() {
    let plan =
        plan("agent: reviewer\nprompt: Review {target}.\nartifacts: { expected: [{ id: x, path: x }] }");
    assert_eq!((plan.checks[0].name.as_str(), plan.checks[0].provider.as_str()), ("main", "command"));
    assert!(plan.inputs["target"].required);
    assert_eq!(contract(&plan).len(), 3);
}

#[test]
fn a_check_cannot_name_an_unknown_artifact() {
    let text = "
artifacts: { expected: [{ id: review, path: review.md }] }
checks: { a: { type: noop, artifacts: [reveiw] }, b: { type: noop, artifacts: zzz } }
";
    assert_eq!(
        diagnostics(text),
        ["E0166 x.yaml:3 unknown artifact `reveiw`", "E0166 x.yaml:3 unknown artifact `zzz`"]
    );
}
