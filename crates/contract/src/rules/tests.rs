use super::*;
use serde_json::json;

fn set(rules: Value) -> RuleSet {
    let rules: Vec<Rule> = serde_json::from_value(rules).expect("rules");
    RuleSet::compile(&rules).expect("good rules")
}

/// The message of one rule about an item.
fn check(rule: Value, item: &Value) -> Option<String> {
    set(json!([rule])).judge(item).pop().map(|broken| broken.message)
}

/// The errors of these rules.
fn errors(rules: Value) -> Vec<String> {
    let rules: Vec<Rule> = serde_json::from_value(rules).expect("rules");
    RuleSet::compile(&rules).expect_err("bad rules").into_iter().map(|bad| bad.message).collect()
}

fn rule(check: &str, params: Value) -> Value {
    json!({"rule_id": "r", "field": "f", "check": check, "params": params})
}

#[test]
fn messages_match_the_python_rule_engine() {
    for (check_name, params, item, message) in [
        ("required", json!({}), json!({}), Some("Field 'f' is required but missing or None.")),
        ("required", json!({}), json!({"f": null}), Some("Field 'f' is required but missing or None.")),
        ("required", json!({}), json!({"f": ""}), None),
        ("required", json!({}), json!({"f": 0}), None),
        ("required", json!({}), json!({"f": []}), None),
        ("type", json!({"type": "int"}), json!({}), None),
        ("type", json!({"type": "int"}), json!({"f": null}), None),
        (
            "type",
            json!({"type": "int"}),
            json!({"f": 1.5}),
            Some("Field 'f' must be type 'int', got 'float'."),
        ),
        (
            "type",
            json!({"type": "int"}),
            json!({"f": 3.0}),
            Some("Field 'f' must be type 'int', got 'float'."),
        ),
        ("type", json!({"type": "bool"}), json!({"f": 1}), Some("Field 'f' must be type 'bool', got 'int'.")),
        ("type", json!({"type": "float"}), json!({"f": 1}), None),
        ("type", json!({}), json!({"f": 1}), Some("Field 'f' must be type 'str', got 'int'.")),
        (
            "type",
            json!({"type": "list"}),
            json!({"f": {}}),
            Some("Field 'f' must be type 'list', got 'dict'."),
        ),
        (
            "type",
            json!({"type": "dict"}),
            json!({"f": []}),
            Some("Field 'f' must be type 'dict', got 'list'."),
        ),
        ("range", json!({"min": 0}), json!({"f": -1}), Some("Field 'f' = -1 is below minimum 0.")),
        ("range", json!({"max": 1}), json!({"f": 2}), Some("Field 'f' = 2 exceeds maximum 1.")),
        ("range", json!({"min": 0.5}), json!({"f": 0.25}), Some("Field 'f' = 0.25 is below minimum 0.5.")),
        ("range", json!({"min": 0, "max": 1}), json!({"f": 1}), None),
        ("range", json!({"min": 0, "max": 1}), json!({"f": 0}), None),
        ("range", json!({"min": 0}), json!({}), None),
        (
            "range",
            json!({"min": 0}),
            json!({"f": "7"}),
            Some("Field 'f': range check requires numeric type, got 'str'."),
        ),
        (
            "pattern",
            json!({"pattern": "^z"}),
            json!({"f": "abc"}),
            Some("Field 'f' value 'abc' does not match pattern '^z'."),
        ),
        (
            "pattern",
            json!({"pattern": "z"}),
            json!({"f": "it's\n"}),
            Some("Field 'f' value \"it's\\n\" does not match pattern 'z'."),
        ),
        ("pattern", json!({"pattern": "b"}), json!({"f": "abc"}), None),
        ("pattern", json!({"pattern": "B", "flags": 2}), json!({"f": "abc"}), None),
        ("pattern", json!({"pattern": "B", "flags": "i"}), json!({"f": "abc"}), None),
        ("pattern", json!({"pattern": "b"}), json!({}), None),
        (
            "pattern",
            json!({"pattern": "b"}),
            json!({"f": 1}),
            Some("Field 'f': pattern check requires str, got 'int'."),
        ),
        (
            "pattern",
            json!({"pattern": "a", "max_length": 4096}),
            json!({"f": "a".repeat(4097)}),
            Some("Field 'f': input length 4097 exceeds the maximum allowed for pattern matching (4096)."),
        ),
        ("pattern", json!({"pattern": "a", "max_length": 4096}), json!({"f": "a".repeat(4096)}), None),
        ("custom", json!({"expr": "value % 2 === 0"}), json!({"f": 36}), None),
        (
            "custom",
            json!({"expr": "value % 2 === 0"}),
            json!({"f": 35}),
            Some("Field 'f' failed custom check 'r'."),
        ),
        ("custom", json!({"expr": "value % 2 === 0", "error": "odd"}), json!({"f": 35}), Some("odd")),
        ("custom", json!({"expr": "value !== null"}), json!({}), Some("Field 'f' failed custom check 'r'.")),
        (
            "custom",
            json!({"expr": "value.a.b"}),
            json!({"f": {}}),
            Some(
                "Rule 'r': custom check raised TypeError: Cannot read properties of undefined (reading 'b').",
            ),
        ),
        ("custom", json!({"expr": "item.f < item.g"}), json!({"f": 1, "g": 2}), None),
    ] {
        assert_eq!(
            check(rule(check_name, params.clone()), &item).as_deref(),
            message,
            "{check_name} {params} {item}"
        );
    }
}

