//! `simulate --seed N --runs N [--store memory|sqlite] [--jobs N] [--first N] [--case N]`, or
//! `simulate --fires N [--seed N]`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it says what it found")]

use std::process::ExitCode;
use std::time::Instant;

use escrow_simulator::{Progress, Settings, StoreKind, one, play_fires, simulate};

const USAGE: &str =
    "usage: simulate [--seed N] [--runs N] [--store memory|sqlite] [--jobs N] [--first N] [--case N]
       simulate --fires N [--seed N]

  --seed N    where chance begins (1)
  --runs N    how many runs to simulate (10000)
  --first N   the case to begin with (0)
  --store S   memory, or sqlite with real files below $TMPDIR
  --jobs N    how many at once (the cores)
  --case N    play this one alone, and tell everything about it
  --fires N   simulate fires of chains instead of runs";

/// How many fires one world plays.
const FIRES_OF_A_WORLD: u64 = 2_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--fires") {
        return fires(&words);
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

fn fires(words: &[String]) -> ExitCode {
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let (Some(wanted), seed) = (number(1), number(3).unwrap_or(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let started = Instant::now();
    let mut sum = escrow_simulator::FiresPlayed::default();
    let mut seed = seed;
    while sum.fires < wanted {
        match play_fires(seed, FIRES_OF_A_WORLD.min(wanted - sum.fires)) {
            Ok(played) => sum.add(&played),
            Err(problem) => {
                println!("{problem}");
                return ExitCode::FAILURE;
            }
        }
        seed += 1;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{} fires, {} begun, {} skipped, {} missed; {} deaths, {} repeated deliveries, {} jumps of the clock: {seconds:.1} s",
        sum.fires, sum.begun, sum.skipped, sum.missed, sum.deaths, sum.repeated, sum.jumps
    );
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
