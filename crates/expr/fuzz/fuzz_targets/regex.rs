//! Any pattern on any text: compiled or refused, and matched within the budget.
#![no_main]

use escrow_expr::{Budget, JsonScope, Program};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|data: (&str, &str, u8)| {
    let (pattern, text, flags) = data;
    let flags: String =
        "gimsuy".chars().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, flag)| flag).collect();
    let context = json!({ "pattern": pattern, "text": text, "flags": flags });
    let source = "const r = new RegExp(pattern, flags); return [r.test(text), text.match(r), text.split(r), text.replace(r, '<$&$1>'), r.exec(text)?.index]";
    if let Ok(program) = Program::block(source) {
        let _ = program.evaluate(
            &JsonScope(&context),
            Budget { steps: 50_000, memory_bytes: 1 << 22, ..Budget::default() },
        );
    }
});
