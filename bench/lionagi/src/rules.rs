//! Five rules over one item, as in `rules.py`.

use std::hint::black_box;

use escrow_contract::rules::RuleSet;
use escrow_model::Rule;
use serde_json::{Value, json};

use crate::measure::rate;

pub(crate) fn run() {
    let five = json!([
        {"rule_id": "r1", "field": "name", "check": "required"},
        {"rule_id": "r2", "field": "name", "check": "type", "params": {"type": "str"}},
        {"rule_id": "r3", "field": "age", "check": "range", "params": {"min": 0, "max": 150}},
        {"rule_id": "r4", "field": "email", "check": "pattern", "params": {"pattern": r"^[^@\s]+@[^@\s]+\.[a-z]+$"}},
        {"rule_id": "r5", "field": "age", "check": "custom", "params": {"expr": "value % 2 === 0", "error": "odd"}},
    ]);
    let good = json!({"name": "Ada", "age": 36, "email": "ada@example.org"});
    let bad = json!({"name": null, "age": 151, "email": "nope"});
    let all = set(&five);
    assert!(all.judge(&good).is_empty() && all.judge(&bad).len() == 4);
    let four = set(&Value::Array(five.as_array().expect("a list")[..4].to_vec()));
    for (name, rules, item, errors) in [
        ("rules_apply_all_5rules_pass", &all, &good, 0),
        ("rules_apply_all_5rules_fail4", &all, &bad, 4),
        ("rules_apply_all_4rules_no_custom_pass", &four, &good, 0),
    ] {
        rate(name, 1_000_000, "items", |_, n| {
            for _ in 0..n {
                assert_eq!(black_box(rules).judge(black_box(item)).len(), errors);
            }
        });
    }
    // What a program pays that has the item as text.
    let text = good.to_string();
    rate("rules_parse_and_5rules_pass", 500_000, "lines", |_, n| {
        for _ in 0..n {
            let item: Value = serde_json::from_str(black_box(&text)).expect("JSON");
            assert!(all.judge(&item).is_empty());
        }
    });
}

fn set(rules: &Value) -> RuleSet {
    let rules: Vec<Rule> = serde_json::from_value(rules.clone()).expect("rules");
    RuleSet::compile(&rules).expect("good rules")
}
