//! Recognises files of another kind, so that one sentence says what the file is and what to do with it.

use std::ops::Range;

use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::{self, Node};

/// What a YAML file is, by the keys that only such files have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Playbook,
    Tests,
    Chain,
    Show,
    Rules,
    Outcome,
}

impl FileKind {
    fn in_words(self) -> &'static str {
        match self {
            FileKind::Playbook => "a playbook",
            FileKind::Tests => "a test file",
            FileKind::Chain => "a chain",
            FileKind::Show => "a show",
            FileKind::Rules => "a rules file",
            FileKind::Outcome => "an outcome",
        }
    }
}

/// What a file is, as far as its keys tell.
pub fn file_kind(bytes: &[u8]) -> Option<FileKind> {
    let root = yaml::parse(std::str::from_utf8(bytes).ok()?, &mut Diagnostics::default())?;
    kind_of(&root).map(|(kind, _)| kind)
}

/// The kind of a file and where it shows. None when it may be anything.
fn kind_of(root: &Node) -> Option<(FileKind, Range<usize>)> {
    if let Some(first) = root.list().and_then(|items| items.first()) {
        return first.get("rule_id").map(|_| (FileKind::Rules, first.span.clone()));
    }
    let key = |name: &str| root.entry(name).map(|entry| entry.key_span.clone());
    let has = |name: &str| root.entry(name).is_some();
    let telling = [
        ("checks", FileKind::Playbook, true),
        ("prompt", FileKind::Playbook, true),
        ("tests", FileKind::Tests, true),
        ("steps", FileKind::Chain, has("trigger") || has_step(root)),
        ("plays", FileKind::Show, true),
        ("rules", FileKind::Rules, true),
        ("outcome_kind", FileKind::Outcome, true),
    ];
    telling
        .into_iter()
        .filter(|(.., also)| *also)
        .find_map(|(name, kind, _)| key(name).map(|span| (kind, span)))
}

/// Whether the first of its steps is one of a chain. Other engines have steps too.
fn has_step(root: &Node) -> bool {
    let Some(steps) = root.get("steps").and_then(|steps| steps.list()) else { return false };
    steps.first().is_none_or(|first| first.entry("skill").is_some() || first.entry("action").is_some())
}

/// The problem of a file that is certainly something else than a show.
pub(crate) fn not_a_show(root: &Node, file: &str) -> Option<Problem> {
    let (kind, span) = kind_of(root)?;
    let help = match kind {
        FileKind::Show => return None,
        FileKind::Playbook => format!("run it with `escrow run {file}`, or name it in `playbook` of a play"),
        FileKind::Chain => format!("activate it with `escrow chain define {file}`"),
        FileKind::Tests | FileKind::Rules | FileKind::Outcome => "a show has `plays`".to_owned(),
    };
    Some(problem(kind, span, "not a show", help))
}

/// The problem of a file that is certainly something else than a chain.
pub(crate) fn not_a_chain(root: &Node, file: &str) -> Option<Problem> {
    let (kind, span) = kind_of(root)?;
    let help = match kind {
        FileKind::Chain => return None,
        FileKind::Playbook => format!("run it with `escrow run {file}`, or name it in `skill` of a step"),
        FileKind::Tests | FileKind::Show | FileKind::Rules | FileKind::Outcome => {
            "a chain has `trigger` and `steps`".to_owned()
        }
    };
    Some(problem(kind, span, "not a chain", help))
}

/// The problem of a file that is not a playbook, where it is certain what it is instead.
pub(crate) fn not_a_playbook(root: &Node, file: &str) -> Option<Problem> {
    let (kind, span) = kind_of(root)?;
    let help = match kind {
        FileKind::Playbook => return None,
        FileKind::Tests => format!("run its tests with `escrow test {file}`"),
        FileKind::Rules => {
            format!("judge a value by it with `escrow rules check {file}`, or name it in `rules` of a check")
        }
        FileKind::Chain => format!("activate it with `escrow chain define {file}`"),
        FileKind::Show => format!("run it with `escrow play run {file}`"),
        FileKind::Outcome => "store it with `escrow outcomes add`".to_owned(),
    };
    Some(problem(kind, span, "not a playbook", help))
}

/// The problem of a file that is a playbook where a test file is expected.
pub(crate) fn not_a_test_file(root: &Node, file: &str) -> Option<Problem> {
    let (kind, span) = kind_of(root)?;
    let help = match kind {
        FileKind::Tests => return None,
        FileKind::Playbook => format!(
            "check it with `escrow check {file}`; a test file has `playbook: {file}` and `tests`, and its name ends in `.test.yaml`"
        ),
        FileKind::Chain | FileKind::Show | FileKind::Rules | FileKind::Outcome => {
            "a test file has `playbook` and `tests`, and its name ends in `.test.yaml`".to_owned()
        }
    };
    Some(problem(kind, span, "not a test file", help))
}

fn problem(kind: FileKind, span: Range<usize>, not: &str, help: String) -> Problem {
    Problem::new("E0173", span, format!("this is {}, {not}", kind.in_words()))
        .label("only such a file has this key")
        .help(help)
}
