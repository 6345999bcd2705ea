//! Any text as a shell script with values: parsing never panics, and an accepted script refers to its values by
//! constant references only.

#![no_main]

use escrow_expr::JsonScope;
use escrow_template::{ShellScript, Template};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|source: &str| {
    let scope = json!({"x": "value-that-no-script-has", "y": {"z": 1}});
    let script = ShellScript::parse(source);
    if let Err(errors) = &script {
        assert!(!errors.is_empty(), "refused without a reason");
        for error in errors {
            assert!(source.get(error.span.clone()).is_some(), "a span leaves the source: {error:?}");
        }
    }
    if let Ok(script) = script {
        let before = script.script().to_owned();
        if let Ok(variables) = script.render(&JsonScope(&scope)) {
            for (name, _) in &variables {
                assert!(before.contains(&format!("${{{name}}}")), "{name} is not referred to");
            }
        }
        assert_eq!(script.script(), before);
        if !source.contains("value-that-no-script-has") {
            assert!(!before.contains("value-that-no-script-has"));
        }
    }
    match Template::parse(source) {
        Ok(template) => {
            let _ = template.render(&JsonScope(&scope));
        }
        Err(error) => {
            assert!(source.get(error.span.clone()).is_some(), "a span leaves the source: {error:?}")
        }
    }
});
