//! Sources made to hang, overflow or exhaust an evaluator. Every one must end, with a value or a typed error.
//!
//! The tests run unoptimised on threads with 2 MiB of stack, the smallest that an evaluation may run on.

#![expect(
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "timings are printed on request, never judged"
)]

use escrow_expr::{Budget, EvalErrorKind, JsonScope, Program};
use serde_json::json;

/// How a source ended.
#[derive(Debug, PartialEq, Clone, Copy)]
enum End {
    Syntax,
    Budget,
    OtherFault,
    Value,
}

fn run(source: &str) -> End {
    let context = json!({ "text": "a".repeat(5_000), "list": [1, 2, 3], "deep": {"a": {"b": 1}}, "__memory": {"default": {"k": 1}} });
    let Ok(program) = Program::block(source) else { return End::Syntax };
    let _ = program.constant();
    let _ = program.explain(&JsonScope(&context), Budget::default());
    let started = std::time::Instant::now();
    let result = program.run(&JsonScope(&context), Budget::default());
    if std::env::var_os("ESCROW_TIMINGS").is_some() {
        let shown: String = source.chars().take(90).collect();
        println!("{:>8.2} ms  {shown}", started.elapsed().as_secs_f64() * 1e3);
    }
    match result {
        Ok(_) => End::Value,
        Err(fault) if fault.kind() == EvalErrorKind::Budget => End::Budget,
        Err(_) => End::OtherFault,
    }
}

fn check(sources: &[String], allowed: &[End]) {
    for source in sources {
        let end = run(source);
        let shown: String = source.chars().take(80).collect();
        assert!(allowed.contains(&end), "{end:?} for {shown}");
    }
}

/// A construct nested in itself `n` times.
fn nested(open: &str, middle: &str, close: &str, n: usize) -> String {
    format!("{}{middle}{}", open.repeat(n), close.repeat(n))
}

const NESTINGS: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{a:", "1", "}"),
    ("!", "1", ""),
    ("-", "1", ""),
    ("+ ", "1", ""),
    ("~", "1", ""),
    ("typeof ", "1", ""),
    ("void ", "1", ""),
    ("delete ", "a.b", ""),
    ("() => ", "1", ""),
    ("(() => ", "1", ")()"),
    ("x => { return ", "1", "}"),
    ("function(){ return ", "1", "}"),
    ("`${", "1", "}`"),
    ("f(", "1", ")"),
    ("new Set(", "1", ")"),
    ("a[", "1", "]"),
    ("true ? ", "1", " : 2"),
    ("false ? 1 : ", "1", ""),
    ("1 + (", "1", ")"),
    ("1 ** ", "1", ""),
    ("a = ", "1", ""),
    ("a += ", "1", ""),
    ("[...", "[]", "]"),
    ("{...", "{}", "}"),
    ("f(...", "[]", ")"),
    ("{", "1", "}"),
    ("if (1) ", "1", ""),
    ("if (1) {", "1", "}"),
    ("if (1) ; else ", "1", ""),
    ("while (0) ", "1", ""),
    ("do ", "1", " while(0)"),
    ("for (;;) ", "break", ""),
    ("for (const x of [1]) ", "1", ""),
    ("for (const x in {}) ", "1", ""),
    ("try {", "1", "} catch (e) {}"),
    ("try {} finally {", "1", "}"),
    ("switch (1) { case 1: ", "1", "}"),
    ("l: ", "1", ""),
    ("function f() {", "1", "}"),
    ("let [", "a", "] = 1"),
    ("let {a:", "a", "} = 1"),
    ("([", "a", "] = 1)"),
    ("(a, ", "1", ")"),
    ("a?.[", "1", "]"),
    ("list.map(x => ", "1", ")"),
    ("[].concat(", "1", ")"),
    ("(a = ", "1", ") => a"),
    ("((a = ", "1", ") => a)()"),
    ("1, (", "1", ")"),
    ("a ?? (", "1", ")"),
    ("a || ", "1", ""),
    ("{[", "1", "]: 1}"),
    ("return ", "1", ""),
    ("throw ", "1", ""),
    ("/(", "a", ")/"),
    ("new RegExp('", "(", "')"),
    ("++", "a", ""),
    ("async ", "1", ""),
    ("#", "1", ""),
    ("\\", "1", ""),
];

