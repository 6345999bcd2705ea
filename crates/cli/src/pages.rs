//! The pages that `escrow explain CODE` shows, compiled in.

/// Every reason with its page, in alphabetical order.
const REASONS: &[(&str, &str)] = &[
    ("approval.answered.person", include_str!("../../../docs/reasons/approval.answered.person.md")),
    ("approval.approved.person", include_str!("../../../docs/reasons/approval.approved.person.md")),
    ("approval.assumed_done.person", include_str!("../../../docs/reasons/approval.assumed_done.person.md")),
    (
        "approval.assumed_failed.person",
        include_str!("../../../docs/reasons/approval.assumed_failed.person.md"),
    ),
    ("approval.assumed_retry.person", include_str!("../../../docs/reasons/approval.assumed_retry.person.md")),
    ("approval.denied.person", include_str!("../../../docs/reasons/approval.denied.person.md")),
    ("approval.expired.deadline", include_str!("../../../docs/reasons/approval.expired.deadline.md")),
    ("approval.pending.asked", include_str!("../../../docs/reasons/approval.pending.asked.md")),
    ("approval.run_ended.unanswered", include_str!("../../../docs/reasons/approval.run_ended.unanswered.md")),
    ("approval.stale.changed", include_str!("../../../docs/reasons/approval.stale.changed.md")),
    ("fire.failed.begin", include_str!("../../../docs/reasons/fire.failed.begin.md")),
    ("fire.failed.definition", include_str!("../../../docs/reasons/fire.failed.definition.md")),
    ("fire.missed.late", include_str!("../../../docs/reasons/fire.missed.late.md")),
    ("fire.recorded.queued", include_str!("../../../docs/reasons/fire.recorded.queued.md")),
    ("fire.recorded.replacing", include_str!("../../../docs/reasons/fire.recorded.replacing.md")),
    ("fire.skipped.depth", include_str!("../../../docs/reasons/fire.skipped.depth.md")),
    ("fire.skipped.fork", include_str!("../../../docs/reasons/fire.skipped.fork.md")),
    ("fire.skipped.inactive", include_str!("../../../docs/reasons/fire.skipped.inactive.md")),
    ("fire.skipped.overlap", include_str!("../../../docs/reasons/fire.skipped.overlap.md")),
    ("fire.skipped.queue_full", include_str!("../../../docs/reasons/fire.skipped.queue_full.md")),
    ("fire.skipped.replaced", include_str!("../../../docs/reasons/fire.skipped.replaced.md")),
    ("invocation.aborted.by_hand", include_str!("../../../docs/reasons/invocation.aborted.by_hand.md")),
    ("invocation.cancelled.by_hand", include_str!("../../../docs/reasons/invocation.cancelled.by_hand.md")),
    ("invocation.completed.by_hand", include_str!("../../../docs/reasons/invocation.completed.by_hand.md")),
    ("invocation.failed.by_hand", include_str!("../../../docs/reasons/invocation.failed.by_hand.md")),
    ("invocation.running.started", include_str!("../../../docs/reasons/invocation.running.started.md")),
    ("run.aborted.denied", include_str!("../../../docs/reasons/run.aborted.denied.md")),
    ("run.aborted.overridden", include_str!("../../../docs/reasons/run.aborted.overridden.md")),
    ("run.aborted.world", include_str!("../../../docs/reasons/run.aborted.world.md")),
    ("run.cancelled.overridden", include_str!("../../../docs/reasons/run.cancelled.overridden.md")),
    ("run.cancelled.system", include_str!("../../../docs/reasons/run.cancelled.system.md")),
    ("run.cancelled.user", include_str!("../../../docs/reasons/run.cancelled.user.md")),
    ("run.completed.nothing_ran", include_str!("../../../docs/reasons/run.completed.nothing_ran.md")),
    ("run.completed.ok", include_str!("../../../docs/reasons/run.completed.ok.md")),
    ("run.completed.overridden", include_str!("../../../docs/reasons/run.completed.overridden.md")),
    ("run.completed.with_skips", include_str!("../../../docs/reasons/run.completed.with_skips.md")),
    ("run.completed.with_warnings", include_str!("../../../docs/reasons/run.completed.with_warnings.md")),
    ("run.failed.artifact_changed", include_str!("../../../docs/reasons/run.failed.artifact_changed.md")),
    ("run.failed.budget_exhausted", include_str!("../../../docs/reasons/run.failed.budget_exhausted.md")),
    ("run.failed.check_failed", include_str!("../../../docs/reasons/run.failed.check_failed.md")),
    ("run.failed.conflict", include_str!("../../../docs/reasons/run.failed.conflict.md")),
    ("run.failed.exception", include_str!("../../../docs/reasons/run.failed.exception.md")),
    ("run.failed.exit_nonzero", include_str!("../../../docs/reasons/run.failed.exit_nonzero.md")),
    ("run.failed.expression_error", include_str!("../../../docs/reasons/run.failed.expression_error.md")),
    ("run.failed.fail_if", include_str!("../../../docs/reasons/run.failed.fail_if.md")),
    ("run.failed.guarantee_failed", include_str!("../../../docs/reasons/run.failed.guarantee_failed.md")),
    ("run.failed.loop_budget", include_str!("../../../docs/reasons/run.failed.loop_budget.md")),
    ("run.failed.missing_artifact", include_str!("../../../docs/reasons/run.failed.missing_artifact.md")),
    ("run.failed.outcome_invalid", include_str!("../../../docs/reasons/run.failed.outcome_invalid.md")),
    ("run.failed.overridden", include_str!("../../../docs/reasons/run.failed.overridden.md")),
    ("run.failed.rule_failed", include_str!("../../../docs/reasons/run.failed.rule_failed.md")),
    ("run.failed.schema_failed", include_str!("../../../docs/reasons/run.failed.schema_failed.md")),
    ("run.timed_out.deadline", include_str!("../../../docs/reasons/run.timed_out.deadline.md")),
    ("run.waiting.approval", include_str!("../../../docs/reasons/run.waiting.approval.md")),
    ("run.waiting.input", include_str!("../../../docs/reasons/run.waiting.input.md")),
    ("run.waiting.unknown_effect", include_str!("../../../docs/reasons/run.waiting.unknown_effect.md")),
];

/// The page of a reason or a diagnostic.
pub(crate) fn page(code: &str) -> Option<&'static str> {
    let reason = REASONS.iter().find(|(name, _)| *name == code).map(|(_, page)| *page);
    reason.or_else(|| escrow_playbook::page(code))
}

/// Every code there is a page for.
pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
    REASONS.iter().map(|(code, _)| *code).chain(escrow_playbook::DIAGNOSTICS.iter().map(|code| code.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrow_model::vocabularies;
    use std::collections::BTreeSet;

    #[test]
    fn every_reason_has_its_page_and_every_page_its_reason() {
        // The reasons of checks are skip reasons and issue codes, which have sections in docs/codes.md instead of pages.
        let coded: BTreeSet<&str> = vocabularies()
            .into_iter()
            .filter(|vocabulary| vocabulary.entity != "check")
            .flat_map(|vocabulary| vocabulary.codes)
            .collect();
        let paged: BTreeSet<&str> = REASONS.iter().map(|(code, _)| *code).collect();
        assert_eq!(coded, paged);
        for (code, page) in REASONS {
            assert!(page.starts_with(&format!("# `{code}`")), "{code}");
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reasons");
        let files = std::fs::read_dir(folder).expect("the folder of pages").count();
        assert_eq!(files, REASONS.len());
    }
}
