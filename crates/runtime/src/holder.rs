//! Describes the process that drives a run, so that other processes can tell whether it still lives.

use std::fs;

use escrow_store::{Holder, Liveness};

/// This process.
pub fn this_process() -> Holder {
    let pid = std::process::id();
    Holder { pid, host: host(), boot_id: boot_id(), process_started: process_started(pid).unwrap_or(0) }
}

/// Whether another holder still lives. That of another machine cannot be told.
pub fn liveness(holder: &Holder) -> Liveness {
    if holder.host != host() {
        return Liveness::Unknown;
    }
    if holder.boot_id != boot_id() {
        return Liveness::Dead;
    }
    match process_started(holder.pid) {
        Some(started) if started == holder.process_started => Liveness::Alive,
        Some(_) => Liveness::Dead,
        None if cfg!(target_os = "linux") => Liveness::Dead,
        None => match rustix::process::Pid::from_raw(i32::try_from(holder.pid).unwrap_or(0)) {
            Some(pid) if rustix::process::test_kill_process(pid).is_ok() => Liveness::Alive,
            Some(_) | None => Liveness::Dead,
        },
    }
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// When a process started, in the kernel's ticks since boot; `None` for no process or a zombie.
fn process_started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses and may hold anything.
    let rest = &stat[stat.rfind(')')? + 2..];
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive() {
        assert_eq!(liveness(&this_process()), Liveness::Alive);
    }

    #[test]
    fn a_process_that_started_at_another_time_is_another_process() {
        let mut other = this_process();
        other.process_started += 1;
        assert_eq!(liveness(&other), Liveness::Dead);
    }

    #[test]
    fn after_a_reboot_everybody_is_dead_and_elsewhere_nobody_knows() {
        let mut before = this_process();
        before.boot_id = "another".into();
        assert_eq!(liveness(&before), Liveness::Dead);
        let mut elsewhere = this_process();
        elsewhere.host = "elsewhere".into();
        assert_eq!(liveness(&elsewhere), Liveness::Unknown);
    }
}
