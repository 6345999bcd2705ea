//! Reads the receipts that hooks have left in the ledger of the state.

use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::{Ledger as _, ReceiptQuery, gap_events};
use escrow_store::{Mode, ReceiptLedger};

use crate::error::Error;
use crate::hooks;
use crate::state::StateDirectory;

/// The newest receipts of the state, newest first.
pub fn receipts(
    state: &StateDirectory,
    adapter: Option<&str>,
    limit: usize,
) -> Result<Vec<LifecycleReceipt>, Error> {
    let Some(mut ledger) = ledger(state)? else { return Ok(Vec::new()) };
    let query = ReceiptQuery { adapter_id: adapter.map(str::to_owned), ..ReceiptQuery::default() };
    let mut receipts = ledger.query(&query).map_err(|error| Error::world("state", error.to_string()))?;
    receipts.reverse();
    receipts.truncate(limit);
    Ok(receipts)
}

/// What the hooks of a run's agents reported, oldest first.
pub fn receipts_of_run(state: &StateDirectory, run: &str) -> Result<Vec<LifecycleReceipt>, Error> {
    let Some(mut ledger) = ledger(state)? else { return Ok(Vec::new()) };
    let query = ReceiptQuery { harness_run_id: Some(run.to_owned()), ..ReceiptQuery::default() };
    ledger.query(&query).map_err(|error| Error::world("state", error.to_string()))
}

/// How many receipts are missing between those that arrived.
pub fn gaps(state: &StateDirectory) -> Result<usize, Error> {
    let Some(mut ledger) = ledger(state)? else { return Ok(0) };
    let gaps = gap_events(&mut ledger, &ReceiptQuery::default());
    Ok(gaps.map_err(|error| Error::world("state", error.to_string()))?.len())
}

/// The ledger of the state, if there is one. Receipts that wait beside it are taken in first.
pub(super) fn ledger(state: &StateDirectory) -> Result<Option<ReceiptLedger>, Error> {
    let database = state.database();
    let failed = |error: String| Error::world("state", error);
    if hooks::are_waiting(state.path()) {
        let mut ledger =
            ReceiptLedger::open(&database, Mode::Write).map_err(|error| failed(error.to_string()))?;
        hooks::collect_waiting(state.path(), &mut ledger).map_err(|error| failed(error.to_string()))?;
        return Ok(Some(ledger));
    }
    if !database.is_file() {
        return Ok(None);
    }
    Ok(Some(ReceiptLedger::open(&database, Mode::Read)?))
}