#[test]
fn every_deeply_nested_construct_ends_with_a_value_or_an_error() {
    for depth in [50, 150, 250, 3_000, 60_000] {
        let sources: Vec<String> =
            NESTINGS.iter().map(|(open, middle, close)| nested(open, middle, close, depth)).collect();
        let sources: Vec<String> = sources.into_iter().filter(|source| source.len() < 400_000).collect();
        check(&sources, &[End::Syntax, End::Budget, End::OtherFault, End::Value]);
    }
}

#[test]
fn left_deep_chains_end_with_a_value_or_an_error() {
    let links = [
        ".a",
        "[0]",
        "()",
        "?.a",
        "?.[0]",
        "?.()",
        " + 1",
        " - 1",
        " && 1",
        " || 1",
        " ?? 1",
        " === 1",
        ", 1",
        " in {}",
        " << 1",
        ".toString()",
    ];
    for count in [100, 190, 5_000, 50_000] {
        let sources: Vec<String> = links
            .iter()
            .map(|link| format!("deep{}", link.repeat(count)))
            .filter(|source| source.len() < 400_000)
            .collect();
        check(&sources, &[End::Syntax, End::Budget, End::OtherFault, End::Value]);
    }
    assert_eq!(run(&format!("1{}", " + 1".repeat(1_000))), End::Syntax);
}

#[test]
fn endless_programs_are_stopped_by_the_budget() {
    check(&strings(STOPPED), &[End::Budget]);
}

