//! What this machine can confine.

/// One part of `sandbox`, and whether this machine has it.
#[derive(Clone, Debug)]
pub struct Ability {
    pub name: &'static str,
    pub available: bool,
    pub detail: String,
}

#[cfg(target_os = "linux")]
pub fn abilities() -> Vec<Ability> {
    vec![filesystem(), network(), limits(), syscalls()]
}

#[cfg(not(target_os = "linux"))]
pub fn abilities() -> Vec<Ability> {
    let missing = |name| Ability { name, available: false, detail: "needs Linux".into() };
    ["sandbox.filesystem", "sandbox.network", "sandbox.limits", "sandbox.syscalls"].map(missing).into()
}

#[cfg(target_os = "linux")]
fn filesystem() -> Ability {
    use landlock::{Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    let tried = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(super::files::NEEDED))
        .and_then(Ruleset::create);
    let (available, detail) = match tried {
        Ok(_) => (true, "Landlock".to_owned()),
        Err(error) => (false, format!("Landlock of Linux 6.2 or later is needed: {error}")),
    };
    Ability { name: "sandbox.filesystem", available, detail }
}

/// Tried by a child, because entering a namespace cannot be undone.
#[cfg(target_os = "linux")]
fn network() -> Ability {
    let confinement = serde_json::json!({
        "sandbox": { "network": "loopback" }, "directory": "/", "writable": [], "readable": [], "state": "/",
        "report": "/dev/null",
    });
    let tried = std::process::Command::new("/proc/self/exe")
        .args([super::VERB, &confinement.to_string(), "--", "/bin/sh", "-c", ":"])
        .output();
    let (available, detail) = match tried {
        Ok(output) if output.status.success() => (true, "user and network namespaces".to_owned()),
        Ok(output) => (false, String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => (false, error.to_string()),
    };
    Ability { name: "sandbox.network", available, detail }
}

/// Every sandbox needs it.
#[cfg(target_os = "linux")]
fn syscalls() -> Ability {
    const ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";
    let offered = std::fs::read_to_string(ACTIONS).unwrap_or_default();
    let available = offered.split_whitespace().any(|action| action == "errno");
    let detail = if available { "seccomp" } else { "this kernel does not filter system calls (seccomp)" };
    Ability { name: "sandbox.syscalls", available, detail: detail.into() }
}

#[cfg(target_os = "linux")]
fn limits() -> Ability {
    let detail = if rustix::process::getuid().is_root() {
        "memory and open files; not processes, because this is root"
    } else {
        "memory, processes and open files"
    };
    Ability { name: "sandbox.limits", available: true, detail: detail.into() }
}
