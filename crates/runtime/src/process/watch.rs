//! Registers our own descriptors with tokio, which tells when they can be read.

use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

#[allow(
    deprecated,
    reason = "deprecated for types that may give another descriptor each time; an `OwnedFd` does not, and the \
              successor is `unsafe`"
)]
pub(super) fn watch(handle: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(handle, Interest::READABLE)
}
