//! Reads playbook files and resolves what they refer to: nested playbooks, agents, rules files and custom outcome
//! kinds.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use escrow_model::{ExpectedArtifact, HarnessFacts, Inputs};
use escrow_playbook::{
    AgentLookup, Diagnostic, NestedError, NotifyTarget, Reading, ReferenceResolver, RulesFile, Severity,
    TEXT_BYTES_MAX, read_agent,
};
use serde_json::Value;

use crate::agents;
use crate::catalog::catalog;
use crate::config;
use crate::nested_loader::NestedLoader;
use crate::outcome_kinds;
use crate::project;
use crate::providers::ai::program::first_installed;

/// Where the references of playbooks are looked up, beside the folder of the file that has them.
#[derive(Clone, Copy, Debug)]
pub struct Directories<'a> {
    /// Of this process: agents, rules and outcome kinds of the outermost playbook.
    pub current: &'a Path,
    /// Where the commands of the run work: nested playbooks, and what those refer to themselves.
    pub commands: &'a Path,
}

impl<'a> Directories<'a> {
    pub fn both(directory: &'a Path) -> Directories<'a> {
        Directories { current: directory, commands: directory }
    }
}

/// Reads a playbook from the bytes of its file, with all playbooks that it nests, directly or through others. They are
/// searched in the folder of the file that names them, then where commands run, then in the project's
/// `.escrow/playbooks/` there.
pub fn read(path: &Path, bytes: &[u8], directories: Directories<'_>) -> Reading {
    NestedLoader::new(directories.commands).load(path, bytes, directories.current)
}

/// Reads a chain from the bytes of its file, with the playbooks that its steps run. They are searched in the project's
/// `.escrow/playbooks/` and in `playbooks/`, both seen from where its runs work, then beside the file.
pub fn read_chain(path: &Path, bytes: &[u8], directories: Directories<'_>) -> Reading {
    NestedLoader::new(directories.commands).load_chain(path, bytes, directories.current)
}

/// Reads a show from the bytes of its file, with the playbooks of its plays and gates. They are searched as nested playbooks
/// are, then as the steps of a chain.
pub fn read_show(path: &Path, bytes: &[u8], directories: Directories<'_>) -> Reading {
    NestedLoader::new(directories.commands).load_show(path, bytes, directories.current)
}

/// The playbook of one check that gives a task to an agent.
pub fn of_agent(name: &str, directory: &Path) -> Reading {
    let loader = NestedLoader::new(directory);
    let references = FileReferences { loader: &loader, folder: None, directory, search: Search::Nested };
    read_agent(name, &catalog(), &references)
}

/// The file that the name of a nested playbook refers to, with its bytes.
pub(crate) fn find(name: &str, folder: Option<&Path>, directory: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let project = directory.ancestors().find_map(|above| project::trusted_folder(above, "playbooks"));
    [folder, Some(directory), project.as_deref()].into_iter().flatten().find_map(|folder| {
        let endings = ["", ".yaml", ".yml", ".playbook.yaml"];
        endings.iter().find_map(|ending| {
            let path = folder.join(format!("{name}{ending}"));
            if path.is_dir() || project::examine_definition(&path).is_err() {
                return None;
            }
            read_bytes(&path).ok().map(|bytes| (path, bytes))
        })
    })
}

/// How the name of a playbook leads to its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Search {
    /// Named by a check of a playbook.
    Nested,
    /// Named by a step of a chain.
    Skill,
    /// Named by a play of a show.
    Play,
}

/// How many files of a folder are read to find a playbook by its `name`.
const NAMED_MAX: usize = 500;

/// The playbook that a step names: by its file, else by the `name` in it.
pub(crate) fn find_skill(name: &str, folder: Option<&Path>, directory: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let project = directory.ancestors().find_map(|above| project::trusted_folder(above, "playbooks"));
    let folders = [project, Some(directory.join("playbooks")), folder.map(Path::to_owned)];
    let folders: Vec<PathBuf> = folders.into_iter().flatten().collect();
    // A skill is found in these folders and nowhere else.
    let is_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    let by_file = folders.iter().filter(|_| is_inside).find_map(|folder| {
        let endings: &[&str] = &[".yaml", ".yml", ".playbook.yaml", ""];
        endings.iter().find_map(|ending| definition(folder.join(format!("{name}{ending}"))))
    });
    by_file.or_else(|| folders.iter().find_map(|folder| named_in(folder, name)))
}

