//! A rendering touches what its template names, and nothing else.

use std::cell::RefCell;

use escrow_expr::{Given, List, Object, Scope};
use escrow_template::{Condition, ShellScript, Template};
use serde_json::{Value, json};

/// A run with many outputs that notes which were asked for.
struct World {
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

impl Scope for World {
    fn name(&self, name: &str) -> Option<Given<'_>> {
        match name {
            "output" => Some(Given::Record { value: &self.output, beside: &self.record }),
            "outputs" => Some(Given::Object(&self.outputs)),
            "steps" => Some(Given::List(&self.steps)),
            "item" => Some(Given::Undefined),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["output", "outputs", "steps"]
    }
}

impl Object for Record {
    fn member(&self, name: &str) -> Option<Given<'_>> {
        self.0.get(name).map(Given::Json)
    }

    fn names(&self) -> Vec<&str> {
        self.0.as_object().map(|members| members.keys().map(String::as_str).collect()).unwrap_or_default()
    }
}

impl Object for Outputs {
    fn member(&self, name: &str) -> Option<Given<'_>> {
        self.touched.borrow_mut().push(name.to_owned());
        self.values.get(name).map(Given::Json)
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

    fn item(&self, index: usize) -> Option<Given<'_>> {
        self.0.get(index).map(Given::Json)
    }
}

fn world() -> World {
    World {
        output: json!("plain text"),
        record: Record(json!({"exitCode": 3, "stderr": "oh"})),
        outputs: Outputs { values: json!({"a": {"n": 1}, "b": [1, 2], "c": 3}), touched: RefCell::default() },
        steps: Steps(vec![json!({"status": "ok"}), json!({"status": "failed"})]),
    }
}

#[track_caller]
fn check(source: &str, expected: &str, touched: &[&str]) {
    let world = world();
    let printed = match Template::parse(source).expect("the source is a template").render(&world) {
        Ok(text) => text,
        Err(fault) => fault.to_string(),
    };
    assert_eq!(printed, expected, "{source}");
    assert_eq!(*world.outputs.touched.borrow(), touched, "{source}");
}

#[test]
fn only_the_members_that_are_named_are_asked_for() {
    check("{{ outputs.a.n }}", "1", &["a"]);
    check("{{ outputs['b'][1] }} {{ outputs.c }}", "2 3", &["b", "c"]);
    check("{{ outputs.nope is defined }}", "false", &["nope"]);
    check("no template", "no template", &[]);
    check("{{ outputs }}", r#"{"a":{"n":1},"b":[1,2],"c":3}"#, &["a", "b", "c"]);
    check("{% for name in outputs %}{{ name }}{% endfor %}", "abc", &["a", "b", "c"]);
}

#[test]
fn a_record_is_its_value_and_answers_for_what_stands_beside_it() {
    check("{{ output }} {{ output.exitCode }} {{ output.stderr|upper }}", "plain text 3 OH", &[]);
    check("{{ output|length }} {{ output[0] }} {{ output.nope is defined }}", "10 p false", &[]);
}

#[test]
fn lists_of_the_scope_are_lists() {
    check("{{ steps[1].status }} {{ steps|length }} {{ steps[-1].status }}", "failed 2 failed", &[]);
    check("{{ item }}", "`item` is not defined", &[]);
    assert!(Condition::parse("steps[1].status == 'failed'").unwrap().holds(&world()).unwrap());
}

#[test]
fn a_script_asks_for_its_values_only() {
    let world = world();
    let script = ShellScript::parse("echo {{ outputs.a }} # {{ outputs.b }}").unwrap();
    let variables = script.render(&world).unwrap();
    assert_eq!(variables, [("ESCROW_VALUE_1".to_owned(), r#"{"n":1}"#.to_owned())]);
    assert_eq!(*world.outputs.touched.borrow(), ["a"]);
}

#[test]
fn templates_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Template>();
    shared::<Condition>();
    shared::<ShellScript>();
}
