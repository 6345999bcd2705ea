//! What a script does, as far as its words tell: the commands that it runs, the files that it writes, and the pipelines
//! that lose a status. Unlike the rules, a survey is a best effort, and reads scripts without values too.

use std::ops::Range;

use super::rules::{shell_code_options, unwrapped};
use super::scan::{Scanned, scan, scan_text};
use super::split;
use super::word::{Command, UNKNOWN, Word};

/// A command by its words. One that wraps another is followed by it: `sudo git push` is also `git push`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedCommand {
    /// A word that is known only at run time, or in part, is `None`.
    pub words: Vec<Option<String>>,
    /// How each word begins, as far as that is known.
    pub beginnings: Vec<String>,
    /// Its first word in the source.
    pub span: Range<usize>,
}

/// A file that output is redirected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedWrite {
    /// The literal text; expansions are left out.
    pub path: String,
    /// The variable that the path begins with.
    pub variable: Option<String>,
    pub span: Range<usize>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Survey {
    pub commands: Vec<SurveyedCommand>,
    pub writes: Vec<SurveyedWrite>,
    /// The `|` of pipelines whose left side may fail unnoticed in a shell without `pipefail`.
    pub lost_statuses: Vec<Range<usize>>,
    /// A shell in it reads its script from standard input.
    pub reads_code: bool,
}

/// How deeply scripts within scripts are read.
const NESTING_MAX: usize = 4;

pub fn survey_script(source: &str) -> Survey {
    let mut survey = Survey::default();
    let Ok(pieces) = split::split(source) else { return survey };
    let scanned = scan(source, &pieces);
    survey.add(&scanned, None, 0);
    let sets_pipefail = scanned.commands.iter().any(|command| {
        command.words.first().is_some_and(|word| word.text == "set")
            && command.words.iter().any(|word| word.text == "pipefail")
    });
    if !sets_pipefail {
        let loses = |(_, left): &&(usize, usize)| scanned.commands.get(*left).is_some_and(may_fail);
        survey.lost_statuses = scanned.pipes.iter().filter(loses).map(|(at, _)| *at..*at + 1).collect();
    }
    survey
}

/// The same of a program and its arguments, which are templates.
pub fn survey_arguments(sources: &[&str]) -> Survey {
    let mut survey = Survey::default();
    let words = sources.iter().map(|source| {
        let text = if source.contains("{{") || source.contains("{%") {
            let known = source.find("{{").into_iter().chain(source.find("{%")).min().unwrap_or_default();
            format!("{}{UNKNOWN}", &source[..known])
        } else {
            (*source).to_owned()
        };
        Word { bare: text.len(), text, ..Word::default() }
    });
    survey.command(&words.collect::<Vec<_>>(), None, 0);
    survey
}

impl Survey {
    fn add(&mut self, scanned: &Scanned, place: Option<&Range<usize>>, nesting: usize) {
        for command in &scanned.commands {
            self.command(&command.words, place, nesting);
            for word in &command.writes {
                let variable = word.text.starts_with(UNKNOWN).then(|| word.names.first().cloned()).flatten();
                let path = word.text.replace(UNKNOWN, "");
                let span = place.cloned().unwrap_or_else(|| word.span.clone());
                self.writes.push(SurveyedWrite { path, variable, span });
            }
        }
        // Which command reads which input is not followed.
        let shell = scanned.commands.iter().flat_map(|command| unwrapped(&command.words));
        if let Some(shell) = shell.into_iter().find(|words| reads_code(words)) {
            let span = place.cloned().unwrap_or_else(|| shell[0].span.clone());
            for code in given_as_input(scanned) {
                self.code(&code, &span, nesting);
            }
        }
    }

    fn command(&mut self, words: &[Word], place: Option<&Range<usize>>, nesting: usize) {
        for words in unwrapped(words) {
            let Some(first) = words.first() else { continue };
            let span = place.cloned().unwrap_or_else(|| first.span.clone());
            self.reads_code |= reads_code(words);
            for code in code_of(words) {
                self.code(&code, &span, nesting);
            }
            let beginnings = words.iter().map(|word| word.literal_prefix().to_owned()).collect();
            let words = words.iter().map(|word| (!word.text.contains(UNKNOWN)).then(|| word.text.clone()));
            self.commands.push(SurveyedCommand { words: words.collect(), beginnings, span });
        }
    }

