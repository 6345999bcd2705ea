//! Real expressions and blocks, compared with Node's recorded answers.
#![expect(clippy::unwrap_used, reason = "this is a test")]

use escrow_expr::{Budget, EvalError, JsonScope, Program};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    src: String,
    res: Vec<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    /// The JSON text of the value, or the name of its type when it has none.
    v: Option<String>,
    /// Its truthiness; recorded for expressions only.
    t: Option<bool>,
    throw: Option<String>,
}

fn cases(text: &str) -> Vec<Case> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn contexts() -> Vec<Value> {
    serde_json::from_str(include_str!("data/contexts.json")).unwrap()
}

/// `None` when both agree, else what differs.
fn difference(program: &Program, context: &Value, expected: &Expected) -> Option<String> {
    let scope = JsonScope(context);
    let answer = program.evaluate(&scope, Budget::default());
    let tested = program.test(&scope, Budget::default());
    match (&answer, &expected.throw) {
        (Err(fault), Some(name)) => (fault.name() != name).then(|| format!("threw {fault}, Node {name}")),
        (Ok(answer), None) => {
            let wanted = expected.v.as_deref().unwrap_or_default();
            let same = match answer.json() {
                Some(json) => serde_json::from_str::<Value>(wanted).is_ok_and(|wanted| same(json, &wanted)),
                None => matches!(wanted, "undefined" | "function"),
            };
            let truth = expected.t.is_none_or(|truth| {
                truth == answer.is_truthy() && Ok(truth) == tested.map_err(|fault: EvalError| fault)
            });
            (!same || !truth)
                .then(|| format!("gave {:?}, Node {wanted}", answer.json().map(ToString::to_string)))
        }
        (Ok(answer), Some(name)) => {
            Some(format!("gave {:?}, Node threw {name}", answer.json().map(ToString::to_string)))
        }
        (Err(fault), None) => Some(format!("threw {fault}, Node gave {:?}", expected.v)),
    }
}

/// Equal as numbers: `1` and `1.0` are the same to JavaScript.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|((a, left), (b, right))| a == b && same(left, right))
        }
        (left, right) => left == right,
    }
}

#[test]
fn every_real_expression_agrees_with_node_in_every_context() {
    let contexts = contexts();
    let mut wrong = Vec::new();
    let cases = cases(include_str!("data/expr.jsonl"));
    assert_eq!(cases.len(), 413);
    for case in &cases {
        let program = match Program::expression(&case.src) {
            Ok(program) => program,
            Err(error) => {
                wrong.push(format!("{}\n    {error}", case.src));
                continue;
            }
        };
        for (position, (context, expected)) in contexts.iter().zip(&case.res).enumerate() {
            if let Some(difference) = difference(&program, context, expected) {
                wrong.push(format!("{}\n    context {position}: {difference}", case.src));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn real_blocks_agree_with_node_except_where_they_need_a_clock() {
    let contexts = contexts();
    let (mut parsed, mut agreeing, mut wrong) = (0, 0, Vec::new());
    let cases = cases(include_str!("data/block.jsonl"));
    assert_eq!(cases.len(), 370);
    for case in &cases {
        let program = match Program::block(&case.src) {
            Ok(program) => program,
            Err(error) => {
                wrong.push(format!("{}\n    {error}", case.src));
                continue;
            }
        };
        parsed += 1;
        let differences: Vec<_> = contexts
            .iter()
            .zip(&case.res)
            .filter_map(|(context, expected)| difference(&program, context, expected))
            .collect();
        if differences.is_empty() {
            agreeing += 1;
        } else {
            wrong.push(format!("{}\n    {}", case.src, differences.join("\n    ")));
        }
    }
    println!("{parsed} parsed, {agreeing} agree\n{}", wrong.join("\n"));
    assert_eq!(parsed, 370, "{}", wrong.join("\n"));
    assert!(agreeing >= 364, "{agreeing} agree:\n{}", wrong.join("\n"));
}
