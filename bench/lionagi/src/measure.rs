//! Rates as `measure.py` takes them: medians of five, by the wall and by the processor.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

const REPEATS: usize = 5;

/// `work(n)` does `n` things.
pub(crate) fn rate(name: &str, n: usize, unit: &str, mut work: impl FnMut(usize, usize)) {
    work(REPEATS, n / 10);
    let (mut wall, mut processor) = (Vec::new(), Vec::new());
    for turn in 0..REPEATS {
        let (start, used) = (Instant::now(), processor_s());
        work(turn, n);
        wall.push(n as f64 / start.elapsed().as_secs_f64());
        processor.push(n as f64 / (processor_s() - used).max(1e-9));
    }
    let (wall, processor) = (median(wall).round(), median(processor).round());
    println!("{}", json!({"bench": name, "unit": unit, "n": n, "wall_per_s_median": wall, "cpu_per_s_median": processor}));
}

/// How long one piece of work takes.
pub(crate) fn latency(name: &str, mut work: impl FnMut() -> usize) {
    let rows = work();
    let times = (0..101).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    });
    let times: Vec<f64> = times.collect();
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    println!("{}", json!({"bench": name, "unit": "ms", "rows": rows, "median_ms": median(times), "min_ms": least}));
}

fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
