//! Journals, leases and messages in memory, by the rules of the store: the same chain, the same fences.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use escrow_engine::Run;
use escrow_model::{Entry, Event, Message, Millis, RunId};
use escrow_store::{
    Commit, Committed, Contested, Created, Decided, DecidedWait, EffectRow, Hash, HeldLease, Holder, Journal,
    Lease, LeaseState, MessageId, NewRun, NotAccepted, RunConflict, Sent, Store, StoreError, StoreErrorKind,
    StoreFuture, StoredEntry, Verification, judge_decision, verify_entries, wait_of,
};

use crate::clock::Clock;
use crate::conflicts::Holdings;
use crate::effects::Effects;

/// How long a lease stands without being renewed, as in the store.
const LEASE_MS: Millis = 60_000;

/// Far more than any case needs that ends.
const CALLS_MAX: u64 = 1_000_000;

/// A journal that a whole case can be played on.
pub trait StoreBackend: Journal {
    fn journal(&self, run: &RunId) -> Result<Vec<StoredEntry>, StoreError>;
    fn verify(&self, run: &RunId) -> Result<Verification, StoreError>;

    /// Records a decision if it is the first decision about its wait.
    fn decide(&self, run: &RunId, message: &Message, from: &str, now: Millis) -> Result<Decided, StoreError>;
}

impl StoreBackend for Store {
    fn journal(&self, run: &RunId) -> Result<Vec<StoredEntry>, StoreError> {
        self.blocking().journal(run)
    }

    fn verify(&self, run: &RunId) -> Result<Verification, StoreError> {
        self.blocking().verify(run)
    }

    fn decide(&self, run: &RunId, message: &Message, from: &str, now: Millis) -> Result<Decided, StoreError> {
        self.blocking().decide_at(run, message, from, now)
    }
}

/// Entries are kept as the bytes that were hashed and read back from them, as a database would.
pub(crate) struct Memory {
    clock: Arc<Clock>,
    runs: Mutex<Runs>,
}

#[derive(Default)]
struct Runs {
    by_id: BTreeMap<RunId, RunJournal>,
    /// Counts commits of every kind.
    version: u64,
    tokens: u64,
    messages: u64,
    effects: Effects,
    holdings: Holdings,
    /// How often a process has asked for anything.
    calls: u64,
}

struct RunJournal {
    entries: Vec<StoredEntry>,
    hash: Hash,
    lease: Option<(Vec<u8>, Holder, Millis)>,
    inbox: Vec<(Sent, bool)>,
}

impl Memory {
    pub(crate) fn new(clock: Arc<Clock>) -> Memory {
        Memory { clock, runs: Mutex::default() }
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.calls += 1;
        assert!(runs.calls < CALLS_MAX, "a process is busy for ever");
        runs
    }

    fn append(&self, commit: Commit<'_>) -> Result<Committed, StoreError> {
        let mut runs = self.runs();
        let journal = runs.run(commit.lease.run())?;
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
        let expired: Vec<&str> = expired_by(commit.entries).collect();
        let is_decided = |(sent, delivered): &(Sent, bool)| {
            let is_new = !delivered && !commit.delivered.contains(&sent.id);
            is_new && wait_of(&sent.message).is_some_and(|wait| expired.contains(&wait))
        };
        if journal.inbox.iter().any(is_decided) {
            return Ok(Committed::DecidedInTime);
        }
        if let Some(taken) = runs.effects.taken(commit.lease.run(), commit.entries) {
            return Ok(Committed::Taken(Box::new(taken)));
        }
        if let Some(in_the_way) = runs.holdings.in_the_way(commit.lease.run(), commit.entries) {
            return Ok(Committed::Conflict(runs.conflict(commit.lease.run(), None, in_the_way)?));
        }
        let journal = runs.run(commit.lease.run())?;
        journal.append(drafts);
        for (sent, delivered) in &mut journal.inbox {
            *delivered |= commit.delivered.contains(&sent.id);
        }
        let seq = journal.entries.len() as u64;
        for entry in commit.entries {
            runs.apply(commit.lease.run(), entry);
        }
        runs.version += 1;
        Ok(Committed::Done { seq })
    }
}

impl Runs {
    fn run(&mut self, run: &RunId) -> Result<&mut RunJournal, StoreError> {
        let missing = || StoreError::new(StoreErrorKind::NoSuchRun, format!("there is no run `{run}`"));
        self.by_id.get_mut(run).ok_or_else(missing)
    }

    fn apply(&mut self, run: &RunId, entry: &Entry) {
        self.effects.apply(run, entry);
        self.holdings.apply(run, entry);
    }

