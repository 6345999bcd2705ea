//! Writes reports for other tools: JUnit and SARIF.
//!
//!   Run + journal ──timeline──▶ RunCases ──▶ junit | sarif ──▶ file
//!
//! **Invariant:** a report never changes the result of a run. It is written whole or not at all.

mod junit;
mod sarif;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use escrow_app::timeline::RunCases;
use escrow_engine::Run;
use escrow_model::Entry;

/// `junit=FILE` or `sarif=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    format: Format,
    pub(crate) path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Junit,
    Sarif,
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        let format = match text.split_once('=') {
            Some((_, "")) => return Err("the file is missing".into()),
            Some(("junit", _)) => Format::Junit,
            Some(("sarif", _)) => Format::Sarif,
            Some((other, _)) => {
                return Err(format!("unknown report `{other}`: use `junit` or `sarif`"));
            }
            None => return Err("write `junit=FILE` or `sarif=FILE`".into()),
        };
        let path = text.split_once('=').map(|(_, path)| PathBuf::from(path)).unwrap_or_default();
        Ok(Order { format, path })
    }
}

/// Writes every report that was asked for. Returns one problem for each that could not be written.
pub(crate) fn write(orders: &[Order], run: &Run, entries: &[Entry], playbook: &Playbook<'_>) -> Vec<String> {
    let report = RunCases::of(run, entries);
    let mut problems = Vec::new();
    for order in orders {
        let text = match order.format {
            Format::Junit => junit::render(&report),
            Format::Sarif => sarif::render(&report, playbook),
        };
        if let Err(error) = replace(&order.path, text.as_bytes()) {
            problems.push(format!("cannot write the report `{}`: {error}", order.path.display()));
        }
    }
    problems
}

/// The file that defines the checks, so that a finding can point at its line.
pub(crate) struct Playbook<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
}

/// A reader sees the old file or the new one, never a part. A link stays a link; a pipe or a device is written to,
/// because it cannot be replaced.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(there) if !there.is_file() => {
            return fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
        }
        Ok(_) => fs::canonicalize(path)?,
        Err(_) => path.to_path_buf(),
    };
    let name = path.file_name().ok_or_else(|| io::Error::other("not a file name"))?;
    let temporary = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, &path));
    if renamed.is_err() {
        // The error above is the one to report; a temporary file that cannot be removed adds nothing.
        let _ = fs::remove_file(&temporary);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_a_format_and_a_file() {
        assert_eq!("junit=a=b.xml".parse::<Order>().map(|order| order.path), Ok(PathBuf::from("a=b.xml")));
        for bad in ["junit", "junit=", "html=x.html", ""] {
            assert!(bad.parse::<Order>().is_err(), "{bad}");
        }
    }
}
