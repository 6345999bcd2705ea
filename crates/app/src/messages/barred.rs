//! Why an actor may not approve, for those who show an approval before anyone decides.

use escrow_engine::Run;
use escrow_model::{ApprovalTerms, Message, WaitKind};
use escrow_store::{Queries, WaitRow};

use crate::error::Error;
use crate::runs::replay;

/// What the run would answer to an approval by this actor; `None`: it would count. Anyone may deny.
pub fn barred(run: &Run, wait: &WaitRow, actor: &str) -> Option<String> {
    if wait.kind != WaitKind::Approval {
        return None;
    }
    if wait.recorded_approvals.iter().any(|given| given.by.as_deref() == Some(actor)) {
        return Some(format!("{actor} has already approved it"));
    }
    let (id, by) = (wait.id.clone(), Some(actor.to_owned()));
    run.refusal(&Message::Approve { id, by, claim: None, note: None }).map(|refusal| refusal.to_string())
}

/// The same for a run that is not at hand. It is read only where the terms of the approval can exclude someone.
pub async fn barred_from(
    queries: &dyn Queries,
    wait: &WaitRow,
    actor: &str,
) -> Result<Option<String>, Error> {
    let terms = wait.subject.as_ref().map(|subject| &subject.terms);
    if terms.is_none_or(|terms| *terms == ApprovalTerms::default()) {
        return Ok(None);
    }
    let row = queries.run(wait.run.as_str()).await?;
    Ok(barred(&replay(queries, &row).await?, wait, actor))
}
