//! Where the checks of a run stand, as typed values. `app::documents` turns them into JSON.
//!
//! Derived from the journal alone, so a replayed run reports the same as a live one.

use escrow_model::{
    Answer, ApprovedPlaybook, CheckIndex, CheckStatus, Criticality, EffectState, Issue, Millis,
    RecordedOutcome, Request, ScopePath, SkipReason, Verdict,
};
use serde_json::{Map, Value};

use crate::approved_playbook::approved_playbook;
use crate::overridden::Overridden;
use crate::phase::Phase;
use crate::run::Run;
use crate::state::{Cell, Node};

/// Where a check stands, over all its items. Its output and items are questions of their own: both may be large.
#[derive(Clone, Debug)]
pub struct CheckReport<'r> {
    pub index: CheckIndex,
    pub name: &'r str,
    pub status: CheckStatus,
    pub criticality: Criticality,
    pub runs: u32,
    /// Of a skipped check.
    pub skip_reason: Option<SkipReason>,
    pub issues: Vec<&'r Issue>,
    /// Of the last attempt. A fan-out has none.
    pub answer: Option<&'r Answer>,
    /// What safe mode kept it from doing. A fan-out has it in its items.
    pub prevented: Option<&'r Request>,
    pub has_items: bool,
}

impl<'r> CheckReport<'r> {
    /// What the provider recorded about the last attempt.
    pub fn record(&self) -> Option<&'r Map<String, Value>> {
        self.answer.map(|answer| &answer.record)
    }
}

/// One item of a fan-out.
#[derive(Clone, Debug)]
pub struct ItemReport<'r> {
    pub scope: &'r ScopePath,
    pub status: CheckStatus,
    pub skip_reason: Option<SkipReason>,
    pub runs: u32,
    pub output: Option<&'r Value>,
    /// The value that it runs for.
    pub value: Option<&'r Value>,
    pub issues: &'r [Issue],
    /// What the provider recorded about the last attempt.
    pub record: Option<&'r Map<String, Value>>,
    /// What safe mode kept it from doing.
    pub prevented: Option<&'r Request>,
}

