//! The real programs, offline, against a scripted model. `just test-harnesses claude codex` installs and drives them.
//!
//! The tests are ignored by `cargo test`, which stays hermetic. A program that is missing fails them.

mod desk;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;

use desk::{Desk, Done};
use escrow_harness::HarnessSpec;
use escrow_harness::scripted::{INPUT_TOKENS, OUTPUT_TOKENS, Step};
use escrow_runtime::model_server::ModelServer;
use serde_json::Value;

fn real(harness: &str) -> &'static HarnessSpec {
    escrow_harness::find(harness).expect("it is in the table").spec()
}

/// A desk with a git repository, a real program and a model that follows a script.
struct Scene {
    real: &'static HarnessSpec,
    desk: Desk,
    server: ModelServer,
}

impl Scene {
    fn new(real: &'static HarnessSpec, steps: impl FnOnce(&Path) -> Vec<Step>) -> Scene {
        let desk = Desk::new();
        let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(desk.path()).status();
        assert!(git.is_ok_and(|status| status.success()), "git is there");
        let server = ModelServer::start(steps(&out(&desk))).expect("a free port");
        Scene { real, desk, server }
    }

    fn command(&self, playbook: &str) -> std::process::Command {
        self.desk.write("playbook.yaml", playbook);
        let out = out(&self.desk);
        let out = out.to_str().expect("UTF-8");
        let mut command =
            self.desk.command(&["run", "playbook.yaml", "--output", "json", "--artifacts", out]);
        reach(&mut command, self.real, &self.server);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs one check with these keys and gives the document of the run.
    fn run(&self, keys: &str) -> Value {
        Done::from(self.command(&self.playbook(keys)).output().expect("the binary runs")).json()
    }

    fn start(&self, keys: &str) -> Child {
        let mut command = self.command(&self.playbook(keys));
        command.stdout(std::process::Stdio::piped()).spawn().expect("the binary starts")
    }

    fn playbook(&self, keys: &str) -> String {
        let HarnessSpec { name: harness, scripted_model: model, .. } = self.real;
        format!(
            "artifacts: {{ expected: [{{ id: review, path: review.md }}] }}\n\
             checks: {{ main: {{ type: ai, harness: {harness}, model: {model}, prompt: Review the change., {keys} }} }}\n"
        )
    }
}

/// Names the program, a key and the scripted model in the environment.
fn reach(command: &mut std::process::Command, real: &HarnessSpec, server: &ModelServer) {
    command
        .env(format!("ESCROW_HARNESS_{}", real.name.to_uppercase()), installed(real.name))
        .env(real.key_variables[0], "sk-scripted-0123456789")
        .env(real.base_url_variable, format!("{}{}", server.url(), real.api_path));
}

fn out(desk: &Desk) -> PathBuf {
    let out = desk.path().canonicalize().expect("it is there").join("out");
    fs::create_dir_all(&out).expect("a directory");
    out
}

/// The program, where `just test-harnesses` has installed it.
fn installed(harness: &str) -> PathBuf {
    let folder = std::env::var_os("ESCROW_TEST_HARNESSES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").expect("a home")).join(".cache/escrow-harnesses")
    });
    let program = folder.join("node_modules/.bin").join(harness);
    assert!(program.exists(), "`{}` is missing; run `just test-harnesses {harness}`", program.display());
    program
}

fn write_review(out: &Path) -> Step {
    let path = out.join("review.md").display().to_string();
    Step::WriteFile { path, contents: "Fine.\n".into() }
}

fn say(text: &str) -> Step {
    Step::Say(text.into())
}

#[track_caller]
fn reason(document: &Value) -> &str {
    document["run"]["reason"]["code"].as_str().unwrap_or_else(|| panic!("no reason: {document}"))
}

#[track_caller]
fn issue(document: &Value) -> &str {
    document["checks"]["main"]["issues"][0]["rule_id"].as_str().unwrap_or_else(|| panic!("{document:#}"))
}

/// A process that was ended and that its parent has not waited for yet does not run.
fn is_running(pid: &str) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(pid).join("status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:")).map(str::trim).unwrap_or("X");
    !state.starts_with(['Z', 'X'])
}

