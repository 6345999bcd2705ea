//! Describes the process that drives a run, so that other processes can tell whether it still lives.
//!
//! **Invariant:** a holder that may be alive is never called dead. Where this process cannot look (another machine, another
//! pid namespace, a process table that hides other users), the answer is unknown, and the lease decides.

use std::fs;
use std::sync::LazyLock;

use escrow_store::{Holder, Liveness};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// This process.
pub fn this_process() -> Holder {
    let pid = std::process::id();
    Holder { pid, process_started: started(pid).ok().flatten().unwrap_or(0), ..HERE.clone() }
}

/// Whether another holder still lives.
pub fn liveness(holder: &Holder) -> Liveness {
    judge(holder, &HERE)
}

/// What every process here has in common.
static HERE: LazyLock<Holder> = LazyLock::new(|| Holder {
    pid: 0,
    host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
    machine_id: machine_id(),
    boot_id: boot_id(),
    pid_namespace: pid_namespace(),
    process_started: 0,
});

fn judge(holder: &Holder, here: &Holder) -> Liveness {
    if holder.boot_id.is_empty() || here.boot_id.is_empty() {
        return judge_by_name(holder, here);
    }
    if holder.boot_id != here.boot_id {
        // The same machine after a restart, or another one. A cloned machine id alone is no proof, and neither is a host
        // name that two machines share.
        let restarted =
            !holder.machine_id.is_empty() && holder.machine_id == here.machine_id && holder.host == here.host;
        return if restarted { Liveness::Dead } else { Liveness::Unknown };
    }
    // The same kernel. Containers share it and number their processes themselves.
    if holder.pid_namespace != here.pid_namespace {
        return Liveness::Unknown;
    }
    judge_by_process(holder)
}

/// Without boot ids, a machine is known by its name only: a living process is found, but a missing one may live on
/// another machine of the same name.
fn judge_by_name(holder: &Holder, here: &Holder) -> Liveness {
    if holder.host != here.host || holder.boot_id != here.boot_id {
        return Liveness::Unknown;
    }
    match judge_by_process(holder) {
        Liveness::Alive => Liveness::Alive,
        Liveness::Dead | Liveness::Unknown => Liveness::Unknown,
    }
}

fn judge_by_process(holder: &Holder) -> Liveness {
    match started(holder.pid) {
        Ok(Some(started)) if started == holder.process_started => Liveness::Alive,
        // A zombie, or another process with the same number.
        Ok(_) => Liveness::Dead,
        Err(NotShown) => match Pid::from_raw(i32::try_from(holder.pid).unwrap_or(0)).map(test_kill_process) {
            // On Linux the process table shows every process, unless it hides those of other users.
            Some(Err(Errno::SRCH)) | None => Liveness::Dead,
            Some(Ok(())) if !cfg!(target_os = "linux") => Liveness::Alive,
            Some(Ok(()) | Err(_)) => Liveness::Unknown,
        },
    }
}

/// The process table has no such process, or does not show it.
struct NotShown;

/// When a process started, in the kernel's ticks since boot; `None` for a zombie.
fn started(pid: u32) -> Result<Option<u64>, NotShown> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|_| NotShown)?;
    // The second field is the name in parentheses and may hold anything.
    let rest = stat.rfind(')').and_then(|end| stat.get(end + 2..)).ok_or(NotShown)?;
    let mut fields = rest.split(' ');
    match fields.next() {
        Some("Z" | "X") => Ok(None),
        Some(_) | None => fields.nth(18).and_then(|field| field.parse().ok()).map(Some).ok_or(NotShown),
    }
}

fn machine_id() -> String {
    let files = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
    let ids = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    ids.map(|id| id.trim().to_owned()).find(|id| id.len() >= 32).unwrap_or_default()
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

fn pid_namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map(|name| name.display().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process as a holder, changed.
    fn check(change: impl FnOnce(&mut Holder), expected: Liveness) {
        let mut holder = this_process();
        change(&mut holder);
        assert_eq!(liveness(&holder), expected, "{holder:?}");
    }

    #[test]
    fn this_process_is_alive() {
        check(|_| (), Liveness::Alive);
        // Its machine may have been given another name since.
        check(|holder| holder.host = "renamed".into(), Liveness::Alive);
    }

    #[test]
    fn a_process_that_started_at_another_time_is_another_process() {
        check(|holder| holder.process_started += 1, Liveness::Dead);
    }

    #[test]
    fn a_process_that_ended_is_dead() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        check(|holder| holder.pid = pid, Liveness::Dead);
    }

    #[test]
    fn after_a_restart_of_this_machine_every_holder_is_dead() {
        let mut before = this_process();
        before.boot_id = "another".into();
        let mut here = HERE.clone();
        here.machine_id = "0123456789abcdef0123456789abcdef".into();
        before.machine_id = here.machine_id.clone();
        assert_eq!(judge(&before, &here), Liveness::Dead);
    }

    #[test]
    fn two_machines_of_the_same_name_are_not_one_machine() {
        let (mut there, mut here) = (this_process(), HERE.clone());
        there.boot_id = "another".into();
        there.machine_id = "0123456789abcdef0123456789abcdef".into();
        here.machine_id = "fedcba9876543210fedcba9876543210".into();
        assert_eq!(judge(&there, &here), Liveness::Unknown);
        // A machine id that came with a disk image does not make them one either.
        there.machine_id = here.machine_id.clone();
        there.host = "clone".into();
        assert_eq!(judge(&there, &here), Liveness::Unknown);
        // And without any id there is no proof at all.
        (there.machine_id, here.machine_id, there.host) = (String::new(), String::new(), here.host.clone());
        assert_eq!(judge(&there, &here), Liveness::Unknown);
    }

    #[test]
    fn processes_of_another_namespace_cannot_be_judged() {
        check(|holder| holder.pid_namespace = "pid:[1]".into(), Liveness::Unknown);
        // Not even when their number is free here.
        check(|holder| (holder.pid_namespace, holder.pid) = ("pid:[1]".into(), u32::MAX), Liveness::Unknown);
    }

    #[test]
    fn where_no_boot_has_an_id_only_a_living_process_is_proof() {
        let (mut holder, mut here) = (this_process(), HERE.clone());
        (holder.boot_id, here.boot_id) = (String::new(), String::new());
        assert_eq!(judge(&holder, &here), Liveness::Alive);
        holder.process_started += 1;
        assert_eq!(judge(&holder, &here), Liveness::Unknown);
    }
}
