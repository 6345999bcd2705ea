//! Reports risky checks that lack a contract. Under `safety: strict` these are errors.

use escrow_model::{Check, Criticality, CriticalityOrigin, Safety};
use serde_json::Value;

use super::criticality::world_change;
use super::effects;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

pub(super) fn check(drafts: &[Draft], safety: Safety, found: &mut Diagnostics) {
    let strict = safety == Safety::Strict;
    for draft in drafts {
        let check = &draft.check;
        let name = &check.name;
        let gated = check.condition.is_some() || !check.assume.is_empty();
        let judged = !check.guarantee.is_empty() || check.schema.as_ref().is_some_and(constrains_output);
        let why = origin(check.criticality_origin);
        match check.criticality {
            Criticality::External if !(gated && judged) => {
                let (lacks, help) = match (gated, judged) {
                    (false, false) => (
                        "neither a precondition nor a guarantee",
                        "add `assume` (or `if`) for what must be true before it runs, and `guarantee` (or `schema`) for its result",
                    ),
                    (false, true) => {
                        ("no precondition", "add `assume` (or `if`) for what must be true before it runs")
                    }
                    (true, _) => ("no guarantee", "add `guarantee` (or `schema`) for its result"),
                };
                found.push(
                    Problem::new(
                        "W0201",
                        draft.entry.key_span.clone(),
                        format!("external check `{name}` has {lacks}"),
                    )
                    .label(format!("`external`, {why}"))
                    .help(help)
                    .error_if(strict),
                );
            }
            Criticality::Internal | Criticality::Policy if !judged => found.push(
                Problem::new(
                    "W0202",
                    draft.entry.key_span.clone(),
                    format!("`{name}` decides what runs next and has no guarantee"),
                )
                .label(format!("`{}`, {why}", check.criticality.as_str()))
                .help("add `guarantee` (or `schema`) for its output")
                .error_if(strict),
            ),
            Criticality::External | Criticality::Internal | Criticality::Policy | Criticality::Info => {}
        }
        effects::check(draft, strict, found);
        if let Some(why) = unused_reconcile_reason(check)
            && let Some(entry) = draft.entry.value.entry("reconcile")
        {
            found.push(Problem::new("W0211", entry.key_span.clone(), "`reconcile` has no effect").label(why));
        }
        if check.criticality_origin == CriticalityOrigin::WorldCommand
            && let Some((command, _)) = world_change(draft)
        {
            found.push(
                Problem::new(
                    "W0203",
                    draft.entry.key_span.clone(),
                    format!("`{name}` does not declare its criticality"),
                )
                .label(format!("`{command}` changes the outside world, so `external` is assumed"))
                .help("add `criticality: external`, or another criticality if it changes nothing outside")
                .error_if(strict),
            );
        }
        if check.criticality_origin == CriticalityOrigin::MutatingProvider {
            found.push(
                Problem::new(
                    "W0203",
                    draft.entry.key_span.clone(),
                    format!("`{name}` does not declare its criticality"),
                )
                .label(format!("`{}` changes the outside world, so `external` is assumed", check.provider))
                .help("add `criticality: external`")
                .error_if(strict),
            );
        }
    }
}

/// Why `reconcile` is never used.
fn unused_reconcile_reason(check: &Check) -> Option<&'static str> {
    if check.criticality != Criticality::External {
        Some("only the effects of an `external` check can be unknown")
    } else if check.idempotent {
        Some("an `idempotent` check is repeated instead")
    } else {
        None
    }
}

fn origin(origin: CriticalityOrigin) -> &'static str {
    match origin {
        CriticalityOrigin::Declared => "as declared",
        CriticalityOrigin::Tag => "by its tags",
        CriticalityOrigin::MutatingProvider => "because its provider changes the outside world",
        CriticalityOrigin::WorldCommand => "because a command in it changes the outside world",
        CriticalityOrigin::DrivesRouting => "because it fans out or routes",
        CriticalityOrigin::GuardsExternal => "because an external check follows it",
        CriticalityOrigin::FeedsGuard => "because a guard reads what it writes to memory",
        CriticalityOrigin::Default => "by default",
    }
}

/// A JSON Schema or an outcome kind constrains the output; a layout does not.
pub(super) fn constrains_output(schema: &Value) -> bool {
    schema.as_str().is_none_or(|name| !crate::decode::is_layout(name))
}
