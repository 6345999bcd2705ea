//! Plays a playbook for `escrow test`: scripted answers instead of effects, in virtual time.
//!
//!   TestCase ──script──▶ Script ──stage──▶ Played { run, journal, problems } ──compare──▶ differences
//!
//! **Invariant:** nothing is started, read or waited for. The same script gives the same journal, so a play can
//! also be broken off after any commit and resumed, and must come to the same end.

mod case;
mod compare;
mod stage;

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{Answer, Entry, Facts, InspectedArtifact, Message, Millis, Plan, RunOptions, ScopedCheck};

pub use case::rehearsal_of;
pub use compare::{Difference, differences};

/// A run that is to be played.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    pub plan: Arc<Plan>,
    pub options: Arc<RunOptions>,
    pub facts: Arc<Facts>,
    pub script: Script,
}

/// What the world does.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// By check and scope. The root scope answers for the items that have no answer of their own.
    pub replies: BTreeMap<ScopedCheck, Replies>,
    pub messages: Vec<ScriptedMessage>,
    /// The contents of the artifact directory when it is inspected.
    pub sightings: Vec<InspectedArtifact>,
}

#[derive(Clone, Debug)]
pub enum Replies {
    Always(Box<Reply>),
    /// To the first attempt, the second, and so on.
    InTurn(Vec<Reply>),
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub answer: Answer,
    pub takes: Takes,
    /// What `reconcile` answers when the effect is unknown.
    pub reconcile: Option<Box<Reply>>,
}

/// How long an answer takes, of time that is not real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Ms(u64),
    /// As long as the check may.
    ItsTimeout,
}

#[derive(Clone, Debug)]
pub struct ScriptedMessage {
    /// Since the start. Without it, when nothing else happens any more.
    pub after_ms: Option<u64>,
    pub act: Act,
}

#[derive(Clone, Debug)]
pub enum Act {
    /// Decides the question that is open at this check and scope.
    Approve(ScopedCheck),
    Deny(ScopedCheck),
    Answer(ScopedCheck, String),
    Send(Message),
    /// No message is sent for this long.
    Wait {
        ms: u64,
    },
}

/// The result of a rehearsal.
#[derive(Debug)]
pub struct Played {
    pub run: Run,
    pub journal: Vec<Entry>,
    /// After each of them the play can be broken off.
    pub commits: Vec<Commit>,
    /// Why the result does not count: the script has no answer for an attempt, or a message matched no wait.
    pub problems: Vec<String>,
}

/// Where a play stood when a turn was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    pub entries: usize,
    pub messages: usize,
}

impl Rehearsal {
    /// Plays to the end, or to where the run waits and no message is left.
    pub fn play(&self) -> Played {
        stage::Stage::start(self).play()
    }

    /// Continues from the journal of an interrupted rehearsal. Unknown effects are attempted again, as if a person had
    /// answered `retry`.
    pub fn play_on(&self, journal: &[Entry], commit: Commit) -> Result<Played, escrow_engine::ReplayError> {
        Ok(stage::Stage::resume(self, &journal[..commit.entries], commit.messages)?.play())
    }
}

/// The clock of every rehearsal starts here: 2026-01-01T00:00:00Z.
pub const START_MS: Millis = 1_767_225_600_000;
