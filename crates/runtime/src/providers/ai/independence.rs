//! `not_same_as`: work is judged by another harness or another model than did it.
//!
//! `escrow check` refuses what it can know. The rest is refused here, before the program starts, and once more when it has
//! said which model it really was: an alias shows then.

use escrow_harness::HarnessSpec;
use escrow_model::{FaultCode, ProviderFault, may_be_one_model};
use serde::Deserialize;

/// Who did the work.
#[derive(Debug, Deserialize)]
pub(super) struct Judged {
    check: String,
    used: Vec<Used>,
}

#[derive(Debug, Deserialize)]
struct Used {
    harness: Option<String>,
    model: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// With the model that will be asked for.
    Before,
    /// With the model that answered.
    After,
}

impl Judged {
    /// A fault if this harness with this model may be the one that did the work. What is not known counts as the same.
    pub(super) fn refuse_same(
        &self,
        spec: &HarnessSpec,
        model: Option<&str>,
        moment: Moment,
    ) -> Result<(), ProviderFault> {
        let check = &self.check;
        if self.used.is_empty() {
            return Err(refused(&format!(
                "it is not known which harness and model did the work of `{check}`"
            )));
        }
        for used in
            self.used.iter().filter(|used| used.harness.as_deref().is_none_or(|name| name == spec.name))
        {
            let name = spec.name;
            match (model, used.model.as_deref()) {
                (Some(model), Some(other)) if !may_be_one_model(model, other) => {}
                (Some(model), Some(other)) => {
                    let are = if model == other { "" } else { ": they are, or may be, one model" };
                    return Err(refused(&format!(
                        "`{check}` was done by `{name}` with `{other}`, and this check would be judged by `{model}`{are}"
                    )));
                }
                // What it was before the start is all that is known of a program that does not tell.
                (None, _) | (_, None) if moment == Moment::After => {}
                (None, _) | (_, None) => {
                    return Err(refused(&format!(
                        "`{check}` was done by `{name}`, too, and not both models are known"
                    )));
                }
            }
        }
        Ok(())
    }
}

fn refused(message: &str) -> ProviderFault {
    let help = "name another `harness`, or another `model` on both checks";
    ProviderFault::logical(FaultCode::own("not_independent"), format!("{message}; {help}"))
}
