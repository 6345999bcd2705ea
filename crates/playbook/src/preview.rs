//! What a plan can do to the world: every effect, what stands in its way, how often it can be attempted, and who is asked.
//!
//! **Invariant:** a guard is listed only if no way to the effect avoids it. Guards of alternatives (`a|b`) are listed when
//! all alternatives have them.

use std::collections::BTreeSet;

use escrow_model::{
    ApprovalTerms, Check, CheckIndex, Criticality, Field, NestedPlaybook, NestedPlaybooks, Plan,
};
use serde::Serialize;

/// Nested runs are not followed deeper than they can run.
const DEPTH_MAX: usize = 8;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preview {
    pub playbook: String,
    pub effects: Vec<EffectPreview>,
    pub people: Vec<Question>,
}

impl Preview {
    /// The effects that nothing stands in the way of.
    pub fn unguarded(&self) -> impl Iterator<Item = &EffectPreview> {
        self.effects.iter().filter(|effect| !effect.guarded)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectPreview {
    /// The check, behind the checks that nest its run: `release/publish`.
    pub check: String,
    pub playbook: String,
    #[serde(rename = "type")]
    pub provider: String,
    /// What it will do, with its templates as they are written.
    pub request: Option<String>,
    pub guards: Vec<Guard>,
    pub guarded: bool,
    /// How often it can be attempted at most, for each item where it runs for items.
    pub attempts_max: u64,
    /// The `forEach` checks whose items it runs for.
    pub for_each: Vec<String>,
    pub before_another_attempt: Precaution,
}

/// What happens before an effect is attempted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Precaution {
    /// Nothing: repeating it does no harm.
    Idempotent,
    /// `reconcile` finds out whether it happened.
    Reconcile,
    /// The ledger knows its key across runs.
    EffectKey,
    /// A person is asked when it is not known whether it happened.
    Person,
}

impl Precaution {
    fn of(check: &Check) -> Precaution {
        match check {
            Check { idempotent: true, .. } => Precaution::Idempotent,
            Check { reconcile: Some(_), .. } => Precaution::Reconcile,
            Check { effect_key: Some(_), .. } => Precaution::EffectKey,
            _ => Precaution::Person,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Guard {
    pub check: String,
    pub kind: GuardKind,
    /// The expression, or the names that it is about.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardKind {
    Approval,
    If,
    /// The `condition` of a chain's step.
    Condition,
    /// A step without a condition, which is skipped after one that failed.
    Failure,
    Assume,
    Guarantee,
    Schema,
    Rules,
    FailIf,
    Outcome,
    Artifacts,
    Answer,
}

impl GuardKind {
    pub fn as_str(self) -> &'static str {
        match self {
            GuardKind::Approval => "approval",
            GuardKind::If => "if",
            GuardKind::Condition => "condition",
            GuardKind::Failure => "failure",
            GuardKind::Assume => "assume",
            GuardKind::Guarantee => "guarantee",
            GuardKind::Schema => "schema",
            GuardKind::Rules => "rules",
            GuardKind::FailIf => "fail_if",
            GuardKind::Outcome => "outcome",
            GuardKind::Artifacts => "artifacts",
            GuardKind::Answer => "answer",
        }
    }
}

/// A person who will be asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    pub check: String,
    pub kind: QuestionKind,
    /// Whose word counts.
    #[serde(flatten)]
    pub terms: ApprovalTerms,
    pub expires_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    Approval,
    Input,
}

pub fn preview(plan: &Plan) -> Preview {
    let mut preview = Preview { playbook: plan.name.clone(), effects: Vec::new(), people: Vec::new() };
    let outermost = Way { path: Vec::new(), guards: BTreeSet::new(), attempts: 1, for_each: Vec::new() };
    follow(plan, &plan.nested, &outermost, &mut preview);
    preview
}

/// How a nested plan is reached.
struct Way {
    path: Vec<String>,
    guards: BTreeSet<Guard>,
    attempts: u64,
    for_each: Vec<String>,
}

impl Way {
    fn name(&self, check: &Check) -> String {
        self.path.iter().chain([&check.name]).cloned().collect::<Vec<_>>().join("/")
    }
}

fn follow(plan: &Plan, playbooks: &NestedPlaybooks, way: &Way, preview: &mut Preview) {
    for index in plan.indices() {
        let check = plan.check(index);
        let name = way.name(check);
        preview.people.extend(question(check, &name));
        let nested = nested_in(plan, playbooks, check);
        if nested.is_none() && check.criticality != Criticality::External {
            continue;
        }
        let mut guards = way.guards.clone();
        guards.extend(before(plan, index, way, &mut BTreeSet::new()));
        let attempts = way.attempts.saturating_mul(attempts_of(plan, index));
        let fan = check.fan.iter().map(|parent| way.name(plan.check(*parent)));
        let for_each: Vec<String> = way.for_each.iter().cloned().chain(fan).collect();
        match nested {
            // A nested run has the effects of its own checks.
            Some(nested) if way.path.len() < DEPTH_MAX => {
                let path = way.path.iter().chain([&check.name]).cloned().collect();
                let inner = Way { path, guards, attempts, for_each };
                follow(&nested.plan, playbooks, &inner, preview);
            }
            Some(_) => {}
            None => preview.effects.push(EffectPreview {
                check: name,
                playbook: plan.name.clone(),
                provider: check.provider.to_string(),
                request: request(check),
                guarded: !guards.is_empty(),
                guards: guards.into_iter().collect(),
                attempts_max: attempts,
                for_each,
                before_another_attempt: Precaution::of(check),
            }),
        }
    }
}

fn nested_in<'p>(plan: &Plan, playbooks: &'p NestedPlaybooks, check: &Check) -> Option<&'p NestedPlaybook> {
    playbooks.files.get(plan.nested.names.get(check.nested_name()?)?)
}

