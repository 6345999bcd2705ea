//! Finds the program of a harness on this machine, and asks for its version.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// `ESCROW_HARNESS_<NAME>`, else the first executable of this name on `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    let variable = format!("ESCROW_HARNESS_{}", name.to_ascii_uppercase());
    if let Some(named) = std::env::var_os(variable).filter(|named| !named.is_empty()) {
        return Some(named.into()).filter(|path: &PathBuf| is_executable(path));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| is_executable(program))
}

/// The version of a program: that of its npm package, else what it prints. Some programs unpack themselves into the home of the
/// user, or take seconds, when they are asked.
pub fn version(program: &Path, package: &str) -> Option<String> {
    packaged_version(program, package).or_else(|| printed_version(program)).map(|version| plain(&version))
}

/// How far above a program its package may begin.
const LEVELS_MAX: usize = 4;
const PACKAGE_BYTES_MAX: u64 = 1 << 20;

fn packaged_version(program: &Path, package: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let real = program.canonicalize().ok()?;
    real.ancestors().skip(1).take(LEVELS_MAX).find_map(|folder| {
        let mut text = String::new();
        let file = std::fs::File::open(folder.join("package.json")).ok()?;
        file.take(PACKAGE_BYTES_MAX).read_to_string(&mut text).ok()?;
        let found: Package = serde_json::from_str(&text).ok()?;
        (found.name == package).then_some(found.version)
    })
}

/// The first word of the answer to `--version` that begins with a digit.
fn printed_version(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let deadline = Instant::now() + VERSION_TIMEOUT;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut text = String::new();
    child.stdout.take()?.take(4096).read_to_string(&mut text).ok()?;
    let word = text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    Some(word.trim_end_matches([',', '.']).to_owned())
}

fn plain(version: &str) -> String {
    version.chars().filter(|char| !char.is_control()).take(64).collect()
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::version;

    #[test]
    fn the_version_is_that_of_the_package_and_the_program_is_not_started_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("node_modules/@vendor/agent");
        std::fs::create_dir_all(package.join("bin")).unwrap();
        let program = package.join("bin/agent");
        let script =
            format!("#!/bin/sh\ntouch '{}/started'; echo agent 9.9.9, really\n", folder.path().display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let link = folder.path().join("agent");
        symlink(&program, &link).unwrap();
        std::fs::write(
            package.join("package.json"),
            r#"{"name": "@vendor/agent", "version": "1.2.3", "bin": {}}"#,
        )
        .unwrap();
        assert_eq!(version(&link, "@vendor/agent").as_deref(), Some("1.2.3"));
        assert!(!folder.path().join("started").exists());
        // Another package around it says nothing of the program.
        assert_eq!(version(&link, "@vendor/other").as_deref(), Some("9.9.9"));
        assert!(folder.path().join("started").exists());
    }
}
