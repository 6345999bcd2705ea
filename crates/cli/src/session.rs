//! The app as the terminal uses it: the person of this shell, a live view of each run, and signals that stop runs.

use std::sync::Arc;

use escrow_app::{App, Caller, Error, StateDirectory};
use escrow_runtime::cancellation::Canceller;
use escrow_runtime::process::is_ignored_signal;

use crate::arguments::Shared;
use crate::terminal::{LiveView, Ui};

/// The app over the state directory of this call. Creates nothing.
pub(crate) fn app(shared: &Shared, ui: &Ui) -> Result<App, Error> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let ui = ui.clone();
    let views = Arc::new(move |run: &_| Box::new(LiveView::new(&ui, run)) as _);
    Ok(App::new(state, Caller { program: "cli", person: person() }).with_views(views))
}

/// Does work that may drive runs. Ctrl-C, SIGTERM and SIGHUP end the runs with all their processes.
///
/// The future of a driven run is large, so it is boxed here once and callers stay small.
pub(crate) fn drive<'a, T>(
    app: &'a App,
    work: impl Future<Output = Result<T, Error>> + 'a,
) -> impl Future<Output = Result<T, Error>> + 'a {
    let work = Box::pin(work);
    async move {
        stop_on_signals(&app.canceller());
        work.await
    }
}

/// Signals that this process was told to ignore, for instance by `nohup`, stay ignored.
fn stop_on_signals(canceller: &Canceller) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    for kind in kinds.into_iter().filter(|kind| !is_ignored_signal(kind.as_raw_value())) {
        if let Ok(mut stream) = signal(kind) {
            let canceller = canceller.clone();
            tokio::spawn(async move {
                stream.recv().await;
                canceller.cancel();
            });
        }
    }
}

/// The person who acts, as far as the environment tells.
fn person() -> Option<String> {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok().filter(|name| !name.is_empty())
}
