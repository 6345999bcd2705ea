//! Counterfactuals: which value would have had to differ for a decision to be another one.

use escrow_expr::{Explanation, Part};
use escrow_model::{
    DeliveryStatus, Event, FaultCode, Issue, IssueCode, MissingArtifact, Problem, SkipReason,
};

use super::decisive;
use super::{Cause, Construct, Differ, JournalReader};

impl JournalReader<'_> {
    pub(super) fn differs(&self, index: usize, cause: &Cause) -> Vec<Differ> {
        let mut all: Vec<Differ> = cause
            .evaluations
            .iter()
            .filter(|evaluation| evaluation.decisive)
            .flat_map(|evaluation| {
                let wanted = !matches!(
                    evaluation.construct,
                    Construct::FailIf
                        | Construct::ReconcileDone
                        | Construct::ReconcileFailed
                        | Construct::ReconcileRetry
                );
                match evaluation.held {
                    Some(_) => differences(&evaluation.explanation, wanted),
                    None => vec![Differ::Sentence(format!(
                        "`{}` would have to be something that can be evaluated: {}",
                        evaluation.construct.as_str(),
                        evaluation.explanation.result
                    ))],
                }
            })
            .collect();
        let plan = &self.plan;
        let mut said: Vec<String> = Vec::new();
        if let Event::CheckJudged { check, issues, .. } = &self.entries[index].event
            && decisive(issues).is_some_and(|issue| issue.code == IssueCode::EffectOutputLost)
        {
            // That the effect was found is right; what is missing is its output.
            all.clear();
            let spec = self.find(check).map(|check| plan.check(check));
            if spec.is_some_and(|spec| spec.reconcile.is_some()) {
                said.push(format!(
                    "`reconcile` of `{check}` would have to give the output: `output: EXPRESSION`"
                ));
            }
        }
        match &self.entries[index].event {
            Event::CheckSkipped { check, reason, .. } => match reason {
                SkipReason::Event => {
                    let on = self.find(check).map(|check| plan.check(check).on.join("`, `"));
                    said.push(format!("the event would have to be one of `{}`", on.unwrap_or_default()));
                }
                SkipReason::Tags => said.push("`--tags` and `--exclude-tags` would have to let it in".into()),
                SkipReason::Only => said.push(format!("`--only` would have to name `{check}`")),
                SkipReason::SafeMode => said.push("the run would have to be without `--safe-mode`".into()),
                SkipReason::NotRouted => said.push(self.who_routes_to(check)),
                SkipReason::LoopBudget => {
                    said.push("the loop would have to end sooner, or `routing.max_loops` be higher".into());
                }
                SkipReason::IfCondition
                | SkipReason::Assume
                | SkipReason::DependencyFailed
                | SkipReason::ForEachEmpty
                | SkipReason::RunEnded => {}
                SkipReason::ContractBlocked => {
                    if let Some(Event::ArtifactChanged { artifact, .. }) = self.entry_before(index) {
                        let (id, gate) = (&artifact.id, &artifact.gate);
                        said.push(format!(
                            "`{id}` would have to be what `{gate}` verified; `escrow resume RUN --failed` runs `{gate}` \
                             again"
                        ));
                    }
                }
            },
            Event::CheckJudged { check, issues, .. } => {
                said.extend(decisive(issues).and_then(|issue| of_issue(check, issue)));
            }
            Event::ArtifactsVerified { delivery } if delivery.status == DeliveryStatus::Failed => {
                said.extend(delivery.missing_required.iter().map(of_artifact));
            }
            Event::LoopBudgetExceeded { .. } => {
                said.push("the loop would have to end sooner, or `routing.max_loops` be higher".into());
            }
            _ => {}
        }
        all.extend(said.into_iter().map(Differ::Sentence));
        all
    }

    fn who_routes_to(&self, check: &str) -> String {
        let plan = &self.plan;
        let target = self.find(check);
        let sources: Vec<String> = plan
            .checks
            .iter()
            .filter(|source| {
                source.routings().flat_map(|routing| routing.targets()).any(|to| Some(to) == target)
            })
            .map(|source| format!("`{}`", source.name))
            .collect();
        if sources.is_empty() {
            return format!("a check would have to route to `{check}`");
        }
        format!("{} would have to route to `{check}`", sources.join(" or "))
    }
}