/// Every process whose environment names the desk, by its command line.
fn processes_of(desk: &Desk) -> Vec<String> {
    let place = desk.path().canonicalize().expect("it is there").display().to_string();
    let processes = fs::read_dir("/proc").expect("Linux").flatten();
    let of_desk = processes.filter(|entry| {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&place)
    });
    of_desk
        .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default().replace('\0', " "))
        .collect()
}

fn delivers(real: &'static HarnessSpec) {
    let scene = Scene::new(real, |out| vec![write_review(out), say("Done.")]);
    let document = scene.run("timeout: 2m");
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let harness = &document["checks"]["main"]["result"]["harness"];
    assert_eq!(document["checks"]["main"]["output"], "Done.");
    assert_eq!((&harness["completed"], &harness["is_error"]), (&true.into(), &false.into()));
    if !harness["input_tokens"].is_null() {
        assert!(harness["input_tokens"].as_u64() >= Some(2 * INPUT_TOKENS), "{harness}");
        assert!(harness["output_tokens"].as_u64() >= Some(2 * OUTPUT_TOKENS), "{harness}");
    }
    assert_eq!(scene.server.played(), 2);
}

fn claims_and_does_not_deliver(real: &'static HarnessSpec) {
    let scene = Scene::new(real, |_| vec![say("review.md is written.")]);
    let document = scene.run("timeout: 2m");
    assert_eq!(reason(&document), "run.failed.missing_artifact", "{document:#}");
}

fn is_repaired_in_the_same_conversation(real: &'static HarnessSpec) {
    let scene =
        Scene::new(real, |out| vec![say("review.md is written."), write_review(out), say("Now it is.")]);
    let document = scene.run("timeout: 2m, repair: 1");
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let check = &document["checks"]["main"];
    assert_eq!(check["runs"], 2);
    let home = check["result"]["conversation"]["home"].as_str().expect("a home");
    assert!(home.ends_with("-1"), "the home of the first attempt: {home}");
    let harness = &check["result"]["harness"];
    // Two requests, whatever the harness adds up.
    if !harness["input_tokens"].is_null() {
        assert!(harness["input_tokens"].as_u64() < Some(4 * INPUT_TOKENS), "{harness}");
    }
}

fn is_denied_what_it_may_not_do(real: &'static HarnessSpec) {
    let scene = Scene::new(real, |out| {
        vec![Step::Run("echo x > inside.txt".into()), write_review(out), say("Done.")]
    });
    let document = scene.run("timeout: 2m, permission: read");
    assert!(!scene.desk.path().join("inside.txt").exists(), "{document:#}");
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
}

fn fails_with_its_service(real: &'static HarnessSpec) {
    for (status, codes) in [(401, ["ai/auth", "ai/login"]), (500, ["ai/api", "ai/failed"])] {
        let scene = Scene::new(real, |_| vec![Step::Fail(status); 50]);
        let document = scene.run("timeout: 3m");
        assert!(codes.contains(&issue(&document)), "{status}: {document:#}");
    }
}

fn hangs_and_is_ended(real: &'static HarnessSpec) {
    let scene = Scene::new(real, |_| vec![Step::Hang; 50]);
    let document = scene.run("timeout: 8s");
    assert_eq!(issue(&document), "ai/timeout", "{document:#}");
    assert_eq!(processes_of(&scene.desk), [""; 0]);
}

fn is_killed(real: &'static HarnessSpec) {
    let scene = Scene::new(real, |_| vec![Step::Hang; 50]);
    let running = scene.start("timeout: 2m");
    scene.desk.until("the model is asked", || scene.server.played() > 0);
    let killed = std::process::Command::new("pkill")
        .args(["-9", "-P", &running.id().to_string()])
        .status()
        .expect("pkill is there");
    assert!(killed.success());
    let document = Done::from(running.wait_with_output().expect("it ends")).json();
    assert_eq!(issue(&document), "ai/signal", "{document:#}");
    assert_eq!(processes_of(&scene.desk), [""; 0]);
}

