//! Why a use case did not do its work: whose turn it is, what happened, what to do next.
//!
//! **Invariant:** a caller decides by `class` and `kind`, never by the words or the text of the code. Exit codes and HTTP
//! statuses are mapped from them by the callers that have them.

use std::fmt;
use std::path::Path;

use escrow_model::Plan;
use escrow_runtime::{SecretError, Secrets};
use escrow_store::{LookupError, StoreError};
use serde_json::Value;

use crate::diagnosed::Diagnosed;
use crate::documents;

/// Who has to act before the same request can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The author: usage, a bad playbook, bad input.
    Author,
    /// The world failed: I/O, database, network.
    World,
    /// A person: denied, blocked, or held by another process.
    Person,
    /// The caller stopped the work; there is nothing to repair.
    Stopped,
    /// The developers of Escrow.
    Bug,
}

/// What a caller acts on, beside who has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing has this name.
    NotFound,
    /// It is there, and not for this person.
    Forbidden,
    /// It was there.
    Gone,
    /// Another process drives the run.
    Held,
    /// Another run has what this one needs for itself.
    Conflict,
    Other,
}

#[derive(Debug)]
pub struct Error {
    class: Class,
    kind: Kind,
    code: &'static str,
    message: String,
    help: Option<String>,
    /// The problems of the file that the request named.
    diagnosed: Option<Box<Diagnosed>>,
}

impl Error {
    pub fn author(code: &'static str, message: impl Into<String>) -> Error {
        Error::new(Class::Author, code, message)
    }

    pub fn world(code: &'static str, message: impl Into<String>) -> Error {
        Error::new(Class::World, code, message)
    }

    pub fn person(code: &'static str, message: impl Into<String>) -> Error {
        Error::new(Class::Person, code, message)
    }

    pub fn not_found(code: &'static str, message: impl Into<String>) -> Error {
        Error { kind: Kind::NotFound, ..Error::author(code, message) }
    }

    pub fn forbidden(code: &'static str, message: impl Into<String>) -> Error {
        Error { kind: Kind::Forbidden, ..Error::person(code, message) }
    }

    pub fn gone(message: impl Into<String>) -> Error {
        Error { kind: Kind::Gone, ..Error::world("gone", message) }
    }

    pub(crate) fn held(message: impl Into<String>) -> Error {
        Error { kind: Kind::Held, ..Error::person("held", message) }
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Error {
        Error { kind: Kind::Conflict, ..Error::person("conflict", message) }
    }

    /// The work was not begun, because the app was asked to stop.
    pub fn stopped() -> Error {
        Error::new(Class::Stopped, "stopped", "stopped before the run began")
    }

    pub fn bug(message: impl Into<String>) -> Error {
        Error::new(Class::Bug, "bug", message)
    }

    fn new(class: Class, code: &'static str, message: impl Into<String>) -> Error {
        Error { class, kind: Kind::Other, code, message: message.into(), help: None, diagnosed: None }
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Error {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub fn diagnosed(mut self, diagnosed: Diagnosed) -> Error {
        self.diagnosed = Some(Box::new(diagnosed));
        self
    }

    /// The same error without the values of the plan's secrets: a message may quote what was typed.
    #[must_use]
    pub fn without_secrets_of(mut self, plan: &Plan, directory: &Path) -> Error {
        let secrets = Secrets::at_hand(plan, directory);
        for text in [Some(&mut self.message), self.help.as_mut()].into_iter().flatten() {
            secrets.redactor().text(text);
        }
        self
    }

    pub fn class(&self) -> Class {
        self.class
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Stable, for tools.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// What to do next.
    pub fn hint(&self) -> Option<&str> {
        self.help.as_deref()
    }

    pub fn diagnoses(&self) -> Option<&Diagnosed> {
        self.diagnosed.as_deref()
    }

    pub fn document(&self) -> Value {
        let diagnostics = self.diagnosed.as_ref().map_or(&[][..], |diagnosed| diagnosed.diagnostics());
        documents::error(self.code, &self.message, self.help.as_deref(), diagnostics)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        let help = error.help().to_owned();
        let error = Error::world("store", error.to_string());
        if help.is_empty() { error } else { error.help(help) }
    }
}

impl From<SecretError> for Error {
    fn from(error: SecretError) -> Error {
        let message = error.to_string();
        if error.is_of_the_author() {
            Error::author("secret", message).help("a check needs it; nothing was run")
        } else {
            Error::world("secret", message)
                .help("run it by hand to see why; its output is not shown, because it may contain the secret")
        }
    }
}

impl From<LookupError> for Error {
    fn from(error: LookupError) -> Error {
        match error {
            LookupError::Store(error) => error.into(),
            LookupError::None(_) => {
                Error::not_found("unknown_run", error.to_string()).help("`escrow runs` lists them")
            }
            LookupError::Ambiguous { .. } => {
                Error::author("ambiguous_run", error.to_string()).help("give more of the id")
            }
        }
    }
}
