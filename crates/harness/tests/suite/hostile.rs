//! Output that no program should write.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use escrow_harness::{Exit, FINAL_TEXT_BYTES_MAX, HARNESSES, Harness, LINE_BYTES_MAX, find};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::recordings;

/// Words that make a line look like one of the real ones.
const WORDS: &[&str] = &[
    "type",
    "subtype",
    "system",
    "init",
    "assistant",
    "user",
    "result",
    "success",
    "error",
    "message",
    "content",
    "text",
    "tool_use",
    "tool_result",
    "id",
    "name",
    "session_id",
    "model",
    "usage",
    "modelUsage",
    "num_turns",
    "is_error",
    "permission_denials",
    "item",
    "item.started",
    "item.completed",
    "turn.completed",
    "turn.failed",
    "agent_message",
    "command_execution",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "stats",
    "status",
    "role",
    "delta",
    "tool_id",
    "step_start",
    "step_finish",
    "part",
    "reason",
    "stop",
    "tokens",
    "cost",
    "state",
    "callID",
    "data",
    "exitCode",
    "toolRequests",
    "assistant.message",
    "tool.execution_complete",
    "session.error",
    "statusCode",
    "total_cost_usd",
];

/// The lines of one recording per harness, read once.
static TOOL_RUNS: LazyLock<BTreeMap<&str, Vec<String>>> = LazyLock::new(|| {
    let run = |harness: &dyn Harness| {
        let all = recordings::of(harness);
        all.into_iter().find(|recording| recording.case == "tool").expect("a tool case").lines
    };
    HARNESSES.iter().map(|harness| (harness.spec().name, run(*harness))).collect()
});

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(WORDS).prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn line() -> impl Strategy<Value = String> {
    let bytes = prop::collection::vec(any::<u8>(), 0..60);
    prop_oneof![
        bytes.prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        (word(), json_value()).prop_map(|(kind, mut value)| {
            if let Value::Object(fields) = &mut value {
                fields.insert("type".to_owned(), kind.into());
            }
            value.to_string()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_lines_never_panic(
        lines in prop::collection::vec(line(), 0..20),
        code in any::<i32>(),
        stderr in ".{0,80}",
    ) {
        for harness in HARNESSES {
            let report = recordings::report(*harness, &lines, Exit::Code(code), &stderr);
            prop_assert_eq!(report.completed, !report.is_error);
            prop_assert!(report.cost_usd.is_none_or(|cost| cost >= 0.0));
            for line in &lines {
                let _ = harness.spec().hooks.read(Some("Stop"), line);
            }
        }
    }

    #[test]
    fn recorded_lines_in_any_order_never_panic(seed in any::<u64>()) {
        for harness in HARNESSES {
            let mut lines = TOOL_RUNS[harness.spec().name].clone();
            let length = lines.len().max(1);
            for index in 0..lines.len() {
                let other = usize::try_from(seed.wrapping_mul(index as u64 + 7) % length as u64).unwrap();
                lines.swap(index, other);
            }
            recordings::report(*harness, &lines, Exit::Code(0), "");
        }
    }
}

#[test]
fn a_line_that_is_too_long_or_cut_does_not_end_the_reading() {
    for harness in HARNESSES {
        let all = recordings::of(*harness);
        let text = all.iter().find(|recording| recording.case == "text").expect("a text case");
        let mut lines = text.lines.clone();
        let long = format!(r#"{{"type":"text","text":"{}"}}"#, "x".repeat(LINE_BYTES_MAX));
        lines.insert(1, long[..long.len() - 2].to_owned());
        lines.insert(1, long);
        let report = recordings::report(*harness, &lines, Exit::Code(0), "");
        assert_eq!(report, text.report(*harness), "{}", harness.spec().name);
    }
}

#[test]
fn a_huge_answer_is_cut_and_says_so() {
    let piece = "x".repeat(3 << 20);
    let line = json!({"type": "message", "role": "assistant", "content": piece, "delta": true}).to_string();
    let lines = vec![line; 3];
    let report = recordings::report(find("gemini").unwrap(), &lines, Exit::Code(0), "");
    assert_eq!(report.final_text.map(|text| text.len()), Some(FINAL_TEXT_BYTES_MAX));
    assert!(report.final_text_is_cut);
}

#[test]
fn many_tools_and_denials_do_not_fill_the_memory() {
    let mut parser = find("gemini").unwrap().parser();
    for number in 0..20_000 {
        parser.line(
            &json!({"type": "tool_use", "tool_id": format!("open{number}"), "tool_name": "t"}).to_string(),
        );
        let denied = json!({"type": "tool_result", "tool_id": number, "error": {"type": "policy_violation"}});
        parser.line(&denied.to_string());
    }
    let report = parser.finish(Exit::Code(0), "");
    assert_eq!(report.tool_calls, Some(20_000));
    assert_eq!(report.permission_denials.map(|denials| denials.len()), Some(1000));
}

/// `claude` prints a terminal line for each prompt that it announces. One of an agent's own must not hide the program's.
#[test]
fn a_further_prompt_hides_neither_a_failure_nor_a_figure_nor_a_denial() {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s", "model": "opus"});
    let result = |is_error: bool, cents: u32, denials: Value| {
        json!({"type": "result", "subtype": "success", "is_error": is_error, "num_turns": 2, "result": "x", "session_id": "s",
               "total_cost_usd": f64::from(cents) / 100.0, "permission_denials": denials,
               "modelUsage": {"opus": {"inputTokens": cents, "outputTokens": 1}}})
    };
    let denied = json!([{"tool_name": "Bash"}]);
    for (first, second) in [(true, false), (false, true), (false, false)] {
        let mut parser = find("claude").expect("claude").parser();
        for line in [&init, &result(first, 500, denied.clone()), &init, &result(second, 25, json!([]))] {
            parser.line(&line.to_string());
        }
        let report = parser.finish(Exit::Code(0), "");
        assert_eq!((report.completed, report.is_error), (!first && !second, first || second));
        if !first && !second {
            let figures = (report.turns, report.input_tokens, report.cost_usd);
            assert_eq!(figures, (Some(4), Some(500), Some(5.0)));
            assert_eq!(report.permission_denials.map(|denials| denials.len()), Some(1));
        }
    }
}
