//! What really happened in the simulated world, beside what the journal says of it.
//!
//! Whatever breaks a promise at the moment it happens is noted here: an effect without its committed intent, one
//! that was confirmed and happens again, a commit by someone who no longer holds the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use escrow_model::{Criticality, Entry, Event, Plan, ScopePath};
use escrow_store::MessageId;

/// One attempt of one check in one scope.
pub(crate) type Attempted = (String, ScopePath, u32);

pub(crate) struct Ledger {
    plan: Arc<Plan>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    /// Committed intents; true once their answer is committed too.
    intents: BTreeMap<Attempted, bool>,
    /// By the life of Escrow that performs them; true once the effect has happened.
    in_flight: BTreeMap<(u32, Attempted), bool>,
    happened: BTreeMap<Attempted, u32>,
    /// Lives whose processes have been ended.
    ended: BTreeSet<u32>,
    waits: Vec<String>,
    /// Messages that a commit delivered; true when the run ended with it or had ended before.
    delivered: BTreeMap<MessageId, bool>,
    has_ended: bool,
    holder: Option<Vec<u8>>,
    entries: u64,
    problems: Vec<String>,
    story: Vec<String>,
}

impl Ledger {
    pub(crate) fn new(plan: &Arc<Plan>) -> Ledger {
        Ledger { plan: Arc::clone(plan), book: Mutex::default() }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something worth telling when the case fails.
    pub(crate) fn tell(&self, what: impl Into<String>) {
        self.book().story.push(what.into());
    }

    pub(crate) fn problem(&self, what: impl Into<String>) {
        let what = what.into();
        let mut book = self.book();
        book.story.push(format!("PROBLEM {what}"));
        book.problems.push(what);
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        self.book().problems.clone()
    }

    pub(crate) fn story(&self) -> Vec<String> {
        self.book().story.clone()
    }

    /// Somebody took the run: from now on nobody else may write.
    pub(crate) fn held_by(&self, token: &[u8]) {
        self.book().holder = Some(token.to_vec());
    }

    /// Entries are on the disk, whether or not anybody is told.
    pub(crate) fn written(&self, token: &[u8], entries: &[Entry], delivered: &[MessageId]) {
        let mut book = self.book();
        if book.holder.as_deref() != Some(token) {
            book.problems.push("a fenced holder has written".into());
        }
        book.entries += entries.len() as u64;
        for entry in entries {
            book.entry(&entry.event);
        }
        for message in delivered {
            let has_ended = book.has_ended;
            if book.delivered.insert(*message, has_ended).is_some() {
                book.problems.push(format!("{message:?} is delivered twice"));
            }
        }
    }

    /// How many entries the journal has.
    pub(crate) fn entries(&self) -> u64 {
        self.book().entries
    }

    pub(crate) fn delivered(&self) -> BTreeMap<MessageId, bool> {
        self.book().delivered.clone()
    }

    /// Ids of everything that ever waited.
    pub(crate) fn waits(&self) -> Vec<String> {
        self.book().waits.clone()
    }

    fn may_repeat(&self, check: &str) -> bool {
        self.plan.find(check).is_some_and(|index| {
            let spec = self.plan.check(index);
            spec.idempotent || spec.criticality != Criticality::External
        })
    }

    /// A provider is called.
    pub(crate) fn begins(&self, life: u32, attempted: &Attempted) {
        let mut book = self.book();
        if !book.intents.contains_key(attempted) {
            book.problems.push(format!("{attempted:?} is performed before its intent is committed"));
        }
        book.story.push(format!("life {life}: {} begins", named(attempted)));
        book.in_flight.insert((life, attempted.clone()), false);
    }

    /// The effect of an attempt happens; nothing does when the process of its life has been ended.
    pub(crate) fn happens(&self, life: u32, attempted: &Attempted) {
        let may_repeat = self.may_repeat(&attempted.0);
        let mut book = self.book();
        let key = (life, attempted.clone());
        if book.ended.contains(&life) || book.in_flight.get(&key) == Some(&true) {
            return;
        }
        match book.intents.get(attempted) {
            None => book.problems.push(format!("{attempted:?} has an effect and no committed intent")),
            Some(true) => book.problems.push(format!("{attempted:?} was answered, and is done again")),
            Some(false) => {}
        }
        book.in_flight.insert(key, true);
        book.story.push(format!("life {life}: {} happens", named(attempted)));
        let times = book.happened.entry(attempted.clone()).or_default();
        *times += 1;
        if *times > 1 && !may_repeat {
            book.problems.push(format!("the effect of {attempted:?} happens twice"));
        }
    }

    /// A provider is done, one way or another.
    pub(crate) fn is_over(&self, life: u32, attempted: &Attempted) {
        self.book().in_flight.remove(&(life, attempted.clone()));
    }

    /// What a life has under way and has not done yet.
    pub(crate) fn pending(&self, lives: impl Fn(u32) -> bool) -> Vec<(u32, Attempted)> {
        let book = self.book();
        let pending = book.in_flight.iter().filter(|((life, _), done)| lives(*life) && !**done);
        pending.map(|(key, _)| key.clone()).collect()
    }

    /// Whoever takes a run over ends what earlier lives left running.
    pub(crate) fn end_others(&self, life: u32) {
        let mut book = self.book();
        book.ended.extend(0..life);
        book.in_flight.retain(|(other, _), _| *other >= life);
    }

    pub(crate) fn is_ended(&self, life: u32) -> bool {
        self.book().ended.contains(&life)
    }
}

impl Book {
    fn entry(&mut self, event: &Event) {
        match event {
            Event::AttemptStarted { check, scope, attempt, .. } => {
                self.intents.insert((check.clone(), scope.clone(), *attempt), false);
            }
            Event::AttemptAnswered { check, scope, attempt, .. } => {
                let attempted = (check.clone(), scope.clone(), *attempt);
                if self.intents.insert(attempted.clone(), true) == Some(true) {
                    self.problems.push(format!("{attempted:?} is answered twice"));
                }
            }
            Event::WaitStarted { id, .. } => self.waits.push(id.clone()),
            Event::RunEnded { .. } => self.has_ended = true,
            Event::RunReopened { .. } => self.has_ended = false,
            _ => {}
        }
    }
}

fn named((check, scope, attempt): &Attempted) -> String {
    format!("{check}{scope} #{attempt}")
}
