//! People who write messages: asked and unasked, each message signed so that it can be told from all others.

use escrow_engine::OpenWait;
use escrow_model::{Assumption, Message, ScopePath, WaitKind};
use escrow_store::MessageId;
use escrow_testkit::Dice;

use crate::case::{Case, Wish};
use crate::ledger::Ledger;

/// A message that was put into the inbox.
pub(crate) struct Posted {
    pub(crate) id: MessageId,
    /// Who signed it; nobody signs two.
    pub(crate) by: String,
    /// How long the journal was then.
    pub(crate) after_entry: u64,
}

pub(crate) struct People {
    dice: Dice,
    names: u32,
}

impl People {
    pub(crate) fn new(seed: u64) -> People {
        People { dice: Dice::new(seed ^ 0x5045_4f50), names: 0 }
    }

    pub(crate) fn name(&mut self) -> String {
        self.names += 1;
        format!("p{}", self.names)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.dice.chance(percent)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.dice.below(limit)
    }

    /// What a person answers who is asked. Where the end is to be foreseen, everything is approved.
    pub(crate) fn reply(&mut self, case: &Case, wait: &OpenWait, by: &str) -> Message {
        let (id, by) = (wait.id.clone(), Some(by.to_owned()));
        match wait.kind {
            WaitKind::Approval if case.has_oracle() || self.dice.chance(85) => {
                Message::Approve { id, by, note: None }
            }
            WaitKind::Approval | WaitKind::Nested => Message::Deny { id, by, note: None },
            WaitKind::Input => Message::Answer { id, text: "yes".into(), by },
            WaitKind::UnknownEffect => {
                let assumption = *self.dice.pick(&[Assumption::Done, Assumption::Failed, Assumption::Retry]);
                Message::Assume { check: wait.check.clone(), scope: wait.scope.clone(), assumption, by }
            }
        }
    }

    /// What a person writes who was not asked: about something that waits, waited once, or never did.
    pub(crate) fn unasked(&mut self, case: &Case, ledger: &Ledger, wish: Wish, by: &str) -> Message {
        let waits = ledger.waits();
        let id = if waits.is_empty() || self.dice.chance(10) {
            "w_nowhere".to_owned()
        } else {
            self.dice.pick(&waits).clone()
        };
        let by = Some(by.to_owned());
        match wish {
            Wish::Cancel => Message::Cancel { by, system: false },
            Wish::Approve => Message::Approve { id, by, note: None },
            Wish::Deny => Message::Deny { id, by, note: None },
            Wish::Answer => Message::Answer { id, text: "no".into(), by },
            Wish::Assume(assumption) => {
                let check = self.dice.pick(&case.plan.0.checks).name.clone();
                let scope = match self.dice.below(3) {
                    0 => ScopePath::new(vec![0]),
                    _ => ScopePath::root(),
                };
                Message::Assume { check, scope, assumption, by }
            }
        }
    }
}
