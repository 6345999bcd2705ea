//! The directory through which the hooks of a running harness and its supervisor speak.
//!
//! ```text
//!   supervisor ── demand.json ──▶ ESCROW_HOOK_SPOOL ──▶ escrow hook
//!   ledger ◀── collect ── receipts/*.json ◀─────── leave ──────────────┘
//! ```
//!
//! A confined harness cannot write to the database, but to this directory. It belongs to one attempt: `create` empties it,
//! so that stops are counted per attempt.
//!
//! **Invariant:** the harness can write here too, so nothing here is believed. `collect` reads plain files of a limited
//! size, decides run and client itself, and records what it cannot read as a failure.

mod linked;
mod stop_demand;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use escrow_protocol::envelope::{LifecycleReceipt, Warning};
use escrow_protocol::receipt::{Ledger, LedgerError};
use escrow_protocol::version::CURRENT;
use escrow_protocol::vocabulary::{
    FailureClass, IntegrationMode, LifecycleEventKind, ReceiptStatus, RetryClass,
};
use escrow_store::ReceiptLedger;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, open, openat, renameat, unlinkat};

use crate::beneath;
use crate::entropy::{now_ms, random_u64};
use crate::private_files::{create_directory, create_file};

use linked::Linked;

pub use linked::record;
pub use stop_demand::{DemandedFile, FileIdentity, StopDemand};

/// Names the spool for the hooks of a harness that Escrow started.
pub const VARIABLE: &str = "ESCROW_HOOK_SPOOL";

/// The client that hooks leave receipts for.
pub const CLIENT: &str = "escrow-hook";

/// How often a stop is held back in one attempt.
pub const HOLDS_MAX: u32 = 3;

const RECEIPT_BYTES_MAX: u64 = 64 << 10;
const RECEIPTS_MAX: usize = 10_000;
const RECEIPTS_MANY: usize = 64;
/// How many files that are no receipts are recorded one by one.
const UNREADABLE_MAX: usize = 100;
const DEMAND_BYTES_MAX: u64 = 4 << 20;

pub struct HookSpool(PathBuf);

/// What `collect` did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    pub recorded: usize,
    /// Files that are no receipts. Each left a receipt of its failure.
    pub unreadable: usize,
}

impl HookSpool {
    /// An empty spool for a new attempt.
    pub fn create(directory: &Path) -> io::Result<HookSpool> {
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        create_directory(&directory.join("receipts"))?;
        Ok(HookSpool(directory.to_owned()))
    }

    /// A spool that may exist.
    pub fn at(directory: &Path) -> HookSpool {
        HookSpool(directory.to_owned())
    }

    /// Lets the hooks of this command find the spool.
    pub fn give_to(&self, command: &mut Command) {
        command.env(VARIABLE, &self.0);
    }

    /// From now on, a stop is held back until these files are delivered.
    pub fn hold_stop(&self, demand: &StopDemand) -> io::Result<()> {
        self.write("demand.json", &serde_json::to_vec(demand)?)
    }

