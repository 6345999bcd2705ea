//! Writes a state with a long history: `history DATABASE RUNS CHECKS [LARGE]`.

use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use escrow_simulator::{History, write_history};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, runs, checks, rest @ ..] = arguments.as_slice() else {
        usage();
        return;
    };
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let history = History {
        runs: number(runs),
        checks: usize::try_from(number(checks)).expect("a number of checks"),
        waiting_each: 500,
        large: rest.first().map_or(0, |large| usize::try_from(number(large)).expect("a number of checks")),
        until: u64::try_from(now.as_millis()).expect("a time"),
    };
    let written = write_history(Path::new(database), history);
    let large = written.large.map(|run| run.to_string()).unwrap_or_default();
    writeln!(std::io::stdout(), "{} {} {large}", written.runs, written.entries).expect("stdout is open");
}

fn usage() {
    let _ = writeln!(std::io::stderr(), "usage: history DATABASE RUNS CHECKS [LARGE]");
}
