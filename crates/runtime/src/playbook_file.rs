//! Reads playbooks from files, with a look at what they need of others: playbooks that they nest, and agents.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use escrow_model::{ExpectedArtifact, Plan};
use escrow_playbook::{FoundAgent, Neighbours, Nested, Reading, read_agent, read_bytes_beside};

use crate::agents;
use crate::catalog::catalog;

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
pub(crate) fn find(name: &str, beside: Option<&Path>, directory: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let project = directory.join(".escrow/playbooks");
    [beside, Some(directory), Some(&project)].into_iter().flatten().find_map(|place| {
        let path = place.join(name);
        fs::read(&path).ok().map(|bytes| (path, bytes))
    })
}

/// How many nested files are looked at.
const FILES_MAX: usize = 50;

struct Look<'a> {
    directory: &'a Path,
    /// Each file is read once. One that is being read changes nothing by nesting itself.
    known: RefCell<BTreeMap<PathBuf, Nested>>,
}

/// The files beside one playbook.
struct Beside<'a> {
    look: &'a Look<'a>,
    folder: Option<&'a Path>,
}

impl Neighbours for Beside<'_> {
    fn playbook(&self, name: &str) -> Nested {
        self.look.nested(name, self.folder)
    }

    fn agent(&self, name: &str) -> FoundAgent {
        let from: Vec<&Path> = self.folder.into_iter().chain([self.look.directory]).collect();
        agents::find(name, &from)
    }
}

impl Look<'_> {
    fn beside<'b>(&'b self, folder: Option<&'b Path>) -> Beside<'b> {
        Beside { look: self, folder }
    }

    fn read(&self, path: &Path, bytes: &[u8]) -> Reading {
        let beside = self.beside(path.parent());
        read_bytes_beside(bytes, &path.display().to_string(), &catalog(), &beside)
    }

    /// What cannot be read may do anything, and promises nothing.
    fn nested(&self, name: &str, beside: Option<&Path>) -> Nested {
        let anything = || Nested { changes: true, artifacts: Vec::new() };
        let Some((path, bytes)) = find(name, beside, self.directory) else { return anything() };
        let identity = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(known) = self.known.borrow().get(&identity) {
            return known.clone();
        }
        if self.known.borrow().len() >= FILES_MAX {
            return anything();
        }
        self.known.borrow_mut().insert(identity.clone(), Nested::default());
        let nested = self.read(&path, &bytes).plan.map_or_else(anything, |plan| Nested {
            changes: plan.checks.iter().any(|check| check.mutating),
            artifacts: promises(&plan),
        });
        self.known.borrow_mut().insert(identity, nested.clone());
        nested
    }
}

/// What a nested run promises to the one around it. What its items deliver only it can know: it verifies that
/// itself.
fn promises(plan: &Plan) -> Vec<ExpectedArtifact> {
    let is_of_items = |one: &&ExpectedArtifact| {
        let check = one.check.as_deref().and_then(|check| plan.find(check));
        check.is_some_and(|check| !plan.check(check).fan.is_empty())
    };
    plan.artifacts.expected.iter().filter(|one| !is_of_items(one)).cloned().collect()
}
