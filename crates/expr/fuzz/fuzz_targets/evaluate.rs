//! Any text as an expression and as a block: evaluation and explanation end with a value or a typed error.
#![no_main]

use escrow_expr::{Budget, JsonScope, Program};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|source: &str| {
    let context = json!({
        "output": { "issues": [{ "severity": "error" }], "count": 3, "text": "some text é 😀" },
        "list": [3, 1, 2], "n": 7, "s": "Hello", "__memory": { "default": { "k": 1 } },
    });
    let budget = Budget { steps: 5_000, memory_bytes: 1 << 20, ..Budget::default() };
    for program in [Program::expression(source), Program::block(source)] {
        let program = match program {
            Ok(program) => program,
            Err(error) => {
                assert!(source.get(error.span.clone()).is_some(), "a span leaves the source: {error:?}");
                continue;
            }
        };
        let reads = program.reads();
        let paths = reads.paths.iter().map(|read| &read.span);
        let names = reads.names.iter().map(|read| &read.span);
        let calls = reads.helpers.iter().chain(&reads.effects).map(|call| &call.span);
        for span in paths.chain(names).chain(calls) {
            assert!(source.get(span.clone()).is_some(), "a span leaves the source");
        }
        let answer = program.evaluate(&JsonScope(&context), budget);
        let truth = program.test(&JsonScope(&context), budget);
        if let (Ok(answer), Ok(truth)) = (&answer, truth) {
            assert_eq!(answer.is_truthy(), truth);
        }
        if let Err(fault) = &answer {
            assert!(source.get(fault.span()).is_some(), "a span leaves the source");
        }
        let (_, explanation) = program.explain(&JsonScope(&context), budget);
        let _ = explanation.to_string();
    }
});
