//! `simulate --seed N --runs N [--store memory|sqlite] [--jobs N] [--first N] [--case N]`, or
//! `simulate --chains N [--seed N] [--jobs N]`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it says what it found")]

use std::process::ExitCode;
use std::time::Instant;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use escrow_simulator::{ChainsPlayed, Progress, Settings, StoreKind, one, play_chains, simulate};

const USAGE: &str =
    "usage: simulate [--seed N] [--runs N] [--store memory|sqlite] [--jobs N] [--first N] [--case N]
       simulate --chains N [--seed N] [--jobs N]

  --seed N    where chance begins (1)
  --runs N    how many runs to simulate (10000)
  --first N   the case to begin with (0)
  --store S   memory, or sqlite with real files below $TMPDIR
  --jobs N    how many at once (the cores)
  --case N    play this one alone, and tell everything about it
  --chains N  simulate runs of chains, with their fires and the runs inside them";

/// How many runs of chains one world plays.
const RUNS_OF_A_WORLD: u64 = 80;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--chains") {
        return match read_chains(&words) {
            Some((runs, seed, jobs)) => chains(runs, seed, jobs),
            None => {
                eprintln!("{USAGE}");
                ExitCode::from(2)
            }
        };
    }
    let (settings, case) = match read(words.into_iter()) {
        Ok(read) => read,
        Err(problem) => {
            eprintln!("{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(number) = case {
        return match one(settings.seed, number) {
            Some((report, true)) => {
                println!("{report}");
                ExitCode::SUCCESS
            }
            Some((report, false)) => {
                println!("{report}");
                ExitCode::FAILURE
            }
            None => {
                println!("case {number} has a plan that does not load; it counts as played");
                ExitCode::SUCCESS
            }
        };
    }
    // What panics is caught, played again and reported.
    std::panic::set_hook(Box::new(|_| {}));
    let started = Instant::now();
    let found = simulate(&settings);
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{} runs ({} nested, {} processes, {} entries) from seed {} on {} with {} at once: {seconds:.1} s",
        found.runs,
        found.nested,
        found.lives,
        found.entries,
        settings.seed,
        settings.store.as_str(),
        settings.jobs,
    );
    for (status, count) in &found.endings {
        println!("  {count:>9} {status}");
    }
    for (situation, count) in &found.situations {
        println!("  {count:>9} {situation}");
    }
    match found.failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            println!("\ncase {} fails: {}", failure.number, failure.report);
            println!("again: just simulate --seed {} --case {}", settings.seed, failure.number);
            ExitCode::FAILURE
        }
    }
}

fn read_chains(words: &[String]) -> Option<(u64, u64, u64)> {
    let (mut runs, mut seed) = (0, 1);
    let mut jobs = std::thread::available_parallelism().map_or(1, |jobs| jobs.get() as u64);
    for pair in words.chunks(2) {
        let number = pair.get(1)?.parse().ok()?;
        match pair[0].as_str() {
            "--chains" => runs = number,
            "--seed" => seed = number,
            "--jobs" => jobs = number.clamp(1, 256),
            _ => return None,
        }
    }
    Some((runs, seed, jobs))
}

/// Plays worlds of chains, one after another on each thread, each with a seed of its own.
fn chains(runs: u64, seed: u64, jobs: u64) -> ExitCode {
    let started = Instant::now();
    let worlds = runs.div_ceil(RUNS_OF_A_WORLD);
    let next = AtomicU64::new(0);
    let found = Mutex::new((ChainsPlayed::default(), None::<String>));
    let lock = || found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    std::thread::scope(|scope| {
        let work = || loop {
            let world = next.fetch_add(1, Ordering::Relaxed);
            if world >= worlds || lock().1.is_some() {
                return;
            }
            let own_seed = seed.wrapping_add(world);
            let wanted = RUNS_OF_A_WORLD.min(runs - world * RUNS_OF_A_WORLD);
            let played = std::panic::catch_unwind(|| play_chains(own_seed, wanted));
            let played = played.unwrap_or_else(|_| Err(format!("seed {own_seed}: it panics")));
            let mut found = lock();
            match played {
                Ok(played) => found.0.add(&played),
                Err(problem) => found.1 = Some(problem),
            }
            if found.0.runs > 0 && world % 40 == 39 {
                eprintln!("{} runs played", found.0.runs);
            }
        };
        (0..jobs).for_each(|_| drop(scope.spawn(work)));
    });
    let (sum, problem) = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(problem) = problem {
        println!("{problem}");
        return ExitCode::FAILURE;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{} runs of chains with {} runs of playbooks in {worlds} worlds from seed {seed}: {seconds:.1} s",
        sum.runs, sum.nested
    );
    for (ending, count) in &sum.endings {
        println!("  {count:>9} {ending}");
    }
    for (count, what) in [
        (sum.fires, "fires"),
        (sum.skipped, "fires skipped with a reason"),
        (sum.missed, "ticks missed with a reason"),
        (sum.repeated, "deliveries repeated"),
        (sum.deaths, "daemons killed"),
        (sum.frozen, "daemons frozen"),
        (sum.jumps, "jumps of the clock"),
        (sum.redefined, "definitions replaced"),
        (sum.replaced, "requests to make way"),
        (sum.polled, "pull requests that only a poll has told"),
        (sum.files, "files that were written"),
        (sum.decisions, "decisions of people"),
    ] {
        println!("  {count:>9} {what}");
    }
    ExitCode::SUCCESS
}

fn read(mut words: impl Iterator<Item = String>) -> Result<(Settings, Option<u64>), String> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut settings =
        Settings { seed: 1, runs: 10_000, first: 0, store: StoreKind::Memory, jobs, observer: tell };
    let mut case = None;
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("`{word}` wants a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is not a number"));
        match word.as_str() {
            "--seed" => settings.seed = number()?,
            "--runs" => settings.runs = number()?,
            "--first" => settings.first = number()?,
            "--jobs" => settings.jobs = usize::try_from(number()?).unwrap_or(1).clamp(1, 256),
            "--case" => case = Some(number()?),
            "--store" => {
                settings.store = match value.as_str() {
                    "memory" => StoreKind::Memory,
                    "sqlite" => StoreKind::Sqlite,
                    other => return Err(format!("there is no store `{other}`")),
                }
            }
            other => return Err(format!("there is no option `{other}`")),
        }
    }
    Ok((settings, case))
}

fn tell(progress: Progress) {
    match progress {
        Progress::Played(runs) => eprintln!("{runs} runs played"),
        Progress::Slow(case) => eprintln!("case {case} is still being played"),
        Progress::Failed(case) => eprintln!("case {case} fails; it is being cut down"),
    }
}
