//! Judges an answer by every contract of its check. A broken contract does not keep the others from being judged.

use escrow_expr::{EvalError, not_json};
use escrow_model::{
    Answer, Check, CheckIndex, Delivery, Ending, Expression, FaultClass, FaultCode, Issue, IssueCode,
    Outcome, ProviderName, ReasonCode, RunStatus, ScopePath, Severity, Verdict,
};
use serde_json::Value;

use crate::cut_output::{CutOutput, is_kept_whole, is_of_record};
use crate::effect::NOTES;
use crate::graph::{Contract, Shape};
use crate::run::Run;
use crate::state::Lost;
use crate::view::{BUDGET, View};

/// The most items a `forEach` may have.
pub(crate) const ITEMS_MAX: usize = 10_000;

/// How many broken rules one judgement lists.
const ISSUES_MAX: usize = 1_000;

/// The verdict on an attempt, or on a decision that needed none.
pub(crate) struct Judgement {
    /// 0 without an attempt.
    pub(crate) attempt: u32,
    pub(crate) verdict: Verdict,
    pub(crate) issues: Vec<Issue>,
    pub(crate) fault: Option<FaultClass>,
    pub(crate) violation: bool,
    /// The outcome that the output is stored as, even if another contract is broken.
    pub(crate) outcome: Option<Outcome>,
}

impl Judgement {
    /// Failed without an attempt: a template, an assumption, a denial.
    pub(crate) fn without_attempt(issues: Vec<Issue>, fault: Option<FaultClass>) -> Judgement {
        Judgement { attempt: 0, verdict: Verdict::Failed, issues, fault, violation: false, outcome: None }
    }
}

impl Judgement {
    /// An effect did not happen, and must not be tried again.
    pub(crate) fn of_absent_effect(attempt: u32, issue: Issue) -> Judgement {
        Judgement { attempt, ..Judgement::without_attempt(vec![issue], None) }
    }

    /// The check failed because it broke its contract: no effect may stand on it.
    pub(crate) fn with_broken_contract(self) -> Judgement {
        Judgement { violation: true, ..self }
    }
}

impl Run {
    /// The verdict that was given on a confirmed effect. The word that it happened changes nothing about it.
    pub(crate) fn earlier_judgement(&self, check: CheckIndex, scope: &ScopePath, attempt: u32) -> Judgement {
        let result = self.cell(check, scope).map(|cell| &cell.last_result);
        Judgement {
            attempt,
            verdict: result.and_then(|result| result.verdict).unwrap_or(Verdict::Failed),
            issues: result.map(|result| result.issues.clone()).unwrap_or_default(),
            fault: None,
            violation: self.state.checks[check.place()].violations.contains(scope),
            outcome: None,
        }
    }