/// What stands between the start of the plan and the start of this check.
fn before(plan: &Plan, index: CheckIndex, way: &Way, visited: &mut BTreeSet<CheckIndex>) -> BTreeSet<Guard> {
    // A ring of dependencies is a load error; a check that is reached twice has nothing more to add.
    if !visited.insert(index) {
        return BTreeSet::new();
    }
    let check = plan.check(index);
    let mut guards: BTreeSet<Guard> = gates(check, &way.name(check)).into_iter().collect();
    for need in &check.needs {
        let mut shared: Option<BTreeSet<Guard>> = None;
        for dependency in &need.any_of {
            let mut seen = visited.clone();
            let these = through(plan, *dependency, way, &mut seen);
            if need.any_of.len() == 1 {
                *visited = seen;
            }
            shared = Some(match shared {
                Some(others) => others.intersection(&these).cloned().collect(),
                None => these,
            });
        }
        guards.extend(shared.into_iter().flatten());
    }
    guards
}

/// What stands between the start of the plan and the dependents of this check.
fn through(plan: &Plan, index: CheckIndex, way: &Way, visited: &mut BTreeSet<CheckIndex>) -> BTreeSet<Guard> {
    let check = plan.check(index);
    let name = way.name(check);
    let mut guards = before(plan, index, way, visited);
    // Dependents start although this check was skipped, so what skips it does not stop them.
    guards.retain(|guard| {
        let is_own = guard.check == name;
        let is_passed_over = match guard.kind {
            GuardKind::If => check.continue_on_failure || check.continue_on_skip,
            GuardKind::Assume => check.continue_on_failure,
            // Later steps do not need this one.
            GuardKind::Condition | GuardKind::Failure => true,
            GuardKind::Approval
            | GuardKind::Guarantee
            | GuardKind::Schema
            | GuardKind::Rules
            | GuardKind::FailIf
            | GuardKind::Outcome
            | GuardKind::Artifacts
            | GuardKind::Answer => false,
        };
        !(is_own && is_passed_over)
    });
    // A broken contract blocks effects behind it even with `continue_on_failure`.
    guards.extend(contracts(check, &name));
    guards
}

/// What is decided before a check starts.
fn gates(check: &Check, name: &str) -> Vec<Guard> {
    let guard = |kind, text: &str| Guard { check: name.to_owned(), kind, text: text.to_owned() };
    let mut guards: Vec<Guard> = Vec::new();
    guards.extend(check.condition.as_ref().map(|condition| guard(GuardKind::If, condition.source())));
    if let Some(step) = &check.step {
        guards.push(match &step.condition {
            Some(condition) => guard(GuardKind::Condition, condition.source()),
            None => guard(GuardKind::Failure, "skipped when a step before it has failed"),
        });
        // Nothing comes before the first step.
        guards.retain(|one| one.kind != GuardKind::Failure || !check.after.is_empty());
    }
    guards.extend(check.assume.iter().map(|assumption| guard(GuardKind::Assume, assumption.source())));
    guards.extend(
        check.requires_approval.as_ref().map(|rule| guard(GuardKind::Approval, &rule.terms.in_words())),
    );
    guards
}

