//! Sources that a person wrote and the engine runs: kept with their text, compiled once, stored as text.

use std::fmt;
use std::sync::Arc;

use escrow_expr::Program;
use escrow_template::{Condition, ShellScript, Template};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A stored source that no longer parses: it was written by another version, or changed.
#[derive(Debug, Error)]
#[error("a stored source does not parse: {0}")]
pub struct SourceError(String);

macro_rules! source {
    ($(#[$doc:meta])* $name:ident($inner:ty), $parse:expr) => {
        $(#[$doc])*
        #[derive(Clone, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name {
            source: Arc<str>,
            compiled: Arc<$inner>,
        }

        impl $name {
            /// What was compiled, with the text it was compiled from.
            pub fn new(source: &str, compiled: $inner) -> $name {
                $name { source: source.into(), compiled: Arc::new(compiled) }
            }

            pub fn source(&self) -> &str {
                &self.source
            }
        }

        impl std::ops::Deref for $name {
            type Target = $inner;

            fn deref(&self) -> &$inner {
                &self.compiled
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                self.source() == other.source()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, concat!(stringify!($name), "({:?})"), self.source())
            }
        }

        impl TryFrom<String> for $name {
            type Error = SourceError;

            fn try_from(text: String) -> Result<$name, SourceError> {
                $parse(&text).map(|compiled| $name::new(&text, compiled))
            }
        }

        impl From<$name> for String {
            fn from(source: $name) -> String {
                source.source().to_owned()
            }
        }
    };
}

source!(
    /// A single expression: `if`, `assume`, `guarantee`, `fail_if`, `when`.
    Expression(Program),
    |text: &str| Program::expression(text).map_err(|error| SourceError(error.to_string()))
);
source!(
    /// A statement block: `run_js`, `goto_js`, `script`.
    Block(Program),
    |text: &str| Program::block(text).map_err(|error| SourceError(error.to_string()))
);
source!(
    /// A template.
    Text(Template),
    |text: &str| Template::parse(text).map_err(|error| SourceError(error.to_string()))
);
source!(
    /// A shell script whose insertions never reach the shell's parser.
    Shell(ShellScript),
    |text: &str| ShellScript::parse(text).map_err(|errors| SourceError(
        errors.first().map(ToString::to_string).unwrap_or_default()
    ))
);
source!(
    /// The `condition` of a chain's step: a Jinja expression.
    StepCondition(Condition),
    |text: &str| Condition::parse(text).map_err(|error| SourceError(error.to_string()))
);
