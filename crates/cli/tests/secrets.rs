//! A canary in every cage: secrets are printed in every way that programs print them, and nothing that Escrow
//! writes or shows has them.

mod desk;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use desk::{Desk, Done};
use serde_json::{Value, json};

/// Everything that needs escaping somewhere.
const CANARY: &str = "cAnary-\"7f/3a+9' <é>\\end of it";

/// The spellings that must be nowhere. Written apart from what is tested.
fn spellings() -> Vec<(&'static str, String)> {
    let bytes = CANARY.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let percent = |kept: &str, upper: bool| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            let letter = char::from(*byte);
            if letter.is_ascii_alphanumeric() || kept.contains(letter) {
                text.push(letter);
            } else if upper {
                write!(text, "%{byte:02X}").expect("a string takes it");
            } else {
                write!(text, "%{byte:02x}").expect("a string takes it");
            }
            text
        })
    };
    let escaped = Value::String(CANARY.into()).to_string();
    let once = escaped[1..escaped.len() - 1].to_owned();
    let twice = Value::String(once.clone()).to_string();
    vec![
        ("raw", CANARY.to_owned()),
        ("echoed", CANARY.replace("\\e", "\x1b")),
        ("base64", base64(bytes)),
        ("base64-url", base64(bytes).replace('+', "-").replace('/', "_")),
        ("base64-shifted", base64(&[b"x", bytes].concat())[2..].to_owned()),
        ("base64-shifted-twice", base64(&[b"xy", bytes].concat())[3..].to_owned()),
        ("hex", hex.clone()),
        ("hex-upper", hex.to_uppercase()),
        ("percent", percent("-_.~", true)),
        ("percent-lower", percent("-_.~", false)),
        ("percent-component", percent("-_.!~*'()", true)),
        ("form", percent("-_.", true).replace("%20", "+")),
        ("json", once.clone()),
        ("json-ascii", once.replace('é', "\\u00e9")),
        ("json-slash", once.replace('/', "\\/")),
        ("json-html", once.replace('<', "\\u003c").replace('>', "\\u003e")),
        ("json-twice", twice[1..twice.len() - 1].to_owned()),
        ("json-then-ascii", twice[1..twice.len() - 1].replace('é', "\\u00e9")),
        ("json-ascii-then-json", twice[1..twice.len() - 1].replace('é', "\\\\u00e9")),
        ("html-zeros", CANARY.chars().map(|one| format!("&#x{:04x};", u32::from(one))).collect()),
        ("html-decimal-zeros", CANARY.chars().map(|one| format!("&#{:04};", u32::from(one))).collect()),
    ]
}

/// Without padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let six = |bits: &[u8]| {
        let bits = format!("{:0<6}", String::from_utf8_lossy(bits));
        char::from(ALPHABET[usize::from_str_radix(&bits, 2).expect("bits")])
    };
    bits.as_bytes().chunks(6).map(six).collect()
}

/// No spelling stands in these bytes.
#[track_caller]
fn clean(place: &str, bytes: &[u8]) {
    for (spelling, needle) in spellings() {
        let found = bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
        assert!(!found, "{place} has the canary ({spelling}):\n{}", String::from_utf8_lossy(bytes));
    }
}

#[track_caller]
fn clean_done(place: &str, done: &Done) {
    clean(&format!("stdout of {place}"), done.stdout.as_bytes());
    clean(&format!("stderr of {place}"), done.stderr.as_bytes());
}

/// Every file of the state: database, its log, output, contexts. Delivered files are the user's.
fn clean_state(directory: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("artifacts") {
                count += clean_state(&path);
            }
        } else {
            clean(&path.display().to_string(), &fs::read(&path).expect("it can be read"));
            clean("a file name", path.display().to_string().as_bytes());
            count += 1;
        }
    }
    count
}

fn run(desk: &Desk, canary: &str, arguments: &[&str]) -> Done {
    Done::from(desk.command(arguments).env("CANARY", canary).output().expect("the binary runs"))
}

const CAGES: &str = r#"
secrets:
  TOKEN: { env: CANARY }
inputs:
  note: { type: string }
artifacts:
  expected:
    - { id: report, path: report.txt }
    - { id: harmless, path: harmless.txt }