/// What a check must keep before an effect behind it starts.
fn contracts(check: &Check, name: &str) -> Vec<Guard> {
    let guard = |kind, text: &str| Guard { check: name.to_owned(), kind, text: text.to_owned() };
    let mut guards: Vec<Guard> = Vec::new();
    guards.extend(check.guarantee.iter().map(|promise| guard(GuardKind::Guarantee, promise.source())));
    guards.extend(check.schema.as_ref().map(|_| guard(GuardKind::Schema, "")));
    let rules = check.rules.iter().filter(|rule| rule.enabled).map(|rule| rule.rule_id.as_str());
    let rules = rules.collect::<Vec<_>>().join(", ");
    guards.extend((!rules.is_empty()).then(|| guard(GuardKind::Rules, &rules)));
    guards.extend(check.fail_if.as_ref().map(|condition| guard(GuardKind::FailIf, condition.source())));
    guards.extend(check.outcome.as_ref().map(|kind| guard(GuardKind::Outcome, kind)));
    guards.extend(
        (!check.artifacts.is_empty()).then(|| guard(GuardKind::Artifacts, &check.artifacts.join(", "))),
    );
    guards.extend((check.provider.as_str() == HUMAN_INPUT).then(|| guard(GuardKind::Answer, "")));
    guards
}

const HUMAN_INPUT: &str = "human-input";

fn question(check: &Check, name: &str) -> Option<Question> {
    let (kind, terms, expires_ms) = match &check.requires_approval {
        Some(rule) => (QuestionKind::Approval, rule.terms.clone(), rule.expires_ms),
        None if check.provider.as_str() == HUMAN_INPUT => {
            (QuestionKind::Input, ApprovalTerms::default(), check.timeout_ms)
        }
        None => return None,
    };
    Some(Question { check: name.to_owned(), kind, terms, expires_ms })
}

/// First attempts and retries, once for every time that routing can re-run the check.
fn attempts_of(plan: &Plan, index: CheckIndex) -> u64 {
    let check = plan.check(index);
    let retries = check.retry.as_ref().map_or(0, |retry| u64::from(retry.max));
    (1 + retries).saturating_mul(1 + reruns(plan, index))
}

/// How often routing can re-run a check in one scope.
fn reruns(plan: &Plan, index: CheckIndex) -> u64 {
    let mut limit = 0;
    for source in &plan.checks {
        let computed = source.routings().any(|routing| routing.run_js.is_some() || routing.goto_js.is_some());
        let mut targets = source.routings().flat_map(|routing| routing.targets());
        if computed || targets.any(|target| target == index || depends_on(plan, index, target)) {
            limit = limit.max(plan.loop_budget(source));
        }
    }
    u64::from(limit)
}

fn depends_on(plan: &Plan, check: CheckIndex, other: CheckIndex) -> bool {
    let mut seen = BTreeSet::from([check]);
    let mut open = vec![check];
    while let Some(at) = open.pop() {
        let spec = plan.check(at);
        let below = spec.needs.iter().flat_map(|need| &need.any_of).chain(&spec.after).chain(&spec.fan);
        for below in below {
            if *below == other {
                return true;
            }
            if seen.insert(*below) {
                open.push(*below);
            }
        }
    }
    false
}

/// What the check asks of its provider, as the file has it.
fn request(check: &Check) -> Option<String> {
    let text = |name: &str| match check.fields.get(name)? {
        Field::Shell(shell) => Some(shell.source().to_owned()),
        Field::Argv(words) => Some(words.iter().map(|word| word.source()).collect::<Vec<_>>().join(" ")),
        Field::Text(text) | Field::Url(text) => Some(text.source().to_owned()),
        Field::Plain(value) => value.as_str().map(str::to_owned),
        Field::Texts(_) | Field::Tree(_) | Field::Block(_) | Field::Message(_) => None,
    };
    let found: Vec<String> = ["exec", "op", "method", "url", "prompt"].into_iter().filter_map(text).collect();
    (!found.is_empty()).then(|| found.join(" "))
}
