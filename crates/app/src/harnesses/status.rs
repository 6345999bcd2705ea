//! What is installed for each host, what its adapter claims, and what its hooks have reported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use escrow_harness::install::{HookFile, Installed};
use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::{Ledger as _, ReceiptQuery};
use escrow_protocol::vocabulary::{ReceiptStatus, SupportState};
use escrow_runtime::harness_program;

use super::config_file::{read, real_file};
use super::receipts::ledger;
use super::{Root, version_of};
use crate::error::Error;
use crate::state::StateDirectory;

/// How many receipts `status` shows per host.
const RECEIPTS_SHOWN: usize = 3;

/// What is known of one host.
#[derive(Debug)]
pub struct HostStatus {
    pub host: &'static str,
    pub program: Option<PathBuf>,
    pub version: Option<String>,
    pub tested_versions: &'static [&'static str],
    pub file: PathBuf,
    /// What the file says, or why it cannot be read.
    pub installed: Result<Installed, String>,
    /// The hook calls a program that is not this one.
    pub is_stale: bool,
    pub is_unverified: bool,
    pub note: Option<&'static str>,
    /// The newest receipts, newest first.
    pub receipts: Vec<LifecycleReceipt>,
    /// How many receipts there are of each lifecycle event.
    pub measured: BTreeMap<&'static str, usize>,
    /// What the manifest of its adapter promises.
    pub claims: Vec<Claim>,
    pub failures: usize,
}

/// What a manifest says of one lifecycle event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub event: &'static str,
    pub support: &'static str,
}

/// The lifecycle events that the adapter of a host claims to report.
fn claims(host: &str) -> Vec<Claim> {
    let Some(dialect) = escrow_harness::dialect(host) else { return Vec::new() };
    let manifest = escrow_harness::manifest::adapter(dialect, escrow_protocol::version::CURRENT).manifest;
    let claimed = manifest.lifecycle_events.iter();
    claimed
        .filter(|(_, claim)| claim.support != SupportState::Unavailable)
        .map(|(event, claim)| Claim { event: event.as_str(), support: claim.support.as_str() })
        .collect()
}

/// Whether the programs are started to ask for their versions, which takes a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    Ask,
    Leave,
}

/// What is installed where, and what the hooks have left in the ledger.
pub fn status(
    hosts: &[&'static HookFile],
    versions: Versions,
    root: &Root,
    program: &Path,
    state: &StateDirectory,
) -> Result<Vec<HostStatus>, Error> {
    // The ledger has no index by adapter, so it is read once for all.
    let known = match ledger(state)? {
        Some(mut ledger) => {
            let client_id = Some(escrow_runtime::hook_spool::CLIENT.to_owned());
            let query = ReceiptQuery { client_id, ..ReceiptQuery::default() };
            ledger.query(&query).map_err(|error| Error::world("state", error.to_string()))?
        }
        None => Vec::new(),
    };
    let programs: Vec<_> = std::thread::scope(|scope| {
        let ask = |host: &'static HookFile| {
            let found = harness_program::find(host.host);
            let asked = found.as_deref().filter(|_| versions == Versions::Ask);
            let version = asked.and_then(|found| version_of(host, found));
            (found, version)
        };
        let asked: Vec<_> = hosts.iter().map(|host| scope.spawn(move || ask(host))).collect();
        asked.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    let mut all = Vec::new();
    for (host, (found, version)) in hosts.iter().zip(programs) {
        let file = root.file(host);
        let installed = match real_file(root, host).and_then(|file| read(&file)) {
            Ok(Some(text)) => host.installed(&text).map_err(|problem| problem.to_string()),
            Ok(None) => Ok(Installed::default()),
            Err(error) => Err(error.to_string()),
        };
        let is_stale = installed
            .as_ref()
            .is_ok_and(|installed| installed.programs.iter().any(|named| Path::new(named) != program));
        let of_host = || known.iter().filter(|receipt| receipt.adapter_id == host.host);
        let failures = of_host().filter(|receipt| receipt.status == ReceiptStatus::Failed).count();
        let mut measured: BTreeMap<&'static str, usize> = BTreeMap::new();
        for receipt in of_host() {
            *measured.entry(receipt.event.as_str()).or_default() += 1;
        }
        let receipts = of_host().rev().take(RECEIPTS_SHOWN).cloned().collect();
        all.push(HostStatus {
            host: host.host,
            program: found,
            version,
            tested_versions: escrow_harness::find(host.host)
                .map_or(&[], |harness| harness.spec().tested_versions),
            file,
            installed,
            is_stale,
            is_unverified: host.is_unverified,
            note: host.note,
            receipts,
            measured,
            claims: claims(host.host),
            failures,
        });
    }
    Ok(all)
}
