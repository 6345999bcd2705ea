//! One turn in the making: a run, the time, and what was decided so far.
//!
//! **Invariant:** while a turn is made, the run's state changes by recorded events and in no other way. The agenda
//! is not part of that state: it only lists what may have to be decided.

use std::ops::Deref;

use escrow_model::{Entry, Event, Millis};

use crate::exchange::{Effect, Turn};
use crate::ledger::LedgerNews;
use crate::run::Run;
use crate::state::Agenda;

/// Decisions are its methods. What only reads a run, or applies an entry to it, is a method of `Run`.
pub(crate) struct Deciding<'run> {
    run: &'run mut Run,
    /// The time of the input that is answered.
    pub(crate) at: Millis,
    /// What the ledger has about effects of a run that is resumed.
    pub(crate) ledger_news: Vec<LedgerNews>,
    turn: Turn,
}

impl<'run> Deciding<'run> {
    /// The time of a run never goes backwards, even when its next process has a clock that is behind: an expiry that was
    /// journaled stays in force.
    pub(crate) fn new(run: &'run mut Run, at: Millis) -> Deciding<'run> {
        let at = at.max(run.state.latest_at);
        Deciding { run, at, ledger_news: Vec::new(), turn: Turn::default() }
    }

    /// Applies an event and puts it into the turn.
    pub(crate) fn record(&mut self, event: Event) {
        let entry = Entry { at: self.at, event };
        self.run.apply(&entry).expect("a run decides only what can follow from its journal");
        self.turn.entries.push(entry);
    }

    pub(crate) fn ask_for(&mut self, effect: Effect) {
        self.turn.effects.push(effect);
    }

    pub(crate) fn agenda(&mut self) -> &mut Agenda {
        &mut self.run.state.agenda.0
    }

    pub(crate) fn put_everything_on_the_agenda(&mut self) {
        self.run.put_everything_on_the_agenda();
    }

    /// Puts parked items of a group with free capacity on the agenda.
    pub(crate) fn wake_parked(&mut self) {
        self.run.wake_parked();
    }

    /// An item does not use the capacity that it was woken for.
    pub(crate) fn release_capacity(&mut self, location: &crate::location::Location) {
        self.run.release_capacity(location.check, &location.scope);
    }

    pub(crate) fn into_turn(self) -> Turn {
        self.turn
    }
}

impl Deref for Deciding<'_> {
    type Target = Run;

    fn deref(&self) -> &Run {
        self.run
    }
}
