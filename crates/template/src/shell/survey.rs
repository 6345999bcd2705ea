//! What a script does, as far as its words tell: the commands that it runs, the files that it writes, and the pipelines
//! that lose a status. Unlike the rules, a survey is a best effort, and reads scripts without values too.

use std::ops::Range;

use super::rules::unwrapped;
use super::scan::{Scanned, scan, scan_text};
use super::split;
use super::word::{Command, UNKNOWN, Word};

/// A command by its words, without what only wraps it: `sudo git push` is `git push`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedCommand {
    /// A word that is known only at run time, or in part, is `None`.
    pub words: Vec<Option<String>>,
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
            UNKNOWN.to_string()
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
    }

    fn command(&mut self, words: &[Word], place: Option<&Range<usize>>, nesting: usize) {
        let words = unwrapped(words);
        let Some(first) = words.first() else { return };
        let span = place.cloned().unwrap_or_else(|| first.span.clone());
        if let Some(script) = literal_code(words)
            && nesting < NESTING_MAX
        {
            self.add(&scan_text(script, 0), Some(&span), nesting + 1);
        }
        let words = words.iter().map(|word| (!word.text.contains(UNKNOWN)).then(|| word.text.clone()));
        self.commands.push(SurveyedCommand { words: words.collect(), span });
    }
}

/// The script in `sh -c 'script'`.
fn literal_code(words: &[Word]) -> Option<&str> {
    let program = words.first()?.program()?;
    if !["ash", "bash", "dash", "ksh", "sh", "zsh"].contains(&program) {
        return None;
    }
    let option = words.iter().position(|word| {
        word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with('c')
    })?;
    words.get(option + 1).map(|code| code.text.as_str()).filter(|code| !code.contains(UNKNOWN))
}

/// Whether the status of a command says anything.
fn may_fail(command: &Command) -> bool {
    const NEVER: &[&str] = &[":", "echo", "printf", "true", "yes"];
    let program = command.words.first().and_then(Word::program);
    command.words.first().is_none_or(|_| !program.is_some_and(|program| NEVER.contains(&program)))
}