    /// What is still missing, in the words of an instruction. `None` lets the agent stop.
    pub fn missing(&self) -> io::Result<Option<String>> {
        let text = match read_text(&self.0.join("demand.json"), DEMAND_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let demand: StopDemand = serde_json::from_str(&text)?;
        Ok(demand.missing())
    }

    /// Takes one of the holds of this attempt, durably. `None`: they are used up.
    pub fn take_hold(&self) -> io::Result<Option<u32>> {
        for number in 1..=HOLDS_MAX {
            let file = self.0.join(format!("hold-{number}"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
                Ok(file) => {
                    file.sync_all()?;
                    File::open(&self.0)?.sync_all()?;
                    return Ok(Some(number));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Leaves a receipt. Files sort by the time at which they were left.
    pub fn leave(&self, receipt: &LifecycleReceipt) -> io::Result<()> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:024}-{:016x}", since.as_nanos(), random_u64()?);
        let folder = match self.receipts() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_directory(&self.0.join("receipts"))?;
                self.receipts()?
            }
            folder => folder?,
        };
        let new = format!("{name}.new");
        beneath::create_in(&folder, new.as_ref())?.write_all(&serde_json::to_vec(receipt)?)?;
        Ok(renameat(&folder, new, &folder, format!("{name}.json"))?)
    }

    /// The directory of the receipts. The harness can write beside it, so no link is followed to it.
    fn receipts(&self) -> io::Result<OwnedFd> {
        let (Some(above), Some(name)) = (self.0.parent(), self.0.file_name().and_then(|name| name.to_str()))
        else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the spool has no name"));
        };
        beneath::open_directory(above, &[name, "receipts"])
    }

    /// Moves the receipts into the ledger, in order. `run` is the run of the attempt; outside a run, receipts keep theirs.
    pub fn collect(&self, run: Option<&str>, ledger: &mut dyn Ledger) -> Result<Collected, LedgerError> {
        let mut collected = Collected::default();
        let Ok(folder) = self.receipts() else { return Ok(collected) };
        let mut files: Vec<String> = names_in(&folder).collect();
        files.retain(|file| file.ends_with(".json"));
        files.sort();
        let mut linked = Linked::default();
        for file in files.iter().take(RECEIPTS_MAX) {
            // A program that floods the spool gets no receipt for each of its files.
            if collected.unreadable > UNREADABLE_MAX {
                let _ = unlinkat(&folder, file, AtFlags::empty());
                continue;
            }
            let receipt = match read_text_in(&folder, file, RECEIPT_BYTES_MAX)
                .map_err(|error| error.to_string())
                .and_then(|text| read(&text))
            {
                Ok(receipt) => {
                    collected.recorded += 1;
                    receipt
                }
                Err(why) => {
                    collected.unreadable += 1;
                    let more = "there are many such files, and the others are dropped";
                    unreadable(if collected.unreadable > UNREADABLE_MAX { more } else { &why })
                }
            };
            let run = run.map(str::to_owned).or(receipt.harness_run_id);
            linked.record(LifecycleReceipt { harness_run_id: run, ..receipt }, ledger)?;
            let _ = unlinkat(&folder, file, AtFlags::empty());
        }
        Ok(collected)
    }

    /// Whether enough receipts are there to be taken in.
    pub fn has_many(&self) -> bool {
        self.receipts().is_ok_and(|folder| names_in(&folder).count() >= RECEIPTS_MANY)
    }

    /// Whether no receipt is there.
    pub fn is_empty(&self) -> bool {
        self.receipts().map_or(true, |folder| names_in(&folder).next().is_none())
    }

    fn write(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        create_file(&self.0.join(name))?.write_all(contents)
    }
}

/// A receipt as a hook writes it: what only a ledger may decide is taken out.
fn read(text: &str) -> Result<LifecycleReceipt, String> {
    let receipt = LifecycleReceipt::read(text).map_err(|error| error.to_string())?;
    receipt.validate().map_err(|error| error.to_string())?;
    if escrow_harness::dialect(&receipt.adapter_id).is_none() {
        return Err("the receipt is of no known host".to_owned());
    }
    Ok(LifecycleReceipt {
        client_id: CLIENT.to_owned(),
        idempotency_key: None,
        sequence: None,
        parent_receipt_id: None,
        integration_mode: IntegrationMode::NativeHook,
        ..receipt
    })
}

/// A receipt of the supervisor itself: no hook has left it.
pub fn of_supervisor(adapter: &str, invocation: &str, event: LifecycleEventKind) -> LifecycleReceipt {
    let id = format!("hook-{:016x}", random_u64().unwrap_or_else(|_| now_ms()));
    LifecycleReceipt {
        schema_version: CURRENT.as_str().to_owned(),
        event_id: id.clone(),
        receipt_id: id,
        idempotency_key: None,
        client_id: CLIENT.to_owned(),
        adapter_id: adapter.to_owned(),
        invocation_id: invocation.to_owned(),
        event,
        sequence: None,
        parent_receipt_id: None,
        integration_mode: IntegrationMode::NativeHook,
        status: ReceiptStatus::Observed,
        at_epoch_s: now_ms() / 1000,
        harness_session_id: None,
        harness_run_id: None,
        harness_task_id: None,
        payload_receipts: Vec::new(),
        telemetry_summary: Default::default(),
        capability_degradations: Vec::new(),
        failure_class: None,
        retry_class: None,
        warnings: Vec::new(),
    }
}

fn unreadable(why: &str) -> LifecycleReceipt {
    LifecycleReceipt {
        status: ReceiptStatus::Failed,
        failure_class: Some(FailureClass::InvalidRequest),
        retry_class: Some(RetryClass::DoNotRetry),
        warnings: vec![Warning::new(
            "receipt_unreadable",
            format!("a receipt in the spool cannot be read: {why}"),
        )],
        ..of_supervisor("escrow", "hook-spool", LifecycleEventKind::CapabilityDegraded)
    }
}

/// The spool of receipts that are not in the ledger of a state yet.
pub fn waiting(state: &Path) -> HookSpool {
    HookSpool::at(&state.join("hooks"))
}

/// Takes in what the hooks of interrupted attempts have left in the spool of a run. Says why, if that fails.
pub fn collect_left(run: &str, spool: &Path, state: &Path) -> Result<usize, String> {
    let Ok(entries) = fs::read_dir(spool) else { return Ok(0) };
    let homes = entries.flatten().map(|entry| entry.path());
    let left = homes.filter(|home| home.extension().is_some_and(|extension| extension == "home"));
    let left: Vec<HookSpool> =
        left.map(|home| HookSpool::at(&home.join("hooks"))).filter(|spool| !spool.is_empty()).collect();
    if left.is_empty() {
        return Ok(0);
    }
    let mut ledger =
        ReceiptLedger::open_grouped(&state.join("escrow.db")).map_err(|error| error.to_string())?;
    let mut recorded = 0;
    for spool in left {
        recorded += spool.collect(Some(run), &mut ledger).map_err(|error| error.to_string())?.recorded;
    }
    Ok(recorded)
}

/// The names of what lies in a directory.
fn names_in(folder: &OwnedFd) -> impl Iterator<Item = String> {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    names.filter(|name| name != "." && name != "..")
}

/// The text of a plain file of a limited size. Links are not followed, and a pipe is not waited for.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text_of(open(path, READ, Mode::empty())?, bytes_max)
}