const STOPPED: &[&str] = &[
    "while (true) {}",
    "for (;;) {}",
    "do {} while (1)",
    "for (;;) { continue }",
    "while (1) { try { throw 1 } catch (e) {} }",
    "while (1) { try { continue } finally {} }",
    "l: while (1) { while (1) { continue l } }",
    "const f = () => f(); return f()",
    "function f() { return f() } return f()",
    "const f = x => [x].map(f); return f(1)",
    "function f() { return g() } function g() { return f() } return f()",
    "const f = n => n + f(n + 1); return f(0)",
    "const f = () => { try { return f() } catch (e) { return f() } }; return f()",
    "const f = () => { try { f() } finally { f() } }; f()",
    "const y = f => (x => x(x))(x => f(v => x(x)(v))); return y(f => n => f(n))(1)",
    "const o = { toString() { return String(o) } }; let i = 0; while (true) i += o.toString().length",
    "const a = [1]; for (const x of a) a.push(x)",
    "const a = [1]; for (const x of a) { a.push(x, x) }",
    "const s = new Set([1]); let i = 1; s.forEach(x => s.add(++i))",
    "const m = new Map([[1, 1]]); let i = 1; m.forEach(() => m.set(++i, i))",
    "let s = 'x'; while (true) s += s",
    "let s = 'x'; for (let i = 0; i < 60; i++) s = s + s; return s.length",
    "let s = 'x'; for (;;) s = `${s}${s}`",
    "let s = 'ab'; for (;;) s = s.replace(/a/g, 'aaaa')",
    "let s = 'ab'; for (;;) s = s.split('').join('xx')",
    "let s = 'a'; for (;;) s = s.concat(s, s)",
    "let s = 'a'; for (;;) s = s.padEnd(s.length * 2, s)",
    "let s = 'é'; for (;;) s = s.toUpperCase() + s",
    "let s = 'a'; for (;;) s = JSON.stringify(s + s)",
    "let s = '%'; for (;;) s = encodeURIComponent(s + s)",
    "let a = [1]; for (;;) a = [...a, ...a]",
    "let a = [1]; for (;;) a = a.concat(a)",
    "let a = [1]; for (;;) a.push(...a)",
    "let a = [1]; for (;;) a = a.flatMap(x => [x, x])",
    "let a = [[1]]; for (;;) a = [a, a].flat()",
    "let a = [1]; for (;;) a = Array.from(a).concat(a)",
    "let a = [1]; for (;;) a.unshift(...a)",
    "let a = [1]; for (;;) a.splice(0, 0, ...a)",
    "let a = [0]; for (;;) a[a.length] = a",
    "let o = {}; for (let i = 0; ; i++) o['k' + i] = i",
    "let o = { a: 1 }; for (let i = 0; ; i++) o = { ...o, ['k' + i]: o }",
    "const m = new Map(); for (let i = 0; ; i++) m.set(i, m)",
    "const s = new Set(); for (let i = 0; ; i++) s.add('x' + i)",
    "return 'x'.repeat(1e9)",
    "return 'x'.repeat(2 ** 30).length",
    "return 'abc'.padStart(1e12)",
    "return 'a'.padEnd(2 ** 31, 'xy')",
    "return Array(4e9).length",
    "return Array(1e8).fill(0)",
    "return new Array(2 ** 31)",
    "return Array.from({ length: 1e9 })",
    "return Array.from({ length: 1e15 }, (_, i) => i)",
    "return Array.from({ length: Infinity })",
    "return [...Array(1e7)].map(x => 1)",
    "return 'a,'.repeat(1e6).split(',').map(x => x.split('')).length",
    "return JSON.parse('[' + '1,'.repeat(5e6) + '1]')",
    "const a = []; a.length = 4e9 - 1; return a",
    "const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2); return fib(40)",
    "const ack = (m, n) => m === 0 ? n + 1 : n === 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); return ack(4, 4)",
    "let n = 0; for (let i = 0; i < 1e9; i++) n += i; return n",
    "for (let i = 0; i < 1e4; i++) for (let j = 0; j < 1e4; j++) ;",
    "let a = Array(20000).fill(0).map((_, i) => i); for (;;) a.sort((x, y) => y - x)",
    "for (;;) memory.set('a', 1)",
    "for (;;) memory.append('a', 1)",
    "for (;;) memory.increment('n')",
    "for (let i = 0; ; i++) memory.set('k' + i, 'x'.repeat(1000))",
    "for (;;) log('x')",
    "let x = 1; for (;;) x = { x }",
    "let x = 1; for (;;) x = [x]",
    "let f = x => x; for (;;) { const g = f; f = x => g(x) }",
    "const fs = []; for (let i = 0; ; i++) fs.push(() => i)",
    "for (;;) new RegExp('a{1,50}')",
    "for (let i = 0; ; i++) new RegExp('(' + i + ')+')",
    "for (;;) 'aaaa'.match(/a+/g)",
    "for (;;) text.match(/(a+)+b/)",
    "for (;;) text.replace(/a/g, 'b')",
    "for (;;) text.split('')",
    "for (;;) text.includes('b')",
    "for (;;) JSON.stringify(text)",
    "for (;;) text.toUpperCase()",
    "for (;;) text === text.slice(0)",
    "for (;;) Object.keys(list)",
    "for (;;) [3, 1, 2].sort()",
    "const a = [text]; for (;;) a.indexOf(text + '')",
    "const s = 'é'.repeat(50000); for (let i = 0; ; i++) s[i]",
    "const s = 'é'.repeat(50000); for (let i = 0; ; i++) s.charCodeAt(i)",
    "const s = 'é'.repeat(50000); for (let i = 0; ; i++) s.slice(i, i + 1)",
    "try { while (true) {} } catch (e) { return 1 }",
    "try { while (true) {} } finally { return 1 }",
    "const f = () => f(); try { f() } catch (e) { return 'caught' }",
    "const a = []; for (let i = 0; i < 1e6; i++) a.push(i); return a",
    "return [1, 2, 3].reduce((s, x) => { while (1) s += x }, 0)",
    "return [3, 2, 1].sort(() => { for (;;) ; })",
    "return 'abc'.replace(/b/, () => { for (;;) ; })",
    "return any([1], () => { for (;;) ; })",
    "return JSON.stringify({ a: 1 }, (k, v) => { for (;;) ; })",
    "return JSON.stringify({ a: 1 }, (k, v) => ({ v }))",
    "return JSON.parse('[1]', (k, v) => { for (;;) ; })",
    "return Array.from([1], () => { for (;;) ; })",
    "const { a = (() => { for (;;) ; })() } = {};",
    "const f = (...r) => f(...r, ...r); return f(1)",
    "const f = (a = f()) => a; return f()",
    "const f = () => { for (const x of [1]) f() }; f()",
    "const f = () => [1].forEach(f); f()",
    "const f = () => any([1], f); return f()",
    "const f = () => 'a'.replace('a', f); return f()",
    "const f = () => f.call(null); return f()",
    "const f = () => [2, 1].sort(f); return f()",
    "const f = () => `${f()}`; return f()",
    "const f = () => ({ a: f() }); return f()",
    "const f = () => [f()]; return f()",
    "const f = () => f?.(); return f()",
    "const f = () => { switch (f()) {} }; f()",
];

