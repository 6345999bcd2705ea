//! The command grammar: just enough of it to tell a command's name from its arguments, and the `)` of a `case`
//! pattern from the end of a subshell.

use super::{End, Heredoc, Scanner, Symbol};
use crate::shell::error::{ShellError, ShellErrorKind};
use crate::shell::rules::SUBSTITUTION;
use crate::shell::word::{Command, Flow, UNKNOWN, Word, is_name};

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
    /// The next command reads the output of the one before.
    is_fed: bool,
    /// The variable of the `for` that is being read.
    loop_name: String,
    /// The word before the first of the command: `time` or `coproc`.
    prefix: Option<Word>,
}

impl Scanner {
    pub(super) fn commands(&mut self, end: End) {
        let outer = std::mem::take(&mut self.heredocs);
        let mut list = CommandList {
            expect: Expect::Command,
            command: Command::default(),
            cases: Vec::new(),
            is_fed: false,
            loop_name: String::new(),
            prefix: None,
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
        command.is_piped = piped;
        command.is_fed |= list.is_fed;
        // `exec < file` changes what every later command reads.
        if let [word] = command.called() {
            self.found.feeds |= word.text == "exec";
        }
        // A newline behind a `|` ends nothing.
        list.is_fed = piped || (list.is_fed && command.does_nothing());
        if !command.does_nothing() {
            self.found.commands.push(command);
        }
        list.expect = Expect::Command;
        list.prefix = None;
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
        let at = self.offset();
        let length = if ["&&", "||", "|&"].iter().any(|operator| self.sees(operator)) { 2 } else { 1 };
        self.take_many(length);
        if list.cases.last() == Some(&CaseState::Pattern) {
            return;
        }
        self.end_command(list, piped);
        if piped {
            self.found.pipes.push((at, self.found.commands.len().saturating_sub(1)));
        }
    }

    fn open(&mut self, list: &mut CommandList) {
        let offset = self.offset();
        if list.cases.last() == Some(&CaseState::Pattern) && list.expect == Expect::Command {
            self.take();
        } else if list.expect == Expect::Command || list.expect == Expect::LoopName {
            if self.sees("((") {
                self.within(ShellErrorKind::Arithmetic, |scanner| scanner.balanced(offset));
            } else {
                self.found.feeds |= list.is_fed;
                self.parenthesis();
            }
        } else if list.command.words.len() == 1
            && list.command.assignments.is_empty()
            && self.closes_at_once()
        {
            // A function: its name is not a command, and its body follows.
            while self.take() != Some(')') {}
            let name = list.command.words.first().map_or_else(String::new, |word| word.text.clone());
            self.found.functions.push(name);
            self.found.feeds = true;
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
        list.command.is_fed |= operator.starts_with('<');
        list.command.reads_literal &= !operator.starts_with('<');
        if operator.starts_with('<') && list.command.is_empty() {
            // A group, or what follows it in the same command, reads from here.
            self.found.feeds = true;
        }
        if matches!(*operator, "<<" | "<<-") {
            let mut word = Word::default();
            self.within(ShellErrorKind::HeredocDelimiter, |scanner| word = scanner.word());
            if !word.values.is_empty() {
                return;
            }
            if word.text.contains(UNKNOWN) {
                self.error_at(ShellErrorKind::Ambiguous, at);
            }
            list.command.reads_literal = word.quoted;
            self.heredocs.push(Heredoc {
                delimiter: word.text,
                quoted: word.quoted,
                strip_tabs: *operator == "<<-",
                is_fed: list.is_fed,
                at,
            });
        } else {
            let word = self.word();
            if matches!(*operator, "<&" | ">&") {
                list.command.duplicated.push(word.clone());
            }
            if operator.starts_with('>') || *operator == "<>" {
                list.command.writes.push(word);
            } else if *operator == "<<<" {
                self.found.fed.push(word.text);
            }
        }
    }

    /// Scans a word and assigns it its role in the command.
    fn accept(&mut self, list: &mut CommandList) {
        let start = self.offset();
        let word = self.word();
        // A substitution in it reads what is piped into the command.
        self.found.feeds |= list.is_fed && word.substitutes;
        if word.values.is_empty() && word.text.chars().all(|c| c.is_ascii_digit()) && !word.quoted {
            // `2>file`: the number belongs to the redirection.
            if matches!(self.char_at(0), Some('<' | '>')) {
                return;
            }
        }
        if matches!(self.char_at(0), Some('<' | '>')) && self.is_descriptor(&word) {
            return;
        }
        if list.cases.last() == Some(&CaseState::Pattern) {
            if word.is_bare() && word.text == "esac" && list.expect == Expect::Command {
                list.cases.pop();
                list.expect = Expect::Command;
            } else {
                list.expect = Expect::Argument;
            }
            return;
        }
        match list.expect {
            Expect::Command => self.first_word(list, word, start),
            Expect::Argument => {
                let declares = list.command.called().first().is_some_and(|first| {
                    matches!(first.text.as_str(), "declare" | "export" | "local" | "readonly" | "typeset")
                });
                if declares && self.begins_array(&word) {
                    self.assigns_array(&word);
                }
                list.command.words.push(word);
            }
            Expect::LoopName | Expect::FunctionName => {
                for (value, _) in &word.values {
                    self.refuse(ShellErrorKind::Name, *value);
                }
                if list.expect == Expect::FunctionName {
                    self.found.functions.push(word.text.clone());
                    self.found.feeds = true;
                } else {
                    // Without `in`, the loop is over the parameters.
                    let from = vec!["@".to_owned()];
                    let (to, span) = (word.text.clone(), word.span.clone());
                    self.found.flows.push(Flow { to, span, has_value: false, from, text: None });
                    list.loop_name.clone_from(&word.text);
                }
                list.expect = if list.expect == Expect::LoopName { Expect::LoopIn } else { Expect::Command };
            }
            Expect::LoopIn if word.is_bare() && word.text == "do" => list.expect = Expect::Command,
            Expect::LoopIn if word.is_bare() && word.text == "in" => {
                self.found.flows.pop();
                list.expect = Expect::LoopWord;
            }
            Expect::LoopIn | Expect::LoopWord => {
                let has_value = !word.all_values.is_empty();
                let mut from = word.names.clone();
                if word.substitutes {
                    from.push(SUBSTITUTION.to_owned());
                }
                let (to, span) = (list.loop_name.clone(), word.span.clone());
                self.found.flows.push(Flow { to, span, has_value, from, text: Some(word) });
                list.expect = Expect::LoopWord;
            }
            Expect::CaseSubject => list.expect = Expect::CaseIn,
            Expect::CaseIn => {
                list.cases.push(CaseState::Pattern);
                list.expect = Expect::Command;
            }
        }
    }

    fn first_word(&mut self, list: &mut CommandList, word: Word, start: usize) {
        if let Some(prefix) = list.prefix.take() {
            match prefix.text.as_str() {
                // An option of the keyword, or of the program of that name.
                "time" if matches!(word.text.as_str(), "-p" | "--") => {
                    list.prefix = Some(prefix);
                    return;
                }
                "time" if word.text.starts_with('-') => {
                    list.command.words.extend([prefix, word]);
                    list.expect = Expect::Argument;
                    return;
                }
                // `coproc NAME { …; }`
                "coproc" if word.is_bare() && is_name(&word.text) && self.begins_compound() => return,
                _ => {}
            }
        }
        if word.is_bare() && list.command.is_empty() {
            match word.text.as_str() {
                "then" | "elif" | "else" | "do" | "!" => return,
                "time" => {
                    list.prefix = Some(word);
                    return;
                }
                "coproc" => {
                    // Its input is what the script writes to it.
                    self.found.feeds = true;
                    list.prefix = Some(word);
                    return;
                }
                "if" | "while" | "until" | "{" => {
                    self.found.feeds |= list.is_fed;
                    return;
                }
                "for" | "select" => {
                    // `select` assigns what it reads.
                    self.found.feeds |= list.is_fed || word.text == "select";
                    if word.text == "select" {
                        let (to, span) = ("REPLY".to_owned(), word.span.clone());
                        self.found.flows.push(Flow {
                            to,
                            span,
                            has_value: true,
                            from: Vec::new(),
                            text: None,
                        });
                    }
                    list.expect = Expect::LoopName;
                    return;
                }
                "case" => {
                    self.found.feeds |= list.is_fed;
                    list.expect = Expect::CaseSubject;
                    return;
                }
                "esac" => {
                    list.cases.pop();
                    list.expect = Expect::Command;
                    return;
                }
                "fi" | "done" | "}" => {
                    list.expect = Expect::Command;
                    return;
                }
                "function" => {
                    list.expect = Expect::FunctionName;
                    return;
                }
                "[[" => return self.brackets(start),
                _ => {}
            }
        }
        if let Some((_, subscript)) = word.subscripted() {
            self.subscript(&word, subscript);
        }
        if word.assigned().is_some() {
            if self.begins_array(&word) {
                return self.assigns_array(&word);
            }
            list.command.assignments.push(word);
            return;
        }
        list.command.words.push(word);
        list.expect = Expect::Argument;
    }

    /// Whether `NAME=` was read, and `(` follows.
    fn begins_array(&self, word: &Word) -> bool {
        word.assigned().is_some()
            && word.bare == word.text.len()
            && word.text.ends_with('=')
            && self.char_at(0) == Some('(')
    }

    fn assigns_array(&mut self, word: &Word) {
        let before = self.found.names.len();
        let substitutes = self.array();
        let mut from = self.found.names[before..].to_vec();
        if substitutes {
            // A substitution within it may print anything.
            from.push(SUBSTITUTION.to_owned());
        }
        let (to, span) = (word.assigned().unwrap_or_default().to_owned(), word.span.clone());
        self.found.flows.push(Flow { to, span, has_value: false, from, text: None });
    }

    /// `[[ … ]]`, a keyword in some shells and a command name in others.
    fn brackets(&mut self, start: usize) {
        const COMPARES: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        let mut words = Vec::new();
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
                    words.push(word);
                }
            }
        }
        self.forbidden.pop();
        for (index, word) in words.iter().enumerate() {
            if COMPARES.contains(&word.text.as_str()) {
                let left = index.checked_sub(1).and_then(|left| words.get(left));
                for operand in left.into_iter().chain(words.get(index + 1)) {
                    self.computes_word(&operand.text, operand);
                }
            } else if let Some(operand) = words.get(index + 1)
                && matches!(word.text.as_str(), "-v" | "-R")
            {
                self.computes_name(operand);
            }
        }
    }

    /// The subscript of an assignment is computed. No value can stand in it.
    fn subscript(&mut self, word: &Word, subscript: &str) {
        let begin = word.text.find('[').unwrap_or_default();
        let within = begin..=begin + subscript.len();
        let is_unknown = subscript.contains(UNKNOWN) && word.substitutes;
        for value in &word.all_values {
            let at = word.values.iter().find(|(number, _)| number == value).map(|(_, at)| at);
            if at.map_or(is_unknown, |at| within.contains(at)) {
                self.refuse(ShellErrorKind::Arithmetic, *value);
            }
        }
        self.computes_word(subscript, word);
    }

    /// `{name[…]}>file`: bash puts the number of the descriptor into the variable, and computes the subscript.
    fn is_descriptor(&mut self, word: &Word) -> bool {
        let Some(name) = word.text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
            return false;
        };
        let (name, subscript) = name.split_once('[').unwrap_or((name, ""));
        if !is_name(name) {
            return false;
        }
        for value in &word.all_values {
            self.refuse(ShellErrorKind::Arithmetic, *value);
        }
        if !subscript.is_empty() {
            self.computes_word(subscript.trim_end_matches(']'), word);
        }
        let (to, span) = (name.to_owned(), word.span.clone());
        self.found.flows.push(Flow { to, span, has_value: false, from: Vec::new(), text: None });
        true
    }

    /// A word that names a variable: its subscript is computed, and all of it where it is not known.
    fn computes_name(&mut self, word: &Word) {
        let text = match word.subscripted() {
            Some((_, subscript)) => subscript.to_owned(),
            None => {
                word.text.split_once('[').map_or(UNKNOWN.to_string(), |(_, subscript)| subscript.to_owned())
            }
        };
        self.computes_word(&text, word);
    }

    /// Whether a compound command follows, behind blanks.
    fn begins_compound(&self) -> bool {
        const KEYWORDS: &[&str] = &["case ", "for ", "if ", "select ", "until ", "while ", "[[ ", "{", "("];
        let mut ahead = 0;
        while matches!(self.char_at(ahead), Some(' ' | '\t')) {
            ahead += 1;
        }
        let follows =
            |keyword: &str| keyword.chars().enumerate().all(|(at, c)| self.char_at(ahead + at) == Some(c));
        KEYWORDS.iter().any(|keyword| follows(keyword))
    }

    /// The elements of an array; whether a command prints one of them.
    fn array(&mut self) -> bool {
        let mut substitutes = false;
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
                    let word = self.word();
                    substitutes |= word.substitutes;
                    if let Some(element) = word.text.strip_prefix('[') {
                        let end = element.find("]=").unwrap_or(element.len());
                        self.computes_word(&element[..end], &word);
                    }
                }
            }
        }
        self.forbidden.pop();
        substitutes
    }
}
