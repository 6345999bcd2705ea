//! Which values a template reads, known before it is rendered.

use std::fmt;
use std::ops::Range;

/// A free name of a template with the members it reads of it, as far as they are written literally:
/// `outputs.lint.files[0]`, but only `outputs` of `outputs[item].files`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub name: String,
    pub path: Vec<Step>,
    pub span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Member(String),
    Item(usize),
}

impl Read {
    /// The path up to and including its first `steps` members, as one would write it.
    pub(crate) fn written(&self, steps: usize) -> String {
        let mut text = self.name.clone();
        for step in self.path.iter().take(steps) {
            match step {
                Step::Member(name) if is_identifier(name) => {
                    text.push('.');
                    text.push_str(name);
                }
                Step::Member(name) => {
                    text.push_str(&format!("[{}]", serde_json::Value::from(name.as_str())));
                }
                Step::Item(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(self.path.len()))
    }
}

fn is_identifier(name: &str) -> bool {
    name.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
