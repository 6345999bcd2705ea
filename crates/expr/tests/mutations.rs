//! Random mutations of real sources: the assertions of the fuzz target, on a stable compiler and from a seed.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "this is a test")]

use escrow_expr::{Budget, JsonScope, Program};
use serde_json::{Value, json};

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "`",
    "${",
    "'",
    "\"",
    "/",
    "\\",
    "=>",
    "?.",
    "??",
    "...",
    ";",
    ",",
    ":",
    "=",
    "++",
    "**",
    "!",
    "0",
    "1e9",
    "😀",
    "é",
    "\n",
    "//",
    "/*",
    "*/",
    "return ",
    "const x = ",
    "for (const y of x) ",
    "while (1) ",
    "try {",
    "} catch (e) {",
    "function f() {",
    "new Set(",
    "in ",
    "typeof ",
    "this",
    "null",
    "undefined",
    ".length",
    ".map(x => ",
    ".repeat(9)",
    "[0]",
    "({",
    "})",
    "/a+/g",
    "\u{0}",
    "\u{2028}",
];

fn mutated(source: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = source.chars().take(400).collect();
    for _ in 0..=dice.below(4) {
        let at = dice.below(chars.len() + 1);
        match dice.below(4) {
            0 => {
                let end = (at + 1 + dice.below(6)).min(chars.len());
                chars.drain(at.min(end)..end);
            }
            1 => {
                let piece: Vec<char> = PIECES[dice.below(PIECES.len())].chars().collect();
                chars.splice(at..at, piece);
            }
            2 => {
                let end = (at + dice.below(20)).min(chars.len());
                let copy = chars[at.min(end)..end].to_vec();
                let place = dice.below(chars.len() + 1);
                chars.splice(place..place, copy);
            }
            _ => {
                let other = dice.below(chars.len() + 1);
                if at < chars.len() && other < chars.len() {
                    chars.swap(at, other);
                }
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn broken_sources_never_panic_and_their_spans_stay_inside_the_source() {
    let sources: Vec<String> = [include_str!("data/expr.jsonl"), include_str!("data/block.jsonl")]
        .iter()
        .flat_map(|text| text.lines())
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["src"].as_str().unwrap().to_owned())
        .collect();
    let context = json!({
        "output": { "issues": [{ "severity": "error" }], "count": 3, "text": "some text é 😀" }, "outputs": {}, "outputs_history": {},
        "list": [3, 1, 2], "n": 7, "s": "Hello", "env": {}, "__memory": { "default": { "k": 1 } },
    });
    let budget = Budget { steps: 3_000, memory_bytes: 1 << 19, ..Budget::default() };
    let rounds =
        std::env::var("ESCROW_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for _ in 0..rounds {
        let position = dice.below(sources.len());
        let source = mutated(&sources[position], &mut dice);
        for result in [Program::expression(&source), Program::block(&source)] {
            let program = match result {
                Ok(program) => program,
                Err(error) => {
                    assert!(source.get(error.span.clone()).is_some(), "{error:?} in {source}");
                    continue;
                }
            };
            assert!(
                program.reads().paths.iter().all(|read| source.get(read.span.clone()).is_some()),
                "{source}"
            );
            let answer = program.evaluate(&JsonScope(&context), budget);
            if let Err(fault) = &answer {
                assert!(source.get(fault.span()).is_some(), "{source}");
            }
            if let (Ok(answer), Ok(truth)) = (&answer, program.test(&JsonScope(&context), budget)) {
                assert_eq!(answer.is_truthy(), truth, "{source}");
            }
            let (_, explanation) = program.explain(&JsonScope(&context), budget);
            let _ = explanation.to_string();
        }
    }
}
