//! A value that is absent is false and empty below any member, and never an error.

use escrow_expr::{Object, Scope, ScopeValue};
use escrow_template::{Condition, SeenValue, Template};
use serde_json::{Value, json};

struct Steps(Value);

struct OneStep;

impl Scope for Steps {
    fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
        match name {
            "step" => Some(ScopeValue::Object(&OneStep)),
            "there" => Some(ScopeValue::Json(&self.0)),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["step", "there"]
    }
}

impl Object for OneStep {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        (name == "outcome").then_some(ScopeValue::Absent)
    }

    fn names(&self) -> Vec<&str> {
        vec!["outcome"]
    }
}

fn scope() -> Steps {
    Steps(json!({"passed": true, "count": 3}))
}

#[test]
fn a_condition_over_an_absent_value_is_false_or_what_the_rest_of_it_says() {
    for (source, expected) in [
        ("{{ step.outcome }}", false),
        ("{{ step.outcome.passed }}", false),
        ("{{ step.outcome.findings[0].severity == 'high' }}", false),
        ("{{ step.outcome.verdict == 'APPROVE' }}", false),
        ("{{ not step.outcome.passed }}", true),
        ("{{ step.outcome.passed or there.passed }}", true),
        ("{{ there.passed and step.outcome.passed }}", false),
        ("{{ step.outcome.count < 5 }}", false),
        ("{{ step.outcome.count > 5 }}", false),
        ("{{ step.outcome.count >= 0 or step.outcome.count <= 0 }}", false),
        ("{{ there.count > 2 }}", true),
        ("{{ step.outcome.count - 1 > 0 }}", false),
        ("{{ step.outcome.findings | length == 0 }}", true),
        ("{{ step.outcome.summary | default('none') == 'none' }}", true),
        ("{{ step.outcome is defined }}", false),
        ("{{ step.outcome[there.passed].deep.deeper }}", false),
        ("{{ 'x' in step.outcome.tags }}", false),
    ] {
        let condition = Condition::parse(source).unwrap();
        assert_eq!(condition.holds(&scope()).unwrap(), expected, "{source}");
    }
}

#[test]
fn a_condition_over_what_is_there_may_still_be_an_error() {
    assert!(Condition::parse("there.nothing == 1").unwrap().holds(&scope()).is_err());
}

#[test]
fn an_absent_value_renders_empty() {
    for (source, expected) in [
        ("<{{ step.outcome.summary }}>", "<>"),
        ("{{ step.outcome.summary }}", ""),
        ("a{{ step.outcome ~ 'b' }}", "ab"),
    ] {
        assert_eq!(Template::parse(source).unwrap().render(&scope()).unwrap(), expected, "{source}");
    }
    let whole = Template::parse("{{ step.outcome.summary }}").unwrap();
    assert_eq!(whole.value(&scope()).unwrap(), json!(""));
    let kept = Template::parse("{{ there.count }}").unwrap();
    assert_eq!(kept.value(&scope()).unwrap(), json!(3));
}

#[test]
fn what_a_condition_saw_can_be_told() {
    let source = "{{ step.outcome.passed and there.passed }}";
    let seen = Condition::parse(source).unwrap().seen(&scope());
    assert_eq!(seen[0].source, "step.outcome.passed");
    assert_eq!(&source[seen[0].span.clone()], "step.outcome.passed");
    assert_eq!(seen[0].value, SeenValue::Absent);
    assert_eq!(seen[1].value, SeenValue::Json(json!(true)));
}
