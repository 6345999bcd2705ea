//! The public interface: values, truthiness, spans, static reads, explanations, records, memory, batches.
#![expect(clippy::unwrap_used, reason = "this is a test")]

use escrow_expr::{Answer, Budget, JsonScope, Object, Program, Scope, ScopeValue, answer_line};
use serde_json::{Value, json};

fn evaluate(source: &str, context: &Value) -> Answer {
    Program::expression(source).unwrap().evaluate(&JsonScope(context), Budget::default()).unwrap()
}

fn block(source: &str) -> Option<Value> {
    let context = json!({});
    Program::block(source).unwrap().evaluate(&JsonScope(&context), Budget::default()).unwrap().into_json()
}

#[test]
fn truthiness_is_that_of_the_value_not_of_its_json() {
    for (source, truth) in [
        ("NaN", false),
        ("-0", false),
        ("Infinity", true),
        ("() => 1", true),
        ("''", false),
        ("[]", true),
        ("undefined", false),
    ] {
        let answer = evaluate(source, &json!({}));
        assert_eq!(answer.is_truthy(), truth, "{source}");
        assert_eq!(
            Program::expression(source).unwrap().test(&JsonScope(&json!({})), Budget::default()),
            Ok(truth),
            "{source}"
        );
    }
    assert_eq!(evaluate("Infinity", &json!({})).into_json(), Some(Value::Null));
    assert!(evaluate("() => 1", &json!({})).is_undefined());
}

#[test]
fn closures_capture_the_variable_of_their_own_iteration() {
    assert_eq!(
        block("const f = []; for (let i = 0; i < 3; i++) f.push(() => i); return f.map(g => g())"),
        Some(json!([0, 1, 2]))
    );
    assert_eq!(
        block("const f = []; for (const x of [1, 2]) f.push(() => x); return f.map(g => g())"),
        Some(json!([1, 2]))
    );
    assert_eq!(
        block("const f = []; for (var i = 0; i < 3; i++) f.push(() => i); return f.map(g => g())"),
        Some(json!([3, 3, 3]))
    );
    assert_eq!(block("let n = 0; const up = () => ++n; up(); up(); return n"), Some(json!(2)));
    assert_eq!(
        block(
            "const counter = (n) => ({ up: () => ++n }); const a = counter(5), b = counter(0); a.up(); b.up(); return [a.up(), b.up()]"
        ),
        Some(json!([7, 2]))
    );
}

#[test]
fn statements_do_what_they_do_in_javascript() {
    for (source, value) in [
        (
            "outer: for (const a of [1, 2, 3]) { for (const b of [1, 2]) { if (a === 2) continue outer; if (a === 3) break outer; } } return 'done'",
            json!("done"),
        ),
        ("let s = ''; for (const k in { b: 1, a: 2, 1: 3 }) s += k; return s", json!("1ba")),
        ("switch (3) { case 1: return 'a'; case 3: case 4: return 'b'; default: return 'c' }", json!("b")),
        ("try { null.x } catch ({ name }) { return name } finally { }", json!("TypeError")),
        ("try { return 1 } finally { return 2 }", json!(2)),
        (
            "const { a, b: { c = 5 } = {}, ...rest } = { a: 1, d: 4, e: 5 }; return [a, c, rest]",
            json!([1, 5, { "d": 4, "e": 5 }]),
        ),
        (
            "let [a, , b = 3, ...r] = [1, 2, undefined, 4, 5]; [a, b] = [b, a]; return [a, b, r]",
            json!([3, 1, [4, 5]]),
        ),
        ("return hoisted(2); function hoisted(n) { return n < 1 ? 0 : n + hoisted(n - 1) }", json!(3)),
        ("let n = 5; do { n-- } while (n > 2); while (true) { if (n++ > 3) break } return n", json!(5)),
        (
            "const o = { n: 1 }; o.n += 2; o.n **= 2; o.m ??= 7; o.n ||= 1; delete o.q; return o",
            json!({ "n": 9, "m": 7 }),
        ),
        (
            "const m = new Map([['a', 1]]); m.set('b', 2); return [...m].map(([k, v]) => k + v).join()",
            json!("a1,b2"),
        ),
        ("x = 5; return x + 1", json!(6)),
        ("const f = function fact(n) { return n < 2 ? 1 : n * fact(n - 1) }; return f(5)", json!(120)),
    ] {
        assert_eq!(block(source), Some(value), "{source}");
    }
}

