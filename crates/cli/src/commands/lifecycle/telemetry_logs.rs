//! Finds the newest log of a harness, in the directories that its own settings name.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use escrow_protocol::telemetry::{TelemetryHost, TelemetryLog};

pub(super) fn newest(host: TelemetryHost, repository: &Path) -> Option<TelemetryLog> {
    let name = host.as_str().to_uppercase();
    let path = match host {
        TelemetryHost::Claude => {
            let project = fs::canonicalize(repository).ok()?.to_string_lossy().replace('/', "-");
            newest_of(
                &home(&["LIFELOOP_CLAUDE_HOME", "CCD_CLAUDE_HOME"], ".claude")?
                    .join("projects")
                    .join(project),
                "",
            )
        }
        TelemetryHost::Codex => {
            let thread = variable(&["LIFELOOP_CODEX_THREAD_ID", "CODEX_THREAD_ID"])?;
            let sessions = home(&["LIFELOOP_CODEX_HOME", "CODEX_HOME"], ".codex")?.join("sessions");
            newest_of(&sessions, &thread.to_string_lossy())
        }
        TelemetryHost::Gemini => {
            let named = variable(&["LIFELOOP_GEMINI_TELEMETRY_PATH", "CCD_GEMINI_TELEMETRY_PATH"]);
            Some(named.map_or_else(|| repository.join(".gemini/telemetry.log"), PathBuf::from))
        }
    }?;
    let number = |name: &str| variable(&[name])?.to_str()?.parse().ok();
    let window = number(&format!("LIFELOOP_{name}_CONTEXT_WINDOW_TOKENS"));
    Some(TelemetryLog {
        text: String::from_utf8_lossy(&fs::read(&path).ok()?).into_owned(),
        modified_epoch_s: modified(&path).duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        model_name: None,
        context_window_tokens: window.or_else(|| number("LIFELOOP_CONTEXT_WINDOW_TOKENS")),
        is_compacted: false,
    })
}

fn variable(names: &[&str]) -> Option<OsString> {
    names.iter().find_map(std::env::var_os)
}

fn home(names: &[&str], below: &str) -> Option<PathBuf> {
    variable(names).map(PathBuf::from).or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(below)))
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|about| about.modified()).unwrap_or(UNIX_EPOCH)
}

fn newest_of(directory: &Path, name_part: &str) -> Option<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if name.ends_with(".jsonl") && name.contains(name_part) {
                found.push(path);
            }
        }
    }
    found.into_iter().max_by_key(|path| modified(path))
}
