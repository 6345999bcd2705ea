//! Reads playbook files and resolves what they refer to: nested playbooks, agents, rules files and custom outcome
//! kinds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use escrow_model::{ExpectedArtifact, Expression, Inputs, Plan};
use escrow_playbook::{
    AgentLookup, Diagnostic, Reading, ReferenceResolver, RulesFile, Severity, TEXT_BYTES_MAX, read_agent,
};
use serde_json::Value;

use crate::agents;
use crate::catalog::catalog;
use crate::outcome_kinds;
use crate::project;

/// Reads a playbook from the bytes of its file. Nested playbooks are searched in the folder of the file, then in
/// `directory`, then in the project's `.escrow/playbooks/` there.
pub fn read(path: &Path, bytes: &[u8], directory: &Path) -> Reading {
    PlaybookLoader { directory, known: RefCell::default() }.read(path, bytes)
}

/// The playbook of one check that gives a task to an agent.
pub fn of_agent(name: &str, directory: &Path) -> Reading {
    let loader = PlaybookLoader { directory, known: RefCell::default() };
    read_agent(name, &catalog(), &loader.references(None))
}

/// The file that the name of a nested playbook refers to, with its bytes.
pub fn find(name: &str, folder: Option<&Path>, directory: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let project = directory.ancestors().find_map(|above| project::trusted_folder(above, "playbooks"));
    [folder, Some(directory), project.as_deref()].into_iter().flatten().find_map(|folder| {
        let endings = ["", ".yaml", ".yml", ".playbook.yaml"];
        endings.iter().find_map(|ending| {
            let path = folder.join(format!("{name}{ending}"));
            if path.is_dir() {
                return None;
            }
            read_bytes(&path).ok().map(|bytes| (path, bytes))
        })
    })
}

/// The bytes of a playbook or test file, cut one byte beyond the size limit so that the reader can report it.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for somebody to write to it.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How many nested files are read.
const FILES_MAX: usize = 50;

/// Reads a playbook and the playbooks that it nests, each file once.
struct PlaybookLoader<'a> {
    directory: &'a Path,
    /// A file that is still being read is present with defaults, so a playbook that nests itself ends the search.
    known: RefCell<BTreeMap<PathBuf, Nested>>,
}

impl PlaybookLoader<'_> {
    fn references<'b>(&'b self, folder: Option<&'b Path>) -> FileReferences<'b> {
        FileReferences { loader: self, folder }
    }

    fn read(&self, path: &Path, bytes: &[u8]) -> Reading {
        let references = self.references(path.parent());
        escrow_playbook::read_bytes(bytes, &path.display().to_string(), &catalog(), &references)
    }

    /// A nested playbook that cannot be read counts as mutating and expects no artifacts.
    fn nested(&self, name: &str, folder: Option<&Path>) -> Nested {
        let unreadable = |error| Nested { is_mutating: true, error, ..Nested::default() };
        let Some((path, bytes)) = find(name, folder, self.directory) else {
            return unreadable(Some(format!("file `{name}` not found")));
        };
        let identity = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(known) = self.known.borrow().get(&identity) {
            return known.clone();
        }
        if self.known.borrow().len() >= FILES_MAX {
            return unreadable(None);
        }
        self.known.borrow_mut().insert(identity.clone(), Nested::default());
        let reading = self.read(&path, &bytes);
        let nested = match reading.plan {
            None => unreadable(first_problem(&reading.diagnostics)),
            Some(plan) => Nested {
                is_mutating: plan.checks.iter().any(|check| check.mutating),
                artifacts: visible_artifacts(&plan),
                error: None,
                inputs: Some(plan.inputs),
            },
        };
        self.known.borrow_mut().insert(identity, nested.clone());
        nested
    }
}

/// The first error of a file, as in `line 3: a check needs `type` (E0106)`.
pub fn first_problem(diagnostics: &[Diagnostic]) -> Option<String> {
    let first = diagnostics.iter().find(|one| one.severity == Severity::Error)?;
    Some(format!("line {}: {} ({})", first.line, first.message, first.code))
}

