//! The app as the terminal uses it: the person of this shell, a live view of each run, and signals that stop runs.

use std::sync::Arc;

use escrow_app::{App, Caller, Error, StateDirectory};
use escrow_engine::Run;
use escrow_runtime::os_actor;
use escrow_runtime::process::{is_ignored_signal, runs_around};

use crate::arguments::Shared;
use crate::terminal::{LiveView, Ui};

/// The app over the state directory of this call. Creates nothing.
pub(crate) fn app(shared: &Shared, ui: &Ui) -> Result<App, Error> {
    app_with(shared, ui, LiveView::new)
}

/// The same for a call that drives several runs side by side.
pub(crate) fn app_for_many(shared: &Shared, ui: &Ui) -> Result<App, Error> {
    app_with(shared, ui, LiveView::labelled)
}

fn app_with(shared: &Shared, ui: &Ui, view: fn(&Ui, &Run) -> LiveView) -> Result<App, Error> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let caller = Caller { program: "cli", actor: Some(os_actor()), runs_around };
    let ui = ui.clone();
    let views = Arc::new(move |run: &Run| Box::new(view(&ui, run)) as _);
    Ok(App::new(state, caller).with_views(views))
}

/// From here on, Ctrl-C, SIGTERM and SIGHUP end the runs that the app drives, with all their processes. Signals that
/// this process was told to ignore, for instance by `nohup`, stay ignored.
pub(crate) fn stop_on_signals(app: &App) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    for kind in kinds.into_iter().filter(|kind| !is_ignored_signal(kind.as_raw_value())) {
        if let Ok(mut stream) = signal(kind) {
            let canceller = app.canceller();
            tokio::spawn(async move {
                stream.recv().await;
                canceller.cancel();
            });
        }
    }
}
