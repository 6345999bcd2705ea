//! Judges the files in the artifact directory against the artifact contract.

use std::collections::BTreeMap;

use escrow_model::{
    ArtifactContract, Delivery, DeliveryStatus, ExpectedArtifact, InspectedArtifact, Location, Millis,
    Outcome, Problem, ProducedArtifact, SeenFile,
};

use crate::Schema;
use crate::json::duplicate_message;
use crate::outcome::{BYTES_MAX, Kind};

/// The verdict on an artifact contract.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    pub delivery: Delivery,
    /// The outcomes in delivered files whose artifact declares a `kind`.
    pub outcomes: Vec<DeliveredOutcome>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeliveredOutcome {
    pub id: String,
    pub path: String,
    pub outcome: Outcome,
}

/// A file is delivered when it exists, is large enough, has the expected type, and has changed since `before`.
/// An expected artifact without a sighting counts as absent. `kinds` looks up outcome kinds by name.
pub fn judge_delivery(
    contract: &ArtifactContract,
    kinds: &dyn Fn(&str) -> Option<Kind>,
    before: &[InspectedArtifact],
    seen: &[InspectedArtifact],
    checked_at_ms: Millis,
) -> Verified {
    let mut outcomes = Vec::new();
    let mut delivery = Delivery {
        status: DeliveryStatus::Skipped,
        checked_at_ms,
        missing_required: Vec::new(),
        missing_optional: Vec::new(),
        produced: Vec::new(),
        not_expected: Vec::new(),
    };
    if contract.expected.is_empty() {
        return Verified { delivery, outcomes };
    }
    let baseline = Baseline::of(before);
    for expected in &contract.expected {
        let seen = seen.iter().find(|sighting| sighting.id == expected.id);
        match judge_one(expected, kinds, &baseline, seen) {
            Ok(files) => {
                for (file, outcome) in files {
                    delivery.produced.push(produced(expected, file));
                    outcomes.extend(outcome.map(|outcome| DeliveredOutcome {
                        id: expected.id.clone(),
                        path: file.path.clone(),
                        outcome,
                    }));
                }
            }
            Err(Rejection { problem, detail }) => delivery.miss(expected, problem, detail),
        }
    }
    delivery.status = delivery.verdict();
    Verified { delivery, outcomes }
}

/// Why a file does not count as delivered.
struct Rejection {
    problem: Problem,
    detail: String,
}

impl From<Problem> for Rejection {
    fn from(problem: Problem) -> Rejection {
        Rejection { problem, detail: String::new() }
    }
}

fn reject(problem: Problem, detail: impl Into<String>) -> Rejection {
    Rejection { problem, detail: detail.into() }
}

/// The files that existed before the run, by path.
struct Baseline<'a>(BTreeMap<&'a str, &'a SeenFile>);

impl<'a> Baseline<'a> {
    fn of(sightings: &'a [InspectedArtifact]) -> Baseline<'a> {
        let files = sightings.iter().flat_map(|sighting| &sighting.files);
        Baseline(files.map(|file| (file.path.as_str(), file)).collect())
    }

    /// Whether the file is new, or has a different inode or change time than before the run.
    fn differs(&self, file: &SeenFile) -> bool {
        match self.0.get(file.path.as_str()) {
            None => true,
            Some(old) => old.inode != file.inode || old.changed_ns != file.changed_ns,
        }
    }
}

/// Delivered files, each with its outcome.
type Files<'s> = Vec<(&'s SeenFile, Option<Outcome>)>;

