//! Reads playbooks from files, with a look at what stands beside them: playbooks that they nest, rules, and the
//! outcome kinds of the project.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use escrow_playbook::{Beside, Reading, RulesText, read_bytes_beside};
use serde_json::Value;

use crate::catalog::catalog;
use crate::outcome_kinds;

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
        let beside = Neighbours { look: self, beside: path.parent() };
        read_bytes_beside(bytes, &path.display().to_string(), &catalog(), &beside)
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

/// What stands beside one of the files.
struct Neighbours<'a> {
    look: &'a Look<'a>,
    beside: Option<&'a Path>,
}

impl Beside for Neighbours<'_> {
    fn changes_the_world(&self, playbook: &str) -> bool {
        self.look.changes_the_world(playbook, self.beside)
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
pub(crate) fn read_text(path: &Path, bytes_max: u64) -> Result<String, String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(bytes_max + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > bytes_max { Err(format!("it is longer than {bytes_max} bytes")) } else { Ok(text) }
}