    /// Judges the last answer of a cell: `schema`, `rules`, `guarantee`, `artifacts`, `fail_if`, `outcome`. When the
    /// provider faulted only `fail_if` is judged, and makes the fault logical.
    pub(crate) fn judge(&self, check: CheckIndex, scope: &ScopePath, attempt: u32) -> Judgement {
        let plan = &self.state.plan;
        let spec = plan.check(check);
        let mut issues = Vec::new();
        let mut fault = None;
        let mut violation;
        let mut unsure = false;
        let Some(answer) = self.cell(check, scope).and_then(|cell| cell.answer.as_deref()) else {
            return Judgement {
                attempt,
                verdict: Verdict::Failed,
                issues: vec![Issue::error(IssueCode::NoAnswer, "the provider gave no answer")],
                fault: Some(FaultClass::Transient),
                violation: false,
                outcome: None,
            };
        };
        let view = View::after(self, check, scope);
        let tail_view = View::after(self, check, scope).with_tail();
        let view_of = |one: &Expression| if names_cut(one) { &tail_view } else { &view };
        let lost = self.cell(check, scope).map(|cell| cell.lost).unwrap_or_default();
        let is_lost = lost == Lost::Everything;
        let cut = CutOutput::of(answer);
        let is_judged = |one: &Expression| !(cut.is_read_by(one, spec) || lost.is_read_by(one, spec, answer));
        match &answer.ending {
            Ending::Fault(provider_fault) => {
                fault = Some(provider_fault.class);
                let (provider, fault) = (spec.provider.clone(), provider_fault.code.clone());
                let code = IssueCode::Fault { provider, fault };
                issues.push(Issue::error(code, provider_fault.message.clone()));
                violation = provider_fault.has_happened();
            }
            Ending::Done => {
                let contract = self.graph.contract(check);
                issues.extend(lost.issues(spec, answer));
                if is_lost {
                    // Nothing is left to judge.
                } else if cut.stdout {
                    issues.extend(cut.issues(spec));
                } else {
                    issues.extend(shape_issues(spec, contract, answer));
                    issues.extend(rule_issues(spec, contract, answer));
                }
                if cut.stderr {
                    issues.extend(cut.stderr_issues(spec));
                }
                violation = issues.iter().any(|issue| issue.severity == Severity::Error);
                for guarantee in spec.guarantee.iter().filter(|one| is_judged(one)) {
                    let message = match guarantee.test(view_of(guarantee), BUDGET) {
                        Ok(true) => continue,
                        Ok(false) => format!("`{}` does not hold", guarantee.source()),
                        Err(fault) => {
                            let hint = fault_hint(&fault, answer);
                            let fault = self.surroundings.in_words(&fault);
                            format!("`{}` cannot be evaluated: {fault}{hint}", guarantee.source())
                        }
                    };
                    violation = true;
                    issues.push(Issue::error(IssueCode::GuaranteeFailed, message));
                }
                for issue in artifact_issues(self.cell(check, scope).and_then(|cell| cell.phase.delivery())) {
                    violation |= issue.severity == Severity::Error;
                    issues.push(issue);
                }
                if spec.for_each
                    && !is_lost
                    && !cut.stdout
                    && let Some(issue) = array_issue(answer)
                {
                    fault = Some(FaultClass::Logical);
                    issues.push(issue);
                }
            }
        }
        if let Some(fail_if) = spec.fail_if.as_ref().filter(|one| is_judged(one)) {
            match fail_if.test(view_of(fail_if), BUDGET) {
                Ok(false) => {}
                Ok(true) => {
                    violation = true;
                    let message = format!("`{}` is true", fail_if.source());
                    issues.push(Issue::error(IssueCode::FailIf { check: spec.name.clone() }, message));
                }
                Err(error) => {
                    let hint = fault_hint(&error, answer);
                    let error = self.surroundings.in_words(&error);
                    let message = format!("`fail_if` could not be evaluated: {error}{hint}");
                    // It may have been true, and hostile output could exhaust the budget on purpose: the check fails
                    // whatever its criticality. A fault of the provider stays what it is, so that a crash is still
                    // retried.
                    unsure = true;
                    issues.push(Issue::error(IssueCode::ExpressionError, message));
                }
            }
        }
        let outcome = match (&spec.outcome, &answer.ending) {
            (Some(kind), Ending::Done) if !is_lost && !cut.stdout => {
                match self.graph.contract(check).outcome.as_ref() {
                    Some(kind) => {
                        let repeated = answer.record.get("repeated_key").and_then(Value::as_str);
                        kind.judge_parsed(&answer.output, repeated).map_err(|refused| refused.to_string())
                    }
                    None => Err(format!("the kind `{kind}` cannot be compiled")),
                }
                .map_err(|message| {
                    violation = true;
                    issues.push(Issue::error(IssueCode::OutcomeInvalid, message));
                })
                .ok()
            }
            _ => None,
        };
        if violation || (unsure && fault.is_none()) {
            fault = Some(FaultClass::Logical);
        }
        let failed = fault.is_some();
        Judgement {
            attempt,
            verdict: if failed { Verdict::Failed } else { Verdict::Succeeded },
            issues,
            fault,
            violation: violation || unsure,
            outcome,
        }
    }
}

impl Lost {
    /// Whether an expression reads what is not known.
    fn is_read_by(self, expression: &Expression, spec: &Check, answer: &Answer) -> bool {
        match self {
            Lost::Nothing => false,
            Lost::Record => reads_record(expression, answer),
            Lost::Everything => reads_output(expression, spec),
        }
    }