fn leaves_no_fork_behind(real: &'static HarnessSpec) {
    let scene = Scene::new(real, |out| {
        let pid = out.join("pid").display().to_string();
        // `qwen` ends what is still in the session of its shell when the shell exits.
        let fork = format!(
            "setsid sh -c 'echo $$ > {pid}; exec sleep 1000' > /dev/null 2>&1 & while [ ! -s {pid} ]; do sleep 0.05; done"
        );
        vec![Step::Run(fork), write_review(out), say("Done.")]
    });
    let document = scene.run("timeout: 2m, permission: full");
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    let pid = scene.desk.read("out/pid");
    assert!(!pid.trim().is_empty(), "it was started");
    assert!(!is_running(pid.trim()), "{pid} is still there");
    assert_eq!(processes_of(&scene.desk), [""; 0]);
}

macro_rules! tests_of {
    ($($harness:ident),+ $(,)?) => {$(
        mod $harness {
            #[test]
            #[ignore = "needs the real program: just test-harnesses"]
            fn delivers_a_review() { super::delivers(super::real(stringify!($harness))) }

            #[test]
            #[ignore = "needs the real program: just test-harnesses"]
            fn that_claims_and_does_not_deliver_has_failed() { super::claims_and_does_not_deliver(super::real(stringify!($harness))) }

            #[test]
            #[ignore = "needs the real program: just test-harnesses"]
            fn is_repaired_in_the_same_conversation() { super::is_repaired_in_the_same_conversation(super::real(stringify!($harness))) }

            #[test]
            #[ignore = "needs the real program: just test-harnesses"]
            fn is_denied_what_it_may_not_do() { super::is_denied_what_it_may_not_do(super::real(stringify!($harness))) }

            #[test]
            #[ignore = "needs the real program: just test-harnesses"]
            fn fails_with_its_service() { super::fails_with_its_service(super::real(stringify!($harness))) }

            #[test]
            #[ignore = "needs the real program: just test-harnesses"]
            fn that_hangs_is_ended() { super::hangs_and_is_ended(super::real(stringify!($harness))) }

            #[test]
            #[ignore = "needs the real program: just test-harnesses"]
            fn that_is_killed_has_failed() { super::is_killed(super::real(stringify!($harness))) }

            #[test]
            #[ignore = "needs the real program: just test-harnesses"]
            fn leaves_no_fork_behind() { super::leaves_no_fork_behind(super::real(stringify!($harness))) }
        }
    )+};
}

tests_of! { claude, codex, gemini, opencode, copilot, qwen }

/// The playbooks of examples/agents with the real programs.
mod examples {
    use super::{Done, HarnessSpec, ModelServer, Step, out, reach, real, reason, say, write_review};
    use crate::desk::Desk;
    use serde_json::Value;

    fn run(example: &str, desk: &Desk, models: &[(&HarnessSpec, &ModelServer)]) -> Value {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents");
        desk.write(example, &std::fs::read_to_string(folder.join(example)).expect("an example"));
        let artifacts = out(desk);
        let artifacts = artifacts.to_str().expect("UTF-8");
        let mut command =
            desk.command(&["run", example, "--output", "json", "--quiet", "--artifacts", artifacts]);
        for (real, server) in models {
            reach(&mut command, real, server);
        }
        Done::from(command.output().expect("the binary runs")).json()
    }

    mod claude {
        use super::*;

        #[test]
        #[ignore = "needs the real program: just test-harnesses"]
        fn an_implementer_is_sent_back_until_the_tests_pass() {
            let desk = Desk::new();
            desk.write(
                "test.sh",
                "#!/bin/sh\nif [ -e fixed ]; then echo '{\"failed\": 0}'; else echo '{\"failed\": 1}'; fi\n",
            );
            desk.write("chmod.sh", "chmod +x test.sh");
            let made = std::process::Command::new("sh").arg("chmod.sh").current_dir(desk.path()).status();
            assert!(made.is_ok_and(|status| status.success()));
            let folder = out(&desk);
            let path = |name: &str| folder.join(name).display().to_string();
            let test = Step::Run(format!("./test.sh > {}", path("tests.json")));
            let server = ModelServer::start(vec![
                Step::WriteFile { path: path("summary.md"), contents: "Changed.\n".into() },
                test.clone(),
                say("Done."),
                Step::Run("touch fixed".into()),
                test,
                say("Now it passes."),
            ])
            .expect("a free port");
            let document = run("implementer.yaml", &desk, &[(real("claude"), &server)]);
            assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
            assert_eq!(document["checks"]["implement"]["runs"], 2);
        }

