//! The scheduling loop of the app, beside the pages: what is due is fired, what is abandoned continues.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use escrow_app::App;
use escrow_app::driver::block_on;
use escrow_app::schedule::Scheduler;

/// Runs that the loop drives at once.
const HOSTED_MAX: NonZeroUsize = NonZeroUsize::new(16).expect("16 is not 0");

/// Runs until the app is asked to stop, on a thread of its own: what it drives does not move between threads.
pub(crate) fn start(app: &Arc<App>) -> Option<JoinHandle<()>> {
    let scheduler = Scheduler::new(Arc::clone(app), HOSTED_MAX);
    let work = move || {
        // What a pass did is in the journals and in the list of fires. An error that is not the world's ends the loop;
        // pages are served all the same.
        let _ = block_on(scheduler.run(|_| {}));
    };
    // Without a thread, `escrow chain check` does the same once.
    thread::Builder::new().name("daemon".into()).spawn(work).ok()
}