/// What the file, or the files, would have to be. What was found instead follows.
fn of_artifact(missing: &MissingArtifact) -> String {
    let MissingArtifact { id, path, detail, .. } = missing;
    let wish = match missing.problem {
        Problem::Absent => format!("`{id}` would have to be delivered as `{path}`"),
        Problem::Empty => format!("`{id}` (`{path}`) would have to have content"),
        Problem::Stale => format!("`{id}` (`{path}`) would have to be written by this run"),
        Problem::TooSmall => format!("`{id}` (`{path}`) would have to be larger"),
        Problem::WrongType => format!("`{id}` (`{path}`) would have to be of another type"),
        Problem::Schema => format!("`{id}` (`{path}`) would have to match its schema"),
        Problem::Outside => format!("`{id}` (`{path}`) would have to be inside of the artifact directory"),
        Problem::Count => format!("`{id}` (`{path}`) would have to match another number of files"),
    };
    if detail.is_empty() { wish } else { format!("{wish}: {detail}") }
}

/// For what no expression decided.
fn of_issue(check: &str, issue: &Issue) -> Option<String> {
    Some(match &issue.code {
        IssueCode::Fault { fault: FaultCode::ExitNonzero, .. } => {
            format!("`{check}` would have to exit with 0")
        }
        IssueCode::Fault { fault: FaultCode::Timeout, .. } => {
            format!("`{check}` would have to end sooner, or its `timeout` be longer")
        }
        IssueCode::Fault { fault: FaultCode::Spawn, .. } => {
            format!("the program of `{check}` would have to start")
        }
        IssueCode::SchemaValidationFailed => {
            format!("the output of `{check}` would have to match its `schema`")
        }
        IssueCode::RuleFailed => match &issue.rule {
            Some(rule) => {
                format!(
                    "`{}` in the output of `{check}` would have to keep the rule `{}`",
                    rule.field, rule.rule_id
                )
            }
            None => format!("the output of `{check}` would have to keep its `rules`"),
        },
        IssueCode::OutcomeInvalid => {
            format!("the output of `{check}` would have to be what its `outcome` admits")
        }
        IssueCode::EffectKeyConflict => {
            format!("`effect_key` of `{check}` would have to name another effect, or its request be the same")
        }
        IssueCode::NotAnArray => format!("the output of `{check}` would have to be an array"),
        IssueCode::TemplateError => format!("every template of `{check}` would have to find its values"),
        IssueCode::Fault { .. }
        | IssueCode::FailIf { .. }
        | IssueCode::GuaranteeFailed
        | IssueCode::AssumeFailed
        | IssueCode::ArtifactMissing
        | IssueCode::ExpressionError
        | IssueCode::NoAnswer
        | IssueCode::TooManyItems
        | IssueCode::ApprovalDenied
        | IssueCode::EffectAssumedFailed
        | IssueCode::EffectReconciledFailed
        | IssueCode::EffectOutputLost
        | IssueCode::UnknownTarget
        | IssueCode::RedactedValue
        | IssueCode::SecretRendered
        | IssueCode::OutputTruncated
        | IssueCode::LoopBudgetExceeded => return None,
    })
}

/// What the parts of an expression would have to be for the whole to be `wanted`.
pub(super) fn differences(explanation: &Explanation, wanted: bool) -> Vec<Differ> {
    let source = explanation.source.as_str();
    match explanation.parts.as_slice() {
        // Of a condition in Jinja the parts are reads; one of them is the whole only if nothing is around it.
        [whole] if is_whole(source, whole) => part(source, whole, wanted),
        _ => vec![value(source.trim(), &explanation.result, wanted.to_string())],
    }
}

fn is_whole(source: &str, part: &Part) -> bool {
    let is_jinja = source.trim_start().starts_with("{{");
    let bare = source.trim().trim_start_matches('{').trim_end_matches('}').trim();
    !is_jinja || source.get(part.span.clone()).is_some_and(|text| text.trim() == bare)
}

fn value(what: &str, is: &str, wanted: impl Into<String>) -> Differ {
    Differ::Value { what: what.to_owned(), is: is.to_owned(), wanted: wanted.into() }
}

