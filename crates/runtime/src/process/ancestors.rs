//! The runs that this process is part of: its own environment names one, or that of a process which it descends from.
//!
//! A process can drop the variable from its own environment. The system keeps the environment that a process was
//! started with, so its ancestors still tell.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The ids of the runs whose commands this process and its ancestors are, nearest first.
pub fn runs_around() -> Vec<String> {
    let mut found = own();
    let of_this = i32::try_from(std::process::id()).map(runs_around_process);
    for id in of_this.unwrap_or_default() {
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

/// The runs around a run, as its commands get them in their environment. The environment of an Escrow process that knows a secret
/// cannot be read by others, so it hands on what it was told itself.
pub fn runs_around_commands() -> Option<&'static str> {
    static AROUND: OnceLock<Option<String>> = OnceLock::new();
    AROUND
        .get_or_init(|| {
            let own = own();
            (!own.is_empty()).then(|| own.join(SEPARATOR))
        })
        .as_deref()
}

/// The variable for it.
pub const AROUND_VARIABLE: &str = "ESCROW_RUNS_AROUND";

/// Every command of a run has it.
const RUN_VARIABLE: &str = "ESCROW_RUN";

const SEPARATOR: &str = ":";

fn own() -> Vec<String> {
    let around = std::env::var(AROUND_VARIABLE).unwrap_or_default();
    std::env::var(RUN_VARIABLE).ok().into_iter().chain(ids(&around)).collect()
}

fn ids(around: &str) -> impl Iterator<Item = String> {
    around.split(SEPARATOR).filter(|id| !id.is_empty()).map(str::to_owned)
}

/// The ids of the runs whose commands a process and its ancestors are, nearest first.
#[cfg(target_os = "linux")]
pub fn runs_around_process(pid: i32) -> Vec<String> {
    let mut found = Vec::new();
    let mut met = BTreeSet::new();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|pid| *pid > 0 && met.insert(*pid)) {
        found.extend(super::table::variable_of(pid, RUN_VARIABLE));
        found.extend(super::table::variable_of(pid, AROUND_VARIABLE).iter().flat_map(|around| ids(around)));
        next = super::table::row(pid).map(|row| row.parent);
    }
    found
}

/// Where the environment of other processes cannot be read, only the own one tells.
#[cfg(not(target_os = "linux"))]
pub fn runs_around_process(_pid: i32) -> Vec<String> {
    Vec::new()
}
