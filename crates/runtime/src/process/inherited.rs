//! Keeps file descriptors that Escrow inherited from the commands that it starts.

/// The first descriptor that is not a standard stream.
const FIRST: i32 = 3;

/// Marks every descriptor that this process inherited, beyond the standard streams, to be closed when a program is
/// started. A command then has its standard streams and what Escrow hands over on purpose, and nothing that the shell
/// or service around Escrow left open: no kernel sandbox confines a descriptor that is already open.
///
/// To be called once, before anything is opened. Escrow itself opens everything in this way.
pub fn withhold_inherited_descriptors() {
    close_fds::set_fds_cloexec(FIRST, &[]);
}
