//! The expression language and the templates: parse once, evaluate within a budget, explain.
//!
//! **Invariant:** no clock, no randomness, no I/O. Every evaluation ends within its budget, whatever the
//! input, and says why when it cannot give a value.

mod scope;
pub mod template;

pub use scope::{Given, JsonScope, List, Object, Scope};
pub use template::{
    Condition, Read, ShellError, ShellErrorKind, ShellScript, Step, Template, TemplateError, TemplateFault,
};
mod stub;
pub use stub::*;