        #[test]
        #[ignore = "needs the real program: just test-harnesses"]
        fn a_fact_check_covers_every_page_within_its_budget() {
            let desk = Desk::new();
            desk.write("docs/a.md", "A.");
            // The harness takes the schema, and its model answers through a tool.
            let answer = serde_json::json!({"page": "a.md", "false_claims": []});
            let call = Step::Call { tool: "StructuredOutput".into(), arguments: answer };
            let server = ModelServer::start(vec![call, say("Done.")]).expect("a free port");
            let document = run("fact-check.yaml", &desk, &[(real("claude"), &server)]);
            assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
        }
    }

    mod codex {
        use super::*;

        #[test]
        #[ignore = "needs the real program: just test-harnesses"]
        fn judges_the_review_of_claude() {
            let desk = Desk::new();
            let reviewer =
                ModelServer::start(vec![write_review(&out(&desk)), say("Done.")]).expect("a free port");
            let judge = ModelServer::start(vec![say("{\"gate_passed\": true, \"criteria\": []}")])
                .expect("a free port");
            let models = [(real("claude"), &reviewer), (real("codex"), &judge)];
            let document = run("judged-review.yaml", &desk, &models);
            assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
            assert_eq!(document["checks"]["publish"]["output"], "Fine.");
        }
    }
}

/// Hooks of the real programs.
mod hooks {
    use super::{Done, HarnessSpec, Scene, installed, real, reason, say, write_review};
    use escrow_harness::install::hook_file;
    use serde_json::Value;

    fn receipts(scene: &Scene) -> Vec<Value> {
        let done = scene.desk.escrow(&["lifecycle", "receipt", "list", "--extended"]);
        serde_json::from_str(&done.stdout).unwrap_or_default()
    }

    fn holds_a_stop_until_the_file_is_there(real: &'static HarnessSpec) {
        let scene =
            Scene::new(real, |out| vec![say("review.md is written."), write_review(out), say("Now it is.")]);
        let document = scene.run("timeout: 2m, hold_stop: true");
        assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
        assert_eq!(document["checks"]["main"]["runs"], 1, "one attempt");
        let endings: Vec<Value> =
            receipts(&scene).into_iter().filter(|receipt| receipt["event"] == "frame.ending").collect();
        let told: Vec<&Value> = endings.iter().map(|receipt| &receipt["status"]).collect();
        assert_eq!(told, ["delivered", "observed"], "{endings:#?}");
        assert!(endings.iter().all(|receipt| receipt["harness_run_id"] == document["run"]["id"]));
    }

    macro_rules! held {
        ($($harness:ident),+ $(,)?) => {$(
            mod $harness {
                #[test]
                #[ignore = "needs the real program: just test-harnesses"]
                fn a_stop_is_held_back_until_the_file_is_there() {
                    super::holds_a_stop_until_the_file_is_there(super::real(stringify!($harness)));
                }
            }
        )+};
    }

    held! { claude, codex, gemini, copilot, qwen }

