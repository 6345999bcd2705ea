//! The runs that this process is part of: its own environment names one, or that of a process which it descends from.
//!
//! A process can drop the variable from its own environment. The system keeps the environment that a process was
//! started with, so its ancestors still tell.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;

/// The ids of the runs whose commands this process and its ancestors are, nearest first.
pub fn runs_around() -> Vec<String> {
    let mut found: Vec<String> = std::env::var(RUN_VARIABLE).ok().into_iter().collect();
    for id in of_ancestors() {
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

/// Every command of a run has it.
const RUN_VARIABLE: &str = "ESCROW_RUN";

#[cfg(target_os = "linux")]
fn of_ancestors() -> Vec<String> {
    let mut found = Vec::new();
    let mut met = BTreeSet::new();
    let mut next = i32::try_from(std::process::id()).ok();
    while let Some(pid) = next.filter(|pid| *pid > 0 && met.insert(*pid)) {
        found.extend(super::table::variable_of(pid, RUN_VARIABLE));
        next = super::table::row(pid).map(|row| row.parent);
    }
    found
}

/// Where the environment of other processes cannot be read, only the own one tells.
#[cfg(not(target_os = "linux"))]
fn of_ancestors() -> Vec<String> {
    Vec::new()
}
