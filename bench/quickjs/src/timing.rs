//! Medians of two pieces of work, timed by turns.
//!
//! The clock is the thread's own: it stands still while the machine does something else, and neither engine waits
//! for anything.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How long one piece of work takes, per engine.
pub(crate) struct Medians {
    pub(crate) escrow_ns: f64,
    pub(crate) quickjs_ns: f64,
}

const SAMPLES: usize = 201;
const SAMPLE_LASTS: Duration = Duration::from_micros(200);

/// Times both by turns. Both must hold: a gate that fails at once would look fast.
pub(crate) fn alternate(mut escrow: impl FnMut() -> bool, mut quickjs: impl FnMut() -> bool) -> Medians {
    assert!(escrow() && quickjs(), "the gate holds in both engines");
    let escrow_turns = turns_per_sample(&mut escrow);
    let quickjs_turns = turns_per_sample(&mut quickjs);
    let mut escrow_ns = Vec::with_capacity(SAMPLES);
    let mut quickjs_ns = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        escrow_ns.push(nanoseconds_per_turn(&mut escrow, escrow_turns));
        quickjs_ns.push(nanoseconds_per_turn(&mut quickjs, quickjs_turns));
    }
    Medians { escrow_ns: median(escrow_ns), quickjs_ns: median(quickjs_ns) }
}

/// Doubles until a sample lasts long enough for the clock, which also warms the work up.
fn turns_per_sample(work: &mut impl FnMut() -> bool) -> u32 {
    let mut turns = 1;
    while nanoseconds_per_turn(work, turns) * f64::from(turns) < SAMPLE_LASTS.as_nanos() as f64 {
        turns *= 2;
    }
    turns
}

fn nanoseconds_per_turn(work: &mut impl FnMut() -> bool, turns: u32) -> f64 {
    let start_ns = thread_ns();
    for _ in 0..turns {
        black_box(work());
    }
    (thread_ns() - start_ns) / f64::from(turns)
}

/// How long this thread has run.
fn thread_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
