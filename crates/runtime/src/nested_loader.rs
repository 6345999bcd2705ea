//! Reads the playbooks that a playbook nests, directly or through others, each file once.
//!
//!   playbook ──compile──▶ names ──find──▶ files ──compile──▶ names … ──▶ the table in `Plan::nested`
//!
//! **Invariant:** every name is looked up once and every file is read once. The plan has exactly the bytes that its
//! criticality, its diagnostics and its digests were derived from.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use escrow_model::{
    ExpectedArtifact, Expression, Inputs, NestedPlaybook, NestedPlaybooks, Plan, Secret, hex,
};
use escrow_playbook::{Diagnostic, NestedError, Reading, Severity};
use escrow_store::plan_document;
use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use crate::catalog::catalog;
use crate::playbook_file::{FileReferences, Search, find, find_skill, first_problem};

/// How many files can be nested in one run.
const FILES_MAX: usize = 200;

/// How large they can be together.
const BYTES_MAX: usize = 8 << 20;

/// How long a chain of files can be in which each nests the next. Runs end long before.
const CHAIN_MAX: usize = 50;

/// What is known about a nested playbook before it runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nested {
    pub(crate) is_mutating: bool,
    pub(crate) artifacts: Vec<ExpectedArtifact>,
    pub(crate) error: Option<NestedError>,
    pub(crate) inputs: Option<Inputs>,
    /// With its names, without its files.
    plan: Option<Rc<Plan>>,
}

impl Nested {
    /// The playbook that names it cannot be run either, so nothing else about it matters.
    fn unusable(error: NestedError) -> Nested {
        Nested { error: Some(error), ..Nested::default() }
    }
}

/// A file by the folder that it lies in, links resolved, and its name there: what it nests is searched beside it, not
/// beside the file that a link leads to.
type FileKey = String;

/// How the file that names a playbook is searched, its folder, and the name.
type Lookup = (Search, Option<PathBuf>, String);

/// A nested file as it was read.
struct Source {
    /// As it was found, for diagnostics.
    path: PathBuf,
    bytes: Rc<[u8]>,
}

pub(crate) struct NestedLoader<'a> {
    /// Where the commands of the run work.
    directory: &'a Path,
    /// The playbook that nests all others reports its problems itself.
    outermost: RefCell<Option<FileKey>>,
    sources: RefCell<BTreeMap<FileKey, Source>>,
    lookups: RefCell<BTreeMap<Lookup, Result<FileKey, String>>>,
    /// The files that were compiled.
    known: RefCell<BTreeMap<FileKey, Nested>>,
    /// The files that are being compiled, outermost first.
    chain: RefCell<Vec<FileKey>>,
    /// Files that nest themselves and change the outside world.
    recursive_mutating: RefCell<BTreeSet<FileKey>>,
    is_recursive: Cell<bool>,
    secrets: RefCell<Vec<Secret>>,
}

