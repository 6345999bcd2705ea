//! The files that a nested run needs before it begins: its artifact directory.

use std::io;
use std::path::Path;

use escrow_runtime::private_files::create_directory_alike;

/// Where nested runs deliver. Production creates directories; a simulation has none.
pub trait NestedFiles {
    fn create_directory(&self, path: &Path) -> io::Result<()>;
}

/// The production implementation.
pub struct ProjectFiles;

impl NestedFiles for ProjectFiles {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        create_directory_alike(path)
    }
}
