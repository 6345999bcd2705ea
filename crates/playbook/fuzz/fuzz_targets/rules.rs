//! Reads any bytes as rules and outcomes: no panic, and valid rules judge any item.
//!
//! The bytes up to the first NUL are a rules file; the rest is the item and the outcome.

#![no_main]

use escrow_contract::outcome::{Kind, read_any};
use escrow_contract::rules::RuleSet;
use escrow_model::outcome::{KINDS, digest};
use escrow_playbook::read_rules;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (rules, item) = bytes.split_at(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    let item = item.get(1..).unwrap_or_default();
    let parsed = serde_json::from_slice(item).ok();
    if let Ok(text) = std::str::from_utf8(rules) {
        let reading = read_rules(text, "fuzz.yaml");
        assert_eq!(reading.rules.is_some(), reading.diagnostics.iter().all(|one| one.code.starts_with('W')));
        if let (Some(rules), Some(item)) = (reading.rules, &parsed) {
            let set = RuleSet::compile(&rules).expect("rules that were read make sense");
            assert_eq!(set.admits(item), set.judge(item).is_empty());
        }
    }
    let _ = read_any(item, |name| Kind::registered(name).map(Ok));
    for kind in KINDS {
        let judge = Kind::registered(kind.name).expect("a registered kind");
        if let Ok(outcome) = judge.read(item) {
            // What was kept is admitted again, and comes to the same.
            assert_eq!(judge.judge(&outcome.content).as_ref(), Ok(&outcome));
            assert_eq!(digest(kind.name, &outcome.content).map(|digest| digest.passed), Ok(outcome.passed));
        }
    }
});
