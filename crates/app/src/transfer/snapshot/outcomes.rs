//! Outcomes that people added to a run. No journal proves them: they must belong to the run, and be what their kind
//! admits.

use escrow_contract::outcome::Kind;
use escrow_engine::Run;
use escrow_model::{ArtifactPath, OutcomeId};

use super::{Snapshot, Unsound};

pub(super) fn check(snapshot: &Snapshot, run: &Run) -> Result<(), Unsound> {
    for added in &snapshot.outcomes {
        let recorded = &added.outcome;
        let unsound =
            |problem: &str| Unsound::Outcome { id: recorded.id.to_string(), problem: problem.to_owned() };
        if added.run_id.as_ref() != Some(&snapshot.run) {
            return Err(unsound("belongs to another run"));
        }
        let made = OutcomeId::new(recorded.id.at_ms(), 0);
        if recorded.id.as_str().len() != made.as_str().len() || recorded.id.at_ms() != added.created_at {
            return Err(unsound("has an invalid id"));
        }
        if recorded.file_path.as_deref().is_some_and(|path| ArtifactPath::parse(path).is_err()) {
            return Err(unsound("names an invalid file path"));
        }
        let own = |name: &str| run.plan_of().outcome_kinds.get(name);
        // A kind of the project that the plan does not carry cannot be judged here, and is kept as it is.
        if let Some(kind) = Kind::find(&recorded.outcome.kind, own) {
            let judged = kind
                .judge(&recorded.outcome.content)
                .map_err(|refused| unsound(&format!("is refused: {refused}")))?;
            if judged.passed != recorded.outcome.passed {
                return Err(unsound("contradicts itself"));
            }
        }
    }
    Ok(())
}