#[test]
fn the_context_is_never_changed_but_the_program_sees_its_own_changes() {
    let context = json!({ "list": [3, 1, 2], "o": { "a": 1 } });
    let program = Program::block("const before = list; list.push(9); list.sort(); o.b = list.length; return [list, before === list, o]").unwrap();
    let answer = program.evaluate(&JsonScope(&context), Budget::default()).unwrap().into_json();
    assert_eq!(answer, Some(json!([[1, 2, 3, 9], true, { "a": 1, "b": 4 }])));
    assert_eq!(context, json!({ "list": [3, 1, 2], "o": { "a": 1 } }));
}

#[test]
fn reads_list_names_paths_and_helpers_with_their_spans() {
    let source = "outputs['lint'].x > env.CI && any(history, v => v.ok) && typeof maybe === 'string' && env[name] && outputs.a.filter(i => i).length";
    let program = Program::expression(source).unwrap();
    let reads = program.reads();
    let paths: Vec<(String, bool)> =
        reads.paths.iter().map(|path| (path.segments.join("."), path.computed)).collect();
    let expected = [
        ("outputs.lint.x", false),
        ("env.CI", false),
        ("history", false),
        ("maybe", false),
        ("env", true),
        ("name", false),
        ("outputs.a", false),
    ];
    assert_eq!(paths, expected.map(|(path, computed)| (path.to_owned(), computed)));
    assert_eq!(&source[reads.paths[0].span.clone()], "outputs['lint'].x");
    assert_eq!(&source[reads.paths[4].span.clone()], "env");
    assert!(reads.names.iter().any(|name| name.name == "maybe" && name.guarded));
    assert_eq!(reads.helpers.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["any"]);
    assert!(reads.is_pure() && reads.uses("outputs") && !reads.uses("output") && !reads.uses("v"));
    assert!(!Program::block("memory.set('a', 1)").unwrap().reads().is_pure());
    assert!(!Program::expression("log('x')").unwrap().reads().is_pure());
}

#[test]
fn changes_to_values_of_the_scope_are_effects() {
    for (source, changes) in [
        ("output[x] = 1", &["output[x]"][..]),
        ("output.a.b = output.c === 1", &["output.a.b"]),
        ("output = 1", &["output"]),
        ("ok && (output.count += 1)", &["output.count"]),
        ("output.count++ > --output.list[n].m", &["output.count", "output.list[n].m"]),
        ("[output.a, { b: output[x] = 3 }] = list", &["output.a", "output[x]"]),
        ("delete output[x]", &["output[x]"]),
        ("for (output.last of list) ; output.last", &["output.last"]),
        ("list.map(item => { output.n ??= item })", &["output.n"]),
        ("const o = { n: 1 }; o.n = output.n; o[x]++; delete o.n; o.n", &[]),
        ("output.a === 1 && output.b == x && list.some(item => item >= 1)", &[]),
        ("list.reduce((sum, item) => { sum += item; return sum }, 0)", &[]),
    ] {
        let program = Program::expression(source).unwrap();
        let effects = &program.reads().effects;
        let found: Vec<&str> = effects.iter().map(|effect| &source[effect.span.clone()]).collect();
        assert_eq!(found, changes, "{source}");
        assert!(effects.iter().all(|effect| effect.name == escrow_expr::Reads::CHANGE), "{source}");
    }
}

#[test]
fn a_break_or_continue_without_a_target_is_refused_at_its_span() {
    for (source, jump) in [
        ("let n = 1; break; return n", "break"),
        ("if (ok) { continue }", "continue"),
        ("for (const a of list) { break outer; }", "break outer"),
        ("here: { continue here\n }", "continue here"),
        ("while (true) { list.map(item => { break\n item }) }", "break"),
    ] {
        let error = Program::block(source).unwrap_err();
        let word = jump.split(' ').next().unwrap();
        assert_eq!(error.message, format!("`{word}` has nothing to leave here"), "{source}");
        assert_eq!(&source[error.span], jump, "{source}");
    }
}

#[test]
fn constants_are_known_without_a_scope() {
    assert_eq!(
        Program::expression("1 + 2 > 2 && [1].includes(1)")
            .unwrap()
            .constant()
            .map(|answer| answer.is_truthy()),
        Some(true)
    );
    assert_eq!(
        Program::expression("always()").unwrap().constant().map(|answer| answer.is_truthy()),
        Some(true)
    );
    for source in ["output", "isMember()", "memory.get('x')", "typeof output", "null.x"] {
        assert!(Program::expression(source).unwrap().constant().is_none(), "{source}");
    }
}

