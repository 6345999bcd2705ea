//! `type: ai` with stand-ins for the programs: scripts that print what the real ones print.

mod desk;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use desk::{Desk, Done};
use serde_json::Value;

/// Reads the prompt and the flags of `claude`, and has a function for its terminal line.
const CLAUDE: &str = r#"#!/bin/sh
prompt=$(cat)
for word in "$@"; do
  case $last in --session-id) id=$word;; --resume) id=$word; resumed=yes;; esac
  last=$word
done
line() { printf '%s\n' "$1"; }
say() {
  line '{"type":"system","subtype":"init","session_id":"'$id'","model":"opus"}'
  line '{"type":"assistant","session_id":"'$id'","message":{"id":"m1","content":[{"type":"text","text":"'"$1"'"}]}}'
}
result() {
  line '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"'"$1"'","session_id":"'$id'","total_cost_usd":0.25,"modelUsage":{"opus":{"inputTokens":100,"outputTokens":20}},"permission_denials":[]}'
}
"#;

struct Agents {
    desk: Desk,
    variables: Vec<(String, String)>,
}

impl Agents {
    /// With a `claude` that does this.
    fn claude(body: &str) -> Agents {
        let agents = Agents { desk: Desk::new(), variables: Vec::new() };
        agents.with("claude", &format!("{CLAUDE}{body}\n"))
    }

