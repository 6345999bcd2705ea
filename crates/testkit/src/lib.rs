//! Scripts runs for tests: providers that answer as told, in virtual time.
//!
//!   check("gate {guarantee: output.ok}; post<gate external",   a plan, one check per line or `;`
//!         &["gate: {\"ok\": false}"],                          the answers, see `Script`
//!         "started gate #1 …")                                 the expected timeline of the journal
//!
//! **Invariant:** in every play the journal alone rebuilds the run after each turn, and a second play of the same
//! script writes the same journal.

mod catalog;
mod checks;
mod document;
mod invariants;
mod plan;
mod random_answers;
mod random_plan;
mod rng;
mod script;
mod stage;
mod timeline;

pub use catalog::catalog;
pub use checks::{Played, check, play, tells};
pub use document::document;
pub use invariants::Invariants;
pub use plan::{NestedPlans, plan, try_plan, try_plan_nesting, yaml};
pub use random_answers::RandomAnswers;
pub use random_plan::{PlanFeatures, random_plan, random_plan_nesting};
pub use rng::Rng;
pub use script::{Script, Step};
pub use stage::{GivenFile, Options, Stage, sightings};
pub use timeline::{state, timeline};
