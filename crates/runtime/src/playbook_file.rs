//! Reads playbooks from files and resolves what they refer to: nested playbooks, agents, rules, and the outcome kinds
//! of the project.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use escrow_model::{ExpectedArtifact, Inputs, Plan};
use escrow_playbook::{
    Diagnostic, FoundAgent, Reading, ReferenceResolver, RulesText, Severity, TEXT_BYTES_MAX, read_agent,
    read_bytes_with,
};
use serde_json::Value;

use crate::agents;
use crate::catalog::catalog;
use crate::outcome_kinds;

/// Reads the playbook whose file has these bytes. Nested playbooks are searched beside it, then in `directory`, then
/// among the playbooks of the project there.
pub fn read(path: &Path, bytes: &[u8], directory: &Path) -> Reading {
    PlaybookFiles { directory, known: RefCell::default() }.read(path, bytes)
}

/// The playbook of a single task for an agent.
pub fn of_agent(name: &str, directory: &Path) -> Reading {
    let files = PlaybookFiles { directory, known: RefCell::default() };
    read_agent(name, &catalog(), &files.beside(None))
}

/// The file that a nested playbook's name stands for, with its bytes.
pub fn find(name: &str, beside: Option<&Path>, directory: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let project = directory.join(".escrow/playbooks");
    [beside, Some(directory), Some(&project)].into_iter().flatten().find_map(|place| {
        let path = place.join(name);
        read_bytes(&path).ok().map(|bytes| (path, bytes))
    })
}

/// The bytes of a playbook or test file, up to one byte more than allowed, so that the reader can refuse a longer
/// file.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How many nested files are read.
const FILES_MAX: usize = 50;

struct PlaybookFiles<'a> {
    directory: &'a Path,
    /// Each file is read once. A file that nests itself counts as harmless while it is being read.
    known: RefCell<BTreeMap<PathBuf, Nested>>,
}

impl PlaybookFiles<'_> {
    fn beside<'b>(&'b self, beside: Option<&'b Path>) -> Neighbours<'b> {
        Neighbours { files: self, beside }
    }

    fn read(&self, path: &Path, bytes: &[u8]) -> Reading {
        let beside = self.beside(path.parent());
        read_bytes_with(bytes, &path.display().to_string(), &catalog(), &beside)
    }

    /// A file that cannot be read is assumed to change the world and to promise nothing.
    fn nested(&self, name: &str, beside: Option<&Path>) -> Nested {
        let anything = |trouble| Nested { changes: true, trouble, ..Nested::default() };
        let Some((path, bytes)) = find(name, beside, self.directory) else {
            return anything(Some(format!("there is no file `{name}`")));
        };
        let identity = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(known) = self.known.borrow().get(&identity) {
            return known.clone();
        }
        if self.known.borrow().len() >= FILES_MAX {
            return anything(None);
        }
        self.known.borrow_mut().insert(identity.clone(), Nested::default());
        let reading = self.read(&path, &bytes);
        let nested = match reading.plan {
            None => anything(first_problem(&reading.diagnostics)),
            Some(plan) => Nested {
                changes: plan.checks.iter().any(|check| check.mutating),
                artifacts: promises(&plan),
                trouble: None,
                inputs: Some(plan.inputs),
            },
        };
        self.known.borrow_mut().insert(identity, nested.clone());
        nested
    }
}

/// `line 3: a check needs `type` (E0106)`, of a file that cannot be run.
pub fn first_problem(diagnostics: &[Diagnostic]) -> Option<String> {
    let first = diagnostics.iter().find(|one| one.severity == Severity::Error)?;
    Some(format!("line {}: {} ({})", first.line, first.message, first.code))
}

/// The artifacts that a nested run promises to its parent. Only the nested run knows what its fan-out items deliver, and
/// it verifies its outcomes itself.
fn promises(plan: &Plan) -> Vec<ExpectedArtifact> {
    let is_of_items = |one: &&ExpectedArtifact| {
        let check = one.check.as_deref().and_then(|check| plan.find(check));
        check.is_some_and(|check| !plan.check(check).fan.is_empty())
    };
    let promised = plan.artifacts.expected.iter().filter(|one| !is_of_items(one));
    promised.map(|one| ExpectedArtifact { kind: None, ..one.clone() }).collect()
}

/// The properties of a nested playbook that its parent depends on.
#[derive(Clone, Debug, Default)]
struct Nested {
    changes: bool,
    artifacts: Vec<ExpectedArtifact>,
    trouble: Option<String>,
    inputs: Option<Inputs>,
}

/// Resolves the references of one file.
struct Neighbours<'a> {
    files: &'a PlaybookFiles<'a>,
    beside: Option<&'a Path>,
}

impl ReferenceResolver for Neighbours<'_> {
    fn changes_the_world(&self, playbook: &str) -> bool {
        self.files.nested(playbook, self.beside).changes
    }

    fn trouble(&self, playbook: &str) -> Option<String> {
        self.files.nested(playbook, self.beside).trouble
    }

    fn inputs(&self, playbook: &str) -> Option<Inputs> {
        self.files.nested(playbook, self.beside).inputs
    }

    fn promises(&self, playbook: &str) -> Vec<ExpectedArtifact> {
        self.files.nested(playbook, self.beside).artifacts
    }

    fn agent(&self, name: &str) -> FoundAgent {
        let from: Vec<&Path> = self.beside.into_iter().chain([self.files.directory]).collect();
        agents::find(name, &from)
    }

    fn outcome_kind(&self, name: &str) -> Option<Result<Value, String>> {
        outcome_kinds::find(name, &self.projects())
    }

    fn outcome_kinds(&self) -> Vec<String> {
        outcome_kinds::names(&self.projects())
    }

    fn rules(&self, name: &str) -> Option<RulesText> {
        find_rules(name, self.beside, self.files.directory)
    }
}

impl Neighbours<'_> {
    fn projects(&self) -> Vec<PathBuf> {
        outcome_kinds::projects([Some(self.files.directory), self.beside].into_iter().flatten())
    }
}

/// A file of rules may be this long.
const RULES_BYTES_MAX: u64 = 16 << 20;

/// The file of rules that a name stands for: beside the playbook, in `directory`, or in `.escrow/rules/`.
pub fn find_rules(name: &str, beside: Option<&Path>, directory: &Path) -> Option<RulesText> {
    let above = directory.ancestors().map(|above| above.join(".escrow/rules")).find(|folder| folder.is_dir());
    let path = [beside, Some(directory), above.as_deref()]
        .into_iter()
        .flatten()
        .flat_map(|place| ["", ".yaml", ".yml", ".json"].map(|ending| place.join(format!("{name}{ending}"))))
        .find(|path| path.is_file())?;
    Some(RulesText { file: path.display().to_string(), text: read_text(&path, RULES_BYTES_MAX) })
}

/// The text of a file that is not too long.
pub fn read_text(path: impl AsRef<Path>, bytes_max: u64) -> Result<String, String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(bytes_max + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > bytes_max { Err(format!("it is longer than {bytes_max} bytes")) } else { Ok(text) }
}
