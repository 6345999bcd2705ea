//! People who write messages, asked and unasked. Each message is signed with a name of its own.

use escrow_engine::OpenWait;
use escrow_model::{Assumption, Message, RunId, ScopePath, WaitKind};
use escrow_store::MessageId;
use escrow_testkit::Rng;

use crate::case::{Case, MessageKind};
use crate::ledger::RunRecord;

/// A message that was put into the inbox.
pub(crate) struct Posted {
    pub(crate) run: RunId,
    pub(crate) id: MessageId,
    /// Its signature, unique in the case.
    pub(crate) by: String,
    /// The length of the run's journal when it was sent.
    pub(crate) after_entry: u64,
    /// It was the first decision about a wait, so nothing may overrule it.
    pub(crate) is_first_word: bool,
}

pub(crate) struct People {
    rng: Rng,
    names: u32,
}

impl People {
    pub(crate) fn new(seed: u64) -> People {
        People { rng: Rng::new(seed ^ 0x5045_4f50), names: 0 }
    }

    pub(crate) fn name(&mut self) -> String {
        self.names += 1;
        format!("p{}", self.names)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.rng.chance(percent)
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        self.rng.pick(choices)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.rng.below(limit)
    }

    /// The answer to a wait. A case with an oracle has everything approved.
    pub(crate) fn reply(&mut self, case: &Case, wait: &OpenWait, by: &str) -> Message {
        let (id, by) = (wait.id.clone(), Some(by.to_owned()));
        match wait.kind {
            WaitKind::Approval if case.has_oracle() || self.rng.chance(85) => {
                Message::Approve { id, by, claim: None, note: None }
            }
            WaitKind::Approval | WaitKind::Nested => Message::Deny { id, by, claim: None, note: None },
            WaitKind::Input => Message::Answer { id, text: "yes".into(), by },
            WaitKind::UnknownEffect => {
                let assumption = *self.rng.pick(&[Assumption::Done, Assumption::Failed, Assumption::Retry]);
                Message::Assume {
                    check: wait.check.clone(),
                    scope: wait.scope.clone(),
                    assumption,
                    by,
                    why: None,
                }
            }
        }
    }

    /// The opposite of a decision about an approval, by somebody else.
    pub(crate) fn contrary(&mut self, message: &Message) -> Option<(Message, String)> {
        let name = self.name();
        let by = Some(name.clone());
        let contrary = match message {
            Message::Approve { id, .. } => Message::Deny { id: id.clone(), by, claim: None, note: None },
            Message::Deny { id, .. } => Message::Approve { id: id.clone(), by, claim: None, note: None },
            Message::Answer { .. } | Message::Assume { .. } | Message::Cancel { .. } => return None,
        };
        Some((contrary, name))
    }

    /// A message that was not asked for: about an open wait, a resolved one, or none at all.
    pub(crate) fn unasked(&mut self, run: &RunRecord, kind: MessageKind, by: &str) -> Message {
        let waits = &run.waits;
        let id = if waits.is_empty() || self.rng.chance(10) {
            "w_nowhere".to_owned()
        } else {
            self.rng.pick(waits).clone()
        };
        let by = Some(by.to_owned());
        match kind {
            MessageKind::Cancel => {
                Message::Cancel { by, system: false, successor: None, inside: None, patient: false }
            }
            MessageKind::Approve => Message::Approve { id, by, claim: None, note: None },
            MessageKind::Deny => Message::Deny { id, by, claim: None, note: None },
            MessageKind::Answer => Message::Answer { id, text: "no".into(), by },
            MessageKind::Assume(assumption) => {
                let checks = run.plan.as_ref().map(|plan| plan.checks.as_slice()).unwrap_or_default();
                let check = self.rng.pick(checks).name.clone();
                let scope = match self.rng.below(3) {
                    0 => ScopePath::new(vec![0]),
                    _ => ScopePath::root(),
                };
                Message::Assume { check, scope, assumption, by, why: None }
            }
        }
    }
}
