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

/// The version that a program prints: the first word of its answer that begins with a digit.
pub fn version(program: &Path) -> Option<String> {
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
    Some(word.trim_end_matches([',', '.']).chars().filter(|char| !char.is_control()).take(64).collect())
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
