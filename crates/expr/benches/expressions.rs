//! Evaluation time of expressions: compiled and cold, over small and large contexts.

use divan::{Bencher, black_box};
use escrow_expr::{Budget, JsonScope, Program};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

fn context(outputs: usize) -> Value {
    let many: serde_json::Map<String, Value> = (0..outputs)
        .map(|position| {
            (format!("check-{position}"), json!({ "text": "some text", "issues": [{ "severity": "error" }] }))
        })
        .collect();
    json!({
        "output": { "count": 5, "issues": [{ "severity": "info" }, { "severity": "critical" }] },
        "env": { "CI": "true" },
        "history": [{ "is_valid": true }, { "is_valid": true }, { "is_valid": true }, { "is_valid": false }],
        "outputs": many,
    })
}

fn cached(bencher: Bencher<'_, '_>, source: &str, context: &Value) {
    let program = Program::expression(source).expect("the source is an expression");
    let scope = JsonScope(context);
    bencher.bench_local(|| black_box(&program).test(black_box(&scope), Budget::default()));
}

#[divan::bench(sample_size = 1_000)]
fn simple_cached(bencher: Bencher<'_, '_>) {
    cached(bencher, "output.count > 3 && env.CI === 'true'", &context(1));
}

#[divan::bench(sample_size = 1_000)]
fn any_in_history_cached(bencher: Bencher<'_, '_>) {
    cached(bencher, "any(history, v => v && v.is_valid === false)", &context(1));
}

#[divan::bench(sample_size = 1_000)]
fn some_issue_cached(bencher: Bencher<'_, '_>) {
    cached(
        bencher,
        "output.issues.some(i => i.severity === 'critical' || i.severity === 'error')",
        &context(1),
    );
}

#[divan::bench(args = [1, 100, 10_000], sample_size = 1_000)]
fn one_of_many_outputs_cached(bencher: Bencher<'_, '_>, outputs: usize) {
    cached(bencher, "outputs['check-0'].issues.length > 0", &context(outputs));
}

#[divan::bench(sample_size = 1_000)]
fn simple_cold(bencher: Bencher<'_, '_>) {
    let context = context(1);
    let scope = JsonScope(&context);
    bencher.bench_local(|| {
        let program = Program::expression(black_box("output.count > 3 && env.CI === 'true'"))
            .expect("the source is an expression");
        program.test(&scope, Budget::default())
    });
}

#[divan::bench(sample_size = 1_000)]
fn any_in_history_cold(bencher: Bencher<'_, '_>) {
    let context = context(1);
    let scope = JsonScope(&context);
    bencher.bench_local(|| {
        let program = Program::expression(black_box("any(history, v => v && v.is_valid === false)"))
            .expect("the source is an expression");
        program.test(&scope, Budget::default())
    });
}

#[divan::bench(sample_size = 1_000)]
fn block_cached(bencher: Bencher<'_, '_>) {
    let context = context(1);
    let source =
        "const bad = history.filter(v => !v.is_valid); if (bad.length > 0) return 'fix'; return null;";
    let program = Program::block(source).expect("the source is a block");
    let scope = JsonScope(&context);
    bencher.bench_local(|| black_box(&program).evaluate(black_box(&scope), Budget::default()));
}

#[divan::bench]
fn a_million_steps(bencher: Bencher<'_, '_>) {
    let context = json!({});
    let program = Program::block("let n = 0; for (let i = 0; ; i++) n += i").expect("the source is a block");
    let scope = JsonScope(&context);
    let budget = Budget { steps: 1_000_000, ..Budget::default() };
    bencher.bench_local(|| black_box(&program).evaluate(black_box(&scope), budget));
}
