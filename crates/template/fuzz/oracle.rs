//! A second, much simpler reader of shell: where may a value stand in a script that was accepted?
//!
//! It shares nothing with the scanner, and understands only plain commands: words, quotes, `$name`, assignments,
//! redirections, `;`, `&`, `|` and newlines. It has no opinion about a script with anything else in it.

use std::collections::BTreeSet;

use escrow_template::VARIABLE_PREFIX;

/// A word of a plain command, and where a reference to a value or to a variable stands in it.
#[derive(Debug, Default)]
struct Word {
    text: String,
    names: Vec<String>,
    /// What was written before the first expansion.
    prefix: Option<String>,
    /// Some of it is in quotes, so it stays a word when its variables are empty.
    quoted: bool,
    /// A quote or a backslash stands before any `=`, so it assigns nothing.
    names_nothing: bool,
    /// The variables in it without quotes, each of which may be several words.
    split: Vec<String>,
    /// It stands behind `>&`, where bash expands it twice.
    duplicated: bool,
}

impl Word {
    fn quote(&mut self) {
        self.quoted = true;
        self.names_nothing |= !self.text.contains('=');
    }
}

/// Panics when a value stands where a shell would read it as code. `None` when the script is not a plain one.
pub(crate) fn judge(script: &str) -> Option<()> {
    let commands = read(script)?;
    let mut tainted: BTreeSet<String> = BTreeSet::new();
    let holds = |tainted: &BTreeSet<String>, word: &Word| {
        word.names.iter().any(|name| name.starts_with(VARIABLE_PREFIX) || tainted.contains(name))
    };
    let splits =
        |tainted: &BTreeSet<String>, word: &Word| word.split.iter().any(|name| tainted.contains(name));
    // What is assigned anywhere is known everywhere: the order of commands is not looked at.
    loop {
        let before = tainted.len();
        for word in commands.iter().flatten() {
            if let Some(name) = assigned(word)
                && holds(&tainted, word)
            {
                tainted.insert(name.to_owned());
            }
        }
        if tainted.len() == before {
            break;
        }
    }
    for command in &commands {
        let (duplicated, command): (Vec<&Word>, Vec<&Word>) =
            command.iter().partition(|word| word.duplicated);
        let found = duplicated.iter().find(|word| holds(&tainted, word));
        assert!(found.is_none(), "bash expands {found:?} twice in {script:?}");
        let words = command
            .into_iter()
            .skip_while(|word| {
                matches!(word.text.as_str(), "!" | "if" | "then" | "else" | "elif" | "while" | "until" | "do")
            })
            .skip_while(|word| assigned(word).is_some());
        // A word of variables alone is no word where they are empty; the next one is the name then.
        let mut words = words.skip_while(|word| {
            word.text.is_empty() && !word.quoted && !word.names.is_empty() && !holds(&tainted, word)
        });
        let Some(name) = words.next() else { continue };
        let is_path = name.prefix.as_ref().is_some_and(|prefix| prefix.contains('/'));
        assert!(is_path || !holds(&tainted, name), "a value is the name of a command in {script:?}");
        let arguments: Vec<&Word> = words.collect();
        // A program that no literal assignment names may be an interpreter.
        let is_named = |name: &String| {
            commands.iter().flatten().any(|word| assigned(word) == Some(name) && word.names.is_empty())
        };
        if !name.text.contains('/') && !name.names.iter().all(is_named) {
            let found = arguments.iter().find(|word| holds(&tainted, word));
            assert!(found.is_none(), "a program that is not known gets {found:?} in {script:?}");
        }
        for (option, code) in abbreviated(&name.text, &arguments) {
            assert!(!holds(&tainted, code), "`{option}` runs {code:?} in {script:?}");
        }
        match name.text.as_str() {
            "declare" | "export" | "unset" => {
                let names_one = |word: &&&Word| {
                    holds(&tainted, word) && (assigned(word).is_none() || splits(&tainted, word))
                };
                let found = arguments.iter().find(names_one);
                assert!(found.is_none(), "{found:?} names a variable in {script:?}");
            }
            "timeout" => {
                let found = arguments.first().filter(|word| splits(&tainted, word));
                assert!(found.is_none(), "{found:?} may hold a command in {script:?}");
            }
            "eval" | "." | "source" | "trap" | "let" => {
                let found = arguments.iter().find(|word| holds(&tainted, word));
                assert!(found.is_none(), "`{}` reads {found:?} as code in {script:?}", name.text);
            }
            "sh" | "bash" | "dash" => {
                if arguments.first().is_some_and(|word| word.text == "-c") {
                    let code = arguments.get(1);
                    assert!(
                        !code.is_some_and(|word| holds(&tainted, word)),
                        "the code is {code:?} in {script:?}"
                    );
                }
                assert!(!arguments.is_empty(), "a shell reads its input in {script:?}");
            }
            _ => {}
        }
    }
    Some(())
}

