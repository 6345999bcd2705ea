//! `file.changed`: files beneath the project, compared with what they were at the last poll.
//!
//! **Invariant:** a change is found by comparing, never by being told. A watcher only says when to poll, so that changes
//! fire without a daemon, after a restart, and on file systems that tell nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use escrow_model::{EventTrigger, Millis, TriggerEvent, TriggerSource, hex};
use escrow_store::{ArmedTrigger, CursorMove, Recording};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use serde_json::{Map, json};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use super::event::{Origin, offer};
use super::{PollContext, PollError, PollFuture, TriggerKind};

pub struct FileTrigger;

/// How many files and directories a poll passes.
const VISITED_MAX: usize = 100_000;
/// How many matching files a trigger may have.
const FILES_MAX: usize = 20_000;
/// How many paths an event names.
const NAMED_MAX: usize = 500;

/// Directories that no trigger looks into.
const LEFT_OUT: [&str; 2] = [".git", ".escrow"];

/// Path, and what tells that its file has changed.
type Snapshot = BTreeMap<String, String>;

impl TriggerKind for FileTrigger {
    fn name(&self) -> &'static str {
        "file"
    }

    fn poll<'a>(&'a self, context: &'a PollContext<'a>) -> PollFuture<'a> {
        Box::pin(async move {
            let mut recordings = Vec::new();
            for armed in context.fires.listeners(EventTrigger::FILE).await? {
                recordings.extend(poll(&armed, context).await?);
            }
            Ok(recordings)
        })
    }

    fn is_outside(&self) -> bool {
        true
    }
}

async fn poll(armed: &ArmedTrigger, context: &PollContext<'_>) -> Result<Option<Recording>, PollError> {
    let TriggerSource::Event(trigger) = &armed.source else { return Ok(None) };
    let name = cursor_name(armed, &trigger.paths);
    let from = context.fires.cursor(&name).await?;
    let (root, paths) = (context.project.to_owned(), trigger.paths.clone());
    let walked = tokio::task::spawn_blocking(move || snapshot(&root, &paths)).await;
    let walked = walked.map_err(|error| PollError::Source(format!("the search for files ended: {error}")))?;
    let (now, newest_ms) = walked
        .map_err(|error| PollError::Source(format!("the files of chain `{}`: {error}", armed.chain)))?;
    let to = json!(now).to_string();
    let Some(before) = from.as_deref().map(|text| serde_json::from_str::<Snapshot>(text).unwrap_or_default())
    else {
        // The first poll: what is there is where changes begin.
        return Ok(Some(Recording { cursors: vec![CursorMove { name, from, to }], ..Recording::default() }));
    };
    if before == now {
        return Ok(None);
    }
    let quiet_ms = context.now_ms.saturating_sub(newest_ms);
    if newest_ms <= context.now_ms && quiet_ms < trigger.debounce_ms {
        // No event reports that a file has stopped changing, so the trigger asks to be polled again.
        let poll_again_at = Some(newest_ms.saturating_add(trigger.debounce_ms));
        return Ok(Some(Recording { poll_again_at, ..Recording::default() }));
    }
    let event = changed(&before, &now, context.now_ms);
    let occurrences = offer(&event, &Origin::default(), std::slice::from_ref(armed));
    Ok(Some(Recording { occurrences, cursors: vec![CursorMove { name, from, to }], ..Recording::default() }))
}

/// A trigger with other paths begins anew.
fn cursor_name(armed: &ArmedTrigger, paths: &[String]) -> String {
    let digest = Sha256::digest(paths.join("\0"));
    format!("files:{}:{}:{}", armed.chain_id.as_str(), armed.position, hex(&digest[..6]))
}

fn changed(before: &Snapshot, now: &Snapshot, at: Millis) -> TriggerEvent {
    let added: Vec<&String> = now.keys().filter(|path| !before.contains_key(*path)).collect();
    let removed: Vec<&String> = before.keys().filter(|path| !now.contains_key(*path)).collect();
    let modified: Vec<&String> = now
        .iter()
        .filter(|(path, stamp)| before.get(*path).is_some_and(|earlier| earlier != *stamp))
        .map(|(path, _)| path)
        .collect();
    let mut paths: Vec<&String> = [&added[..], &modified[..], &removed[..]].concat();
    paths.sort();
    let mut fields = Map::new();
    fields.insert("count".into(), json!(paths.len()));
    for (name, mut list) in [("paths", paths), ("added", added), ("modified", modified), ("removed", removed)]
    {
        list.truncate(NAMED_MAX);
        fields.insert(name.into(), json!(list));
    }
    let digest = Sha256::digest(format!("{}\0{}", json!(before), json!(now)));
    let key = format!("files:{}", hex(&digest[..16]));
    TriggerEvent { name: EventTrigger::FILE.to_owned(), fields, key, at }
}

