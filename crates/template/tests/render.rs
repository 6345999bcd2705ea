//! Rendered text, types of values, and error messages of templates.

use escrow_expr::JsonScope;
use escrow_template::{Condition, Template};
use serde_json::{Value, json};

fn context() -> Value {
    json!({
        "inputs": {"name": "Ada", "n": 3, "big": 18446744073709551615u64, "odd-key": 1},
        "outputs": {
            "lint": {"count": 2, "files": ["a.rs", "b c.rs"], "ok": true, "none": null, "ratio": 0.5},
            "text": "two\nlines",
            "one": 1.0,
        },
        "env": {"CI": "1"},
        "steps": [{"name": "build", "status": "failed"}, {"name": "tell", "status": "ok"}],
        "item": {"z": 1, "a": [1, "x", null, true]},
    })
}

fn render(source: &str) -> String {
    let template = match Template::parse(source) {
        Ok(template) => template,
        Err(error) => return format!("error {:?}: {}", &source[error.span.clone()], error.message),
    };
    match template.render(&JsonScope(&context())) {
        Ok(text) => text,
        Err(fault) => format!("fault: {fault}"),
    }
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    let wrong: Vec<_> = table
        .iter()
        .filter(|(source, expected)| render(source) != *expected)
        .map(|(source, expected)| {
            format!(
                "{source}
  is     {}
  wanted {expected}
",
                render(source)
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "
{}",
        wrong.concat()
    );
}

#[test]
fn values_print_as_text_or_json() {
    check(&[
        ("plain", "plain"),
        ("Hello {{ inputs.name }}!\n", "Hello Ada!\n"),
        ("{{ inputs.name }}", "Ada"),
        ("{{ outputs.lint.ok }} {{ outputs.lint.none }} {{ true }} {{ none }}", "true null true null"),
        (
            "{{ outputs.lint.ratio }} {{ outputs.one }} {{ 1.0 }} {{ inputs.big }}",
            "0.5 1.0 1.0 18446744073709551615",
        ),
        ("{{ outputs.lint.files }}", r#"["a.rs","b c.rs"]"#),
        ("{{ item }}", r#"{"z":1,"a":[1,"x",null,true]}"#),
        ("{{ item }}.", r#"{"z":1,"a":[1,"x",null,true]}."#),
        ("{{ item.a ~ outputs.lint.ok ~ 1 }}", r#"[1,"x",null,true]true1"#),
        ("{{ item.a|join(', ') }}", "1, x, null, true"),
        ("<{{ '<b>' }}>", "<<b>>"),
        ("{{ outputs.text }}", "two\nlines"),
        ("{{ (1, 2) }}", "[1,2]"),
        ("{# gone #}here", "here"),
        ("{% raw %}{{ not }}{% endraw %}", "{{ not }}"),
        ("a\n{%- if true %} b {% endif -%} \n c", "a b c"),
        (r#"{{ "quo\"te \\ back" }} {{ 'it''s' if false else 'x' }}"#, "quo\"te \\ back x"),
    ]);
}

#[test]
fn names_and_members_are_found() {
    check(&[
        ("{{ outputs[\"lint\"].count }}", "2"),
        ("{{ outputs['lint']['files'][1] }}", "b c.rs"),
        ("{{ inputs['odd-key'] }}", "1"),
        ("{{ steps[0].status }} {{ steps[-1].name }}", "failed tell"),
        ("{{ inputs.name[0] }}", "A"),
        ("{{ outputs[inputs.name|lower ~ 'x'] is defined }}", "false"),
        ("{% for step in steps %}{{ loop.index }}={{ step.name }};{% endfor %}", "1=build;2=tell;"),
        (
            "{% for key, value in item|items %}{{ key }}:{{ value|tojson }} {% endfor %}",
            "z:1 a:[1,\"x\",null,true] ",
        ),
        ("{% for name in outputs %}{{ name }} {% endfor %}", "lint text one "),
        ("{% for step in steps if step.status == 'ok' %}{{ step.name }}{% else %}none{% endfor %}", "tell"),
        (
            "{% if outputs.lint.count > 1 and 'a.rs' in outputs.lint.files %}many{% elif false %}{% else %}few{% endif %}",
            "many",
        ),
        ("{% set n = outputs.lint.count + 1 %}{{ n * 2 }}", "6"),
        ("{% if false %}{% set inputs = 1 %}{% endif %}{{ inputs.name }}", "Ada"),
        ("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}", "3"),
        (
            "{% set ns = namespace(total=0) %}{% for i in range(4) %}{% set ns.total = ns.total + i %}{% endfor %}{{ ns.total }}",
            "6",
        ),
        (
            "{% macro hi(who, mark='!') %}hi {{ who }}{{ mark }}{% endmacro %}{{ hi('Bo') }} {{ hi('Cy', mark='?') }}",
            "hi Bo! hi Cy?",
        ),
        ("{% macro box() %}[{{ caller(1) }}]{% endmacro %}{% call(x) box() %}{{ x }}{% endcall %}", "[1]"),
        ("{% set block %}{{ inputs.name }}{% endset %}{{ block|upper }}", "ADA"),
        ("{% filter upper|replace('A', 'x') %}{{ inputs.name }}{% endfilter %}", "xDx"),
        (
            "{% for x in [1, [2, [3]]] recursive %}{% if x is number %}{{ x }}{% else %}({{ loop(x) }}){% endif %}{% endfor %}",
            "1(2(3))",
        ),
        (
            "{{ steps|map(attribute='name')|join(',') }} {{ steps|selectattr('status', 'eq', 'ok')|list|length }}",
            "build,tell 1",
        ),
        ("{{ inputs.name[1:] }} {{ [1, 2, 3][::2] }}", "da [1,3]"),
        (
            "{{ 1 < 2 < 3 }} {{ not (1 == 1) }} {{ 7 // 2 }} {{ 7 % 4 }} {{ 2 ** 5 }} {{ -3 + 1 }}",
            "true false 3 3 32 -2",
        ),
        ("{{ 'x' if outputs.lint.ok }}{{ 'y' if not outputs.lint.ok }}", "x"),
        ("{{ '{\"a\": [1]}'|fromjson }} {{ ('[1,2]'|fromjson)[1] }}", "{\"a\":[1]} 2"),
        ("{{ 'a b/ü'|urlencode }}", "a%20b%2F%C3%BC"),
        (
            "{{ 'a\nb'|indent(2) }}|{{ '%05.1f'|format(2.25) }}|{{ item|tojson(indent=1) }}",
            "a\n  b|002.2|{\n \"z\": 1,\n \"a\": [\n  1,\n  \"x\",\n  null,\n  true\n ]\n}",
        ),
        ("{{ [1,2,3]|batch(2)|list }} {{ [3,1]|sort }} {{ [1,2]|sum }}", "[[1,2],[3]] [1,3] 3"),
        ("{{ 'a\"'|json }} {{ [1]|json(indent=1) }}", "\"a\\\"\" [\n 1\n]"),
        ("{{ {'b': 1, 'a': 2}|tojson }} {{ dict(x=1) }}", "{\"b\":1,\"a\":2} {\"x\":1}"),
    ]);
}

#[test]
fn an_undefined_value_is_named_in_the_error() {
    check(&[
        ("{{ nope }}", "fault: `nope` is not defined"),
        ("x {{ nope }}", "fault: `nope` is not defined"),
        ("{{ outputs.lnt }}", "fault: `outputs.lnt` is not defined"),
        ("{{ outputs.lnt.count }}", "fault: `outputs.lnt` is not defined"),
        ("{{ outputs.lnt.count is defined }}", "fault: `outputs.lnt` is not defined"),
        ("{{ inputs['no such'] }}", "fault: `inputs[\"no such\"]` is not defined"),
        ("{{ steps[7] }}", "fault: `steps[7]` is not defined"),
        ("{{ nope|upper }}", "fault: `nope` is not defined"),
        ("{{ nope ~ 'x' }}", "fault: `nope` is not defined"),
        ("{{ nope == 1 }}", "fault: `nope` is not defined"),
        ("{% if nope %}{% endif %}", "fault: `nope` is not defined"),
        ("{% for x in nope %}{% endfor %}", "fault: `nope` is not defined"),
        ("{% for s in steps %}{{ s.nme }}{% endfor %}", "fault: `s.nme` is not defined"),
        ("{{ outputs.lint.none.x }}", "fault: `outputs.lint.none.x` is not defined"),
        (
            "{{ outputs.lnt is defined }} {{ outputs.lint is defined }} {{ nope is undefined }}",
            "false true true",
        ),
        ("{{ outputs.lnt|default('none') }} {{ nope|d(1) }}", "none 1"),
        ("{{ [nope] }}", "fault: `nope` is not defined"),
    ]);
}

#[test]
fn mistakes_are_refused_at_parse_time() {
    check(&[
        ("a {{ 1 + }}", "error \"}}\": unexpected end of variable block"),
        ("{% include 'x' %}", "error \"include 'x'\": there is no statement `include`"),
        ("{% extends 'x' %}", "error \"extends 'x'\": there is no statement `extends`"),
        ("{% import 'x' as y %}", "error \"import 'x' as y\": there is no statement `import`"),
        ("{% from 'x' import y %}", "error \"from 'x' import y\": there is no statement `from`"),
        ("{% block x %}{% endblock %}", "error \"block x %}{% endblock\": there is no statement `block`"),
        ("{% frobnicate %}", "error \"frobnicate\": there is no statement `frobnicate`"),
        (
            "{% autoescape true %}{% endautoescape %}",
            "error \"autoescape true %}{% endautoescape\": there is no automatic escaping in templates",
        ),
        ("{{ x|frob }}", "error \"frob\": there is no filter `frob`"),
        ("{{ x is frob }}", "error \"frob\": there is no test `frob`"),
        ("{{ frob(1) }}", "error \"frob(1)\": there is no function `frob`"),
        ("{{ debug() }}", "error \"debug()\": there is no function `debug`"),
        (
            "{{ escrow_read_0 }}",
            "error \"escrow_read_0\": names that begin with `escrow_` are reserved, and `escrow_read_0` does",
        ),
        (
            "{{ 1|escrow_add(2) }}",
            "error \"escrow_add(2)\": names that begin with `escrow_` are reserved, and `escrow_add` does",
        ),
        (
            "{% set escrow_x = 1 %}",
            "error \"escrow_x\": names that begin with `escrow_` are reserved, and `escrow_x` does",
        ),
    ]);
}

#[test]
fn one_expression_keeps_its_type() {
    let context = context();
    let value = |source: &str| Template::parse(source).unwrap().value(&JsonScope(&context)).unwrap();
    assert_eq!(value("{{ outputs.lint.count }}"), json!(2));
    assert_eq!(value("{{ outputs.lint }}"), context["outputs"]["lint"]);
    assert_eq!(value("{{ outputs.lint.none }}"), Value::Null);
    assert_eq!(value("{{ inputs.big }}"), context["inputs"]["big"]);
    assert_eq!(value("{{ outputs.one }}"), json!(1.0));
    assert_eq!(value("{{ outputs.lint.count > 1 }}"), json!(true));
    assert_eq!(value("{{ {'a': [1, 2]} }}"), json!({"a": [1, 2]}));
    assert_eq!(value("{{ '5' }}"), json!("5"));
    assert_eq!(value(" {{ outputs.lint.count }}"), json!(" 2"));
    assert_eq!(value("{{ outputs.lint.count }}{{ 1 }}"), json!("21"));
    assert_eq!(value("5"), json!("5"));
}

#[test]
fn reads_are_known_before_rendering() {
    let reads = |source: &str| {
        Template::parse(source)
            .unwrap()
            .reads()
            .iter()
            .map(|read| format!("{read}@{}", &source[read.span.clone()]))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        reads("{{ env.CI }} {{ outputs[\"lint\"].x }}"),
        ["env.CI@env.CI", "outputs.lint.x@outputs[\"lint\"].x"]
    );
    assert_eq!(reads("{{ outputs[item.name].x }}"), ["outputs@outputs", "item.name@item.name"]);
    assert_eq!(
        reads("{% for step in steps %}{{ step.x }}{{ loop.index }}{{ range(3) }}{% endfor %}"),
        ["steps@steps"]
    );
    assert_eq!(reads("{% set a = b %}{{ a }}"), ["b@b"]);
    assert_eq!(reads("{{ a }}{% set a = 1 %}{{ a.b }}"), ["a@a"]);
    assert!(reads("nothing").is_empty());
    assert!(Template::parse("nothing").unwrap().is_constant());
    assert!(!Template::parse("{{ 1 }}").unwrap().is_constant());
}

#[test]
fn conditions_are_true_or_false() {
    let context = context();
    let holds = |source: &str| {
        Condition::parse(source)
            .map_err(|error| error.message)?
            .holds(&JsonScope(&context))
            .map_err(|fault| fault.to_string())
    };
    assert_eq!(holds("steps[0].status == 'failed'"), Ok(true));
    assert_eq!(holds(" {{ steps[1].status == 'failed' }} "), Ok(false));
    assert_eq!(holds("outputs.lint.files"), Ok(true));
    assert_eq!(holds("outputs.lint.none"), Ok(false));
    assert_eq!(holds("steps[2].status == 'ok'"), Err("`steps[2]` is not defined".into()));
    assert_eq!(holds("stps"), Err("`stps` is not defined".into()));
    assert!(holds("{{ 1 }} and {{ 2 }}").is_err());
}

#[test]
fn an_argument_with_a_nul_character_is_refused() {
    let template = Template::parse("{{ x }}").unwrap();
    assert_eq!(template.argument(&JsonScope(&json!({"x": "a b"}))).unwrap(), "a b");
    let fault = template.argument(&JsonScope(&json!({"x": "a\0b"}))).unwrap_err();
    assert_eq!(fault.to_string(), "`x` contains a NUL character, which no command can be given as text");
}
