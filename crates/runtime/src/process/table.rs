//! The process table, read from `/proc`.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use super::known::TOKEN_VARIABLE;

/// One process, as it was a moment ago.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// In clock ticks since the machine started. With `pid` it names a process for good.
    pub(super) started: u64,
    /// Ended, and waiting for its parent to take note.
    pub(super) zombie: bool,
}

/// Every process. Costs some 10 µs for each one on the machine.
pub(super) fn every_row() -> Vec<Row> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(row).collect()
}

/// The processes that began after `first` did, when these are few.
///
/// Numbers are given in order, so the descendants of a process have numbers between its own and the last one
/// given. `None` when the numbers have begun again from the bottom, or when there are too many to try.
pub(super) fn rows_after(first: i32) -> Option<Vec<Row>> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    let last: i32 = load.split_ascii_whitespace().nth(4)?.parse().ok()?;
    let few = last >= first && last - first <= 256;
    few.then(|| (first + 1..=last).filter_map(row).collect())
}

/// The processes that have us as their parent, or `None` where the system does not tell. Orphans come to the
/// first thread, so its list has them all; only we take processes off it, so none is passed over while it is read.
pub(super) fn children() -> Option<Vec<i32>> {
    // Stays open: finding it costs several times what reading it does.
    static LIST: OnceLock<Option<File>> = OnceLock::new();
    let open = || File::open(format!("/proc/self/task/{}/children", std::process::id())).ok();
    let file = LIST.get_or_init(open).as_ref()?;
    let mut buffer = [0; 4_096];
    let length = file.read_at(&mut buffer, 0).ok().filter(|length| *length < buffer.len())?;
    let list = std::str::from_utf8(&buffer[..length]).ok()?;
    list.split_ascii_whitespace().map(|pid| pid.parse().ok()).collect()
}

pub(super) fn row(pid: i32) -> Option<Row> {
    let mut buffer = [0; 1_024];
    let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
    let length = file.read(&mut buffer).ok()?;
    parse_row(pid, &buffer[..length])
}

/// `pid (name) state parent group session …`, where the name may hold spaces and brackets.
fn parse_row(pid: i32, line: &[u8]) -> Option<Row> {
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&line[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(Row { pid, parent, group, started, zombie: matches!(state, "Z" | "X") })
}

/// The value of the token variable that the process was started with, if it may be read.
pub(super) fn token_text(pid: i32) -> Option<String> {
    variable_of(pid, TOKEN_VARIABLE)
}

/// The value of a variable that the process was started with, if it may be read.
pub(super) fn variable_of(pid: i32, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

/// The signals that this process ignored when it was first asked: bit 0 is signal 1. `None` where it cannot be told.
pub(super) fn ignored_signals() -> Option<u64> {
    static MASK: OnceLock<Option<u64>> = OnceLock::new();
    *MASK.get_or_init(|| {
        // In one piece: the system writes all of it for the first read, and guessing its size takes eight.
        let mut buffer = [0; 8_192];
        let length = File::open("/proc/self/status").and_then(|mut file| file.read(&mut buffer)).ok()?;
        let status = String::from_utf8_lossy(&buffer[..length]);
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    })
}

/// Whether this process was started with its children's ends ignored (`SIGCHLD`), as some launchers do.
pub(super) fn child_signal_is_ignored() -> bool {
    const CHILD_SIGNAL_BIT: u64 = 1 << 16;
    ignored_signals().is_some_and(|mask| mask & CHILD_SIGNAL_BIT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let line = b"42 (a) R 1 (b) ) S 7 8 9 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 991 12 13";
        let row = parse_row(42, line).unwrap();
        assert_eq!((row.parent, row.group, row.started, row.zombie), (7, 8, 991, false));
    }

    #[test]
    fn we_are_in_the_table() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(every_row().iter().any(|row| row.pid == own && !row.zombie));
    }
}
