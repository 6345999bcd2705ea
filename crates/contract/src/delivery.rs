//! Judges the artifacts that were seen against those that were promised.

use escrow_model::{
    ArtifactContract, Delivery, DeliveryStatus, ExpectedArtifact, Location, Millis, MissingArtifact, Problem,
    ProducedArtifact, SeenFile, Sighting,
};

use crate::Schema;

/// A file counts as delivered when it is there, large enough, of the promised type, and new since `before`.
/// An expected artifact that nobody looked for counts as absent.
pub fn judge_delivery(
    contract: &ArtifactContract,
    before: &[Sighting],
    seen: &[Sighting],
    checked_at_ms: Millis,
) -> Delivery {
    let mut delivery = Delivery {
        status: DeliveryStatus::Skipped,
        checked_at_ms,
        missing_required: Vec::new(),
        missing_optional: Vec::new(),
        produced: Vec::new(),
    };
    if contract.expected.is_empty() {
        return delivery;
    }
    for expected in &contract.expected {
        let before = before.iter().find(|sighting| sighting.id == expected.id);
        let seen = seen.iter().find(|sighting| sighting.id == expected.id);
        match judge_one(expected, before, seen) {
            Ok(produced) => delivery.produced.extend(produced),
            Err(problem) => {
                let missing = MissingArtifact {
                    id: expected.id.clone(),
                    path: expected.location.label().to_owned(),
                    required: expected.required,
                    description: expected.description.clone(),
                    source: expected.source,
                    problem,
                };
                if expected.required {
                    delivery.missing_required.push(missing);
                } else {
                    delivery.missing_optional.push(missing);
                }
            }
        }
    }
    delivery.status = if !delivery.missing_required.is_empty() {
        DeliveryStatus::Failed
    } else if !delivery.missing_optional.is_empty() {
        DeliveryStatus::Warning
    } else {
        DeliveryStatus::Passed
    };
    delivery
}

fn judge_one(
    expected: &ExpectedArtifact,
    before: Option<&Sighting>,
    seen: Option<&Sighting>,
) -> Result<Vec<ProducedArtifact>, Problem> {
    let Some(seen) = seen else { return Err(Problem::Absent) };
    if seen.refused.is_some() {
        return Err(Problem::Outside);
    }
    match &expected.location {
        Location::Path(_) => {
            let file = seen.files.first().ok_or(Problem::Absent)?;
            judge_file(expected, before, file)?;
            Ok(vec![produced(expected, file)])
        }
        Location::Glob { count, .. } => {
            let mut first_problem = None;
            let mut good = Vec::new();
            for file in &seen.files {
                match judge_file(expected, before, file) {
                    Ok(()) => good.push(produced(expected, file)),
                    Err(problem) => first_problem = first_problem.or(Some(problem)),
                }
            }
            let number = u32::try_from(good.len()).unwrap_or(u32::MAX);
            if number < count.min {
                return Err(match (first_problem, seen.files.is_empty()) {
                    (Some(problem), _) => problem,
                    (None, true) => Problem::Absent,
                    (None, false) => Problem::Count,
                });
            }
            match count.max {
                Some(max) if number > max => Err(Problem::Count),
                _ => Ok(good),
            }
        }
    }
}

fn judge_file(
    expected: &ExpectedArtifact,
    before: Option<&Sighting>,
    file: &SeenFile,
) -> Result<(), Problem> {
    if file.size == 0 && expected.min_size > 0 {
        return Err(Problem::Empty);
    }
    if expected.fresh && !is_fresh(before, file) {
        return Err(Problem::Stale);
    }
    if file.size < expected.min_size {
        return Err(Problem::TooSmall);
    }
    if let Some(wanted) = &expected.mime_type
        && file.mime_type.as_deref() != Some(wanted.as_str())
    {
        return Err(Problem::WrongType);
    }
    if let Some(schema) = &expected.schema {
        let content = file.content.as_ref().ok_or(Problem::Schema)?;
        let schema = Schema::compile(schema).map_err(|_| Problem::Schema)?;
        if !schema.violations(content).is_empty() {
            return Err(Problem::Schema);
        }
    }
    Ok(())
}

