//! Reads playbooks from files, with a look at what stands beside them: playbooks that they nest, agents, rules, and
//! the outcome kinds of the project.

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

/// Reads the playbook whose file has these bytes. What it nests is looked for beside it, then in `directory`,
/// then among the playbooks of the project there.
pub fn read(path: &Path, bytes: &[u8], directory: &Path) -> Reading {
    Look { directory, known: RefCell::default() }.read(path, bytes)
}

/// The playbook that one task for an agent stands for.
pub fn of_agent(name: &str, directory: &Path) -> Reading {
    let look = Look { directory, known: RefCell::default() };
    read_agent(name, &catalog(), &look.beside(None))
}

/// The file that a nested playbook's name stands for, with its bytes.
pub fn find(name: &str, beside: Option<&Path>, directory: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let project = directory.join(".escrow/playbooks");
    [beside, Some(directory), Some(&project)].into_iter().flatten().find_map(|place| {
        let path = place.join(name);
        read_bytes(&path).ok().map(|bytes| (path, bytes))
    })
}

/// What stands in a file that should be a playbook or its tests: as much as may stand there, and one byte more when
/// there is more.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How many nested files are looked at.
const FILES_MAX: usize = 50;

struct Look<'a> {
    directory: &'a Path,
    /// Each file is read once. One that is being read changes nothing by nesting itself.
    known: RefCell<BTreeMap<PathBuf, Nested>>,
}

impl Look<'_> {
    fn beside<'b>(&'b self, beside: Option<&'b Path>) -> Neighbours<'b> {
        Neighbours { look: self, beside }
    }

    fn read(&self, path: &Path, bytes: &[u8]) -> Reading {
        let beside = self.beside(path.parent());
        read_bytes_with(bytes, &path.display().to_string(), &catalog(), &beside)
    }

    /// What cannot be read may do anything, and promises nothing.
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

/// What a nested run promises to the one around it. What its items deliver only it can know, and outcomes are its
/// own: it verifies those itself.
fn promises(plan: &Plan) -> Vec<ExpectedArtifact> {
    let is_of_items = |one: &&ExpectedArtifact| {
        let check = one.check.as_deref().and_then(|check| plan.find(check));
        check.is_some_and(|check| !plan.check(check).fan.is_empty())
    };
    let promised = plan.artifacts.expected.iter().filter(|one| !is_of_items(one));
    promised.map(|one| ExpectedArtifact { kind: None, ..one.clone() }).collect()
}

/// What is known of a nested playbook before it runs.
#[derive(Clone, Debug, Default)]
struct Nested {
    changes: bool,
    artifacts: Vec<ExpectedArtifact>,
    trouble: Option<String>,
    inputs: Option<Inputs>,
}

/// What stands beside one of the files.
struct Neighbours<'a> {
    look: &'a Look<'a>,
    beside: Option<&'a Path>,
}

impl ReferenceResolver for Neighbours<'_> {
    fn changes_the_world(&self, playbook: &str) -> bool {
        self.look.nested(playbook, self.beside).changes
    }

    fn trouble(&self, playbook: &str) -> Option<String> {
        self.look.nested(playbook, self.beside).trouble
    }

    fn inputs(&self, playbook: &str) -> Option<Inputs> {
        self.look.nested(playbook, self.beside).inputs
    }

    fn promises(&self, playbook: &str) -> Vec<ExpectedArtifact> {
        self.look.nested(playbook, self.beside).artifacts
    }

    fn agent(&self, name: &str) -> FoundAgent {
        let from: Vec<&Path> = self.beside.into_iter().chain([self.look.directory]).collect();
        agents::find(name, &from)
    }

    fn outcome_kind(&self, name: &str) -> Option<Result<Value, String>> {
        outcome_kinds::find(name, &self.projects())
    }

    fn outcome_kinds(&self) -> Vec<String> {
        outcome_kinds::names(&self.projects())
    }

    fn rules(&self, name: &str) -> Option<RulesText> {
        find_rules(name, self.beside, self.look.directory)
    }
}

impl Neighbours<'_> {
    fn projects(&self) -> Vec<PathBuf> {
        outcome_kinds::projects([Some(self.look.directory), self.beside].into_iter().flatten())
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

/// The whole of a file that is text and not too long.
pub fn read_text(path: impl AsRef<Path>, bytes_max: u64) -> Result<String, String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(bytes_max + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > bytes_max { Err(format!("it is longer than {bytes_max} bytes")) } else { Ok(text) }
}
