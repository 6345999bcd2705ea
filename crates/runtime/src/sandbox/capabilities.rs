//! Takes from a confined program what root can do to processes outside the sandbox.
//!
//! Root keeps its user id inside a sandbox. With its capabilities it could read the environment of Escrow, and so the
//! secrets of other checks, through `/proc`.

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities};

/// Every capability that reaches beyond files, or beyond those that can be written, one by one.
const DROPPED: [CapabilitySet; 17] = [
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_RESOURCE,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::SYS_TIME,
    CapabilitySet::MKNOD,
    CapabilitySet::KILL,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::BPF,
    CapabilitySet::PERFMON,
    CapabilitySet::SYSLOG,
    CapabilitySet::AUDIT_CONTROL,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::CHECKPOINT_RESTORE,
    // Landlock has no right for the flags of a file: `chattr +i`.
    CapabilitySet::LINUX_IMMUTABLE,
];

/// Must come after the namespaces, which need some of them. A process without capabilities has nothing to lose.
pub(super) fn drop_dangerous() -> Result<(), String> {
    let problem = |error: Errno| format!("`sandbox` cannot be set up: capabilities are not dropped: {error}");
    let mut held = capabilities(None).map_err(problem)?;
    // Without this one the bounding set cannot be changed. `no_new_privs` keeps the program from gaining any.
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for one in DROPPED {
            match remove_capability_from_bounding_set(one) {
                // A kernel that does not know it does not grant it.
                Ok(()) | Err(Errno::INVAL) => {}
                Err(error) => return Err(problem(error)),
            }
        }
    }
    let dropped = DROPPED.into_iter().fold(CapabilitySet::empty(), CapabilitySet::union);
    held.effective.remove(dropped);
    held.permitted.remove(dropped);
    held.inheritable.remove(dropped);
    set_capabilities(None, held).map_err(problem)
}
