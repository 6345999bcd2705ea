//! Tells the run around a nested run what it commits and prints.

use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{Entry, Plan, RunId, ScopePath};
use escrow_runtime::process::Stream;
use escrow_runtime::{NestedNews, NestedOutput, NewsSink, Observer};

/// Tells the run around it what a nested run commits.
pub(super) struct NewsObserver {
    /// The check that nests it, with its item.
    pub(super) place: String,
    pub(super) news: NewsSink,
    /// The nested run, once it has committed something.
    pub(super) seen: Option<(RunId, Arc<Plan>)>,
}

impl Observer for NewsObserver {
    fn committed(&mut self, run: &Run, entries: &[Entry]) {
        (self.news)(NestedNews {
            path: vec![self.place.clone()],
            run: run.options().run.clone(),
            plan: Arc::clone(run.plan_of()),
            entries: entries.to_vec(),
            output: None,
        });
        self.seen = Some((run.options().run.clone(), Arc::clone(run.plan_of())));
    }

    fn output(&mut self, check: &str, scope: &ScopePath, stream: Stream, bytes: &[u8]) {
        // A command prints only after its run has committed something.
        let Some((run, plan)) = self.seen.clone() else { return };
        let output = NestedOutput { label: format!("{check}{scope}"), stream, bytes: bytes.to_vec() };
        let path = vec![self.place.clone()];
        (self.news)(NestedNews { path, run, plan, entries: Vec::new(), output: Some(output) });
    }

    fn tick(&mut self, _run: &Run) {}

    fn nested(&mut self, news: &NestedNews) {
        let path = std::iter::once(&self.place).chain(&news.path).cloned().collect();
        let (run, plan, entries) = (news.run.clone(), Arc::clone(&news.plan), news.entries.clone());
        (self.news)(NestedNews { path, run, plan, entries, output: news.output.clone() });
    }
}