/// The words that some programs run: those of an option that takes code and may be abbreviated, and behind it.
fn abbreviated<'a>(program: &str, arguments: &[&'a Word]) -> Vec<(String, &'a Word)> {
    let options: &[&str] = match program {
        "env" => &["--split-string"],
        "git" => &["--exec", "--upload-pack"],
        "sort" => &["--compress-program"],
        "split" => &["--filter"],
        "tar" => &["--checkpoint-action", "--to-command", "--use-compress-program"],
        _ => &[],
    };
    let mut found = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let written = word.prefix.as_deref().unwrap_or(&word.text);
        let (option, is_joined) = match written.split_once('=') {
            Some((option, _)) => (option, true),
            None => (written, word.prefix.is_some()),
        };
        if option.len() > 2 && options.iter().any(|known| known.starts_with(option)) {
            found.push((option.to_owned(), *word));
            found.extend(
                arguments.get(index + 1).filter(|_| !is_joined).map(|next| (option.to_owned(), *next)),
            );
        }
    }
    found
}

fn assigned(word: &Word) -> Option<&str> {
    if word.names_nothing {
        return None;
    }
    let literal = word.prefix.as_deref().unwrap_or(&word.text);
    let (name, _) = literal.split_once('=')?;
    // `a+=b` appends in some shells, and is the name of no command in others.
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    is_name.then_some(name)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Bare,
    Single,
    Double,
}

fn read(script: &str) -> Option<Vec<Vec<Word>>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<Word> = None;
    let mut state = State::Bare;
    let mut redirected = false;
    let mut duplicates = false;
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match (state, c) {
            (State::Single, '\'') => state = State::Bare,
            (State::Single, c) => word.get_or_insert_default().text.push(c),
            (_, '`' | '\r') => return None,
            (State::Bare, '(' | ')' | '{' | '}' | '#' | '[' | '~' | '*' | '?') => return None,
            (_, '\\') => match chars.next()? {
                '\n' => {}
                c => {
                    let word = word.get_or_insert_default();
                    word.quote();
                    word.text.push(c);
                }
            },
            (_, '$') => {
                let is_braced = chars.next_if_eq(&'{').is_some();
                let mut name = String::new();
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                if name.is_empty() || is_braced && chars.next() != Some('}') {
                    return None;
                }
                if name.starts_with(VARIABLE_PREFIX) {
                    assert!(state == State::Double, "a value is split into words in {script:?}");
                }
                let word = word.get_or_insert_default();
                word.split.extend((state == State::Bare).then(|| name.clone()));
                word.prefix.get_or_insert(word.text.clone());
                word.names.push(name);
            }
            (State::Double, '"') => state = State::Bare,
            (State::Double, c) => word.get_or_insert_default().text.push(c),
            (State::Bare, '\'') => {
                word.get_or_insert_default().quote();
                state = State::Single;
            }
            (State::Bare, '"') => {
                word.get_or_insert_default().quote();
                state = State::Double;
            }
            (State::Bare, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>') => {
                if let Some(word) = word.take() {
                    let is_descriptor = matches!(c, '<' | '>')
                        && word.names.is_empty()
                        && !word.quoted
                        && word.text.bytes().all(|b| b.is_ascii_digit());
                    let is_grammar = matches!(
                        word.text.as_str(),
                        "case" | "for" | "function" | "select" | "coproc" | "in" | "esac" | "time"
                    );
                    if is_grammar {
                        return None;
                    }
                    if (!redirected || duplicates) && !is_descriptor {
                        let word = Word { duplicated: duplicates, ..word };
                        commands.last_mut().expect("there is a first").push(word);
                    }
                    redirected = false;
                    duplicates = false;
                }
                match c {
                    // A redirection to nothing is an error in every shell.
                    '\n' | ';' | '|' | '&' | '<' | '>' if redirected => return None,
                    '\n' | ';' | '|' | '&' => commands.push(Vec::new()),
                    '<' if chars.peek() == Some(&'<') => return None,
                    '<' | '>' => {
                        duplicates = chars.next_if(|next| matches!(next, '>' | '&' | '|')) == Some('&');
                        redirected = true;
                    }
                    _ => {}
                }
            }
            (State::Bare, c) => word.get_or_insert_default().text.push(c),
        }
    }
    if state != State::Bare {
        return None;
    }
    let word = word.map(|word| Word { duplicated: duplicates, ..word });
    commands.last_mut().expect("there is a first").extend(word.filter(|_| !redirected || duplicates));
    Some(commands)
}
