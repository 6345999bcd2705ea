//! Providers: each performs the requests of one type of check. `PROVIDERS` lists them.

pub mod ai;
pub mod command;
mod context;
mod environment;
pub mod github;
pub mod http;
mod places;
mod progress;

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_model::{Answer, ProviderSpec, Request, RunId, ScopePath};

use crate::cancellation::Cancellation;
use crate::process::Stream;
use crate::redaction::Redactor;

pub use context::{ContextFile, Contexts};
pub use environment::{Environment, MINIMAL_ENVIRONMENT};
pub use progress::{HarnessProgress, ProgressSink};

/// Every provider that the effect runner calls, in the order in which help lists them.
pub const PROVIDERS: &[&dyn Provider] = &[&command::Command, &ai::Ai, &http::Http, &github::Github];

/// Performs requests. A failure is part of the answer: `perform` does not panic, and it ends within the request's
/// `timeout_ms` and the attempt's grace.
pub trait Provider: Sync {
    fn spec(&self) -> &'static ProviderSpec;

    fn perform<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a>;

    /// Looks whether the effect of the request has happened, and changes nothing. The command of a `reconcile` is a request
    /// of its own; a provider that looks for its effects itself answers `{"finding", "detail", "output"}`.
    fn reconcile<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a> {
        self.perform(request, attempt)
    }
}

/// Work under way. It stays on the thread that began it.
pub type Performance<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// The context of a request: its attempt, directories, environment and secrets.
pub struct Attempt {
    pub run: RunId,
    /// What the run belongs to; what it starts belongs there too.
    pub invocation: Option<String>,
    pub check: String,
    pub scope: ScopePath,
    /// Counts from 1.
    pub number: u32,
    /// Where the work is done.
    pub directory: PathBuf,
    /// Where the run's artifacts go. It is there.
    pub artifacts: PathBuf,
    /// Where the run keeps output and what is handed back. Made when it is needed.
    pub spool: PathBuf,
    /// Where the run is kept: what the attempt starts finds the run there.
    pub state: PathBuf,
    /// Begins the names of this attempt's files in `spool`: a file name that no other attempt of the run has.
    pub label: String,
    /// Output stays in memory below this, unless it waits there for a second; 0 keeps every byte in files.
    pub spool_from_bytes: usize,
    /// Event, inputs, outputs and item as JSON, for `$ESCROW_CONTEXT`.
    pub context: Vec<u8>,
    pub contexts: Rc<Contexts>,
    pub environment: Environment,
    /// The secrets that this check asked for: for the environment of what it starts, and for nothing else.
    pub secrets: Vec<(String, OsString)>,
    /// The names of those that are handed over as a file.
    pub secret_files: Vec<String>,
    /// The names of those that are handed over as an open file.
    pub secret_descriptors: Vec<String>,
    /// Takes secrets out of what comes back.
    pub redactor: Arc<Redactor>,
    pub cancellation: Cancellation,
    /// Sees output as it comes. Must not block.
    pub live: Option<LiveOutput>,
    /// Sees the figures of a harness as they come. Must not block.
    pub progress: Option<ProgressSink>,
    /// How long processes may take to end after they were asked to.
    pub grace: Duration,
}

pub type LiveOutput = Box<dyn Fn(Stream, &[u8])>;

/// The provider of this name, if it works here.
pub fn find(name: &str) -> Option<&'static dyn Provider> {
    PROVIDERS.iter().copied().find(|provider| provider.spec().name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = PROVIDERS.iter().map(|provider| provider.spec().name).collect();
        assert_eq!(names.len(), PROVIDERS.len());
        for provider in PROVIDERS {
            let spec = provider.spec();
            let keys: BTreeSet<_> = spec.keys.iter().map(|key| key.name).collect();
            assert_eq!(keys.len(), spec.keys.len(), "{}", spec.name);
        }
    }

    #[test]
    fn a_provider_is_found_by_its_name() {
        assert!(find("command").is_some());
        assert!(find("comand").is_none());
    }
}
