//! Judges the artifacts that were seen against those that were promised.

use std::collections::BTreeMap;

use escrow_model::{
    ArtifactContract, Delivery, DeliveryStatus, ExpectedArtifact, InspectedArtifact, Location, Millis,
    MissingArtifact, Outcome, Problem, ProducedArtifact, SeenFile,
};

use crate::Schema;
use crate::outcome::{BYTES_MAX, Kind};

/// What became of a contract.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    pub delivery: Delivery,
    /// The outcomes that delivered files hold, where their `kind` was promised.
    pub outcomes: Vec<DeliveredOutcome>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeliveredOutcome {
    pub id: String,
    pub path: String,
    pub outcome: Outcome,
}

/// A file counts as delivered when it is there, large enough, of the promised type, and new since `before`.
/// An expected artifact that nobody looked for counts as absent. `kinds` knows the outcome kinds by name.
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
    };
    if contract.expected.is_empty() {
        return Verified { delivery, outcomes };
    }
    let before = Before::of(before);
    for expected in &contract.expected {
        let seen = seen.iter().find(|sighting| sighting.id == expected.id);
        match judge_one(expected, kinds, &before, seen) {
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
            Err(Lack { problem, detail }) => {
                let missing = MissingArtifact {
                    id: expected.id.clone(),
                    path: expected.location.label().to_owned(),
                    required: expected.required,
                    description: expected.description.clone(),
                    source: expected.source,
                    problem,
                    detail,
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
    Verified { delivery, outcomes }
}

/// Why something is not a delivery, and what was seen instead.
struct Lack {
    problem: Problem,
    detail: String,
}

impl From<Problem> for Lack {
    fn from(problem: Problem) -> Lack {
        Lack { problem, detail: String::new() }
    }
}

fn lack(problem: Problem, detail: impl Into<String>) -> Lack {
    Lack { problem, detail: detail.into() }
}

/// The files that were there before the run, by path.
struct Before<'a>(BTreeMap<&'a str, &'a SeenFile>);

impl<'a> Before<'a> {
    fn of(sightings: &'a [InspectedArtifact]) -> Before<'a> {
        let files = sightings.iter().flat_map(|sighting| &sighting.files);
        Before(files.map(|file| (file.path.as_str(), file)).collect())
    }

    /// Absent at the start, or another inode or change time than then.
    fn lacks(&self, file: &SeenFile) -> bool {
        match self.0.get(file.path.as_str()) {
            None => true,
            Some(old) => old.inode != file.inode || old.changed_ns != file.changed_ns,
        }
    }
}

/// Files that count, each with the outcome that it holds.
type Files<'s> = Vec<(&'s SeenFile, Option<Outcome>)>;

fn judge_one<'s>(
    expected: &ExpectedArtifact,
    kinds: &dyn Fn(&str) -> Option<Kind>,
    before: &Before<'_>,
    seen: Option<&'s InspectedArtifact>,
) -> Result<Files<'s>, Lack> {
    let Some(seen) = seen else { return Err(Problem::Absent.into()) };
    if let Some(refused) = &seen.refused {
        return Err(lack(refused.problem, refused.detail.clone()));
    }
    match &expected.location {
        Location::Path(_) => {
            let file = seen.files.first().ok_or(Problem::Absent)?;
            let outcome = judge_file(expected, kinds, before, file)?;
            Ok(vec![(file, outcome)])
        }
        Location::Glob { count, .. } => {
            let mut first_lack = None;
            let mut good = Vec::new();
            for file in &seen.files {
                match judge_file(expected, kinds, before, file) {
                    Ok(outcome) => good.push((file, outcome)),
                    Err(lack) => first_lack = first_lack.or(Some((file, lack))),
                }
            }
            let number = u32::try_from(good.len()).unwrap_or(u32::MAX);
            if number < count.min {
                return Err(match first_lack {
                    Some((file, Lack { problem, detail })) => {
                        let what = if detail.is_empty() { problem.in_words().to_owned() } else { detail };
                        lack(problem, format!("{}: {what}", file.path))
                    }
                    None if seen.files.is_empty() => Problem::Absent.into(),
                    None => lack(Problem::Count, format!("{number} of at least {}", count.min)),
                });
            }
            match count.max {
                Some(max) if number > max => Err(lack(Problem::Count, format!("{number}, at most {max}"))),
                _ => Ok(good),
            }
        }
    }
}

fn judge_file(
    expected: &ExpectedArtifact,
    kinds: &dyn Fn(&str) -> Option<Kind>,
    before: &Before<'_>,
    file: &SeenFile,
) -> Result<Option<Outcome>, Lack> {
    if file.size == 0 && expected.min_size > 0 {
        return Err(Problem::Empty.into());
    }
    if expected.fresh && !before.lacks(file) {
        return Err(Problem::Stale.into());
    }
    if file.size < expected.min_size {
        return Err(lack(
            Problem::TooSmall,
            format!("{} of at least {} bytes", file.size, expected.min_size),
        ));
    }
    if let Some(wanted) = &expected.mime_type
        && file.mime_type.as_deref() != Some(wanted.as_str())
    {
        let is = file.mime_type.as_deref().unwrap_or("of no known type");
        return Err(lack(Problem::WrongType, format!("{is}, not {wanted}")));
    }
    let not_parsed = || match file.size > BYTES_MAX as u64 {
        true => lack(Problem::Schema, "it is longer than the 16 MiB that are parsed"),
        false => lack(Problem::Schema, "it is not JSON"),
    };
    if let Some(schema) = &expected.schema {
        let content = file.content.as_ref().ok_or_else(not_parsed)?;
        let schema =
            Schema::compile(schema).map_err(|_| lack(Problem::Schema, "the schema cannot be compiled"))?;
        let violations = schema.violations(content);
        if !violations.is_empty() {
            return Err(lack(Problem::Schema, violations.into_iter().take(3).collect::<Vec<_>>().join("; ")));
        }
    }
    let Some(name) = &expected.kind else { return Ok(None) };
    let content = file.content.as_ref().ok_or_else(not_parsed)?;
    let kind =
        kinds(name).ok_or_else(|| lack(Problem::Schema, format!("no outcome kind is called `{name}`")))?;
    let judged = kind.judge_read(content, file.repeated_key.as_deref());
    judged.map(Some).map_err(|error| lack(Problem::Schema, error.to_string()))
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
mod tests;
