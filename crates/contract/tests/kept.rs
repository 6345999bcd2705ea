//! What counts as kept, at the edges: sizes of nothing, types, contents, and schemas that reach outside.

use escrow_contract::{Schema, judge_delivery};
use escrow_model::{
    ArtifactContract, ArtifactPath, ExpectedArtifact, InspectedArtifact, Location, SeenFile, Source,
};
use serde_json::{Value, json};

fn report() -> ExpectedArtifact {
    ExpectedArtifact::new(
        "report",
        Location::Path(ArtifactPath::parse("report.json").expect("a good path")),
        Source::Playbook,
    )
}

/// What judging a file comes to: `passed`, or the problem.
fn check(expected: ExpectedArtifact, size: u64, mime_type: Option<&str>, content: Option<Value>) -> String {
    let file = SeenFile {
        path: "report.json".into(),
        size,
        sha256: "d".into(),
        inode: 7,
        changed_ns: 1,
        mime_type: mime_type.map(str::to_owned),
        content,
        repeated_key: None,
        holds_secret: false,
    };
    let seen = InspectedArtifact { id: "report".into(), files: vec![file], refused: None };
    let delivery =
        judge_delivery(&ArtifactContract { expected: vec![expected] }, &|_| None, &[], &[seen], 0).delivery;
    match delivery.missing_required.first() {
        Some(missing) => missing.problem.as_str().to_owned(),
        None => delivery.status.as_str().to_owned(),
    }
}

#[test]
fn an_empty_file_is_a_delivery_where_nothing_is_asked_of_its_size() {
    assert_eq!(check(ExpectedArtifact { min_size: 0, ..report() }, 0, None, None), "passed");
}

#[test]
fn a_file_has_the_type_that_was_promised() {
    let json = || ExpectedArtifact { mime_type: Some("application/json".into()), ..report() };
    assert_eq!(check(json(), 2, Some("application/json"), None), "passed");
    assert_eq!(check(json(), 2, Some("text/plain"), None), "wrong_type");
    assert_eq!(check(json(), 2, None, None), "wrong_type");
}

#[test]
fn a_file_holds_what_its_schema_asks_for() {
    let typed = || ExpectedArtifact { schema: Some(json!({"required": ["score"]})), ..report() };
    assert_eq!(check(typed(), 2, None, Some(json!({"score": 1}))), "passed");
    assert_eq!(check(typed(), 2, None, Some(json!({}))), "schema");
    assert_eq!(check(typed(), 2, None, None), "schema", "what cannot be read keeps no schema");
}

#[test]
fn a_schema_that_reaches_outside_is_refused_by_name() {
    let error = Schema::compile(&json!({"$ref": "http://127.0.0.1:9/x.json"})).expect_err("it is refused");
    assert!(error.to_string().contains("`$ref` may not leave the schema"), "{error}");
}

#[test]
fn a_long_list_of_violations_ends_with_how_many_more_there_are() {
    let schema = Schema::compile(&json!({"items": {"type": "string"}})).expect("a good schema");
    let lines = schema.violations(&json!((0..1_000).collect::<Vec<_>>()));
    let last = lines.last().expect("there are violations");
    assert_eq!(*last, format!("and {} more", 1_000 - (lines.len() - 1)));
    let few = schema.violations(&json!([1, 2]));
    assert_eq!(few.len(), 2, "{few:?}");
}
