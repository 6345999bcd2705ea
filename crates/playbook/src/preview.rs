//! What a plan can do to the world: every effect, what stands in its way, how often it can be attempted, and who is asked.
//!
//! **Invariant:** a guard is listed only if no way to the effect avoids it, and no run attempts an effect more often than
//! is said here.

mod attempts;
mod guards;

use std::collections::BTreeSet;

use escrow_model::{ApprovalTerms, Check, Criticality, Field, NestedPlaybook, NestedPlaybooks, Plan};
use serde::Serialize;

use self::attempts::attempts_of;
use self::guards::Guards;

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
    let found = Guards::of(plan, |check| way.name(check));
    for index in plan.indices() {
        let check = plan.check(index);
        let name = way.name(check);
        preview.people.extend(question(check, &name));
        let nested = nested_in(plan, playbooks, check);
        if nested.is_none() && check.criticality != Criticality::External {
            continue;
        }
        let mut guards = way.guards.clone();
        guards.extend(found.before(index).cloned());
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
