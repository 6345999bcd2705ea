//! Checks that every name in an expression or template exists when it is evaluated.

use std::collections::BTreeMap;
use std::ops::Range;

use escrow_model::{EXPRESSION_NAMES, EXPRESSION_NAMES_AFTER, Plan, Safety};
use escrow_template::PathStep;

use super::graph::Graph;
use super::reachability::Reachability;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};
use crate::source::{Mention, Stage, Use};
use crate::suggest::did_you_mean;
use crate::yaml::span_within;

/// The names that are known when a run starts.
const NAMES_AT_START: &[&str] =
    &["event", "env", "inputs", "filesChanged", "filesCount", "branch", "baseBranch"];

/// The names that the sources of a chain can read. The providers read the event by their own defaults.
pub(crate) const NAMES_OF_CHAINS: &[&str] = &["trigger", "steps", "env", "event"];

/// What later steps can read of a step.
const MEMBERS_OF_STEPS: &[&str] = &[
    "index",
    "name",
    "skill",
    "action",
    "status",
    "skip_reason",
    "timed_out",
    "reason",
    "outcome",
    "output",
    "run_id",
];

/// The names that the `if` of an expected artifact cannot read, because no check evaluates it.
const NAMES_OF_CHECKS: &[&str] = &["checkName", "attempt", "output", "result"];

/// Names of other engines, with their replacements.
pub(crate) const FOREIGN_NAMES: &[(&str, &str)] = &[
    ("files", "read `filesChanged`"),
    ("fileCount", "read `filesCount`"),
    ("pr", "read `event`"),
    ("github", "read `event`"),
    ("error", "read `result`, the record of the attempt"),
    ("stdout", "read `output`"),
    ("stderr", "read `output.stderr`"),
    ("exitCode", "read `output.exitCode`"),
    ("exit_code", "read `output.exit_code`"),
    ("issues", "read `result`, or state the condition over `output`"),
    ("metadata", "read `checkName`, `event`, `branch`"),
    ("step", "read `checkName`"),
    ("steps", "read `outputs`"),
    ("needs", "read `outputs`"),
    ("args", "read `inputs`"),
    ("params", "read `inputs`"),
    ("vars", "read `inputs` or `env`"),
    ("secrets", "expressions cannot read secrets; a command with `secrets: [NAME]` reads it as `$NAME`"),
    ("process", "read `env`"),
    ("trigger", "read `event`"),
    ("loop", "read `item`"),
    (
        "Date",
        "expressions are deterministic, so that a replay decides the same; let a check print the time, and read its output",
    ),
    ("console", "call `log(…)`"),
    ("fetch", "expressions cannot call servers; let a check call it, and read its output"),
    (
        "require",
        "expressions cannot load modules; run the program in a check of `type: command`, and read its output",
    ),
];

/// Objects with one member per check.
const BY_CHECK: &[&str] = &["outputs", "outputs_history", "outputs_raw"];

/// The plan so far, as the context of validation.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) plan: &'a Plan,
    pub(super) drafts: &'a [Draft],
    pub(super) graph: &'a Graph,
    /// Whether fans are resolved. They are not when dependencies have a cycle.
    pub(super) fans: bool,
}

pub(super) fn check(known: &Known<'_>, uses: &[Use], text: &str, found: &mut Diagnostics) {
    let Known { plan, drafts, graph, fans } = *known;
    let indices: BTreeMap<&str, usize> =
        drafts.iter().enumerate().map(|(index, draft)| (draft.check.name.as_str(), index)).collect();
    let mut validator =
        ScopeValidator { plan, drafts, graph, fans, indices, reachability: None, text, found };
    for used in uses {
        validator.constant(used);
        for mention in &used.mentions {
            validator.mention(used, mention);
        }
    }
}

struct ScopeValidator<'a> {
    plan: &'a Plan,
    drafts: &'a [Draft],
    graph: &'a Graph,
    fans: bool,
    indices: BTreeMap<&'a str, usize>,
    /// Reachability by dependents and routes, computed on first use.
    reachability: Option<Reachability>,
    text: &'a str,
    found: &'a mut Diagnostics,
}

