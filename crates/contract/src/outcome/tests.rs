use super::*;
use serde_json::json;

/// The `passed` of an outcome, or every reason against it.
fn check(kind: &str, value: &Value) -> Result<Option<bool>, String> {
    let kind = Kind::registered(kind).expect("a registered kind");
    kind.read(value.to_string().as_bytes()).map(|outcome| outcome.passed).map_err(|error| error.to_string())
}

#[test]
fn the_schema_of_every_kind_compiles() {
    assert_eq!(REGISTERED.len(), KINDS.len());
}

#[test]
fn passed_follows_from_the_verdict() {
    for (verdict, passed) in [
        ("APPROVE", true),
        ("APPROVE_WITH_SUGGESTIONS", true),
        ("APPROVE-WITH-SUGGESTIONS", true),
        ("REQUEST CHANGES", false),
        ("REJECT", false),
    ] {
        assert_eq!(check("review_verdict", &json!({"verdict": verdict})), Ok(Some(passed)), "{verdict}");
    }
    assert!(check("review_verdict", &json!({"verdict": "approve"})).is_err(), "case is not forgiven");
}

#[test]
fn contradictory_outcomes_are_rejected() {
    for (kind, content, why) in [
        (
            "review_verdict",
            json!({"verdict": "REQUEST_CHANGES", "passed": true}),
            "`passed` is true, but the verdict is REQUEST_CHANGES",
        ),
        (
            "review_verdict",
            json!({"verdict": "APPROVE", "passed": false}),
            "`passed` is false, but the verdict is APPROVE",
        ),
        (
            "gate_verdict",
            json!({"gate_passed": true, "passed": false}),
            "`passed` is false, but `gate_passed` is true",
        ),
        (
            "gate_verdict",
            json!({"gate_passed": true, "criteria": [{"name": "lint clean", "passed": false}]}),
            "`gate_passed` is true, but the criterion \"lint clean\" is not met",
        ),
        (
            "ci_result",
            json!({"tests_passed": false, "passed": true}),
            "`passed` is true, but `Tests` did not pass",
        ),
        (
            "ci_result",
            json!({"lint_passed": true, "passed": false}),
            "`passed` is false, but every check passed",
        ),
        (
            "ci_result",
            json!({"checks": [{"name": "e2e", "passed": false}], "passed": true}),
            "`passed` is true, but `e2e` did not pass",
        ),
        ("ci_result", json!({"test_count": 3, "test_failures": 4}), "4 tests failed of 3"),
        (
            "ci_result",
            json!({"tests_passed": true, "test_count": 3, "test_failures": 1}),
            "`tests_passed` is true, but `test_failures` is 1",
        ),
    ] {
        let refused = check(kind, &content).expect_err(why);
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_ci_result_without_checks_has_not_passed() {
    assert_eq!(check("ci_result", &json!({})), Ok(None));
    assert_eq!(check("ci_result", &json!({"commands": [{"command": "make", "passed": true}]})), Ok(None));
    let digest = outcome::digest("ci_result", &json!({})).expect("it is one");
    assert_eq!(digest.card.title, "CI RESULT: NOTHING CHECKED");
    assert_eq!(check("ci_result", &json!({"test_failures": 2})), Ok(Some(false)));
    assert_eq!(check("ci_result", &json!({"lint_passed": null, "build_passed": true})), Ok(Some(true)));
}

#[test]
fn commands_are_a_record_and_decide_nothing() {
    // A command may have failed and have been run again; what was checked is said by the checks.
    let commands = json!([{"command": "make", "passed": true}, {"command": "make e2e", "passed": false}]);
    for (content, passed) in [
        (json!({"commands": commands}), None),
        (json!({"tests_passed": true, "commands": commands}), Some(true)),
        (json!({"tests_passed": false, "commands": commands}), Some(false)),
    ] {
        assert_eq!(check("ci_result", &content), Ok(passed), "{content}");
    }
    assert!(check("ci_result", &json!({"passed": true, "commands": commands})).is_err());
    assert!(check("ci_result", &json!({"passed": true, "test_count": 3})).is_err());
}

#[test]
fn a_whole_number_can_have_a_decimal_point() {
    for (kind, content) in [
        (
            "review_verdict",
            json!({"verdict": "APPROVE", "round": 2.0, "findings": [{"severity": "low", "category": "x", "description": "y", "line": 7.0}]}),
        ),
        ("ci_result", json!({"test_count": 3.0, "test_failures": 1.0})),
    ] {
        assert!(check(kind, &content).is_ok(), "{content}: {:?}", check(kind, &content));
    }
    for content in [
        json!({"verdict": "APPROVE", "round": 1.5}),
        json!({"verdict": "APPROVE", "round": 0.0}),
        json!({"verdict": "APPROVE", "round": -2.0}),
        json!({"verdict": "APPROVE", "round": 1e300}),
    ] {
        let refused = check("review_verdict", &content).expect_err("not a round");
        assert!(refused.contains("/round") && !refused.contains("u32"), "{refused}");
    }
}

#[test]
fn unknown_fields_and_invalid_values_are_rejected() {
    for (kind, content) in [
        ("review_verdict", json!({"verdict": "APPROVE", "stars": 5})),
        (
            "review_verdict",
            json!({"verdict": "APPROVE", "findings": [{"severity": "high", "category": "x", "description": "y", "fix": "z"}]}),
        ),
        (
            "review_verdict",
            json!({"verdict": "APPROVE", "findings": [{"severity": "major", "category": "x", "description": "y"}]}),
        ),
        ("review_verdict", json!({"verdict": "APPROVE", "round": 0})),
        ("review_verdict", json!({})),
        ("gate_verdict", json!({"gate_passed": "yes"})),
        ("gate_verdict", json!({"gate_passed": null})),
        ("ci_result", json!({"test_count": -1})),
        ("ci_result", json!({"commands": [{"duration_seconds": 1}]})),
        ("ci_result", json!({"outcome_kind": "gate_verdict"})),
        ("ci_result", json!(["a"])),
        ("ci_result", json!("all good")),
    ] {
        assert!(check(kind, &content).is_err(), "{kind} {content}");
    }
}

#[test]
fn every_problem_is_reported() {
    let content = json!({"verdict": "MAYBE", "round": 0, "stars": 5, "findings": [{"severity": "high", "category": "x", "description": 1}]});
    let refused = check("review_verdict", &content).expect_err("four problems");
    for part in ["stars", "/verdict", "/round", "/findings/0/description"] {
        assert!(refused.contains(part), "{part} in {refused}");
    }
}

#[test]
fn the_file_of_a_finding_must_be_inside_the_repository() {
    let at = |file: &str| {
        let finding =
            json!({"severity": "low", "category": "style", "description": "d", "file": file, "line": 3});
        check("review_verdict", &json!({"verdict": "APPROVE", "findings": [finding]}))
    };
    for good in ["src/main.rs", "./src/main.rs", "app/[id]/page.tsx", "a b.md"] {
        assert!(at(good).is_ok(), "{good}");
    }
    for bad in
        ["", "/etc/passwd", "../x", "a/../../x", "~/.ssh/id_rsa", "C:\\x", "a\\..\\b", "a\0b", "a\u{1b}[2Jb"]
    {
        assert!(at(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn stored_content_is_normalised_and_complete() {
    let kind = Kind::registered("review_verdict").expect("registered");
    let outcome = kind.judge(&json!({"verdict": "REQUEST CHANGES"})).expect("an outcome");
    assert_eq!(
        outcome.content,
        json!({"verdict": "REQUEST_CHANGES", "outcome_kind": "review_verdict", "passed": false})
    );
    assert_eq!(outcome.summary, "REQUEST_CHANGES");
}

#[test]
fn the_schema_of_a_custom_kind_need_not_declare_the_common_fields() {
    let schema = json!({
        "type": "object", "required": ["score"], "additionalProperties": false,
        "properties": {"score": {"type": "integer"}},
    });
    let kind = Kind::custom("load_test", &schema).expect("a schema");
    let outcome = kind
        .judge(&json!({"outcome_kind": "load_test", "passed": true, "summary": "fast\nenough", "score": 3}));
    let outcome = outcome.expect("an outcome");
    assert_eq!((outcome.passed, outcome.summary.as_str()), (Some(true), "fast enough"));
    assert!(kind.judge(&json!({"score": "3"})).is_err());
    assert!(kind.judge(&json!({"score": 3, "passed": "yes"})).is_err());
    assert!(kind.judge(&json!({"score": 3, "other": 1})).is_err());
}

#[test]
fn hostile_texts_are_rejected_with_short_messages() {
    let kind = Kind::registered("ci_result").expect("registered");
    let deep = format!("{{\"checks\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let many = format!("{{\"checks\":[{}]}}", vec!["{\"name\":1}"; 100_000].join(","));
    let wide: String = (0..50_000).map(|n| format!("\"k{n}\":1,")).collect();
    for text in [
        String::new(),
        " \n".to_owned(),
        deep,
        many,
        format!("{{{wide}\"k\":1}}"),
        "{\"test_count\": NaN}".to_owned(),
        "{\"test_count\": 1e999}".to_owned(),
        "{\"summary\": \"\u{0}".to_owned(),
        "{} {}".to_owned(),
        " ".repeat(BYTES_MAX + 1),
    ] {
        let refused = kind.read(text.as_bytes()).expect_err("rejected").to_string();
        assert!(refused.len() < 20_000, "{} bytes of message", refused.len());
    }
    assert!(kind.read(&[0xff, 0xfe, 0x00]).is_err());
    let big = json!({"summary": "x".repeat(1 << 20)});
    assert!(kind.judge(&big).expect("long, and an outcome").summary.len() < 2_000);
}

#[test]
fn outcome_kind_selects_the_kind() {
    let read = |text: &str| read_any(text.as_bytes(), |name| Kind::registered(name).map(Ok));
    assert_eq!(
        read(r#"{"outcome_kind": "gate_verdict", "gate_passed": true}"#).expect("one").kind,
        "gate_verdict"
    );
    for (text, why) in [
        (r#"{"gate_passed": true}"#, "`outcome_kind` is missing"),
        (r#"{"outcome_kind": "gate_verdikt"}"#, "unknown outcome kind `gate_verdikt`"),
        (r#"{"outcome_kind": "../../etc/passwd"}"#, "unknown outcome kind"),
        (r#"{"outcome_kind": 3}"#, "not a name"),
        ("[]", "an outcome must be an object"),
    ] {
        let refused = read(text).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_duplicate_key_is_rejected_with_its_path() {
    for (text, path) in [
        (r#"{"outcome_kind": "gate_verdict", "gate_passed": false, "gate_passed": true}"#, "gate_passed"),
        (
            r#"{"gate_passed": true, "criteria": [{"name": "a", "passed": false, "passed": true}]}"#,
            "criteria[0].passed",
        ),
    ] {
        let refused = Kind::registered("gate_verdict").expect("it is known").read(text.as_bytes());
        assert_eq!(refused.expect_err(text).problems, [format!("duplicate key `{path}`")], "{text}");
    }
}

#[test]
fn a_ci_that_checked_nothing_has_not_passed() {
    let refused = check("ci_result", &json!({"passed": true, "summary": "all good"}));
    assert!(format!("{refused:?}").contains("no check is given"), "{refused:?}");
    assert!(check("ci_result", &json!({"passed": true, "checks": []})).is_err());
    assert!(check("ci_result", &json!({"passed": true, "tests_passed": true})).is_ok());
    assert!(check("ci_result", &json!({"passed": false})).is_ok());
}

#[test]
fn passed_follows_from_counts_of_tests_and_errors() {
    for (kind, content, passed) in [
        ("test_result", json!({"total": 3, "failed": 0}), Some(true)),
        ("test_result", json!({"total": 3, "failed": 1, "failures": [{"name": "adds"}]}), Some(false)),
        ("test_result", json!({"total": 3, "failed": 0, "skipped": 3}), None),
        ("lint_result", json!({"errors": 0, "warnings": 2}), Some(true)),
        ("lint_result", json!({"errors": 1}), Some(false)),
        ("flow_control", json!({"should_continue": false}), None),
        (
            "research_analysis",
            json!({"question": "Why?", "findings": [{"claim": "So.", "confidence": 0.5}]}),
            None,
        ),
        ("impact_report", json!({"change": "x", "areas": [{"name": "api", "risk": "high"}]}), None),
        ("show_plan", json!({"plays": [{"name": "a", "playbook": "a.yaml"}]}), None),
        ("flow_plan", json!({"steps": [{"name": "a", "intent": "begin"}], "passed": true}), Some(true)),
    ] {
        assert_eq!(check(kind, &content), Ok(passed), "{kind}: {content}");
    }
}

#[test]
fn small_kinds_refuse_what_contradicts_itself() {
    for (kind, content, why) in [
        ("test_result", json!({"total": 1, "failed": 2}), "2 tests failed, but only 1 ran"),
        (
            "test_result",
            json!({"total": 0, "failed": 0, "passed": true}),
            "`passed` is true, but no test ran",
        ),
        (
            "test_result",
            json!({"total": 2, "failed": 0, "failures": [{"name": "adds"}]}),
            "1 failures are listed, but `failed` is 0",
        ),
        ("lint_result", json!({"errors": 2, "passed": true}), "`passed` is true, but `errors` is 2"),
        (
            "lint_result",
            json!({"errors": 0, "findings": [
                {"severity": "low", "category": "style", "description": "x", "file": "../x"}
            ]}),
            "/findings/0/file",
        ),
        (
            "impact_report",
            json!({"change": "x", "areas": [{"name": "api", "risk": "high"}], "overall_risk": "low"}),
            "`overall_risk` is low, but that of `api` is high",
        ),
        (
            "show_plan",
            json!({"plays": [
                {"name": "a", "playbook": "a", "depends_on": ["b"]},
                {"name": "b", "playbook": "b", "depends_on": ["a"]}
            ]}),
            "these plays wait for each other: a, b",
        ),
        (
            "show_plan",
            json!({"plays": [{"name": "a", "playbook": "a", "depends_on": ["c"]}]}),
            "`a` depends on `c`, which is no play",
        ),
        (
            "flow_plan",
            json!({"steps": [{"name": "a", "intent": "x"}, {"name": "a", "intent": "y"}]}),
            "two steps are called `a`",
        ),
        ("flow_control", json!({"should_continue": true, "mood": "good"}), "mood"),
    ] {
        let refused = check(kind, &content).expect_err("it is refused");
        assert!(refused.contains(why), "{kind}: {refused}");
    }
}
