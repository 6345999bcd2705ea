//! Reads playbooks from files, with a look at those that they nest: whether they change the world.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use escrow_playbook::{Reading, read_bytes_beside};

use crate::catalog::catalog;

/// Reads the playbook whose file has these bytes. What it nests is looked for beside it, then in `directory`,
/// then among the playbooks of the project there.
pub fn read(path: &Path, bytes: &[u8], directory: &Path) -> Reading {
    Look { directory, known: RefCell::default() }.read(path, bytes)
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
    known: RefCell<BTreeMap<PathBuf, bool>>,
}

impl Look<'_> {
    fn read(&self, path: &Path, bytes: &[u8]) -> Reading {
        let nested = |name: &str| self.changes_the_world(name, path.parent());
        read_bytes_beside(bytes, &path.display().to_string(), &catalog(), &nested)
    }

    /// What cannot be read may do anything.
    fn changes_the_world(&self, name: &str, beside: Option<&Path>) -> bool {
        let Some((path, bytes)) = find(name, beside, self.directory) else { return true };
        let identity = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(known) = self.known.borrow().get(&identity) {
            return *known;
        }
        if self.known.borrow().len() >= FILES_MAX {
            return true;
        }
        self.known.borrow_mut().insert(identity.clone(), false);
        let plan = self.read(&path, &bytes).plan;
        let changes = plan.is_none_or(|plan| plan.checks.iter().any(|check| check.mutating));
        self.known.borrow_mut().insert(identity, changes);
        changes
    }
}
