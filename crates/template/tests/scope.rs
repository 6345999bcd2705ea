//! A rendering reads the members that its template names, and no others.

use std::cell::RefCell;

use escrow_expr::{List, Object, Scope, ScopeValue};
use escrow_template::{Condition, ShellScript, Template};
use serde_json::{Value, json};

/// A run with many outputs that records which of them were read.
struct RecordingScope {
    output: Value,
    record: Record,
    outputs: Outputs,
    steps: Steps,
}

struct Record(Value);

struct Outputs {
    values: Value,
    touched: RefCell<Vec<String>>,
}

struct Steps(Vec<Value>);

impl Scope for RecordingScope {
    fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
        match name {
            "output" => Some(ScopeValue::Record { value: &self.output, extra: &self.record }),
            "outputs" => Some(ScopeValue::Object(&self.outputs)),
            "steps" => Some(ScopeValue::List(&self.steps)),
            "item" => Some(ScopeValue::Undefined),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["output", "outputs", "steps"]
    }
}

impl Object for Record {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        self.0.get(name).map(ScopeValue::Json)
    }

    fn names(&self) -> Vec<&str> {
        self.0.as_object().map(|members| members.keys().map(String::as_str).collect()).unwrap_or_default()
    }
}

impl Object for Outputs {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        self.touched.borrow_mut().push(name.to_owned());
        self.values.get(name).map(ScopeValue::Json)
    }

    fn names(&self) -> Vec<&str> {
        self.values
            .as_object()
            .map(|members| members.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }
}

impl List for Steps {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn item(&self, index: usize) -> Option<ScopeValue<'_>> {
        self.0.get(index).map(ScopeValue::Json)
    }
}

fn recording_scope() -> RecordingScope {
    RecordingScope {
        output: json!("plain text"),
        record: Record(json!({"exitCode": 3, "stderr": "oh"})),
        outputs: Outputs { values: json!({"a": {"n": 1}, "b": [1, 2], "c": 3}), touched: RefCell::default() },
        steps: Steps(vec![json!({"status": "ok"}), json!({"status": "failed"})]),
    }
}

#[track_caller]
fn check(source: &str, expected: &str, touched: &[&str]) {
    let scope = recording_scope();
    let printed = match Template::parse(source).expect("the source is a template").render(&scope) {
        Ok(text) => text,
        Err(fault) => fault.to_string(),
    };
    assert_eq!(printed, expected, "{source}");
    assert_eq!(*scope.outputs.touched.borrow(), touched, "{source}");
}

#[test]
fn only_the_named_members_are_read() {
    check("{{ outputs.a.n }}", "1", &["a"]);
    check("{{ outputs['b'][1] }} {{ outputs.c }}", "2 3", &["b", "c"]);
    check("{{ outputs.nope is defined }}", "false", &["nope"]);
    check("no template", "no template", &[]);
    check("{{ outputs }}", r#"{"a":{"n":1},"b":[1,2],"c":3}"#, &["a", "b", "c"]);
    check("{% for name in outputs %}{{ name }}{% endfor %}", "abc", &["a", "b", "c"]);
}

#[test]
fn a_record_is_its_value_with_extra_members() {
    check("{{ output }} {{ output.exitCode }} {{ output.stderr|upper }}", "plain text 3 OH", &[]);
    check("{{ output|length }} {{ output[0] }} {{ output.nope is defined }}", "10 p false", &[]);
}

#[test]
fn lists_of_the_scope_are_lists() {
    check("{{ steps[1].status }} {{ steps|length }} {{ steps[-1].status }}", "failed 2 failed", &[]);
    check("{{ item }}", "`item` is not defined", &[]);
    assert!(Condition::parse("steps[1].status == 'failed'").unwrap().holds(&recording_scope()).unwrap());
}

#[test]
fn a_script_reads_only_its_values() {
    let scope = recording_scope();
    let script = ShellScript::parse("echo {{ outputs.a }} # {{ outputs.b }}").unwrap();
    let variables = script.render(&scope).unwrap();
    assert_eq!(variables, [("ESCROW_VALUE_1".to_owned(), r#"{"n":1}"#.to_owned())]);
    assert_eq!(*scope.outputs.touched.borrow(), ["a"]);
}

#[test]
fn templates_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Template>();
    shared::<Condition>();
    shared::<ShellScript>();
}
