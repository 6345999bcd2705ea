//! What makes chains fire: one file per kind of trigger, one line in [`TRIGGERS`].
//!
//! ```text
//!   clock, feed, files, GitHub ──poll──▶ Recording ──▶ store: fires
//!   webhook ──verify, read──▶ TriggerEvent ──offer──▶ Recording ──▶ store: fires
//! ```
//!
//! **Invariant:** a poll changes nothing. What it found is recorded by its caller, whole or not at all, so that a process
//! that dies in between has neither lost nor doubled anything.

pub mod event;
pub mod file;
pub mod github;
pub mod github_poll;
pub mod manual;
pub mod run_completed;
pub mod schedule;
pub mod webhook;

use std::path::Path;
use std::pin::Pin;

use escrow_model::Millis;
use escrow_store::{Fires, Queries, Recording, StoreError};
use thiserror::Error;

use crate::cancellation::Cancellation;
use crate::config::Settings;

pub use event::{Origin, offer};

/// What a poll finds. It stays on its thread.
pub type PollFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<Recording>, PollError>> + 'a>>;

/// A kind of trigger.
pub trait TriggerKind: Sync {
    /// As documents name it.
    fn name(&self) -> &'static str;

    /// Finds what has happened since the last poll. Many kinds are told instead, and find nothing.
    fn poll<'a>(&'a self, context: &'a PollContext<'a>) -> PollFuture<'a> {
        let _ = context;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Whether a poll depends on the clock or on other machines, so that once per check is enough.
    fn is_outside(&self) -> bool;
}

/// Every kind of trigger, in the order in which `chain check` polls them.
pub const TRIGGERS: &[&dyn TriggerKind] = &[
    &schedule::ScheduleTrigger,
    &file::FileTrigger,
    &github_poll::GithubPoll,
    &run_completed::RunCompleted,
    &webhook::Webhook,
    &manual::Manual,
];

/// What a poll may read.
pub struct PollContext<'a> {
    pub fires: &'a dyn Fires,
    pub queries: &'a dyn Queries,
    /// The directory that the paths of `file.changed` are relative to.
    pub project: &'a Path,
    pub settings: &'a Settings,
    pub now_ms: Millis,
    pub cancellation: &'a Cancellation,
}

/// Why a source could not be read. The next poll tries again.
#[derive(Debug, Error)]
pub enum PollError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Source(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = TRIGGERS.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TRIGGERS.len());
    }
}
