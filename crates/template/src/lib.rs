//! Jinja templates and conditions, and how a value reaches a shell safely.
//!
//!   source ──parse──▶ Template ──render(scope)──▶ text
//!                              ──value(scope)───▶ JSON, when it is one `{{ }}`
//!   source ──parse──▶ Condition ──holds(scope)──▶ true or false
//!                              ──parts(scope)───▶ the same text, its values told apart ──▶ a safe URL
//!   exec   ──parse──▶ ShellScript ──script()────▶ constant shell text
//!                                 ──render(scope)▶ variables for its environment
//!
//! **Invariant:** no clock, no randomness, no I/O. A rendering ends within its limits for every template and
//! every value, and reads nothing but its scope. A value never becomes part of a shell script.

mod absent;
mod budget;
mod condition;
mod convert;
mod engine;
mod error;
mod filters;
pub mod limits;
mod parse;
mod parts;
mod reads;
mod rewrite;
mod shell;
mod steering;
mod syntax;
mod template;
mod text;
mod url;

pub use condition::{Condition, SeenRead, SeenValue};
pub use error::{RenderError, TemplateError};
pub use parts::Part;
pub use reads::{PathStep, TemplateRead};
pub use shell::{
    ShellError, ShellErrorKind, ShellScript, Survey, SurveyedCommand, SurveyedWrite, VARIABLE_PREFIX,
    check_arguments, check_arguments_with, check_fed_script, check_script, is_other_interpreter,
    is_posix_shell, is_read_as_code, survey_arguments, survey_script, without_comments,
};
pub use steering::{STEERING_NAMES, SteeringNames, steered_by};
pub use template::Template;
pub use url::percent_encoded;
