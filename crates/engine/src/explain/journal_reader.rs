//! Reads a journal forward, with the run as it was at any entry.
//!
//! Going forward costs the entries in between; going back starts again. Callers ask in the order of the journal.

use std::cell::{Ref, RefCell};
use std::sync::Arc;

use escrow_model::{CheckIndex, Entry, Event, Plan, Reason};

use crate::graph::Graph;
use crate::run::{ReplayError, Run};

/// A journal, with the run as it was at one moment of it.
pub(super) struct JournalReader<'a> {
    pub(super) entries: &'a [Entry],
    pub(super) plan: Arc<Plan>,
    graph: Arc<Graph>,
    moment: RefCell<Then>,
}

struct Then {
    run: Run,
    /// How many entries it knows.
    index: usize,
}

impl<'a> JournalReader<'a> {
    pub(super) fn open(entries: &'a [Entry]) -> Result<JournalReader<'a>, ReplayError> {
        let run = Run::first(entries.first().ok_or(ReplayError::Empty)?)?;
        let (plan, graph) = (run.plan(), Arc::clone(&run.graph));
        Ok(JournalReader { entries, plan, graph, moment: RefCell::new(Then { run, index: 1 }) })
    }

    pub(super) fn find(&self, name: &str) -> Option<CheckIndex> {
        self.graph.find(name)
    }

    /// The run before this entry was applied. Going forward costs what lies between; going back, everything
    /// before.
    pub(super) fn before(&self, index: usize) -> Result<Ref<'_, Run>, ReplayError> {
        let mut then = self.moment.borrow_mut();
        if then.index > index.max(1) {
            *then = Then { run: Run::first(&self.entries[0])?, index: 1 };
        }
        while then.index < index {
            let at = then.index;
            then.run.next(at, &self.entries[at])?;
            then.index += 1;
        }
        drop(then);
        Ok(Ref::map(self.moment.borrow(), |then| &then.run))
    }

    /// The run as it is now.
    pub(super) fn now(&self) -> Result<Ref<'_, Run>, ReplayError> {
        self.before(self.entries.len())
    }

    /// Why the run ended or waits, and the entry that says so; none while it is running.
    pub(super) fn reason(&self) -> Option<(usize, &'a Reason)> {
        let said = self.entries.iter().enumerate().rev().find_map(|(index, entry)| match &entry.event {
            Event::RunEnded { reason }
            | Event::RunWaiting { reason }
            | Event::RunOverridden { reason, .. } => Some(Some((index, reason))),
            event if continues(event) => Some(None),
            _ => None,
        });
        said.flatten()
    }
}

/// Whether an entry makes an earlier reason of the run obsolete.
fn continues(event: &Event) -> bool {
    match event {
        Event::RetryDue { .. }
        | Event::WaitExpired { .. }
        | Event::NestedResumed { .. }
        | Event::RunResumed { .. }
        | Event::RunReopened { .. }
        | Event::DeadlinePassed {} => true,
        Event::MessageDelivered { refused, .. } => refused.is_none(),
        _ => false,
    }
}