/// The artifacts that a nested run promises to its parent. Artifacts of fan-out items are known only to the nested
/// run, and it verifies outcome kinds itself.
fn visible_artifacts(plan: &Plan) -> Vec<ExpectedArtifact> {
    let is_of_items = |one: &&ExpectedArtifact| {
        let check = one.check.as_deref().and_then(|check| plan.find(check));
        check.is_some_and(|check| !plan.check(check).fan.is_empty())
    };
    let visible = plan.artifacts.expected.iter().filter(|one| !is_of_items(one));
    visible
        .map(|one| ExpectedArtifact {
            kind: None,
            content_read: false,
            condition: one.condition.as_ref().map(|_| never()),
            ..one.clone()
        })
        .collect()
}

/// Only the nested run can evaluate the `if` of its artifacts, and it verifies them. For its parent they may be there.
fn never() -> Expression {
    Expression::try_from("false".to_owned()).expect("it is an expression")
}

/// What is known about a nested playbook before it runs.
#[derive(Clone, Debug, Default)]
struct Nested {
    is_mutating: bool,
    artifacts: Vec<ExpectedArtifact>,
    error: Option<String>,
    inputs: Option<Inputs>,
}

/// Resolves the references of one file. `folder` is where it is stored.
struct FileReferences<'a> {
    loader: &'a PlaybookLoader<'a>,
    folder: Option<&'a Path>,
}

impl ReferenceResolver for FileReferences<'_> {
    fn nested_is_mutating(&self, playbook: &str) -> bool {
        self.loader.nested(playbook, self.folder).is_mutating
    }

    fn nested_error(&self, playbook: &str) -> Option<String> {
        self.loader.nested(playbook, self.folder).error
    }

    fn nested_inputs(&self, playbook: &str) -> Option<Inputs> {
        self.loader.nested(playbook, self.folder).inputs
    }

    fn nested_artifacts(&self, playbook: &str) -> Vec<ExpectedArtifact> {
        self.loader.nested(playbook, self.folder).artifacts
    }

    fn agent(&self, name: &str) -> AgentLookup {
        let from: Vec<&Path> = self.folder.into_iter().chain([self.loader.directory]).collect();
        agents::find(name, &from)
    }

    fn outcome_kind(&self, name: &str) -> Option<Result<Value, String>> {
        outcome_kinds::find(name, &self.projects())
    }

    fn outcome_kind_names(&self) -> Vec<String> {
        outcome_kinds::names(&self.projects())
    }

    fn rules_file(&self, name: &str) -> Option<RulesFile> {
        find_rules(name, self.folder, self.loader.directory)
    }
}

impl FileReferences<'_> {
    fn projects(&self) -> Vec<PathBuf> {
        outcome_kinds::projects([Some(self.loader.directory), self.folder].into_iter().flatten())
    }
}

/// The size limit of a rules file.
const RULES_BYTES_MAX: u64 = 16 << 20;

/// The rules file that a name refers to: in the folder of the playbook, in `directory`, or in `.escrow/rules/`.
pub fn find_rules(name: &str, folder: Option<&Path>, directory: &Path) -> Option<RulesFile> {
    let above = directory.ancestors().find_map(|above| project::trusted_folder(above, "rules"));
    let path = [folder, Some(directory), above.as_deref()]
        .into_iter()
        .flatten()
        .flat_map(|folder| {
            ["", ".yaml", ".yml", ".json"].map(|ending| folder.join(format!("{name}{ending}")))
        })
        .find(|path| path.is_file())?;
    Some(RulesFile { file: path.display().to_string(), text: read_text(&path, RULES_BYTES_MAX) })
}

/// The text of a file that is UTF-8 and not longer than `bytes_max`.
pub fn read_text(path: impl AsRef<Path>, bytes_max: u64) -> Result<String, String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(bytes_max + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > bytes_max { Err(format!("it is longer than {bytes_max} bytes")) } else { Ok(text) }
}
