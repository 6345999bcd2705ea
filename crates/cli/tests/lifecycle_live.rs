//! Callbacks and ledgers, beside `lifeloop-cli` 0.9.0 itself: the same steps get the same answers.
//!
//! `LIFELOOP=/path/to/lifeloop cargo test -p escrow --test lifecycle_live -- --ignored`

mod wire;

use std::process::{Command, Stdio};

use serde_json::Value;
use wire::{DELIVERED, Said, Wire, envelope, talk_to};

/// One step: the receipt's id, the client's script, the key. No step is one whose receipt the ledger refuses after
/// numbering it: release 0.9.0 burns a number there, on purpose we do not.
const STEPS: &[(&str, &str, Option<&str>)] = &[
    ("a", DELIVERED, Some("k")),
    ("b", DELIVERED, Some("k")),
    ("c", r#"echo '{"schema_version":"lifeloop.v0.4","status":"observed"}'"#, Some("k")),
    ("d", DELIVERED, Some("other")),
    ("e", DELIVERED, None),
    ("f", "echo hello", None),
    ("g", "echo no >&2; exit 3", None),
    ("h", "kill -9 $$", None),
    ("i", "sleep 9", None),
    ("j", "sleep 9 & echo x", None),
    ("k", "yes", None),
];

#[test]
#[ignore = "needs lifeloop-cli 0.9.0, named by LIFELOOP"]
fn release_0_9_0_itself_gives_the_same_answers_to_callbacks_and_ledgers() {
    let theirs = std::env::var("LIFELOOP").expect("LIFELOOP names the program");
    let wire = Wire::new();
    let ask = |who: &str, words: &[&str], input: &Value| -> Said {
        let mut command = match who {
            "ours" => wire.command(words),
            _ => Command::new(&theirs),
        };
        if who != "ours" {
            command.args(words).current_dir(wire.path("."));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        talk_to(command.spawn().expect("it starts"), input.to_string().as_bytes())
    };
    for (id, script, key) in STEPS {
        let client = wire.client("client", &format!("cat >/dev/null\n{script}"));
        let [ours, theirs] = ["ours", "theirs"].map(|who| {
            let words = [
                "event",
                "invoke",
                "--at-epoch-s",
                "7",
                "--timeout-ms",
                "900",
                "--receipt-id",
                id,
                "--client-cmd",
                &client,
                "--ledger",
                who,
            ];
            ask(who, &words, &envelope(*key))
        });
        assert_eq!(ours, theirs, "step {id}");
    }
    let [ours, theirs] =
        ["ours", "theirs"].map(|who| ask(who, &["receipt", "list", "--ledger", who], &Value::Null));
    assert_eq!(ours, theirs);
}
