//! The problems of a file, without the values of secrets: they quote lines of the file, and the author may have
//! written down a value that should not be there.

use std::path::Path;
use std::sync::Arc;

use escrow_model::Secret;
use escrow_playbook::{Diagnostic, Severity, render, render_within};
use escrow_runtime::{Redactor, Secrets};

#[derive(Debug)]
pub struct Diagnosed {
    diagnostics: Vec<Diagnostic>,
    /// The file that they point into.
    text: String,
    redactor: Arc<Redactor>,
}

impl Diagnosed {
    /// `secrets` are those that the file declares, as far as it could be read.
    pub fn new(mut diagnostics: Vec<Diagnostic>, text: impl Into<String>, secrets: &[Secret]) -> Diagnosed {
        let redactor = Secrets::redactor_of(secrets, Path::new("."));
        for diagnostic in &mut diagnostics {
            redactor.text(&mut diagnostic.message);
            redactor.text(&mut diagnostic.label);
            if let Some(help) = &mut diagnostic.help {
                redactor.text(help);
            }
        }
        Diagnosed { diagnostics, text: text.into(), redactor }
    }

    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|one| one.severity == Severity::Error).count()
    }

    /// With the lines that they point at.
    pub fn rendered(&self, columns: Option<usize>, is_coloured: bool) -> String {
        let mut rendered = match columns {
            Some(columns) => render_within(columns, &self.diagnostics, &self.text, is_coloured),
            None => render(&self.diagnostics, &self.text, is_coloured),
        };
        self.redactor.text(&mut rendered);
        rendered
    }
}