    /// The contracts that read what is not known of an effect that was found done.
    fn issues(self, spec: &Check, answer: &Answer) -> Vec<Issue> {
        if self == Lost::Nothing {
            return Vec::new();
        }
        let what = if self == Lost::Record { "the record of its attempt" } else { "its output" };
        let reads = |one: &Expression| self.is_read_by(one, spec, answer);
        let is_all = self == Lost::Everything;
        let keys = [
            ("schema", is_all && spec.schema.is_some()),
            ("rules", is_all && !spec.rules.is_empty()),
            ("guarantee", spec.guarantee.iter().any(reads)),
            ("fail_if", spec.fail_if.iter().any(reads)),
            ("outcome", is_all && spec.outcome.is_some()),
            ("forEach", is_all && spec.for_each),
        ];
        let lost = keys.into_iter().filter(|(_, reads)| *reads).map(|(key, _)| {
            let message = format!("the effect is confirmed without {what}, which `{key}` reads");
            Issue::error(IssueCode::EffectOutputLost, message)
        });
        // How a nested run ended is a contract of the check around it; only the nested run can tell.
        let nested = (spec.provider == ProviderName::NESTED).then(|| {
            let message = "the effect is confirmed, and nothing tells that its nested run has completed";
            Issue::error(IssueCode::EffectOutputLost, message)
        });
        nested.into_iter().chain(lost).collect()
    }
}

impl CutOutput {
    fn is_read_by(self, expression: &Expression, spec: &Check) -> bool {
        (self.stdout && takes_for_whole(expression, spec, "stdout"))
            || (self.stderr && takes_for_whole(expression, spec, "stderr"))
    }

    /// The contracts that read the standard output, or a warning when there are none.
    fn issues(self, spec: &Check) -> Vec<Issue> {
        let reads = |one: &Expression| takes_for_whole(one, spec, "stdout");
        let keys = [
            ("schema", spec.schema.is_some()),
            ("rules", !spec.rules.is_empty()),
            ("guarantee", spec.guarantee.iter().any(reads)),
            ("fail_if", spec.fail_if.iter().any(reads)),
            ("outcome", spec.outcome.is_some()),
            ("forEach", spec.for_each),
        ];
        let broken = cut_issues("output", "16 MiB", "truncated", &keys);
        if !broken.is_empty() {
            return broken;
        }
        let message = "the output is longer than 16 MiB: `output` is its end";
        vec![Issue::warning(IssueCode::OutputTruncated, message)]
    }

    fn stderr_issues(self, spec: &Check) -> Vec<Issue> {
        let reads = |one: &Expression| takes_for_whole(one, spec, "stderr");
        let keys =
            [("guarantee", spec.guarantee.iter().any(reads)), ("fail_if", spec.fail_if.iter().any(reads))];
        cut_issues("standard error", "64 KiB", "stderr_truncated", &keys)
    }
}

fn cut_issues(what: &str, limit: &str, flag: &str, keys: &[(&str, bool)]) -> Vec<Issue> {
    let broken = keys.iter().filter(|(_, reads)| *reads).map(|(key, _)| {
        let message = format!(
            "the {what} is too long to be kept whole (the limit is {limit}), and `{key}` reads it: \
             print less, write an artifact, or say with `result.{flag}` what that means"
        );
        Issue::error(IssueCode::OutputTruncated, message)
    });
    broken.collect()
}

/// Whether an expression reads what the check has printed to a stream, and does not ask whether it is whole.
fn takes_for_whole(expression: &Expression, spec: &Check, stream: &str) -> bool {
    let flag = if stream == "stdout" { "truncated" } else { "stderr_truncated" };
    reads_printed(expression, spec, stream) && !names_member(expression, flag)
}

/// Whether an expression asks if the standard output was cut.
fn names_cut(expression: &Expression) -> bool {
    names_member(expression, "truncated")
}

/// Whether an expression names a member of the record.
fn names_member(expression: &Expression, member: &str) -> bool {
    let paths = &expression.reads().paths;
    paths.iter().any(
        |read| matches!(read.segments.as_slice(), [name, second, ..] if name == "result" && second == member),
    )
}

