//! Long texts: whatever is done with one is charged in proportion to its length, so that no output keeps an evaluation
//! busy beyond its budget. And text that looks like JSON and is not: no way of listing its members finds none.

use escrow_expr::{Budget, EvalErrorKind, JsonScope, Program};
use serde_json::{Value, json};

/// Each looks at all of `s`; `t` is an equal text elsewhere, `list` has it as an item.
const OPERATIONS: &[&str] = &[
    "s.length",
    "length(s)",
    "s[s.length - 1]",
    "s['1']",
    "s.at(-1)",
    "s.charAt(3)",
    "s.charCodeAt(3)",
    "s.codePointAt(3)",
    "s === t",
    "s == t",
    "s < t",
    "Object.is(s, t)",
    "switch (s) { case t: 1 }",
    "s + '!'",
    "`${s}!`",
    "s.concat('!')",
    "String([s])",
    "[s, s].join('')",
    "s.indexOf('!')",
    "s.lastIndexOf('!')",
    "s.includes('!')",
    "contains(s, '!')",
    "s.slice(1, 2)",
    "s.trim()",
    "s.toUpperCase()",
    "s.padEnd(s.length + 1)",
    "s.repeat(2)",
    "s.split('!')",
    "s.split('')",
    "s.localeCompare(t)",
    "s.replaceAll('!', '?')",
    "s.replace(/!/g, '?')",
    "/!/.test(s)",
    "s.match(/!/)",
    "JSON.stringify(s)",
    "JSON.parse('\"' + s + '\"')",
    "Number(s)",
    "parseInt(s)",
    "encodeURIComponent(s)",
    "list.includes(t)",
    "list.indexOf(t)",
    "list.lastIndexOf(t)",
    "[s, t].sort()",
    "new Set([s]).has(t)",
    "new Map([[s, 1]]).get(t)",
    "({[s]: 1})[t]",
    "const o = {}; o[s] = 1",
    "Object.fromEntries([[s, 1]])",
    "Object.hasOwn({}, s)",
    "s in {}",
    "s.missing",
    "[...s]",
    "Array.from(s)",
    "new Set(s)",
    "for (const c of s) {}",
    "const [a] = s",
    "const {a, ...rest} = s",
    "Object.keys(s)",
    "Object.values(s)",
    "Object.entries(s)",
    "Object.assign({}, s)",
    "({...s})",
    "for (const k in s) {}",
];

