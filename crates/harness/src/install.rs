//! Puts Escrow's hook into the configuration of a host, and takes it out again. Text in, text out.
//!
//! ```text
//!   HookFile ──install(text, program)──▶ text with our entries
//!            ◀─uninstall(text)────────── the text as it was, byte for byte
//! ```
//!
//! **Invariant:** only our own bytes are inserted and removed. How they are inserted says what was there before: a
//! container that we created has white space in front of our entry, one that existed has none. Nothing else remembers it.

mod entries;
mod json;
mod line_ends;
mod plugin;
mod toml_block;

use crate::{HookDialect, HookEvent};
use line_ends::LineEnds;

pub use json::{LineColumn, Problem};

/// Where a host keeps its hooks.
#[derive(Debug)]
pub struct HookFile {
    pub host: &'static str,
    /// Relative to the project.
    pub project: &'static str,
    /// Relative to the user's home.
    pub user: &'static str,
    /// Nothing proves that the program reads this file as Escrow writes it.
    pub is_unverified: bool,
    /// What a person must do before the hooks run.
    pub note: Option<&'static str>,
    pub(crate) form: Form,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// `hooks.<event>[]` of a JSON file.
    Json(EntryForm),
    /// `[[hooks.<event>]]` of a TOML file.
    Toml,
    /// A JavaScript file of our own.
    Plugin,
}

/// One element of `hooks.<event>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryForm {
    /// `{"hooks": [{"type": "command", "command": …}]}`, with a `matcher` for one tool.
    Matcher,
    /// `{"type": "command", "bash": …}` in a file of version 1.
    Bash,
    /// `{"command": …}` in a file of version 1.
    Command,
}

/// The note of programs that run hooks in trusted folders only.
pub(crate) const TRUST: &str =
    "the hooks of a project run only in a folder that the user has told the program to trust";

/// The hook file of every host, in the order of `harness status`.
pub fn hook_files() -> impl Iterator<Item = &'static HookFile> {
    crate::dialects().map(|dialect| &dialect.file)
}

/// The hook file of a host.
pub fn hook_file(host: &str) -> Option<&'static HookFile> {
    hook_files().find(|file| file.host == host)
}

/// What a file says of our hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed {
    /// The events that have our hook.
    pub events: Vec<String>,
    /// The programs that they call; one, unless the file was edited.
    pub programs: Vec<String>,
}

/// A file after an uninstall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uninstalled {
    /// Without our hooks.
    Text(String),
    /// Nothing is left: the installation created it.
    Nothing,
}

impl HookFile {
    fn dialect(&self) -> &'static HookDialect {
        crate::dialect(self.host).expect("a hook file has the name of its dialect, by a test")
    }

    /// The text with our hooks, for a program at this path. `None` is a file that does not exist.
    pub fn install(&self, text: Option<&str>, program: &str) -> Result<String, Problem> {
        let ends = text.map_or(LineEnds::Lf, LineEnds::of);
        let text = text.map(|text| ends.without(text));
        let text = text.as_deref();
        let installed = match self.form {
            Form::Json(form) => entries::install(self, form, text, program),
            Form::Toml => toml_block::install(self, text, program),
            Form::Plugin => plugin::install(self, text, program),
        };
        installed.map(|text| ends.with(text))
    }

    /// The text without our hooks.
    pub fn uninstall(&self, text: &str) -> Result<Uninstalled, Problem> {
        let ends = LineEnds::of(text);
        let text = &ends.without(text);
        let uninstalled = match self.form {
            Form::Json(form) => entries::uninstall(self, form, text),
            Form::Toml => toml_block::uninstall(self, text),
            Form::Plugin => plugin::uninstall(self, text),
        };
        uninstalled.map(|left| match left {
            Uninstalled::Text(text) => Uninstalled::Text(ends.with(text)),
            Uninstalled::Nothing => Uninstalled::Nothing,
        })
    }

    pub fn installed(&self, text: &str) -> Result<Installed, Problem> {
        match self.form {
            Form::Json(form) => entries::installed(self, form, text),
            Form::Toml => toml_block::installed(self, text),
            Form::Plugin => plugin::installed(text),
        }
    }

    fn events(&self) -> impl Iterator<Item = &'static HookEvent> {
        self.dialect().installed()
    }

    /// The command of an event.
    fn command(&self, program: &str, event: &str) -> String {
        crate::command_line::hook_command(&words(self.host, program), event)
    }

    /// The program of a command, if it is one of ours.
    fn program_in(&self, command: &str, event: &str) -> Option<String> {
        let ending = self.command("", event);
        let word = command.strip_suffix(ending.strip_prefix("''")?)?;
        let program = crate::command_line::unquoted(word)?;
        let name = program.rsplit('/').next().unwrap_or_default();
        name.starts_with("escrow").then_some(program)
    }
}

/// The hook's words, without its event.
fn words(host: &str, program: &str) -> [String; 4] {
    [program.to_owned(), "hook".to_owned(), "--host".to_owned(), host.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::hook_file;

    #[test]
    fn a_hook_file_has_the_name_of_its_dialect() {
        for dialect in crate::dialects() {
            assert_eq!(dialect.file.host, dialect.harness);
        }
    }

    #[test]
    fn our_command_is_recognised_whatever_its_path_and_no_other_is() {
        let claude = hook_file("claude").expect("claude has hooks");
        for program in ["/usr/bin/escrow", "/opt/my tools/it's/escrow", "escrow"] {
            let command = claude.command(program, "Stop");
            assert_eq!(claude.program_in(&command, "Stop").as_deref(), Some(program));
            assert_eq!(claude.program_in(&command, "SessionEnd"), None);
        }
        for other in ["echo hook --host claude --event Stop", "escrow hook --host codex --event Stop", ""] {
            assert_eq!(claude.program_in(other, "Stop"), None);
        }
    }
}