/// Whether an expression reads what the check has printed to a stream, and not only figures about it.
fn reads_printed(expression: &Expression, spec: &Check, stream: &str) -> bool {
    let reads = expression.reads();
    let named = |wanted: &str| reads.names.iter().filter(|read| read.name == wanted).count();
    let members = |wanted: &'static str| {
        reads.paths.iter().filter_map(move |read| match read.segments.as_slice() {
            [name, member, ..] if name == wanted => Some(member.as_str()),
            _ => None,
        })
    };
    let reads_beyond = |wanted: &'static str, is_harmless: &dyn Fn(&str) -> bool| {
        named(wanted) > members(wanted).filter(|member| is_harmless(member)).count()
    };
    if stream == "stderr" {
        return members("output").any(|member| member == "stderr")
            || reads_beyond("result", &|member| member != "stderr");
    }
    let is_harmless = |member: &str| is_kept_whole(member);
    let reads_own = reads.paths.iter().any(|read| match read.segments.as_slice() {
        [first, second, ..] => first.starts_with("outputs") && *second == spec.name,
        _ => false,
    });
    reads_own || reads_beyond("output", &is_harmless) || reads_beyond("result", &is_harmless)
}

/// Whether an expression reads the record of an attempt: `result`, beyond what Escrow notes in it, or a member that
/// `output` has from there.
fn reads_record(expression: &Expression, answer: &Answer) -> bool {
    let reads = expression.reads();
    let named = reads.names.iter().filter(|read| read.name == "result").count();
    let members = |wanted: &'static str| {
        reads.paths.iter().filter_map(move |read| match read.segments.as_slice() {
            [name, member, ..] if name == wanted => Some(member.as_str()),
            _ => None,
        })
    };
    let noted = members("result").filter(|member| NOTES.contains(member)).count();
    let is_own = |member: &str| answer.output.get(member).is_some();
    named > noted || members("output").any(|member| is_of_record(member) && !is_own(member))
}

fn reads_output(expression: &Expression, spec: &Check) -> bool {
    let reads = expression.reads();
    let own = |segments: &[String]| match segments {
        [first, second, ..] => first.starts_with("outputs") && *second == spec.name,
        _ => false,
    };
    reads.names.iter().any(|read| read.name == "output" || read.name == "result")
        || reads.paths.iter().any(|read| own(&read.segments))
}

/// What an attempt owes of the artifacts that its check names.
fn artifact_issues(delivery: Option<&Delivery>) -> Vec<Issue> {
    let Some(delivery) = delivery else { return Vec::new() };
    let required = delivery.missing_required.iter().map(|missing| {
        Issue::error(IssueCode::ArtifactMissing, format!("required artifact {}", missing.in_words()))
    });
    let optional = delivery.missing_optional.iter().map(|missing| {
        Issue::warning(IssueCode::ArtifactMissing, format!("optional artifact {}", missing.in_words()))
    });
    required.chain(optional).collect()
}

/// What `schema` says of an output.
fn shape_issues(spec: &Check, contract: &Contract, answer: &Answer) -> Option<Issue> {
    let broken = match (&spec.schema, &contract.schema) {
        (None, _) => return None,
        (Some(schema), _)
            if schema.is_object()
                && !admits_text(schema)
                && let Some(why) = broken_json(answer) =>
        {
            vec![why]
        }
        (Some(_), Some(Shape::Schema(schema))) => schema.violations(&answer.output),
        (Some(_), Some(Shape::Kind(kind))) => kind.violations(&answer.output),
        // A card without a kind says how the output is shown, and asks nothing of it.
        (Some(Value::String(_)), None) => return None,
        (Some(_), None) => vec!["the schema cannot be compiled".to_owned()],
    };
    if broken.is_empty() {
        return None;
    }
    let message = format!("{}{}", broken.join("; "), text_hint(answer));
    Some(Issue::error(IssueCode::SchemaValidationFailed, message))
}

/// What `rules` say of an output, an issue for each that is broken.
fn rule_issues(spec: &Check, contract: &Contract, answer: &Answer) -> Vec<Issue> {
    match &contract.rules {
        _ if spec.rules.is_empty() => Vec::new(),
        // Rules are about members, and many are kept where a member is missing.
        _ if let Some(why) = broken_json(answer) => vec![Issue::error(IssueCode::RuleFailed, why)],
        Some(rules) => rules
            .judge(&answer.output)
            .into_iter()
            .take(ISSUES_MAX)
            .map(|mut broken| {
                broken.message.push_str(text_hint(answer));
                Issue::rule(broken)
            })
            .collect(),
        None => vec![Issue::error(IssueCode::RuleFailed, "the rules cannot be compiled")],
    }
}

