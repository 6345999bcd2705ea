//! Follows a script as a shell would read it, to know the quoting at every place.
//!
//! Only what decides about quoting is understood: quotes, expansions, here-documents, comments, and as
//! much of the grammar as it takes to tell a command's name from its arguments and a `case` pattern's
//! `)` from the end of a subshell.

mod heredoc;
mod quoting;

use std::ops::Range;

use super::error::{ShellError, ShellErrorKind};
use super::split::Piece;
use super::variable;
use super::word::{Command, UNKNOWN, Word};

/// How deeply `$(…)`, `${…}` and subshells may nest.
const DEPTH_MAX: usize = 40;

pub(super) struct Scanned {
    pub(super) script: String,
    /// The values that the script refers to, in the order of their variables.
    pub(super) used: Vec<usize>,
    pub(super) commands: Vec<Command>,
    pub(super) errors: Vec<ShellError>,
    /// Where each value stands in the source.
    pub(super) places: Vec<Range<usize>>,
}

pub(super) fn scan(source: &str, pieces: &[Piece]) -> Scanned {
    let mut symbols = Vec::new();
    let mut places = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(range) => {
                let text = &source[range.clone()];
                symbols.extend(text.char_indices().map(|(at, c)| (Symbol::Char(c), range.start + at)));
            }
            Piece::Value { outer, .. } => {
                symbols.push((Symbol::Value(places.len()), outer.start));
                places.push(outer.clone());
            }
        }
    }
    let mut scanner = Scanner {
        symbols,
        at: 0,
        depth: 0,
        forbidden: Vec::new(),
        heredocs: Vec::new(),
        found: Scanned {
            script: String::new(),
            used: Vec::new(),
            commands: Vec::new(),
            errors: Vec::new(),
            places,
        },
    };
    scanner.commands(End::Script);
    if let Some(at) = scanner.first_unread_heredoc() {
        scanner.error_at(ShellErrorKind::Unfinished, at);
    }
    scanner.found
}

#[derive(Clone, Copy)]
enum Symbol {
    Char(char),
    Value(usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Script,
    Parenthesis,
}

/// Where an expansion stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Bare,
    Quotes,
}

/// What the next word of a command is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Command,
    Argument,
    LoopName,
    LoopIn,
    LoopWord,
    CaseSubject,
    CaseIn,
    FunctionName,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Pattern,
    Body,
}

struct Heredoc {
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    at: usize,
    /// The command it belongs to, once that is complete.
    command: Option<usize>,
}

/// One list of commands: the script, a subshell, or what is within `$( )`.
struct List {
    expect: Expect,
    command: Command,
    cases: Vec<Case>,
    /// How many values came before the pipeline, and before this command.
    pipeline: usize,
    stage: usize,
    /// The pipelines of the compound commands around.
    around: Vec<usize>,
}

struct Scanner {
    symbols: Vec<(Symbol, usize)>,
    at: usize,
    depth: usize,
    /// Why no value may stand here, innermost last.
    forbidden: Vec<ShellErrorKind>,
    heredocs: Vec<Heredoc>,
    found: Scanned,
}

impl Scanner {
    fn peek(&self) -> Option<Symbol> {
        self.symbols.get(self.at).map(|(symbol, _)| *symbol)
    }

    fn char_at(&self, ahead: usize) -> Option<char> {
        match self.symbols.get(self.at + ahead) {
            Some((Symbol::Char(c), _)) => Some(*c),
            _ => None,
        }
    }

