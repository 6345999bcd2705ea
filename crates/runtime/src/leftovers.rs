//! What lies in the spool of a run only while its commands need it. A process that was killed leaves it there: the
//! process that takes the run over removes it, and no backup has it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use escrow_harness::HARNESSES;

/// The ends of the names of private homes of harnesses.
const HOME_ENDING: &str = ".home";

/// Whether an entry of a spool is for a command and goes with it.
pub fn is_for_commands(name: &OsStr) -> bool {
    is_handed_over(name)
        || [&b".tmp"[..], b".sandbox"].iter().any(|end| name.as_encoded_bytes().ends_with(end))
}

/// Escrow handed secrets over as `secret-…` once.
fn is_handed_over(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    [&b"context-"[..], b"handback-", b"secret-"].iter().any(|start| name.starts_with(start))
}

/// Whether a file beneath a spool is the login of the user, which a harness has borrowed.
pub fn is_lent_login(path: &Path) -> bool {
    let mut parts = path.iter();
    let is_in_home =
        parts.next().is_some_and(|home| home.as_encoded_bytes().ends_with(HOME_ENDING.as_bytes()));
    is_in_home && logins().any(|login| Path::new(login) == parts.as_path())
}

/// The files alone: the first command of this process may already have a home.
pub(crate) fn remove_handed_over(spool: &Path) {
    for entry in fs::read_dir(spool).into_iter().flatten().flatten() {
        if is_handed_over(&entry.file_name()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The caller has made sure that no command of the run lives. Logins are given back elsewhere.
pub(crate) fn remove(spool: &Path) {
    let Ok(entries) = fs::read_dir(spool) else { return };
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_for_commands(&name) {
            let _ = if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

fn logins() -> impl Iterator<Item = &'static str> {
    HARNESSES.iter().filter_map(|harness| harness.spec().login.as_ref()).map(|login| login.target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_were_given_is_left_over_and_output_and_homes_are_not() {
        let spool = tempfile::tempdir().unwrap();
        let kept = ["a-1-1.stdout", "a-1-1.home/claude/projects.json", "a-1-1.home/claude/.credentials.json"];
        let gone =
            ["secret-a-1-1-TOKEN", "context-0.json", "handback-0.env", "a-1-1.tmp/left", "a-1-1.sandbox"];
        for name in kept.iter().chain(&gone) {
            let path = spool.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        assert!(is_lent_login(Path::new(kept[2])) && !is_lent_login(Path::new(kept[1])));
        remove(spool.path());
        assert!(kept.iter().all(|name| spool.path().join(name).exists()));
        assert!(gone.iter().all(|name| !spool.path().join(name).exists()));
    }
}
