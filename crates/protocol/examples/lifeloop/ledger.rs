//! A ledger in a file of JSON lines, replayed when it is opened. One writer at a time.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use escrow_protocol::command::LedgerAccess;
use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::{
    ChainState, Claim, IdempotencyScope, Ledger, LedgerError, MemoryLedger, ReceiptQuery, Recorded, Retention,
};
use serde::{Deserialize, Serialize};

pub(crate) struct FileLedger {
    path: PathBuf,
    memory: MemoryLedger,
}

#[derive(Serialize, Deserialize)]
enum Line {
    Kept(LifecycleReceipt),
    Attempt(LifecycleReceipt),
}

impl FileLedger {
    pub(crate) fn open(path: &Path, access: LedgerAccess) -> Result<Self, LedgerError> {
        let mut ledger = Self { path: path.to_owned(), memory: MemoryLedger::new() };
        match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && access == LedgerAccess::Write => {
                let created = fs::write(path, "");
                created.map_err(|_| storage(format!("unable to open database file: {}", path.display())))?;
            }
            Err(_) => return Err(storage(format!("unable to open database file: {}", path.display()))),
            Ok(text) => {
                for line in text.lines() {
                    match serde_json::from_str(line).map_err(|_| storage("file is not a database".into()))? {
                        Line::Kept(receipt) => ledger.memory.record(receipt).map(drop)?,
                        Line::Attempt(receipt) => ledger.memory.record_attempt(receipt).map(drop)?,
                    }
                }
            }
        }
        Ok(ledger)
    }

    fn append(&self, line: &Line) -> Result<(), LedgerError> {
        let write = || -> io::Result<()> {
            let mut file = fs::OpenOptions::new().append(true).open(&self.path)?;
            let mut text = serde_json::to_string(line)?;
            text.push('\n');
            file.write_all(text.as_bytes())
        };
        write().map_err(|error| storage(error.to_string()))
    }
}

fn storage(why: String) -> LedgerError {
    LedgerError::Storage(why)
}

impl Ledger for FileLedger {
    fn record(&mut self, draft: LifecycleReceipt) -> Result<Recorded, LedgerError> {
        let recorded = self.memory.record(draft)?;
        if let Recorded::New(receipt) = &recorded {
            self.append(&Line::Kept(receipt.clone()))?;
        }
        Ok(recorded)
    }

    fn record_attempt(&mut self, draft: LifecycleReceipt) -> Result<LifecycleReceipt, LedgerError> {
        let receipt = self.memory.record_attempt(draft)?;
        self.append(&Line::Attempt(receipt.clone()))?;
        Ok(receipt)
    }

    fn find(&mut self, scope: &IdempotencyScope) -> Result<Option<LifecycleReceipt>, LedgerError> {
        self.memory.find(scope)
    }

    fn query(&mut self, query: &ReceiptQuery) -> Result<Vec<LifecycleReceipt>, LedgerError> {
        self.memory.query(query)
    }

    fn claim(
        &mut self,
        scope: &IdempotencyScope,
        now_epoch_s: u64,
        lease_s: u64,
    ) -> Result<Claim, LedgerError> {
        self.memory.claim(scope, now_epoch_s, lease_s)
    }

    fn release(&mut self, scope: &IdempotencyScope) -> Result<(), LedgerError> {
        self.memory.release(scope)
    }

    fn forget(&mut self, retention: Retention) -> Result<u64, LedgerError> {
        self.memory.forget(retention)
    }

    fn forgotten_sequence(&mut self, harness_run_id: &str) -> Result<u64, LedgerError> {
        self.memory.forgotten_sequence(harness_run_id)
    }

    fn verify(&mut self) -> Result<ChainState, LedgerError> {
        self.memory.verify()
    }
}
