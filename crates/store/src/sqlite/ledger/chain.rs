//! The chain through all receipts of a ledger, also through those that were forgotten.

use escrow_protocol::receipt::{ChainBreak, ChainDigest, ChainState};
use rusqlite::{Connection, Transaction};

use super::Problem;

/// The last position and its digest; 0 and nothing for a ledger that never held a receipt.
pub(super) fn head(connection: &Connection) -> Result<(u64, Option<ChainDigest>), Problem> {
    let mut statement = connection.prepare_cached("SELECT position, digest FROM receipt_head")?;
    let (position, digest): (u64, Option<Vec<u8>>) =
        statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match digest {
        None => Ok((position, None)),
        Some(bytes) => {
            let digest =
                digest_in(&bytes).ok_or_else(|| Problem::corrupt("the ledger's digest is damaged"))?;
            Ok((position, Some(digest)))
        }
    }
}

/// Drops what is older than `before`, but for its digests. Runs remember up to where they were forgotten.
pub(super) fn forget(transaction: &Transaction<'_>, before: i64) -> Result<u64, Problem> {
    transaction.execute(
        "INSERT INTO forgotten_receipts SELECT position, digest FROM receipts WHERE at < ?1",
        [before],
    )?;
    transaction.execute(
        "UPDATE receipt_runs SET forgotten_sequence = max(forgotten_sequence, gone.sequence)
         FROM (SELECT run, max(sequence) AS sequence FROM receipts WHERE at < ?1 GROUP BY run) AS gone
         WHERE receipt_runs.run = gone.run",
        [before],
    )?;
    transaction.execute(
        "DELETE FROM receipt_keys WHERE position IN (SELECT position FROM receipts WHERE at < ?1)",
        [before],
    )?;
    let forgotten = transaction.execute("DELETE FROM receipts WHERE at < ?1", [before])?;
    Ok(u64::try_from(forgotten).unwrap_or(u64::MAX))
}

/// Walks the chain from its beginning.
pub(super) fn verify(connection: &Connection) -> Result<ChainState, Problem> {
    // One snapshot, also while others write.
    let transaction = connection.unchecked_transaction()?;
    walk(&transaction)
}

/// What is wrong with the chain, in words.
pub(in crate::sqlite) fn problem(snapshot: &Connection) -> Option<String> {
    match walk(snapshot) {
        Ok(ChainState::Whole { .. }) => None,
        Ok(ChainState::Broken { position, why }) => Some(format!("at position {position}: {why}")),
        Err(_) => Some("at its end, which is missing or damaged".to_owned()),
    }
}

fn walk(snapshot: &Connection) -> Result<ChainState, Problem> {
    let (last, expected) = head(snapshot)?;
    let mut statement = snapshot.prepare(
        "SELECT position, digest, body FROM receipts
         UNION ALL SELECT position, digest, NULL FROM forgotten_receipts ORDER BY position",
    )?;
    let mut rows = statement.query([])?;
    let (mut receipts, mut forgotten) = (0, 0);
    let mut digest: Option<ChainDigest> = None;
    let broken = |position, why| Ok(ChainState::Broken { position, why });
    while let Some(row) = rows.next()? {
        let place = receipts + forgotten + 1;
        let position: u64 = row.get(0)?;
        if position != place {
            return broken(place, if position > place { ChainBreak::Missing } else { ChainBreak::Added });
        }
        if position > last {
            return broken(place, ChainBreak::Added);
        }
        let Some(kept) = row.get_ref(1)?.as_blob().ok().and_then(digest_in) else {
            return broken(place, ChainBreak::Changed);
        };
        match row.get_ref(2)?.as_blob_or_null() {
            Ok(Some(body)) if ChainDigest::after(digest.as_ref(), body) == kept => receipts += 1,
            Ok(None) => forgotten += 1,
            Ok(Some(_)) | Err(_) => return broken(place, ChainBreak::Changed),
        }
        digest = Some(kept);
    }
    let place = receipts + forgotten;
    if place < last {
        return broken(place + 1, ChainBreak::Missing);
    }
    if digest != expected {
        return broken(place, ChainBreak::Changed);
    }
    Ok(ChainState::Whole { receipts, forgotten, digest })
}

fn digest_in(bytes: &[u8]) -> Option<ChainDigest> {
    bytes.try_into().ok().map(ChainDigest::from_bytes)
}
