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
}

/// Panics when a value stands where a shell would read it as code. `None` when the script is not a plain one.
pub(crate) fn judge(script: &str) -> Option<()> {
    let commands = read(script)?;
    let mut tainted: BTreeSet<String> = BTreeSet::new();
    let holds = |tainted: &BTreeSet<String>, word: &Word| {
        word.names.iter().any(|name| name.starts_with(VARIABLE_PREFIX) || tainted.contains(name))
    };
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
        let words = command
            .iter()
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
        match name.text.as_str() {
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

fn assigned(word: &Word) -> Option<&str> {
    let literal = word.prefix.as_deref().unwrap_or(&word.text);
    let (name, _) = literal.split_once('=')?;
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
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match (state, c) {
            (State::Single, '\'') => state = State::Bare,
            (State::Single, c) => word.get_or_insert_default().text.push(c),
            (_, '`' | '\r') => return None,
            (State::Bare, '(' | ')' | '{' | '}' | '#' | '[' | '~' | '*' | '?') => return None,
            (_, '\\') => match chars.next()? {
                '\n' => {}
                c => word.get_or_insert_default().text.push(c),
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
                word.prefix.get_or_insert(word.text.clone());
                word.names.push(name);
            }
            (State::Double, '"') => state = State::Bare,
            (State::Double, c) => word.get_or_insert_default().text.push(c),
            (State::Bare, '\'') => {
                word.get_or_insert_default().quoted = true;
                state = State::Single;
            }
            (State::Bare, '"') => {
                word.get_or_insert_default().quoted = true;
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
                    if !redirected && !is_descriptor {
                        commands.last_mut().expect("there is a first").push(word);
                    }
                    redirected = false;
                }
                match c {
                    // A redirection to nothing is an error in every shell.
                    '\n' | ';' | '|' | '&' | '<' | '>' if redirected => return None,
                    '\n' | ';' | '|' | '&' => commands.push(Vec::new()),
                    '<' if chars.peek() == Some(&'<') => return None,
                    '<' | '>' => {
                        let _ = chars.next_if(|next| matches!(next, '>' | '&' | '|'));
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
    commands.last_mut().expect("there is a first").extend(word.filter(|_| !redirected));
    Some(commands)
}