fn part(source: &str, whole: &Part, wanted: bool) -> Vec<Differ> {
    let text = source.get(whole.span.clone()).unwrap_or_default().trim();
    let Some(is) = &whole.value else { return Vec::new() };
    if let [inner] = whole.parts.as_slice()
        && is_negation(source, whole, inner)
    {
        return part(source, inner, !wanted);
    }
    match Shape::of(source, whole) {
        Some(Shape::All(sides)) if wanted => several(source, &sides, true, "; and "),
        Some(Shape::All(sides)) => several(source, &sides, false, "; or "),
        Some(Shape::Any(sides)) if wanted => several(source, &sides, true, "; or "),
        Some(Shape::Any(sides)) => several(source, &sides, false, "; and "),
        Some(Shape::Comparison { left, comparison, literal }) => {
            let shown = left.value.as_deref().unwrap_or("not evaluated");
            let wish = comparison.or_opposite(wanted).wish(&literal);
            vec![value(text_of(source, left), shown, wish)]
        }
        Some(Shape::Between { left, comparison, right }) => {
            let shown = |side: &Part| side.value.clone().unwrap_or_else(|| "not evaluated".into());
            let wish = comparison.or_opposite(wanted).wish(&format!("`{}`", text_of(source, right)));
            vec![Differ::Sentence(format!(
                "`{}` is {} and `{}` is {}; the first would have to be {wish}",
                text_of(source, left),
                shown(left),
                text_of(source, right),
                shown(right)
            ))]
        }
        None => vec![value(text, is, wish_for(is, wanted))],
    }
}

/// Whether nothing but `!` and brackets stands round the inner part.
fn is_negation(source: &str, whole: &Part, inner: &Part) -> bool {
    let before = source.get(whole.span.start..inner.span.start).unwrap_or_default();
    let after = source.get(inner.span.end..whole.span.end).unwrap_or_default();
    let bare = |c: char| c.is_whitespace() || c == '(' || c == ')';
    before.trim_matches(bare) == "!" && after.trim_matches(bare).is_empty()
}

/// Those sides that are not as wanted yet, in one sentence.
fn several(source: &str, sides: &[&Part], wanted: bool, word: &str) -> Vec<Differ> {
    let mut all: Vec<Differ> = sides
        .iter()
        .filter(|side| side.value.as_deref().is_some_and(|value| is_falsy(value) == wanted))
        .flat_map(|side| part(source, side, wanted))
        .collect();
    if all.len() > 1 {
        let all: Vec<String> = all.drain(..).map(|differ| differ.to_string()).collect();
        return vec![Differ::Sentence(all.join(word))];
    }
    all
}

fn text_of<'a>(source: &'a str, part: &Part) -> &'a str {
    source.get(part.span.clone()).unwrap_or_default().trim()
}

fn is_falsy(value: &str) -> bool {
    matches!(value, "false" | "0" | "-0" | "\"\"" | "null" | "undefined" | "NaN")
}

fn wish_for(value: &str, wanted: bool) -> &'static str {
    match (wanted, value) {
        (true, "undefined" | "null") => "there, and true",
        (true, "0" | "-0" | "NaN") => "another number than 0",
        (true, "\"\"") => "more than an empty text",
        (true, _) => "true",
        (false, "true") => "false",
        (false, _) => "false, empty, 0 or missing",
    }
}

