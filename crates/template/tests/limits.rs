//! Templates that try to run forever or to exhaust memory. Each must end soon, in a debug build, on the small stack of
//! a test thread.

#![expect(clippy::disallowed_types, reason = "the test measures what the crate must not")]

use std::time::Instant;

use escrow_expr::JsonScope;
use escrow_template::{Condition, ShellScript, Template};
use serde_json::json;

/// Generous, because the machine may be busy; without the limits most of these would never end.
const SECONDS_MAX: u64 = 30;

fn hostile() -> Vec<String> {
    let long =
        |head: &str, part: &str, times: usize, tail: &str| format!("{head}{}{tail}", part.repeat(times));
    let mut corpus: Vec<String> = [
        // Growing texts.
        "{{ 'x' * 1000000000 }}",
        "{{ 1000000000 * 'x' }}",
        "{{ 'x' * 99999999999999999999999 }}",
        "{{ ('x' * 10000000) * 10000000 }}",
        "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}",
        "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(s='xx') %}{% for i in range(64) %}{% set ns.s = ns.s|replace('x', ns.s) %}{% endfor %}",
        "{% set ns = namespace(s='xx') %}{% for i in range(64) %}{% set ns.s = [ns.s, ns.s]|join(ns.s) %}{% endfor %}",
        "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = '%s%s'|format(ns.s, ns.s) %}{% endfor %}",
        "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = ns.s|urlencode ~ '%' ~ ns.s %}{% endfor %}",
        "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}{% endfor %}",
        "{% set ns = namespace(s='\"') %}{% for i in range(64) %}{% set ns.s = ns.s|tojson %}{% endfor %}",
        "{% set ns = namespace(s='<') %}{% for i in range(64) %}{% set ns.s = ns.s|string|e ~ ns.s %}{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{{ big }}{% endfor %}",
        "{% set s %}{% for i in range(100000) %}{{ big }}{% endfor %}{% endset %}",
        "{% filter upper %}{% for i in range(100000) %}{{ big }}{% endfor %}{% endfilter %}",
        "{{ 'a\nb'|indent(1000000000) }}",
        "{{ big|indent(99999) }}",
        "{{ big|replace('', big) }}",
        "{{ big|replace('x', big) }}",
        "{{ [big, big, big]|join(big * 3) }}",
        "{{ '%1000000000d'|format(1) }}",
        "{{ '%.1000000000f'|format(1.0) }}",
        "{{ '%*d'|format(1000000000, 1) }}",
        "{{ ('%999d' * 100000)|format(1) }}",
        "{{ big|tojson(100000) }}",
        "{{ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big }}",
        // Growing lists.
        "{{ range(1000000000) }}",
        "{{ range(99999)|list * 100000 }}",
        "{{ ([1] * 100000000)|length }}",
        "{{ [] * 999999999999 }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = ns.l + ns.l %}{% endfor %}{{ ns.l|length }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}",
        "{% set ns = namespace(l={}) %}{% for i in range(99999) %}{% set ns.l = {'a': ns.l} %}{% endfor %}",
        "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}",
        "{% set ns = namespace() %}{% set ns.me = [ns] %}{{ ns.me == ns.me }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = ns.l|chain(ns.l)|list %}{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(99999) %}{% set ns.l = ns.l|chain([1]) %}{% endfor %}{{ ns.l|length }}",
        "{{ [1]|batch(1000000000, 0)|list }}",
        "{{ [1]|slice(1000000000, 0)|list }}",
        "{{ range(99999)|batch(1)|list|tojson|length }}",
        "{{ big|list|sort|unique|list|length }}",
        "{{ big|split('')|list|length }}",
        "{{ dict(a=range(99999))|tojson|fromjson|tojson|length }}",
        // Long loops.
        "{% for i in range(99999) %}{% if big == big2 %}{% endif %}{% endfor %}",
        "{% for i in range(99999) %}{% if 'z' in big %}{% endif %}{% endfor %}",
        "{% for i in range(99999) %}{{ big[i * 10] }}{% endfor %}",
        "{% for i in range(99999) %}{{ big[5:6] }}{% endfor %}",
        "{% for i in range(99999) %}{{ big|length }}{% endfor %}",
        "{% for i in range(99999) %}{% for c in big %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{{ list|sort|length }}{% endfor %}",
        "{% for i in range(99999) %}{% if list == list2 %}{% endif %}{% endfor %}",
        "{% for i in range(99999) %}{% if list is eq(list2) %}{% endif %}{% endfor %}",
        "{% for i in range(99999) %}{{ list|map('upper')|join }}{% endfor %}",
        "{% for i in range(99999) if false %}{% endfor %}{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% if big is startingwith(big2) %}{% endif %}{% endfor %}",
        "{{ 2 ** 1000000000 }}",
        "{{ 9 ** 9 ** 9 ** 9 }}",
        "{{ 1e308 * 1e308 }} {{ -1 // 0 }}",
        "{{ 10|int(1000000000) }} {{ 1.5|round(1000000000) }}",
        // Deep nesting.
        "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "{% macro f(x) %}{{ f(x ~ x) }}{{ f(x ~ x) }}{% endmacro %}{{ f('x') }}",
        "{% macro f(x, n) %}{% if n %}{{ f([x, x], n - 1) }}{% else %}{{ x }}{% endif %}{% endmacro %}{{ f(1, 40) }}",
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
        "{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}",
        "{% for x in list recursive %}{{ loop(list) }}{% endfor %}",
        "{% macro m() %}{{ caller() }}{% endmacro %}{% macro f() %}{% call m() %}{{ f() }}{% endcall %}{% endmacro %}{{ f() }}",
        "{{ ('[' * 100000)|fromjson }}",
        "{{ ('[' * 100000 ~ ']' * 100000)|fromjson }}",
        "{{ ('[' * 127 ~ ']' * 127)|fromjson }}",
        "{{ deep }}",
        "{{ deep == deep }}{{ deep|tojson|length }}{{ [deep]|tojson }}",
    ]
    .map(str::to_owned)
    .into();
    corpus.extend([
        long("{{ ", "(", 100_000, ")"),
        long("{{ ", "[", 100_000, " }}"),
        long("{{ ", "{'a':", 50_000, " }}"),
        long("{{ a", " ~ a", 100_000, " }}"),
        long("{{ a", ".a", 100_000, " }}"),
        long("{{ a", "[0]", 100_000, " }}"),
        long("{{ a", "|upper", 100_000, " }}"),
        long("{{ a", "()", 100_000, " }}"),
        long("{{ ", "not ", 100_000, "a }}"),
        long("{{ ", "-", 100_000, "1 }}"),
        long("{{ a", " if a", 100_000, " }}"),
        long("{{ a", " if a else a", 100_000, " }}"),
        long("{{ 1", " < 1", 100_000, " }}"),
        long("{{ 1", " ** 1", 100_000, " }}"),
        long("{{ a is defined", " and a is defined", 50_000, " }}"),
        long("{{ ", "a if b else (", 50_000, ""),
        long("", "{% if a %}", 50_000, ""),
        long("", "{% for a in b %}", 50_000, ""),
        long("{% if a %}", "{% elif a %}", 50_000, "{% endif %}"),
        long("", "{% set a = [a] %}", 50_000, ""),
        long("{% set a = 'x' %}", "{% set a = a ~ a %}", 10_000, "{{ a }}"),
        long("{% set a = ['x'] %}", "{% set a = [a, a] %}", 10_000, "{{ a }}"),
        long("{% with a = 1 %}", "{% with a = [a] %}", 10_000, ""),
        long("", "{% filter upper %}", 10_000, ""),
        long("", "{% macro a() %}", 10_000, ""),
        long("", "{{ 'x' }}", 100_000, ""),
        long("", "{{", 100_000, ""),
        long("", "{%", 100_000, ""),
        long("{#", "{#", 100_000, ""),
        long("{{ [", "1,", 200_000, "1]|length }}"),
        long("{{ '", "\\u0041", 100_000, "' }}"),
        long("", "a{{ a }}\n", 70_000, ""),
        long("{{ a }}", "\n", 70_000, "{{ a }}"),
        long("{{ a }}", "x", 70_000, "{{ a }}"),
        long("{{ a }}", "\"\n", 50_000, "{{ a }}"),
        long("{{ '", "\"", 30_000, "' }}"),
        long("{{ '", "\"", 20_000, "' ~ 1 }}"),
        long("{{ [", "a,", 25_000, "a]|length }}"),
        long("", "{% set a = b %}", 4_000, "{{ a }}"),
        long("", "{% if a %}{% endif %}", 2_800, "{{ a }}"),
        long("{{ ", "a", 59_000, " }}"),
        long("{{ a ~ ", "a", 59_000, " }}"),
        long("{% set ", "(", 10_000, "a = 1 %}"),
        long("{% for ", "(", 10_000, "a in b %}{% endfor %}"),
    ]);
    corpus
}

