//! Copies a whole state directory while other processes work in it.
//!
//! ```text
//!   DIR.part-PID/ ◀── escrow.db: one transaction's view
//!                 ◀── artifacts/<run>/, spool/<run>/ of the runs in that view
//!                 ◀── what people wrote: playbooks/, agents/, config.toml, …
//!   DIR/          ◀── renamed when it is complete
//! ```
//!
//! **Invariant:** the database is copied before the files, so every file that a copied journal tells of was there. The
//! copy is itself a state directory: `--state DIR` reads it, and copying it back restores it.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use escrow_model::RunId;
use escrow_runtime::leftovers;
use escrow_runtime::private_files::{create_directory, create_file};

use crate::app::App;
use crate::error::Error;

/// A complete copy.
#[derive(Debug)]
pub struct BackedUp {
    pub directory: PathBuf,
    pub runs: usize,
    pub files: u64,
    pub bytes: u64,
}

pub async fn back_up(app: &App, to: &Path) -> Result<BackedUp, Error> {
    let state = app.state().path();
    if !state.join(DATABASE).is_file() {
        return Err(no_state(state));
    }
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| unwritable(path, &error));
    let directory = absolute(to)?;
    if fs::symlink_metadata(&directory).is_ok() {
        return Err(Error::author("exists", format!("`{}` exists already", to.display()))
            .help("name a directory that does not exist yet"));
    }
    let parent = directory.parent().unwrap_or(Path::new("/"));
    let (inside, root) = (parent.canonicalize(), state.canonicalize());
    if let (Ok(inside), Ok(root)) = (inside, root)
        && inside.starts_with(root)
    {
        return Err(Error::author("usage", format!("`{}` lies inside the state itself", to.display())));
    }
    let part = part_of(&directory);
    let copied = copy_into(app, &part).await.and_then(|copied| {
        fs::rename(&part, &directory).map_err(|error| unwritable(&directory, &error))?;
        Ok(copied)
    });
    match copied {
        Ok(Copied { runs, files, bytes }) => Ok(BackedUp { directory, runs, files, bytes }),
        Err(error) => {
            let _ = fs::remove_dir_all(&part); // it may never have been made
            Err(error)
        }
    }
}

pub(crate) const DATABASE: &str = "escrow.db";

/// Folders with one folder per run.
const BY_RUN: [&str; 2] = ["artifacts", "spool"];

fn part_of(directory: &Path) -> PathBuf {
    let mut part = directory.as_os_str().to_owned();
    part.push(format!(".part-{}", std::process::id()));
    part.into()
}

#[derive(Default)]
struct Copied {
    runs: usize,
    files: u64,
    bytes: u64,
}

async fn copy_into(app: &App, part: &Path) -> Result<Copied, Error> {
    let state = app.state().path();
    create_directory(part).map_err(|error| unwritable(part, &error))?;
    let database = part.join(DATABASE);
    let runs = app.queries()?.back_up(&database).await?.ok_or_else(|| no_state(state))?;
    let mut copied = Copied { runs: runs.len(), ..Copied::default() };
    copied.copy_files(state, part, &runs).map_err(|error| unwritable(part, &error))?;
    let synced = File::open(&database).and_then(|file| {
        copied.files += 1;
        copied.bytes += file.metadata()?.len();
        file.sync_all()
    });
    synced.map_err(|error| unwritable(&database, &error))?;
    Ok(copied)
}

impl Copied {
    fn copy_files(&mut self, state: &Path, part: &Path, runs: &[RunId]) -> io::Result<()> {
        for entry in fs::read_dir(state)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_of_the_database(&name) || BY_RUN.iter().any(|folder| name == *folder) {
                continue;
            }
            self.copy(&entry.path(), &part.join(name))?;
        }
        for folder in BY_RUN {
            for run in runs {
                let from = state.join(folder).join(run.as_str());
                if from.is_dir() {
                    create_directory(&part.join(folder))?;
                    let to = part.join(folder).join(run.as_str());
                    match folder {
                        "spool" => self.copy_below(&from, Path::new(""), &to)?,
                        _ => self.copy(&from, &to)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// The files of a run, less what only its commands need: it may hold secrets.
    fn copy_below(&mut self, from: &Path, below: &Path, to: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        create_directory(to)?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let path = below.join(&name);
            let is_at_top = below.as_os_str().is_empty();
            if is_at_top && leftovers::is_for_commands(&name) || leftovers::is_lent_login(&path) {
                continue;
            }
            if is_directory {
                self.copy_below(&entry.path(), &path, &to.join(&name))?;
            } else {
                self.copy(&entry.path(), &to.join(&name))?;
            }
        }
        Ok(())
    }

    /// Links stay links. What was removed in the meantime is left out, and so are pipes and sockets.
    fn copy(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let metadata = match fs::symlink_metadata(from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            metadata => metadata?,
        };
        if metadata.is_dir() {
            create_directory(to)?;
            for entry in fs::read_dir(from)? {
                let entry = entry?;
                self.copy(&entry.path(), &to.join(entry.file_name()))?;
            }
        } else if metadata.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
        } else if metadata.is_file() {
            let mut source = match File::open(from) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                source => source?,
            };
            self.bytes += io::copy(&mut source, &mut create_file(to)?)?;
            self.files += 1;
            // Programs stay programs.
            fs::set_permissions(to, Permissions::from_mode(metadata.permissions().mode() & 0o700))?;
        }
        Ok(())
    }
}

/// The database and what lies beside it: log, shared memory, mark.
fn is_of_the_database(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(DATABASE.as_bytes())
}

fn no_state(state: &Path) -> Error {
    Error::author("no_state", format!("there is no state in `{}`", state.display()))
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::world("backup", format!("cannot write `{}`: {error}", path.display()))
}
