//! `simulate --seed N --runs N [--store memory|sqlite] [--case N] [--jobs N]`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it says what it found")]

use std::process::ExitCode;
use std::time::Instant;

use escrow_simulator::{Settings, StoreKind, one, simulate};

const USAGE: &str = "usage: simulate [--seed N] [--runs N] [--store memory|sqlite] [--jobs N] [--case N]

  --seed N    where chance begins (1)
  --runs N    how many runs to simulate (10000)
  --store S   memory, or sqlite with real files below $TMPDIR
  --jobs N    how many at once (the cores)
  --case N    play this one alone, and tell everything about it";

fn main() -> ExitCode {
    let (settings, case) = match read(std::env::args().skip(1)) {
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

fn read(mut words: impl Iterator<Item = String>) -> Result<(Settings, Option<u64>), String> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut settings = Settings { seed: 1, runs: 10_000, store: StoreKind::Memory, jobs };
    let mut case = None;
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("`{word}` wants a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is not a number"));
        match word.as_str() {
            "--seed" => settings.seed = number()?,
            "--runs" => settings.runs = number()?,
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