#[test]
fn the_message_of_a_rule_replaces_the_default() {
    for (check_name, params, item) in [
        ("required", json!({}), json!({})),
        ("type", json!({"type": "int"}), json!({"f": "x"})),
        ("range", json!({"min": 0}), json!({"f": -1})),
        ("range", json!({"max": 0}), json!({"f": true})),
        ("pattern", json!({"pattern": "z"}), json!({"f": "a"})),
        ("pattern", json!({"pattern": "z"}), json!({"f": 1})),
        ("custom", json!({"expr": "false", "error": "less"}), json!({"f": 1})),
    ] {
        let mut rule = rule(check_name, params);
        rule["message"] = json!("mine");
        assert_eq!(check(rule, &item).as_deref(), Some("mine"));
    }
}

#[test]
fn invalid_params_are_reported_by_compile() {
    for (check_name, params, message) in [
        ("type", json!({"type": "decimal"}), "Rule 'r': unknown type 'decimal'."),
        ("type", json!({"type": 3}), "Rule 'r': unknown type '3'."),
        ("range", json!({"min": "0"}), "Rule 'r': 'min' must be a number, got 'str'."),
        ("range", json!({"min": true}), "Rule 'r': 'min' must be a number, got 'bool'."),
        ("range", json!({"max": null}), "Rule 'r': 'max' must be a number, got 'NoneType'."),
        ("range", json!({"min": 2, "max": 1}), "Rule 'r': no number is at least 2 and at most 1."),
        ("range", json!({}), "Rule 'r': 'range' check requires params['min'] or params['max']."),
        ("range", json!({"mim": 2}), "Rule 'r': a 'range' check has no param 'mim'."),
        ("pattern", json!({}), "Rule 'r': 'pattern' check requires params['pattern']."),
        ("pattern", json!({"pattern": null}), "Rule 'r': 'pattern' must be a string, got 'NoneType'."),
        ("pattern", json!({"pattern": "("}), "Rule 'r': invalid regex pattern — unclosed group."),
        ("pattern", json!({"pattern": "a", "flags": "q"}), "Rule 'r': 'flags' are not valid pattern flags."),
        ("pattern", json!({"pattern": "a", "flags": 4}), "Rule 'r': 'flags' are not valid pattern flags."),
        (
            "pattern",
            json!({"pattern": "a", "max_length": -1}),
            "Rule 'r': 'max_length' must be a whole number.",
        ),
        ("custom", json!({}), "Rule 'r': 'custom' check requires params['expr']."),
        ("custom", json!({"expr": ""}), "Rule 'r': 'custom' check requires params['expr']."),
        ("custom", json!({"expr": "valu > 1"}), "Rule 'r': 'expr' reads 'valu', which does not exist."),
        ("custom", json!({"expr": "value.a = 1"}), "Rule 'r': 'expr' has a side effect."),
        ("required", json!({"x": 1}), "Rule 'r': a 'required' check has no param 'x'."),
    ] {
        assert_eq!(errors(json!([rule(check_name, params.clone())])), [message], "{check_name} {params}");
    }
    let look_ahead = errors(json!([rule("pattern", json!({"pattern": "(?=a)b"}))]));
    assert!(look_ahead[0].starts_with("Rule 'r': invalid regex pattern — look-around"), "{look_ahead:?}");
}

#[test]
fn a_duplicate_rule_id_is_rejected() {
    let twice = errors(json!([rule("required", json!({})), rule("type", json!({}))]));
    assert_eq!(
        twice,
        [
            "RuleSet already contains a rule with rule_id='r'. Use a unique rule_id or remove the existing rule first."
        ]
    );
}

