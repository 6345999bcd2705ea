//! Journals, leases and messages in memory, by the rules of the store: the same chain, the same fences.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use escrow_model::{Entry, Message, Millis, RunId};
use escrow_store::{
    Commit, Committed, Created, Hash, Holder, Journal, Lease, LeaseError, Liveness, MessageId, NewRun, Reply,
    Sent, Store, StoreError, StoreErrorKind, StoredEntry, Verification, verify_entries,
};

use crate::clock::Clock;

/// How long a lease stands without being renewed, as in the store.
const LEASE_MS: Millis = 60_000;

/// A journal_trait that a whole case can be played on.
pub trait Backing: Journal {
    fn journal(&self, run: &RunId) -> Result<Vec<StoredEntry>, StoreError>;
    fn verify(&self, run: &RunId) -> Result<Verification, StoreError>;
}

impl Backing for Store {
    fn journal(&self, run: &RunId) -> Result<Vec<StoredEntry>, StoreError> {
        Store::journal(self, run)
    }

    fn verify(&self, run: &RunId) -> Result<Verification, StoreError> {
        Store::verify(self, run)
    }
}

/// Entries are kept as the bytes that were hashed and read back from them, as a database would.
pub(crate) struct Memory {
    clock: Arc<Clock>,
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    runs: BTreeMap<RunId, RunJournal>,
    /// Counts commits of every kind.
    version: u64,
    tokens: u64,
    messages: u64,
}

struct RunJournal {
    entries: Vec<StoredEntry>,
    hash: Hash,
    lease: Option<(Vec<u8>, Holder, Millis)>,
    inbox: Vec<(Sent, bool)>,
}

impl Memory {
    pub(crate) fn new(clock: Arc<Clock>) -> Memory {
        Memory { clock, shelf: Mutex::default() }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit(&self, commit: Commit<'_>) -> Result<Committed, StoreError> {
        let mut shelf = self.shelf();
        let journal = shelf.run(commit.lease.run())?;
        if journal.lease.as_ref().map(|(token, ..)| token.as_slice()) != Some(commit.lease.token()) {
            return Ok(Committed::Fenced);
        }
        let seq = journal.entries.len() as u64;
        let drafts = drafts(commit.entries)?;
        if seq != commit.expected_seq {
            return journal.done_before(commit.expected_seq, &drafts);
        }
        for message in commit.delivered {
            let undelivered = journal.inbox.iter().any(|(sent, delivered)| sent.id == *message && !delivered);
            if !undelivered {
                return Err(StoreError::new(StoreErrorKind::MessageGone, "the message is not in the inbox"));
            }
        }
        journal.append(drafts);
        for (sent, delivered) in &mut journal.inbox {
            *delivered |= commit.delivered.contains(&sent.id);
        }
        let seq = journal.entries.len() as u64;
        shelf.version += 1;
        Ok(Committed::Done { seq })
    }
}

impl Shelf {
    fn run(&mut self, run: &RunId) -> Result<&mut RunJournal, StoreError> {
        let missing = || StoreError::new(StoreErrorKind::NoSuchRun, format!("there is no run `{run}`"));
        self.runs.get_mut(run).ok_or_else(missing)
    }

    fn take(&mut self, run: &RunId, holder: &Holder, expires_at: Millis) -> Result<Lease, StoreError> {
        self.tokens += 1;
        self.version += 1;
        let token = self.tokens.to_be_bytes().to_vec();
        self.run(run)?.lease = Some((token.clone(), holder.clone(), expires_at));
        Ok(Lease::new(run.clone(), token))
    }
}

impl RunJournal {
    fn append(&mut self, drafts: Vec<Vec<u8>>) {
        for bytes in drafts {
            let seq = self.entries.len() as u64 + 1;
            self.hash = self.hash.next(seq, &bytes);
            self.entries.push(StoredEntry { seq, bytes, hash: self.hash });
        }
    }

