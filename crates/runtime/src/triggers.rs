//! What makes chains fire: one file per kind of trigger, one line in [`TRIGGERS`].
//!
//! ```text
//!   clock, feed, files, GitHub ──look──▶ Recording ──▶ store: fires
//!   webhook ──verify, read──▶ TriggerEvent ──offer──▶ Recording ──▶ store: fires
//! ```
//!
//! **Invariant:** a look changes nothing. What it found is recorded by its caller, whole or not at all, so that a process
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

/// What a look finds. It stays on its thread.
pub type LookFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<Recording>, LookError>> + 'a>>;

/// A kind of trigger.
pub trait TriggerKind: Sync {
    /// As documents name it.
    fn name(&self) -> &'static str;

    /// Finds what has happened since the last look. Many kinds are told instead, and find nothing.
    fn look<'a>(&'a self, looking: &'a Looking<'a>) -> LookFuture<'a> {
        let _ = looking;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Whether a look depends on the clock or on other machines, so that once per check is enough.
    fn is_outside(&self) -> bool;
}

/// Every kind of trigger, in the order in which `chain check` looks.
pub const TRIGGERS: &[&dyn TriggerKind] = &[
    &schedule::ScheduleTrigger,
    &file::FileTrigger,
    &github_poll::GithubPoll,
    &run_completed::RunCompleted,
    &webhook::Webhook,
    &manual::Manual,
];

/// What a look may read.
pub struct Looking<'a> {
    pub fires: &'a dyn Fires,
    pub queries: &'a dyn Queries,
    /// The directory that the paths of `file.changed` are relative to.
    pub project: &'a Path,
    pub settings: &'a Settings,
    pub now_ms: Millis,
    pub cancellation: &'a Cancellation,
}

/// Why a source could not be read. The next look tries again.
#[derive(Debug, Error)]
pub enum LookError {
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
