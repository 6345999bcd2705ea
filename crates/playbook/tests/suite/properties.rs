//! Properties that hold for any input.

use escrow_contract::rules::RuleSet;
use escrow_model::Rule;
use escrow_playbook::{
    NoReferences, Severity, json_schema, read, read_bytes, read_profile, read_rules, render, report,
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{CATALOG, REVIEWER, texts_of};

/// Reads, renders and reports any bytes without a panic, and checks the invariants of the result.
fn survive(bytes: &[u8]) {
    let reading = read_bytes(bytes, "any.yaml", CATALOG, &NoReferences);
    let text = String::from_utf8_lossy(bytes);
    let errors = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    assert_eq!(reading.plan.is_none(), errors > 0, "a plan exists exactly when there are no errors");
    assert!(reading.diagnostics.windows(2).all(|pair| pair[0].span.start <= pair[1].span.start));
    for found in &reading.diagnostics {
        assert!(found.line >= 1 && found.column >= 1);
        assert!(!found.message.is_empty());
    }
    if std::str::from_utf8(bytes).is_ok() {
        render(&reading.diagnostics, &text, true);
    }
    if let Some(plan) = &reading.plan {
        report(plan);
        let stored = escrow_store::plan_document(plan).expect("a plan can be stored");
        let restored = escrow_store::read_plan(stored).expect("a stored plan can be read");
        assert_eq!(plan, &restored);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        survive(&bytes);
    }

    #[test]
    fn any_text_of_yaml_characters_is_answered(text in "[-a-z:{}\\[\\],&*!|>'\"#%@ \n\t<=.0-9é]{0,200}") {
        survive(text.as_bytes());
    }

    #[test]
    fn any_edit_of_a_playbook_is_answered(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        instead in "[-a-z:{}\\[\\],&*!|>'\"# \n\t<=.0-9é]{0,12}",
    ) {
        let texts = texts_of("good");
        let text = which.get(&texts);
        let start = text.char_indices().map(|(offset, _)| offset).nth(at.index(text.chars().count())).unwrap_or(0);
        let end = text[start..].char_indices().map(|(offset, _)| start + offset).nth(length).unwrap_or(text.len());
        survive(format!("{}{instead}{}", &text[..start], &text[end..]).as_bytes());
    }
}

const RULES: &str = "name: person
rules:
  - { rule_id: name, field: name, check: required }
  - { rule_id: age, field: people[0].age, check: range, params: { min: 0, max: 150 }, message: how old? }
  - { rule_id: mail, field: mail, check: pattern, params: { pattern: '^[^@]+@[a-z]+$', flags: i, max_length: 9 } }
  - { rule_id: even, field: age, check: custom, params: { expr: 'value % 2 === 0 && item.name', error: odd } }
";

/// Reads rules. Valid rules judge any item, and `judge` agrees with `admits`.
fn survive_as_rules(text: &str) {
    let reading = read_rules(text, "any.yaml");
    let errors = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    assert_eq!(reading.rules.is_none(), errors > 0, "rules exist exactly when there are no errors");
    render(&reading.diagnostics, text, true);
    let Some(rules) = reading.rules else { return };
    let stored = serde_json::to_string(&rules).expect("rules can be stored");
    let restored: Vec<Rule> = serde_json::from_str(&stored).expect("stored rules can be read");
    assert_eq!(rules, restored);
    let set = RuleSet::compile(&rules).expect("valid rules compile");
    for item in [
        json!(null),
        json!([1, "a", {}]),
        json!({"name": 3, "age": "x", "people": [{"age": -1}], "mail": ""}),
    ] {
        assert_eq!(set.judge(&item).is_empty(), set.admits(&item));
    }
}

/// Reads an agent profile: valid, or rejected with errors.
fn survive_as_profile(bytes: &[u8]) {
    let reading = read_profile(bytes, "any.md", "any");
    let errors = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    assert_eq!(reading.profile.is_none(), errors > 0, "a profile exists exactly when there are no errors");
    render(&reading.diagnostics, "", true);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_edit_of_a_rules_file_is_answered(
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        instead in "[-a-z:{}\\[\\],&*!|>'\"# \n\t<=.0-9é(?+)$]{0,12}",
    ) {
        let start = RULES.char_indices().map(|(offset, _)| offset).nth(at.index(RULES.chars().count())).unwrap_or(0);
        let end = RULES[start..].char_indices().map(|(offset, _)| start + offset).nth(length).unwrap_or(RULES.len());
        survive_as_rules(&format!("{}{instead}{}", &RULES[..start], &RULES[end..]));
    }

    #[test]
    fn any_text_is_answered_as_rules(text in "[-a-z:{}\\[\\],&*!|>'\"# \n0-9é]{0,120}") {
        survive_as_rules(&text);
    }

    #[test]
    fn any_bytes_are_answered_as_a_profile(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survive_as_profile(&bytes);
        survive_as_profile(&[b"---\n", bytes.as_slice(), b"\n---\n"].concat());
    }

    #[test]
    fn any_edit_of_a_profile_is_answered(
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        instead in "[-a-z:{}\\[\\],&*!|>'\"# \n\t<=.0-9é]{0,12}",
    ) {
        let start = at.index(REVIEWER.len());
        let end = (start + length).min(REVIEWER.len());
        survive_as_profile(format!("{}{instead}{}", &REVIEWER[..start], &REVIEWER[end..]).as_bytes());
    }
}

#[test]
fn every_truncated_playbook_is_answered() {
    for text in texts_of("broken").iter().filter(|text| text.len() < 400) {
        for end in (0..text.len()).step_by(7).filter(|end| text.is_char_boundary(*end)) {
            survive(&text.as_bytes()[..end]);
        }
    }
}

#[test]
fn hostile_texts_are_answered_in_time() {
    let laughs: String = (1..30).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
        let before = level - 1;
        format!("{text}a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}]\n")
    });
    let wide: String = (0..20_000).map(|place| format!("  k{place}: {{}}\n")).collect();
    let chain: String = (0..3_000)
        .map(|place| format!("  c{place}: {{ type: noop, depends_on: [c{}] }}\n", (place + 1) % 3_000))
        .collect();
    let ring: String = (0..1_000)
        .map(|place| {
            format!("  c{place}: {{ type: noop, on_success: {{ goto: c{} }} }}\n", (place + 1) % 1_000)
        })
        .collect();
    let pairs: String = (0..4_000)
        .map(|place| format!("  c{place}: {{ type: noop, on_success: {{ goto: c{} }} }}\n", place ^ 1))
        .collect();
    let back: String = (0..4_000)
        .map(|place| {
            let before = if place == 0 { String::new() } else { format!("depends_on: c{}, ", place - 1) };
            format!(
                "  c{place}: {{ type: noop, {before}if: outputs.c0, on_fail: {{ goto: c{} }} }}\n",
                place / 2
            )
        })
        .collect();
    let nest: String = (1..4_000)
        .map(|place| format!("  c{place}: {{ type: noop, forEach: true, depends_on: c{} }}\n", place - 1))
        .collect::<String>()
        + "  c0: { type: noop, forEach: true }\n";
    for text in [
        laughs,
        format!("checks:\n{pairs}"),
        format!("checks:\n{back}"),
        format!("checks:\n{nest}"),
        format!("checks:\n{}", wide.repeat(2)),
        format!("checks:\n{wide}"),
        format!("checks:\n  a:\n    type: noop\n{}", wide.replace("  k", "    k")),
        format!("checks:\n{chain}"),
        format!("checks:\n{ring}"),
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "a: {".repeat(50_000),
        "&a ".repeat(10_000),
        format!("checks: {{a: {{type: script, content: \"{}\"}}}}", "(".repeat(100_000)),
        format!("checks: {{a: {{type: log, message: \"{}\"}}}}", "{{ ".repeat(30_000)),
        format!("x: \"{}\"", "\\u0041".repeat(200_000)),
        "\u{feff}\u{feff}checks:".to_owned(),
        "x".repeat(5 * 1024 * 1024),
    ] {
        let reading = read(&text, "hostile.yaml", CATALOG, &NoReferences);
        assert!(!reading.diagnostics.is_empty());
        assert!(reading.diagnostics.len() <= 500);
    }
}

