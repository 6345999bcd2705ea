//! Figures that cannot be read are unknown, and nothing counts behind a terminal line.

use escrow_harness::{Exit, Report, find};
use serde_json::{Value, json};

fn report(harness: &str, lines: &[Value]) -> Report {
    let mut parser = find(harness).expect("a harness").parser();
    for line in lines {
        parser.line(&line.to_string());
    }
    parser.finish(Exit::Code(0), "")
}

fn claude_result(usage: &Value) -> Vec<Value> {
    vec![
        json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m"}),
        json!({"type": "assistant", "session_id": "s",
               "message": {"id": "1", "model": "m", "content": [{"type": "text", "text": "ok"}]}}),
        json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "session_id": "s",
               "result": "ok", "total_cost_usd": 0.1, "modelUsage": usage}),
    ]
}

#[test]
fn tokens_of_claude_that_cannot_be_read_are_unknown() {
    let good = report("claude", &claude_result(&json!({"m": {"inputTokens": 5, "outputTokens": 2}})));
    assert!(good.completed);
    assert_eq!((good.input_tokens, good.output_tokens), (Some(5), Some(2)));
    for input in [json!("5000000"), json!(-5), json!(2.5), json!(1e30), json!(null)] {
        let usage = json!({"m": {"inputTokens": input, "outputTokens": 2}, "n": {"inputTokens": 1, "outputTokens": 1}});
        let report = report("claude", &claude_result(&usage));
        assert_eq!((report.input_tokens, report.output_tokens), (None, Some(3)), "{input}");
    }
    let cached = json!({"m": {"inputTokens": 5, "cacheReadInputTokens": "9", "outputTokens": 2}});
    assert_eq!(report("claude", &claude_result(&cached)).input_tokens, None);
    let none = report("claude", &claude_result(&json!({})));
    assert_eq!((none.input_tokens, none.output_tokens), (None, None), "an answer costs tokens");
}

fn step(part: &Value) -> Value {
    json!({"type": "step_finish", "sessionID": "s", "part": part})
}

fn start() -> Value {
    json!({"type": "step_start", "sessionID": "s", "part": {}})
}

fn said(words: &str) -> Value {
    json!({"type": "text", "sessionID": "s", "part": {"text": words}})
}

fn good_step(reason: &str) -> Value {
    step(&json!({"reason": reason, "cost": 0.1, "tokens": {"input": 10, "output": 3}}))
}

#[test]
fn figures_of_opencode_are_unknown_when_one_step_does_not_tell_them() {
    let two_steps = |first: &Value| {
        let lines = [start(), step(first), start(), said("ok"), good_step("stop")];
        report("opencode", &lines)
    };
    let good = two_steps(&json!({"reason": "tool-calls", "cost": 0.1, "tokens": {"input": 10, "output": 3}}));
    assert!(good.completed);
    assert_eq!((good.input_tokens, good.output_tokens), (Some(20), Some(6)));
    for input in [json!("2400"), json!(-1), json!(null), json!(2400.7), json!(1e30)] {
        let report =
            two_steps(&json!({"reason": "tool-calls", "cost": 0.1, "tokens": {"input": input, "output": 3}}));
        assert_eq!((report.input_tokens, report.output_tokens), (None, Some(6)), "{input}");
    }
    let without = two_steps(&json!({"reason": "tool-calls"}));
    assert!(without.completed);
    assert_eq!((without.input_tokens, without.output_tokens, without.cost_usd), (None, None, None));
    assert_eq!(without.turns, Some(2));
}

#[test]
fn a_step_of_opencode_that_did_not_end_has_spent_what_nobody_knows() {
    let report = report("opencode", &[start(), good_step("tool-calls"), start()]);
    assert_eq!((report.turns, report.input_tokens, report.cost_usd), (Some(1), None, None));
}

#[test]
fn opencode_ends_with_one_terminal_line_and_nothing_behind_it() {
    let beginning = [start(), said("ok"), good_step("stop")];
    assert!(report("opencode", &beginning).completed);
    for more in [
        vec![good_step("stop")],
        vec![said("more")],
        vec![said("more"), good_step("stop")],
        vec![json!({"type": "tool_use", "sessionID": "s", "part": {"callID": "c", "tool": "bash"}})],
    ] {
        let lines: Vec<Value> = beginning.iter().cloned().chain(more.clone()).collect();
        assert!(!report("opencode", &lines).completed, "{more:?}");
    }
    // A compaction ends with a step of its own, and then goes on.
    let lines: Vec<Value> =
        beginning.iter().cloned().chain([start(), said("done"), good_step("stop")]).collect();
    let report = report("opencode", &lines);
    assert!(report.completed);
    assert_eq!(report.final_text.as_deref(), Some("done"));
}

#[test]
fn a_text_behind_the_terminal_line_is_no_part_of_the_answer() {
    let mut lines = claude_result(&json!({"m": {"inputTokens": 5, "outputTokens": 2}}));
    lines.push(lines[1].clone());
    lines[3]["message"]["content"][0]["text"] = "something else".into();
    assert_eq!(report("claude", &lines).final_text.as_deref(), Some("ok"));
    let gemini = [
        json!({"type": "init", "session_id": "s", "model": "m"}),
        json!({"type": "message", "role": "assistant", "content": "ok"}),
        json!({"type": "result", "status": "success", "stats": {}}),
        json!({"type": "message", "role": "user", "content": "and?"}),
        json!({"type": "message", "role": "assistant", "content": "something else"}),
    ];
    assert_eq!(report("gemini", &gemini).final_text.as_deref(), Some("ok"));
}