/// Absent at the start, or another inode or change time than then.
fn is_fresh(before: Option<&Sighting>, file: &SeenFile) -> bool {
    let earlier = before.and_then(|sighting| sighting.files.iter().find(|old| old.path == file.path));
    match earlier {
        None => true,
        Some(old) => old.inode != file.inode || old.changed_ns != file.changed_ns,
    }
}

fn produced(expected: &ExpectedArtifact, file: &SeenFile) -> ProducedArtifact {
    ProducedArtifact {
        id: expected.id.clone(),
        path: file.path.clone(),
        size: file.size,
        sha256: file.sha256.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrow_model::{ArtifactPath, Count, Source};

    fn review() -> ExpectedArtifact {
        ExpectedArtifact {
            id: "review".into(),
            location: Location::Path(ArtifactPath::parse("review.md").expect("a good path")),
            required: true,
            description: String::new(),
            source: Source::Playbook,
            min_size: 1,
            fresh: true,
            mime_type: None,
            schema: None,
            kind: None,
        }
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
            holds_secret: false,
        }
    }

    fn sighting(files: Vec<SeenFile>) -> Sighting {
        Sighting { id: "review".into(), files, refused: None }
    }

    /// What judging this one artifact comes to: `passed`, or the problem.
    fn check(expected: &ExpectedArtifact, before: Vec<SeenFile>, seen: Vec<SeenFile>) -> String {
        let contract = ArtifactContract { expected: vec![expected.clone()] };
        let delivery = judge_delivery(&contract, &[sighting(before)], &[sighting(seen)], 0);
        match delivery.missing_required.first() {
            Some(missing) => missing.problem.as_str().to_owned(),
            None => delivery.status.as_str().to_owned(),
        }
    }

    #[test]
    fn a_new_file_with_content_is_a_delivery() {
        assert_eq!(check(&review(), vec![], vec![file("review.md", 10, 1)]), "passed");
    }

    #[test]
    fn nothing_there_is_absent() {
        assert_eq!(check(&review(), vec![], vec![]), "absent");
    }

    #[test]
    fn an_empty_file_is_not_a_delivery() {
        assert_eq!(check(&review(), vec![], vec![file("review.md", 0, 1)]), "empty");
    }

    #[test]
    fn last_weeks_file_is_not_a_delivery() {
        let old = vec![file("review.md", 10, 1)];
        assert_eq!(check(&review(), old.clone(), old.clone()), "stale");
        assert_eq!(check(&review(), old.clone(), vec![file("review.md", 10, 2)]), "passed");
        let mut lasting = review();
        lasting.fresh = false;
        assert_eq!(check(&lasting, old.clone(), old), "passed");
    }

    #[test]
    fn a_file_below_its_least_size_is_too_small() {
        let mut long = review();
        long.min_size = 100;
        assert_eq!(check(&long, vec![], vec![file("review.md", 99, 1)]), "too_small");
    }

    #[test]
    fn a_glob_needs_its_count() {
        let mut notes = review();
        notes.location = Location::Glob { pattern: "*.md".into(), count: Count { min: 2, max: Some(2) } };
        let files = |number: usize| (0..number).map(|n| file(&format!("{n}.md"), 1, 1)).collect::<Vec<_>>();
        assert_eq!(check(&notes, vec![], files(1)), "count");
        assert_eq!(check(&notes, vec![], files(2)), "passed");
        assert_eq!(check(&notes, vec![], files(3)), "count");
        assert_eq!(check(&notes, vec![], files(0)), "absent");
    }

    #[test]
    fn a_place_that_leads_out_of_the_directory_is_refused() {
        let contract = ArtifactContract { expected: vec![review()] };
        let outside =
            Sighting { id: "review".into(), files: vec![], refused: Some("a link leads out".into()) };
        let delivery = judge_delivery(&contract, &[], &[outside], 0);
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
        let delivery = judge_delivery(&ArtifactContract::default(), &[], &[], 0);
        assert_eq!(delivery.status, DeliveryStatus::Skipped);
    }
}
