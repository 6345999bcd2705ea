//! What a caller shows of a run while it is driven.

use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{Entry, ScopePath};
use escrow_runtime::Observer;
use escrow_runtime::process::Stream;

/// Sees one run, on the thread that drives it.
pub trait RunView: Observer {
    /// Trouble beside the run, such as telemetry that was not delivered. It changes nothing about the run.
    fn warning(&mut self, text: &str);

    /// What happens before the run begins, such as a wait for another run.
    fn notice(&mut self, _text: &str) {}

    /// The entries from before the run is driven. They are not news, but counts include them.
    fn remember(&mut self, _entries: &[Entry]) {}

    /// The run has ended or waits. Not called when driving it failed.
    fn at_rest(&mut self, run: &Run);
}

/// Makes the view of each run that is about to be driven.
pub type Views = Arc<dyn Fn(&Run) -> Box<dyn RunView> + Send + Sync>;

/// For callers that read the journal instead.
pub fn no_views() -> Views {
    Arc::new(|_| Box::new(NoView))
}

struct NoView;

impl Observer for NoView {
    fn committed(&mut self, _run: &Run, _entries: &[Entry]) {}

    fn output(&mut self, _check: &str, _scope: &ScopePath, _stream: Stream, _bytes: &[u8]) {}

    fn tick(&mut self, _run: &Run) {}
}

impl RunView for NoView {
    fn warning(&mut self, _text: &str) {}

    fn at_rest(&mut self, _run: &Run) {}
}