/// The files that match, and when the newest of them was written.
fn snapshot(root: &Path, globs: &[String]) -> Result<(Snapshot, Millis), String> {
    let set = matcher(globs)?;
    let mut files = Snapshot::new();
    let mut newest_ms = 0;
    let mut visited = 0;
    let mut beginnings: Vec<PathBuf> = globs.iter().map(|glob| literal_beginning(glob)).collect();
    beginnings.sort();
    let mut begun: Vec<PathBuf> = Vec::new();
    for beginning in beginnings {
        if !begun.iter().any(|earlier| beginning.starts_with(earlier)) {
            begun.push(beginning);
        }
    }
    let mut left: Vec<PathBuf> = begun;
    while let Some(relative) = left.pop() {
        visited += 1;
        if visited > VISITED_MAX {
            return Err(format!("more than {VISITED_MAX} files lie there; narrow `paths`"));
        }
        let path = root.join(&relative);
        // What vanishes during the poll is as good as removed.
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_dir() {
            let Ok(entries) = fs::read_dir(&path) else { continue };
            for entry in entries.flatten() {
                if !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                    left.push(relative.join(entry.file_name()));
                }
            }
            continue;
        }
        if !found.is_file() || !set.is_match(&relative) {
            continue;
        }
        let written =
            found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        newest_ms = newest_ms.max(u64::try_from(written.as_millis()).unwrap_or(u64::MAX));
        files.insert(
            relative.to_string_lossy().into_owned(),
            format!("{}:{}", found.len(), written.as_nanos()),
        );
        if files.len() > FILES_MAX {
            return Err(format!("more than {FILES_MAX} files match; narrow `paths`"));
        }
    }
    Ok((files, newest_ms))
}

fn matcher(globs: &[String]) -> Result<GlobSet, String> {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        let glob = GlobBuilder::new(glob).literal_separator(true).build();
        builder.add(glob.map_err(|error| error.to_string())?);
    }
    builder.build().map_err(|error| error.to_string())
}

/// The directory that every match lies beneath; empty for the project itself.
fn literal_beginning(glob: &str) -> PathBuf {
    let parts: Vec<&str> = glob.split('/').collect();
    let literal = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).count();
    parts[..literal].iter().collect()
}

/// Says when files beneath the project may have changed. Without one, looks come at intervals.
pub struct FileWatch {
    _watcher: RecommendedWatcher,
}

impl FileWatch {
    /// `None` when the system cannot watch.
    pub fn start(root: &Path, wake: std::sync::Arc<Notify>) -> Option<FileWatch> {
        let beneath_left_out =
            |path: &Path| path.components().any(|part| LEFT_OUT.iter().any(|name| part.as_os_str() == *name));
        let inside = root.to_owned();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            // A poll opens directories itself.
            let is_read =
                matches!(event.kind, EventKind::Access(how) if how != AccessKind::Close(AccessMode::Write));
            let relative =
                |path: &PathBuf| path.strip_prefix(&inside).map(Path::to_owned).unwrap_or_default();
            if !is_read && !event.paths.iter().all(|path| beneath_left_out(&relative(path))) {
                wake.notify_one();
            }
        })
        .ok()?;
        watcher.watch(root, RecursiveMode::Recursive).ok()?;
        Some(FileWatch { _watcher: watcher })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_begins_where_the_glob_stops_being_literal() {
        for (glob, expected) in
            [("docs/**/*.md", "docs"), ("*.toml", ""), ("src/lib.rs", "src/lib.rs"), ("a/{b,c}/d", "a")]
        {
            assert_eq!(literal_beginning(glob), PathBuf::from(expected), "{glob}");
        }
    }

    #[test]
    fn changes_are_what_differs_between_two_looks() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("docs/a.md", "a");
        write("docs/sub/b.md", "b");
        write("docs/c.txt", "c");
        write(".git/d.md", "d");
        write("e.md", "e");
        let globs = ["docs/**/*.md".to_owned()];
        let (before, _) = snapshot(root.path(), &globs).unwrap();
        assert_eq!(before.keys().collect::<Vec<_>>(), ["docs/a.md", "docs/sub/b.md"]);
        write("docs/a.md", "longer");
        write("docs/f.md", "f");
        fs::remove_file(root.path().join("docs/sub/b.md")).unwrap();
        let (now, _) = snapshot(root.path(), &globs).unwrap();
        let event = changed(&before, &now, 7);
        assert_eq!(event.fields["paths"], json!(["docs/a.md", "docs/f.md", "docs/sub/b.md"]));
        assert_eq!(event.fields["added"], json!(["docs/f.md"]));
        assert_eq!(event.fields["modified"], json!(["docs/a.md"]));
        assert_eq!(event.fields["removed"], json!(["docs/sub/b.md"]));
        assert_ne!(event.key, changed(&now, &before, 7).key);
        let (all, _) = snapshot(root.path(), &["**/*.md".to_owned()]).unwrap();
        assert!(!all.keys().any(|path| path.starts_with(".git")), "{all:?}");
    }
}
