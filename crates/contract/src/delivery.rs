//! Judges the artifacts that were seen against those that were promised.

use std::collections::BTreeMap;

use escrow_model::{
    ArtifactContract, Delivery, DeliveryStatus, ExpectedArtifact, Location, Millis, MissingArtifact, Outcome,
    Problem, ProducedArtifact, SeenFile, Sighting,
};

use crate::Schema;
use crate::outcome::Kind;

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
    before: &[Sighting],
    seen: &[Sighting],
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
    fn of(sightings: &'a [Sighting]) -> Before<'a> {
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
    seen: Option<&'s Sighting>,
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
    if let Some(schema) = &expected.schema {
        let content = file.content.as_ref().ok_or_else(|| lack(Problem::Schema, "it is not JSON"))?;
        let schema =
            Schema::compile(schema).map_err(|_| lack(Problem::Schema, "the schema cannot be compiled"))?;
        let violations = schema.violations(content);
        if !violations.is_empty() {
            return Err(lack(Problem::Schema, violations.into_iter().take(3).collect::<Vec<_>>().join("; ")));
        }
    }
    let Some(name) = &expected.kind else { return Ok(None) };
    let content = file.content.as_ref().ok_or_else(|| lack(Problem::Schema, "it is not JSON"))?;
    let kind =
        kinds(name).ok_or_else(|| lack(Problem::Schema, format!("no outcome kind is called `{name}`")))?;
    kind.judge(content).map(Some).map_err(|error| lack(Problem::Schema, error.to_string()))
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
    use escrow_model::{ArtifactPath, Count, Refused, Source};

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
            replaces: None,
            check: None,
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

    fn judge(contract: &ArtifactContract, before: &[Sighting], seen: &[Sighting]) -> Delivery {
        judge_delivery(contract, &Kind::registered, before, seen, 0).delivery
    }

    /// What judging this one artifact comes to: `passed`, or the problem.
    fn check(expected: &ExpectedArtifact, before: Vec<SeenFile>, seen: Vec<SeenFile>) -> String {
        let contract = ArtifactContract { expected: vec![expected.clone()] };
        let delivery = judge(&contract, &[sighting(before)], &[sighting(seen)]);
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
    fn a_file_of_a_kind_must_parse_as_one_and_its_outcome_is_handed_on() {
        let typed = ExpectedArtifact { kind: Some("gate_verdict".into()), ..review() };
        let with = |content: Option<serde_json::Value>| SeenFile { content, ..file("review.md", 10, 1) };
        let verify = |seen: SeenFile| {
            let contract = ArtifactContract { expected: vec![typed.clone()] };
            judge_delivery(&contract, &Kind::registered, &[], &[sighting(vec![seen])], 0)
        };
        let good = verify(with(Some(serde_json::json!({"gate_passed": true, "summary": "fine"}))));
        assert_eq!(good.delivery.status, DeliveryStatus::Passed);
        assert_eq!(
            (good.outcomes[0].path.as_str(), good.outcomes[0].outcome.passed),
            ("review.md", Some(true))
        );
        for (content, says) in [
            (None, "it is not JSON"),
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
        let refused = judge_delivery(&contract, &Kind::registered, &[], &seen, 0).delivery;
        assert_eq!(
            refused.missing_required[0].problem,
            Problem::Schema,
            "a kind that nobody knows is not met"
        );
    }

    #[test]
    fn a_place_that_leads_out_of_the_directory_is_refused() {
        let contract = ArtifactContract { expected: vec![review()] };
        let outside = Sighting {
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
}
