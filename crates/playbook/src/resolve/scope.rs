//! Whether every name that a source reads is there when it is read.

use std::collections::BTreeMap;
use std::ops::Range;

use escrow_model::Plan;

use super::graph::Graph;
use super::reach::Reach;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};
use crate::source::{Mention, Stage, Use};
use crate::suggest::did_you_mean;
use crate::yaml::place_within;

/// What every source may read.
const NAMES: &[&str] = &[
    "event",
    "env",
    "inputs",
    "outputs",
    "outputs_history",
    "outputs_raw",
    "memory",
    "filesChanged",
    "filesCount",
    "branch",
    "baseBranch",
    "checkName",
    "attempt",
    "item",
];

/// What only sources behind the provider may read.
const NAMES_AFTER: &[&str] = &["output", "result"];

/// Names of other engines, with what to read instead.
const FOREIGN_NAMES: &[(&str, &str)] = &[
    ("files", "read `filesChanged`"),
    ("fileCount", "read `filesCount`"),
    ("pr", "read `event`"),
    ("github", "read `event`"),
    ("error", "read `result`, which is the whole record of the attempt"),
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
    ("secrets", "no expression sees a secret; a command that has `secrets: [NAME]` reads it as `$NAME`"),
    ("process", "read `env`"),
    ("trigger", "read `event`"),
    ("loop", "read `item`"),
    (
        "Date",
        "expressions have no clock, so that a replay decides the same; let a check print the time, and read its output",
    ),
    ("console", "call `log(…)`"),
    ("fetch", "call it in a check of `type: http`, and read its output"),
    (
        "require",
        "expressions load nothing; run the program in a check of `type: command`, and read its output",
    ),
];

/// Objects whose members are checks.
const BY_CHECK: &[&str] = &["outputs", "outputs_history", "outputs_raw"];

/// What there is to read.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) plan: &'a Plan,
    pub(super) drafts: &'a [Draft],
    pub(super) graph: &'a Graph,
    /// Fans are resolved; they are not when dependencies go in a circle.
    pub(super) fans: bool,
}

pub(super) fn check(known: &Known<'_>, uses: &[Use], text: &str, found: &mut Diagnostics) {
    let Known { plan, drafts, graph, fans } = *known;
    let places: BTreeMap<&str, usize> =
        drafts.iter().enumerate().map(|(place, draft)| (draft.check.name.as_str(), place)).collect();
    let mut judge = Judge { plan, drafts, graph, fans, places, ways: None, text, found };
    for used in uses {
        judge.constant(used);
        for mention in &used.mentions {
            judge.mention(used, mention);
        }
    }
}

struct Judge<'a> {
    plan: &'a Plan,
    drafts: &'a [Draft],
    graph: &'a Graph,
    fans: bool,
    places: BTreeMap<&'a str, usize>,
    /// Who runs because of whom; looked at only when it matters.
    ways: Option<Reach>,
    text: &'a str,
    found: &'a mut Diagnostics,
}

