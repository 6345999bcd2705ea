//! Records receipts in a ledger, each linked to the receipts of its session.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use escrow_harness::frames::parent_of;
use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::{Ledger, LedgerError, ReceiptQuery};

/// Records a receipt of a hook, linked to the receipts of its session.
pub fn record(receipt: LifecycleReceipt, ledger: &mut dyn Ledger) -> Result<(), LedgerError> {
    Linked::default().record(receipt, ledger)
}

/// The receipts of each run and adapter, read once for all that are recorded.
#[derive(Default)]
pub(super) struct Linked(BTreeMap<(String, String), Vec<LifecycleReceipt>>);

impl Linked {
    pub(super) fn record(
        &mut self,
        mut receipt: LifecycleReceipt,
        ledger: &mut dyn Ledger,
    ) -> Result<(), LedgerError> {
        let earlier = match receipt.harness_run_id.clone() {
            Some(run) => Some(self.earlier(run, receipt.adapter_id.clone(), ledger)?),
            None => None,
        };
        receipt.parent_receipt_id =
            earlier.as_ref().and_then(|earlier| parent_of(&receipt, earlier)).map(str::to_owned);
        match ledger.record_attempt(receipt) {
            Ok(recorded) => {
                earlier.into_iter().for_each(|earlier| earlier.push(recorded.clone()));
                Ok(())
            }
            // A file that was recorded before the supervisor stopped.
            Err(LedgerError::DuplicateReceiptId(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn earlier(
        &mut self,
        run: String,
        adapter: String,
        ledger: &mut dyn Ledger,
    ) -> Result<&mut Vec<LifecycleReceipt>, LedgerError> {
        match self.0.entry((run, adapter)) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(vacant) => {
                let (run, adapter) = vacant.key().clone();
                let query = ReceiptQuery {
                    harness_run_id: Some(run),
                    adapter_id: Some(adapter),
                    ..ReceiptQuery::default()
                };
                let earlier = ledger.query(&query)?;
                Ok(vacant.insert(earlier))
            }
        }
    }
}