    fn entries(&self, run: &RunId) -> Result<Vec<Entry>, StoreError> {
        let stored = self.by_id.get(run).into_iter().flat_map(|journal| &journal.entries);
        stored.map(decode).collect()
    }

    fn conflict(
        &self,
        run: &RunId,
        parent: Option<&RunId>,
        in_the_way: (Contested, RunId),
    ) -> Result<Box<RunConflict>, StoreError> {
        self.holdings.conflict(run, parent, in_the_way, &self.effects, &|run| self.entries(run))
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

/// The waits that these entries let expire.
fn expired_by(entries: &[Entry]) -> impl Iterator<Item = &str> {
    entries.iter().filter_map(|entry| match &entry.event {
        Event::WaitExpired { id } => Some(id.as_str()),
        _ => None,
    })
}

fn drafts(entries: &[Entry]) -> Result<Vec<Vec<u8>>, StoreError> {
    entries.iter().map(escrow_store::encode_entry).collect()
}

impl Memory {
    fn create(&self, new: NewRun<'_>) -> Result<Created, StoreError> {
        let mut runs = self.runs();
        if let Some(parent) = new.parent {
            let held = runs.run(parent.run())?.lease.as_ref();
            if held.is_none_or(|(token, ..)| token.as_slice() != parent.token()) {
                return Ok(Created::ParentFenced);
            }
        }
        if runs.by_id.contains_key(new.run) {
            return Ok(Created::AlreadyExists);
        }
        if let Some(in_the_way) = runs.holdings.in_the_way(new.run, new.entries) {
            let parent = new.parent.map(Lease::run);
            return Ok(Created::Conflict(runs.conflict(new.run, parent, in_the_way)?));
        }
        let mut journal =
            RunJournal { entries: Vec::new(), hash: Hash::origin(new.run), lease: None, inbox: Vec::new() };
        journal.append(drafts(new.entries)?);
        let seq = journal.entries.len() as u64;
        runs.by_id.insert(new.run.clone(), journal);
        for entry in new.entries {
            runs.apply(new.run, entry);
        }
        let lease = runs.take(new.run, new.holder, self.clock.now_ms() + LEASE_MS)?;
        Ok(Created::Done { lease, seq })
    }

    fn state(&self, run: &RunId) -> Option<LeaseState> {
        let runs = self.runs();
        Some(match &runs.by_id.get(run)?.lease {
            None => LeaseState::Free,
            Some((token, holder, expires_at)) => LeaseState::Held(HeldLease {
                token: token.clone(),
                holder: holder.clone(),
                expires_at: *expires_at,
                is_expired: self.clock.now_ms() >= *expires_at,
            }),
        })
    }

    fn take(&self, run: &RunId, holder: &Holder, seen: &LeaseState) -> Result<Option<Lease>, StoreError> {
        if self.state(run).as_ref().and_then(LeaseState::token) != seen.token() {
            return Ok(None);
        }
        self.runs().take(run, holder, self.clock.now_ms() + LEASE_MS).map(Some)
    }

    fn extend(&self, leases: &[Lease]) -> Result<Vec<RunId>, StoreError> {
        let mut runs = self.runs();
        let until = self.clock.now_ms() + LEASE_MS;
        let mut lost = Vec::new();
        for lease in leases {
            match &mut runs.run(lease.run())?.lease {
                Some((token, _, expires_at)) if token.as_slice() == lease.token() => *expires_at = until,
                Some(_) | None => lost.push(lease.run().clone()),
            }
        }
        runs.version += 1;
        Ok(lost)
    }

    fn give_back(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut runs = self.runs();
        let held = &mut runs.run(lease.run())?.lease;
        if held.as_ref().is_some_and(|(token, ..)| token.as_slice() == lease.token()) {
            *held = None;
        }
        runs.version += 1;
        Ok(())
    }

    fn read(&self, run: &RunId, from_seq: u64) -> Result<Vec<(u64, Entry)>, StoreError> {
        let runs = self.runs();
        let Some(journal) = runs.by_id.get(run) else { return Ok(Vec::new()) };
        let wanted = journal.entries.iter().filter(|stored| stored.seq >= from_seq);
        wanted.map(|stored| Ok((stored.seq, decode(stored)?))).collect()
    }

    fn post(&self, run: &RunId, message: &Message, from: &str) -> Result<MessageId, StoreError> {
        let mut runs = self.runs();
        runs.messages += 1;
        runs.version += 1;
        let id = MessageId(runs.messages);
        let sent = Sent { id, message: message.clone(), from: from.to_owned(), at: self.clock.now_ms() };
        runs.run(run)?.inbox.push((sent, false));
        Ok(id)
    }

    fn inbox(&self, run: &RunId) -> Vec<Sent> {
        let runs = self.runs();
        let messages = runs.by_id.get(run).into_iter().flat_map(|journal| &journal.inbox);
        messages.filter(|(_, delivered)| !delivered).map(|(sent, _)| sent.clone()).collect()
    }
}

impl Journal for Memory {
    fn create_run<'a>(&'a self, new: NewRun<'a>) -> StoreFuture<'a, Result<Created, StoreError>> {
        Box::pin(async move { self.create(new) })
    }

    fn commit<'a>(&'a self, commit: Commit<'a>) -> StoreFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move { self.append(commit) })
    }

    fn lease_of<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<LeaseState>, StoreError>> {
        Box::pin(async move { Ok(self.state(run)) })
    }

    fn take_lease<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a Holder,
        seen: &'a LeaseState,
    ) -> StoreFuture<'a, Result<Option<Lease>, StoreError>> {
        Box::pin(async move { self.take(run, holder, seen) })
    }

    fn renew<'a>(&'a self, leases: &'a [Lease]) -> StoreFuture<'a, Result<Vec<RunId>, StoreError>> {
        Box::pin(async move { self.extend(leases) })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.give_back(lease) })
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>> {
        Box::pin(async move { self.read(run, from_seq) })
    }

    fn send<'a>(
        &'a self,
        run: &'a RunId,
        message: &'a Message,
        from: &'a str,
    ) -> StoreFuture<'a, Result<MessageId, StoreError>> {
        Box::pin(async move { self.post(run, message, from) })
    }

    fn undelivered<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<Sent>, StoreError>> {
        Box::pin(async move { Ok(self.inbox(run)) })
    }

    fn effect<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Result<Option<EffectRow>, StoreError>> {
        Box::pin(async move { Ok(self.runs().effects.find(key)) })
    }

    fn conflict<'a>(
        &'a self,
        run: &'a RunId,
        group: Option<&'a str>,
    ) -> StoreFuture<'a, Result<Option<Box<RunConflict>>, StoreError>> {
        Box::pin(async move {
            let runs = self.runs();
            let in_the_way = runs.holdings.in_the_way_of_ended(run, group);
            in_the_way.map(|in_the_way| runs.conflict(run, None, in_the_way)).transpose()
        })
    }

    fn version(&self) -> StoreFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { Ok(self.runs().version) })
    }
}

