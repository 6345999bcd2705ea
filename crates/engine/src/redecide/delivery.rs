//! Judges a recorded delivery by another contract, as far as the record allows.

use escrow_model::{
    ArtifactContract, Delivery, DeliveryStatus, ExpectedArtifact, Location, Millis, Problem, ProducedArtifact,
};

/// The delivery, or the ids of the artifacts of which nothing is known.
pub(super) fn delivered(
    contract: &ArtifactContract,
    recorded_contract: &ArtifactContract,
    recorded: Option<&Delivery>,
    at: Millis,
) -> Result<Delivery, Vec<String>> {
    let mut delivery = Delivery {
        status: DeliveryStatus::Passed,
        checked_at_ms: at,
        missing_required: Vec::new(),
        missing_optional: Vec::new(),
        produced: Vec::new(),
        not_expected: Vec::new(),
    };
    let mut unknown = Vec::new();
    for expected in &contract.expected {
        let known = recorded.and_then(|recorded| judge(expected, recorded_contract, recorded));
        match known {
            None => unknown.push(expected.id.clone()),
            Some(Ok(produced)) => delivery.produced.extend(produced),
            Some(Err(problem)) => delivery.miss(expected, problem, String::new()),
        }
    }
    if !unknown.is_empty() {
        return Err(unknown);
    }
    delivery.status = delivery.verdict();
    Ok(delivery)
}

type Judged = Result<Vec<ProducedArtifact>, Problem>;

fn judge(expected: &ExpectedArtifact, contract: &ArtifactContract, recorded: &Delivery) -> Option<Judged> {
    let before = contract.expected.iter().find(|other| other.location == expected.location)?;
    let renamed =
        |produced: &ProducedArtifact| ProducedArtifact { id: expected.id.clone(), ..produced.clone() };
    let files: Vec<ProducedArtifact> =
        recorded.produced.iter().filter(|file| file.id == before.id).map(renamed).collect();
    let mut missing = recorded.missing_required.iter().chain(&recorded.missing_optional);
    let problem = missing.find(|missing| missing.id == before.id).map(|missing| missing.problem);
    if recorded.not_expected.iter().any(|one| one.id == before.id) {
        return Some(Err(Problem::Absent));
    }
    if expected.content_read && !before.content_read && !files.is_empty() {
        // The look did not bring along what this playbook reads.
        return None;
    }
    if asks_the_same(expected, before) {
        return match problem {
            Some(problem) => Some(Err(problem)),
            None => Some(Ok(files)),
        };
    }
    match problem {
        // Nothing was there, whatever is asked of it.
        Some(Problem::Absent) => Some(Err(Problem::Absent)),
        Some(_) => None,
        None => {
            let looks_inside = expected.mime_type != before.mime_type
                || expected.schema != before.schema
                || expected.kind != before.kind
                || (expected.fresh && !before.fresh);
            match (&expected.location, files.as_slice()) {
                (Location::Path(_), [file]) if !looks_inside => Some(if file.size >= expected.min_size {
                    Ok(files)
                } else if file.size == 0 {
                    Err(Problem::Empty)
                } else {
                    Err(Problem::TooSmall)
                }),
                _ => None,
            }
        }
    }
}

/// Whether both expectations judge the same file alike.
fn asks_the_same(one: &ExpectedArtifact, other: &ExpectedArtifact) -> bool {
    one.min_size == other.min_size
        && one.fresh == other.fresh
        && one.mime_type == other.mime_type
        && one.schema == other.schema
        && one.kind == other.kind
}
