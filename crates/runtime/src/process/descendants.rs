//! Finds, signals and reaps every process that an attempt started, including those that left its group.
//!
//! A process that calls `setsid` leaves its group. But Escrow is a *subreaper*: every orphan becomes its child. The
//! remaining processes of an attempt are therefore among our children and their descendants, and each
//!
//! - is in the attempt's group, or carries its token in the environment, or was its descendant when we looked
//!   before; or
//! - carries the token of an attempt that is over, so that any attempt may end it; or
//! - carries no token (`env -i`), and no other attempt is running that it could belong to.
//!
//! **Invariant:** no other process is signalled. Signals go through pidfds, so a number that
//! was given to another process meanwhile is not hit.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, getpgrp, getpid, kill_process,
    kill_process_group, pidfd_open, pidfd_send_signal, set_child_subreaper, waitid, waitpid,
};

use super::known::{Known, Token, serial_in};
use super::table::{Row, children, every_row, row, rows_after, token_text};
use super::watch::watch;

/// Makes orphans our children, and spares the children that exist already.
pub(super) fn prepare(known: &mut Known) {
    let own = getpid();
    if !we_have_no_children() {
        let rows = every_row();
        let ours = rows.iter().filter(|row| row.parent == own.as_raw_nonzero().get());
        known.spared = ours.map(|row| row.pid).collect();
    }
    // Before Linux 3.4, or in a sandbox that forbids it, groups are all we have.
    let _ = set_child_subreaper(Some(own));
    if super::table::child_signal_is_ignored() {
        // The system would take the ends of our children away from us. Any handler undoes that, and tokio's
        // stays in place when its receiver is dropped.
        let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child());
    }
}

/// The processes of one attempt. Dropping it kills what is left of them.
pub(super) struct Tree {
    child: Pid,
    child_is_reaped: bool,
    token: Token,
    began: Instant,
    /// Descendants that were seen, so that they are known again when they have become orphans.
    seen: BTreeSet<(i32, u64)>,
    /// The processes that were asked to end, once any was. Later ones are asked as well: between fork and exec a
    /// process cannot be told from a foreign one.
    asked: Option<BTreeSet<(i32, u64)>>,
}

/// A living descendant.
struct Member {
    pid: Pid,
    /// With the number it names a process for good.
    started: u64,
    in_group: bool,
    adopted: bool,
    handle: Option<OwnedFd>,
}

#[derive(Clone, Copy)]
enum Scan {
    /// Enough when the child has just ended: only considers processes that started after it.
    Quick,
    Thorough,
}

impl Tree {
    pub(super) fn new(child: Pid, token: Token) -> Tree {
        let (began, seen) = (Instant::now(), BTreeSet::new());
        Tree { child, child_is_reaped: false, token, began, seen, asked: None }
    }

    /// From here on the child's number may belong to another process.
    pub(super) fn child_was_reaped(&mut self) {
        if !self.child_is_reaped {
            self.child_is_reaped = true;
            Known::lock().remove_child(self.child.as_raw_nonzero().get());
        }
    }

    /// Resolves when the child has been reaped and no descendant is left.
    pub(super) async fn gone(&mut self) {
        let mut scan = if self.began.elapsed() < QUICK_SCAN_WITHIN { Scan::Quick } else { Scan::Thorough };
        loop {
            let members = self.members(scan);
            if members.is_empty() {
                return;
            }
            self.ask_newcomers(&members);
            wait_for_end_of(members).await;
            scan = Scan::Thorough;
        }
    }

    /// Asks every process of the attempt to end.
    pub(super) fn terminate(&mut self) {
        let [asked, _] = TERMINATION_SIGNALS.map(|signal| self.signal(signal));
        self.asked = Some(asked.iter().map(Member::identity).collect());
    }

    fn ask_newcomers(&mut self, members: &[Member]) {
        let Some(asked) = &mut self.asked else { return };
        for member in members.iter().filter(|member| asked.insert(member.identity())) {
            for signal in TERMINATION_SIGNALS {
                member.signal(signal);
            }
        }
    }

    /// Kills until nothing is left. A process that forks faster than we scan is found in the next round.
    pub(super) async fn kill(&mut self) {
        loop {
            let members = self.signal(Signal::KILL);
            if members.is_empty() {
                return;
            }
            wait_for_end_of(members).await;
        }
    }

    /// How many processes there still are; some cannot be ended by us (`sudo`), or hang in the kernel.
    pub(super) fn count(&mut self) -> usize {
        self.members(Scan::Thorough).len()
    }

    fn signal(&mut self, signal: Signal) -> Vec<Member> {
        // Members first: once the group is told, parents die and the way to their children is lost.
        let members = self.members(Scan::Thorough);
        if !self.child_is_reaped {
            let _ = kill_process_group(self.child, signal);
        }
        for member in members.iter().filter(|member| self.child_is_reaped || !member.in_group) {
            member.signal(signal);
        }
        members
    }