#[test]
fn errors_point_into_the_source() {
    let source = "true && output.items.length > 0";
    let fault = Program::expression(source)
        .unwrap()
        .evaluate(&JsonScope(&json!({ "output": {} })), Budget::default())
        .unwrap_err();
    assert_eq!(fault.to_string(), "TypeError: Cannot read properties of undefined (reading 'length')");
    assert_eq!(&source[fault.span()], "output.items.length");
    let fault = Program::expression("outptu.x")
        .unwrap()
        .evaluate(&JsonScope(&json!({})), Budget::default())
        .unwrap_err();
    assert_eq!(
        (fault.name(), fault.message(), fault.span()),
        ("ReferenceError", "outptu is not defined", 0..6)
    );
    let error = Program::expression("output.count >").unwrap_err();
    assert_eq!((error.message.as_str(), error.span), ("expected a value, found the end", 14..14));
    let error = Program::expression("files.some(f => f.match(/(?=x)/))").unwrap_err();
    assert_eq!((error.message.as_str(), error.span), ("look-around in a pattern is not supported", 24..31));
    // The name begins with a letter of two bytes; a span must not end between them.
    let error = Program::expression("1é").unwrap_err();
    assert_eq!((error.message.as_str(), error.span), ("a number runs into a name", 0..3));
}

struct Attempt;

impl Object for Attempt {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        static CODE: Value = Value::Bool(true);
        (name == "exitCode" || name == "length").then_some(ScopeValue::Json(&CODE))
    }

    fn names(&self) -> Vec<&str> {
        vec!["exitCode"]
    }
}

struct RecordScope(Value);

impl Scope for RecordScope {
    fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
        (name == "output").then_some(ScopeValue::Record { value: &self.0, extra: &Attempt })
    }

    fn names(&self) -> Vec<&str> {
        vec!["output"]
    }
}

#[test]
fn a_record_is_its_value_with_extra_members() {
    let text = RecordScope(json!("done"));
    for (source, value) in [
        ("output.exitCode", json!(true)),
        ("output.length", json!(4)),
        ("output === 'done'", json!(true)),
        ("typeof output", json!("string")),
        ("output + '!'", json!("done!")),
        ("output.toUpperCase()", json!("DONE")),
        ("[output].map(o => o.exitCode)", json!([true])),
        ("output", json!("done")),
        ("output == 'done' && output.missing === undefined", json!(true)),
        ("JSON.stringify(output)", json!("\"done\"")),
        ("`${output}`", json!("done")),
        ("output?.exitCode", json!(true)),
        ("contains(output, 'ON')", json!(true)),
    ] {
        let answer = Program::expression(source).unwrap().evaluate(&text, Budget::default()).unwrap();
        assert_eq!(answer.into_json(), Some(value), "{source}");
    }
    let object = RecordScope(json!({ "exitCode": 3, "a": [1] }));
    for (source, value) in [
        ("output.exitCode", json!(3)),
        ("Object.keys(output)", json!(["exitCode", "a"])),
        ("output === output", json!(true)),
        ("({ ...output }).a", json!([1])),
    ] {
        let answer = Program::expression(source).unwrap().evaluate(&object, Budget::default()).unwrap();
        assert_eq!(answer.into_json(), Some(value), "{source}");
    }
    let nothing = RecordScope(Value::Null);
    let answer = Program::expression("[output?.exitCode, output ?? 1, !output]")
        .unwrap()
        .evaluate(&nothing, Budget::default())
        .unwrap();
    assert_eq!(answer.into_json(), Some(json!([null, 1, true])));
}

#[test]
fn blocks_return_their_memory_writes_and_expressions_cannot_write() {
    let context = json!({ "__memory": { "default": { "n": 1 } } });
    let program = Program::block("memory.increment('n'); memory.set('k', [1], 'other'); memory.append('l', 'x'); return [memory.get('n'), memory.list()]").unwrap();
    let (answer, writes) = program.run(&JsonScope(&context), Budget::default()).unwrap();
    assert_eq!(answer.into_json(), Some(json!([2, ["n", "l"]])));
    let writes: Vec<_> = writes.into_iter().map(|write| (write.namespace, write.key, write.value)).collect();
    let expected = [("default", "n", json!(2)), ("other", "k", json!([1])), ("default", "l", json!(["x"]))];
    assert_eq!(writes, expected.map(|(namespace, key, value)| (namespace.to_owned(), key.to_owned(), value)));
    let fault = Program::expression("memory.set('a', 1)")
        .unwrap()
        .evaluate(&JsonScope(&context), Budget::default())
        .unwrap_err();
    assert_eq!(fault.name(), "TypeError");
}

