//! The numbers of the navigation: counted once for each state of the store, and not for each page.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use escrow_app::Error;
use escrow_app::attention::items;
use escrow_app::runs::Queries;
use escrow_model::WaitKind;

/// A process that drives a run can die without a commit, so that counts grow old.
const AGE_MAX: Duration = Duration::from_secs(2);

/// Counting may use at most 1/20 of the time; larger stores are counted less often.
const SHARE: u32 = 20;

#[derive(Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) causes: usize,
    pub(crate) waiting: usize,
    version: u64,
    at: Instant,
    took: Duration,
}

#[derive(Default)]
pub(crate) struct Counts {
    last: Mutex<Option<Counted>>,
}

impl Counts {
    pub(crate) async fn of(&self, queries: &dyn Queries) -> Result<Counted, Error> {
        let version = queries.version().await?;
        let known = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh =
            |one: &Counted| one.version == version && one.at.elapsed() < AGE_MAX.max(one.took * SHARE);
        if let Some(known) = known.filter(is_fresh) {
            return Ok(known);
        }
        let start = Instant::now();
        let causes = items(queries).await?.iter().filter(|item| item.dismissed.is_none()).count();
        let waits = queries.open_waits().await?;
        let waiting = waits.iter().filter(|wait| wait.kind != WaitKind::Nested).count();
        let counted = Counted { causes, waiting, version, at: Instant::now(), took: start.elapsed() };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(counted);
        Ok(counted)
    }
}
