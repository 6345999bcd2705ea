//! A ledger in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ChainState, Claim, IdempotencyScope, Ledger, LedgerError, ReceiptQuery, Recorded, Retention,
    chain_digest, same_content,
};
use crate::envelope::LifecycleReceipt;

/// The reference implementation of [`Ledger`]. Other ledgers are tested against it.
#[derive(Debug, Clone, Default)]
pub struct MemoryLedger {
    receipts: Vec<LifecycleReceipt>,
    receipt_ids: BTreeSet<String>,
    keyed: BTreeMap<IdempotencyScope, LifecycleReceipt>,
    claimed_until: BTreeMap<IdempotencyScope, u64>,
    last_sequence_of_run: BTreeMap<String, u64>,
    forgotten_sequence_of_run: BTreeMap<String, u64>,
    forgotten: u64,
}

impl MemoryLedger {
    pub fn new() -> Self {
        Self::default()
    }

    /// A ledger with these receipts, in this order.
    pub fn holding(receipts: impl IntoIterator<Item = LifecycleReceipt>) -> Self {
        let mut ledger = Self::new();
        for receipt in receipts {
            ledger.keep(receipt);
        }
        ledger
    }

    /// Gives the draft its sequence, unless its id is taken.
    fn number(&self, draft: &mut LifecycleReceipt) -> Result<(), LedgerError> {
        if self.receipt_ids.contains(&draft.receipt_id) {
            return Err(LedgerError::DuplicateReceiptId(draft.receipt_id.clone()));
        }
        if let Some(run) = &draft.harness_run_id {
            let last = self.last_sequence_of_run.get(run).copied().unwrap_or(0);
            let exhausted = || LedgerError::Storage(format!("run `{run}` has no sequence left"));
            draft.sequence = Some(last.checked_add(1).ok_or_else(exhausted)?);
        }
        Ok(())
    }

    fn keep(&mut self, receipt: LifecycleReceipt) {
        if let Some(scope) = IdempotencyScope::of(&receipt) {
            self.claimed_until.remove(&scope);
            self.keyed.insert(scope, receipt.clone());
        }
        self.append(receipt);
    }

    fn append(&mut self, receipt: LifecycleReceipt) {
        if let (Some(run), Some(sequence)) = (&receipt.harness_run_id, receipt.sequence) {
            let last = self.last_sequence_of_run.entry(run.clone()).or_default();
            *last = sequence.max(*last);
        }
        self.receipt_ids.insert(receipt.receipt_id.clone());
        self.receipts.push(receipt);
    }
}

impl Ledger for MemoryLedger {
    fn record(&mut self, mut draft: LifecycleReceipt) -> Result<Recorded, LedgerError> {
        if let Some(scope) = IdempotencyScope::of(&draft)
            && let Some(kept) = self.keyed.get(&scope)
        {
            return if same_content(kept, &draft) {
                Ok(Recorded::Replay(kept.clone()))
            } else {
                Err(LedgerError::Conflict(scope.idempotency_key))
            };
        }
        self.number(&mut draft)?;
        self.keep(draft.clone());
        Ok(Recorded::New(draft))
    }

    fn record_attempt(&mut self, mut draft: LifecycleReceipt) -> Result<LifecycleReceipt, LedgerError> {
        self.number(&mut draft)?;
        self.append(draft.clone());
        Ok(draft)
    }

    fn find(&mut self, scope: &IdempotencyScope) -> Result<Option<LifecycleReceipt>, LedgerError> {
        Ok(self.keyed.get(scope).cloned())
    }

    fn query(&mut self, query: &ReceiptQuery) -> Result<Vec<LifecycleReceipt>, LedgerError> {
        let matching = self.receipts.iter().filter(|receipt| query.matches(receipt));
        Ok(matching.take(query.limit.unwrap_or(usize::MAX)).cloned().collect())
    }

    fn claim(
        &mut self,
        scope: &IdempotencyScope,
        now_epoch_s: u64,
        lease_s: u64,
    ) -> Result<Claim, LedgerError> {
        if let Some(receipt) = self.keyed.get(scope) {
            return Ok(Claim::Replay(Box::new(receipt.clone())));
        }
        match self.claimed_until.get(scope) {
            Some(&until_epoch_s) if until_epoch_s > now_epoch_s => Ok(Claim::Busy { until_epoch_s }),
            Some(_) | None => {
                self.claimed_until.insert(scope.clone(), now_epoch_s.saturating_add(lease_s));
                Ok(Claim::Granted)
            }
        }
    }

    fn release(&mut self, scope: &IdempotencyScope) -> Result<(), LedgerError> {
        self.claimed_until.remove(scope);
        Ok(())
    }

    fn forget(&mut self, retention: Retention) -> Result<u64, LedgerError> {
        let before = self.receipts.len();
        let is_kept = |receipt: &LifecycleReceipt| receipt.at_epoch_s >= retention.before_epoch_s;
        for receipt in self.receipts.iter().filter(|receipt| !is_kept(receipt)) {
            if let (Some(run), Some(sequence)) = (&receipt.harness_run_id, receipt.sequence) {
                let last = self.forgotten_sequence_of_run.entry(run.clone()).or_default();
                *last = sequence.max(*last);
            }
        }
        self.receipts.retain(is_kept);
        self.keyed.retain(|_, receipt| is_kept(receipt));
        self.receipt_ids = self.receipts.iter().map(|receipt| receipt.receipt_id.clone()).collect();
        let forgotten = count(before.saturating_sub(self.receipts.len()));
        self.forgotten = self.forgotten.saturating_add(forgotten);
        Ok(forgotten)
    }

    fn forgotten_sequence(&mut self, harness_run_id: &str) -> Result<u64, LedgerError> {
        Ok(self.forgotten_sequence_of_run.get(harness_run_id).copied().unwrap_or(0))
    }

    /// Always intact: nothing else can write to this memory. The digest covers the remaining receipts.
    fn verify(&mut self) -> Result<ChainState, LedgerError> {
        let mut digest = None;
        for receipt in &self.receipts {
            let next = chain_digest(digest.as_ref(), receipt);
            digest = Some(next.map_err(|error| LedgerError::Storage(error.to_string()))?);
        }
        Ok(ChainState::Whole { receipts: count(self.receipts.len()), forgotten: self.forgotten, digest })
    }
}

fn count(receipts: usize) -> u64 {
    u64::try_from(receipts).unwrap_or(u64::MAX)
}