#[test]
fn an_explanation_prints_every_value_below_its_sub_expression() {
    let context = json!({ "output": { "count": 5, "items": [1, 2] }, "env": { "CI": "false" } });
    let program =
        Program::expression("output.count > 3 && env.CI === 'true' || output.items.some(i => i > 1)")
            .unwrap();
    let (answer, explanation) = program.explain(&JsonScope(&context), Budget::default());
    assert!(answer.unwrap().is_truthy());
    insta::assert_snapshot!(explanation, @r#"
    output.count > 3 && env.CI === 'true' || output.items.some(i => i > 1)
    │      │     │   │  │   │  │          │  │      │     │         │ │
    │      │     │   │  │   │  │          │  │      │     │         │ true (last of 2)
    │      │     │   │  │   │  │          │  │      │     │         2 (last of 2)
    │      │     │   │  │   │  │          │  │      │     true
    │      │     │   │  │   │  │          │  │      [1, 2]
    │      │     │   │  │   │  │          │  {count: 5, items: [1, 2]}
    │      │     │   │  │   │  │          true
    │      │     │   │  │   │  false
    │      │     │   │  │   "false"
    │      │     │   │  {CI: "false"}
    │      │     │   false
    │      │     true
    │      5
    {count: 5, items: [1, 2]}
    = true
    "#);
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["result"], "true");
    assert_eq!(json["parts"][0]["source"], program.source());
}

#[test]
fn an_explanation_of_large_values_is_bounded() {
    let context = json!({ "list": (0..5_000).collect::<Vec<_>>(), "text": "x".repeat(100_000) });
    let source = "list.map(x => list.length + x).filter(x => x % 2 === 0).length > 3 && text + text";
    let (_, explanation) =
        Program::expression(source).unwrap().explain(&JsonScope(&context), Budget::default());
    // Ten thousand values at most, each cut short, whatever the list has.
    assert!(serde_json::to_string(&explanation).unwrap().len() < 1_000_000);
    assert!(
        explanation
            .walk()
            .iter()
            .all(|part| part.value.as_ref().is_none_or(|value| value.chars().count() < 250))
    );
}

#[test]
fn a_batch_answers_every_line() {
    for (line, answer) in [
        (json!({ "expr": "a + 1", "context": { "a": 1 } }).to_string(), json!({ "value": 2 })),
        (json!({ "expr": "a.b", "context": { "a": {} } }).to_string(), json!({ "undefined": true })),
        (json!({ "expr": "0 / 0" }).to_string(), json!({ "value": null })),
        (json!({ "expr": "if (1) return 2", "block": true }).to_string(), json!({ "value": 2 })),
        (
            json!({ "expr": "isMember()", "context": { "__assoc": "OWNER" } }).to_string(),
            json!({ "value": true }),
        ),
        (
            json!({ "expr": "memory.get('k')", "context": { "__memory": { "default": { "k": 7 } } } })
                .to_string(),
            json!({ "value": 7 }),
        ),
    ] {
        assert_eq!(
            serde_json::from_str::<Value>(&answer_line(&line, Budget::default())).unwrap(),
            answer,
            "{line}"
        );
    }
    for (line, kind) in [
        (json!({ "expr": "b" }).to_string(), "ReferenceError"),
        (json!({ "expr": "(" }).to_string(), "SyntaxError"),
        (json!({ "expr": "while (1) {}", "block": true }).to_string(), "BudgetError"),
        (json!({ "expr": "throw new Error('no')", "block": true }).to_string(), "Error"),
        ("not json".to_owned(), "InputError"),
        ("{}".to_owned(), "InputError"),
    ] {
        let answer: Value = serde_json::from_str(&answer_line(&line, Budget::default())).unwrap();
        assert_eq!(answer["error"]["kind"], kind, "{line}");
    }
}

#[test]
fn programs_are_shared_between_threads_and_compared_by_source() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug>(_: &T) {}
    let program = Program::expression("1").unwrap();
    shared(&program);
    assert_eq!(program, Program::expression("1").unwrap());
    assert_ne!(program, Program::block("1").unwrap());
}

#[test]
fn an_explanation_keeps_every_value_of_what_was_evaluated_several_times() {
    let context = json!({ "output": { "findings": [{ "severity": "low" }, { "severity": "high" }] } });
    let source = "output.findings.some(f => f.severity === 'high')";
    let (_, explanation) =
        Program::expression(source).unwrap().explain(&JsonScope(&context), Budget::default());
    let parts = explanation.walk();
    let values = |source: &str| {
        let part = parts.iter().find(|part| part.source == source).expect("it is a part");
        (part.times, part.values.clone())
    };
    assert_eq!(values("f.severity"), (2, vec!["\"low\"".to_owned(), "\"high\"".to_owned()]));
    assert_eq!(values("f.severity === 'high'"), (2, vec!["false".to_owned(), "true".to_owned()]));
    assert_eq!(values("output.findings"), (1, Vec::new()), "a single value is not repeated");
    let document = serde_json::to_value(&explanation).unwrap();
    assert!(document.to_string().contains(r#""values":["false","true"]"#), "{document}");
}
