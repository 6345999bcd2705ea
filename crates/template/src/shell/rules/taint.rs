//! Which variables of a script may have a value in them.
//!
//! The answer is too large rather than too small: assignments count in any order, whether or not they are executed, and
//! `read` counts as reading a value wherever it is.

use std::collections::BTreeSet;

use super::tables::ASSIGNERS;
use crate::shell::scan::Scanned;
use crate::shell::word::{Command, Word};

/// Stands for the output of a `$(…)`, which may repeat what the command finds on its input.
pub(in crate::shell) const SUBSTITUTION: &str = "$(…)";

/// How often all assignments are looked at. After that every variable that is assigned counts as having a value, so that
/// a long chain of variables in reverse order takes no quadratic time.
const PASSES_MAX: usize = 50;

#[derive(Default)]
pub(super) struct Taint {
    names: BTreeSet<String>,
    /// Commands of the script may read input that has values.
    pub(super) is_fed: bool,
}

impl Taint {
    /// `inherited` are variables that have values from outside; `@` stands for the parameters.
    pub(super) fn of(scanned: &Scanned, is_fed: bool, inherited: &[String]) -> Taint {
        let is_fed = is_fed || scanned.feeds;
        let mut taint = Taint { names: inherited.iter().cloned().collect(), is_fed };
        for command in &scanned.commands {
            taint.names.extend(read_by(command));
        }
        let functions: BTreeSet<&str> = scanned.functions.iter().map(String::as_str).collect();
        for _ in 0..PASSES_MAX {
            let before = taint.names.len();
            for flow in &scanned.flows {
                if flow.has_value || flow.from.iter().any(|name| taint.holds(name)) {
                    taint.names.insert(flow.to.clone());
                }
            }
            for command in &scanned.commands {
                taint.assigned_by(command, &functions);
            }
            if taint.names.len() == before {
                return taint;
            }
        }
        taint.names.extend(scanned.flows.iter().map(|flow| flow.to.clone()));
        for command in &scanned.commands {
            taint.names.extend(command.assignments.iter().chain(&command.words).filter_map(assigned));
        }
        taint.names.insert("@".to_owned());
        taint
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Whether a variable may have a value. All parameters count as one.
    pub(super) fn holds(&self, name: &str) -> bool {
        let is_parameter =
            matches!(name, "@" | "*" | "_" | "OPTARG") || name.chars().all(|c| c.is_ascii_digit());
        (name == SUBSTITUTION && self.is_fed)
            || self.names.contains(name)
            || (is_parameter && self.names.contains("@"))
    }

    /// Whether an expansion in the word may have a value.
    pub(super) fn reaches(&self, word: &Word) -> bool {
        (word.substitutes && self.is_fed) || word.names.iter().any(|name| self.holds(name))
    }

    fn is_tainted(&self, word: &Word) -> bool {
        !word.all_values.is_empty() || self.reaches(word)
    }

    fn assigned_by(&mut self, command: &Command, functions: &BTreeSet<&str>) {
        let program = command.words.first().and_then(Word::program).unwrap_or_default();
        let assigns = ASSIGNERS.contains(&program) || matches!(program, "declare" | "typeset" | "env");
        let words = command.words.iter().skip(1).filter(|_| assigns);
        for word in command.assignments.iter().chain(words) {
            if let Some(name) = word.assigned()
                && self.is_tainted(word)
            {
                self.names.insert(name.to_owned());
            }
        }
        let is_call = program == "set" || functions.contains(program);
        if is_call && command.words.iter().skip(1).any(|word| self.is_tainted(word)) {
            self.names.insert("@".to_owned());
        }
        if program == "printf" && command.words.iter().any(|word| self.is_tainted(word)) {
            let after = command.words.iter().skip_while(|word| word.text != "-v").nth(1);
            self.names.extend(after.map(|word| word.text.clone()));
        }
    }
}

fn assigned(word: &Word) -> Option<String> {
    word.assigned().map(str::to_owned)
}

/// The variables that a command reads from its input.
fn read_by(command: &Command) -> Vec<String> {
    let program = command.words.first().and_then(Word::program).unwrap_or_default();
    if !matches!(program, "read" | "mapfile" | "readarray" | "getopts") {
        return Vec::new();
    }
    let defaults = ["REPLY", "MAPFILE", "OPTARG"].map(str::to_owned);
    let names = command.words.iter().skip(1).map(|word| word.text.clone());
    names.filter(|name| !name.starts_with('-')).chain(defaults).collect()
}
