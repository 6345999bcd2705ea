//! Fires of chains, the triggers that are armed for them, and how far each source of events was read.

use escrow_model::{
    ChainConcurrency, ChainId, FireCode, FireStatus, Millis, RunId, TriggerRule, TriggerSource,
};
use serde_json::{Map, Value};

use crate::chain_definition::ChainRow;

/// A recorded fire.
#[derive(Clone, Debug, PartialEq)]
pub struct FireRow {
    /// Grows with every recorded fire.
    pub id: u64,
    pub chain_id: ChainId,
    pub chain: String,
    /// Unique within the chain.
    pub key: String,
    pub at: Millis,
    pub event: String,
    pub payload: Map<String, Value>,
    /// How many chains fired one another up to here, this one included.
    pub depth: u32,
    pub status: FireStatus,
    pub code: Option<FireCode>,
    pub reason: Option<String>,
    /// The run that it has, or will have.
    pub run: RunId,
    pub decided_at: Option<Millis>,
}

/// A fire to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFire {
    pub chain_id: ChainId,
    pub chain: String,
    pub key: String,
    pub at: Millis,
    pub event: String,
    pub payload: Map<String, Value>,
    pub depth: u32,
    /// Why it will have no run, when that is known from the start.
    pub refused: Option<(FireCode, String)>,
}

/// Something that happened to a source of a trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrence {
    pub fire: NewFire,
    /// Set when the fire needs occurrences of other sources, too.
    pub together: Option<Together>,
}

/// The place of a source among those that fire together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Together {
    pub position: u32,
    pub sources: u32,
    pub within_ms: u64,
}

/// One source of a chain's trigger, ready to fire.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmedTrigger {
    pub chain_id: ChainId,
    pub chain: String,
    pub position: u32,
    pub sources: u32,
    pub rule: TriggerRule,
    pub source: TriggerSource,
    /// When this source was defined.
    pub anchor: Millis,
    /// The last tick that was handled.
    pub after: Millis,
    /// Where the feed ended when this source was defined: what ended before does not count.
    pub feed: u64,
}

impl ArmedTrigger {
    pub fn together(&self) -> Option<Together> {
        match self.rule {
            TriggerRule::Any => None,
            TriggerRule::All { within_ms } => {
                Some(Together { position: self.position, sources: self.sources, within_ms })
            }
        }
    }
}

/// A chain whose triggers are to be armed as its definition has them; none when it is not active.
#[derive(Clone, Debug)]
pub struct ArmChain {
    pub row: ChainRow,
    pub rule: TriggerRule,
    pub sources: Vec<ArmSource>,
    pub at: Millis,
}

#[derive(Clone, Debug)]
pub struct ArmSource {
    pub source: TriggerSource,
    /// The event that it waits for.
    pub event: Option<String>,
}

/// How far a schedule was handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handled {
    pub chain_id: ChainId,
    pub position: u32,
    pub after: Millis,
    pub next_at: Option<Millis>,
    /// The time at which it was computed. A clock that shows an earlier one was set back.
    pub at: Millis,
}

/// How far a source was read. The move is refused when another process has moved it meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorMove {
    pub name: String,
    pub from: Option<String>,
    pub to: String,
}

/// A message of a sender that may send it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub hook: String,
    /// As the sender names it.
    pub id: String,
    /// Of the signed bytes: the id is not signed.
    pub digest: String,
    /// What it tells, when that can happen only once and other sources may tell it, too.
    pub subject: Option<String>,
    pub at: Millis,
}

/// Everything that one poll of a source found. Recorded whole or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    pub deliveries: Vec<Delivery>,
    pub occurrences: Vec<Occurrence>,
    pub handled: Vec<Handled>,
    pub cursors: Vec<CursorMove>,
    /// Something has happened that counts only from then on: a poll at this time finds it.
    pub poll_again_at: Option<Millis>,
}

impl Recording {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        let Recording { deliveries, occurrences, handled, cursors, poll_again_at: _ } = self;
        deliveries.is_empty() && occurrences.is_empty() && handled.is_empty() && cursors.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Recorded {
    /// The fires that are new; those that were recorded before are not among them.
    Done(Vec<FireRow>),
    /// The delivery was received before. Nothing was recorded.
    Duplicate,
    /// Another process has read the source meanwhile. Nothing was recorded.
    Moved,
}

/// The rules by which a fire is decided.
#[derive(Clone, Copy, Debug)]
pub struct FireRules {
    pub concurrency: ChainConcurrency,
    /// The fire is a tick of a schedule that catches up with every tick. Such ticks wait for one another.
    pub catches_up: bool,
    pub max_depth: u32,
    /// Why nothing of the chain may begin, if so.
    pub inactive: Option<&'static str>,
    pub at: Millis,
}

/// What was decided about a fire.
#[derive(Clone, Debug, PartialEq)]
pub enum FireDecision {
    /// Its run begins.
    Accepted(FireRow),
    /// It waits for its turn: for the end of these runs, or for fires before it.
    Waits { fire: FireRow, runs: Vec<RunId> },
    /// It takes the place of these runs when they have ended.
    Replaces { fire: FireRow, runs: Vec<RunId> },
    /// It was decided before, or has no run.
    Settled(FireRow),
}

/// Which fires to list, newest first; the default lists all.
#[derive(Clone, Debug, Default)]
pub struct FireFilter {
    /// The name of a chain.
    pub chain: Option<String>,
    /// Those that have no run.
    pub without_run: bool,
    pub limit: Option<usize>,
}

/// A playbook run that has ended, as the feed tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    /// The position in the feed.
    pub position: u64,
    pub run: RunId,
    pub seq: u64,
    pub ended_at: Millis,
    /// The run of a chain that it belongs to, if any.
    pub chain_run: Option<RunId>,
    /// The chain of that run.
    pub chain: Option<ChainId>,
    /// Of the fire of that run; 0 outside of chains.
    pub depth: u32,
}
