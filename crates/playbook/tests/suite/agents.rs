//! Agent profiles, and what a playbook makes of them.

use escrow_model::{Field, Plan, Source};
use escrow_playbook::{read_agent, read_beside, read_profile, render, report};

use crate::support::{CATALOG, Project, REVIEWER};

fn plan(text: &str) -> Plan {
    let reading = read_beside(text, "x.yaml", CATALOG, &Project);
    reading.plan.unwrap_or_else(|| panic!("{}", render(&reading.diagnostics, text, false)))
}

/// What a person is told, in one line per problem: code, file, line, message.
fn told(text: &str) -> Vec<String> {
    let reading = read_beside(text, "x.yaml", CATALOG, &Project);
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
fn a_profile_says_what_the_agent_is_and_what_it_delivers() {
    let reading = read_profile(REVIEWER.as_bytes(), "reviewer.md", "reviewer");
    assert_eq!(reading.diagnostics, []);
    let profile = reading.profile.expect("it is good");
    assert_eq!((profile.name.as_str(), profile.description.as_str()), ("reviewer", "reviews changes"));
    assert!(matches!(&profile.command, Some(Field::Argv(words)) if words.len() == 3));
    assert_eq!(profile.timeout_ms, Some(300_000));
    assert!(profile.artifacts.expected.iter().all(|one| one.source == Source::AgentProfile));
    assert!(profile.instructions.starts_with("You are a reviewer."));
}

#[test]
fn what_only_a_harness_needs_is_kept_for_it() {
    let text =
        "---\nmodel: claude/sonnet\npermission: edit\nauth: login\nbudget: { usd: 1.5, turns: 20 }\n---\n";
    let profile = read_profile(text.as_bytes(), "a.md", "a").profile.expect("it is good");
    assert_eq!((profile.harness.as_deref(), profile.model.as_deref()), (Some("claude"), Some("sonnet")));
    assert_eq!((profile.permission.as_deref(), profile.auth.as_deref()), (Some("edit"), Some("login")));
    assert_eq!(profile.budget, Some(serde_json::json!({ "usd": 1.5, "turns": 20 })));
}

#[test]
fn everything_that_is_wrong_with_a_profile_is_told_at_once_with_its_line() {
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
fn an_agent_of_the_run_brings_its_artifacts_and_the_playbook_replaces_by_id_in_place() {
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
fn without_a_collision_the_check_says_so() {
    let report =
        report(&plan("agent: reviewer\nchecks: { a: { type: noop } }")).artifacts.expect("a contract");
    assert_eq!(report.lines[3], "no id collisions with agent_profile defaults");
    assert_eq!((report.required, report.optional), (1, 1));
}

#[test]
fn an_agent_of_one_check_delivers_into_a_folder_of_its_own() {
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
fn what_an_agent_is_told_is_no_template_and_the_prompt_is_one() {
    let plan = plan("checks: { a: { type: agent, agent: reviewer, prompt: 'on {{ event.name }}' } }");
    let Field::Text(stdin) = &plan.checks[0].fields["stdin"] else { panic!("text") };
    assert!(stdin.source().ends_with("\n\non {{ event.name }}"));
    assert!(stdin.source().contains("{{ \"{\" }}{ braces }}"), "{}", stdin.source());
}

#[test]
fn a_nested_playbook_brings_what_it_promises_under_the_name_of_its_check() {
    let plan = plan("checks: { deploy: { type: playbook, playbook: nested.yaml } }");
    assert_eq!(contract(&plan), ["deploy__notes deploy/notes.md playbook"]);
    assert_eq!(plan.artifacts.expected[0].check.as_deref(), Some("deploy"));
}

#[test]
fn an_agent_that_there_is_not_is_told_with_those_that_there_are() {
    let reading = read_beside(
        "agent: reveiwer\nchecks: { a: { type: agent, agent: nobody, prompt: x } }",
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
fn a_broken_profile_is_told_once_with_its_own_lines() {
    let text = "checks:\n  a: { type: agent, agent: broken, prompt: x }\n  b: { type: agent, agent: broken, prompt: x }\n";
    assert_eq!(
        told(text),
        [
            "E0162 x.yaml:2 the profile of `broken` is not good",
            "E0103 .escrow/agents/broken.md:2 an agent profile has no key `comand`",
            "E0126 .escrow/agents/broken.md:3 an artifact cannot be there",
            "E0125 .escrow/agents/broken.md:3 two artifacts are called `a`",
        ]
    );
    let reading = read_beside(text, "x.yaml", CATALOG, &Project);
    let shown = render(&reading.diagnostics, text, false);
    assert!(shown.contains("2 | comand: x"), "{shown}");
    assert!(shown.contains("did you mean `command`?"), "{shown}");
}

#[test]
fn an_agent_without_a_command_is_refused_clearly() {
    let reading = read_agent("thinker", CATALOG, &Project);
    assert_eq!(reading.diagnostics[0].code, "E0163");
    assert!(reading.diagnostics[0].help.as_deref().unwrap_or_default().contains("harness `claude`"));
    assert_eq!(
        told("checks: { a: { type: agent, prompt: x } }"),
        ["E0106 x.yaml:1 an `agent` check needs `agent`"]
    );
}

#[test]
fn one_task_for_an_agent_is_a_plan_of_one_check() {
    let reading = read_agent("reviewer", CATALOG, &Project);
    assert_eq!(reading.diagnostics, []);
    let plan = reading.plan.expect("it is good");
    assert_eq!((plan.name.as_str(), plan.checks.len()), ("reviewer", 1));
    assert_eq!((plan.checks[0].name.as_str(), plan.checks[0].own_folder), ("main", false));
    assert_eq!(
        contract(&plan),
        ["report report.md agent_profile optional", "verdict verdict.json agent_profile"]
    );
}

#[test]
fn a_prompt_with_an_agent_that_is_a_program_is_a_check_of_that_agent() {
    let plan =
        plan("agent: reviewer\nprompt: Review {target}.\nartifacts: { expected: [{ id: x, path: x }] }");
    assert_eq!((plan.checks[0].name.as_str(), plan.checks[0].provider.as_str()), ("main", "command"));
    assert!(plan.inputs["target"].required);
    assert_eq!(contract(&plan).len(), 3);
}

#[test]
fn an_artifact_that_is_not_expected_cannot_be_asked_of_a_check() {
    let text = "
artifacts: { expected: [{ id: review, path: review.md }] }
checks: { a: { type: noop, artifacts: [reveiw] }, b: { type: noop, artifacts: zzz } }
";
    assert_eq!(
        told(text),
        ["E0166 x.yaml:3 no artifact is called `reveiw`", "E0166 x.yaml:3 no artifact is called `zzz`"]
    );
}