#[test]
fn regexes_cannot_be_catastrophic() {
    let patterns = [
        "(a+)+$",
        "(a|a)*$",
        "(a|aa)+$",
        "(.*a){12}$",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(a*)*b",
        "(a+)+b",
        "(x+x+)+y",
        "a*a*a*a*a*a*b",
        "(?:a?){50}a{50}",
        "(.*)(.*)(.*)(.*)=",
        "\\s*\\s*\\s*;",
    ];
    let mut sources = Vec::new();
    for pattern in patterns {
        sources.push(format!("/{pattern}/.test('a'.repeat(30000) + '!')"));
        sources.push(format!("text.match(/{pattern}/)"));
        sources.push(format!("text.replace(/{pattern}/g, 'x').length"));
        sources.push(format!("text.split(/{pattern}/).length"));
    }
    check(&sources, &[End::Value, End::Budget]);
    let refused = [
        "/a{1000}{1000}/",
        "/((a{100}){100}){100}/",
        "/(?=a)b/",
        "/(?<=a)b/",
        "/(?!a)b/",
        "/(a)\\1/",
        "/\\k<a>/",
        "/(?<a>x)\\k<a>/",
        "/a**/",
        "/[z-a]/",
        "/(/",
        "/a/gg",
        "/a/x",
        "/\\w{99999}/",
    ];
    check(&strings(&refused), &[End::Syntax]);
    check(
        &strings(&[
            "new RegExp('(?=a)')",
            "new RegExp('[')",
            "new RegExp('a', 'q')",
            "'a'.match('(')",
            "new RegExp('(a{100}){100}{100}')",
        ]),
        &[End::OtherFault],
    );
}