impl StoreBackend for Memory {
    fn journal(&self, run: &RunId) -> Result<Vec<StoredEntry>, StoreError> {
        Ok(self.runs().by_id.get(run).map(|journal| journal.entries.clone()).unwrap_or_default())
    }

    fn verify(&self, run: &RunId) -> Result<Verification, StoreError> {
        Ok(verify_entries(run, &self.journal(run)?))
    }

    fn decide(&self, run: &RunId, message: &Message, from: &str, now: Millis) -> Result<Decided, StoreError> {
        let entries: Vec<Entry> = self.read(run, 0)?.into_iter().map(|(_, entry)| entry).collect();
        let latest = entries.last().map_or(0, |entry| entry.at);
        let id = wait_of(message).unwrap_or_default();
        let Some(wait) = decided_wait(&entries, id) else {
            return Ok(Decided::Refused(NotAccepted::Gone));
        };
        let recorded: Vec<Message> = self.inbox(run).into_iter().map(|sent| sent.message).collect();
        match judge_decision(wait, &recorded, message, now.max(latest)) {
            Ok(()) => Ok(Decided::Accepted(self.post(run, message, from)?)),
            Err(refused) => Ok(Decided::Refused(refused)),
        }
    }
}

/// What the journal says of a wait that a run began.
fn decided_wait<'a>(entries: &'a [Entry], id: &str) -> Option<DecidedWait<'a>> {
    let is_known = entries.iter().any(|entry| match &entry.event {
        Event::WaitStarted { id: started, .. } => started == id,
        _ => false,
    });
    let run = Run::replay(entries).ok().filter(|_| is_known)?;
    let open = run.waits().into_iter().find(|wait| wait.id == id);
    let approvers = entries.iter().filter_map(|entry| match &entry.event {
        Event::MessageDelivered {
            message: Message::Approve { id: about, by, .. }, refused: None, ..
        } => (about == id).then_some(by.as_deref()),
        _ => None,
    });
    Some(DecidedWait {
        resolution: open.is_none().then(|| "resolved".to_owned()),
        expires_at: open.as_ref().and_then(|wait| wait.expires_at),
        approvers: approvers.collect(),
        approvals_needed: 1,
    })
}

pub(crate) fn decode(stored: &StoredEntry) -> Result<Entry, StoreError> {
    escrow_store::decode_entry(&stored.bytes)
}
