//! Tests that need another process run this same binary again, with a part to play.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use escrow_store::{BlockingStore, Mode, RunFilter};

use crate::support::{note, open, start_in, try_start};

const PART: &str = "ESCROW_STORE_TEST_PART";
const PLACE: &str = "ESCROW_STORE_TEST_PLACE";

/// This binary, about to play `part` on the database at `path`.
pub(crate) fn command(part: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child::part", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(PART, part).env(PLACE, path).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Plays a part as a user that owns nothing, and returns what it says; `None` where that is not possible.
pub(crate) fn say_as_nobody(part: &str, path: &Path) -> Option<String> {
    let output = command(part, path).uid(65_534).gid(65_534).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().find_map(|line| line.split_once("said: ").map(|(_, said)| said.to_owned()));
    Some(said.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr))))
}

#[test]
#[ignore = "a part that other tests have played in a process of its own"]
fn part() {
    let (Ok(part), Some(place)) = (std::env::var(PART), std::env::var_os(PLACE)) else { return };
    let path = Path::new(&place);
    match part.as_str() {
        "commit for ever" => commit_for_ever(path),
        "commit 200" => commit_many(path),
        "write" => {
            let written = BlockingStore::open(path, Mode::Write).and_then(|store| try_start(&store, "mine"));
            println!("\nsaid: {:?}", written.map_err(|error| error.kind));
        }
        "list" => {
            let listed =
                BlockingStore::open(path, Mode::Read).and_then(|store| store.runs(&RunFilter::default()));
            println!("\nsaid: {:?}", listed.map(|rows| rows.len()).map_err(|error| error.kind));
        }
        other => panic!("no such part: {other}"),
    }
}

/// Says each entry's number only after it was told that the entry is written.
fn commit_for_ever(path: &Path) {
    let store = open(path);
    let mut tenant = start_in(&store, "victim", 1_000);
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout).unwrap();
    loop {
        let next = tenant.seq + 1;
        tenant.commit(&[note(next), note(next + 1), note(next + 2)]);
        writeln!(stdout, "done {}", tenant.seq).unwrap();
        stdout.flush().unwrap();
    }
}

fn commit_many(path: &Path) {
    let store = open(path);
    let mut tenant = start_in(&store, &format!("p{}", std::process::id()), 1_000);
    (0..200).for_each(|number| tenant.commit(&[note(number)]));
}
