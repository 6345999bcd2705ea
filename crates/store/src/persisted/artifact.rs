//! The persisted shape of expected artifacts, of what was seen of them, and of how they were judged.

use escrow_model::{
    ArtifactPath, Count, Delivery, DeliveryStatus, ExpectedArtifact, Expression, InspectedArtifact, Location,
    MissingArtifact, OuterArtifact, Problem, ProducedArtifact, Refused, SeenFile, Source, UnexpectedArtifact,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::persist::{Persist, RestoreError, Written, persisted_as_is, record};

persisted_as_is!(ArtifactPath, DeliveryStatus, Problem, Source, i64);

record!(ExpectedArtifactRecord for ExpectedArtifact {
    id: String,
    location: Location,
    required: bool,
    description: String = default,
    source: Source,
    min_size: u64,
    fresh: bool,
    mime_type: Option<String> = default,
    schema: Option<Value> = default,
    kind: Option<String> = default,
    replaces: Option<Source> = default,
    check: Option<String> = default,
    condition: Option<Expression> = default,
    content_read: bool = default,
});

/// One path, or every file that a pattern matches.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum LocationRecord {
    Path(ArtifactPath),
    Glob { pattern: String, min: u32, max: Option<u32> },
}

impl Persist for Location {
    type Record = LocationRecord;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = match self {
            Location::Path(path) => LocationRecord::Path(path.clone()),
            Location::Glob { pattern, count } => {
                LocationRecord::Glob { pattern: pattern.clone(), min: count.min, max: count.max }
            }
        };
        record.serialize(serializer)
    }

    fn restore(record: LocationRecord) -> Result<Location, RestoreError> {
        Ok(match record {
            LocationRecord::Path(path) => Location::Path(path),
            LocationRecord::Glob { pattern, min, max } => {
                Location::Glob { pattern, count: Count { min, max } }
            }
        })
    }
}

record!(InspectedArtifactRecord for InspectedArtifact {
    id: String,
    files: Vec<SeenFile>,
    refused: Option<Refused> = default,
});

record!(RefusedRecord for Refused {
    problem: Problem,
    detail: String,
});

record!(SeenFileRecord for SeenFile {
    path: String,
    size: u64,
    sha256: String = default,
    inode: u64,
    changed_ns: i64,
    mime_type: Option<String> = default,
    content: Option<Value> = default,
    repeated_key: Option<String> = default,
    holds_secret: bool = default,
    text: Option<String> = default,
});

record!(DeliveryRecord for Delivery {
    status: DeliveryStatus,
    checked_at_ms: u64,
    missing_required: Vec<MissingArtifact>,
    missing_optional: Vec<MissingArtifact>,
    produced: Vec<ProducedArtifact>,
    not_expected: Vec<UnexpectedArtifact> = default,
});

record!(UnexpectedArtifactRecord for UnexpectedArtifact {
    id: String,
    path: String,
    condition: String,
});

record!(MissingArtifactRecord for MissingArtifact {
    id: String,
    path: String,
    required: bool,
    description: String,
    source: Source,
    problem: Problem,
    detail: String = default,
});

record!(OuterArtifactRecord for OuterArtifact {
    directory: String,
    gate: String,
    id: String,
    location: Location,
    files: Vec<ProducedArtifact>,
});

record!(ProducedArtifactRecord for ProducedArtifact {
    id: String,
    path: String,
    size: u64,
    sha256: String,
    text: Option<String> = default,
    redacted: bool = default,
});
