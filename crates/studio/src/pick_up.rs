//! Picks up abandoned runs: those whose process is gone, and waiting ones that have something to do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use escrow_app::driver::block_on;
use escrow_app::{App, Error, runs};
use escrow_model::RunId;

use crate::studio::Studio;

const INTERVAL: Duration = Duration::from_secs(2);

/// Looks now and then until the app stops, on a thread of its own: replaying runs takes time.
pub(crate) fn start(studio: &Arc<Studio>) {
    let studio = Arc::clone(studio);
    // Without a thread, abandoned runs wait for `escrow resume --all`.
    let _ = thread::Builder::new().name("pick-up".into()).spawn(move || block_on(watch(&studio)));
}

/// Runs that are driven here, and those that could not be driven, with the entry that they were at then.
#[derive(Default)]
struct Known {
    driven: BTreeSet<RunId>,
    failed: BTreeMap<RunId, u64>,
}

async fn watch(studio: &Studio) -> Result<(), Error> {
    let known: Arc<Mutex<Known>> = Arc::default();
    loop {
        // A database that cannot be read now may be readable later.
        let _ = look(studio, &known).await;
        tokio::select! {
            () = studio.app.stopped() => return Ok(()),
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

async fn look(studio: &Studio, known: &Arc<Mutex<Known>>) -> Result<(), Error> {
    for row in runs::abandoned(&studio.app).await? {
        {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let has_failed = known.failed.get(&row.id).is_some_and(|seq| *seq == row.seq);
            if has_failed || !known.driven.insert(row.id.clone()) {
                continue;
            }
        }
        let known = Arc::clone(known);
        let hosted = studio.driver.spawn(move |app: Arc<App>| async move {
            let outcome = runs::pick_up(&app, &row).await;
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.driven.remove(&row.id);
            if outcome.is_err() {
                known.failed.insert(row.id.clone(), row.seq);
            }
            outcome
        });
        drop(hosted);
    }
    Ok(())
}
