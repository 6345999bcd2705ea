//! One turn in the making: a run, the time, and what was decided so far.

use std::ops::{Deref, DerefMut};

use escrow_model::{Entry, Event, JOURNAL_VERSION, Millis};

use crate::run::{Effect, Run, Turn};

/// Whoever decides holds this. What only looks at a run, or applies an entry to it, is a method of `Run`.
pub(crate) struct Deciding<'run> {
    run: &'run mut Run,
    /// The time of the input that is answered.
    pub(crate) at: Millis,
    turn: Turn,
}

impl<'run> Deciding<'run> {
    pub(crate) fn new(run: &'run mut Run, at: Millis) -> Deciding<'run> {
        Deciding { run, at, turn: Turn::default() }
    }

    /// Applies an event and puts it into the turn.
    pub(crate) fn record(&mut self, event: Event) {
        let entry = Entry { v: JOURNAL_VERSION, at: self.at, event };
        self.run.apply(&entry);
        self.turn.entries.push(entry);
    }

    pub(crate) fn ask_for(&mut self, effect: Effect) {
        self.turn.effects.push(effect);
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

impl DerefMut for Deciding<'_> {
    fn deref_mut(&mut self) -> &mut Run {
        self.run
    }
}