/// What joins the parts of an expression.
enum Shape<'a> {
    All(Vec<&'a Part>),
    Any(Vec<&'a Part>),
    /// A part compared with something that is written out.
    Comparison {
        left: &'a Part,
        comparison: Comparison,
        literal: String,
    },
    Between {
        left: &'a Part,
        comparison: Comparison,
        right: &'a Part,
    },
}

impl<'a> Shape<'a> {
    fn of(source: &str, whole: &'a Part) -> Option<Shape<'a>> {
        let bare =
            |text: &str| text.trim_matches(|c: char| c.is_whitespace() || c == '(' || c == ')').to_owned();
        match whole.parts.as_slice() {
            [left, right] => {
                let between = bare(source.get(left.span.end..right.span.start)?);
                match between.as_str() {
                    "&&" => Some(Shape::All(vec![left, right])),
                    "||" => Some(Shape::Any(vec![left, right])),
                    other => {
                        Comparison::parse(other).map(|comparison| Shape::Between { left, comparison, right })
                    }
                }
            }
            [only] => {
                let before = bare(source.get(whole.span.start..only.span.start)?);
                let after = bare(source.get(only.span.end..whole.span.end)?);
                if before.is_empty() {
                    let (comparison, literal) = Comparison::leading(&after)?;
                    return Some(Shape::Comparison { left: only, comparison, literal: bare(literal) });
                }
                let (comparison, literal) = Comparison::trailing(&before)?;
                let comparison = comparison.flipped();
                after.is_empty().then(|| Shape::Comparison { left: only, comparison, literal: bare(literal) })
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Comparison {
    /// Longer ones first, so that `<=` is not read as `<`.
    const ALL: [(&'static str, Comparison); 8] = [
        ("===", Comparison::Equal),
        ("!==", Comparison::Unequal),
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Less),
        (">", Comparison::More),
    ];

    fn parse(text: &str) -> Option<Comparison> {
        Comparison::ALL.iter().find(|(sign, _)| *sign == text).map(|(_, comparison)| *comparison)
    }

    fn leading(text: &str) -> Option<(Comparison, &str)> {
        Comparison::ALL.iter().find_map(|(sign, one)| Some((*one, text.strip_prefix(sign)?)))
    }

    fn trailing(text: &str) -> Option<(Comparison, &str)> {
        Comparison::ALL.iter().find_map(|(sign, one)| Some((*one, text.strip_suffix(sign)?)))
    }

    /// With its sides exchanged.
    fn flipped(self) -> Comparison {
        match self {
            Comparison::Equal | Comparison::Unequal => self,
            Comparison::Less => Comparison::More,
            Comparison::More => Comparison::Less,
            Comparison::AtMost => Comparison::AtLeast,
            Comparison::AtLeast => Comparison::AtMost,
        }
    }

    fn or_opposite(self, wanted: bool) -> Comparison {
        if wanted {
            return self;
        }
        match self {
            Comparison::Equal => Comparison::Unequal,
            Comparison::Unequal => Comparison::Equal,
            Comparison::Less => Comparison::AtLeast,
            Comparison::AtLeast => Comparison::Less,
            Comparison::More => Comparison::AtMost,
            Comparison::AtMost => Comparison::More,
        }
    }

    fn wish(self, other: &str) -> String {
        match self {
            Comparison::Equal => other.to_owned(),
            Comparison::Unequal => format!("other than {other}"),
            Comparison::Less => format!("less than {other}"),
            Comparison::AtMost => format!("at most {other}"),
            Comparison::More => format!("more than {other}"),
            Comparison::AtLeast => format!("at least {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrow_expr::{Budget, Program, Scope, ScopeValue};
    use serde_json::{Value, json};

    struct Names(Value);

    impl Scope for Names {
        fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
            self.0.get(name).map(ScopeValue::Json)
        }

        fn names(&self) -> Vec<&str> {
            self.0.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
        }
    }

    /// What would have to differ for the expression to be `wanted`.
    fn check(source: &str, wanted: bool, says: &str) {
        let names = Names(json!({
            "output": { "ok": false, "n": 3, "findings": [1, 2], "name": "x" },
            "inputs": { "n": 4 },
            "item": null,
        }));
        let budget = Budget { steps: 10_000, memory_bytes: 1 << 20, depth: Budget::DEPTH_MAX };
        let (_, explanation) = Program::expression(source).expect("it parses").explain(&names, budget);
        let all: Vec<String> = differences(&explanation, wanted).iter().map(Differ::to_string).collect();
        assert_eq!(all.join(" | "), says, "{source}");
    }

    #[test]
    fn what_would_have_to_differ_is_named_with_its_value() {
        check("output.ok", true, "`output.ok` is false; it would have to be true");
        check("output.n === 4", true, "`output.n` is 3; it would have to be 4");
        check(
            "output.findings.length > 0",
            false,
            "`output.findings.length` is 2; it would have to be at most 0",
        );
        check("4 <= output.n", true, "`output.n` is 3; it would have to be at least 4");
        check("!(output.n > 2)", true, "`output.n` is 3; it would have to be at most 2");
        check("item", true, "`item` is null; it would have to be there, and true");
        check("false", true, "`false` is false; it would have to be true");
    }

    #[test]
    fn only_the_sides_that_stand_in_the_way_are_named() {
        check("output.n === 3 && output.ok", true, "`output.ok` is false; it would have to be true");
        check(
            "output.ok || output.n > 5",
            true,
            "`output.ok` is false; it would have to be true; or `output.n` is 3; it would have to be more than 5",
        );
        check(
            "output.n === inputs.n",
            true,
            "`output.n` is 3 and `inputs.n` is 4; the first would have to be `inputs.n`",
        );
        check(
            "typeof output.name === 'number'",
            true,
            "`typeof output.name` is \"string\"; it would have to be 'number'",
        );
    }
}