/// The same in an open directory.
fn read_text_in(folder: &OwnedFd, name: &str, bytes_max: u64) -> io::Result<String> {
    text_of(openat(folder, name, READ, Mode::empty())?, bytes_max)
}

const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

fn text_of(file: OwnedFd, bytes_max: u64) -> io::Result<String> {
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a plain file"));
    }
    let mut text = String::new();
    let count = File::from(file).take(bytes_max + 1).read_to_string(&mut text)?;
    if count as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too large"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use escrow_model::Location;
    use escrow_protocol::receipt::ReceiptQuery;

    use super::*;
    use escrow_model::ArtifactPath;
    use escrow_protocol::receipt::MemoryLedger;

    fn receipt(id: &str, event: LifecycleEventKind) -> LifecycleReceipt {
        LifecycleReceipt {
            receipt_id: id.to_owned(),
            adapter_id: "claude".to_owned(),
            event,
            status: ReceiptStatus::Observed,
            failure_class: None,
            retry_class: None,
            warnings: Vec::new(),
            harness_session_id: Some("s".to_owned()),
            harness_run_id: Some("forged".to_owned()),
            sequence: Some(77),
            ..unreadable("")
        }
    }

    #[test]
    fn receipts_reach_the_ledger_in_order_linked_and_under_the_run_of_the_attempt() {
        let home = tempfile::tempdir().unwrap();
        let spool = HookSpool::create(&home.path().join("hooks")).unwrap();
        let events = [
            LifecycleEventKind::SessionStarted,
            LifecycleEventKind::FrameOpening,
            LifecycleEventKind::FrameEnding,
        ];
        for (id, event) in ["a", "b", "c"].iter().zip(events) {
            spool.leave(&receipt(id, event)).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let folder = home.path().join("hooks/receipts");
        fs::write(folder.join("9-half.json"), "{\"schema_version\":").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("9-link.json")).unwrap();
        fs::write(folder.join("9-large.json"), vec![b' '; 70_000]).unwrap();
        let mut ledger = MemoryLedger::default();
        let collected = spool.collect(Some("r_1"), &mut ledger).unwrap();
        assert_eq!(collected, Collected { recorded: 3, unreadable: 3 });
        let kept = ledger.query(&ReceiptQuery::default()).unwrap();
        assert!(kept.iter().all(|receipt| receipt.harness_run_id.as_deref() == Some("r_1")));
        let parents: Vec<_> = kept.iter().take(3).map(|kept| kept.parent_receipt_id.as_deref()).collect();
        assert_eq!(parents, [None, Some("a"), Some("b")]);
        assert_eq!(kept[2].sequence, Some(3));
        assert!(kept[3..].iter().all(|receipt| receipt.status == ReceiptStatus::Failed));
        assert_eq!(spool.collect(Some("r_1"), &mut ledger).unwrap(), Collected::default());
    }

    #[test]
    fn a_spool_that_is_flooded_is_emptied_with_a_bounded_number_of_receipts() {
        let home = tempfile::tempdir().unwrap();
        let spool = HookSpool::create(&home.path().join("hooks")).unwrap();
        spool.leave(&receipt("a", LifecycleEventKind::SessionStarted)).unwrap();
        for number in 0..3000 {
            fs::write(home.path().join(format!("hooks/receipts/z{number:05}.json")), "junk").unwrap();
        }
        let mut ledger = MemoryLedger::default();
        let collected = spool.collect(Some("r_1"), &mut ledger).unwrap();
        assert_eq!(collected.recorded, 1);
        assert!(collected.unreadable <= UNREADABLE_MAX + 1, "{collected:?}");
        assert!(spool.is_empty());
        let kept = ledger.query(&ReceiptQuery::default()).unwrap();
        assert_eq!(kept.len(), collected.unreadable + 1);
        let last = &kept[kept.len() - 1].warnings;
        assert!(format!("{last:?}").contains("many such files"), "{last:?}");
    }

    #[test]
    fn a_stop_is_held_until_the_files_are_there_and_three_times_at_most() {
        let home = tempfile::tempdir().unwrap();
        let spool = HookSpool::create(&home.path().join("hooks")).unwrap();
        assert_eq!(spool.missing().unwrap(), None);
        let location = Location::Path(ArtifactPath::parse("review.md").unwrap());
        let demand = serde_json::json!({
            "artifacts": home.path(),
            "files": [{"location": location, "min_size": 1, "description": "what was found"}],
        });
        spool.hold_stop(&serde_json::from_value(demand).unwrap()).unwrap();
        assert!(spool.missing().unwrap().unwrap().contains("review.md` is absent: what was found"));
        fs::write(home.path().join("review.md"), "").unwrap();
        assert!(spool.missing().unwrap().is_some());
        fs::write(home.path().join("review.md"), "x").unwrap();
        assert_eq!(spool.missing().unwrap(), None);
        let holds: Vec<_> =
            (0..5).map(|_| HookSpool::at(&home.path().join("hooks")).take_hold().unwrap()).collect();
        assert_eq!(holds, [Some(1), Some(2), Some(3), None, None]);
        let anew = HookSpool::create(&home.path().join("hooks")).unwrap();
        assert_eq!(anew.take_hold().unwrap(), Some(1));
    }
}
