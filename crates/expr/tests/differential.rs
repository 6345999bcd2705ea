//! Random expressions, compared with Node.
//!
//! `ESCROW_DIFFERENTIAL` sets how many; without `node` only the recorded sample runs. `ESCROW_RECORD` names a
//! file to record a sample into.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "this is a test that asks another program"
)]

mod generator;

use std::io::Write;
use std::process::{Command, Stdio};

use escrow_expr::{Budget, EvalErrorKind, JsonScope, Program};
use generator::Generator;
use serde_json::{Value, json};

fn context() -> Value {
    json!({
        "n": 7, "m": -2.5, "z": 0, "big": 1e21, "s": "Hello, World", "e": "", "u": "naïve café 😀 x", "num": "42", "t": true, "f": false, "nul": null,
        "arr": [3, 1, 2], "strs": ["b", "a", "C", "a"], "mixed": [1, "1", null, true, [2], {"a": 1}], "objs": [{"id": 1, "ok": true, "name": "x"}, {"id": 2, "ok": false}, {"id": 10, "tags": ["p", "q"]}],
        "obj": {"a": 1, "b": "two", "c": [1, 2], "d": {"x": null, "y": {"z": 5}}, "length": 9}, "empty": {}, "hollow": [], "keyed": {"2": "b", "1": "a", "k": 3}
    })
}

/// `{"v", "t"}`, `{"u", "t"}` or `{"throw"}`, in the words of `node.mjs`; `None` when the budget ran out.
fn answer(expression: &str, context: &Value) -> Option<Value> {
    let Ok(program) = Program::expression(expression) else {
        return Some(json!({ "throw": "SyntaxError" }));
    };
    match program.evaluate(&JsonScope(context), Budget::default()) {
        Ok(answer) => Some(match answer.json() {
            Some(value) => json!({ "v": value, "t": answer.is_truthy() }),
            None => json!({ "u": true, "t": answer.is_truthy() }),
        }),
        Err(fault) if fault.kind() == EvalErrorKind::Budget => None,
        Err(fault) => Some(json!({ "throw": fault.name() })),
    }
}

/// Node's answer with the value as JSON instead of its text.
fn parsed(answer: &str) -> Value {
    let mut answer: Value = serde_json::from_str(answer).unwrap();
    if let Some(text) = answer.get("v").and_then(Value::as_str) {
        let value: Value = serde_json::from_str(text).unwrap();
        answer["v"] = value;
    }
    answer
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

fn ask_node(expressions: &[String], context: &Value) -> Option<Vec<String>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/node.mjs");
    let mut node =
        Command::new("node").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut questions = String::new();
    for expression in expressions {
        questions.push_str(&json!({ "expr": expression, "context": context }).to_string());
        questions.push('\n');
    }
    let mut input = node.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()));
    let output = node.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn random_expressions_agree_with_node() {
    let count =
        std::env::var("ESCROW_DIFFERENTIAL").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000);
    let seed = std::env::var("ESCROW_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let context = context();
    let mut generator = Generator::new(seed);
    let expressions: Vec<String> = (0..count).map(|_| generator.expression()).collect();
    let Some(answers) = ask_node(&expressions, &context) else {
        println!("note: `node` is not here; only the recorded answers were compared");
        return;
    };
    assert_eq!(answers.len(), expressions.len());
    let mut different = Vec::new();
    let mut sample = String::new();
    for (position, (expression, theirs)) in expressions.iter().zip(&answers).enumerate() {
        let theirs = parsed(theirs);
        let ours = answer(expression, &context).unwrap_or_else(|| json!({ "throw": "BudgetError" }));
        if !same(&ours, &theirs) {
            different.push(format!("{expression}\n    ours {ours}\n    node {theirs}"));
        } else if position % 10 == 0 {
            sample.push_str(&json!([expression, theirs]).to_string());
            sample.push('\n');
        }
    }
    println!("{} of {} differ", different.len(), expressions.len());
    println!("{}", different.iter().take(60).cloned().collect::<Vec<_>>().join("\n"));
    if let Ok(path) = std::env::var("ESCROW_RECORD") {
        std::fs::write(path, sample).unwrap();
    }
    assert!(different.len() * 1000 <= expressions.len(), "more than one in a thousand differ");
}

#[test]
fn recorded_answers_of_node_still_hold() {
    let context = context();
    let recorded = include_str!("data/differential.jsonl");
    let mut count = 0;
    for line in recorded.lines() {
        let (expression, theirs): (String, Value) = serde_json::from_str(line).unwrap();
        let ours = answer(&expression, &context).unwrap();
        assert!(same(&ours, &theirs), "{expression}\n    ours {ours}\n    node {theirs}");
        count += 1;
    }
    assert!(count >= 1_500, "{count} recorded");
}