    fn sees(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.char_at(ahead) == Some(c))
    }

    /// Copies one character into the script.
    fn take(&mut self) -> Option<char> {
        let c = self.char_at(0)?;
        self.found.script.push(c);
        self.at += 1;
        Some(c)
    }

    fn take_many(&mut self, count: usize) {
        for _ in 0..count {
            self.take();
        }
    }

    fn offset(&self) -> usize {
        self.symbols.get(self.at).or(self.symbols.last()).map_or(0, |(_, offset)| *offset)
    }

    fn error_at(&mut self, kind: ShellErrorKind, offset: usize) {
        let span = self.span_at(offset);
        self.found.errors.push(ShellError::new(kind, span));
    }

    /// The whole character, or the whole value, that begins at `offset`.
    fn span_at(&self, offset: usize) -> Range<usize> {
        match self.symbols.binary_search_by_key(&offset, |(_, start)| *start).map(|at| self.symbols[at].0) {
            Ok(Symbol::Char(c)) => offset..offset + c.len_utf8(),
            Ok(Symbol::Value(place)) => self.found.places[place].clone(),
            Err(_) => offset..offset,
        }
    }

    fn refuse(&mut self, kind: ShellErrorKind, place: usize) {
        let span = self.found.places[place].clone();
        self.found.errors.push(ShellError::new(kind, span));
    }

    /// Writes a reference to the value that comes next, unless none may stand here.
    fn value(&mut self, place: usize, before: &str, after: &str) {
        self.at += 1;
        if let Some(kind) = self.forbidden.last() {
            self.refuse(*kind, place);
            return;
        }
        let reference = format!("{before}${{{}}}{after}", variable(self.found.used.len()));
        self.found.script.push_str(&reference);
        self.found.used.push(place);
    }

    /// Refuses a value directly behind a `\` or a `$`.
    fn adjacent(&mut self) -> bool {
        match self.peek() {
            Some(Symbol::Value(place)) => {
                self.at += 1;
                self.refuse(ShellErrorKind::Adjacent, place);
                true
            }
            _ => false,
        }
    }

    fn within(&mut self, kind: ShellErrorKind, scan: impl FnOnce(&mut Scanner)) {
        self.forbidden.push(kind);
        scan(self);
        self.forbidden.pop();
    }

    fn deeper(&mut self, scan: impl FnOnce(&mut Scanner)) {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let span = self.span_at(self.offset());
            self.found.errors.push(
                ShellError::new(ShellErrorKind::Unfinished, span).saying("the script nests too deeply"),
            );
            self.at = self.symbols.len();
        } else {
            scan(self);
        }
        self.depth -= 1;
    }

    // ---- commands

    fn commands(&mut self, end: End) {
        let outer = std::mem::take(&mut self.heredocs);
        let values = self.found.used.len();
        let mut list = List {
            expect: Expect::Command,
            command: Command::default(),
            cases: Vec::new(),
            pipeline: values,
            stage: values,
            around: Vec::new(),
        };
        while let Some(symbol) = self.peek() {
            match symbol {
                Symbol::Char(' ' | '\t') => {
                    self.take();
                }
                Symbol::Char('\\') if self.char_at(1) == Some('\n') => self.take_many(2),
                Symbol::Char('\n') => {
                    if let Some(heredoc) = outer.first() {
                        // Shells differ on whether the body begins within these parentheses.
                        self.error_at(ShellErrorKind::Ambiguous, heredoc.at);
                    }
                    self.take();
                    if !matches!(list.expect, Expect::CaseIn | Expect::LoopIn) {
                        self.end_command(&mut list, false);
                    }
                    self.heredoc_bodies();
                }
                Symbol::Char('#') => self.comment(),
                Symbol::Char(';' | '&' | '|') => self.operator(&mut list),
                Symbol::Char('<' | '>') => self.redirection(&mut list),
                Symbol::Char('(') => self.open(&mut list),
                Symbol::Char(')') if list.cases.last() == Some(&Case::Pattern) => {
                    self.take();
                    if let Some(case) = list.cases.last_mut() {
                        *case = Case::Body;
                    }
                    self.end_command(&mut list, false);
                }
                Symbol::Char(')') if end == End::Parenthesis => break,
                Symbol::Char(')') => {
                    let offset = self.offset();
                    self.take();
                    self.found.errors.push(
                        ShellError::new(ShellErrorKind::Ambiguous, offset..offset + 1)
                            .saying("there is no `(` for this `)`")
                            .helping("remove it, or put it within quotes"),
                    );
                }
                Symbol::Char(_) | Symbol::Value(_) => self.accept(&mut list),
            }
        }
        self.end_command(&mut list, false);
        let inner = std::mem::replace(&mut self.heredocs, outer);
        if end == End::Script {
            self.heredocs.extend(inner);
        } else if let Some(heredoc) = inner.first() {
            self.error_at(ShellErrorKind::Unfinished, heredoc.at);
        }
    }

    /// A parenthesis and everything up to the one that closes it.
    fn parenthesis(&mut self) {
        let offset = self.offset();
        self.take();
        self.deeper(|scanner| scanner.commands(End::Parenthesis));
        if self.take() != Some(')') {
            self.error_at(ShellErrorKind::Unfinished, offset);
        }
    }

    fn end_command(&mut self, list: &mut List, piped: bool) {
        let mut command = std::mem::take(&mut list.command);
        if list.stage > list.pipeline {
            command.piped = self.found.used[list.pipeline..list.stage].to_vec();
        }
        if !command.is_empty() {
            for heredoc in &mut self.heredocs {
                heredoc.command.get_or_insert(self.found.commands.len());
            }
            self.found.commands.push(command);
        }
        list.stage = self.found.used.len();
        if !piped {
            list.pipeline = list.stage;
        }
        list.expect = Expect::Command;
    }

    fn operator(&mut self, list: &mut List) {
        const CASE_ENDS: &[&str] = &[";;&", ";;", ";&"];
        if let Some(operator) = CASE_ENDS.iter().find(|operator| self.sees(operator)) {
            self.take_many(operator.len());
            self.end_command(list, false);
            if let Some(case) = list.cases.last_mut() {
                *case = Case::Pattern;
            }
            return;
        }
        let piped = self.sees("|") && !self.sees("||");
        let length = if ["&&", "||", "|&"].iter().any(|operator| self.sees(operator)) { 2 } else { 1 };
        self.take_many(length);
        if list.cases.last() == Some(&Case::Pattern) {
            return;
        }
        self.end_command(list, piped);
    }

    fn open(&mut self, list: &mut List) {
        let offset = self.offset();
        if list.cases.last() == Some(&Case::Pattern) && list.expect == Expect::Command {
            self.take();
        } else if list.expect == Expect::Command || list.expect == Expect::LoopName {
            if self.sees("((") {
                self.within(ShellErrorKind::Arithmetic, |scanner| scanner.balanced(offset));
            } else {
                self.parenthesis();
            }
        } else if list.command.words.len() == 1
            && list.command.assignments.is_empty()
            && self.closes_at_once()
        {
            // A function: its name is not a command, and its body follows.
            while self.take() != Some(')') {}
            list.command = Command::default();
            list.expect = Expect::Command;
        } else {
            self.error_at(ShellErrorKind::Ambiguous, offset);
            self.within(ShellErrorKind::Ambiguous, Scanner::parenthesis);
        }
    }

    fn closes_at_once(&self) -> bool {
        (1..).map(|ahead| self.char_at(ahead)).find(|c| !matches!(c, Some(' ' | '\t'))) == Some(Some(')'))
    }

    fn comment(&mut self) {
        while let Some(symbol) = self.peek() {
            match symbol {
                Symbol::Char('\n') => return,
                Symbol::Char(_) => {
                    self.take();
                }
                // A value in a comment is left out: nobody reads it.
                Symbol::Value(_) => self.at += 1,
            }
        }
    }

    fn redirection(&mut self, list: &mut List) {
        if self.char_at(1) == Some('(') {
            return self.accept(list);
        }
        const OPERATORS: &[&str] = &["<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">"];
        let Some(operator) = OPERATORS.iter().find(|operator| self.sees(operator)) else { return };
        self.take_many(operator.len());
        while matches!(self.char_at(0), Some(' ' | '\t')) {
            self.take();
        }
        let at = self.offset();
        let before = self.found.used.len();
        if matches!(*operator, "<<" | "<<-") {
            let mut word = Word::default();
            self.within(ShellErrorKind::HeredocDelimiter, |scanner| word = scanner.word());
            if !word.values.is_empty() {
                return;
            }
            if word.text.contains(UNKNOWN) {
                self.error_at(ShellErrorKind::Ambiguous, at);
            }
            self.heredocs.push(Heredoc {
                delimiter: word.text,
                quoted: word.quoted,
                strip_tabs: *operator == "<<-",
                at,
                command: None,
            });
        } else {
            self.word();
        }
        if *operator == "<<<" {
            let values = self.found.used[before..].to_vec();
            list.command.stdin.extend(values);
        }
    }

    /// Reads a word and gives it its part in the command.
    fn accept(&mut self, list: &mut List) {
        let start = self.offset();
        let word = self.word();
        if word.values.is_empty() && word.text.chars().all(|c| c.is_ascii_digit()) && !word.quoted {
            // `2>file`: the number belongs to the redirection.
            if matches!(self.char_at(0), Some('<' | '>')) {
                return;
            }
        }
        if list.cases.last() == Some(&Case::Pattern) {
            if word.is_bare() && word.text == "esac" && list.expect == Expect::Command {
                list.cases.pop();
                self.close_compound(list);
            } else {
                list.expect = Expect::Argument;
            }
            return;
        }
        match list.expect {
            Expect::Command => self.first_word(list, word, start),
            Expect::Argument => list.command.words.push(word),
            Expect::LoopName | Expect::FunctionName => {
                for (place, _) in &word.values {
                    self.refuse(ShellErrorKind::Name, *place);
                }
                list.expect = if list.expect == Expect::LoopName { Expect::LoopIn } else { Expect::Command };
            }
            Expect::LoopIn if word.is_bare() && word.text == "do" => list.expect = Expect::Command,
            Expect::LoopIn | Expect::LoopWord => list.expect = Expect::LoopWord,
            Expect::CaseSubject => list.expect = Expect::CaseIn,
            Expect::CaseIn => {
                list.cases.push(Case::Pattern);
                list.expect = Expect::Command;
            }
        }
    }

    fn first_word(&mut self, list: &mut List, word: Word, start: usize) {
        if word.is_bare() && list.command.is_empty() {
            match word.text.as_str() {
                "then" | "elif" | "else" | "do" | "!" | "time" => return,
                "if" | "while" | "until" | "{" => {
                    list.around.push(list.pipeline);
                    return;
                }
                "for" | "select" => {
                    list.around.push(list.pipeline);
                    list.expect = Expect::LoopName;
                    return;
                }
                "case" => {
                    list.around.push(list.pipeline);
                    list.expect = Expect::CaseSubject;
                    return;
                }
                "esac" => {
                    list.cases.pop();
                    return self.close_compound(list);
                }
                "fi" | "done" | "}" => return self.close_compound(list),
                "function" => {
                    list.expect = Expect::FunctionName;
                    return;
                }
                "[[" => return self.brackets(start),
                _ => {}
            }
        }
        if word.assigned().is_some() {
            if word.bare == word.text.len() && word.text.ends_with('=') && self.char_at(0) == Some('(') {
                return self.array();
            }
            list.command.assignments.push(word);
            return;
        }
        list.command.words.push(word);
        list.expect = Expect::Argument;
    }

    /// What follows is piped from everything within the compound command.
    fn close_compound(&mut self, list: &mut List) {
        if let Some(pipeline) = list.around.pop() {
            list.pipeline = pipeline;
        }
        list.stage = list.pipeline;
        list.expect = Expect::Command;
    }

    /// `[[ … ]]`, which some shells have and others read as a command of that name.
    fn brackets(&mut self, start: usize) {
        self.forbidden.push(ShellErrorKind::Brackets);
        loop {
            match self.peek() {
                None => {
                    self.error_at(ShellErrorKind::Unfinished, start);
                    break;
                }
                Some(Symbol::Char(' ' | '\t' | '\n' | '(' | ')' | '<' | '>' | '|' | '&' | ';')) => {
                    self.take();
                }
                Some(_) => {
                    let word = self.word();
                    if word.is_bare() && word.text == "]]" {
                        break;
                    }
                }
            }
        }
        self.forbidden.pop();
    }

    fn array(&mut self) {
        let offset = self.offset();
        self.take();
        self.forbidden.push(ShellErrorKind::Array);
        loop {
            match self.peek() {
                None => {
                    self.error_at(ShellErrorKind::Unfinished, offset);
                    break;
                }
                Some(Symbol::Char(')')) => {
                    self.take();
                    break;
                }
                Some(Symbol::Char(' ' | '\t' | '\n' | '(' | '<' | '>' | '|' | '&' | ';')) => {
                    self.take();
                }
                Some(Symbol::Char('#')) => self.comment(),
                Some(_) => {
                    self.word();
                }
            }
        }
        self.forbidden.pop();
    }
}