impl Run {
    /// Every check, in the order of the playbook.
    pub fn check_reports(&self) -> impl Iterator<Item = CheckReport<'_>> {
        self.state.plan.indices().map(|index| self.check_report(index))
    }

    pub fn check_report(&self, check: CheckIndex) -> CheckReport<'_> {
        let spec = self.state.plan.check(check);
        let state = &self.state.checks[check.place()];
        let status = self.check_status(check);
        let cell = state.nodes.get(&ScopePath::root()).and_then(Node::cell);
        CheckReport {
            index: check,
            name: &spec.name,
            status,
            criticality: spec.criticality,
            runs: state.runs,
            skip_reason: self.skip_reason(check, status),
            issues: self.issues_of(check),
            answer: cell.and_then(|cell| cell.answer.as_deref()),
            prevented: cell.and_then(prevented),
            has_items: !spec.fan.is_empty(),
        }
    }

    /// The output of a check. Of a fan-out, the array of its items' outputs.
    pub fn output_of(&self, check: CheckIndex) -> Option<&Value> {
        self.outputs_below(check, &ScopePath::root())
    }

    /// The items of a fan-out that exist so far.
    pub fn item_reports(&self, check: CheckIndex) -> impl Iterator<Item = ItemReport<'_>> {
        let nodes = self.state.checks[check.place()].nodes.iter();
        nodes.filter_map(|(scope, node)| Some((scope, node.cell()?))).map(move |(scope, cell)| {
            let status = self.cell_status(cell);
            ItemReport {
                scope,
                status,
                skip_reason: (status == CheckStatus::Skipped).then(|| cell.skipped()).flatten(),
                runs: cell.last_result.runs,
                output: cell.answer.as_ref().map(|answer| &answer.output),
                value: self.item(check, scope),
                issues: &cell.last_result.issues,
                record: cell.answer.as_ref().map(|answer| &answer.record),
                prevented: prevented(cell),
            }
        })
    }

    /// Whether a fan-out has this item: in its current list, or in an earlier one that no newer list has replaced yet.
    pub fn has_item(&self, check: CheckIndex, scope: &ScopePath) -> bool {
        let is_earlier = self.state.checks[check.place()].last_results.contains_key(scope);
        is_earlier || self.cell(check, scope).is_some()
    }

    /// The nested playbook of a check and everything that it can do outside. `None` for a check that nests nothing.
    pub fn nested_effects(&self, check: CheckIndex) -> Option<ApprovedPlaybook> {
        approved_playbook(&self.state.plan, self.state.plan.check(check))
    }

    /// What the run stored as typed results, newest first, each with its time.
    pub fn outcomes(&self) -> impl Iterator<Item = (Millis, &RecordedOutcome)> {
        self.state.outcomes.iter().rev().map(|(at, outcome)| (*at, outcome.as_ref()))
    }

    /// The override in force, if a person overrode the status.
    pub fn overridden(&self) -> Option<&Overridden> {
        self.state.overridden.as_ref()
    }

    /// Whether there was nothing to do: every check was filtered out or had a false `if`, or stands behind such a check.
    pub fn had_nothing_to_do(&self) -> bool {
        self.is_nothing_needed()
    }

    /// Of the last attempt, or `skipped` if there was none; for a fan-out, failed if any item failed.
    pub fn check_status(&self, check: CheckIndex) -> CheckStatus {
        let state = &self.state.checks[check.place()];
        let nodes = state.nodes.values().filter_map(|node| match node {
            Node::Leaf(cell) => Some(self.cell_status(cell)),
            Node::SkippedGroup(_) => Some(CheckStatus::Skipped),
            Node::Unexpanded(_) => Some(CheckStatus::Pending),
            Node::Group(_) => None,
        });
        // Items of an earlier pass count until the next pass has reached them.
        let earlier = state.last_results.values().map(|result| verdict_status(result.verdict));
        nodes.chain(earlier).max_by_key(|status| weight(*status)).unwrap_or(CheckStatus::Pending)
    }

    /// Of one item, or of everything below a scope.
    pub(crate) fn status_at(&self, check: CheckIndex, scope: &ScopePath) -> CheckStatus {
        self.cell(check, scope).map_or_else(|| self.check_status(check), |cell| self.cell_status(cell))
    }

    fn cell_status(&self, cell: &Cell) -> CheckStatus {
        match &cell.phase {
            Phase::Pending | Phase::Due | Phase::Consulting { .. } => CheckStatus::Pending,
            Phase::Reconciling { .. } => CheckStatus::Unknown,
            Phase::Waiting { .. } | Phase::Answered | Phase::Judged { .. } | Phase::Settled { .. }
                if cell.is_unknown() =>
            {
                CheckStatus::Unknown
            }
            Phase::Running { .. } | Phase::Inspecting { .. } | Phase::Answered | Phase::RetryWait { .. } => {
                CheckStatus::Running
            }
            Phase::Waiting { .. } => CheckStatus::Waiting,
            Phase::Judged { .. } | Phase::Settled { .. } => match cell.resolved {
                Some(EffectState::Confirmed) => CheckStatus::Succeeded,
                Some(EffectState::Failed) => CheckStatus::Failed,
                Some(EffectState::Intended | EffectState::Unknown) => CheckStatus::Unknown,
                None => verdict_status(cell.last_result.verdict),
            },
        }
    }

    fn skip_reason(&self, check: CheckIndex, status: CheckStatus) -> Option<SkipReason> {
        if status != CheckStatus::Skipped {
            return None;
        }
        self.state.checks[check.place()].nodes.values().find_map(|node| match node {
            Node::Leaf(cell) => cell.skipped(),
            Node::SkippedGroup(reason) => Some(*reason),
            Node::Group(_) | Node::Unexpanded(_) => None,
        })
    }

    fn issues_of(&self, check: CheckIndex) -> Vec<&Issue> {
        let state = &self.state.checks[check.place()];
        let cells = state.nodes.values().filter_map(Node::cell).map(|cell| &cell.last_result);
        let judged = cells.chain(state.last_results.values()).flat_map(|result| &result.issues);
        let raised = self.state.issues.iter().filter(|(at, _)| at.check == check).map(|(_, issue)| issue);
        judged.chain(raised).collect()
    }
}

fn prevented(cell: &Cell) -> Option<&Request> {
    cell.prevented.as_deref().filter(|_| cell.skipped() == Some(SkipReason::SafeMode))
}

fn verdict_status(verdict: Option<Verdict>) -> CheckStatus {
    match verdict {
        Some(Verdict::Succeeded) => CheckStatus::Succeeded,
        Some(Verdict::Failed) => CheckStatus::Failed,
        None => CheckStatus::Skipped,
    }
}

/// Which status represents a fan-out: the highest.
fn weight(status: CheckStatus) -> u8 {
    match status {
        CheckStatus::Skipped => 0,
        CheckStatus::Succeeded => 1,
        CheckStatus::Pending => 2,
        CheckStatus::Failed => 3,
        CheckStatus::Waiting => 4,
        CheckStatus::Running => 5,
        CheckStatus::Unknown => 6,
    }
}
