//! The command grammar: just enough of it to tell a command's name from its arguments, and the `)` of a `case`
//! pattern from the end of a subshell.

use super::{End, Heredoc, Scanner, Symbol};
use crate::shell::error::{ShellError, ShellErrorKind};
use crate::shell::word::{Command, UNKNOWN, Word};

/// The role of the next word of a command.
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
enum CaseState {
    Pattern,
    Body,
}

/// One list of commands: the script, a subshell, or what is within `$( )`.
struct CommandList {
    expect: Expect,
    command: Command,
    cases: Vec<CaseState>,
    /// How many values came before the pipeline, and before this command.
    pipeline: usize,
    stage: usize,
    /// The pipelines of the enclosing compound commands.
    around: Vec<usize>,
}

impl Scanner {
    pub(super) fn commands(&mut self, end: End) {
        let outer = std::mem::take(&mut self.heredocs);
        let values = self.found.used.len();
        let mut list = CommandList {
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
                Symbol::Char(')') if list.cases.last() == Some(&CaseState::Pattern) => {
                    self.take();
                    if let Some(case) = list.cases.last_mut() {
                        *case = CaseState::Body;
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
    pub(super) fn parenthesis(&mut self) {
        let offset = self.offset();
        self.take();
        self.deeper(|scanner| scanner.commands(End::Parenthesis));
        if self.take() != Some(')') {
            self.error_at(ShellErrorKind::Unfinished, offset);
        }
    }

    fn end_command(&mut self, list: &mut CommandList, piped: bool) {
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

    fn operator(&mut self, list: &mut CommandList) {
        const CASE_ENDS: &[&str] = &[";;&", ";;", ";&"];
        if let Some(operator) = CASE_ENDS.iter().find(|operator| self.sees(operator)) {
            self.take_many(operator.len());
            self.end_command(list, false);
            if let Some(case) = list.cases.last_mut() {
                *case = CaseState::Pattern;
            }
            return;
        }
        let piped = self.sees("|") && !self.sees("||");
        let length = if ["&&", "||", "|&"].iter().any(|operator| self.sees(operator)) { 2 } else { 1 };
        self.take_many(length);
        if list.cases.last() == Some(&CaseState::Pattern) {
            return;
        }
        self.end_command(list, piped);
    }

    fn open(&mut self, list: &mut CommandList) {
        let offset = self.offset();
        if list.cases.last() == Some(&CaseState::Pattern) && list.expect == Expect::Command {
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
                // A value in a comment is dropped.
                Symbol::Value(_) => self.at += 1,
            }
        }
    }

    fn redirection(&mut self, list: &mut CommandList) {
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

    /// Scans a word and assigns it its role in the command.
    fn accept(&mut self, list: &mut CommandList) {
        let start = self.offset();
        let word = self.word();
        if word.values.is_empty() && word.text.chars().all(|c| c.is_ascii_digit()) && !word.quoted {
            // `2>file`: the number belongs to the redirection.
            if matches!(self.char_at(0), Some('<' | '>')) {
                return;
            }
        }
        if list.cases.last() == Some(&CaseState::Pattern) {
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
                for (value, _) in &word.values {
                    self.refuse(ShellErrorKind::Name, *value);
                }
                list.expect = if list.expect == Expect::LoopName { Expect::LoopIn } else { Expect::Command };
            }
            Expect::LoopIn if word.is_bare() && word.text == "do" => list.expect = Expect::Command,
            Expect::LoopIn | Expect::LoopWord => list.expect = Expect::LoopWord,
            Expect::CaseSubject => list.expect = Expect::CaseIn,
            Expect::CaseIn => {
                list.cases.push(CaseState::Pattern);
                list.expect = Expect::Command;
            }
        }
    }

    fn first_word(&mut self, list: &mut CommandList, word: Word, start: usize) {
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

    /// A pipe after a compound command carries the output of everything within it.
    fn close_compound(&mut self, list: &mut CommandList) {
        if let Some(pipeline) = list.around.pop() {
            list.pipeline = pipeline;
        }
        list.stage = list.pipeline;
        list.expect = Expect::Command;
    }

    /// `[[ … ]]`, a keyword in some shells and a command name in others.
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
