//! The values that a template reads, known before it is rendered.

use std::fmt;
use std::ops::Range;

/// A free name of a template with its literal members: `outputs.lint.files[0]`, but only `outputs` of
/// `outputs[item].files`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateRead {
    pub name: String,
    pub path: Vec<PathStep>,
    pub span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    Member(String),
    Item(usize),
}

impl TemplateRead {
    /// The path with its first `steps` members, in template syntax.
    pub(crate) fn written(&self, steps: usize) -> String {
        let mut text = self.name.clone();
        for step in self.path.iter().take(steps) {
            match step {
                PathStep::Member(name) if is_identifier(name) => {
                    text.push('.');
                    text.push_str(name);
                }
                PathStep::Member(name) => {
                    text.push_str(&format!("[{}]", serde_json::Value::from(name.as_str())));
                }
                PathStep::Item(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }
}

impl fmt::Display for TemplateRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(self.path.len()))
    }
}

fn is_identifier(name: &str) -> bool {
    name.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
