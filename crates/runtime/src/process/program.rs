//! Finding a program, and saying in the user's words why it did not start.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use thiserror::Error;

/// Why a process did not start. Nothing of it ran.
#[derive(Debug, Error)]
pub enum SpawnError {
    #[error("`{program}` was not found")]
    NotFound { program: String },
    #[error("`{program}` is not executable")]
    NotExecutable { program: String },
    #[error("the interpreter that `{program}` names in its first line was not found")]
    InterpreterNotFound { program: String },
    #[error("the directory `{directory}` does not exist or cannot be entered")]
    Directory { directory: String },
    #[error("the arguments and environment are too large for the system (one value may have 128 KiB)")]
    TooLarge,
    #[error("an argument or a variable contains a NUL character")]
    NulCharacter,
    #[error("too many files are open")]
    TooManyFiles,
    #[error("too many processes are running, or there is not enough memory")]
    TooManyProcesses,
    #[error("cannot start `{program}`")]
    Other { program: String, source: io::Error },
}

impl SpawnError {
    /// The error's words with those of its cause.
    pub fn message(&self) -> String {
        match self {
            SpawnError::Other { source, .. } => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }

    pub(super) fn from_io(error: io::Error, program: &OsStr, directory: Option<&Path>) -> SpawnError {
        if error.kind() == io::ErrorKind::InvalidInput {
            return SpawnError::NulCharacter;
        }
        if let Some(directory) = directory
            && !can_be_entered(directory)
        {
            return SpawnError::Directory { directory: directory.display().to_string() };
        }
        let program = program.to_string_lossy().into_owned();
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT) if directory.unwrap_or(Path::new("")).join(&program).exists() => {
                SpawnError::InterpreterNotFound { program }
            }
            Some(Errno::NOENT) => SpawnError::NotFound { program },
            Some(Errno::ACCESS | Errno::NOEXEC | Errno::ISDIR) => SpawnError::NotExecutable { program },
            Some(Errno::TOOBIG) => SpawnError::TooLarge,
            Some(Errno::MFILE | Errno::NFILE) => SpawnError::TooManyFiles,
            Some(Errno::AGAIN | Errno::NOMEM) => SpawnError::TooManyProcesses,
            _ => SpawnError::Other { program, source: error },
        }
    }
}

fn can_be_entered(directory: &Path) -> bool {
    // A search for `.` inside needs the permission that `chdir` needs.
    directory.join(".").metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// Where a program is, as a shell in `directory` would find it.
///
/// Found here and not by the system, for two reasons: with a changed `PATH` the standard library leaves the
/// fast way of starting a process, and the answer "not found" is then about the program and nothing else.
pub fn find_program(program: &OsStr, path: Option<&OsStr>, directory: &Path) -> Result<PathBuf, SpawnError> {
    let named = || program.to_string_lossy().into_owned();
    if program.is_empty() {
        return Err(SpawnError::NotFound { program: named() });
    }
    if program.as_encoded_bytes().contains(&b'/') {
        return Ok(PathBuf::from(program));
    }
    let default = OsString::from("/usr/local/bin:/usr/bin:/bin");
    let mut unusable = false;
    for folder in std::env::split_paths(path.unwrap_or(&default)) {
        // Absolute, because the process starts in `directory` and not where we are.
        let candidate = directory.join(folder).join(program);
        let Ok(candidate) = std::path::absolute(candidate) else { continue };
        match candidate.metadata() {
            Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => {
                return Ok(candidate);
            }
            Ok(_) => unusable = true,
            Err(_) => {}
        }
    }
    Err(if unusable {
        SpawnError::NotExecutable { program: named() }
    } else {
        SpawnError::NotFound { program: named() }
    })
}
