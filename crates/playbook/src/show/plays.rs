//! Turns the plays of a show into checks, in the form of entries under `checks`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use escrow_model::Play;

use crate::ReferenceResolver;
use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::{Entry, Node};

/// The input by which a play learns why its gate stayed closed.
const FEEDBACK: &str = "feedback";

pub(super) fn checks(
    plays: &[Entry],
    references: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) -> Vec<Entry> {
    let drafts: Vec<DraftPlay<'_>> = plays.iter().filter_map(|entry| DraftPlay::of(entry, found)).collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut checks = Vec::new();
    for draft in &drafts {
        for check in draft.checks(&drafts, references, found) {
            if !taken.insert(check.key.clone()) {
                let message = format!("the name `{}` is taken", check.key);
                found.push(
                    Problem::new("E0110", check.key_span.clone(), message)
                        .label("a check of another play has this name")
                        .help(format!("rename the play `{}`", draft.name())),
                );
                continue;
            }
            checks.push(check);
        }
    }
    checks
}

struct DraftPlay<'a> {
    entry: &'a Entry,
    /// The playbook that decides whether its work counts, and its inputs.
    gate: Option<(&'a Rc<Node>, Option<&'a Rc<Node>>)>,
    has_worktree: bool,
}

impl<'a> DraftPlay<'a> {
    fn of(entry: &'a Entry, found: &mut Diagnostics) -> Option<DraftPlay<'a>> {
        let node = &entry.value;
        node.get("playbook")?.scalar_text()?;
        let gate = match node.get("gate") {
            None => None,
            Some(gate) if gate.scalar_text().is_some() => Some((gate, None)),
            Some(gate) => {
                match gate.get("playbook").filter(|name| name.scalar_text().is_some()) {
                    Some(name) => Some((name, gate.get("with"))),
                    None => {
                        found.push(
                        Problem::new("E0105", gate.span.clone(), "a gate is the name of a playbook")
                            .label(format!("this is {}", gate.describe()))
                            .help("write `gate: accept.yaml`, or `gate: { playbook: accept.yaml, with: {…} }`"),
                    );
                        return None;
                    }
                }
            }
        };
        // The name is part of a branch and of a path.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if entry.key.starts_with('-') || !entry.key.chars().all(is_plain) {
            found.push(
                Problem::new("E0124", entry.key_span.clone(), format!("`{}` cannot name a play", entry.key))
                    .label("letters, digits, `_` and `-` only, beginning with a letter or a digit")
                    .help("rename the play"),
            );
            return None;
        }
        let has_worktree = node.get("worktree").and_then(|flag| flag.bool()).unwrap_or(false);
        Some(DraftPlay { entry, gate, has_worktree })
    }

    fn name(&self) -> &str {
        &self.entry.key
    }

    fn part(&self, part: Play) -> String {
        part.check_of(self.name())
    }

    /// What a play that depends on this one waits for.
    fn end(&self) -> String {
        if self.has_worktree { self.part(Play::Merge) } else { self.accepted() }
    }

    fn accepted(&self) -> String {
        match self.gate {
            Some(_) => format!("{}|{}", self.part(Play::Passed), self.part(Play::Approval)),
            None => self.name().to_owned(),
        }
    }