#[test]
fn prototypes_are_not_reachable() {
    let undefined = [
        "({}).__proto__",
        "({}).constructor",
        "[].constructor",
        "''.constructor",
        "(() => 1).constructor",
        "(1).constructor",
        "list.constructor",
        "deep.__proto__",
        "deep['const' + 'ructor']",
        "[]['__pro' + 'to__']",
        "({}).__defineGetter__",
        "({}).__lookupGetter__",
        "Object.prototype",
        "Array.prototype",
        "(() => 1).prototype",
        "Object.getPrototypeOf",
        "Object.setPrototypeOf",
        "Object.defineProperty",
        "Object.create",
        "Math.random",
        "Math.constructor",
        "JSON.constructor",
        "memory.constructor",
        "(() => 1).bind",
        "(() => 1).caller",
        "''.at.constructor",
        "Error.captureStackTrace",
        "[].__proto__",
        "text.__proto__",
    ];
    for source in undefined {
        let context = json!({ "text": "a", "list": [1], "deep": {"a": 1} });
        let answer =
            Program::expression(source).unwrap().evaluate(&JsonScope(&context), Budget::default()).unwrap();
        assert!(answer.is_undefined(), "{source} gave {answer:?}");
    }
    let faults = [
        "({}).constructor.constructor('return 1')()",
        "(() => 1).constructor('return 1')()",
        "[].constructor.from([1])",
        "deep.__proto__.x = 1",
        "({})['__proto__'] = 1",
        "deep.constructor = 1",
        "list.prototype = 1",
        "Object.assign({}, JSON.parse('{\"__proto__\": 1}'))",
        "eval('1')",
        "Function('return 1')()",
        "new Function('return 1')",
        "globalThis",
        "window",
        "process",
        "require('fs')",
        "import('fs')",
        "Date.now()",
        "new Date()",
        "Math.random()",
        "setTimeout(() => 1)",
        "fetch('x')",
        "Reflect",
        "Proxy",
        "Symbol('x')",
        "Promise.resolve()",
        "WeakRef",
        "crypto",
        "performance.now()",
        "Atomics",
        "SharedArrayBuffer",
        "WebAssembly",
        "Intl",
        "arguments",
        "BigInt(1)",
    ];
    check(&strings(&faults), &[End::OtherFault, End::Syntax]);
}

#[test]
fn cyclic_and_shared_values_are_evaluated_in_bounded_time() {
    let sources = [
        "const a = []; a.push(a); return String(a)",
        "const a = []; a.push(a); return a.join()",
        "const a = [1]; a[1] = a; return `${a}`",
        "const a = []; a[0] = a; return a == ''",
        "const a = []; a[0] = a; return a.flat(1).length",
        "const a = {}; a.a = a; return a.a.a.a === a",
        "const a = {}; a.a = a; const { a: { a: b } } = a; return b === a",
        "const a = []; a[0] = a; return a.includes(a)",
        "let x = []; for (let i = 0; i < 5000; i++) x = [x]; return x.length",
        "let x = {}; for (let i = 0; i < 5000; i++) x = { x }; return typeof x",
    ];
    check(&strings(&sources), &[End::Value]);
    let faults = [
        "const a = []; a.push(a); return a",
        "const a = {}; a.a = a; return a",
        "const a = {}; a.a = a; return JSON.stringify(a)",
        "const a = []; a[0] = [[a]]; return JSON.stringify(a)",
        "let x = []; for (let i = 0; i < 5000; i++) x = [x]; return x",
        "let x = 1; for (let i = 0; i < 5000; i++) x = { x }; return x",
        "let x = []; for (let i = 0; i < 5000; i++) x = [x]; return String(x)",
        "let x = []; for (let i = 0; i < 5000; i++) x = [x]; return JSON.stringify(x)",
        "let x = []; for (let i = 0; i < 5000; i++) x = [x]; return x.flat(Infinity)",
        "return JSON.parse('['.repeat(100000) + ']'.repeat(100000))",
        "const a = []; a[0] = a; return a.flat(Infinity)",
        "let x = [1]; for (let i = 0; i < 40; i++) x = [x, x]; return x",
        "let x = [1]; for (let i = 0; i < 40; i++) x = [x, x]; return String(x)",
        "let x = { a: 1 }; for (let i = 0; i < 40; i++) x = { a: x, b: x }; return JSON.stringify(x)",
        "let x = []; for (let i = 0; i < 5000; i++) x = [x]; return +x",
        "let e = new Error('x'); e.message = e; throw e",
        "let x = 'a'; for (let i = 0; i < 300; i++) { const y = x; x = { toString: () => y } } return `${[x]}`.x.y",
    ];
    check(&strings(&faults), &[End::OtherFault, End::Budget]);
}

