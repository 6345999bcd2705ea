//! A small stock of pipes per thread, created while the previous process runs.

use std::cell::RefCell;
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fcntl_setfl};

/// Our end, which never blocks, and the end that a process writes to.
pub(super) struct Pipe {
    pub(super) ours: OwnedFd,
    pub(super) its: PipeWriter,
}

impl Pipe {
    fn make() -> io::Result<Pipe> {
        let (ours, its) = io::pipe()?;
        fcntl_setfl(&ours, OFlags::NONBLOCK)?;
        Ok(Pipe { ours: ours.into(), its })
    }
}

thread_local! {
    static SPARE: RefCell<Vec<Pipe>> = const { RefCell::new(Vec::new()) };
}

/// As many as one process needs.
const SPARE_MAX: usize = 2;

pub(super) fn take() -> io::Result<Pipe> {
    match SPARE.with_borrow_mut(Vec::pop) {
        Some(spare) => Ok(spare),
        None => Pipe::make(),
    }
}

/// Creates the pipes of the next process. An error is left to `take`, which tries again and reports it.
pub(super) fn refill() {
    SPARE.with_borrow_mut(|spare| {
        while spare.len() < SPARE_MAX {
            match Pipe::make() {
                Ok(pipe) => spare.push(pipe),
                Err(_) => return,
            }
        }
    });
}
