//! Finds the first entry of a journal that is not what was written.

use escrow_model::RunId;

use crate::chain::Hash;
use crate::entry::decode;
use crate::error::StoreError;
use crate::sqlite::entries;
use crate::sqlite::store::Store;
use crate::verify::{Break, Verification, reason_of};

impl Store {
    /// Recomputes the chain of a run from its first entry.
    pub fn verify(&self, run: &RunId) -> Result<Verification, StoreError> {
        self.read(|connection| {
            // One snapshot, so that a commit in between does not look like a break.
            let snapshot = connection.unchecked_transaction()?;
            let Some(head) = entries::head(&snapshot, run)? else { return Ok(Verification::NoSuchRun) };
            let mut statement = snapshot
                .prepare_cached("SELECT seq, bytes, hash FROM entries WHERE journal = ?1 ORDER BY seq")?;
            let mut rows = statement.query([head.id])?;
            let (mut seq, mut hash) = (0, Hash::origin(run));
            while let Some(row) = rows.next()? {
                let expected = seq + 1;
                let broken = |reason| Ok(Verification::Broken { seq: expected, reason });
                seq = row.get(0)?;
                if seq != expected {
                    return broken(Break::Gap { found: seq });
                }
                let Ok(bytes) = row.get_ref(1)?.as_blob() else { return broken(Break::NotJson) };
                hash = hash.next(seq, bytes);
                if row.get::<_, Hash>(2).ok() != Some(hash) {
                    return broken(Break::HashMismatch);
                }
                if let Err(error) = decode(run.as_str(), seq, bytes) {
                    return broken(reason_of(&error));
                }
            }
            if seq < head.seq {
                return Ok(Verification::Broken {
                    seq: seq + 1,
                    reason: Break::CutOff { recorded: head.seq },
                });
            }
            if seq > head.seq || hash != head.hash {
                return Ok(Verification::Broken { seq, reason: Break::NotRecorded });
            }
            Ok(Verification::Intact { entries: seq, hash })
        })
    }
}