#[test]
fn huge_and_broken_sources_are_refused() {
    let sources = [
        "1".repeat(500_000),
        "a".repeat(500_000),
        format!("'{}'", "x".repeat(300_000)),
        format!("[{}]", "1,".repeat(200_000)),
        "\"".to_owned(),
        "`".to_owned(),
        "`${".to_owned(),
        "`${`${`".to_owned(),
        "/".to_owned(),
        "/a".to_owned(),
        "/*".to_owned(),
        "(".to_owned(),
        ")".to_owned(),
        "}".to_owned(),
        "]".to_owned(),
        "({)}".to_owned(),
        "a.".to_owned(),
        "a?.".to_owned(),
        "a..b".to_owned(),
        "=>".to_owned(),
        "() =>".to_owned(),
        "(a,) => => 1".to_owned(),
        "let".repeat(2).to_owned() + " =",
        "const x".to_owned(),
        "for (".to_owned(),
        "for (const x of".to_owned(),
        "if".to_owned(),
        "switch (1) { case".to_owned(),
        "try {".to_owned(),
        "try {}".to_owned(),
        "throw".to_owned(),
        "new".to_owned(),
        "'\\u{110000}'".to_owned(),
        "'\\x'".to_owned(),
        "0x".to_owned(),
        "1e".to_owned(),
        "1_".to_owned(),
        "08".to_owned(),
        "3in []".to_owned(),
        "a b".to_owned(),
        "a ?? b || c".to_owned(),
        "-1 ** 2".to_owned(),
        "1 = 2".to_owned(),
        "f() = 1".to_owned(),
        "a?.b = 1".to_owned(),
        "({ a = 1 })".to_owned(),
        "let a; let a".to_owned(),
        "break".to_owned(),
        "continue".to_owned(),
        "l: { continue l }".to_owned(),
        "() => { break }".to_owned(),
        "class A {}".to_owned(),
        "async () => 1".to_owned(),
        "await x".to_owned(),
        "function* f() {}".to_owned(),
        "yield 1".to_owned(),
        "import 'x'".to_owned(),
        "with (a) b".to_owned(),
        "debugger".to_owned(),
        "`a``b`".to_owned(),
        "a`b`".to_owned(),
        "1n".to_owned(),
        "@a".to_owned(),
        "#a".to_owned(),
        "\u{0}".to_owned(),
        "…".to_owned(),
        "“a”".to_owned(),
        (0..5_000).map(|i| format!("let a{i};")).collect(),
    ];
    check(&sources, &[End::Syntax]);
}

#[test]
fn a_budget_is_exact_to_the_step() {
    let program = Program::block("let n = 0; while (true) n++").unwrap();
    let scope = json!({});
    for steps in [0, 1, 2, 10, 1_000] {
        let fault = program.evaluate(&JsonScope(&scope), Budget { steps, ..Budget::default() }).unwrap_err();
        assert_eq!(fault.name(), "BudgetError");
    }
    let program = Program::expression("'x'.repeat(1000).length").unwrap();
    let small = Budget { memory_bytes: 500, ..Budget::default() };
    assert_eq!(program.evaluate(&JsonScope(&scope), small).unwrap_err().kind(), EvalErrorKind::Budget);
    assert!(
        program.evaluate(&JsonScope(&scope), Budget { memory_bytes: 5_000, ..Budget::default() }).is_ok()
    );
    let program = Program::expression("((((1 + 1) + 1) + 1) + 1)").unwrap();
    assert!(program.evaluate(&JsonScope(&scope), Budget { depth: 3, ..Budget::default() }).is_err());
    assert!(program.evaluate(&JsonScope(&scope), Budget { depth: 5, ..Budget::default() }).is_ok());
}

fn strings(sources: &[&str]) -> Vec<String> {
    sources.iter().map(|source| (*source).to_owned()).collect()
}