    /// A commit whose answer was lost and that is sent again.
    fn done_before(&self, expected: u64, drafts: &[Vec<u8>]) -> Result<Committed, StoreError> {
        let from = usize::try_from(expected).unwrap_or(usize::MAX);
        let written = self.entries.get(from..from.saturating_add(drafts.len())).unwrap_or_default();
        let same = !drafts.is_empty()
            && written.len() == drafts.len()
            && written.iter().zip(drafts).all(|(entry, draft)| entry.bytes == *draft);
        let actual = self.entries.len() as u64;
        if same {
            return Ok(Committed::AlreadyDone { seq: expected + drafts.len() as u64 });
        }
        Err(StoreError::new(
            StoreErrorKind::OutOfStep { expected, actual },
            "the commit follows another entry",
        ))
    }
}

fn drafts(entries: &[Entry]) -> Result<Vec<Vec<u8>>, StoreError> {
    let unwritable = |error| StoreError::new(StoreErrorKind::Internal, format!("not JSON: {error}"));
    entries.iter().map(|entry| serde_json::to_vec(entry).map_err(unwritable)).collect()
}

impl Journal for Memory {
    fn create_run(&self, new: NewRun<'_>) -> Result<Created, StoreError> {
        let mut shelf = self.shelf();
        if shelf.runs.contains_key(new.run) {
            return Ok(Created::AlreadyExists);
        }
        let mut journal =
            RunJournal { entries: Vec::new(), hash: Hash::origin(new.run), lease: None, inbox: Vec::new() };
        journal.append(drafts(new.entries)?);
        let seq = journal.entries.len() as u64;
        shelf.runs.insert(new.run.clone(), journal);
        let lease = shelf.take(new.run, new.holder, self.clock.now_ms() + LEASE_MS)?;
        Ok(Created::Done { lease, seq })
    }

    fn commit_with(&self, commit: Commit<'_>, reply: Reply) {
        reply(self.commit(commit));
    }

    fn acquire(
        &self,
        run: &RunId,
        holder: &Holder,
        judge: &dyn Fn(&Holder) -> Liveness,
    ) -> Result<Lease, LeaseError> {
        let mut shelf = self.shelf();
        let now = self.clock.now_ms();
        let Some(journal) = shelf.runs.get(run) else { return Err(LeaseError::NoSuchRun(run.clone())) };
        if let Some((_, other, expires_at)) = &journal.lease {
            let stands = match judge(other) {
                Liveness::Alive => true,
                Liveness::Dead => false,
                Liveness::Unknown => now < *expires_at,
            };
            if stands {
                let (holder, expires_at) = (other.clone(), *expires_at);
                return Err(LeaseError::Held { run: run.clone(), holder, expires_at });
            }
        }
        Ok(shelf.take(run, holder, now + LEASE_MS)?)
    }

    fn renew(&self, leases: &[Lease]) -> Result<Vec<RunId>, StoreError> {
        let mut shelf = self.shelf();
        let until = self.clock.now_ms() + LEASE_MS;
        let mut lost = Vec::new();
        for lease in leases {
            match &mut shelf.run(lease.run())?.lease {
                Some((token, _, expires_at)) if token.as_slice() == lease.token() => *expires_at = until,
                Some(_) | None => lost.push(lease.run().clone()),
            }
        }
        shelf.version += 1;
        Ok(lost)
    }

    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut shelf = self.shelf();
        let held = &mut shelf.run(lease.run())?.lease;
        if held.as_ref().is_some_and(|(token, ..)| token.as_slice() == lease.token()) {
            *held = None;
        }
        shelf.version += 1;
        Ok(())
    }

    fn entries(&self, run: &RunId, from_seq: u64) -> Result<Vec<(u64, Entry)>, StoreError> {
        let shelf = self.shelf();
        let Some(journal) = shelf.runs.get(run) else { return Ok(Vec::new()) };
        let wanted = journal.entries.iter().filter(|stored| stored.seq >= from_seq);
        wanted.map(|stored| Ok((stored.seq, decode(stored)?))).collect()
    }

    fn send(&self, run: &RunId, message: &Message, from: &str) -> Result<MessageId, StoreError> {
        let mut shelf = self.shelf();
        shelf.messages += 1;
        shelf.version += 1;
        let id = MessageId(shelf.messages);
        let sent = Sent { id, message: message.clone(), from: from.to_owned(), at: self.clock.now_ms() };
        shelf.run(run)?.inbox.push((sent, false));
        Ok(id)
    }

    fn undelivered(&self, run: &RunId) -> Result<Vec<Sent>, StoreError> {
        let shelf = self.shelf();
        let Some(journal) = shelf.runs.get(run) else { return Ok(Vec::new()) };
        Ok(journal.inbox.iter().filter(|(_, delivered)| !delivered).map(|(sent, _)| sent.clone()).collect())
    }

    fn version(&self) -> Result<u64, StoreError> {
        Ok(self.shelf().version)
    }
}

impl Backing for Memory {
    fn journal(&self, run: &RunId) -> Result<Vec<StoredEntry>, StoreError> {
        Ok(self.shelf().runs.get(run).map(|journal| journal.entries.clone()).unwrap_or_default())
    }

    fn verify(&self, run: &RunId) -> Result<Verification, StoreError> {
        Ok(verify_entries(run, &self.journal(run)?))
    }
}

pub(crate) fn decode(stored: &StoredEntry) -> Result<Entry, StoreError> {
    serde_json::from_slice(&stored.bytes)
        .map_err(|error| StoreError::new(StoreErrorKind::Corrupt, format!("entry {}: {error}", stored.seq)))
}