fn array_issue(answer: &Answer) -> Option<Issue> {
    match &answer.output {
        Value::Array(items) if items.len() > ITEMS_MAX => {
            let message =
                format!("{} items are more than the {ITEMS_MAX} that a `forEach` may have", items.len());
            Some(Issue::error(IssueCode::TooManyItems, message))
        }
        Value::Array(_) => None,
        _ => {
            let hint = text_hint(answer);
            let message = format!("the output of a `forEach` check must be an array{hint}");
            Some(Issue::error(IssueCode::NotAnArray, message))
        }
    }
}

/// Why output that looks like JSON is text.
fn broken_json(answer: &Answer) -> Option<String> {
    let why = not_json(answer.output.as_str()?)?;
    Some(format!("output looks like JSON and is not: {why}"))
}

/// Whether a schema says that it is about text.
fn admits_text(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(word)) => word == "string",
        Some(Value::Array(words)) => words.iter().any(|word| word == "string"),
        _ => false,
    }
}

/// Contracts are written for JSON; when a command printed something else, say so.
fn text_hint(answer: &Answer) -> &'static str {
    match &answer.output {
        Value::String(_) if answer.record.contains_key("repeated_key") => {
            " (output is text: as JSON it names a member twice)"
        }
        Value::String(_) => " (output is text, not JSON)",
        _ => "",
    }
}

/// Text has no members. A name that does not exist has nothing to do with that.
fn fault_hint(fault: &EvalError, answer: &Answer) -> &'static str {
    if fault.name() == "TypeError" { text_hint(answer) } else { "" }
}

/// The reason that a failed check gives a run: that of its first decisive issue.
pub(crate) fn failure_code(issues: &[Issue]) -> ReasonCode {
    let Some(decisive) = issues.iter().find(|issue| issue.severity == Severity::Error) else {
        return ReasonCode::FailedCheck;
    };
    reason_of(&decisive.code)
}

/// The reason of a run that fails by such an issue.
pub(crate) fn reason_of(code: &IssueCode) -> ReasonCode {
    match code {
        IssueCode::SchemaValidationFailed => ReasonCode::FailedSchema,
        IssueCode::RuleFailed => ReasonCode::FailedRule,
        IssueCode::GuaranteeFailed => ReasonCode::FailedGuarantee,
        IssueCode::OutcomeInvalid => ReasonCode::FailedOutcome,
        IssueCode::ArtifactMissing => ReasonCode::FailedMissingArtifact,
        IssueCode::ExpressionError | IssueCode::TemplateError => ReasonCode::FailedExpression,
        IssueCode::FailIf { .. } => ReasonCode::FailedFailIf,
        IssueCode::Fault { fault, .. } => fault_reason(fault),
        IssueCode::AssumeFailed
        | IssueCode::NoAnswer
        | IssueCode::NotAnArray
        | IssueCode::TooManyItems
        | IssueCode::ApprovalDenied
        | IssueCode::EffectAssumedFailed
        | IssueCode::EffectReconciledFailed
        | IssueCode::EffectKeyConflict
        | IssueCode::EffectOutputLost
        | IssueCode::UnknownTarget
        | IssueCode::RedactedValue
        | IssueCode::SecretRendered
        | IssueCode::OutputTruncated
        | IssueCode::LoopBudgetExceeded => ReasonCode::FailedCheck,
    }
}

fn fault_reason(fault: &FaultCode) -> ReasonCode {
    match fault {
        FaultCode::ExitNonzero => ReasonCode::FailedExit,
        FaultCode::Spawn | FaultCode::Exception => ReasonCode::FailedException,
        FaultCode::BudgetExhausted => ReasonCode::FailedBudget,
        // A reason travels unchanged from a nested run to the one around it.
        FaultCode::Nested(reason)
            if matches!(reason.status(), RunStatus::Failed | RunStatus::TimedOut | RunStatus::Cancelled) =>
        {
            *reason
        }
        FaultCode::Nested(_)
        | FaultCode::Signal
        | FaultCode::Timeout
        | FaultCode::Cancelled
        | FaultCode::Lost
        | FaultCode::Denied
        | FaultCode::OutputNotJson
        | FaultCode::UnexpectedSuccess
        | FaultCode::Own(_) => ReasonCode::FailedCheck,
    }
}
