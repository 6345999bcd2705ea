//! What goes into a run and what comes out of it.
//!
//! ```text
//!   Input ──▶ Run::handle ──▶ Turn { entries, effects } ──▶ the effect runner ──▶ Input
//! ```

use std::sync::Arc;

use escrow_model::{
    Answer, CheckIndex, Entry, ExpectedArtifact, InspectedArtifact, LedgerEffect, Message, Millis,
    OuterArtifact, Reason, Request, RunId, ScopePath,
};

use crate::ledger::LedgerNews;
use crate::location::AttemptKey;

/// Whether a nested run that waits can be driven from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestedLease {
    /// The nested run waits for a person, and no process drives it.
    Free,
    /// Another process drives the nested run and reads its inbox.
    HeldElsewhere,
}

/// What can happen to a run.
#[derive(Clone, Debug)]
pub enum Input {
    /// A provider has answered.
    Answered {
        attempt: AttemptKey,
        answer: Answer,
    },
    /// The nested run of an attempt waits.
    NestedWaits {
        attempt: AttemptKey,
        child: RunId,
        reason: Reason,
        lease: NestedLease,
    },
    /// A nested run that this one waits for has ended, or a message has come for it or for a run inside it.
    NestedReady {
        run: RunId,
    },
    /// The command of `reconcile` has answered.
    Reconciled {
        attempt: AttemptKey,
        answer: Answer,
    },
    /// The ledger has answered what it knows about a key.
    LedgerAnswered {
        check: CheckIndex,
        scope: ScopePath,
        key: String,
        effect: Option<Box<LedgerEffect>>,
    },
    /// The artifact directory was inspected for the whole run.
    Seen(Vec<InspectedArtifact>),
    /// The artifact directory was inspected for an answered attempt.
    SeenAt {
        attempt: AttemptKey,
        seen: Vec<InspectedArtifact>,
    },
    /// The artifact directory was inspected again, before this attempt of an effect starts.
    SeenBefore {
        attempt: AttemptKey,
        seen: Vec<InspectedArtifact>,
    },
    /// Time has passed: retries, expiries and deadlines may be due.
    Wake,
    Message(Message),
    /// A message that waited in the inbox since this time.
    Sent {
        message: Message,
        at: Millis,
    },
    /// Messages that waited together in the inbox, one of which ends the run: nothing is decided between them.
    SentTogether(Vec<(Message, Millis)>),
    /// Another process takes the run over: what was started and left unanswered is issued again. `by` are the actors
    /// who asked for it, if any did. `ledger` is what other runs have learned about the open effects of this one.
    Resume {
        by: Vec<String>,
        ledger: Vec<LedgerNews>,
    },
}

/// What follows from an input.
#[derive(Debug, Default)]
#[must_use = "entries must be committed before effects are performed"]
pub struct Turn {
    pub entries: Vec<Entry>,
    pub effects: Vec<Effect>,
}

/// What the effect runner is asked to do.
#[derive(Clone, Debug)]
pub enum Effect {
    Perform {
        attempt: AttemptKey,
        request: Arc<Request>,
    },
    /// Run the command of `reconcile`, which finds out whether an attempt took effect and changes nothing.
    Reconcile {
        attempt: AttemptKey,
        request: Arc<Request>,
    },
    /// Look up a key in the ledger of effects.
    Consult {
        check: CheckIndex,
        scope: ScopePath,
        key: String,
        /// SHA-256 of what would be asked of the provider.
        digest: String,
    },
    /// End this attempt, or its `reconcile` command; the answer is still awaited.
    Stop {
        attempt: AttemptKey,
    },
    /// Let the nested run of this attempt end the effects that are under way, and begin nothing further.
    MakeWay {
        attempt: AttemptKey,
    },
    /// Inspect the artifact directory, and what the runs around this one have verified. The answer has a sighting for
    /// each artifact, in this order.
    Inspect {
        expected: Vec<ExpectedArtifact>,
        outer: Vec<OuterArtifact>,
        of: Inspection,
    },
}

/// What an inspection is for. It decides which input answers it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inspection {
    /// The delivery of the whole run.
    Run,
    /// What an answered attempt has delivered.
    Attempt(AttemptKey),
    /// What other checks have verified, before this attempt of an effect starts.
    Before(AttemptKey),
}

impl Inspection {
    /// The input that answers it.
    pub fn answered(self, seen: Vec<InspectedArtifact>) -> Input {
        match self {
            Inspection::Run => Input::Seen(seen),
            Inspection::Attempt(attempt) => Input::SeenAt { attempt, seen },
            Inspection::Before(attempt) => Input::SeenBefore { attempt, seen },
        }
    }
}
