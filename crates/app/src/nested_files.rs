//! The files that a nested run needs before it begins: its playbook and its artifact directory.

use std::io;
use std::path::{Path, PathBuf};

use escrow_model::{FaultCode, Plan, ProviderFault};
use escrow_runtime::playbook_file;
use escrow_runtime::private_files::create_directory_alike;

/// Where nested playbooks come from. Production reads the project's files; a simulation brings its own plans.
pub trait NestedFiles {
    /// The plan that a check names, with the path of its file.
    fn find(&self, wanted: &WantedPlaybook<'_>) -> Result<(PathBuf, Plan), ProviderFault>;

    fn create_directory(&self, path: &Path) -> io::Result<()>;
}

/// A playbook as the check of a parent run names it.
pub struct WantedPlaybook<'a> {
    pub name: &'a str,
    /// The folder of the playbook that names it, when that was read from a file.
    pub beside: Option<&'a Path>,
    /// Where the parent's commands run.
    pub directory: &'a Path,
}

/// Reads playbooks from the folder of the playbook that names them, then from the directory in which commands run,
/// then from the project's playbooks.
pub struct ProjectFiles;

impl NestedFiles for ProjectFiles {
    fn find(&self, wanted: &WantedPlaybook<'_>) -> Result<(PathBuf, Plan), ProviderFault> {
        let WantedPlaybook { name, beside, directory } = *wanted;
        let bad = |message| ProviderFault::logical(FaultCode::own("bad_playbook"), message);
        let (path, bytes) = playbook_file::find(name, beside, directory)
            .ok_or_else(|| bad(format!("there is no playbook `{name}` to nest")))?;
        let reading = playbook_file::read(&path, &bytes, directory);
        let plan = reading.plan.ok_or_else(|| {
            let what = playbook_file::first_problem(&reading.diagnostics).unwrap_or_default();
            bad(format!("`{}` cannot be run: {what}", path.display()))
        })?;
        Ok((path, plan))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        create_directory_alike(path)
    }
}
