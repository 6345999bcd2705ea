//! Virtual time: it advances when nothing else can happen, and jumps when a case says so.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use escrow_model::Millis;
use tokio::time::Instant;

/// The clock of every case starts here: 2026-01-01T00:00:00Z.
pub(crate) const START_MS: Millis = 1_767_225_600_000;

/// The wall clock of a machine whose owner sets it now and then.
pub(crate) struct Clock {
    started: Instant,
    offset_ms: AtomicI64,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { started: Instant::now(), offset_ms: AtomicI64::new(0) }
    }

    pub(crate) fn now_ms(&self) -> Millis {
        let passed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        (START_MS + passed).saturating_add_signed(self.offset_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn jump(&self, by_ms: i64) {
        self.offset_ms.fetch_add(by_ms, Ordering::Relaxed);
    }

    /// When so much time has really passed, whatever the clock shows.
    pub(crate) fn incident(&self, after_ms: u64) -> Instant {
        self.started + Duration::from_millis(after_ms)
    }
}
