//! Chains: what makes them fire.

mod schedule;
mod trigger;

use escrow_model::Trigger;

pub use schedule::ScheduleClock;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::yaml;

/// The result of reading a trigger.
#[derive(Debug)]
pub struct TriggerReading {
    /// `None` when there are errors.
    pub trigger: Option<Trigger>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the value of `trigger` by itself, in YAML or JSON.
pub fn read_trigger(text: &str, file: &str) -> TriggerReading {
    let mut found = Diagnostics::default();
    let trigger = yaml::parse(text, &mut found).and_then(|node| trigger::decode(&node, &mut found));
    let trigger = trigger.filter(|_| !found.has_errors());
    TriggerReading { trigger, diagnostics: found.finish(text, file) }
}