    /// The living descendants of the child, without it. Reaps dead orphans on the way, and scans again
    /// if there were any: their children became ours during the scan.
    fn members(&mut self, scan: Scan) -> Vec<Member> {
        loop {
            let known = Known::lock();
            if self.child_is_reaped && (we_have_no_children() || we_have_no_orphans(&known)) {
                return Vec::new();
            }
            let rows = match scan {
                Scan::Quick => rows_after(self.child.as_raw_nonzero().get()).unwrap_or_else(every_row),
                Scan::Thorough => every_row(),
            };
            let own = getpid().as_raw_nonzero().get();
            let mut members = BTreeMap::new();
            let mut reaped = false;
            for row in rows.iter().filter(|row| row.parent == own && is_orphan(row, &known)) {
                if row.zombie {
                    reap(row.pid);
                    reaped = true;
                } else if self.owns(row, &known) {
                    members.insert(row.pid, *row);
                }
            }
            if reaped {
                continue;
            }
            self.add_descendants(&rows, &mut members);
            self.seen.extend(members.values().map(|row| (row.pid, row.started)));
            return members.values().filter_map(|row| self.member(row, own)).collect();
        }
    }

    /// Adds the children of members, and of the child itself while it is there, until there are no more.
    fn add_descendants(&self, rows: &[Row], members: &mut BTreeMap<i32, Row>) {
        let child = (!self.child_is_reaped).then(|| self.child.as_raw_nonzero().get());
        loop {
            let before = members.len();
            for row in rows.iter().filter(|row| !row.zombie) {
                if Some(row.parent) == child || members.contains_key(&row.parent) {
                    members.insert(row.pid, *row);
                }
            }
            if members.len() == before {
                return;
            }
        }
    }

    fn owns(&self, row: &Row, known: &Known) -> bool {
        if row.group == self.child.as_raw_nonzero().get() || self.seen.contains(&(row.pid, row.started)) {
            return true;
        }
        match token_text(row.pid).as_deref().and_then(serial_in) {
            Some(serial) => serial == self.token.serial() || !known.is_active(serial),
            None => known.active_count() == 1,
        }
    }

    /// A handle for the process in the row, unless it has ended since.
    fn member(&self, seen: &Row, own: i32) -> Option<Member> {
        let pid = Pid::from_raw(seen.pid)?;
        let handle = match pidfd_open(pid, PidfdFlags::NONBLOCK) {
            Ok(handle) => Some(handle),
            Err(Errno::SRCH) => return None,
            Err(_) => None,
        };
        // The handle may be of a newcomer with the same number. The row tells.
        let now = row(seen.pid)?;
        (now.started == seen.started && !now.zombie).then(|| Member {
            pid,
            started: now.started,
            in_group: now.group == self.child.as_raw_nonzero().get(),
            adopted: now.parent == own,
            handle,
        })
    }
}

impl Member {
    fn identity(&self) -> (i32, u64) {
        (self.pid.as_raw_nonzero().get(), self.started)
    }

    fn signal(&self, signal: Signal) {
        let _ = match &self.handle {
            Some(handle) => pidfd_send_signal(handle, signal),
            None => kill_process(self.pid, signal),
        };
    }
}

/// A stopped process must be continued before it can end.
const TERMINATION_SIGNALS: [Signal; 2] = [Signal::TERM, Signal::CONT];

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.child_is_reaped {
            // The attempt was dropped, so there is no grace period to wait for.
            self.signal(Signal::KILL);
        }
        let mut known = Known::lock();
        known.end(self.token);
        if !self.child_is_reaped {
            known.remove_child(self.child.as_raw_nonzero().get());
        }
    }
}

/// For a longer attempt a thorough scan costs little, and process numbers may have wrapped round.
const QUICK_SCAN_WITHIN: Duration = Duration::from_secs(1);

/// A child of ours that we did not start. Those in our own group were started by other code in this process,
/// with the standard library.
fn is_orphan(row: &Row, known: &Known) -> bool {
    !known.is_child(row.pid)
        && !known.spared.contains(&row.pid)
        && row.group != getpgrp().as_raw_nonzero().get()
}

fn we_have_no_children() -> bool {
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, peek), Err(Errno::CHILD))
}

/// What is left of a reaped process is our child, or descends from one.
fn we_have_no_orphans(known: &Known) -> bool {
    children().is_some_and(|pids| pids.iter().all(|pid| known.is_child(*pid) || known.spared.contains(pid)))
}

fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// Waits for those that are our children now. The others follow: their parents are among these.
async fn wait_for_end_of(members: Vec<Member>) {
    let mut waited = false;
    for member in members.into_iter().filter(|member| member.adopted) {
        let Some(handle) = member.handle else { continue };
        if let Ok(handle) = watch(handle) {
            waited = handle.readable().await.is_ok() || waited;
        }
        reap(member.pid.as_raw_nonzero().get());
    }
    if !waited {
        // No descriptor could be had, or all of them have parents that are ending. Scan again soon.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
