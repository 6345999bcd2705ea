//! Every promise about the flow of a run, as a sentence that can be checked.

mod approvals;
mod artifacts;
mod contracts;
mod criticality;
mod dependencies;
mod endings;
mod events;
mod fan_out;
mod gates;
mod guide;
mod history;
mod loops;
mod memory;
mod names;
mod outcomes;
mod overrides;
mod reconcile;
mod reopened;
mod resume;
mod retries;
mod routing;
mod rules;
mod stopping;
mod unknown_effects;
mod who_starts;