impl ScopeValidator<'_> {
    fn mention(&mut self, used: &Use, mention: &Mention) {
        let Some(name) = mention.path.first().map(String::as_str) else { return };
        if self.plan.kind.chain().is_some() {
            return self.chain_mention(used, mention, name);
        }
        let span = span_within(self.text, &used.node, &mention.span);
        let start = mention.span.start;
        let name_span = span_within(self.text, &used.node, &(start..start + name.len()));
        if used.is_artifact_condition() && NAMES_OF_CHECKS.contains(&name) {
            self.not_a_check(used, name, name_span);
        } else if EXPRESSION_NAMES_AFTER.contains(&name) {
            match used.stage {
                Stage::RunStart => self.before_checks(used, name, name_span),
                Stage::BeforeProvider => self.too_early(used, name, name_span),
                Stage::AfterProvider => {}
            }
        } else if used.stage == Stage::RunStart
            && EXPRESSION_NAMES.contains(&name)
            && !NAMES_AT_START.contains(&name)
        {
            self.before_checks(used, name, name_span);
        } else if name == "item" {
            self.item(used, name_span);
        } else if !EXPRESSION_NAMES.contains(&name) {
            if !mention.guarded {
                self.unknown(used, name, name_span);
            }
        } else if let Some(member) = mention.path.get(1) {
            self.member(used, name, member, span);
        }
    }

    fn chain_mention(&mut self, used: &Use, mention: &Mention, name: &str) {
        let start = mention.span.start;
        let name_span = span_within(self.text, &used.node, &(start..start + name.len()));
        if !NAMES_OF_CHAINS.contains(&name) {
            let help = match name {
                "outputs" | "inputs" => Some(format!("read `steps` or `trigger` instead of `{name}`")),
                _ => did_you_mean(name, NAMES_OF_CHAINS.iter().copied()),
            };
            let all = || {
                let all: Vec<String> = NAMES_OF_CHAINS.iter().map(|name| format!("`{name}`")).collect();
                format!("the names are {}", all.join(", "))
            };
            self.found.push(
                Problem::new("E0114", name_span, format!("`{}` reads an unknown name", used.key))
                    .label(format!("no name `{name}`"))
                    .help(help.unwrap_or_else(all)),
            );
        } else if name == "steps" && used.stage == Stage::RunStart {
            self.before_checks(used, name, name_span);
        } else if name == "steps" {
            self.step_mention(used, mention);
        }
    }

    /// A step that is read must exist and come earlier, and be asked for what a step has.
    fn step_mention(&mut self, used: &Use, mention: &Mention) {
        let span = span_within(self.text, &used.node, &mention.span);
        let names = || {
            let named = self.drafts.iter().filter_map(|draft| draft.check.step.as_ref()?.name.as_deref());
            let mut named = named.collect::<Vec<_>>();
            named.dedup();
            named
        };
        let count = self.drafts.len();
        let wrong = |message: String, label: &str, help: String| {
            Problem::new("E0191", span.clone(), message).label(label).help(help)
        };
        let (found, written) = match mention.steps.first() {
            None => return,
            Some(PathStep::Item(index)) => (Some(*index).filter(|index| *index < count), index.to_string()),
            Some(PathStep::Member(name)) => {
                let is_it = |draft: &Draft| {
                    draft.check.step.as_ref().and_then(|step| step.name.as_deref()) == Some(name)
                };
                (self.drafts.iter().position(is_it), name.clone())
            }
        };
        let problem = match (found, used.check) {
            (None, _) => {
                let help = did_you_mean(&written, names()).unwrap_or_else(|| match names().as_slice() {
                    [] => {
                        format!("the steps are 0 to {}; give a step a `name` to read it by name", count - 1)
                    }
                    names => format!("the steps are 0 to {}, and by name {}", count - 1, names.join(", ")),
                });
                Some(wrong(format!("no step is called `{written}`"), "unknown step", help))
            }
            (Some(index), Some(own)) if index >= own => {
                let help = "a step reads those that come before it".to_owned();
                Some(wrong(format!("step {own} reads step {index}"), "it has not run then", help))
            }
            (Some(_), _) => match mention.steps.get(1) {
                Some(PathStep::Member(member)) if !MEMBERS_OF_STEPS.contains(&member.as_str()) => {
                    let known = MEMBERS_OF_STEPS.iter().copied();
                    let help = did_you_mean(member, known.clone()).unwrap_or_else(|| {
                        format!(
                            "a step has {}",
                            known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                        )
                    });
                    Some(wrong(format!("a step has no `{member}`"), "unknown member", help))
                }
                Some(_) | None => None,
            },
        };
        if let Some(problem) = problem {
            self.found.push(problem);
        }
    }

    fn unknown(&mut self, used: &Use, name: &str, span: Range<usize>) {
        let after = if used.stage == Stage::AfterProvider { EXPRESSION_NAMES_AFTER } else { &[] };
        let known = EXPRESSION_NAMES.iter().chain(after).copied().chain(escrow_expr::helper_names());
        let help = FOREIGN_NAMES
            .iter()
            .find(|(foreign, _)| *foreign == name)
            .map(|(_, help)| (*help).to_owned())
            .or_else(|| did_you_mean(name, known))
            .or_else(|| {
                self.indices
                    .contains_key(name)
                    .then(|| format!("read the output of the check as `outputs.{name}`"))
            })
            .unwrap_or_else(|| {
                let all: Vec<String> =
                    EXPRESSION_NAMES.iter().chain(after).map(|name| format!("`{name}`")).collect();
                format!("the names are {}", all.join(", "))
            });
        self.found.push(
            Problem::new("E0114", span, format!("`{}` reads an unknown name", used.key))
                .label(format!("no name `{name}`"))
                .help(help),
        );
    }

    fn not_a_check(&mut self, used: &Use, name: &str, span: Range<usize>) {
        self.found.push(
            Problem::new("E0114", span, format!("`{}` of an artifact reads `{name}`", used.key))
                .label("evaluated at the end of the run, not in a check")
                .help("read `outputs.<check>`, `inputs`, `event`, `env` or `filesChanged`"),
        );
    }

    fn too_early(&mut self, used: &Use, name: &str, span: Range<usize>) {
        let help = match used.key.as_str() {
            "assume" | "if" => {
                format!(
                    "test the output in `guarantee`; `{}` can read `outputs.<check>` of a dependency",
                    used.key
                )
            }
            _ => "read `outputs.<check>` of a dependency".to_owned(),
        };
        self.found.push(
            Problem::new("E0116", span, format!("`{}` reads `{name}` before the provider has run", used.key))
                .label("evaluated before the provider runs")
                .help(help),
        );
    }

    fn before_checks(&mut self, used: &Use, name: &str, span: Range<usize>) {
        let known = if self.plan.kind.chain().is_some() { &["trigger", "env"] } else { NAMES_AT_START };
        let all: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        self.found.push(
            Problem::new("E0116", span, format!("`{}` reads `{name}` before any check has run", used.key))
                .label("rendered when the run starts")
                .help(format!("the names that are known then are {}", all.join(", "))),
        );
    }

    fn item(&mut self, used: &Use, span: Range<usize>) {
        if !self.fans || used.check.is_some_and(|index| !self.drafts[index].check.fan.is_empty()) {
            return;
        }
        let label = match used.check {
            Some(index) => format!("`{}` runs once, not for each item", self.drafts[index].check.name),
            None => "keys of the file are evaluated once".to_owned(),
        };
        self.found.push(
            Problem::new("E0117", span, format!("`{}` reads `item` outside a fan-out", used.key))
                .label(label)
                .help("a check runs for each item when it directly depends on a check with `forEach: true`, or has `fanout: map`"),
        );
    }

    fn member(&mut self, used: &Use, name: &str, member: &str, span: Range<usize>) {
        if BY_CHECK.contains(&name) {
            match self.indices.get(member).copied() {
                None => self.no_such_output(name, member, span),
                Some(index) => self.check_order(used, name, index, span),
            }
        } else if name == "inputs" && !self.plan.inputs.contains_key(member) {
            let help = did_you_mean(member, self.plan.inputs.keys().map(String::as_str))
                .unwrap_or_else(|| format!("declare it: `inputs: {{ {member}: {{ type: string }} }}`"));
            self.found.push(
                Problem::new("E0146", span, format!("undeclared input `{member}`"))
                    .label("the inputs of a playbook are those that it declares")
                    .help(help),
            );
        }
    }

    fn no_such_output(&mut self, name: &str, member: &str, span: Range<usize>) {
        let help = match (name, member) {
            ("outputs", "history") => Some("write `outputs_history`".to_owned()),
            _ if self.found.is_full_of_warnings() => None,
            _ if let Some(whole) = self.name_cut_at_minus(member) => {
                Some(format!("`-` means minus here; write `{name}['{whole}']`"))
            }
            _ => did_you_mean(member, self.drafts.iter().map(|draft| draft.check.name.as_str())),
        };
        self.found.push(
            Problem::new("W0209", span, format!("unknown check `{member}`"))
                .label("always undefined")
                .maybe_help(help)
                .error_if(self.plan.safety == Safety::Strict),
        );
    }

    /// The check whose name the parser cut at its first `-`: `outputs.my-check` means `outputs.my` minus `check`.
    fn name_cut_at_minus(&self, member: &str) -> Option<&str> {
        let mut names = self.drafts.iter().map(|draft| draft.check.name.as_str());
        names.find(|name| name.split('-').next() == Some(member))
    }

    /// Reports reading the output of a check that has no order relative to this one.
    fn check_order(&mut self, used: &Use, name: &str, other: usize, span: Range<usize>) {
        let Some(index) = used.check else { return };
        if index == other || self.is_related(index, other) {
            return;
        }
        let other = &self.drafts[other].check.name;
        self.found.push(
            Problem::new(
                "W0212",
                span,
                format!("`{}` does not wait for `{other}`", self.drafts[index].check.name),
            )
            .label(format!("`{name}` may or may not contain it"))
            .help(format!("add `{other}` to `depends_on`")),
        );
    }

    fn is_related(&mut self, index: usize, other: usize) -> bool {
        // A route computed at run time can lead anywhere.
        if self.graph.dynamic {
            return true;
        }
        let graph = self.graph;
        let reachability = self.reachability.get_or_insert_with(|| {
            Reachability::of(graph.count(), |at| {
                graph.dependents[at].iter().copied().chain(graph.targets(at)).collect()
            })
        });
        reachability.reaches(index, other) || reachability.reaches(other, index)
    }

    /// Reports a condition with a constant value: a mistake, or a check that was switched off.
    fn constant(&mut self, used: &Use) {
        let Some(value) = used.constant else { return };
        let of_check = used.check.map(|index| format!(" of `{}`", self.drafts[index].check.name));
        // `when: "true"` means "otherwise".
        if used.key == "when" && value {
            return;
        }
        let label = match (used.key.as_str(), value) {
            ("if", false) if used.is_artifact_condition() => "the artifact is never expected",
            ("if" | "assume", false) => "the check never runs",
            ("if" | "assume" | "guarantee", true) | ("fail_if" | "when", false) => "no effect",
            ("guarantee", false) | ("fail_if", true) => "the check always fails",
            _ => "reads nothing that can change",
        };
        self.found.push(
            Problem::new(
                "W0205",
                used.node.span.clone(),
                format!("`{}`{} is always {value}", used.key, of_check.unwrap_or_default()),
            )
            .label(label),
        );
    }
}