#[test]
fn diagnostics_serialize_to_a_fixed_form() {
    let reading = read("checks:\n  ä: { type: comand }\n", "x.yaml", CATALOG, &NoReferences);
    let data = serde_json::to_value(&reading.diagnostics[0]).expect("it is data");
    let expected = serde_json::json!({
        "code": "E0107",
        "severity": "error",
        "message": "unknown provider `comand`",
        "file": "x.yaml",
        "line": 2,
        "column": 14,
        "label": "no such provider",
        "help": "did you mean `command`?",
    });
    assert_eq!(data, expected);
}

#[test]
fn the_editor_schema_is_valid_and_accepts_valid_playbooks() {
    let schema = escrow_contract::Schema::compile(&json_schema(CATALOG)).expect("a JSON Schema");
    let good = serde_json::json!({"checks": {"a": {"type": "command", "exec": "ls", "depends_on": ["b"], "timeout": "10m"}, "b": {"type": "noop"}}});
    assert!(schema.violations(&good).is_empty(), "{:?}", schema.violations(&good));
    let secrets = serde_json::json!({
        "secrets": {"A": {"env": "B"}, "C": {"command": ["pass", "show"]}, "F": {"file": "f"}},
        "checks": {"a": {"type": "command", "exec": "ls", "secrets": ["A"]}},
    });
    assert!(schema.violations(&secrets).is_empty(), "{:?}", schema.violations(&secrets));
    for bad in [
        serde_json::json!({"secrets": {"A": {"env": "B", "file": "f"}}, "checks": {"a": {"type": "noop"}}}),
        serde_json::json!({"secrets": {"A": "value"}, "checks": {"a": {"type": "noop"}}}),
        serde_json::json!({"checks": {"a": {"type": "command"}}}),
        serde_json::json!({"checks": {"a": {"type": "noop", "gaurantee": "x"}}}),
        serde_json::json!({"steps": {}}),
        serde_json::json!({"name": "x"}),
    ] {
        assert!(!schema.violations(&bad).is_empty(), "{bad}");
    }
}

#[test]
fn the_schema_for_editors_knows_the_terms_of_an_approval() {
    let schema = escrow_contract::Schema::compile(&json_schema(CATALOG)).expect("a JSON Schema");
    let broken = |value: serde_json::Value| {
        let check = serde_json::json!({ "type": "command", "exec": "true", "requires_approval": value });
        schema.violations(&serde_json::json!({ "checks": { "a": check } }))
    };
    let terms = serde_json::json!({ "by": ["ann"], "count": 2, "expires": "3d", "independent": true });
    for good in [serde_json::json!(true), serde_json::json!(false), terms] {
        assert_eq!(broken(good.clone()), Vec::<String>::new(), "{good}");
    }
    for bad in ["\"yes\"", "{}", r#"{"who": "ann"}"#, r#"{"count": 0}"#] {
        assert!(!broken(serde_json::from_str(bad).expect("JSON")).is_empty(), "{bad}");
    }
}
