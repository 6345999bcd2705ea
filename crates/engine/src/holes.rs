//! Holes in a matrix: items of a mapped check that failed, or that were skipped although they were wanted.
//!
//! **Invariant:** no external check starts on a matrix with a hole. A reduce check may run on what is left, and what
//! it makes of that is not whole either; only `continue_on_failure` of the mapped check says that it is enough.

use escrow_model::{CheckIndex, IssueCode, Plan, ScopePath, Severity, SkipReason, Verdict};

use crate::gate::Blocker;
use crate::location::Location;
use crate::run::Run;
use crate::state::{Cell, Node};

/// Why an item is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Failed,
    Skipped(SkipReason),
}

impl Blocker {
    pub(crate) fn in_words(&self, plan: &Plan) -> String {
        match self {
            Blocker::Violation(check) => format!("`{}` broke its contract", plan.check(*check).name),
            Blocker::Unevaluated(check) => {
                format!("a condition of `{}` could not be evaluated", plan.check(*check).name)
            }
            Blocker::CancelledByHand(check) => {
                format!("a person cancelled the nested run of `{}`", plan.check(*check).name)
            }
            Blocker::Nested { check, item, flaw } => {
                format!("in the nested run of `{}{item}`, {}", plan.check(*check).name, flaw.detail)
            }
            Blocker::Hole { check, item, missing } => {
                let name = &plan.check(*check).name;
                match missing {
                    Missing::Failed => format!("`{name}{item}` failed, so its items are not complete"),
                    Missing::Skipped(reason) => {
                        let reason = reason.as_str();
                        format!("`{name}{item}` was skipped ({reason}), so its items are not complete")
                    }
                }
            }
        }
    }
}

impl Run {
    /// The first missing item of a check below this scope. A check that runs for this very scope has no items here:
    /// a map dependent looks at its own item, through its gate.
    pub(crate) fn hole_in(&self, check: CheckIndex, scope: &ScopePath) -> Option<Blocker> {
        if self.state.plan.check(check).continue_on_failure {
            return None;
        }
        let (item, missing) = self.missing_below(check, scope)?;
        Some(Blocker::Hole { check, item, missing })
    }

    fn missing_below(&self, check: CheckIndex, scope: &ScopePath) -> Option<(ScopePath, Missing)> {
        let Some(Node::Group(group)) = self.node(check, scope) else { return None };
        let is_innermost = scope.depth() + 1 == self.state.plan.check(check).fan.len();
        if is_innermost && group.succeeded == group.total {
            return None;
        }
        (0..group.total).find_map(|index| {
            let item = scope.child(index);
            match self.node(check, &item)? {
                Node::Leaf(cell) => self.missing_cell(check, &item, cell).map(|missing| (item, missing)),
                Node::SkippedGroup(reason) => is_wanted(*reason).then_some((item, Missing::Skipped(*reason))),
                Node::Group(_) => self.missing_below(check, &item),
                Node::Unexpanded(_) => None,
            }
        })
    }

    fn missing_cell(&self, check: CheckIndex, item: &ScopePath, cell: &Cell) -> Option<Missing> {
        if cell.has_settled_with(Verdict::Failed) {
            return Some(Missing::Failed);
        }
        let reason = cell.skipped()?;
        let by_error = reason == SkipReason::IfCondition && self.has_expression_error(check, item);
        (is_wanted(reason) || by_error).then_some(Missing::Skipped(reason))
    }

    pub(crate) fn has_expression_error(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        let here = Location::new(check, scope.clone());
        self.state.issues.iter().any(|(location, issue)| {
            *location == here && issue.code == IssueCode::ExpressionError && issue.severity == Severity::Error
        })
    }
}

/// Whether a skip for this reason leaves out something that was wanted. A filter, a false `if` and an empty list say
/// that it was not.
fn is_wanted(reason: SkipReason) -> bool {
    match reason {
        SkipReason::Assume
        | SkipReason::DependencyFailed
        | SkipReason::ContractBlocked
        | SkipReason::LoopBudget => true,
        SkipReason::IfCondition
        | SkipReason::ForEachEmpty
        | SkipReason::SafeMode
        | SkipReason::Event
        | SkipReason::Tags
        | SkipReason::Only
        | SkipReason::NotRouted
        | SkipReason::RunEnded => false,
    }
}