    /// A person's own session: the program with its usual command line, in a project with installed hooks.
    struct Session {
        words: &'static [&'static str],
        /// Further variables; `HOME` in a value is the home of the session.
        variables: &'static [(&'static str, &'static str)],
        /// Files of the user, below `HOME`.
        files: &'static [(&'static str, &'static str)],
        /// The file that the hooks are merged into, and what is in it before.
        hooks: (&'static str, &'static str),
        /// The events that one prompt leaves receipts of.
        events: &'static [&'static str],
    }

    fn session(host: &str) -> Session {
        const ALL: &[&str] = &["session.started", "frame.opening", "frame.ending", "session.ending"];
        match host {
            "claude" => Session {
                words: &["-p", "Hello", "--output-format", "stream-json", "--verbose", "--model", "MODEL"],
                variables: &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")],
                files: &[],
                hooks: (".claude/settings.json", "{\n  \"env\": {\"MINE\": \"1\"}\n}\n"),
                events: ALL,
            },
            // Hooks of a project need the trust that a person gives in the terminal; the flag stands for it.
            "codex" => Session {
                words: &[
                    "exec",
                    "--json",
                    "--dangerously-bypass-hook-trust",
                    "-c",
                    "model_provider=\"scripted\"",
                    "-c",
                    "model_providers.scripted={name=\"scripted\",base_url=\"BASE\",wire_api=\"responses\",env_key=\"OPENAI_API_KEY\"}",
                    "-c",
                    "projects.\"PROJECT\".trust_level=\"trusted\"",
                    "-c",
                    "analytics.enabled=false",
                    "--disable",
                    "plugins",
                    "--disable",
                    "apps",
                    "--skip-git-repo-check",
                    "-m",
                    "MODEL",
                    "Hello",
                ],
                variables: &[],
                files: &[(".codex/config.toml", "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n")],
                hooks: (".codex/config.toml", "# mine\nmodel_reasoning_effort = \"low\""),
                events: ALL,
            },
            "gemini" => Session {
                words: &["-p", "Hello", "--output-format", "stream-json", "-m", "MODEL"],
                variables: &[("GEMINI_CLI_NO_RELAUNCH", "1")],
                files: &[
                    (".gemini/trustedFolders.json", "{\"PROJECT\": \"TRUST_FOLDER\"}"),
                    (
                        ".gemini/settings.json",
                        "{\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}},\"general\":{\"enableAutoUpdate\":false},\"privacy\":{\"usageStatisticsEnabled\":false}}",
                    ),
                ],
                hooks: (".gemini/settings.json", "{\"ui\": {\"hideTips\": true}}"),
                events: ALL,
            },
            "copilot" => Session {
                words: &[
                    "-p",
                    "Hello",
                    "--output-format",
                    "json",
                    "--no-color",
                    "--log-level",
                    "none",
                    "--no-auto-update",
                    "--allow-all-tools",
                    "--no-ask-user",
                ],
                variables: &[("COPILOT_OFFLINE", "true"), ("COPILOT_MODEL", "MODEL")],
                files: &[(
                    ".copilot/config.json",
                    "{\"trusted_folders\": [\"PROJECT\"], \"trustedFolders\": [\"PROJECT\"]}",
                )],
                hooks: (".github/hooks/escrow.json", "{\n  \"version\": 1,\n  \"hooks\": {}\n}\n"),
                events: ALL,
            },
            "qwen" => Session {
                words: &[
                    "Hello",
                    "--output-format",
                    "stream-json",
                    "--auth-type",
                    "openai",
                    "--openai-base-url",
                    "BASE",
                    "-m",
                    "MODEL",
                    "--approval-mode",
                    "yolo",
                ],
                variables: &[("QWEN_CODE_NO_RELAUNCH", "1")],
                files: &[(
                    ".qwen/settings.json",
                    "{\"memory\":{\"enableManagedAutoMemory\":false},\"$version\":4}",
                )],
                // Without `$version`, the program writes the file anew.
                hooks: (".qwen/settings.json", "{\n  \"ui\": {\"hideTips\": true},\n  \"$version\": 4\n}\n"),
                events: &["frame.opening", "frame.ending"],
            },
            "opencode" => Session {
                words: &["run", "--format", "json", "-m", "scripted/MODEL", "--title", "T", "Hello"],
                variables: &[
                    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
                    ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
                    (
                        "OPENCODE_CONFIG_CONTENT",
                        "{\"provider\":{\"scripted\":{\"npm\":\"@ai-sdk/openai-compatible\",\"options\":{\"baseURL\":\"BASE\",\"apiKey\":\"x\"},\"models\":{\"MODEL\":{\"limit\":{\"context\":200000,\"output\":8000}}}}},\"small_model\":\"scripted/MODEL\"}",
                    ),
                ],
                files: &[],
                hooks: (".opencode/plugin/escrow.js", ""),
                events: &["session.started", "frame.opening", "frame.ended", "session.ending"],
            },
            other => panic!("no session of `{other}`"),
        }
    }

    /// Hooks of a person's own sessions: installed into a project, fired by the program, removed again.
    fn installed_hooks_fire_and_are_removed_byte_for_byte(real: &'static HarnessSpec, scope: &str) {
        let host = real.name;
        let Session { words, variables, files, hooks: (file, before), events } = session(host);
        let scene = Scene::new(real, |_| vec![say("Hello.")]);
        let is_user = scope == "--user";
        let file =
            if is_user { format!("home/{}", hook_file(host).expect("a host").user) } else { file.to_owned() };
        let file = file.as_str();
        let git = std::process::Command::new("git")
            .arg("init")
            .arg("--quiet")
            .current_dir(scene.desk.path())
            .status();
        assert!(git.is_ok_and(|status| status.success()));
        let project = scene.desk.path().canonicalize().expect("it is there").display().to_string();
        let home = scene.desk.path().join("home");
        std::fs::create_dir(&home).expect("a directory");
        for (name, contents) in files {
            scene.desk.write(&format!("home/{name}"), &contents.replace("PROJECT", &project));
        }
        // The settings of the user may be there already.
        let existing = scene.desk.path().join(file);
        let before = if existing.exists() { scene.desk.read(file) } else { before.to_owned() };
        if !before.is_empty() {
            scene.desk.write(file, &before);
        }
        let harness = |action: &str| {
            let mut command = scene.desk.command(&["harness", action, "--host", host, scope]);
            let done = Done::from(command.env("HOME", &home).output().expect("the binary runs"));
            assert_eq!(done.code, Some(0), "{}", done.stderr);
        };
        scene.desk.write(".escrow/context.md", "Use tabs.\n");
        harness("install");
        let base = format!("{}{}", scene.server.url(), real.api_path);
        let filled = |text: &str| {
            text.replace("BASE", &base).replace("MODEL", real.scripted_model).replace("PROJECT", &project)
        };
        let mut command = std::process::Command::new(installed(host));
        command
            .args(words.iter().map(|word| filled(word)))
            .current_dir(scene.desk.path())
            .stdin(std::process::Stdio::null())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env(real.key_variables[0], "sk-scripted-0123456789")
            .env(real.base_url_variable, &base)
            .envs(variables.iter().map(|(name, value)| (name, filled(value))));
        let done = Done::from(command.output().expect("it runs"));
        assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
        let all = receipts(&scene);
        let found: Vec<&str> = all.iter().filter_map(|receipt| receipt["event"].as_str()).collect();
        assert_eq!(found, events, "{all:#?} {}", done.stderr);
        assert!(
            all.iter().any(|receipt| receipt["status"] == "delivered"),
            "the context was added: {all:#?}"
        );
        harness("uninstall");
        if before.is_empty() {
            assert!(!scene.desk.path().join(file).exists(), "it held nothing else");
        } else {
            assert_eq!(scene.desk.read(file), before);
        }
    }

    macro_rules! installed {
        ($scope:literal, $($harness:ident),+ $(,)?) => {$(
            mod $harness {
                #[test]
                #[ignore = "needs the real program: just test-harnesses"]
                fn installed_hooks_fire_and_are_removed_byte_for_byte() {
                    let real = super::super::real(stringify!($harness));
                    super::super::installed_hooks_fire_and_are_removed_byte_for_byte(real, $scope);
                }
            }
        )+};
    }

    mod of_a_project {
        installed! { "--project", claude, codex, gemini, opencode, copilot, qwen }
    }

    mod of_the_user {
        installed! { "--user", claude, codex, gemini, opencode, copilot, qwen }
    }
}