#[test]
fn hostile_templates_end_within_their_limits() {
    let mut deep = json!(1);
    for _ in 0..120 {
        deep = json!([deep]);
    }
    let list: Vec<_> = (0..5000).map(|n| format!("item {n}")).collect();
    let big = "x".repeat(1 << 20);
    let scope =
        json!({"a": "x", "b": [1], "big": big, "big2": big, "list": list, "list2": list, "deep": deep});
    let corpus = hostile();
    assert!(corpus.len() >= 100, "{}", corpus.len());
    for source in &corpus {
        let start = Instant::now();
        let result = Template::parse(source).map(|template| template.render(&JsonScope(&scope)));
        if source.starts_with("{{") {
            let _ = Template::parse(source).map(|template| template.value(&JsonScope(&scope)));
        }
        let _ = Condition::parse(source);
        let _ = ShellScript::parse(source);
        let name: String = source.chars().take(100).collect();
        assert!(start.elapsed().as_secs() < SECONDS_MAX, "{name} took {:?}", start.elapsed());
        if let Ok(Ok(text)) = result {
            assert!(text.len() <= escrow_template::limits::OUTPUT_BYTES_MAX, "{name}: {}", text.len());
        }
    }
}

#[test]
fn an_exceeded_limit_is_named_in_the_error() {
    let fault = |source: &str| {
        Template::parse(source).unwrap().render(&JsonScope(&json!({}))).unwrap_err().to_string()
    };
    assert_eq!(fault("{{ 'x' * 99999999 }}"), "the template's text is longer than 16777216 bytes");
    assert_eq!(
        fault("{% for i in range(9999) %}{% for j in range(9999) %}{% set x = 1 %}{% endfor %}{% endfor %}"),
        "the template takes more than 1000000 steps"
    );
    assert_eq!(
        fault("{% set x = 'x' * 9999999 %}{% for i in range(99) %}{% if x == 'y' %}{% endif %}{% endfor %}"),
        "the template builds or compares too much data"
    );
    let error = Template::parse(&format!("{{{{ a{} }}}}", " ~ a".repeat(1000))).unwrap_err();
    assert_eq!(error.message, "the expression has more than 256 operators");
}

#[test]
fn ordinary_templates_stay_within_the_limits() {
    let files: Vec<_> =
        (0..10_000).map(|n| json!({"name": format!("src/file_{n}.rs"), "lines": n})).collect();
    let output = "x".repeat(12 << 20);
    let scope = json!({"files": files, "output": output});
    let render = |source: &str| Template::parse(source).unwrap().render(&JsonScope(&scope)).unwrap().len();
    assert!(
        render(
            "{% for f in files %}{% if f.lines > 5 %}- {{ f.name }}: {{ f.lines }}\n{% endif %}{% endfor %}"
        ) > 100_000
    );
    assert!(render("{{ files|tojson }}") > 100_000);
    assert!(render("{{ files|map(attribute='name')|sort|join(', ') }}") > 100_000);
    assert_eq!(render("{{ output }}"), 12 << 20);
    assert_eq!(render("<{{ output }}>"), (12 << 20) + 2);
}
