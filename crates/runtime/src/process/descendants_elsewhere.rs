//! Where there is no `/proc` and no subreaper, an attempt is its process group: a process that leaves the group is not found.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::known::{Known, Token};

pub(super) fn prepare(_known: &mut Known) {}

/// The process group of one attempt. Dropping it kills what is left of it.
pub(super) struct Tree {
    child: Pid,
    child_is_reaped: bool,
    token: Token,
}

impl Tree {
    pub(super) fn new(child: Pid, token: Token) -> Tree {
        Tree { child, child_is_reaped: false, token }
    }

    pub(super) fn child_was_reaped(&mut self) {
        if !self.child_is_reaped {
            self.child_is_reaped = true;
            Known::lock().remove_child(self.child.as_raw_nonzero().get());
        }
    }

    /// Resolves when the group is empty. Nothing here tells us, so we ask, less and less often.
    pub(super) async fn gone(&mut self) {
        let mut pause = Duration::from_millis(1);
        while self.count() > 0 {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    pub(super) fn terminate(&mut self) {
        let _ = kill_process_group(self.child, Signal::TERM);
        let _ = kill_process_group(self.child, Signal::CONT);
    }

    pub(super) async fn kill(&mut self) {
        let _ = kill_process_group(self.child, Signal::KILL);
        self.gone().await;
    }

    pub(super) fn count(&mut self) -> usize {
        usize::from(!matches!(test_kill_process_group(self.child), Err(Errno::SRCH)))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.child_is_reaped {
            let _ = kill_process_group(self.child, Signal::KILL);
        }
        let mut known = Known::lock();
        known.end(self.token);
        if !self.child_is_reaped {
            known.remove_child(self.child.as_raw_nonzero().get());
        }
    }
}