impl Judge<'_> {
    fn mention(&mut self, used: &Use, mention: &Mention) {
        let Some(name) = mention.path.first().map(String::as_str) else { return };
        let span = place_within(self.text, &used.node, &mention.span);
        let start = mention.span.start;
        let name_span = place_within(self.text, &used.node, &(start..start + name.len()));
        if NAMES_AFTER.contains(&name) {
            if used.stage == Stage::Before {
                self.too_early(used, name, name_span);
            }
        } else if name == "item" {
            self.item(used, name_span);
        } else if !NAMES.contains(&name) {
            if !mention.guarded {
                self.unknown(used, name, name_span);
            }
        } else if let Some(member) = mention.path.get(1) {
            self.member(used, name, member, span);
        }
    }

    fn unknown(&mut self, used: &Use, name: &str, span: Range<usize>) {
        let after = if used.stage == Stage::After { NAMES_AFTER } else { &[] };
        let known = NAMES.iter().chain(after).copied().chain(escrow_expr::helper_names());
        let help = FOREIGN_NAMES
            .iter()
            .find(|(foreign, _)| *foreign == name)
            .map(|(_, help)| (*help).to_owned())
            .or_else(|| did_you_mean(name, known))
            .or_else(|| {
                self.places.contains_key(name).then(|| format!("the output of the check is `outputs.{name}`"))
            })
            .unwrap_or_else(|| {
                let all: Vec<String> = NAMES.iter().chain(after).map(|name| format!("`{name}`")).collect();
                format!("there are {}", all.join(", "))
            });
        self.found.push(
            Problem::new("E0114", span, format!("`{}` reads a name that does not exist", used.key))
                .label(format!("nothing is called `{name}`"))
                .help(help),
        );
    }

    fn too_early(&mut self, used: &Use, name: &str, span: Range<usize>) {
        let help = match used.key.as_str() {
            "assume" | "if" => {
                format!(
                    "say what the output must be in `guarantee`; `{}` may read `outputs.<check>` of a dependency",
                    used.key
                )
            }
            _ => "read `outputs.<check>` of a dependency".to_owned(),
        };
        self.found.push(
            Problem::new("E0116", span, format!("`{}` reads `{name}` before there is one", used.key))
                .label("it is evaluated before the provider runs")
                .help(help),
        );
    }

    fn item(&mut self, used: &Use, span: Range<usize>) {
        if !self.fans || used.check.is_some_and(|place| !self.drafts[place].check.fan.is_empty()) {
            return;
        }
        let label = match used.check {
            Some(place) => format!("`{}` runs once, not for each item", self.drafts[place].check.name),
            None => "the file's own values belong to no item".to_owned(),
        };
        self.found.push(
            Problem::new("E0117", span, format!("`{}` reads `item` where there is none", used.key))
                .label(label)
                .help("a check runs for each item when it directly depends on a check with `forEach: true`, or has `fanout: map`"),
        );
    }

    fn member(&mut self, used: &Use, name: &str, member: &str, span: Range<usize>) {
        if BY_CHECK.contains(&name) {
            match self.places.get(member).copied() {
                None => self.no_such_output(name, member, span),
                Some(place) => self.unrelated(used, name, place, span),
            }
        } else if name == "inputs" && !self.plan.inputs.contains_key(member) {
            let help = did_you_mean(member, self.plan.inputs.keys().map(String::as_str))
                .unwrap_or_else(|| format!("declare it: `inputs: {{ {member}: {{ type: string }} }}`"));
            self.found.push(
                Problem::new("W0210", span, format!("no input is called `{member}`"))
                    .label("it is always undefined")
                    .help(help),
            );
        }
    }

    fn no_such_output(&mut self, name: &str, member: &str, span: Range<usize>) {
        let help = match (name, member) {
            ("outputs", "history") => Some("write `outputs_history`".to_owned()),
            _ if self.found.is_full_of_warnings() => None,
            _ if let Some(whole) = self.cut_at_minus(member) => {
                Some(format!("`-` is a minus here: write `{name}['{whole}']`"))
            }
            _ => did_you_mean(member, self.drafts.iter().map(|draft| draft.check.name.as_str())),
        };
        self.found.push(
            Problem::new("W0209", span, format!("no check is called `{member}`"))
                .label("it is always undefined")
                .maybe_help(help),
        );
    }

    /// The check whose name the language cuts at its first `-`: `outputs.my-check` is `outputs.my` minus `check`.
    fn cut_at_minus(&self, member: &str) -> Option<&str> {
        let mut names = self.drafts.iter().map(|draft| draft.check.name.as_str());
        names.find(|name| name.split('-').next() == Some(member))
    }

    /// Reading a check that runs whenever it likes gives one answer today and another tomorrow.
    fn unrelated(&mut self, used: &Use, name: &str, other: usize, span: Range<usize>) {
        let Some(place) = used.check else { return };
        if place == other || self.is_related(place, other) {
            return;
        }
        let other = &self.drafts[other].check.name;
        self.found.push(
            Problem::new(
                "W0212",
                span,
                format!("`{}` does not wait for `{other}`", self.drafts[place].check.name),
            )
            .label(format!("whether `{name}` has it is a matter of luck"))
            .help(format!("add `{other}` to `depends_on`")),
        );
    }

    fn is_related(&mut self, place: usize, other: usize) -> bool {
        // What may be routed to at run time may stand anywhere.
        if self.graph.dynamic {
            return true;
        }
        let graph = self.graph;
        let ways = self.ways.get_or_insert_with(|| {
            Reach::of(graph.count(), |at| {
                graph.dependents[at].iter().copied().chain(graph.targets(at)).collect()
            })
        });
        ways.leads(place, other) || ways.leads(other, place)
    }

    /// A condition whose answer is known before the run is a slip, or a check that someone switched off.
    fn constant(&mut self, used: &Use) {
        let Some(value) = used.constant else { return };
        let name = used.check.map(|place| self.drafts[place].check.name.as_str()).unwrap_or_default();
        // `when: "true"` is how one writes "otherwise".
        if used.key == "when" && value {
            return;
        }
        let label = match (used.key.as_str(), value) {
            ("if" | "assume", false) => "the check never runs",
            ("if" | "assume" | "guarantee", true) | ("fail_if" | "when", false) => "it has no effect",
            ("guarantee", false) | ("fail_if", true) => "the check always fails",
            _ => "it reads nothing that could change",
        };
        self.found.push(
            Problem::new(
                "W0205",
                used.node.span.clone(),
                format!("`{}` of `{name}` is always {value}", used.key),
            )
            .label(label),
        );
    }
}
