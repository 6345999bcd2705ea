//! Ends processes that a killed Escrow left running, found by the run id in their environment.
//!
//! A check must not run again while its first attempt is still running. These processes are not our children, so they
//! are found by their environment and by descent.
//!
//! **Invariant:** nothing is signalled that does not carry the run and an attempt's token, is not in the group
//! of a process that does, and does not descend from one. Never this process or one that it descends from.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use super::known::TOKEN_VARIABLE;
use super::table::{Row, every_row, row};

/// How often to look whether they are gone.
const INTERVAL: Duration = Duration::from_millis(5);

/// How long to wait for what cannot be killed.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// Ends every process of a run that no process drives any more: SIGTERM first, SIGKILL after the grace period. Tells
/// how many there were, and how many are left.
pub async fn end_orphans_of(run: &str, grace: Duration) -> Orphans {
    let mut met = BTreeSet::new();
    let mut patience = Instant::now() + grace;
    let mut signal = Signal::TERM;
    loop {
        let left = left_behind(run);
        met.extend(left.iter().map(|row| (row.pid, row.started)));
        if left.is_empty() {
            return Orphans { met: met.len(), left: 0 };
        }
        for row in &left {
            send(row, signal);
            if signal == Signal::TERM {
                send(row, Signal::CONT);
            }
        }
        // A process that forks faster than we scan is found in the next round.
        while left.iter().any(is_there) {
            if Instant::now() > patience {
                if signal == Signal::KILL {
                    return Orphans { met: met.len(), left: left.iter().filter(|row| is_there(row)).count() };
                }
                signal = Signal::KILL;
                patience = Instant::now() + KILL_WAIT;
                break;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

/// What was found, and what could not be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orphans {
    pub met: usize,
    pub left: usize,
}

fn left_behind(run: &str) -> Vec<Row> {
    let rows = every_row();
    let spared = own_line(&rows);
    let alive = || rows.iter().filter(|row| !row.zombie && !spared.contains(&row.pid));
    let mut members: BTreeMap<i32, Row> =
        alive().filter(|row| carries(row.pid, run)).map(|row| (row.pid, *row)).collect();
    loop {
        let before = members.len();
        for row in alive() {
            if members.contains_key(&row.parent) || members.contains_key(&row.group) {
                members.insert(row.pid, *row);
            }
        }
        if members.len() == before {
            return members.into_values().collect();
        }
    }
}

/// This process and all that it descends from.
fn own_line(rows: &[Row]) -> BTreeSet<i32> {
    let parents: BTreeMap<i32, i32> = rows.iter().map(|row| (row.pid, row.parent)).collect();
    let mut line = BTreeSet::new();
    let mut next = Some(getpid().as_raw_nonzero().get());
    while let Some(pid) = next.filter(|pid| line.insert(*pid)) {
        next = parents.get(&pid).copied();
    }
    line
}

/// Whether a process was started as part of an attempt of this run.
fn carries(pid: i32, run: &str) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    let value = |name: &str| {
        environment
            .split(|byte| *byte == 0)
            .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    };
    value("ESCROW_RUN") == Some(run.as_bytes()) && value(TOKEN_VARIABLE).is_some()
}

fn is_there(seen: &Row) -> bool {
    row(seen.pid).is_some_and(|now| now.started == seen.started && !now.zombie)
}

/// Through a handle, so that a number that was given away meanwhile is not hit.
fn send(seen: &Row, signal: Signal) {
    let Some(pid) = Pid::from_raw(seen.pid) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if is_there(seen) {
        // It may have ended by itself, or belong to another user; the next scan tells.
        let _ = pidfd_send_signal(handle, signal);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn orphan(run: &str, script: &str) -> std::process::Child {
        Command::new("/bin/sh")
            .args(["-c", script])
            .env("ESCROW_RUN", run)
            .env(TOKEN_VARIABLE, "1-2.3")
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a shell")
    }

    #[tokio::test(flavor = "current_thread")]
    async fn processes_of_the_run_are_ended_and_no_others() {
        let mut other = orphan("r_other", "sleep 60");
        let mut ours = orphan("r_orphans", "env -i sleep 60 & trap '' TERM; setsid sleep 60; sleep 60");
        tokio::time::sleep(Duration::from_millis(100)).await;
        let orphans = end_orphans_of("r_orphans", Duration::from_millis(200)).await;
        assert!(orphans.met >= 3, "{orphans:?}");
        assert_eq!(orphans.left, 0);
        assert!(left_behind("r_orphans").is_empty());
        assert!(!left_behind("r_other").is_empty());
        ours.wait().expect("it was ended");
        assert!(other.try_wait().expect("a status").is_none(), "the other run goes on");
        other.kill().expect("it can be killed");
        other.wait().expect("it is gone");
    }
}
