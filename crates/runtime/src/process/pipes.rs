//! Pipes for what processes say, made before they are needed: what was decided is not kept waiting for them.

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

/// Makes those that the next process will need, while this one runs. Where there are none to be had, `take` says so.
pub(super) fn lay_in() {
    SPARE.with_borrow_mut(|spare| {
        while spare.len() < SPARE_MAX {
            match Pipe::make() {
                Ok(pipe) => spare.push(pipe),
                Err(_) => return,
            }
        }
    });
}