    fn checks(
        &self,
        all: &[DraftPlay<'_>],
        references: &dyn ReferenceResolver,
        found: &mut Diagnostics,
    ) -> Vec<Entry> {
        let at = Writer { span: self.entry.key_span.clone() };
        let mut needs: Vec<Rc<Node>> = Vec::new();
        for need in texts(self.entry.value.get("depends_on")) {
            let name = need.scalar_text().unwrap_or_default();
            let end = all
                .iter()
                .find(|play| play.name() == name)
                .map_or_else(|| name.to_owned(), |play| play.end());
            needs.push(Rc::new(Node::text_at(need.span.clone(), end)));
        }
        let mut checks = Vec::new();
        if self.has_worktree {
            checks.push(self.worktree(&at, std::mem::take(&mut needs)));
            needs.push(at.text(&self.part(Play::Worktree)));
        }
        checks.push(self.play(&at, needs, references, found));
        if let Some((gate, with)) = self.gate {
            checks.extend(self.gate(&at, gate, with));
        }
        if self.has_worktree {
            checks.push(self.merge(&at));
        }
        checks
    }

    fn play(
        &self,
        at: &Writer,
        needs: Vec<Rc<Node>>,
        references: &dyn ReferenceResolver,
        found: &mut Diagnostics,
    ) -> Entry {
        let node = &self.entry.value;
        let playbook = node.entry("playbook").expect("a play without one is left out");
        let mut entries = vec![at.entry("type", at.text("playbook")), playbook.clone()];
        let mut with: Vec<Entry> = node.get("with").and_then(|with| with.map()).unwrap_or_default().to_vec();
        if self.gate.is_some() {
            let name = playbook.value.scalar_text().unwrap_or_default();
            match references.nested_inputs(name) {
                Some(inputs) if !inputs.contains_key(FEEDBACK) => {
                    let message = format!("`{name}` does not learn why its gate stays closed");
                    found.push(
                        Problem::new("W0214", playbook.value.span.clone(), message)
                            .label(format!("no input `{FEEDBACK}`"))
                            .help("declare `inputs: { feedback: { default: '' } }` and use it"),
                    );
                }
                Some(_) | None if !with.iter().any(|entry| entry.key == FEEDBACK) => {
                    with.push(at.entry(FEEDBACK, at.text(&self.feedback())));
                }
                Some(_) | None => {}
            }
        }
        if !with.is_empty() {
            let span = node.get("with").map_or_else(|| at.span.clone(), |with| with.span.clone());
            entries.push(at.entry("with", Rc::new(Node::map_at(span, with))));
        }
        entries.extend(self.directory(at));
        entries.extend(node.entry("timeout").cloned());
        if !needs.is_empty() {
            entries.push(at.entry("depends_on", at.list(needs)));
        }
        Entry { key: self.name().to_owned(), key_span: self.entry.key_span.clone(), value: at.map(entries) }
    }

    fn directory(&self, at: &Writer) -> Option<Entry> {
        let path = format!("{{{{ outputs[{:?}] }}}}", self.part(Play::Worktree));
        self.has_worktree.then(|| at.entry("dir", at.text(&path)))
    }

    /// What the last verdict of the gate says to the author of the work; empty before the first.
    fn feedback(&self) -> String {
        let gate = self.part(Play::Gate);
        format!(
            "{{% set seen = outputs_history[{gate:?}] %}}{{% if seen %}}\
             {{% for outcome in (seen | last).outcomes if outcome.kind == 'gate_verdict' %}}{{% if loop.first %}}\
             {{{{ outcome.content.feedback | default('') or outcome.content.blocking_reason | default('') or outcome.summary }}}}\
             {{% endif %}}{{% else %}}the gate gave no verdict{{% endfor %}}{{% endif %}}"
        )
    }

    /// The gate, the mark that it is open, and the person who may open it.
    fn gate(&self, at: &Writer, playbook: &Rc<Node>, with: Option<&Rc<Node>>) -> [Entry; 3] {
        let name = self.part(Play::Gate);
        let closed = format!("!({})", is_open("output"));
        let route =
            |when: &str, to: &str| at.map(vec![at.entry("when", at.text(when)), at.entry("to", at.text(to))]);
        let first = format!("{closed} && outputs_history[{name:?}].length < 2");
        let transitions =
            at.list(vec![route(&first, self.name()), route(&closed, &self.part(Play::Approval))]);
        let mut gate = vec![
            at.entry("type", at.text("playbook")),
            at.entry("playbook", Rc::clone(playbook)),
            at.entry("depends_on", at.text(self.name())),
            // What it decides on is a list, whatever the playbook did.
            at.entry("guarantee", at.text("Array.isArray(output.outcomes)")),
            at.entry("on_success", at.map(vec![at.entry("transitions", transitions)])),
        ];
        gate.extend(with.map(|with| at.entry("with", Rc::clone(with))));
        gate.extend(self.directory(at));
        let passed = vec![
            at.entry("type", at.text("noop")),
            at.entry("depends_on", at.text(&name)),
            at.entry("if", at.text(&is_open(&format!("outputs[{name:?}]")))),
        ];
        let prompt = format!("The gate of `{}` stayed closed twice. Approving opens it.", self.name());
        let approval = vec![
            at.entry("type", at.text("noop")),
            at.entry("requires_approval", at.map(vec![at.entry("prompt", at.text(&prompt))])),
        ];
        [
            at.entry(&name, at.map(gate)),
            at.entry(&self.part(Play::Passed), at.map(passed)),
            at.entry(&self.part(Play::Approval), at.map(approval)),
        ]
    }

    /// A branch and a directory of the play's own. A second attempt finds them there; what a crash has left half made is made
    /// anew, because the play has not begun.
    fn worktree(&self, at: &Writer, needs: Vec<Rc<Node>>) -> Entry {
        let script = script(&[TREE, WORKTREE], self.name());
        let mut entries = vec![
            at.entry("type", at.text("command")),
            at.entry("exec", at.text(&script)),
            at.entry("parse", at.text("text")),
            // Git reads the other worktrees, and fails on one that is being made.
            at.entry("lock", at.text("git")),
            at.entry("criticality", at.text("internal")),
            at.entry("guarantee", at.text("output.length > 0")),
        ];
        if !needs.is_empty() {
            entries.push(at.entry("depends_on", at.list(needs)));
        }
        at.entry(&self.part(Play::Worktree), at.map(entries))
    }

    /// What the play has changed becomes one merge, once it is accepted.
    ///
    /// The merge is made in the worktree of the play, onto the commit that is checked out. The checkout then only moves
    /// forward to it: a merge with conflicts never reaches it.
    fn merge(&self, at: &Writer) -> Entry {
        let script = script(&[TREE, MERGE], self.name());
        let entries = vec![
            at.entry("type", at.text("command")),
            at.entry("exec", at.text(&script)),
            at.entry("parse", at.text("text")),
            // Another play, or another show, may be at the same point.
            at.entry("lock", at.text("git")),
            at.entry("criticality", at.text("internal")),
            at.entry("guarantee", at.text("result.exit_code === 0")),
            at.entry("depends_on", at.text(&self.accepted())),
        ];
        at.entry(&self.part(Play::Merge), at.map(entries))
    }
}

/// Where a play works, and whether all of it is there.
const TREE: &str = include_str!("tree.sh");

const WORKTREE: &str = include_str!("worktree.sh");

/// Each line can be repeated, because a process that dies in between leaves the rest to `resume`.
const MERGE: &str = include_str!("merge.sh");

fn script(parts: &[&str], play: &str) -> String {
    parts.concat().replace("PLAY", play)
}

/// Whether the newest verdict of a gate's run opens it.
fn is_open(output: &str) -> String {
    format!(
        "({output}.outcomes.filter(outcome => outcome.kind === 'gate_verdict')[0] || {{}}).passed === true"
    )
}

/// A string, or a list of strings.
fn texts(node: Option<&Rc<Node>>) -> Vec<Rc<Node>> {
    match node {
        None => Vec::new(),
        Some(node) => node.list().map_or_else(|| vec![Rc::clone(node)], <[_]>::to_vec),
    }
}

/// Writes nodes that stand for a play, attributed to its name in the file.
struct Writer {
    span: Range<usize>,
}

impl Writer {
    fn text(&self, text: &str) -> Rc<Node> {
        Rc::new(Node::text_at(self.span.clone(), text.to_owned()))
    }

    fn list(&self, items: Vec<Rc<Node>>) -> Rc<Node> {
        Rc::new(Node::list_at(self.span.clone(), items))
    }

    fn map(&self, entries: Vec<Entry>) -> Rc<Node> {
        Rc::new(Node::map_at(self.span.clone(), entries))
    }

    fn entry(&self, key: &str, value: Rc<Node>) -> Entry {
        Entry { key: key.to_owned(), key_span: self.span.clone(), value }
    }
}
