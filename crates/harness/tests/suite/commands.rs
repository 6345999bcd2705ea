//! The command lines, and what must never be in them.

use std::fmt::Write;
use std::path::Path;

use escrow_harness::{
    Auth, CommandLine, Confinement, Conversation, HARNESSES, Harness, Order, Permission, Unsupported, find,
};
use serde_json::{Value, json};

const HOME: &str = "/spool/home";
const DIRECTORY: &str = "/project";
const ARTIFACTS: &str = "/spool/artifacts";
const ID: &str = "5f0c6a0e-0000-4000-8000-000000000001";

fn order<'a>() -> Order<'a> {
    Order {
        prompt: "Review the change.",
        model: Some("model-1"),
        permission: Permission::Read,
        confinement: Confinement::Kernel,
        auth: Auth::Key,
        directory: Path::new(DIRECTORY),
        home: Path::new(HOME),
        artifacts: Path::new(ARTIFACTS),
        conversation: Conversation::New { id: ID },
        turns: None,
        usd: None,
        schema: None,
        hook: None,
        base_url: None,
        is_root: false,
    }
}

fn orders<'a>() -> Vec<Order<'a>> {
    let mut orders = Vec::new();
    for permission in [Permission::Read, Permission::Edit, Permission::Full] {
        for conversation in [Conversation::New { id: ID }, Conversation::Resumed { id: ID }] {
            for confinement in [Confinement::Kernel, Confinement::Program] {
                orders.push(Order { permission, conversation, confinement, ..order() });
            }
        }
    }
    orders
}

/// Everything at once, as far as the harness supports it.
fn full(harness: &dyn Harness) -> CommandLine {
    let hook = ["/opt/escrow bin/escrow", "hook", "--host", harness.spec().name].map(str::to_owned);
    let schema = json!({"type": "object"});
    let base = Order {
        permission: Permission::Full,
        turns: Some(7),
        usd: Some(0.5),
        hook: Some(&hook),
        base_url: Some("http://127.0.0.1:9/v1"),
        is_root: true,
        ..order()
    };
    match harness.command(&Order { schema: Some(&schema), ..base }) {
        Err(Unsupported::Schema { .. }) => harness.command(&base).expect("a command line"),
        other => other.expect("a command line"),
    }
}

fn shown(line: &CommandLine) -> String {
    let mut text = format!(
        "  {}\n",
        line.arguments.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" ")
    );
    for (name, value) in &line.env {
        writeln!(text, "  {name}={value}").unwrap();
    }
    for file in &line.files {
        writeln!(text, "  {}:", file.path.display()).unwrap();
        for contents in file.contents.lines() {
            writeln!(text, "    {contents}").unwrap();
        }
    }
    writeln!(text, "  stdin: {:?}", line.stdin).unwrap();
    text
}

#[test]
fn command_lines_are_the_ones_that_were_reviewed() {
    for harness in HARNESSES {
        let mut text = String::new();
        for order in orders() {
            let line = harness.command(&order).expect("a command line");
            let conversation = match order.conversation {
                Conversation::New { .. } => "new",
                Conversation::Resumed { .. } => "resumed",
            };
            writeln!(text, "{:?}, {conversation}, kept by {:?}:", order.permission, order.confinement)
                .unwrap();
            text.push_str(&shown(&line));
        }
        writeln!(text, "Everything, as root:\n{}", shown(&full(*harness))).unwrap();
        insta::with_settings!({
            snapshot_path => "../expected", prepend_module_to_snapshot => false, omit_expression => true,
        }, {
            insta::assert_snapshot!(format!("commands-{}", harness.spec().name), text);
        });
    }
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn environment_and_files_stay_below_the_private_home() {
    for harness in HARNESSES {
        let lines = orders().into_iter().map(|order| harness.command(&order).unwrap());
        for line in lines.chain([full(*harness)]) {
            for (name, value) in &line.env {
                let mut found = Vec::new();
                match serde_json::from_str::<Value>(value) {
                    Ok(value) => strings(&value, &mut found),
                    Err(_) => found.push(value.clone()),
                }
                for text in found {
                    let path = text.strip_prefix("file://").unwrap_or(&text);
                    let is_inside = Path::new(path).starts_with(HOME);
                    assert!(is_inside || !path.starts_with('/'), "{}: {name}={value}", harness.spec().name);
                }
            }
            for file in &line.files {
                assert!(file.path.starts_with(HOME), "{}: {}", harness.spec().name, file.path.display());
            }
        }
    }
}

#[test]
fn keys_are_left_to_the_environment() {
    for harness in HARNESSES {
        let line = full(*harness);
        for (name, _) in &line.env {
            assert!(
                !harness.spec().key_variables.contains(&name.as_str()),
                "{} sets {name}",
                harness.spec().name
            );
        }
        for argument in &line.arguments {
            let flag = argument.to_lowercase();
            assert!(!flag.starts_with('-') || !flag.contains("key"), "{}: {argument}", harness.spec().name);
        }
        assert!(!harness.spec().key_variables.is_empty());
    }
}

#[test]
fn a_prompt_reaches_the_program_unchanged_or_is_refused() {
    let long = "-".repeat(200_000);
    for harness in HARNESSES {
        match harness.command(&Order { prompt: &long, ..order() }) {
            Ok(line) => assert_eq!(line.stdin.as_deref(), Some(long.as_str())),
            Err(error) => assert!(matches!(error, Unsupported::PromptTooLong { .. }), "{error}"),
        }
        let line = harness.command(&Order { prompt: "--help me", ..order() }).unwrap();
        let is_passed = line.stdin.as_deref() == Some("--help me")
            || line.arguments.iter().any(|argument| argument == " \n--help me");
        assert!(is_passed && !line.arguments.iter().any(|argument| argument == "--help me"));
    }
}

#[test]
fn what_a_harness_cannot_do_is_refused() {
    let check = |name: &str, order: &Order<'_>, expected: &str| {
        let error = find(name).unwrap().command(order).expect_err("refused");
        assert_eq!(error.to_string(), expected);
    };
    let schema = json!({});
    let with_schema = Order { schema: Some(&schema), ..order() };
    for name in ["gemini", "opencode", "copilot", "qwen"] {
        check(name, &with_schema, &format!("`{name}` cannot be asked for structured output"));
    }
    for harness in HARNESSES {
        let conversation = Conversation::Resumed { id: "--dangerously-bypass-hook-trust" };
        let flag = Order { conversation, ..order() };
        check(harness.spec().name, &flag, "`--dangerously-bypass-hook-trust` is not a session id");
    }
    check("copilot", &Order { auth: Auth::Login, ..order() }, "`copilot` keeps its login in no file");
    check(
        "opencode",
        &Order { model: None, base_url: Some("http://127.0.0.1:9"), ..order() },
        "`opencode` needs a `model` when `OPENAI_BASE_URL` is set",
    );
}

#[test]
fn a_login_file_goes_where_the_program_looks_for_it() {
    for harness in HARNESSES {
        let Some(login) = harness.spec().login else { continue };
        let line = harness.command(&Order { auth: Auth::Login, ..order() }).unwrap();
        let target = Path::new(HOME).join(login.target);
        let is_configured = line
            .env
            .iter()
            .any(|(_, value)| Path::new(value) != Path::new(HOME) && target.starts_with(value));
        assert!(is_configured, "{}: {}", harness.spec().name, target.display());
    }
}