checks:
  raw:
    type: command
    secrets: [TOKEN]
    exec: |
      echo "token: $TOKEN"
      echo "$TOKEN" >&2
  long:
    type: command
    secrets: [TOKEN]
    exec: |
      i=0; while [ $i -lt 400 ]; do echo "line $i of $TOKEN and more"; i=$((i+1)); done
      cat spellings/*; cat spellings/* >&2
  split:
    type: command
    secrets: [TOKEN]
    exec: |
      head=${TOKEN%????????????}; middle=${TOKEN#"$head"}; middle=${middle%????}
      printf '%s' "$head"; sleep 0.2; printf '%s' "$middle"; sleep 0.2; printf '%s\n' "${TOKEN#"$head$middle"}"
  spelled:
    type: command
    exec: cat spellings/*
  tools:
    type: command
    secrets: [TOKEN]
    exec: |
      printf %s "$TOKEN" | base64; echo "$TOKEN" | base64
      printf 'user:%s' "$TOKEN" | base64
      printf 'a long header that makes lines break somewhere inside of it: %s' "$TOKEN$TOKEN" | base64
      printf %s "$TOKEN" | od -An -v -tx1 | tr -d ' '
      set -x; true "$TOKEN"
  json:
    type: command
    secrets: [TOKEN]
    exec: cat document.json
    guarantee: output.token === 'something else' && output.list[0] === 'x'
  unicode:
    type: command
    exec: cat unicode.json
    fail_if: output.token !== '***'
  broken:
    type: command
    secrets: [TOKEN]
    exec: |
      "$TOKEN"
  exits:
    type: command
    secrets: [TOKEN]
    exec: |
      echo "cannot log in with $TOKEN" >&2; exit 3
  hands-back:
    type: command
    secrets: [TOKEN]
    exec: |
      echo "LATER=$TOKEN" >> "$ESCROW_ENV"
      echo "$TOKEN=1" >> "$ESCROW_ENV"
  later:
    type: command
    depends_on: hands-back
    exec: test "$LATER" = '***' && cat "$ESCROW_CONTEXT"
  withheld:
    type: command
    exec: test -z "$TOKEN$CANARY" && ! env | grep -q '^TOKEN=\|^CANARY='
  has-it:
    type: command
    secrets: TOKEN
    exec: test "$TOKEN" = "$(cat plain)" && test -z "$CANARY"
  renders:
    type: log
    message: "{{ env.TOKEN }} {{ env.CANARY }} {{ inputs.note }} {{ event.title }}"
  delivers:
    type: command
    secrets: [TOKEN]
    exec: |
      printf '%s\n' "$TOKEN" > "$ESCROW_ARTIFACTS/report.txt"
      echo nothing > "$ESCROW_ARTIFACTS/harmless.txt"
  fans:
    type: command
    forEach: true
    exec: cat list.json
  item:
    type: command
    depends_on: fans
    exec: ["sh", "-c", "echo \"$1 $ESCROW_ITEM\"", "sh", "{{ item }}"]
"#;

fn cages() -> Desk {
    let desk = Desk::new();
    desk.write("playbook.yaml", CAGES);
    desk.write("plain", CANARY);
    for (name, spelling) in spellings() {
        desk.write(&format!("spellings/{name}"), &format!("{spelling}\n"));
    }
    let document = json!({ "token": CANARY, "list": [CANARY], "deep": { CANARY: 1 }, "text": json!({ "t": CANARY }).to_string() });
    desk.write("document.json", &document.to_string());
    let units: String = CANARY.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    desk.write("unicode.json", &format!("{{\"token\": \"{units}\"}}"));
    desk.write("list.json", &json!([CANARY, "plain"]).to_string());
    desk.write("event.json", &json!({ "title": CANARY, "nested": [{ "body": CANARY }] }).to_string());
    desk
}

#[test]
fn no_sink_has_a_secret_in_any_spelling() {
    let desk = cages();
    let base = ["run", "playbook.yaml", "--event", "pr_opened=event.json", "--input", "note=plain"];
    for output in ["human", "json", "jsonl"] {
        let done = run(&desk, CANARY, &[&base[..], &["--output", output]].concat());
        assert_eq!(done.code, Some(1), "{}", done.stderr);
        clean_done(&format!("run --output {output}"), &done);
    }
    assert!(clean_state(&desk.path().join(".escrow")) > 3);
    for arguments in [
        &["runs"][..],
        &["runs", "show", "last"],
        &["runs", "show", "last", "--output", "json"],
        &["logs", "last"],
        &["verify", "last"],
    ] {
        let done = run(&desk, CANARY, arguments);
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
        clean_done(&arguments.join(" "), &done);
    }
}

#[test]
fn what_is_not_secret_is_still_there() {
    let desk = cages();
    let done = run(&desk, CANARY, &["run", "playbook.yaml", "--output", "json", "--quiet"]);
    let document = done.json();
    let status = |check: &str| document["checks"][check]["status"].clone();
    for check in ["raw", "long", "split", "later", "withheld", "has-it", "unicode", "delivers", "item"] {
        assert_eq!(status(check), "succeeded", "{check}: {}", document["checks"][check]);
    }
    assert_eq!(document["checks"]["raw"]["output"], "token: ***");
    assert_eq!(document["checks"]["split"]["output"], "***");
    assert_eq!(document["checks"]["renders"]["status"], "failed", "without an event there is no title");
    let json = &document["checks"]["json"];
    assert_eq!(
        json["output"],
        json!({ "token": "***", "list": ["***"], "deep": { "***": 1 }, "text": "{\"t\":\"***\"}" })
    );
    assert_eq!(json["status"], "failed");
    assert_eq!(document["checks"]["exits"]["result"]["stderr"], "cannot log in with ***\n");
    let lines = run(&desk, CANARY, &["logs", "last", "long", "--stdout"]).stdout;
    assert!(lines.starts_with("line 0 of *** and more\nline 1 of *** and more\n"), "{lines}");
    assert!(lines.contains("line 399 of *** and more\n"));
    let warnings = document["run"]["warnings"].as_array().expect("a list");
    let codes: Vec<_> = warnings.iter().map(|one| (&one["code"], &one["message"])).collect();
    let bad_line = "`hands-back`: $ESCROW_ENV: line 2: the name may contain only letters, digits and `_`";
    assert_eq!(
        codes,
        [
            (&json!("env_refused"), &json!(bad_line)),
            (&json!("secret_in_artifact"), &json!("artifact `report` (report.txt) holds a secret")),
        ]
    );
    let delivered = document["artifacts"]["produced"].as_array().map(Vec::len);
    assert_eq!(delivered, Some(2));
    let id = document["run"]["id"].as_str().expect("an id");
    assert_eq!(
        desk.read(&format!(".escrow/artifacts/{id}/report.txt")),
        format!("{CANARY}\n"),
        "it is the user's"
    );
}

#[test]
fn secrets_come_from_files_and_commands() {
    let desk = Desk::new();
    desk.write("keys/signing.pem", "-----BEGIN KEY-----\nbGluZSBvbmU\nbGluZSB0d28\n-----END KEY-----\n");
    desk.write("deploy.txt", "deploy-me-9\r\n");
    let (code, document) = desk.run(
        r#"
secrets:
  SIGNING_KEY: { file: keys/signing.pem }
  DEPLOY_KEY: { command: [cat, deploy.txt] }
  NOBODY_ASKS: { command: [touch, was-run] }
  NOT_THERE: { file: nowhere.txt }
checks:
  sign: { type: command, secrets: [SIGNING_KEY], exec: "echo \"$SIGNING_KEY\" | tail -n +2; printf %s \"$SIGNING_KEY\" | wc -c" }
  deploy: { type: command, secrets: [DEPLOY_KEY], exec: "test \"$DEPLOY_KEY\" = \"$(cut -c 1-11 deploy.txt)\" && echo \"<$DEPLOY_KEY>\"" }
  reads: { type: log, message: "{{ env.SIGNING_KEY }} {{ env.DEPLOY_KEY }}", if: "env.NOT_THERE === undefined" }
"#,
    );
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["checks"]["sign"]["output"], "***\n***\n***\n61");
    assert_eq!(document["checks"]["deploy"]["output"], "<***>");
    assert_eq!(document["checks"]["reads"]["output"]["message"], "*** ***");
    assert!(!desk.path().join("was-run").exists());
}

/// Nothing runs, and no run is recorded.
#[track_caller]
fn refused(desk: &Desk, canary: &str, source: &str, exit: i32, expected: &str) {
    desk.write(
        "playbook.yaml",
        &format!("secrets: {{ TOKEN: {source} }}\nchecks:\n  a: {{ type: command, secrets: TOKEN, exec: touch was-run }}\n"),
    );
    let done = run(desk, canary, &["run", "playbook.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(exit), "{}", done.stderr);
    assert_eq!(done.json()["error"]["message"], expected);
    assert!(!desk.path().join("was-run").exists());
    clean_done("run", &done);
    assert_eq!(desk.escrow(&["runs", "--output", "json"]).json()["runs"], json!([]));
}

#[test]
fn a_secret_that_cannot_be_had_stops_the_run_before_it_starts() {
    let desk = Desk::new();
    desk.write("short.txt", "abc\n");
    desk.write("empty.txt", "\n");
    desk.write(
        "fails.sh",
        &format!("printf %s '{}'; echo trouble >&2; exit 7", CANARY.replace('\'', "'\\''")),
    );
    for (source, exit, expected) in [
        (
            "{ env: NO_SUCH_VARIABLE }",
            2,
            "secret `TOKEN` is missing: the environment variable `NO_SUCH_VARIABLE` is not set",
        ),
        (
            "{ file: nowhere.txt }",
            2,
            "secret `TOKEN` is missing: `nowhere.txt` cannot be read: No such file or directory (os error 2)",
        ),
        ("{ file: empty.txt }", 2, "secret `TOKEN` is empty"),
        (
            "{ file: short.txt }",
            2,
            "secret `TOKEN` has fewer than 4 bytes: text that short occurs by chance, so it cannot be redacted",
        ),
        ("{ command: [sh, fails.sh] }", 3, "secret `TOKEN` is missing: `sh` exited with 7"),
        ("{ command: [no-such-program] }", 3, "secret `TOKEN` is missing: `no-such-program` cannot be found"),
    ] {
        refused(&desk, CANARY, source, exit, expected);
    }
}

#[test]
fn a_playbook_with_the_value_written_into_it_is_refused() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "secrets: [CANARY]\nchecks:\n  a: { type: command, exec: \"curl -H 'token: correct-horse' x; touch was-run\" }\n",
    );
    let done = run(&desk, "correct-horse", &["run", "playbook.yaml"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("the playbook contains the value of a declared secret"), "{}", done.stderr);
    assert!(!done.stderr.contains("correct-horse"));
    assert!(!desk.path().join("was-run").exists());
}

#[test]
fn a_playbook_that_does_not_load_is_quoted_without_the_secret() {
    const VALUE: &str = "correct-horse-battery";
    let desk = Desk::new();
    let head = "secrets:\n  TOKEN: { env: CANARY }\n";
    for (name, checks) in [
        ("unknown", format!("checks:\n  a: {{ type: command, exec: 'curl {VALUE}', {VALUE}: 1 }}\n")),
        ("warned", format!("checks:\n  a: {{ type: noop, if: \"true || '{VALUE}'\" }}\n")),
        ("no-yaml", format!("checks:\n  a: {{ type: command, exec: \"curl {VALUE}\"x }}\n")),
    ] {
        desk.write(&format!("{name}.yaml"), &format!("{head}{checks}"));
    }
    desk.write("some.test.yaml", "playbook: unknown.yaml\ntests: {a: {expect: {run: completed}}}");
    for arguments in [
        &["run", "unknown.yaml"][..],
        &["check", "unknown.yaml"],
        &["check", "warned.yaml"],
        &["check", "no-yaml.yaml"],
        &["test", "some.test.yaml"],
    ] {
        for output in ["human", "json"] {
            let done = run(&desk, VALUE, &[arguments, &["--output", output]].concat());
            assert!(done.stderr.contains("***"), "{arguments:?}: {}", done.stderr);
            assert!(!done.stderr.contains(VALUE), "{arguments:?}: {}", done.stderr);
            assert!(!done.stdout.contains(VALUE), "{arguments:?}: {}", done.stdout);
        }
    }
}

#[test]
fn what_was_typed_is_not_repeated_in_errors() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "secrets: [CANARY]\ninputs: { count: { type: number } }\nchecks:\n  a: { type: noop }\n",
    );
    let typed = format!("count={CANARY}");
    for arguments in
        [&["run", "playbook.yaml", "--input", &typed][..], &["run", "playbook.yaml", "--only", CANARY]]
    {
        for output in ["human", "json"] {
            let done = run(&desk, CANARY, &[arguments, &["--output", output]].concat());
            assert_eq!(done.code, Some(2));
            assert!(done.stderr.contains("***"), "{}", done.stderr);
            clean_done("run", &done);
        }
    }
}

#[test]
fn a_number_that_is_a_secret_is_one() {
    let desk = Desk::new();
    desk.write("pin.json", "{\"pin\": 91827364}");
    desk.write(
        "playbook.yaml",
        r#"
secrets: [CANARY]
inputs: { pin: { type: number, default: 1 } }
checks:
  b: { type: command, exec: cat pin.json }
"#,
    );
    let done = run(&desk, "91827364", &["run", "playbook.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!done.stdout.contains("91827364"), "{}", done.stdout);
    assert_eq!(done.json()["checks"]["b"]["output"], "{\"pin\": ***}");
    let refused = run(&desk, "91827364", &["run", "playbook.yaml", "--input", "pin=91827364"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("input `pin` holds the value of secret `CANARY`"), "{}", refused.stderr);
}

#[test]
fn a_run_with_the_value_of_a_secret_in_an_input_is_refused_at_its_start() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
secrets: [CANARY, OTHER]
inputs: { note: { default: none }, list: { type: array, default: [] } }
checks:
  a: { type: command, criticality: external, effect_key: "send-{{ inputs.note }}", exec: "echo {{ inputs.note }} >> sent" }
"#,
    );
    let (note, list) = (format!("note=see {CANARY}"), format!("list={}", json!([{ "deep": CANARY }])));
    for (typed, input) in [(&note, "note"), (&list, "list")] {
        let done = run(&desk, CANARY, &["run", "playbook.yaml", "--input", typed, "--output", "json"]);
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        clean_done("run", &done);
        let message = format!("input `{input}` holds the value of secret `CANARY`");
        assert!(done.stderr.contains(&message), "{}", done.stderr);
        assert!(done.stderr.contains("hand it over as a secret"), "{}", done.stderr);
        assert_eq!(done.json()["error"]["code"], "secret_written_down");
    }
    assert!(!desk.path().join("sent").exists());
    assert_eq!(desk.escrow(&["runs", "--output", "json"]).json()["runs"], json!([]));
}

#[test]
fn an_external_check_never_gets_the_stars_that_stand_for_a_secret() {
    let desk = Desk::new();
    desk.write(
        "event.json",
        &json!({ "title": format!("about {CANARY}"), "body": "a *** rule" }).to_string(),
    );
    desk.write(
        "playbook.yaml",
        r#"
secrets: { TOKEN: { env: CANARY } }
checks:
  prints: { type: command, secrets: [TOKEN], exec: "echo session of $TOKEN" }
  passes-on: { type: script, depends_on: prints, content: "return outputs.prints" }
  shows: { type: command, depends_on: prints, exec: "echo {{ outputs.prints }}" }
  output: { type: command, criticality: external, depends_on: prints, exec: "echo {{ outputs.prints }} >> sent" }
  indirect: { type: command, criticality: external, depends_on: passes-on, exec: [sh, -c, 'echo "$1" >> sent', sh, "{{ outputs['passes-on'] }}"] }
  payload: { type: command, criticality: external, env: { TITLE: "{{ event.title }}" }, exec: 'echo "$TITLE" >> sent' }
  key: { type: command, criticality: external, effect_key: "send-{{ event.title }}", exec: "echo key >> sent" }
  variable: { type: command, criticality: external, exec: "echo {{ env.TOKEN }} >> sent" }
  harmless: { type: command, criticality: external, exec: "echo plain >> sent # ***" }
"#,
    );
    let done = run(&desk, CANARY, &["run", "playbook.yaml", "--event", "a=event.json", "--output", "json"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let document = done.json();
    assert_eq!(document["checks"]["shows"]["output"], "session of ***");
    assert_eq!(document["checks"]["prints"]["result"]["redacted"], true);
    for (check, place) in [
        ("output", "a value in `exec`"),
        ("indirect", "a value in `exec`"),
        ("payload", "the variable `TITLE`"),
        ("key", "`effect_key`"),
        ("variable", "a value in `exec`"),
    ] {
        let issue = &document["checks"][check]["issues"][0];
        assert_eq!(issue["rule_id"], "system/redacted_value", "{check}: {}", document["checks"][check]);
        assert!(issue["message"].as_str().is_some_and(|text| text.starts_with(place)), "{check}: {issue}");
        assert_eq!(document["checks"][check]["runs"], 0);
    }
    assert_eq!(desk.read("sent"), "plain\n");

    // Stars that a person wrote are stars, as long as no secret was replaced.
    desk.write(
        "stars.yaml",
        r#"
secrets: { TOKEN: { env: CANARY } }
checks:
  a: { type: command, criticality: external, secrets: [TOKEN], exec: "echo {{ event.body }} >> stars" }
"#,
    );
    desk.write("event.json", r#"{"body": "a *** rule"}"#);
    let done = run(&desk, CANARY, &["run", "stars.yaml", "--event", "a=event.json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(desk.read("stars"), "a *** rule\n");
}

#[test]
fn a_secret_that_a_run_puts_together_is_caught_before_it_is_written() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
secrets: [CANARY]
checks:
  builds: { type: script, content: "return { built: ['correct', 'horse'].join('-'), more: 1 }" }
  uses: { type: command, depends_on: builds, exec: "echo {{ outputs.builds.built }}; echo {{ outputs.builds.more }}" }
  after: { type: script, depends_on: uses, content: "return outputs.builds.built" }
"#,
    );
    for output in ["json", "jsonl", "human"] {
        let done = run(&desk, "correct-horse", &["run", "playbook.yaml", "--output", output]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(
            !done.stdout.contains("correct-horse") && !done.stderr.contains("correct-horse"),
            "{}",
            done.stdout
        );
        if output == "json" {
            assert_eq!(done.json()["checks"]["uses"]["output"], "***\n1");
        }
    }
    assert_eq!(run(&desk, "", &["verify", "last"]).code, Some(0));
}

#[test]
fn a_template_that_puts_a_secret_together_fails_its_check_before_the_provider() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
secrets: [CANARY]
inputs: { a: { type: string }, b: { type: string } }
title: "about {{ inputs.a }}{{ inputs.b }}"
checks:
  key: { type: command, criticality: external, effect_key: "k{{ inputs.a }}{{ inputs.b }}", exec: "echo key >> sent" }
  request: { type: command, criticality: external, exec: [sh, -c, 'echo "$1" >> sent', sh, "{{ inputs.a }}{{ inputs.b }}"] }
  approval:
    type: command
    criticality: external
    requires_approval: { prompt: "send {{ inputs.a }}{{ inputs.b }}?" }
    exec: "echo approved >> sent"
  listed: { type: command, exec: "echo '[1]'", forEach: true }
  item: { type: command, criticality: external, depends_on: listed, effect_key: "{{ item }}{{ inputs.a }}{{ inputs.b }}", exec: "echo item >> sent" }
  after: { type: command, exec: [echo, "{{ inputs.a }}{{ inputs.b }}"] }
"#,
    );
    let typed = ["run", "playbook.yaml", "--input", "a=hunter2", "--input", "b=-987654", "--output", "json"];
    let done = run(&desk, "hunter2-987654", &typed);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(!done.stdout.contains("hunter2-987654") && !done.stderr.contains("hunter2-987654"));
    let document = done.json();
    assert_eq!(document["run"]["title"], "about ***");
    for check in ["key", "request", "approval", "item"] {
        let check_document = &document["checks"][check];
        let rule = &check_document["issues"][0]["rule_id"];
        let of_item = &check_document["items"][0]["issues"][0]["rule_id"];
        assert!([rule, of_item].contains(&&json!("system/secret_rendered")), "{check}: {check_document}");
    }
    assert_eq!(document["checks"]["after"]["output"], "***");
    assert!(!desk.path().join("sent").exists());
    assert_eq!(run(&desk, "", &["verify", "last"]).code, Some(0));

    // The same again, when it is retried.
    let done = run(&desk, "hunter2-987654", &["resume", "last", "--failed", "--output", "json"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert_eq!(done.json()["checks"]["key"]["issues"][0]["rule_id"], "system/secret_rendered");
    assert!(!desk.path().join("sent").exists());
}

#[test]
fn the_name_of_a_group_that_contains_a_secret_fails_the_run_at_its_start() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
secrets: [CANARY]
inputs: { a: { type: string }, b: { type: string } }
concurrency: { group: "g{{ inputs.a }}{{ inputs.b }}" }
checks:
  a: { type: command, exec: "echo ran >> sent" }
"#,
    );
    let typed = ["run", "playbook.yaml", "--input", "a=hunter2", "--input", "b=-987654", "--output", "json"];
    let done = run(&desk, "hunter2-987654", &typed);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stdout.contains("system/redacted_value") && !done.stdout.contains("hunter2-987654"));
    assert!(!desk.path().join("sent").exists());
}

#[test]
fn reconcile_does_not_get_the_stars_either() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
secrets: [CANARY]
inputs: { a: { type: string }, b: { type: string } }
checks:
  prints: { type: command, secrets: [CANARY], exec: "echo $CANARY" }
  stars:
    type: command
    criticality: external
    depends_on: prints
    exec: 'kill -9 $$'
    reconcile: { exec: "echo {{ outputs.prints }} >> asked; echo done" }
  composed:
    type: command
    criticality: external
    depends_on: prints
    exec: 'kill -9 $$'
    reconcile: { exec: [sh, -c, 'echo "$1" >> asked; echo done', sh, "{{ inputs.a }}{{ inputs.b }}"] }
"#,
    );
    let typed = ["run", "playbook.yaml", "--input", "a=hunter2", "--input", "b=-987654", "--output", "json"];
    let done = run(&desk, "hunter2-987654", &typed);
    assert_eq!(done.code, Some(4), "{} {}", done.stdout, done.stderr);
    assert!(!desk.path().join("asked").exists());
    assert!(!done.stdout.contains("hunter2-987654"));
    let document = done.json();
    for check in ["stars", "composed"] {
        assert_eq!(document["checks"][check]["runs"], 1, "{document:#}");
    }
    assert_eq!(document["run"]["reason"]["code"], "run.waiting.unknown_effect", "{document:#}");
}

#[test]
fn messages_have_no_secrets_and_a_run_continues_only_with_them() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
secrets: { TOKEN: { env: CANARY } }
checks:
  ask: { type: human-input, prompt: "What is it?" }
  use: { type: command, depends_on: ask, secrets: [TOKEN], exec: "echo {{ outputs.ask }}; test -n \"$TOKEN\"" }
"#,
    );
    let done = run(&desk, CANARY, &["run", "playbook.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(4), "{}", done.stderr);
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("it waits").to_owned();

    let without = desk.command(&["resume", "last"]).env_remove("CANARY").output().expect("it runs");
    let without = Done::from(without);
    assert_eq!(without.code, Some(2), "{}", without.stderr);
    assert!(without.stderr.contains("the environment variable `CANARY` is not set"), "{}", without.stderr);

    let answered = run(&desk, CANARY, &["answer", &id, &format!("it is {CANARY}"), "--no-run"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    clean_done("answer", &answered);
    clean_state(&desk.path().join(".escrow"));

    let resumed = run(&desk, CANARY, &["resume", "last", "--output", "json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    clean_done("resume", &resumed);
    assert_eq!(resumed.json()["checks"]["use"]["output"], "it is ***");
    clean_state(&desk.path().join(".escrow"));
}

#[test]
fn the_example_of_the_guide_does_what_it_says() {
    let guide = include_str!("../../../docs/secrets.md");
    let example =
        guide.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let desk = Desk::new();
    desk.write("playbook.yaml", example);
    desk.write("signing.key", "a signing key\n");
    desk.write("deploy.key", "a deploy key\n");
    let mut command = desk.command(&["run", "playbook.yaml", "--output", "json"]);
    let done = Done::from(command.env("CI_TOKEN", "a-registry-token").output().expect("the binary runs"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let document = done.json();
    for (check, expected) in [
        ("publish", "logging in with ***\n***"),
        ("deploy", "deploying with ***"),
        ("test", "nothing nothing"),
    ] {
        assert_eq!(document["checks"][check]["output"], expected);
    }
}

#[test]
fn a_run_that_is_killed_leaves_no_secret_behind() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
secrets: { TOKEN: { env: CANARY } }
checks:
  talks: { type: command, secrets: [TOKEN], exec: "echo \"$TOKEN\"; sleep 1.5; touch started; sleep 20" }
"#,
    );
    let mut command = desk.command(&["run", "playbook.yaml", "--quiet"]);
    let mut child = command.env("CANARY", CANARY).spawn().expect("the binary starts");
    desk.until("it has talked", || desk.path().join("started").exists());
    clean_state(&desk.path().join(".escrow"));
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    assert!(clean_state(&desk.path().join(".escrow")) > 3);
    clean_done("runs show", &run(&desk, CANARY, &["runs", "show", "last", "--output", "json"]));
    let ended = desk.escrow(&["cancel", "last"]);
    assert_eq!(desk.show("last")["run"]["status"], "cancelled", "cancelling does not read the secret");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
