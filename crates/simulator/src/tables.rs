//! The derived tables say what the journals say: dropping and deriving them again changes no row.

use std::fmt::Write as _;

use escrow_store::{BlockingStore, ChainRunFilter, RunFilter, StoreError};

/// Compares every row of every run with what a rebuild makes of it.
pub(crate) fn rebuild_changes_nothing(store: &BlockingStore) -> Result<(), String> {
    let before = rows(store).map_err(|error| error.to_string())?;
    store.rebuild().map_err(|error| error.to_string())?;
    let after = rows(store).map_err(|error| error.to_string())?;
    if before == after {
        return Ok(());
    }
    let differs = before.lines().zip(after.lines()).find(|(before, after)| before != after);
    Err(format!("a rebuild changes the tables: {differs:?}"))
}

fn rows(store: &BlockingStore) -> Result<String, StoreError> {
    let mut text = String::new();
    for row in store.runs(&RunFilter::default())? {
        let run = &row.id;
        let parts = [
            format!("{row:?}"),
            format!("{:?}", store.waits(run)?),
            format!("{:?}", store.transitions("run", run.as_str())?),
        ];
        for part in parts {
            let _ = writeln!(text, "{run} {part}");
        }
    }
    for row in store.chain_runs(&ChainRunFilter::default())? {
        let _ = writeln!(text, "{row:?}");
    }
    Ok(text)
}
