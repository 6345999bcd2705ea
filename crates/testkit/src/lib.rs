//! Scripts the world for tests: providers that answer as told, and a clock that is wound by hand.
//!
//!   check("gate {guarantee: output.ok}; post<gate external",   a plan, one check per line or `;`
//!         &["gate: {\"ok\": false}"],                          the world, see `Script`
//!         "started gate #1 …")                                 the timeline that the journal must tell
//!
//! Every play, whatever it is about, is also held to what must always be true: after each turn the journal
//! alone rebuilds the run, and a second play of the same script writes the same journal.

mod catalog;
mod checks;
mod document;
mod laws;
mod plan;
mod plans;
mod script;
mod stage;
mod timeline;
mod weather;

pub use catalog::catalog;
pub use checks::{Played, check, play, tells};
pub use document::document;
pub use laws::Reader;
pub use plan::{plan, try_plan, yaml};
pub use plans::{Flavour, random_plan};
pub use script::{Ask, Reply, Script, Step, World};
pub use stage::{Options, Stage, sightings};
pub use timeline::{state, timeline};
pub use weather::{Dice, Weather};