    fn with(mut self, harness: &str, script: &str) -> Agents {
        let path = self.desk.write(&format!("bin/{harness}"), script);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be made executable");
        let variable = format!("ESCROW_HARNESS_{}", harness.to_uppercase());
        self.variables.push((variable, path.display().to_string()));
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Agents {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn escrow(&self, arguments: &[&str]) -> Done {
        let mut command = self.desk.command(arguments);
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"] {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        Done::from(command.output().expect("the binary runs"))
    }

    fn run(&self, playbook: &str) -> Value {
        self.run_with(playbook, &[])
    }

    fn run_with(&self, playbook: &str, more: &[&str]) -> Value {
        self.desk.write("playbook.yaml", playbook);
        let mut arguments = vec!["run", "playbook.yaml", "--output", "json"];
        arguments.extend(more);
        self.escrow(&arguments).json()
    }

    /// The prompts that the program was given, in order. A stand-in keeps them with `KEEP`.
    fn prompts(&self) -> Vec<String> {
        let kept = fs::read_to_string(self.desk.path().join("kept/prompts")).unwrap_or_default();
        kept.split("\n=====\n").filter(|one| !one.trim().is_empty()).map(str::to_owned).collect()
    }
}

/// Keeps the prompt outside of the confinement: the playbook must have `permission: full`.
const KEEP: &str = r#"mkdir -p kept; printf '%s\n=====\n' "$prompt" >> kept/prompts"#;

const REVIEW: &str = "
artifacts: { expected: [{ id: review, path: review.md, description: What was found }] }
checks:
  main: { type: ai, harness: claude, prompt: Review the change., repair: 0 }
";

#[track_caller]
fn reason(document: &Value) -> &str {
    document["run"]["reason"]["code"].as_str().unwrap_or_else(|| panic!("no reason: {document}"))
}

#[track_caller]
fn issue(document: &Value) -> (&str, &str) {
    let issue = &document["checks"]["main"]["issues"][0];
    (issue["rule_id"].as_str().unwrap_or_default(), issue["message"].as_str().unwrap_or_default())
}

#[test]
fn an_agent_that_delivers_its_artifact_is_green_and_its_figures_are_known() {
    let agents = Agents::claude("say hello; echo fine > \"$ESCROW_ARTIFACTS/review.md\"; result Done.");
    let document = agents.run(REVIEW);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let check = &document["checks"]["main"];
    assert_eq!(check["output"], "Done.");
    let harness = &check["result"]["harness"];
    let id = harness["session_id"].as_str().expect("a session");
    assert_eq!(
        *harness,
        serde_json::json!({
            "name": "claude", "session_id": id, "model": "opus", "turns": 2, "input_tokens": 100,
            "output_tokens": 20, "cost_usd": 0.25, "is_error": false, "error": null,
            "permission_denials": [], "tool_calls": 0, "final_text": "Done.", "completed": true,
        })
    );
}

#[test]
fn an_agent_that_claims_and_does_not_deliver_has_failed() {
    let agents = Agents::claude("say hello; result 'review.md is written.'");
    let document = agents.run(REVIEW);
    assert_eq!(reason(&document), "run.failed.missing_artifact", "{document:#}");
    let evidence = &document["run"]["reason"]["evidence"];
    assert_eq!(evidence[0]["kind"], "expected_artifact", "{evidence}");
    assert_eq!(evidence[0]["label"], "review.md");
}

#[test]
fn a_repair_continues_the_conversation_with_exactly_what_is_missing() {
    let body = format!(
        "{KEEP}; say hello; if [ -n \"$resumed\" ]; then echo fine > \"$ESCROW_ARTIFACTS/review.md\"; fi; result Done."
    );
    let agents = Agents::claude(&body);
    let playbook = REVIEW.replace("repair: 0", "repair: 1, permission: full");
    let document = agents.run(&playbook);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    assert_eq!(document["checks"]["main"]["runs"], 2);
    let prompts = agents.prompts();
    assert_eq!(prompts.len(), 2);
    let path = format!("{}/review.md", artifacts(&agents, &document).display());
    assert!(prompts[0].starts_with("Review the change.\n\nThis work is under contract."), "{}", prompts[0]);
    assert!(prompts[0].contains(&format!("- {path} — What was found")), "{}", prompts[0]);
    assert!(prompts[1].starts_with("The contract is not met yet."), "{}", prompts[1]);
    assert!(prompts[1].contains(&format!("- {path} is absent — What was found")), "{}", prompts[1]);
    assert!(!prompts[1].contains("Review the change."), "{}", prompts[1]);
    let run = document["run"]["id"].as_str().expect("an id");
    let told = agents.escrow(&["explain", run, "main"]).stdout;
    assert!(told.contains("repair 1"), "{told}");
}

#[test]
fn a_repair_that_does_not_help_leaves_the_run_failed() {
    let agents = Agents::claude("say hello; result 'It is there.'");
    let document = agents.run(&REVIEW.replace("repair: 0", "repair: 2"));
    assert_eq!(reason(&document), "run.failed.missing_artifact", "{document:#}");
    assert_eq!(document["checks"]["main"]["runs"], 3);
}

#[test]
fn an_answer_that_breaks_its_schema_is_repaired_and_validated_again() {
    let body = "say hello; if [ -n \"$resumed\" ]; then result '{\\\"n\\\": 3}'; else result 'three'; fi";
    let agents = Agents::claude(body);
    let playbook = "
checks:
  main:
    type: ai
    harness: claude
    prompt: Count.
    repair: 1
    schema: { type: object, required: [n], properties: { n: { type: integer } } }
    guarantee: output.n === 3
";
    let document = agents.run(playbook);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    assert_eq!(document["checks"]["main"]["output"], serde_json::json!({"n": 3}));
    assert_eq!(document["checks"]["main"]["runs"], 2);
}

#[test]
fn a_fault_is_not_repaired() {
    let agents = Agents::claude("say hello; exit 0");
    let document = agents.run(&REVIEW.replace("repair: 0", "repair: 3"));
    assert_eq!(document["checks"]["main"]["runs"], 1, "{document:#}");
    assert_eq!(issue(&document).0, "ai/truncated");
}

#[test]
fn an_exit_code_of_0_proves_nothing() {
    let error = |fields: &str| {
        format!("line '{{\"type\":\"result\",\"session_id\":\"x\",\"num_turns\":1,{fields}}}'; exit 0")
    };
    for (body, code, help) in [
        ("say hello".to_owned(), "ai/truncated", "no terminal line"),
        (
            error(r#""subtype":"success","is_error":true,"api_error_status":500,"result":"overloaded""#),
            "ai/api",
            "overloaded",
        ),
        (
            error(r#""subtype":"success","is_error":true,"api_error_status":401,"result":"invalid key""#),
            "ai/auth",
            "`ANTHROPIC_API_KEY`",
        ),
        (
            error(r#""subtype":"success","is_error":true,"api_error_status":429,"result":"slow down""#),
            "ai/rate_limit",
            "slow down",
        ),
        (
            error(r#""subtype":"success","is_error":true,"result":"Please run /login""#),
            "ai/login",
            "`auth: login`",
        ),
        ("echo 'error: unknown option --settings' >&2; exit 1".to_owned(), "ai/usage", "npm install"),
        ("say hello; kill -9 $$".to_owned(), "ai/signal", "signal 9"),
    ] {
        let document = Agents::claude(&body).run(REVIEW);
        let (found, message) = issue(&document);
        assert_eq!(found, code, "{document:#}");
        assert!(message.contains(help), "{code}: {message}");
    }
}

#[test]
fn an_agent_that_fails_may_have_acted_before_it_failed() {
    let failed = |fields: &str| format!("line '{{\"type\":\"result\",\"num_turns\":1,{fields}}}'");
    let error = |status: u16| {
        failed(&format!(r#""subtype":"success","is_error":true,"api_error_status":{status},"result":"no""#))
    };
    for (ending, code, state) in [
        (error(500), "ai/api", "unknown"),
        (error(429), "ai/rate_limit", "unknown"),
        (failed(r#""subtype":"success","is_error":true,"result":"no""#), "ai/failed", "unknown"),
        (failed(r#""subtype":"success","is_error":false,"result":"""#), "ai/empty", "unknown"),
        ("result Done.".to_owned(), "check/budget_exhausted", "unknown"),
        // Without credentials the model was not asked, so nothing was done.
        (error(401), "ai/auth", "failed"),
    ] {
        let agents = Agents::claude(&format!("echo published >> published; say hello; {ending}"));
        let document = agents.run(
            "
checks:
  main:
    { type: ai, harness: claude, prompt: Publish., permission: full, criticality: external, repair: 0,
      budget: { usd: 0.1 }, retry_on: [transient, logical], assume: attempt < 9, guarantee: output === 'Done.',
      on_fail: { retry: { max: 1, backoff: { delay_ms: 1 } } } }
",
        );
        let effects = agents.escrow(&["effects", "--output", "json"]).json();
        assert_eq!(effects["effects"][0]["state"], state, "{code}: {document:#}");
        if state == "unknown" {
            assert_eq!(reason(&document), "run.waiting.unknown_effect", "{code}: {document:#}");
            let published = fs::read_to_string(agents.desk.path().join("published")).expect("it published");
            assert_eq!(published.lines().count(), 1, "{code}: it is not repeated");
        }
    }
}

#[test]
fn a_judge_is_compared_by_the_model_that_answered() {
    let agents = Agents::claude(
        r#"
line '{"type":"system","subtype":"init","session_id":"'$id'","model":"'"$(echo "$@" | sed 's/.*--model \([^ ]*\).*/\1/')"'"}'
line '{"type":"assistant","session_id":"'$id'","message":{"id":"m1","model":"gateway-1","content":[{"type":"text","text":"x"}]}}'
result Done."#,
    );
    let document = agents.run(
        "
checks:
  work: { type: ai, harness: claude, model: claude-sonnet-4-5, prompt: Work. }
  main: { type: ai, harness: claude, model: claude-opus-4-8, prompt: Judge., depends_on: work, not_same_as: work }
",
    );
    assert_eq!(document["checks"]["work"]["result"]["harness"]["model"], "gateway-1", "{document:#}");
    assert_eq!(issue(&document).0, "ai/not_independent", "{document:#}");
}

#[test]
fn a_program_that_is_missing_is_named_with_the_command_that_installs_it() {
    let agents = Agents::claude("").variable("ESCROW_HARNESS_CLAUDE", "/nowhere/claude");
    let document = agents.run(REVIEW);
    let (code, message) = issue(&document);
    assert_eq!(code, "ai/spawn", "{document:#}");
    assert!(message.contains("npm install --global @anthropic-ai/claude-code"), "{message}");
    assert!(message.contains("ESCROW_HARNESS_CLAUDE"), "{message}");
}

#[test]
fn a_hang_is_ended_with_everything_that_it_started() {
    let agents = Agents::claude(
        "say hello; (setsid sh -c 'echo $$ > \"$ESCROW_ARTIFACTS/pid\"; exec sleep 1000' &) ; sleep 1000",
    );
    let document = agents.run(&REVIEW.replace("repair: 0", "timeout: 2s"));
    assert_eq!(issue(&document).0, "ai/timeout", "{document:#}");
    assert_gone(&agents, &document);
}

#[test]
fn a_fork_that_outlives_the_program_is_ended() {
    let agents = Agents::claude(
        "say hello; setsid sh -c 'echo $$ > \"$ESCROW_ARTIFACTS/pid\"; exec sleep 1000' >/dev/null 2>&1 &
         while [ ! -s \"$ESCROW_ARTIFACTS/pid\" ]; do sleep 0.01; done
         echo fine > \"$ESCROW_ARTIFACTS/review.md\"; result Done.",
    );
    let document = agents.run(REVIEW);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    assert_gone(&agents, &document);
}

/// The artifact directory of the run.
fn artifacts(agents: &Agents, document: &Value) -> PathBuf {
    let run = document["run"]["id"].as_str().expect("an id");
    let desk = agents.desk.path().canonicalize().expect("it is there");
    desk.join(".escrow/artifacts").join(run)
}

#[track_caller]
fn assert_gone(agents: &Agents, document: &Value) {
    let pid = fs::read_to_string(artifacts(agents, document).join("pid")).expect("it has started");
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "{} is still there", pid.trim());
}

#[test]
fn the_harness_has_a_home_of_its_own_and_a_minimal_environment() {
    let agents = Agents::claude("say hello; env | sort > \"$ESCROW_ARTIFACTS/review.md\"; result Done.")
        .variable("ANTHROPIC_API_KEY", "sk-very-secret-key")
        .variable("HTTPS_PROXY", "http://proxy.invalid")
        .variable("UNRELATED", "private");
    let document = agents.run(REVIEW);
    let told = fs::read_to_string(artifacts(&agents, &document).join("review.md")).expect("delivered");
    let value = |name: &str| {
        let start = format!("{name}=");
        told.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
    };
    assert_eq!(value("ANTHROPIC_API_KEY").as_deref(), Some("sk-very-secret-key"));
    assert_eq!(value("HTTPS_PROXY").as_deref(), Some("http://proxy.invalid"));
    assert_eq!(value("UNRELATED"), None);
    let spool = agents.desk.path().canonicalize().expect("it is there").join(".escrow");
    for name in ["HOME", "CLAUDE_CONFIG_DIR", "TMPDIR"] {
        let path = value(name).unwrap_or_default();
        assert!(Path::new(&path).starts_with(&spool), "{name}={path}");
        assert!(!Path::new(&path).exists(), "{path} is left behind");
    }
}

#[test]
fn a_key_that_the_harness_prints_is_redacted() {
    let agents = Agents::claude("say \"$ANTHROPIC_API_KEY\"; result \"key $ANTHROPIC_API_KEY\"")
        .variable("ANTHROPIC_API_KEY", "sk-very-secret-key");
    let document = agents.run("checks: { main: { type: ai, harness: claude, prompt: p } }");
    assert_eq!(document["checks"]["main"]["output"], "key ***", "{document:#}");
    let run = document["run"]["id"].as_str().expect("an id");
    assert!(!agents.escrow(&["logs", run]).stdout.contains("very-secret"));
}

#[test]
fn the_kernel_keeps_the_harness_within_its_permission() {
    let body = "say hello
        (echo x > inside) 2>/dev/null && line '{\"type\":\"x\",\"wrote\":\"inside\"}'
        (echo x > .escrow/playbooks) 2>/dev/null && line '{\"type\":\"x\",\"wrote\":\"state\"}'
        echo x > \"$ESCROW_ARTIFACTS/review.md\"; echo x > \"$HOME/x\"; echo x > \"$TMPDIR/x\"
        result \"$(ls inside 2>/dev/null)\"";
    for (permission, written) in [("read", false), ("edit", true)] {
        let agents = Agents::claude(body);
        let playbook = REVIEW.replace("repair: 0", &format!("permission: {permission}"));
        let document = agents.run(&playbook);
        assert_eq!(reason(&document), "run.completed.ok", "{permission}: {document:#}");
        assert_eq!(agents.desk.path().join("inside").exists(), written, "{permission}");
        assert!(!agents.desk.path().join(".escrow/playbooks").exists(), "{permission}");
    }
}

#[test]
fn the_default_permission_is_edit_under_an_artifact_contract_and_read_in_safe_mode() {
    let agents = Agents::claude("say hello; echo x > \"$ESCROW_ARTIFACTS/review.md\"; result Done.");
    let permission = |playbook: &str, more: &[&str]| {
        agents.desk.write("playbook.yaml", playbook);
        let mut arguments = vec!["run", "playbook.yaml", "--output", "jsonl"];
        arguments.extend(more);
        let journal = agents.escrow(&arguments).stdout;
        ["read", "edit", "full"]
            .into_iter()
            .find(|word| journal.contains(&format!("\"permission\":\"{word}\"")))
            .unwrap_or_else(|| panic!("{journal}"))
    };
    assert_eq!(permission(REVIEW, &[]), "edit");
    let plain = "checks: { main: { type: ai, harness: claude, prompt: p } }";
    assert_eq!(permission(plain, &[]), "read");
    let full = REVIEW.replace("repair: 0", "permission: full");
    assert_eq!(permission(&full, &[]), "full");
    assert_eq!(permission(&full, &["--safe-mode"]), "read");
}

#[test]
fn a_budget_ends_the_program_or_fails_the_attempt_afterwards() {
    let turns = "i=0; say hello; while [ $i -lt 1000 ]; do i=$((i+1));
        line '{\"type\":\"assistant\",\"session_id\":\"x\",\"message\":{\"id\":\"m'$i'\",\"content\":[]}}'; sleep 0.1; done; result Done.";
    for (body, budget, words) in [
        (turns, "{ turns: 3 }", "it spent 4 turns, and 3 were left"),
        ("say hello; result Done.", "{ usd: 0.1 }", "it spent 0.25 US dollars, and 0.1 were left"),
        ("say hello; result Done.", "{ tokens: 100 }", "it spent 120 tokens, and 100 were left"),
    ] {
        let agents = Agents::claude(body);
        let document = agents.run(&REVIEW.replace("repair: 0", &format!("repair: 3, budget: {budget}")));
        assert_eq!(reason(&document), "run.failed.budget_exhausted", "{document:#}");
        let (code, message) = issue(&document);
        assert_eq!(code, "ai/budget_exhausted");
        assert!(message.contains(words), "{message}");
        assert_eq!(document["checks"]["main"]["runs"], 1);
    }
}

#[test]
fn attention_lists_a_spent_budget() {
    let agents = Agents::claude("say hello; result Done.");
    agents.run("checks: { main: { type: ai, harness: claude, prompt: p, budget: { usd: 0.1 } } }");
    let listed = agents.escrow(&["attention", "--output", "json"]).stdout;
    assert!(listed.contains("run.failed.budget_exhausted"), "{listed}");
}

/// Reads the prompt of `opencode`, and has a function for a step of a dollar and 100 tokens.
const OPENCODE: &str = r#"#!/bin/sh
cat > /dev/null
line() { printf '%s\n' "$1"; }
step() {
  line '{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}'
  line '{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"Done."}}'
  line '{"type":"step_finish","sessionID":"ses_1","part":{"type":"step-finish","reason":"'$1'","cost":1,"tokens":{"input":80,"output":20,"reasoning":0,"cache":{"read":0,"write":0}}}}'
}
"#;

#[test]
fn what_an_attempt_streamed_before_escrow_was_killed_counts_when_it_is_resumed() {
    for (budget, expected, figures) in [
        ("{ usd: 3.5 }", "run.completed.ok", (Some(3.0), Some(3))),
        ("{ usd: 2.5 }", "run.failed.budget_exhausted", (Some(3.0), Some(3))),
        ("{ usd: 2 }", "run.failed.budget_exhausted", (Some(2.0), Some(2))),
        ("{ tokens: 200 }", "run.failed.budget_exhausted", (Some(2.0), Some(2))),
        ("{ turns: 2 }", "run.failed.budget_exhausted", (Some(2.0), Some(2))),
    ] {
        let script =
            "if [ ! -e kept ]; then step tool-calls; step tool-calls; touch kept; sleep 60; fi; step stop\n";
        let agents = Agents { desk: Desk::new(), variables: Vec::new() };
        let agents = agents.with("opencode", &format!("{OPENCODE}{script}"));
        let playbook = format!(
            "checks: {{ main: {{ type: ai, harness: opencode, prompt: p, permission: full, budget: {budget} }} }}"
        );
        agents.desk.write("playbook.yaml", &playbook);
        let mut command = agents.desk.command(&["run", "playbook.yaml"]);
        command.envs(agents.variables.iter().map(|(name, value)| (name, value)));
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut running = command.spawn().expect("the binary runs");
        let spent = || {
            let runs = fs::read_dir(agents.desk.path().join(".escrow/spool")).into_iter().flatten().flatten();
            let files = runs.flat_map(|run| fs::read_dir(run.path()).into_iter().flatten().flatten());
            let mut kept =
                files.map(|file| file.path()).filter(|file| file.extension() == Some("spent".as_ref()));
            kept.next().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default()
        };
        wait_for("two steps", || spent().contains("2.0"));
        running.kill().expect("it runs");
        running.wait().expect("it was killed");
        let resumed = agents.escrow(&["resume", "last", "--output", "json"]).json();
        assert_eq!(reason(&resumed), expected, "{budget}: {resumed:#}");
        let totals = &resumed["totals"];
        assert_eq!((totals["cost_usd"].as_f64(), totals["turns"].as_u64()), figures, "{budget}: {resumed:#}");
    }
}

#[test]
fn repairs_share_the_budget() {
    let agents = Agents::claude("say hello; result Done.");
    let document = agents.run(&REVIEW.replace("repair: 0", "repair: 5, budget: { usd: 0.5 }"));
    // Two attempts spend it; no third one starts.
    assert_eq!(document["checks"]["main"]["runs"], 2, "{document:#}");
    assert_eq!(reason(&document), "run.failed.missing_artifact");
}

#[test]
fn an_attempt_that_does_not_tell_what_it_spent_has_spent_the_budget() {
    // It hangs up twice before its terminal line, and would then be good.
    let agents = Agents::claude(
        "mkdir -p kept; echo x >> kept/starts; say hello; [ $(wc -l < kept/starts) -lt 3 ] && exit 0; result Done.",
    );
    let playbook = |budget: &str| {
        format!(
            "checks: {{ main: {{ type: ai, harness: claude, prompt: p, permission: full, budget: {budget},
               on_fail: {{ retry: {{ max: 3, backoff: {{ delay_ms: 1 }} }} }} }} }}"
        )
    };
    let document = agents.run(&playbook("{ usd: 9 }"));
    assert_eq!(reason(&document), "run.failed.budget_exhausted", "{document:#}");
    assert!(issue(&document).1.contains("did not tell what they spent"), "{document:#}");
    assert_eq!(agents.desk.read("kept/starts").lines().count(), 1, "nothing more was started");
    // Turns are streamed, so that they are known of an attempt without an end.
    fs::remove_file(agents.desk.path().join("kept/starts")).expect("it is there");
    let document = agents.run(&playbook("{ turns: 9 }"));
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
}

#[test]
fn an_attempt_that_was_refused_has_spent_nothing() {
    let agents = Agents::claude(
        r#"mkdir -p kept; echo x >> kept/starts; [ $(wc -l < kept/starts) -gt 1 ] && { say hello; result Done.; exit; }
line '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"num_turns":1,"total_cost_usd":0,"modelUsage":{},"result":"slower"}'"#,
    );
    let document = agents.run(
        "checks: { main: { type: ai, harness: claude, prompt: p, permission: full, budget: { usd: 0.25, tokens: 120 },
           on_fail: { retry: { max: 3, backoff: { delay_ms: 1 } } } } }",
    );
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
}

#[test]
fn a_line_that_is_not_read_may_have_been_a_tool_call() {
    let refused = r#"line '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"num_turns":1,"result":"no"}'"#;
    let long =
        "printf '{\"type\":\"assistant\",\"x\":\"'; head -c 17000000 /dev/zero | tr '\\0' x; echo '\"}'";
    let twice = r#"line '{"type":"assistant","type":"system"}'"#;
    for (before, state) in [(long, "unknown"), (twice, "unknown"), (":", "failed")] {
        let agents = Agents::claude(&format!("say hello; {before}; {refused}"));
        agents.run("checks: { main: { type: ai, harness: claude, prompt: p, criticality: external } }");
        let effects = agents.escrow(&["effects", "--output", "json"]).json();
        assert_eq!(effects["effects"][0]["state"], state, "{before}");
    }
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    let agents = Agents::claude(
        "say hello; head -c 17000000 /dev/zero | tr '\\0' x; echo; echo fine > \"$ESCROW_ARTIFACTS/review.md\"; result Done.",
    );
    let document = agents.run(REVIEW);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
}

#[test]
fn another_check_continues_the_conversation() {
    let body = "say hello; if [ -n \"$resumed\" ]; then result \"again $id\"; else result \"first $id\"; fi";
    let agents = Agents::claude(body);
    let document = agents.run(
        "
checks:
  plan: { type: ai, harness: claude, prompt: Plan. }
  do: { type: ai, harness: claude, prompt: Do., reuse_session: plan, depends_on: plan }
",
    );
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let id = document["checks"]["plan"]["result"]["harness"]["session_id"].as_str().expect("an id");
    assert_eq!(document["checks"]["do"]["output"], format!("again {id}"));
}

#[test]
fn every_harness_is_read() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/tests/recordings");
    for harness in ["claude", "codex", "gemini", "opencode", "copilot", "qwen"] {
        let stdout = recordings.join(harness).join("text/stdout.jsonl");
        assert!(stdout.is_file(), "{}", stdout.display());
        let script = format!("#!/bin/sh\ncat > /dev/null\ncat '{}'\n", stdout.display());
        let agents = Agents { desk: Desk::new(), variables: Vec::new() }.with(harness, &script);
        let document = agents
            .run(&format!("checks: {{ main: {{ type: ai, harness: {harness}, model: m/m, prompt: p }} }}"));
        assert_eq!(reason(&document), "run.completed.ok", "{harness}: {document:#}");
        assert_eq!(document["checks"]["main"]["result"]["harness"]["completed"], true);
        assert!(document["checks"]["main"]["output"].is_string(), "{document:#}");
    }
}

#[test]
fn safe_mode_and_explain_show_what_the_agent_is_told() {
    let agents = Agents::claude("say hello; echo x > \"$ESCROW_ARTIFACTS/review.md\"; result Done.");
    agents.desk.write("playbook.yaml", REVIEW);
    let done = agents.escrow(&["run", "playbook.yaml", "--safe-mode"]);
    for text in ["main reads only, with this prompt:", "Review the change.", "review.md — What was found"] {
        assert!(done.stderr.contains(text), "{text}: {}", done.stderr);
    }
    let told = agents.escrow(&["explain", "last", "main"]).stdout;
    for text in
        ["claude, permission read, with this prompt:", "Review the change.", "review.md — What was found"]
    {
        assert!(told.contains(text), "{text}: {told}");
    }
    assert!(!agents.escrow(&["run", "playbook.yaml"]).stderr.contains("with this prompt"));
}

#[test]
fn a_prompt_alone_is_a_playbook_and_target_is_its_input() {
    let agents = Agents::claude(&format!("{KEEP}; say hello; result Done."));
    let playbook = "model: claude/opus\nprompt: Review {target}.\n";
    agents.desk.write("playbook.yaml", playbook);
    let missing = agents.escrow(&["run", "playbook.yaml"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("target"), "{}", missing.stderr);
    let document = agents.run_with(playbook, &["--input", "target=src"]);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let run = document["run"]["id"].as_str().expect("an id");
    assert!(agents.escrow(&["explain", run, "main"]).stdout.contains("Review src."));
}

#[test]
fn a_built_in_agent_delivers_its_default_artifact_and_can_be_replaced() {
    let body = "case $prompt in *'You are a reviewer.'*) echo fine > \"$ESCROW_ARTIFACTS/review.md\";; esac; say hello; result Done.";
    let agents = Agents::claude(body).variable("HOME", "/nowhere");
    agents.desk.write(".escrow/config.toml", "[harness]\ndefault = \"claude\"\n");
    let done = agents.escrow(&["agent", "reviewer", "Review the last commit."]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    agents.desk.write(".escrow/agents/reviewer.md", "---\nharness: claude\n---\nBe brief.\n");
    let done = agents.escrow(&["agent", "reviewer", "Review the last commit."]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(agents.escrow(&["explain", "last", "main"]).stdout.contains("Be brief."));
}

#[test]
fn an_agent_of_the_user_is_found_after_those_of_the_project() {
    let agents = Agents::claude("say hello; result Done.");
    agents.desk.write("home/.config/escrow/agents/own.md", "---\nmodel: claude/opus\n---\nMine.\n");
    let home = agents.desk.path().join("home").display().to_string();
    let agents = agents.variable("HOME", &home).variable("XDG_CONFIG_HOME", "");
    let done = agents.escrow(&["agent", "own", "Do it."]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

#[test]
fn the_default_harness_is_that_of_the_settings_or_the_first_on_the_path() {
    let agents = Agents::claude("say hello; result Done.");
    let playbook = "checks: { main: { type: ai, prompt: p } }";
    agents.desk.write(".escrow/config.toml", "[harness]\ndefault = \"codex\"\n");
    let document = agents.run(playbook);
    assert!(issue(&document).1.contains("@openai/codex"), "{document:#}");
    agents.desk.write(".escrow/config.toml", "[harness]\ndefault = \"cursor\"\n");
    agents.desk.write("playbook.yaml", playbook);
    let done = agents.escrow(&["check", "playbook.yaml"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("`[harness] default` of `config.toml` is `cursor`"), "{}", done.stderr);
    agents.desk.write(".escrow/config.toml", "");
    assert_eq!(reason(&agents.run(playbook)), "run.completed.ok");
}

const LOGIN: &str = r#"{"oauth":{"accessToken":"old-0123456789abcdef","expiresAt":1}}"#;
const RENEWED: &str = r#"{"oauth":{"accessToken":"new-0123456789abcdef","expiresAt":2}}"#;
const LOGGED_IN: &str =
    "checks: { main: { type: ai, harness: claude, prompt: p, auth: login, permission: full } }";

/// With a login in a home of its own, and a `claude` that does this.
fn logged_in(body: &str) -> (Agents, PathBuf) {
    let agents = Agents::claude(&format!(
        "login=\"$CLAUDE_CONFIG_DIR/.credentials.json\"\nrenew() {{ printf '%s' '{RENEWED}' > \"$login\"; }}\n{body}"
    ));
    let file = agents.desk.write("home/.claude/.credentials.json", LOGIN);
    let home = agents.desk.path().join("home").display().to_string();
    (agents.variable("HOME", &home), file)
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_there() {
        assert!(began.elapsed().as_secs() < 60, "{what} did not come");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_login_that_is_renewed_is_written_back_while_the_program_runs_and_survives_a_kill() {
    for killed_before in [false, true] {
        // Killed before the program renews its login, only a resumed run can write it back.
        let (agents, file) = logged_in(
            "mkdir -p kept; cp \"$login\" kept/lent-$(ls kept | wc -l); touch kept/started
             if [ ! -e kept/done ]; then while [ ! -e kept/renew ]; do sleep 0.05; done; renew; touch kept/done; sleep 60; fi
             say hello; result Done.",
        );
        agents.desk.write("playbook.yaml", LOGGED_IN);
        let mut command = agents.desk.command(&["run", "playbook.yaml"]);
        command
            .env_remove("ANTHROPIC_API_KEY")
            .envs(agents.variables.iter().map(|(name, value)| (name, value)));
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut running = command.spawn().expect("the binary runs");
        let kept = |name: &str| agents.desk.path().join("kept").join(name);
        wait_for("the start", || kept("started").exists());
        if killed_before {
            running.kill().expect("it runs");
            running.wait().expect("it was killed");
            fs::write(kept("renew"), "").expect("it can be written");
            wait_for("the renewal", || kept("done").exists());
            assert_eq!(fs::read_to_string(&file).expect("a login"), LOGIN);
        } else {
            fs::write(kept("renew"), "").expect("it can be written");
            wait_for("the login", || fs::read_to_string(&file).is_ok_and(|login| login == RENEWED));
            running.kill().expect("it still runs");
            running.wait().expect("it was killed");
        }
        let resumed = agents.escrow(&["resume", "last", "--output", "json"]).json();
        assert_eq!(reason(&resumed), "run.completed.ok", "{resumed:#}");
        assert_eq!(fs::read_to_string(&file).expect("a login"), RENEWED);
        let lent = fs::read_dir(agents.desk.path().join("kept")).expect("kept").flatten();
        let lent = lent.filter(|one| one.file_name().to_string_lossy().starts_with("lent-"));
        let lent: Vec<String> = lent.map(|one| fs::read_to_string(one.path()).expect("a login")).collect();
        assert!(lent.iter().any(|login| login == RENEWED), "the new attempt was lent the renewed login");
    }
}

#[test]
fn nothing_but_a_login_of_the_same_kind_is_written_back() {
    for left in ["{}", "{\"evil\":true}", "[]", "", "{\"oauth\":{\"accessToken\":\"\",\"expiresAt\":2}}"] {
        let (agents, file) =
            logged_in(&format!("printf '%s' '{left}' > \"$login\"; sleep 0.6; say hello; result Done."));
        let document = agents.run(LOGGED_IN);
        assert_eq!(fs::read_to_string(&file).expect("a login"), LOGIN, "{left}");
        let problem = document["checks"]["main"]["result"]["login_problem"].as_str().unwrap_or_default();
        assert!(problem.contains("not of the kind that was lent"), "{left}: {document:#}");
        assert_eq!(warning(&document), "login_lost", "{left}: {document:#}");
        assert_eq!(reason(&document), "run.completed.with_warnings", "{left}");
    }
}

fn warning(document: &Value) -> &str {
    document["run"]["warnings"][0]["code"].as_str().unwrap_or_default()
}

#[test]
fn a_login_that_may_be_lost_is_a_warning_and_needs_attention_however_the_run_ended() {
    let dropped = r#"{"oauth":{"accessToken":"new-0123456789abcdef"}}"#;
    for (left, ends, why) in [
        (&*format!("printf '%s' '{dropped}' > \"$login\""), "result Done.", "`oauth.expiresAt` is missing"),
        (&*format!("printf '%s' '{dropped}' > \"$login\""), "exit 1", "`oauth.expiresAt` is missing"),
        ("rm \"$login\"", "exit 1", "has removed its login"),
    ] {
        let (agents, file) = logged_in(&format!("{left}; say hello; {ends}"));
        let document = agents.run(LOGGED_IN);
        assert_eq!(fs::read_to_string(&file).expect("a login"), LOGIN, "{left}");
        assert_eq!(warning(&document), "login_lost", "{left}, {ends}: {document:#}");
        let message = document["run"]["warnings"][0]["message"].as_str().unwrap_or_default();
        assert!(message.contains(why) && message.contains("log in again"), "{message}");
        assert!(!message.contains("0123456789abcdef"), "{message}");
        let attention = agents.escrow(&["attention"]).stdout;
        assert!(attention.contains("log in again"), "{left}, {ends}: {attention}");
    }
}

#[test]
fn a_login_that_was_lost_with_escrow_itself_is_told_by_the_resumed_run() {
    let (agents, file) = logged_in(
        "mkdir -p kept
         if [ ! -e kept/cut ]; then printf '{\"oauth\":' > \"$login\"; touch kept/cut; sleep 60; fi
         say hello; result Done.",
    );
    agents.desk.write("playbook.yaml", LOGGED_IN);
    let mut command = agents.desk.command(&["run", "playbook.yaml"]);
    command.env_remove("ANTHROPIC_API_KEY").envs(agents.variables.iter().map(|(name, value)| (name, value)));
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut running = command.spawn().expect("the binary runs");
    wait_for("the cut login", || agents.desk.path().join("kept/cut").exists());
    running.kill().expect("it runs");
    running.wait().expect("it was killed");
    let resumed = agents.escrow(&["resume", "last", "--output", "json"]).json();
    assert_eq!(
        (warning(&resumed), reason(&resumed)),
        ("login_lost", "run.completed.with_warnings"),
        "{resumed:#}"
    );
    assert_eq!(fs::read_to_string(&file).expect("a login"), LOGIN);
}

#[test]
fn a_login_that_the_user_changed_meanwhile_stays() {
    let mine = r#"{"oauth":{"accessToken":"mine-0123456789abcdef","expiresAt":3}}"#;
    let (agents, file) =
        logged_in("printf '%s' \"$MINE\" > \"$FILE\"; renew; sleep 0.6; say hello; result Done.");
    let playbook = LOGGED_IN
        .replace("permission", &format!("env: {{ FILE: '{}', MINE: '{mine}' }}, permission", file.display()));
    let document = agents.run(&playbook);
    assert_eq!(reason(&document), "run.completed.with_warnings", "{document:#}");
    assert_eq!(fs::read_to_string(&file).expect("a login"), mine);
    let problem = document["checks"]["main"]["result"]["login_problem"].as_str().unwrap_or_default();
    assert!(problem.contains("changed while it was lent"), "{document:#}");
    assert_eq!(warning(&document), "login_not_written_back", "{document:#}");
}

#[test]
fn the_values_of_a_lent_login_are_redacted() {
    let (agents, _) = logged_in(
        "renew; sleep 0.6; say old-0123456789abcdef; result 'old-0123456789abcdef new-0123456789abcdef'",
    );
    let document = agents.run(LOGGED_IN);
    assert_eq!(document["checks"]["main"]["output"], "*** ***", "{document:#}");
    let journal = agents.escrow(&["runs", "export", document["run"]["id"].as_str().expect("an id")]).stdout;
    assert!(!journal.contains("0123456789abcdef"), "{journal}");
}

#[test]
fn a_pipe_in_place_of_a_login_holds_nobody_up() {
    let (agents, file) = logged_in("say hello; result Done.");
    fs::remove_file(&file).expect("it is there");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("it runs").success());
    let document = agents.run(LOGGED_IN);
    assert_eq!(issue(&document).0, "ai/login", "{document:#}");
}

#[test]
fn a_login_is_lent_and_written_back_if_it_changed() {
    let agents = Agents::claude(
        "cat \"$CLAUDE_CONFIG_DIR/.credentials.json\" > \"$ESCROW_ARTIFACTS/seen\"
         echo '{\"token\":\"new\"}' > \"$CLAUDE_CONFIG_DIR/.credentials.json\"
         say hello; result \"key: $ANTHROPIC_API_KEY\"",
    )
    .variable("ANTHROPIC_API_KEY", "sk-very-secret-key");
    agents.desk.write("home/.claude/.credentials.json", "{\"token\":\"old\"}");
    let home = agents.desk.path().join("home").display().to_string();
    let agents = agents.variable("HOME", &home);
    let document = agents.run("checks: { main: { type: ai, harness: claude, prompt: p, auth: login } }");
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    assert_eq!(document["checks"]["main"]["output"], "key: ", "a key would take precedence");
    let seen = fs::read_to_string(artifacts(&agents, &document).join("seen")).expect("lent");
    assert_eq!(seen, "{\"token\":\"old\"}");
    assert_eq!(agents.desk.read("home/.claude/.credentials.json"), "{\"token\":\"new\"}\n");
    fs::remove_file(agents.desk.path().join("home/.claude/.credentials.json")).expect("it is there");
    let document = agents.run("checks: { main: { type: ai, harness: claude, prompt: p, auth: login } }");
    assert_eq!(issue(&document).0, "ai/login", "{document:#}");
}

#[test]
fn the_figures_of_a_run_are_added_up_and_shown() {
    let agents = Agents::claude("say hello; result Done.");
    let document = agents.run(
        "
checks:
  one: { type: ai, harness: claude, prompt: p }
  two: { type: ai, harness: claude, prompt: p, depends_on: one }
",
    );
    assert_eq!(
        document["totals"],
        serde_json::json!({
            "attempts": 2, "turns": 4, "input_tokens": 200, "output_tokens": 40, "cost_usd": 0.5,
        })
    );
    let run = document["run"]["id"].as_str().expect("an id");
    let shown = agents.escrow(&["runs", "show", run]).stdout;
    assert!(shown.contains("harnesses") && shown.contains("0.5000"), "{shown}");
    let begun = agents.escrow(&["invocation", "start", "--name", "both", "--output", "json"]).json();
    let id = begun["invocation"]["id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    for _ in 0..2 {
        agents.run_with("checks: { one: { type: ai, harness: claude, prompt: p } }", &["--invocation", &id]);
    }
    let shown = agents.escrow(&["invocation", "show", &id, "--output", "json"]).json();
    assert_eq!(
        (&shown["totals"]["attempts"], &shown["totals"]["cost_usd"]),
        (&2.into(), &0.5.into()),
        "{shown}"
    );
    let plain = agents.run("checks: { a: { type: noop } }");
    assert!(plain.get("totals").is_none(), "{plain}");
}

#[test]
fn what_an_agent_does_is_streamed_to_standard_error_alone() {
    let agents = Agents::claude(
        "say 'I look at it.'
         line '{\"type\":\"assistant\",\"session_id\":\"x\",\"message\":{\"id\":\"m2\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}]}}'
         result Done.",
    );
    agents.desk.write("playbook.yaml", "checks: { main: { type: ai, harness: claude, prompt: p } }");
    let done = agents.escrow(&["run", "playbook.yaml", "--stream"]);
    assert!(done.stderr.contains("I look at it.") && done.stderr.contains("[Bash]"), "{}", done.stderr);
    assert_eq!(done.stdout, "");
}

/// Calls the hook as the real program does, with the variables that the check gave it.
fn hook_script(event: &str) -> String {
    let escrow = env!("CARGO_BIN_EXE_escrow");
    format!(r#"printf '{{"session_id":"%s"}}' "$id" | "{escrow}" hook --host claude --event {event}"#)
}

#[test]
fn the_hooks_of_a_confined_harness_leave_receipts_in_the_ledger_under_the_run() {
    let body = format!(
        "say hello; {}; {}; {}; echo fine > \"$ESCROW_ARTIFACTS/review.md\"; result Done.",
        hook_script("SessionStart"),
        hook_script("UserPromptSubmit"),
        hook_script("Stop")
    );
    let agents = Agents::claude(&body);
    let document = agents.run(REVIEW);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let run = document["run"]["id"].as_str().expect("an id");
    let done = agents.escrow(&["lifecycle", "receipt", "list", "--extended", "--run-id", run]);
    let receipts: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let events: Vec<&str> = receipts
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["event"].as_str().expect("an event"))
        .collect();
    assert_eq!(events, ["session.started", "frame.opening", "frame.ending"], "{}", done.stdout);
    assert_eq!(receipts[2]["parent_receipt_id"], receipts[1]["receipt_id"]);
}

#[test]
fn hold_stop_blocks_a_stop_until_the_files_are_there() {
    let stop = hook_script("Stop");
    let body = format!(
        "say hello; first=$({stop}); second=$({stop}); echo fine > \"$ESCROW_ARTIFACTS/review.md\"; third=$({stop}); \
         case \"$first$second\" in *block*review.md*block*review.md*) ;; *) result 'not held'; exit 1;; esac; \
         [ -z \"$third\" ] && result Done."
    );
    let agents = Agents::claude(&body);
    let held = REVIEW.replace("repair: 0", "hold_stop: true");
    let document = agents.run(&held);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let free = agents.run(REVIEW);
    assert_ne!(reason(&free), "run.completed.ok", "without `hold_stop` no stop is blocked");
}

#[test]
fn hold_stop_looks_at_type_schema_kind_and_number_of_the_files() {
    let stop = hook_script("Stop");
    let body = format!(
        r#"say hello; cd "$ESCROW_ARTIFACTS"; told() {{ printf '%s\n' "$1" >> told; }}
        echo '{{}}' > data.json; echo '{{"gate_passed": 1}}' > gate.json; echo 1 > part-1.txt
        told "$({stop})"
        echo '{{"n": 3}}' > data.json; echo '{{"outcome_kind": "gate_verdict", "summary": "s", "gate_passed": true, "criteria": []}}' > gate.json; echo 2 > part-2.txt
        told "$({stop})"
        result Done."#
    );
    let playbook = "
artifacts:
  expected:
    - { id: data, path: data.json, schema: { type: object, required: [n] } }
    - { id: gate, path: gate.json, kind: gate_verdict }
    - { id: parts, glob: 'part-*.txt', count: { min: 2 } }
checks:
  main: { type: ai, harness: claude, prompt: p, hold_stop: true }
";
    let agents = Agents::claude(&body);
    let document = agents.run(playbook);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let told = fs::read_to_string(artifacts(&agents, &document).join("told")).expect("what the hook said");
    for text in ["block", "data.json` is", "gate.json` is", "part-*.txt` is", "1 of at least 2"] {
        assert!(told.contains(text), "{text}: {told}");
    }
    assert_eq!(told.matches("block").count(), 1, "the second stop is allowed: {told}");
}

/// The receipts of a run, in order: event and status.
fn receipts_of(agents: &Agents, run: &str) -> Vec<Value> {
    let done = agents.escrow(&["lifecycle", "receipt", "list", "--extended", "--run-id", run]);
    serde_json::from_str(&done.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", done.stdout, done.stderr))
}

#[test]
fn a_program_that_runs_for_long_leaves_ticks_with_its_figures() {
    let agents = Agents::claude("say hello; sleep 2.6; result Done.");
    let document = agents.run("checks: { main: { type: ai, harness: claude, prompt: p, timeout: 10s } }");
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let receipts = receipts_of(&agents, document["run"]["id"].as_str().expect("an id"));
    let ticks: Vec<&Value> = receipts.iter().filter(|one| one["event"] == "supervisor.tick").collect();
    assert_eq!(ticks.len(), 2, "{receipts:#?}");
    assert_eq!(ticks[0]["telemetry_summary"]["turns"], 1, "{ticks:#?}");
    assert_eq!(ticks[0]["telemetry_summary"]["cost_usd"], Value::Null);
}

#[test]
fn hooks_that_never_fire_are_reported_as_a_degraded_capability() {
    let agents = Agents::claude("say hello; result Done.");
    let document = agents.run("checks: { main: { type: ai, harness: claude, prompt: p } }");
    let receipts = receipts_of(&agents, document["run"]["id"].as_str().expect("an id"));
    let [degraded] = receipts.as_slice() else { panic!("{receipts:#?}") };
    assert_eq!(
        (&degraded["event"], &degraded["status"]),
        (&"capability.degraded".into(), &"degraded".into())
    );
    let lost: Vec<&str> = degraded["capability_degradations"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["capability"].as_str())
        .collect();
    assert!(lost.contains(&"lifecycle_event:frame.opening"), "{lost:?}");
    // A program whose hooks fire has lost nothing.
    let agents = Agents::claude(&format!("say hello; {}; result Done.", hook_script("UserPromptSubmit")));
    let document = agents.run("checks: { main: { type: ai, harness: claude, prompt: p } }");
    let receipts = receipts_of(&agents, document["run"]["id"].as_str().expect("an id"));
    assert_eq!(receipts.len(), 1, "{receipts:#?}");
}

#[test]
fn receipts_of_an_attempt_whose_supervisor_was_killed_are_taken_in_on_resume() {
    let hook = hook_script("SessionStart");
    let body = format!(
        "say hello; {hook}; if [ -e \"$ESCROW_ARTIFACTS/again\" ]; then result Done.; else echo x > \"$ESCROW_ARTIFACTS/again\"; sleep 1000; fi"
    );
    let agents = Agents::claude(&body);
    agents.desk.write("playbook.yaml", "checks: { main: { type: ai, harness: claude, prompt: p } }");
    let mut command = agents.desk.command(&["run", "playbook.yaml", "--quiet"]);
    command.envs(agents.variables.iter().map(|(name, value)| (name, value)));
    let mut running = command.spawn().expect("it starts");
    let artifacts = agents.desk.path().join(".escrow/artifacts");
    let is_there = || {
        let runs = fs::read_dir(&artifacts).into_iter().flatten().flatten();
        runs.into_iter().any(|run| run.path().join("again").exists())
    };
    agents.desk.until("the hook has left its receipt", is_there);
    running.kill().expect("it is killed");
    running.wait().expect("it has ended");
    let done = agents.escrow(&["resume", "last", "--output", "json"]);
    let document = done.json();
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let receipts = receipts_of(&agents, document["run"]["id"].as_str().expect("an id"));
    let started = receipts.iter().filter(|one| one["event"] == "session.started").count();
    assert_eq!(started, 2, "one of each attempt: {receipts:#?}");
}

#[test]
fn the_totals_of_a_run_include_the_runs_that_it_nests() {
    let agents = Agents::claude(
        "say hello; if [ \"$ESCROW_CHECK\" = two ] && [ -e fail ]; then rm fail; exit 1; fi; result Done.",
    );
    agents.desk.write(
        "inner.yaml",
        "checks:\n  one: { type: ai, harness: claude, prompt: p }\n  two: { type: ai, harness: claude, prompt: p, permission: full, depends_on: one }\n",
    );
    let playbook = "
checks:
  own: { type: ai, harness: claude, prompt: p }
  nested: { type: playbook, playbook: inner.yaml, depends_on: own, on_fail: { retry: { max: 1, backoff: { mode: fixed, delay_ms: 1 } } } }
";
    let document = agents.run(playbook);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let totals =
        |document: &Value| (document["totals"]["attempts"].as_u64(), document["totals"]["cost_usd"].as_f64());
    assert_eq!(totals(&document), (Some(3), Some(0.75)));
    // A nested run that is opened again is counted once: the failed attempt told no cost.
    agents.desk.write("fail", "");
    let document = agents.run(playbook);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    assert_eq!(totals(&document), (Some(4), Some(0.75)), "{document:#}");
    let begun = agents.escrow(&["invocation", "start", "--name", "all", "--output", "json"]).json();
    let id = begun["invocation"]["id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    agents.run_with(playbook, &["--invocation", &id]);
    let shown = agents.escrow(&["invocation", "show", &id, "--output", "json"]).json();
    assert_eq!(totals(&shown), (Some(3), Some(0.75)), "nothing is counted twice: {shown}");
}

#[test]
fn outcomes_of_a_run_say_that_its_budget_was_spent() {
    let agents = Agents::claude("say hello; result '{}'");
    agents.run("checks: { main: { type: ai, harness: claude, prompt: p, outcome: gate_verdict, budget: { usd: 0.1 } } }");
    let done = agents.escrow(&["outcomes", "--run", "last"]);
    assert!(done.stdout.contains("no outcomes"), "{}", done.stdout);
    assert!(done.stderr.contains("run.failed.budget_exhausted"), "{}", done.stderr);
}

#[test]
fn a_key_in_a_delivered_file_is_treated_as_a_secret() {
    let agents = Agents::claude(
        "say hello; echo \"key: $ANTHROPIC_API_KEY\" > \"$ESCROW_ARTIFACTS/review.md\"; result Done.",
    );
    let agents = agents.variable("ANTHROPIC_API_KEY", "sk-test-supersecretkey");
    let document = agents.run(REVIEW);
    let warnings = document["run"]["warnings"].to_string();
    assert!(warnings.contains("secret_in_artifact"), "{document:#}");
    let exported = agents.escrow(&["runs", "export", "last"]).stdout;
    assert!(!exported.contains("supersecretkey"), "the export leaves it out");
}

#[test]
fn a_terminal_line_that_names_a_member_twice_is_none() {
    let line = r#"{"type":"result","subtype":"success","is_error":true,"is_error":false,"num_turns":1,"result":"Done."}"#;
    let agents = Agents::claude(&format!("say hello; line '{line}'"));
    let document = agents.run("checks: { main: { type: ai, harness: claude, prompt: Hello, repair: 0 } }");
    assert_ne!(reason(&document), "run.completed.ok", "{document:#}");
}

/// A `claude` that says the model that it was asked for.
const MODEL: &str = r#"model=; last=; for word in "$@"; do [ "$last" = --model ] && model=$word; last=$word; done
line '{"type":"system","subtype":"init","session_id":"'$id'","model":"'$model'"}'
line '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"I am '$model'","session_id":"'$id'"}'"#;

#[test]
fn the_model_is_a_template_and_an_approval_shows_what_it_renders_to() {
    let agents = Agents::claude(MODEL);
    let playbook = "
inputs: { model: { default: haiku } }
checks:
  main: { type: ai, harness: claude, model: '{{ inputs.model }}', prompt: p, requires_approval: true }
";
    agents.desk.write("playbook.yaml", playbook);
    let waiting = agents.escrow(&["run", "playbook.yaml", "--input", "model=opus-9", "--output", "json"]);
    assert!(waiting.stderr.contains("opus-9"), "{}", waiting.stderr);
    let listed = agents.escrow(&["approvals", "--output", "json"]).json();
    let id = listed["approvals"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
    agents.escrow(&["approve", &id]);
    let document = agents.escrow(&["runs", "show", "last", "--output", "json"]).json();
    assert_eq!(document["checks"]["main"]["output"], "I am opus-9", "{document:#}");
    agents.desk.write(".escrow/agents/own.md", "---\nmodel: claude/{{ inputs.model }}\n---\nMine.\n");
    let done = agents.escrow(&["agent", "own", "Do it."]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("the model of a profile is not a template"), "{}", done.stderr);
}

/// A check whose work is judged, and its judge.
fn judged(author: &str, judge: &str) -> String {
    format!(
        "inputs: {{ model: {{ default: opus }} }}
checks:
  work: {{ type: ai, harness: claude, model: {author}, prompt: p }}
  main: {{ type: ai, harness: claude, model: {judge}, prompt: p, not_same_as: work, depends_on: work }}
"
    )
}

#[test]
fn a_judge_of_the_same_model_is_refused_when_the_model_is_known() {
    let agents = Agents::claude(MODEL);
    for (author, judge) in [
        ("opus", "opus"),
        ("sonnet", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("opus", "Opus"),
    ] {
        agents.desk.write("playbook.yaml", &judged(author, judge));
        let done = agents.escrow(&["check", "playbook.yaml"]);
        assert_eq!(done.code, Some(2), "{author} {judge}: {}", done.stderr);
        assert!(done.stderr.contains("E0182"), "{}", done.stderr);
    }
    // A template is known at the start of the check.
    let document = agents.run(&judged("opus", "'{{ inputs.model }}'"));
    assert_eq!(issue(&document).0, "ai/not_independent", "{document:#}");
    assert_eq!(document["checks"]["work"]["status"], "succeeded");
    let document = agents.run(&judged("'{{ inputs.model }}'", "\"{{ '' }}\""));
    assert_eq!(issue(&document).0, "ai/not_independent", "a default may be the same: {document:#}");
    let other = agents.run_with(&judged("opus", "'{{ inputs.model }}'"), &["--input", "model=haiku"]);
    assert_eq!(reason(&other), "run.completed.ok", "{other:#}");
}

#[test]
fn a_judge_that_turns_out_to_be_the_same_model_has_failed() {
    // Whatever it is asked for, it is the same model.
    let agents = Agents::claude("say hello; result Done.");
    let document = agents.run(&judged("opus", "haiku"));
    assert_eq!(issue(&document).0, "ai/not_independent", "{document:#}");
}

#[test]
fn an_agent_that_says_nothing_has_delivered_only_what_it_wrote() {
    let silent = Agents::claude("say hello; result ''");
    let plain = silent.run("checks: { main: { type: ai, harness: claude, prompt: p } }");
    assert_eq!(issue(&plain).0, "ai/empty", "{plain:#}");
    let read = silent
        .run("checks: { main: { type: ai, harness: claude, prompt: p, guarantee: \"output !== 'x'\" } }");
    assert_eq!(issue(&read).0, "ai/empty", "{read:#}");
    // A schema judges the missing answer, so that a repair can ask for it.
    let schema =
        "checks: { main: { type: ai, harness: claude, prompt: p, repair: 1, schema: { type: string } } }";
    let document = silent.run(schema);
    assert_eq!(reason(&document), "run.failed.schema_failed", "{document:#}");
    assert_eq!(document["checks"]["main"]["runs"], 2);
    // Where files are all that is owed, the files decide.
    let writer = Agents::claude("say hello; echo fine > \"$ESCROW_ARTIFACTS/review.md\"; result ''");
    let document = writer.run(REVIEW);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    assert_eq!(document["checks"]["main"]["output"], Value::Null);
    assert_eq!(reason(&silent.run(REVIEW)), "run.failed.missing_artifact");
}

#[test]
fn a_second_terminal_line_is_a_fault() {
    for body in [
        "say hello; result Done.; result Done.",
        "say hello; result Done.; sleep 0.1; result 'Something else.'",
    ] {
        let document = Agents::claude(body).run("checks: { main: { type: ai, harness: claude, prompt: p } }");
        let (code, message) = issue(&document);
        assert_eq!(code, "ai/failed", "{document:#}");
        assert!(message.contains("2 terminal lines"), "{message}");
    }
}

#[test]
fn a_model_cannot_be_an_option_of_the_program() {
    let agents = Agents::claude(MODEL);
    let playbook = "
inputs: { model: { default: opus } }
checks: { main: { type: ai, harness: claude, model: '{{ inputs.model }}', prompt: p } }
";
    let document = agents.run_with(playbook, &["--input", "model=--dangerously-skip-permissions"]);
    let (code, message) = issue(&document);
    assert_eq!(code, "ai/request", "{document:#}");
    assert!(message.contains("begins with `-`"), "{message}");
    agents
        .desk
        .write("playbook.yaml", "checks: { main: { type: ai, harness: claude, model: -x, prompt: p } }");
    let done = agents.escrow(&["check", "playbook.yaml"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("begins with `-`"), "{}", done.stderr);
}

#[test]
fn links_in_its_home_lead_neither_writes_nor_removals_elsewhere() {
    let body = r#"say hello
        if [ -z "$resumed" ]; then
          rm -rf "$HOME/hooks/receipts"; ln -s "$PLACE/data" "$HOME/hooks/receipts"
          rm -rf "$CLAUDE_CONFIG_DIR"; ln -s "$PLACE/config" "$CLAUDE_CONFIG_DIR"
          find "$HOME" -maxdepth 2 -name '*.json' -type f | while read -r file; do
            rm -f "$file"; ln -s "$PLACE/config/precious" "$file"
          done
        else
          echo fine > "$ESCROW_ARTIFACTS/review.md"
        fi
        result Done."#;
    let agents = Agents::claude(body);
    let project = agents.desk.path().canonicalize().expect("it is there").display().to_string();
    agents.desk.write("data/one.json", "{}");
    agents.desk.write("config/precious", "keep me");
    let playbook =
        REVIEW.replace("repair: 0", &format!("repair: 1, permission: read, env: {{ PLACE: '{project}' }}"));
    let document = agents.run(&playbook);
    assert!(["run.completed.ok", "run.failed.check_failed"].contains(&reason(&document)), "{document:#}");
    assert_eq!(agents.desk.read("data/one.json"), "{}");
    assert_eq!(agents.desk.read("config/precious"), "keep me");
    let left: Vec<_> = fs::read_dir(agents.desk.path().join("config")).expect("it is there").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn figures_that_do_not_fit_count_as_spent() {
    let agents = Agents::claude(
        r#"say hello; line '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"x","session_id":"'$id'","modelUsage":{"m":{"inputTokens":18446744073709551615,"outputTokens":18446744073709551615}}}'"#,
    );
    let document =
        agents.run("checks: { main: { type: ai, harness: claude, prompt: p, budget: { tokens: 100 } } }");
    assert_eq!(reason(&document), "run.failed.budget_exhausted", "{document:#}");
}