#[test]
fn all_errors_of_all_rules_are_reported() {
    let found = errors(json!([
        {"rule_id": "a", "field": "x..y", "check": "type", "params": {"type": "decimal"}},
        {"rule_id": "a", "field": "", "check": "pattern", "params": {"pattern": "(", "flags": "q"}},
    ]));
    assert_eq!(found.len(), 6, "{found:?}");
}

#[test]
fn all_rules_are_evaluated_in_order() {
    let rules = set(json!([
        {"rule_id": "z", "field": "a", "check": "required"},
        {"rule_id": "off", "field": "a", "check": "required", "enabled": false},
        {"rule_id": "b", "field": "n[1].x", "check": "range", "params": {"max": 3}},
        {"rule_id": "a", "field": "a", "check": "custom", "params": {"expr": "false"}},
    ]));
    let broken = rules.judge(&json!({"n": [0, {"x": 4}]}));
    let found: Vec<_> = broken.iter().map(|one| (&*one.rule_id, &*one.field, one.check.as_str())).collect();
    assert_eq!(found, [("z", "a", "required"), ("b", "n[1].x", "range"), ("a", "a", "custom")]);
    assert_eq!(broken[1].message, "Field 'n[1].x' = 4 exceeds maximum 3.");
    assert!(!rules.admits(&json!({})) && rules.len() == 3);
}

#[test]
fn a_disabled_rule_must_still_compile() {
    let mut rule = rule("pattern", json!({"pattern": "("}));
    rule["enabled"] = json!(false);
    assert_eq!(errors(json!([rule])).len(), 1);
}

#[test]
fn a_boolean_is_not_a_number() {
    assert!(check(rule("range", json!({"min": 1})), &json!({"f": true})).is_some());
    assert!(check(rule("type", json!({"type": "int"})), &json!({"f": true})).is_some());
    assert!(check(rule("type", json!({"type": "float"})), &json!({"f": false})).is_some());
}

#[test]
fn nan_is_out_of_every_range() {
    // JSON has no NaN: neither a bound nor a value can be one.
    assert!(serde_json::from_str::<Value>("{\"f\": NaN}").is_err());
    assert!(Number::from_f64(f64::NAN).is_none());
    let text = json!({"f": "NaN"});
    assert!(check(rule("range", json!({"min": 0, "max": 1})), &text).is_some());
}

#[test]
fn whole_numbers_are_compared_exactly() {
    let max = json!({"max": 9_007_199_254_740_992_i64});
    assert!(check(rule("range", max.clone()), &json!({"f": 9_007_199_254_740_993_i64})).is_some());
    assert!(check(rule("range", max), &json!({"f": 9_007_199_254_740_992_i64})).is_none());
    assert!(check(rule("range", json!({"max": u64::MAX})), &json!({"f": -5})).is_none());
}

#[test]
fn patterns_run_in_linear_time() {
    let rules = set(json!([rule("pattern", json!({"pattern": "(a+)+$"}))]));
    let text = format!("{}b", "a".repeat(1 << 20));
    assert_eq!(rules.judge(&json!({"f": text})).len(), 1);
    assert_eq!(
        errors(json!([rule("pattern", json!({"pattern": "(a{1000}){1000}"}))])).len(),
        1,
        "too large to build"
    );
}

#[test]
fn an_infinite_loop_exhausts_the_budget() {
    let rules = set(json!([rule("custom", json!({"expr": "while (true) {}; value"}))]));
    let message = rules.judge(&json!({"f": 1})).pop().expect("broken").message;
    assert!(message.starts_with("Rule 'r': custom check raised BudgetError"), "{message}");
}

#[test]
fn items_of_any_type_are_judged() {
    let rules = set(json!([rule("required", json!({})), {"rule_id": "s", "field": "f[0]", "check": "type"}]));
    for item in [json!(null), json!(3), json!("f"), json!([{"f": 1}]), json!({"f": 3})] {
        assert!(rules.judge(&item).len() <= 1);
    }
}

#[test]
fn a_very_long_string_is_truncated_in_messages() {
    let pattern = rule("pattern", json!({"pattern": "^z"}));
    let message = check(pattern.clone(), &json!({"f": "é".repeat(5_000_000)})).expect("no match");
    assert!(message.len() < 3_000, "{} bytes", message.len());
    assert!(message.ends_with("é'… (5000000 characters) does not match pattern '^z'."));
    let whole = check(pattern, &json!({"f": "a".repeat(1_000)})).expect("no match");
    assert_eq!(whole, format!("Field 'f' value '{}' does not match pattern '^z'.", "a".repeat(1_000)));
}