/// The file, if it is one that Escrow may read.
fn definition(path: PathBuf) -> Option<(PathBuf, Vec<u8>)> {
    if !path.is_file() || project::examine_definition(&path).is_err() {
        return None;
    }
    read_bytes(&path).ok().map(|bytes| (path, bytes))
}

/// The first playbook of a folder, in the order of file names, whose `name` this is.
fn named_in(folder: &Path, name: &str) -> Option<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml"));
    paths.sort();
    paths.into_iter().take(NAMED_MAX).find_map(|path| {
        let (path, bytes) = definition(path)?;
        let text = std::str::from_utf8(&bytes).ok()?;
        (escrow_playbook::playbook_name(text)? == name).then_some((path, bytes))
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

/// The first error of a file, as in `line 3: a check needs `type` (E0106)`.
pub(crate) fn first_problem(diagnostics: &[Diagnostic]) -> Option<String> {
    let first = diagnostics.iter().find(|one| one.severity == Severity::Error)?;
    Some(format!("line {}: {} ({})", first.line, first.message, first.code))
}

/// Resolves the references of one file. `folder` is where it is stored.
pub(crate) struct FileReferences<'a> {
    pub(crate) loader: &'a NestedLoader<'a>,
    pub(crate) folder: Option<&'a Path>,
    /// Where to look next.
    pub(crate) directory: &'a Path,
    pub(crate) search: Search,
}

impl ReferenceResolver for FileReferences<'_> {
    fn nested_is_mutating(&self, playbook: &str) -> bool {
        self.loader.nested(playbook, self.folder, self.search).is_mutating
    }

    fn nested_error(&self, playbook: &str) -> Option<NestedError> {
        self.loader.nested(playbook, self.folder, self.search).error
    }

    fn nested_inputs(&self, playbook: &str) -> Option<Inputs> {
        self.loader.nested(playbook, self.folder, self.search).inputs
    }

    fn nested_artifacts(&self, playbook: &str) -> Vec<ExpectedArtifact> {
        self.loader.nested(playbook, self.folder, self.search).artifacts
    }

    fn agent(&self, name: &str) -> AgentLookup {
        let from: Vec<&Path> = self.folder.into_iter().chain([self.directory]).collect();
        agents::find(name, &from)
    }

    fn outcome_kind(&self, name: &str) -> Option<Result<Value, String>> {
        outcome_kinds::find(name, &self.projects())
    }

    fn outcome_kind_names(&self) -> Vec<String> {
        outcome_kinds::names(&self.projects())
    }

    fn harness(&self, name: &str) -> Option<HarnessFacts> {
        escrow_harness::find(name).map(|harness| harness.spec().facts())
    }

    fn default_harness(&self) -> Result<Option<String>, String> {
        if let Some(default) = config::default_harness(self.directory)? {
            return Ok(Some(default));
        }
        let path = std::env::var_os("PATH");
        let first = first_installed(path.as_deref(), self.directory);
        Ok(first.map(|first| first.spec().name.to_owned()))
    }

    fn notify(&self) -> Result<Option<NotifyTarget>, String> {
        let directory = std::path::absolute(self.directory).unwrap_or_else(|_| self.directory.to_owned());
        let Ok(Some(state)) = project::nearest(&directory) else { return Ok(None) };
        let settings = config::settings(&state).map_err(|error| error.to_string())?;
        Ok(settings.notify.map(|notify| match notify {
            config::Notify::Webhook(url) => NotifyTarget::Webhook(url),
            config::Notify::Script(script) => NotifyTarget::Script(script),
            config::Notify::Argv(words) => NotifyTarget::Argv(words),
        }))
    }

    fn rules_file(&self, name: &str) -> Option<RulesFile> {
        find_rules(name, self.folder, self.directory)
    }
}

impl FileReferences<'_> {
    fn projects(&self) -> Vec<PathBuf> {
        outcome_kinds::projects([Some(self.directory), self.folder].into_iter().flatten())
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
    let text = project::examine_definition(&path)
        .map_err(|error| error.to_string())
        .and_then(|()| read_text(&path, RULES_BYTES_MAX));
    Some(RulesFile { file: path.display().to_string(), text })
}

/// The text of a file that is UTF-8 and not longer than `bytes_max`.
pub fn read_text(path: impl AsRef<Path>, bytes_max: u64) -> Result<String, String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(bytes_max + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > bytes_max { Err(format!("it is longer than {bytes_max} bytes")) } else { Ok(text) }
}
