//! People who answer what runs ask: late, twice, or not at all.

use escrow_model::{Assumption, Message, WaitKind};
use escrow_store::{Decided, wait_of};

use super::{ChainWorld, told};

impl ChainWorld {
    /// A person answers something that waits, perhaps twice, or sends a message of their own.
    pub(super) fn person(&mut self) -> Result<(), String> {
        let waits = self.store.blocking().open_waits().map_err(told)?;
        let waits: Vec<_> = waits.into_iter().filter(|wait| wait.kind != WaitKind::Nested).collect();
        if waits.is_empty() || self.rng.chance(20) {
            return Ok(());
        }
        let row = self.rng.pick(&waits).clone();
        let run = self.replayed(&row.run)?;
        let Some(wait) = run.waits().into_iter().find(|wait| wait.id == row.id) else { return Ok(()) };
        let by = self.name();
        let (id, signed) = (wait.id.clone(), Some(by.clone()));
        let message = match wait.kind {
            WaitKind::Approval if self.rng.chance(80) => {
                Message::Approve { id, by: signed, claim: None, note: None }
            }
            WaitKind::Approval | WaitKind::Nested => {
                Message::Deny { id, by: signed, claim: None, note: None }
            }
            WaitKind::Input => Message::Answer { id, text: "yes".into(), by: signed },
            WaitKind::UnknownEffect => {
                let words = [Assumption::Done, Assumption::Failed, Assumption::Retry];
                let assumption = *self.rng.pick(&words);
                let (check, scope) = (wait.check, wait.scope);
                Message::Assume { check, scope, assumption, by: signed, why: None }
            }
        };
        self.played.decisions += 1;
        self.ledger.log(format!("{by} writes to {}: {message:?}", row.run));
        if wait_of(&message).is_none() {
            return self.store.blocking().send(&row.run, &message, &by).map(drop).map_err(told);
        }
        let now = self.clock.now_ms();
        let first = self.store.blocking().decide_at(&row.run, &message, &by, now).map_err(told)?;
        if let Message::Approve { id, .. } = &message
            && self.rng.chance(20)
        {
            let by = self.name();
            let id = id.clone();
            let contrary = Message::Deny { id, by: Some(by.clone()), claim: None, note: None };
            let second = self.store.blocking().decide_at(&row.run, &contrary, &by, now).map_err(told)?;
            if matches!((first, second), (Decided::Accepted(_), Decided::Accepted(_))) {
                return Err(format!("two words about {} are accepted", row.id));
            }
        }
        Ok(())
    }

    pub(super) fn name(&mut self) -> String {
        self.people += 1;
        format!("p{}", self.people)
    }
}