impl<'a> NestedLoader<'a> {
    pub(crate) fn new(directory: &'a Path) -> NestedLoader<'a> {
        NestedLoader {
            directory,
            outermost: RefCell::default(),
            sources: RefCell::default(),
            lookups: RefCell::default(),
            known: RefCell::default(),
            chain: RefCell::default(),
            recursive_mutating: RefCell::default(),
            is_recursive: Cell::default(),
            secrets: RefCell::default(),
        }
    }

    /// Reads the outermost playbook; `current` is where its agents, rules and outcome kinds are searched.
    pub(crate) fn load(&self, path: &Path, bytes: &[u8], current: &Path) -> Reading {
        if let Ok(key) = key_of(path) {
            self.sources
                .borrow_mut()
                .insert(key.clone(), Source { path: path.to_owned(), bytes: bytes.into() });
            *self.outermost.borrow_mut() = Some(key);
        }
        self.load_as(Search::Nested, path, bytes, current)
    }

    /// Reads a chain, whose steps name playbooks.
    pub(crate) fn load_chain(&self, path: &Path, bytes: &[u8], current: &Path) -> Reading {
        self.load_as(Search::Skill, path, bytes, current)
    }

    /// Reads a show, whose plays and gates name playbooks.
    pub(crate) fn load_show(&self, path: &Path, bytes: &[u8], current: &Path) -> Reading {
        self.load_as(Search::Play, path, bytes, current)
    }

    fn load_as(&self, search: Search, path: &Path, bytes: &[u8], current: &Path) -> Reading {
        let compile = || self.compile(search, path, bytes, current);
        let mut reading = compile();
        if self.is_recursive.get() {
            // Inside a ring, a file was compiled before it was known whether the files behind it change the outside
            // world. Now it is.
            *self.recursive_mutating.borrow_mut() = self.mutating_files();
            if !self.recursive_mutating.borrow().is_empty() {
                self.known.borrow_mut().clear();
                reading = compile();
            }
        }
        reading.secrets.append(&mut self.secrets.borrow_mut());
        if let Some(plan) = &mut reading.plan {
            plan.nested =
                NestedPlaybooks { names: self.names(plan, path.parent(), search), files: self.files() };
        }
        reading
    }

    /// What is known of the playbook that a file in `folder` names.
    pub(crate) fn nested(&self, name: &str, folder: Option<&Path>, search: Search) -> Nested {
        let unusable = |reason| Nested::unusable(NestedError { reason, ..NestedError::default() });
        let key = match self.look_up(name, folder, search) {
            Ok(key) => key,
            Err(reason) => return unusable(reason),
        };
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        if self.chain.borrow().contains(&key) {
            self.is_recursive.set(true);
            let is_mutating = self.recursive_mutating.borrow().contains(&key);
            return Nested { is_mutating, ..Nested::default() };
        }
        if self.chain.borrow().len() >= CHAIN_MAX {
            return unusable(format!("more than {CHAIN_MAX} files nest one another"));
        }
        self.chain.borrow_mut().push(key.clone());
        let nested = self.read(&key);
        self.chain.borrow_mut().pop();
        self.known.borrow_mut().insert(key, nested.clone());
        nested
    }

    fn read(&self, key: &FileKey) -> Nested {
        let (path, bytes) = {
            let sources = self.sources.borrow();
            let source = sources.get(key).expect("a name that was looked up has a source");
            (source.path.clone(), Rc::clone(&source.bytes))
        };
        let reading = self.compile(Search::Nested, &path, &bytes, self.directory);
        let Some(mut plan) = reading.plan else {
            self.secrets.borrow_mut().extend(reading.secrets);
            let reason = first_problem(&reading.diagnostics).unwrap_or_default();
            let is_outermost = self.outermost.borrow().as_ref() == Some(key);
            let diagnostics = if is_outermost { Vec::new() } else { errors_of(reading.diagnostics, &bytes) };
            return Nested::unusable(NestedError { reason, diagnostics });
        };
        plan.nested.names = self.names(&plan, path.parent(), Search::Nested);
        Nested {
            is_mutating: plan.checks.iter().any(|check| check.mutating),
            artifacts: visible_artifacts(&plan),
            error: None,
            inputs: Some(plan.inputs.clone()),
            plan: Some(Rc::new(plan)),
        }
    }

    /// The steps of a chain name their playbooks as skills; a playbook names those that it nests.
    fn compile(&self, search: Search, path: &Path, bytes: &[u8], directory: &Path) -> Reading {
        let references = FileReferences { loader: self, folder: path.parent(), directory, search };
        let file = path.display().to_string();
        match search {
            Search::Nested => escrow_playbook::read_bytes(bytes, &file, &catalog(), &references),
            Search::Skill => escrow_playbook::read_chain(bytes, &file, &catalog(), &references),
            Search::Play => escrow_playbook::read_show(bytes, &file, &catalog(), &references),
        }
    }

    /// The file that a name leads to. Its bytes are kept.
    fn look_up(&self, name: &str, folder: Option<&Path>, search: Search) -> Result<FileKey, String> {
        let asked = (search, folder.map(Path::to_owned), name.to_owned());
        if let Some(known) = self.lookups.borrow().get(&asked) {
            return known.clone();
        }
        let found = self.find(name, folder, search);
        self.lookups.borrow_mut().insert(asked, found.clone());
        found
    }

    fn find(&self, name: &str, folder: Option<&Path>, search: Search) -> Result<FileKey, String> {
        let (path, bytes) = match search {
            Search::Nested => {
                find(name, folder, self.directory).ok_or_else(|| format!("file `{name}` not found"))?
            }
            Search::Play => find(name, folder, self.directory)
                .or_else(|| find_skill(name, folder, self.directory))
                .ok_or_else(|| format!("file `{name}` not found"))?,
            Search::Skill => find_skill(name, folder, self.directory).ok_or_else(|| {
                format!("no playbook `{name}` in `.escrow/playbooks/`, in `playbooks/` or beside the chain")
            })?,
        };
        let key = key_of(&path)?;
        let mut sources = self.sources.borrow_mut();
        if sources.contains_key(&key) {
            return Ok(key);
        }
        // The outermost playbook is a source as well.
        if sources.len() > FILES_MAX {
            return Err(format!("a run can nest {FILES_MAX} files, and this is one more"));
        }
        let total: usize = sources.values().map(|source| source.bytes.len()).sum();
        if total + bytes.len() > BYTES_MAX {
            return Err(format!("the playbooks of a run are larger than {} MiB together", BYTES_MAX >> 20));
        }
        sources.insert(key.clone(), Source { path, bytes: bytes.into() });
        Ok(key)
    }

    /// The files that a plan's own checks name.
    fn names(&self, plan: &Plan, folder: Option<&Path>, search: Search) -> IndexMap<String, String> {
        let names = plan.checks.iter().filter_map(|check| check.nested_name());
        names.filter_map(|name| Some((name.to_owned(), self.look_up(name, folder, search).ok()?))).collect()
    }

    fn files(&self) -> IndexMap<String, NestedPlaybook> {
        let known = self.known.borrow();
        let plans = known.iter().filter_map(|(key, nested)| Some((key, nested.plan.as_ref()?)));
        plans
            .map(|(key, plan)| {
                let document = plan_document(plan).expect("a plan has only text keys");
                let sha256 = hex(&Sha256::digest(document.to_string().as_bytes()));
                (key.clone(), NestedPlaybook { plan: Arc::new(Plan::clone(plan)), sha256 })
            })
            .collect()
    }

    /// The files that change the outside world, themselves or through a file that they nest.
    fn mutating_files(&self) -> BTreeSet<FileKey> {
        let known = self.known.borrow();
        let mut mutating: BTreeSet<FileKey> =
            known.iter().filter(|(_, nested)| nested.is_mutating).map(|(key, _)| key.clone()).collect();
        loop {
            let reaches = |nested: &Nested| {
                let names = nested.plan.iter().flat_map(|plan| plan.nested.names.values());
                names.into_iter().any(|file| mutating.contains(file))
            };
            let more: Vec<FileKey> = known
                .iter()
                .filter(|(key, nested)| !mutating.contains(*key) && reaches(nested))
                .map(|(key, _)| key.clone())
                .collect();
            if more.is_empty() {
                return mutating;
            }
            mutating.extend(more);
        }
    }
}

fn key_of(path: &Path) -> Result<FileKey, String> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let name = path.file_name().ok_or("it has no file name")?;
    let folder = fs::canonicalize(folder).map_err(|error| error.to_string())?;
    folder.join(name).into_os_string().into_string().map_err(|_| "its path is not UTF-8".to_owned())
}

