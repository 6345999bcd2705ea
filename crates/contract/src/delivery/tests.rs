use super::*;
use escrow_model::{ArtifactPath, Count, Refused, Source};

fn review() -> ExpectedArtifact {
    ExpectedArtifact::new(
        "review",
        Location::Path(ArtifactPath::parse("review.md").expect("a valid path")),
        Source::Playbook,
    )
}

fn file(path: &str, size: u64, changed_ns: i64) -> SeenFile {
    SeenFile {
        path: path.into(),
        size,
        sha256: "d".into(),
        inode: 7,
        changed_ns,
        mime_type: None,
        content: None,
        repeated_key: None,
        holds_secret: false,
        text: None,
    }
}

fn sighting(files: Vec<SeenFile>) -> InspectedArtifact {
    InspectedArtifact { id: "review".into(), files, refused: None }
}

fn judge(contract: &ArtifactContract, before: &[InspectedArtifact], seen: &[InspectedArtifact]) -> Delivery {
    judge_delivery(contract, &Kind::registered, before, seen, 0).delivery
}

/// The verdict on one artifact: `passed`, or the problem.
fn check(expected: &ExpectedArtifact, before: Vec<SeenFile>, seen: Vec<SeenFile>) -> String {
    let contract = ArtifactContract { expected: vec![expected.clone()] };
    let delivery = judge(&contract, &[sighting(before)], &[sighting(seen)]);
    match delivery.missing_required.first() {
        Some(missing) => missing.problem.as_str().to_owned(),
        None => delivery.status.as_str().to_owned(),
    }
}

#[test]
fn a_new_file_with_content_is_delivered() {
    assert_eq!(check(&review(), vec![], vec![file("review.md", 10, 1)]), "passed");
}

#[test]
fn a_missing_file_is_absent() {
    assert_eq!(check(&review(), vec![], vec![]), "absent");
}

#[test]
fn an_empty_file_is_not_delivered() {
    assert_eq!(check(&review(), vec![], vec![file("review.md", 0, 1)]), "empty");
}

#[test]
fn an_unchanged_file_is_stale() {
    let old = vec![file("review.md", 10, 1)];
    assert_eq!(check(&review(), old.clone(), old.clone()), "stale");
    assert_eq!(check(&review(), old.clone(), vec![file("review.md", 10, 2)]), "passed");
    let mut lasting = review();
    lasting.fresh = false;
    assert_eq!(check(&lasting, old.clone(), old), "passed");
}

#[test]
fn a_file_below_min_size_is_too_small() {
    let mut long = review();
    long.min_size = 100;
    assert_eq!(check(&long, vec![], vec![file("review.md", 99, 1)]), "too_small");
}

#[test]
fn a_glob_must_match_its_count() {
    let mut notes = review();
    notes.location = Location::Glob { pattern: "*.md".into(), count: Count { min: 2, max: Some(2) } };
    let files = |number: usize| (0..number).map(|n| file(&format!("{n}.md"), 1, 1)).collect::<Vec<_>>();
    assert_eq!(check(&notes, vec![], files(1)), "count");
    assert_eq!(check(&notes, vec![], files(2)), "passed");
    assert_eq!(check(&notes, vec![], files(3)), "count");
    assert_eq!(check(&notes, vec![], files(0)), "absent");
}

#[test]
fn a_file_with_a_kind_must_be_such_an_outcome_and_yields_it() {
    let typed = ExpectedArtifact { kind: Some("gate_verdict".into()), ..review() };
    let with = |content: Option<serde_json::Value>| SeenFile { content, ..file("review.md", 10, 1) };
    let verify = |seen: SeenFile| {
        let contract = ArtifactContract { expected: vec![typed.clone()] };
        judge_delivery(&contract, &Kind::registered, &[], &[sighting(vec![seen])], 0)
    };
    let good = verify(with(Some(serde_json::json!({"gate_passed": true, "summary": "fine"}))));
    assert_eq!(good.delivery.status, DeliveryStatus::Passed);
    assert_eq!((good.outcomes[0].path.as_str(), good.outcomes[0].outcome.passed), ("review.md", Some(true)));
    for (content, says) in [
        (None, "not valid JSON"),
        (Some(serde_json::json!({"gate_passed": "yes"})), "gate_passed"),
        (Some(serde_json::json!({"gate_passed": true, "passed": false})), "passed"),
    ] {
        let bad = verify(with(content));
        let missing = &bad.delivery.missing_required[0];
        assert_eq!(missing.problem, Problem::Schema);
        assert!(missing.detail.contains(says), "{}", missing.detail);
        assert_eq!(bad.outcomes, []);
    }
    let unknown = ExpectedArtifact { kind: Some("nothing".into()), ..review() };
    let contract = ArtifactContract { expected: vec![unknown] };
    let seen = [sighting(vec![with(Some(serde_json::json!({})))])];
    let delivery = judge_delivery(&contract, &Kind::registered, &[], &seen, 0).delivery;
    assert_eq!(delivery.missing_required[0].problem, Problem::Schema, "an unknown kind is never satisfied");
}

#[test]
fn a_path_outside_the_directory_is_rejected() {
    let contract = ArtifactContract { expected: vec![review()] };
    let outside = InspectedArtifact {
        id: "review".into(),
        files: vec![],
        refused: Some(Refused::outside("a link leads out")),
    };
    let delivery = judge(&contract, &[], &[outside]);
    assert_eq!(delivery.missing_required[0].problem, Problem::Outside);
}

#[test]
fn a_missing_optional_artifact_only_warns() {
    let mut optional = review();
    optional.required = false;
    assert_eq!(check(&optional, vec![], vec![]), "warning");
}

#[test]
fn without_a_contract_nothing_is_judged() {
    let delivery = judge(&ArtifactContract::default(), &[], &[]);
    assert_eq!(delivery.status, DeliveryStatus::Skipped);
}

#[test]
fn the_message_of_an_oversized_file_names_the_limit() {
    for expected in [
        ExpectedArtifact { schema: Some(serde_json::json!({})), ..review() },
        ExpectedArtifact { kind: Some("ci_result".into()), ..review() },
    ] {
        let contract = ArtifactContract { expected: vec![expected] };
        for (size, detail) in [(17 << 20, "larger than the limit of 16 MiB"), (9, "not valid JSON")] {
            let delivery = judge(&contract, &[], &[sighting(vec![file("review.md", size, 1)])]);
            assert_eq!(delivery.missing_required[0].detail, detail);
        }
    }
}