/// The value of a source over names.
fn value_of(source: &str, names: &Value) -> Value {
    let program = Program::block(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let answer = program.evaluate(&JsonScope(names), Budget::default());
    answer.unwrap_or_else(|fault| panic!("{source}: {fault}")).into_json().unwrap_or_default()
}

fn ends_within(program: &Program, context: &Value, budget: Budget) -> bool {
    let result = program.test(&JsonScope(context), budget);
    !matches!(result, Err(fault) if fault.kind() == EvalErrorKind::Budget)
}

/// About the smallest budget with which a source ends, in steps; each step comes with some memory.
fn cost(source: &str, text: &str) -> u64 {
    let context = json!({ "s": text, "t": text, "list": [text] });
    let program = Program::block(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let budget = |steps: u64| Budget { steps, memory_bytes: steps * 256, depth: 100 };
    let (mut too_little, mut enough) = (0, 64);
    while !ends_within(&program, &context, budget(enough)) {
        (too_little, enough) = (enough, enough * 2);
        assert!(enough < 1 << 40, "{source} never ends");
    }
    while too_little + enough / 32 + 1 < enough {
        let middle = too_little.midpoint(enough);
        match ends_within(&program, &context, budget(middle)) {
            true => enough = middle,
            false => too_little = middle,
        }
    }
    enough
}

#[test]
fn what_is_done_with_a_text_costs_in_proportion_to_its_length() {
    // Constant costs do not matter at these lengths.
    const SHORT: usize = 6_000;
    for unit in ["a", "é"] {
        for source in OPERATIONS {
            let short = cost(source, &unit.repeat(SHORT));
            let long = cost(source, &unit.repeat(SHORT * 4));
            assert!(long * 10 >= short * 25, "{source} of {unit} is not charged: {short}, then {long}");
            assert!(long * 10 <= short * 65, "{source} of {unit} is not linear: {short}, then {long}");
        }
    }
}

#[test]
fn a_loop_over_a_long_output_is_stopped() {
    let source = "for (let i = 0; i < output.length; i++) if (output[i] === '!') return true; return false";
    let program = Program::block(source).expect("it parses");
    for unit in ["a", "é"] {
        let context = json!({ "output": unit.repeat(15 << 20) });
        let fault = program.run(&JsonScope(&context), Budget::default()).expect_err("it is too long");
        assert_eq!(fault.kind(), EvalErrorKind::Budget, "{unit}");
    }
}

#[test]
fn a_loop_over_a_text_measures_it_once() {
    let names = json!({ "s": "a".repeat(6_000) });
    for (source, count) in [
        ("let n = 0; for (let i = 0; i < s.length; i++) if (s[i] === 'a') n++; return n", 6_000),
        (
            "const t = s + 'b'; let n = 0; for (let i = 0; i < t.length; i++) if (t[i] === 'b') n++; return n",
            1,
        ),
    ] {
        assert_eq!(value_of(source, &names), json!(count), "{source}");
    }
}

#[test]
fn the_length_of_a_very_long_output_can_be_read() {
    let names = json!({ "output": "a".repeat(15 << 20) });
    assert_eq!(value_of("return output.length", &names), json!(15 << 20));
}

#[test]
fn texts_are_taken_apart_by_units() {
    for (source, value) in [
        ("return Object.entries('aé')", json!([["0", "a"], ["1", "é"]])),
        ("return Object.values('😀')", json!(["\u{fffd}", "\u{fffd}"])),
        ("return {...'ab'}", json!({"0": "a", "1": "b"})),
        ("return Object.assign({}, 'ab')", json!({"0": "a", "1": "b"})),
        ("const {0: a, ...rest} = 'abc'; return rest", json!({"1": "b", "2": "c"})),
        ("return 'é'.repeat(100)[99] + 'a'.repeat(100)[99]", json!("éa")),
        (
            "return ['a'.repeat(100)[100] === undefined, 'é'.repeat(100)[100] === undefined]",
            json!([true, true]),
        ),
        ("return ['a', 'é', '€', '😀'].map(c => c.repeat(100).length)", json!([100, 100, 100, 200])),
    ] {
        assert_eq!(value_of(source, &json!({})), value, "{source}");
    }
}

/// Each would find nothing that failed, in text that JSON would have members in.
const LISTINGS: &[&str] = &[
    "output.failed",
    "output?.failed",
    "output['failed']",
    "const {failed} = output; return failed",
    "const {...all} = output; return all.failed",
    "const [first] = output; return first",
    "'failed' in output",
    "Object.keys(output).includes('failed')",
    "Object.values(output).some(n => n > 0)",
    "Object.entries(output).some(([k, n]) => n > 0)",
    "Object.hasOwn(output, 'failed')",
    "({}).hasOwnProperty.call(output, 'failed')",
    "({}).propertyIsEnumerable.call(output, 'failed')",
    "Object.assign({}, output).failed",
    "({...output}).failed",
    "for (const k in output) if (k === 'failed') return true; return false",
    "for (const each of output) if (each.failed) return true; return false",
    "Array.from(output).some(each => each.failed)",
    "[...output].some(each => each.failed)",
    "Math.max(...output) > 0",
    "new Set(output).has('failed')",
    "new Map(output).has('failed')",
    "Object.fromEntries(output).failed",
    "[].some.call(output, each => each.failed)",
    "any(output, each => each.failed)",
    "none(output, each => each.failed)",
    "all(output, each => !each.failed)",
    "count(output, each => each.failed) > 0",
];

const BROKEN: &[&str] = &[
    r#"{"failed": 3, "failed": 0}"#,
    r#"[{"failed": 3, "failed": 3}]"#,
    r#"{"failed": NaN}"#,
    r#"{"failed": 3"#,
    "\u{feff}{\"failed\": 3}",
    "// x\n{\"failed\": 3}",
    "/* hi {\"failed\": 3}",
    "\u{1b}]0;title{\"failed\": 3}",
];

#[test]
fn no_way_of_listing_members_takes_broken_json_for_text() {
    for text in BROKEN {
        let context = json!({ "output": text });
        for source in LISTINGS {
            let program = Program::block(source).unwrap_or_else(|error| panic!("{source}: {error}"));
            let result = program.run(&JsonScope(&context), Budget::default());
            let fault = result.expect_err(&format!("{source} of {text}"));
            assert_eq!(fault.name(), "TypeError", "{source} of {text}: {fault}");
        }
    }
}

#[test]
fn other_text_is_a_list_of_its_units() {
    let context = json!({ "output": "ok" });
    for (source, value) in [
        ("return Object.keys(output)", json!(["0", "1"])),
        ("return [...output]", json!(["o", "k"])),
        ("return Object.hasOwn(output, 'failed')", json!(false)),
        ("return count(output, each => each)", json!(0)),
        ("return [...`{${output}`]", json!(["{", "o", "k"])),
    ] {
        assert_eq!(value_of(source, &context), value, "{source}");
    }
}
