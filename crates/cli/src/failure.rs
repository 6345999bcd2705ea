//! Errors as people and tools see them: whose fault, what happened, what to do next.

use std::fmt;
use std::sync::Arc;

use escrow_playbook::Diagnostic;
use escrow_runtime::redaction::Redactor;
use escrow_runtime::secrets::SecretError;
use escrow_store::{LookupError, StoreError};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::terminal::Ui;

/// Why a verb could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    code: &'static str,
    message: String,
    help: Option<String>,
    diagnostics: Vec<Diagnostic>,
    /// What was already written about it, such as rendered diagnostics.
    rendered: Option<String>,
}

impl Failure {
    /// The author must act: usage, a bad playbook, bad input.
    pub(crate) fn author(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(Exit::AuthorMustAct, code, message)
    }

    /// The world failed: I/O, database, network.
    pub(crate) fn world(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(Exit::WorldFailed, code, message)
    }

    /// Denied, blocked, or somebody else holds it.
    pub(crate) fn person(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(Exit::PersonMustAct, code, message)
    }

    /// Escrow itself is wrong.
    pub(crate) fn bug(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Bug, "bug", message)
    }

    fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Failure {
        Failure { exit, code, message: message.into(), help: None, diagnostics: Vec::new(), rendered: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }

    /// The same, without what must not be said.
    pub(crate) fn redacted(mut self, redactor: &Arc<Redactor>) -> Failure {
        for text in [Some(&mut self.message), self.help.as_mut(), self.rendered.as_mut()] {
            text.map(|text| redactor.text(text));
        }
        self
    }

    pub(crate) fn diagnosed(message: String, diagnostics: Vec<Diagnostic>, rendered: String) -> Failure {
        Failure::diagnosed_as("bad_playbook", message, diagnostics, rendered)
    }

    /// The same, of a file that is no playbook.
    pub(crate) fn diagnosed_as(
        code: &'static str,
        message: String,
        diagnostics: Vec<Diagnostic>,
        rendered: String,
    ) -> Failure {
        let mut failure = Failure::author(code, message);
        failure.diagnostics = diagnostics;
        failure.rendered = Some(rendered);
        failure
    }

    pub(crate) fn from_error(error: anyhow::Error) -> Failure {
        match error.downcast::<Failure>() {
            Ok(failure) => failure,
            Err(error) => Failure::world("error", format!("{error:#}")),
        }
    }

    pub(crate) fn code(&self) -> Exit {
        self.exit
    }

    /// On stderr for people, and on stdout as well when the output is JSON.
    pub(crate) fn tell(&self, ui: &Ui) {
        if let Some(rendered) = &self.rendered {
            ui.say_even_when_quiet(rendered.trim_end());
        }
        ui.error(&self.message, self.help.as_deref());
        ui.data_if_machine(&self.document());
    }

    pub(crate) fn document(&self) -> Value {
        json!({ "error": {
            "code": self.code,
            "message": self.message,
            "help": self.help,
            "diagnostics": self.diagnostics,
        } })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let help = error.help().to_owned();
        let failure = Failure::world("store", error.to_string());
        if help.is_empty() { failure } else { failure.help(help) }
    }
}

impl From<SecretError> for Failure {
    fn from(error: SecretError) -> Failure {
        let message = error.to_string();
        if error.is_of_the_author() {
            Failure::author("secret", message).help("a check needs it; nothing was run")
        } else {
            Failure::world("secret", message)
                .help("run it by hand to see why; its output is not shown, because it may contain the secret")
        }
    }
}

impl From<LookupError> for Failure {
    fn from(error: LookupError) -> Failure {
        match error {
            LookupError::Store(error) => error.into(),
            LookupError::None(_) => {
                Failure::author("unknown_run", error.to_string()).help("`escrow runs` lists them")
            }
            LookupError::Ambiguous { .. } => {
                Failure::author("ambiguous_run", error.to_string()).help("give more of the id")
            }
        }
    }
}