fn judge_one<'s>(
    expected: &ExpectedArtifact,
    kinds: &dyn Fn(&str) -> Option<Kind>,
    baseline: &Baseline<'_>,
    seen: Option<&'s InspectedArtifact>,
) -> Result<Files<'s>, Rejection> {
    let Some(seen) = seen else { return Err(Problem::Absent.into()) };
    if let Some(refused) = &seen.refused {
        return Err(reject(refused.problem, refused.detail.clone()));
    }
    match &expected.location {
        Location::Path(_) => {
            let file = seen.files.first().ok_or(Problem::Absent)?;
            let outcome = judge_file(expected, kinds, baseline, file)?;
            Ok(vec![(file, outcome)])
        }
        Location::Glob { count, .. } => {
            let mut first_rejection = None;
            let mut good = Vec::new();
            for file in &seen.files {
                match judge_file(expected, kinds, baseline, file) {
                    Ok(outcome) => good.push((file, outcome)),
                    Err(rejection) => first_rejection = first_rejection.or(Some((file, rejection))),
                }
            }
            let number = u32::try_from(good.len()).unwrap_or(u32::MAX);
            if number < count.min {
                return Err(match first_rejection {
                    Some((file, Rejection { problem, detail })) => {
                        let what = if detail.is_empty() { problem.in_words().to_owned() } else { detail };
                        reject(problem, format!("{}: {what}", file.path))
                    }
                    None if seen.files.is_empty() => Problem::Absent.into(),
                    None => reject(Problem::Count, format!("{number} of at least {}", count.min)),
                });
            }
            match count.max {
                Some(max) if number > max => Err(reject(Problem::Count, format!("{number}, at most {max}"))),
                _ => Ok(good),
            }
        }
    }
}

fn judge_file(
    expected: &ExpectedArtifact,
    kinds: &dyn Fn(&str) -> Option<Kind>,
    baseline: &Baseline<'_>,
    file: &SeenFile,
) -> Result<Option<Outcome>, Rejection> {
    if file.size == 0 && expected.min_size > 0 {
        return Err(Problem::Empty.into());
    }
    if expected.fresh && !baseline.differs(file) {
        return Err(Problem::Stale.into());
    }
    if file.size < expected.min_size {
        return Err(reject(
            Problem::TooSmall,
            format!("{} of at least {} bytes", file.size, expected.min_size),
        ));
    }
    if let Some(wanted) = &expected.mime_type
        && file.mime_type.as_deref() != Some(wanted.as_str())
    {
        let actual = file.mime_type.as_deref().unwrap_or("unknown type");
        return Err(reject(Problem::WrongType, format!("{actual}, not {wanted}")));
    }
    let not_parsed = || match file.size > BYTES_MAX as u64 {
        true => reject(Problem::Schema, "larger than the limit of 16 MiB"),
        false => reject(Problem::Schema, "not valid JSON"),
    };
    if let Some(schema) = &expected.schema {
        let content = file.content.as_ref().ok_or_else(not_parsed)?;
        if let Some(path) = &file.repeated_key {
            return Err(reject(Problem::Schema, duplicate_message(path)));
        }
        let schema =
            Schema::compile(schema).map_err(|_| reject(Problem::Schema, "the schema does not compile"))?;
        let violations = schema.violations(content);
        if !violations.is_empty() {
            return Err(reject(
                Problem::Schema,
                violations.into_iter().take(3).collect::<Vec<_>>().join("; "),
            ));
        }
    }
    let Some(name) = &expected.kind else { return Ok(None) };
    let content = file.content.as_ref().ok_or_else(not_parsed)?;
    let kind =
        kinds(name).ok_or_else(|| reject(Problem::Schema, format!("unknown outcome kind `{name}`")))?;
    let judged = kind.judge_parsed(content, file.repeated_key.as_deref());
    judged.map(Some).map_err(|error| reject(Problem::Schema, error.to_string()))
}

fn produced(expected: &ExpectedArtifact, file: &SeenFile) -> ProducedArtifact {
    ProducedArtifact {
        id: expected.id.clone(),
        path: file.path.clone(),
        size: file.size,
        sha256: file.sha256.clone(),
        text: file.text.clone(),
        redacted: file.holds_secret && file.text.is_some(),
    }
}

#[cfg(test)]
mod tests;