    fn code(&mut self, code: &str, span: &Range<usize>, nesting: usize) {
        if nesting < NESTING_MAX {
            self.add(&scan_text(code, 0), Some(span), nesting + 1);
        }
    }
}

const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

/// The scripts among the words of a command: `sh -c 'script'`, `eval script`, `trap 'script' EXIT`, `su -c 'script'`.
/// What is known only at run time stays in them, as a word that is not known.
fn code_of(words: &[Word]) -> Vec<String> {
    let Some((first, arguments)) = words.split_first() else { return Vec::new() };
    let Some(program) = first.program() else { return Vec::new() };
    let operands = || arguments.iter().skip_while(|word| word.text.starts_with('-'));
    let joined = || operands().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    match program {
        "eval" | "parallel" | "sem" | "watch" => vec![joined()],
        "trap" => operands().next().map(|word| word.text.clone()).into_iter().collect(),
        "alias" => arguments.iter().map(|word| word.assigned_text().to_owned()).collect(),
        shell if SHELLS.contains(&shell) => match shell_script(arguments) {
            ShellSource::Code(code) => vec![code.to_owned()],
            ShellSource::File | ShellSource::Input => Vec::new(),
        },
        program => code_options(arguments, shell_code_options(program)),
    }
}

/// What is behind one of these options, or joined to it.
fn code_options(arguments: &[Word], options: &[&str]) -> Vec<String> {
    let of = |(at, word): (usize, &Word)| {
        options.iter().find_map(|option| {
            if word.text == *option {
                return arguments.get(at + 1).map(|code| code.text.clone());
            }
            let rest = word.text.strip_prefix(option)?;
            if option.starts_with("--") {
                rest.strip_prefix('=').map(str::to_owned)
            } else {
                Some(rest.to_owned())
            }
        })
    };
    arguments.iter().enumerate().filter_map(of).collect()
}

/// Where a shell has its script from.
enum ShellSource<'w> {
    Code(&'w str),
    File,
    Input,
}

fn shell_script(arguments: &[Word]) -> ShellSource<'_> {
    let mut is_code = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "-" || text == "--" || !text.starts_with(['-', '+']) {
            let operand = if matches!(text, "-" | "--") { words.next() } else { Some(word) };
            return match operand {
                Some(code) if is_code => ShellSource::Code(&code.text),
                Some(file) if matches!(file.text.as_str(), "/dev/stdin" | "/proc/self/fd/0") => {
                    ShellSource::Input
                }
                Some(_) => ShellSource::File,
                None => ShellSource::Input,
            };
        }
        let takes = match text.strip_prefix("--") {
            Some(long) => usize::from(matches!(long, "rcfile" | "init-file")),
            None => {
                is_code |= text.contains('c');
                if text.contains('s') && !is_code {
                    return ShellSource::Input;
                }
                // `-euo pipefail`
                text.matches(['o', 'O']).count()
            }
        };
        for _ in 0..takes {
            words.next();
        }
    }
    ShellSource::Input
}

/// Whether a command runs the script in its standard input.
fn reads_code(words: &[Word]) -> bool {
    let Some((first, arguments)) = words.split_first() else { return false };
    match first.program() {
        Some("." | "source") => arguments.first().is_some_and(|file| file.text == "/dev/stdin"),
        Some(program) if SHELLS.contains(&program) => matches!(shell_script(arguments), ShellSource::Input),
        Some(_) | None => false,
    }
}

/// What a script gives to standard input as far as its words tell: here-documents and strings, and what is printed.
fn given_as_input(scanned: &Scanned) -> Vec<String> {
    let printed = scanned.commands.iter().filter_map(|command| {
        let program = command.words.first().and_then(Word::program)?;
        let words = command.words[1..].iter().map(|word| word.text.as_str());
        ["echo", "printf"].contains(&program).then(|| words.collect::<Vec<_>>().join("\n"))
    });
    scanned.fed.iter().cloned().chain(printed).collect()
}

/// Whether the status of a command says anything.
fn may_fail(command: &Command) -> bool {
    const NEVER: &[&str] = &[":", "echo", "printf", "true", "yes"];
    let program = command.words.first().and_then(Word::program);
    command.words.first().is_none_or(|_| !program.is_some_and(|program| NEVER.contains(&program)))
}
