//! The run as outside tools read it: the one JSON document of `run --output json` and `runs show`.

use escrow_model::{CheckIndex, CheckStatus, DeliveryStatus, Issue, ScopePath, SkipReason, Verdict, rfc3339};
use serde_json::{Map, Value, json};

use crate::overridden::Overridden;
use crate::phase::Phase;
use crate::run::Run;
use crate::state::{Cell, Node};

impl Run {
    /// The document of product.md §9. Derived from the journal alone, so it is the same at any time later.
    pub fn document(&self) -> Value {
        self.document_with(|_| Detail::Whole)
    }

    /// The same without the outputs and items of checks that did not fail, for summaries.
    pub fn brief_document(&self) -> Value {
        self.document_with(|status| match status {
            CheckStatus::Failed => Detail::Whole,
            _ => Detail::Brief,
        })
    }

    fn document_with(&self, detail: impl Fn(CheckStatus) -> Detail) -> Value {
        let mut checks = Map::new();
        for index in self.state.plan.indices() {
            let name = self.state.plan.check(index).name.clone();
            let status = self.check_status(index);
            checks.insert(name, self.check_document(index, status, detail(status)));
        }
        json!({
            "run": self.run_document(),
            "checks": checks,
            "artifacts": self.artifacts_document(),
            "outcomes": self.outcomes(),
        })
    }

    /// What the run stored as typed results, newest first.
    pub fn outcomes(&self) -> Vec<Value> {
        let options = &self.state.options;
        let invocation = options.invocation.as_deref();
        let all = self.state.outcomes.iter().rev();
        all.map(|(at, outcome)| outcome.document(*at, Some(options.run.as_str()), invocation)).collect()
    }

    pub fn run_document(&self) -> Value {
        let options = &self.state.options;
        let mut document = json!({
            "id": options.run,
            "playbook": self.state.plan.name,
            "status": self.state.status,
            "reason": self.state.reason,
            "invocation_id": options.invocation,
            "started_at": rfc3339(self.state.started_at),
            "ended_at": self.state.ended_at.map(rfc3339),
            "warnings": self.state.warnings,
        });
        if let Some(overridden) = &self.state.overridden {
            document["override"] = override_document(overridden);
        }
        document
    }

    fn check_document(&self, check: CheckIndex, status: CheckStatus, detail: Detail) -> Value {
        let spec = self.state.plan.check(check);
        let state = &self.state.checks[check.place()];
        let root = ScopePath::root();
        let mut document = Map::new();
        document.insert("status".into(), json!(status));
        document.insert("criticality".into(), json!(spec.criticality));
        document.insert("runs".into(), json!(state.runs));
        document.insert("skip_reason".into(), json!(self.skip_reason(check, status)));
        document.insert("issues".into(), json!(self.issues_of(check)));
        if detail == Detail::Whole {
            let output = self.outputs_below(check, &root).cloned().unwrap_or(Value::Null);
            document.insert("output".into(), output);
        }
        let result = match state.nodes.get(&root) {
            Some(Node::Leaf(Cell { answer: Some(answer), .. })) => json!(answer.record),
            _ => Value::Null,
        };
        document.insert("result".into(), result);
        if !spec.fan.is_empty() && detail == Detail::Whole {
            document.insert("items".into(), Value::Array(self.items(check)));
        }
        Value::Object(document)
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
            Phase::Pending | Phase::Due => CheckStatus::Pending,
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
            Phase::Judged { .. } | Phase::Settled { .. } => verdict_status(cell.last_result.verdict),
        }
    }

    /// Whether the event or the tags of the run left out every check: then a run that did nothing is as asked.
    pub fn is_filtered_out(&self) -> bool {
        let is_left_out = |check| {
            let reason = self.skip_reason(check, self.check_status(check));
            matches!(reason, Some(SkipReason::Event | SkipReason::Tags))
        };
        self.state.plan.indices().all(is_left_out)
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

    fn items(&self, check: CheckIndex) -> Vec<Value> {
        let fan = &self.state.plan.check(check).fan;
        self.state.checks[check.place()]
            .nodes
            .iter()
            .filter_map(|(scope, node)| Some((scope, node.cell()?)))
            .map(|(scope, cell)| {
                let steps: Vec<Value> = fan
                    .iter()
                    .zip(scope.indices())
                    .map(|(parent, index)| {
                        json!({ "check": self.state.plan.check(*parent).name, "index": index })
                    })
                    .collect();
                let status = self.cell_status(cell);
                json!({
                    "index": scope.last(),
                    "scope": steps,
                    "status": status,
                    "skip_reason": (status == CheckStatus::Skipped).then(|| cell.skipped()).flatten(),
                    "runs": cell.last_result.runs,
                    "output": cell.answer.as_ref().map(|answer| &answer.output),
                })
            })
            .collect()
    }

    fn artifacts_document(&self) -> Value {
        match &self.state.delivery {
            Some(delivery) => json!({
                "status": delivery.status,
                "checked_at": rfc3339(delivery.checked_at_ms),
                "missing_required": delivery.missing_required,
                "missing_optional": delivery.missing_optional,
                "produced": delivery.produced,
            }),
            None => json!({
                "status": DeliveryStatus::Skipped,
                "checked_at": null,
                "missing_required": [],
                "missing_optional": [],
                "produced": [],
            }),
        }
    }
}

/// How much of a check the document shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Brief,
    Whole,
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

fn override_document(overridden: &Overridden) -> Value {
    let Overridden { from, by, why, at } = overridden;
    json!({ "from": from, "by": by, "why": why, "at": rfc3339(*at) })
}
