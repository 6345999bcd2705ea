//! Variables that are assigned in another way than by `NAME=value`: `for`, `select`, `read`, `mapfile`, `printf -v`,
//! `getopts`, `wait -p`, `${NAME:=…}`. A variable that the shell computes, or that programs read as code, is no target of
//! them in a script that gets values, and neither is a name that is known only when the script runs.

use super::tables::{ASSIGNERS, DECLARERS, EVALUATORS, INTEGERS};
use super::{Arithmetic, Checker, RUN_BY_SHELLS, is_option};
use crate::shell::error::ShellErrorKind;
use crate::shell::rules::SUBSTITUTION;
use crate::shell::scan::{Scanned, identifiers};
use crate::shell::word::{UNKNOWN, Word};
use crate::steering::is_evaluated;

impl Checker<'_> {
    /// Assignments by the grammar of the shell.
    pub(super) fn targets(&mut self, scanned: &Scanned) {
        for flow in scanned.flows.iter().filter(|flow| is_evaluated(name_of(&flow.to))) {
            let name = name_of(&flow.to);
            let is_printed = || {
                let from = Word { names: flow.from.clone(), ..Word::default() };
                self.arithmetic == Arithmetic::Numbers
                    && (flow.from.iter().any(|from| from == SUBSTITUTION) || self.taint.is_printed(&from))
            };
            let is_run = RUN_BY_SHELLS.contains(&name);
            if flow.has_value || flow.from.iter().any(|from| self.taint.holds(from)) || is_run && is_printed()
            {
                self.refuse_target(&flow.span, name);
            } else if INTEGERS.contains(&name) {
                let mut names = flow.from.clone();
                match &flow.text {
                    Some(word) => names.extend(identifiers(&word.text)),
                    None => names.push(name.to_owned()),
                }
                names.retain(|one| one != name || flow.text.is_none());
                self.compute_target(&names, &flow.span);
            }
        }
        for (name, word) in scanned.commands.iter().flat_map(super::taint::assigned_words) {
            if INTEGERS.contains(&name) && !self.is_tainted(word) {
                let mut names = identifiers(word.assigned_text());
                names.extend_from_slice(&word.names);
                if word.substitutes {
                    names.push(SUBSTITUTION.to_owned());
                }
                self.compute_target(&names, &word.span);
            }
        }
    }

    /// What is assigned to a variable with the attribute of an integer is arithmetic.
    fn compute_target(&mut self, names: &[String], span: &std::ops::Range<usize>) {
        if names.iter().any(|name| !self.taint.is_number(name)) {
            self.compute(names, span);
        }
    }

    /// Assignments by a command.
    pub(super) fn target_words(&mut self, program: &str, arguments: &[Word]) {
        if self.arithmetic == Arithmetic::Free {
            return;
        }
        // What declares variables takes no value for a name, and says so itself.
        let is_refused = ASSIGNERS.contains(&program) || EVALUATORS.contains(&program);
        for word in targets(program, arguments) {
            if is_refused && self.is_tainted(&word) {
                continue;
            }
            let known = self.taint.texts(&word);
            let is_computed = word.text.contains(UNKNOWN) || word.may_be_several() || word.may_be_files();
            let texts: Vec<&str> = match is_computed {
                true => known.texts.iter().map(String::as_str).collect(),
                false => vec![word.text.as_str()],
            };
            let evaluated = texts.iter().map(|text| name_of(text)).find(|name| is_evaluated(name));
            if let Some(name) = evaluated.filter(|_| program != "unset") {
                self.refuse_target(&word.span, name);
            } else if is_computed && !known.is_all {
                let message = "which variable is assigned is not known before the script runs, and the shell may compute it";
                let help =
                    Some("write the name out; read variables from a file with `set -a; . ./file; set +a`");
                self.refuse(word.span.clone(), ShellErrorKind::Program, Some(message.to_owned()), help);
            }
        }
    }

    fn refuse_target(&mut self, span: &std::ops::Range<usize>, name: &str) {
        let message =
            format!("shells or programs read the value of `{name}` as code, and this script holds values");
        let help = Some("use another name");
        self.refuse(span.clone(), ShellErrorKind::Program, Some(message), help);
    }
}

/// The name in `NAME[…]`.
fn name_of(text: &str) -> &str {
    text.split('[').next().unwrap_or_default()
}

/// The words that name the variables which a command assigns.
pub(super) fn targets(program: &str, arguments: &[Word]) -> Vec<Word> {
    match program {
        "read" => Options { named: "aA", other: "dinNptu" }.names(arguments, 0),
        "mapfile" | "readarray" => Options { named: "", other: "CcOdnsu" }.names(arguments, 0),
        "getopts" => Options { named: "", other: "" }.names(arguments, 1),
        "compgen" => Options { named: "V", other: "ACFGPSWXo" }.option_alone(arguments),
        "print" | "printf" => Options { named: "v", other: "" }.option_alone(arguments),
        "set" => Options { named: "A", other: "o" }.option_alone(arguments),
        "wait" => Options { named: "p", other: "" }.option_alone(arguments),
        _ if DECLARERS.contains(&program) => arguments.iter().filter_map(computed).collect(),
        _ => Vec::new(),
    }
}

/// The computed name in `declare "$name=$value"` and `unset "$name"`.
fn computed(word: &Word) -> Option<Word> {
    let name = word.text.split_once('=').map_or(word.text.as_str(), |(name, _)| name);
    let is_several = word.may_be_several() && name.contains('{');
    (name.contains(UNKNOWN) || is_several).then(|| Word { text: name.to_owned(), ..word.clone() })
}

/// The options of a command with an argument, by their letters.
struct Options {
    /// The argument is the name of a variable.
    named: &'static str,
    other: &'static str,
}

impl Options {
    /// The operands from one on, and the names in options.
    fn names(&self, arguments: &[Word], skipped: usize) -> Vec<Word> {
        let (mut found, operands) = self.split(arguments);
        found.extend(operands.iter().skip(skipped).cloned());
        found
    }

    /// The names in options.
    fn option_alone(&self, arguments: &[Word]) -> Vec<Word> {
        self.split(arguments).0
    }

    fn split<'a>(&self, arguments: &'a [Word]) -> (Vec<Word>, &'a [Word]) {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(word) = arguments.get(at).filter(|word| is_option(word)) {
            at += 1;
            if word.text == "--" {
                break;
            }
            let taken = word
                .text
                .char_indices()
                .skip(1)
                .find(|(_, letter)| self.named.contains(*letter) || self.other.contains(*letter));
            let Some((place, letter)) = taken else { continue };
            let joined = &word.text[place + letter.len_utf8()..];
            let argument = match joined {
                "" => {
                    at += 1;
                    arguments.get(at - 1).cloned()
                }
                joined => Some(Word { text: joined.to_owned(), ..word.clone() }),
            };
            found.extend(argument.filter(|_| self.named.contains(letter)));
        }
        (found, arguments.get(at..).unwrap_or_default())
    }
}
