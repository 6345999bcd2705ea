//! Reports effects that may be repeated, or that nothing can check or undo. Under `safety: strict` these are errors.

use escrow_model::{Check, Criticality, ProviderName};

use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

/// A critical check with more retries than this hides a failure for too long.
const CRITICAL_RETRIES_MAX: u32 = 3;

pub(super) fn check(draft: &Draft, strict: bool, found: &mut Diagnostics) {
    let check = &draft.check;
    let name = &check.name;
    if let Some(retry) = check.retry.filter(|retry| check.is_critical() && retry.max > CRITICAL_RETRIES_MAX) {
        let message = format!("`{name}` is retried {} times", retry.max);
        let label = format!("`{}`, and more than {CRITICAL_RETRIES_MAX} retries", check.criticality.as_str());
        let problem = Problem::new("W0253", draft.span_of("on_fail"), message);
        found.push(problem.label(label).error_if(strict));
    }
    if let Some(entry) = draft.entry.value.entry("effect_key") {
        if check.criticality != Criticality::External {
            let problem = Problem::new("W0211", entry.key_span.clone(), "`effect_key` has no effect");
            found.push(problem.label("only an `external` check has effects"));
        }
        let names_item = |key: &escrow_model::Text| key.reads().iter().any(|read| read.name == "item");
        if !check.fan.is_empty() && !check.effect_key.as_ref().is_some_and(names_item) {
            let message = format!("`effect_key` of `{name}` is the same for every item");
            let problem = Problem::new("E0171", entry.value.span.clone(), message);
            found.push(problem.label("does not name `item`"));
        }
    }
    // The effects of a nested run are those of its own checks.
    let has_effects = check.criticality == Criticality::External && check.provider != ProviderName::NESTED;
    if !has_effects {
        return;
    }
    let can_be_repeated = check.idempotent || check.reconcile.is_some();
    if check.retry.is_some() && !can_be_repeated {
        let message = format!("`on_fail.retry` of `{name}` may repeat its effect");
        let problem = Problem::new("W0251", draft.span_of("on_fail"), message);
        found.push(problem.label("the check has neither `idempotent` nor `reconcile`").error_if(strict));
    }
    // A step of a chain is settled by a person, who is asked: the run waits.
    if check.step.is_none() && !can_be_repeated && check.effect_key.is_none() && !compensates(check) {
        let message = format!("nothing can check or undo the effect of `{name}`");
        let problem = Problem::new("W0252", draft.entry.key_span.clone(), message);
        found.push(
            problem.label("after a crash, only a person can tell whether it happened").error_if(strict),
        );
    }
}

/// Whether a failure runs another check, which may undo what was done.
fn compensates(check: &Check) -> bool {
    !check.on_fail.run.is_empty() || check.on_fail.run_js.is_some()
}