/// Warnings of a nested file are those of `escrow check` on it.
fn errors_of(diagnostics: Vec<Diagnostic>, bytes: &[u8]) -> Vec<Diagnostic> {
    let text: Arc<str> = String::from_utf8_lossy(bytes).into();
    let errors = diagnostics.into_iter().filter(|one| one.severity == Severity::Error);
    errors.map(|one| Diagnostic { text: one.text.or_else(|| Some(Arc::clone(&text))), ..one }).collect()
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

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn load(files: &[(&str, &str)]) -> (TempDir, Reading) {
        let folder = TempDir::new().expect("a temporary directory");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it is ours");
            fs::write(path, text).expect("it is ours");
        }
        let path = folder.path().join(files[0].0);
        let reading = NestedLoader::new(folder.path()).load(&path, files[0].1.as_bytes(), folder.path());
        (folder, reading)
    }

    fn nested_in<'p>(plan: &'p Plan, ending: &str) -> &'p Plan {
        let found = plan.nested.files.iter().find(|(file, _)| file.ends_with(ending));
        &found.unwrap_or_else(|| panic!("no {ending}")).1.plan
    }

    /// `b` is compiled while `a` still is: whether `a` changes the outside world is not known then.
    #[test]
    fn a_check_inside_a_ring_of_playbooks_is_mutating_where_the_ring_is() {
        let act = "act: {type: command, criticality: external, exec: 'true'}";
        let (_folder, reading) = load(&[
            ("a.yaml", &format!("checks: {{b: {{type: playbook, playbook: b.yaml}}, {act}}}")),
            ("b.yaml", "checks: {a: {type: playbook, playbook: a.yaml}}"),
        ]);
        let plan = reading.plan.expect("a plan");
        assert_eq!(plan.nested.files.len(), 2, "each file once");
        assert!(plan.checks.iter().all(|check| check.mutating));
        for file in ["/a.yaml", "/b.yaml"] {
            assert!(nested_in(&plan, file).checks.iter().all(|check| check.mutating), "{file}");
        }
    }

    #[test]
    fn a_ring_that_changes_nothing_outside_is_not_mutating() {
        let (_folder, reading) = load(&[
            ("a.yaml", "checks: {b: {type: playbook, playbook: b.yaml}}"),
            ("b.yaml", "checks: {a: {type: playbook, playbook: a.yaml}}"),
        ]);
        let plan = reading.plan.expect("a plan");
        assert!(plan.checks.iter().chain(&nested_in(&plan, "/b.yaml").checks).all(|check| !check.mutating));
    }

    #[test]
    fn one_name_in_two_folders_leads_to_two_files() {
        let (_folder, reading) = load(&[
            (
                "p.yaml",
                "checks: {x: {type: playbook, playbook: x/p.yaml}, q: {type: playbook, playbook: q.yaml}}",
            ),
            ("q.yaml", "name: outer\nchecks: {a: {type: noop}}"),
            ("x/p.yaml", "checks: {q: {type: playbook, playbook: q.yaml}}"),
            ("x/q.yaml", "name: inner\nchecks: {a: {type: noop}}"),
        ]);
        let plan = reading.plan.expect("a plan");
        let name = |plan: &Plan| plan.nested_plan("q.yaml").map(|(_, nested)| nested.name);
        assert_eq!(name(&plan).as_deref(), Some("outer"));
        let (_, inner) = plan.nested_plan("x/p.yaml").expect("it is in the table");
        assert_eq!(name(&inner).as_deref(), Some("inner"));
        assert_eq!(inner.nested.files.len(), 1, "what it cannot reach is left out");
    }

    #[test]
    fn a_long_chain_of_files_is_an_error_and_not_a_deep_recursion() {
        let names: Vec<String> = (0..60).map(|number| format!("p{number}.yaml")).collect();
        let texts: Vec<String> = (1..=60)
            .map(|next| format!("checks: {{n: {{type: playbook, playbook: p{}.yaml}}}}", next % 60))
            .collect();
        let files: Vec<(&str, &str)> =
            names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let (_folder, reading) = load(&files);
        assert!(reading.plan.is_none());
        let told = reading.diagnostics.iter().any(|one| one.label == "more than 50 files nest one another");
        assert!(told, "{:?}", reading.diagnostics);
    }
}
