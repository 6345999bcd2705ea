//! Edge cases of artifact delivery: empty files, media types and content schemas.

use escrow_contract::judge_delivery;
use escrow_model::{
    ArtifactContract, ArtifactPath, ExpectedArtifact, InspectedArtifact, Location, SeenFile, Source,
};
use serde_json::{Value, json};

fn report() -> ExpectedArtifact {
    ExpectedArtifact::new(
        "report",
        Location::Path(ArtifactPath::parse("report.json").expect("a valid path")),
        Source::Playbook,
    )
}

/// The verdict on one file: `passed`, or the problem.
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
        text: None,
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
fn an_empty_file_is_delivered_when_min_size_is_zero() {
    assert_eq!(check(ExpectedArtifact { min_size: 0, ..report() }, 0, None, None), "passed");
}

#[test]
fn a_file_must_have_the_expected_type() {
    let json = || ExpectedArtifact { mime_type: Some("application/json".into()), ..report() };
    assert_eq!(check(json(), 2, Some("application/json"), None), "passed");
    assert_eq!(check(json(), 2, Some("text/plain"), None), "wrong_type");
    assert_eq!(check(json(), 2, None, None), "wrong_type");
}

#[test]
fn a_file_must_match_its_schema() {
    let typed = || ExpectedArtifact { schema: Some(json!({"required": ["score"]})), ..report() };
    assert_eq!(check(typed(), 2, None, Some(json!({"score": 1}))), "passed");
    assert_eq!(check(typed(), 2, None, Some(json!({}))), "schema");
    assert_eq!(check(typed(), 2, None, None), "schema", "unparsed content matches no schema");
}
