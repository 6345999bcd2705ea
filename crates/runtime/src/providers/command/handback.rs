//! What a command hands back through `$ESCROW_ENV`: lines `NAME=value` that join `env` for later checks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;

/// What was found.
pub(super) struct Handback {
    /// Good lines count, also beside bad ones.
    pub(super) env: BTreeMap<String, String>,
    pub(super) problems: Vec<String>,
    /// Nothing lies there any more.
    pub(super) is_gone: bool,
}

/// Reads the file if the command made one, and removes it.
pub(super) fn take(place: &OwnedFd, name: &str) -> Handback {
    let (env, problems) = match read_bytes(place, name) {
        Ok(None) => return Handback { env: BTreeMap::new(), problems: Vec::new(), is_gone: true },
        Ok(Some(bytes)) => parse(&bytes),
        Err(problem) => (BTreeMap::new(), vec![problem]),
    };
    // It may hold secrets, and has served.
    let is_gone = unlinkat(place, name, AtFlags::empty()).is_ok();
    Handback { env, problems, is_gone }
}

const BYTES_MAX: u64 = 1024 * 1024;

fn read_bytes(place: &OwnedFd, name: &str) -> Result<Option<Vec<u8>>, String> {
    // The command owns the place. A link could hand us another file, a pipe could make us wait.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(place, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NXIO) => return Err("ESCROW_ENV is not a regular file".into()),
        Err(error) => return Err(format!("ESCROW_ENV cannot be read: {error}")),
    };
    let told = fstat(&file).map_err(|error| format!("ESCROW_ENV cannot be read: {error}"))?;
    if FileType::from_raw_mode(told.st_mode) != FileType::RegularFile {
        return Err("ESCROW_ENV is not a regular file".into());
    }
    let mut bytes = Vec::new();
    File::from(file)
        .take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("ESCROW_ENV cannot be read: {error}"))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err("ESCROW_ENV has more than 1 MiB: nothing of it was taken".into());
    }
    Ok(Some(bytes))
}

fn parse(bytes: &[u8]) -> (BTreeMap<String, String>, Vec<String>) {
    let mut values = BTreeMap::new();
    let mut problems = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        match parse_line(line) {
            Ok(Some((name, value))) => {
                values.insert(name, value);
            }
            Ok(None) => {}
            Err(problem) if problems.len() < PROBLEMS_MAX => {
                problems.push(format!("line {}: {problem}", index + 1));
            }
            Err(_) => {}
        }
    }
    (values, problems)
}

/// Enough to see what is wrong, also when a binary was written.
const PROBLEMS_MAX: usize = 20;

fn parse_line(line: &[u8]) -> Result<Option<(String, String)>, &'static str> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let line = std::str::from_utf8(line).map_err(|_| "not UTF-8")?;
    let (name, value) = line.split_once('=').ok_or("no `=`")?;
    let mut characters = name.chars();
    let begins_well = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    if !begins_well || !characters.all(|character| character.is_ascii_alphanumeric() || character == '_') {
        return Err("the name may contain only letters, digits and `_`");
    }
    if name.starts_with("ESCROW_") {
        return Err("names that begin with `ESCROW_` are taken");
    }
    if value.contains('\0') {
        return Err("the value contains a NUL character");
    }
    Ok(Some((name.to_owned(), value.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_lines_count_and_bad_ones_are_told() {
        let (values, problems) =
            parse(b"A=1\n\n_b2=x=y z\nno equals\n9=bad\nESCROW_RUN=x\nA=2\n\xff=1\nN=\0\nE=");
        let expected =
            [("A", "2"), ("_b2", "x=y z"), ("E", "")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(values, BTreeMap::from(expected));
        assert_eq!(
            problems,
            [
                "line 4: no `=`",
                "line 5: the name may contain only letters, digits and `_`",
                "line 6: names that begin with `ESCROW_` are taken",
                "line 8: not UTF-8",
                "line 9: the value contains a NUL character",
            ]
        );
    }

    #[test]
    fn a_place_that_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let place = File::open(folder.path()).unwrap().into();
        let Handback { env, problems, is_gone } = take(&place, "nothing");
        assert_eq!((env, problems, is_gone), (BTreeMap::new(), vec![], true));
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        for (name, can_be_removed) in [("link", true), (".", false)] {
            let Handback { env, problems, is_gone } = take(&place, name);
            assert_eq!((env, is_gone), (BTreeMap::new(), can_be_removed));
            assert_eq!(problems, ["ESCROW_ENV is not a regular file"]);
        }
    }

    #[test]
    fn more_than_one_mebibyte_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("env"), "A=".to_owned() + &"x".repeat(1024 * 1024)).unwrap();
        let place = File::open(folder.path()).unwrap().into();
        assert_eq!(take(&place, "env").problems, ["ESCROW_ENV has more than 1 MiB: nothing of it was taken"]);
    }
}
