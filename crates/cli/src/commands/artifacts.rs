//! `escrow artifacts`: what a run promised and delivered, and the delivered bytes themselves.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use escrow_engine::Run;
use escrow_model::{ExpectedArtifact, ProducedArtifact, rfc3339};
use escrow_runtime::inspection::{OpenedFile, open_beneath};
use serde::Serialize;
use serde_json::json;

use super::runs::replay;
use crate::arguments::{ArtifactsArguments, Output, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Table, Ui, bytes_words, printable};

pub(crate) fn artifacts(arguments: &ArtifactsArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let store = state.read()?;
    let row = store.run(&arguments.run).map_err(Failure::from)?;
    let run = replay(&store, &row)?;
    let shelf = Shelf { directory: directory(&run, &state), run: &run };
    match &arguments.get {
        Some(wanted) => shelf.fetch(wanted, arguments, ui)?,
        None => shelf.list(ui),
    }
    Ok(Exit::Completed)
}

/// Where the files are: for a run that was imported, not where they were when it ran.
fn directory(run: &Run, state: &StateDirectory) -> PathBuf {
    let then = PathBuf::from(&run.options().artifacts);
    if then.is_dir() { then } else { state.artifacts(&run.options().run) }
}

/// One expected artifact, or one file of it.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    path: String,
    required: bool,
    source: &'static str,
    check: Option<String>,
    description: String,
    /// `delivered`, why it was not, or `pending` while the run goes on.
    status: &'static str,
    detail: String,
    size: Option<u64>,
    sha256: Option<String>,
    /// What became of the file since it was verified: `unchanged`, `changed` or `gone`.
    now: Option<&'static str>,
}

struct Shelf<'a> {
    directory: PathBuf,
    run: &'a Run,
}

impl Shelf<'_> {
    fn list(&self, ui: &Ui) {
        let rows = self.rows();
        match ui.output() {
            Output::Human => ui.page(&self.table(&rows, ui)),
            Output::Jsonl => {
                for row in &rows {
                    ui.data(&json!(row));
                }
            }
            Output::Json => {
                let delivery = self.run.delivery();
                ui.data(&json!({
                    "run_id": self.run.options().run,
                    "status": delivery.map(|delivery| delivery.status),
                    "checked_at": delivery.map(|delivery| rfc3339(delivery.checked_at_ms)),
                    "directory": self.directory,
                    "artifacts": rows,
                }));
            }
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for expected in self.run.expected_artifacts() {
            let files = self.produced().filter(|file| file.id == expected.id);
            let delivered: Vec<Row> = files.map(|file| self.delivered(&expected, file)).collect();
            if delivered.is_empty() {
                rows.push(self.missing(&expected));
            }
            rows.extend(delivered);
        }
        rows
    }

    fn produced(&self) -> impl Iterator<Item = &ProducedArtifact> {
        self.run.delivery().into_iter().flat_map(|delivery| &delivery.produced)
    }

    fn delivered(&self, expected: &ExpectedArtifact, file: &ProducedArtifact) -> Row {
        Row {
            path: file.path.clone(),
            size: Some(file.size),
            sha256: Some(file.sha256.clone()),
            now: Some(match self.open(&file.path) {
                Ok(mut opened) => match opened.copy(&mut io::sink()) {
                    Ok((_, digest)) if digest == file.sha256 => "unchanged",
                    Ok(_) | Err(_) => "changed",
                },
                Err(_) => "gone",
            }),
            ..Row::of(expected, "delivered", String::new())
        }
    }

    fn missing(&self, expected: &ExpectedArtifact) -> Row {
        match self.run.delivery() {
            None => Row::of(expected, "pending", String::new()),
            Some(delivery) => match delivery.missing(&expected.id) {
                Some(missing) => Row::of(expected, missing.problem.as_str(), missing.detail.clone()),
                // A pattern that may match nothing, and did.
                None => Row::of(expected, "delivered", "no files".to_owned()),
            },
        }
    }

    fn open(&self, path: &str) -> Result<OpenedFile, Failure> {
        let place = || self.directory.join(path).display().to_string();
        match open_beneath(&self.directory, path) {
            Ok(Some(file)) => Ok(file),
            Ok(None) => Err(Failure::world("gone", format!("`{}` no longer exists", place()))),
            Err(problem) => Err(Failure::world("unreadable", format!("`{}`: {problem}", place()))),
        }
    }

    fn table(&self, rows: &[Row], ui: &Ui) -> String {
        let page = ui.page;
        if rows.is_empty() {
            return format!("run {} promised no artifacts\n", self.run.options().run);
        }
        let mut table = Table::new();
        for row in rows {
            let required = if row.required { "required" } else { "optional" };
            let status = row.status.replace('_', " ");
            let painted = match (row.status, row.required) {
                ("delivered", _) => page.green(&status),
                (_, true) => page.red(&status),
                (_, false) => page.yellow(&status),
            };
            let size = row.size.map(bytes_words).unwrap_or_default();
            let digest: String = row.sha256.iter().flat_map(|digest| digest.chars().take(12)).collect();
            let now =
                row.now.filter(|now| *now != "unchanged").map(|now| format!("{now} since it was verified"));
            let note = [Some(row.detail.clone()).filter(|detail| !detail.is_empty()), now];
            let note = printable(&note.into_iter().flatten().collect::<Vec<_>>().join(", "));
            let path = printable(&row.path);
            table.row(&[
                (&format!("  {}", row.id), format!("  {}", page.bold(&row.id))),
                (&path, path.clone()),
                (required, required.to_owned()),
                (&status, painted),
                (&size, size.clone()),
                (&digest, page.dim(&digest)),
                (row.source, page.dim(row.source)),
                ("", page.yellow(&note)),
            ]);
        }
        format!("{}\n{}", self.directory.display(), table.render())
    }

    fn fetch(&self, wanted: &str, arguments: &ArtifactsArguments, ui: &Ui) -> Result<(), Failure> {
        let file = self.find(wanted)?;
        let mut opened = self.open(&file.path)?;
        let (_, digest) = opened.copy(&mut io::sink()).map_err(|error| unreadable(&file.path, &error))?;
        if digest != file.sha256 && !arguments.changed {
            let message = format!("`{}` has changed since it was verified", file.path);
            return Err(Failure::person("changed", message).help("`--changed` fetches it as it is now"));
        }
        let copied = match &arguments.to {
            None => opened.copy(&mut io::stdout().lock()).map(|(_, copied)| copied),
            Some(to) => save(&mut opened, to),
        };
        let copied = copied.map_err(|error| match &arguments.to {
            Some(to) => Failure::world("unwritable", format!("cannot write `{}`: {error}", to.display())),
            None => Failure::world("unwritable", format!("cannot write: {error}")),
        })?;
        if copied != digest {
            return Err(Failure::world("changed", format!("`{}` changed while it was fetched", file.path)));
        }
        if let Some(to) = &arguments.to {
            ui.say(&format!("{} → {}  {copied}", file.path, to.display()));
            ui.data_if_machine(
                &json!({ "artifact": { "id": file.id, "path": file.path, "sha256": copied, "to": to } }),
            );
        }
        Ok(())
    }

    /// By id, by path, or by the beginning of a digest.
    fn find(&self, wanted: &str) -> Result<&ProducedArtifact, Failure> {
        let is_digest = wanted.len() >= DIGEST_CHARS_MIN && wanted.chars().all(|c| c.is_ascii_hexdigit());
        let digest = wanted.to_ascii_lowercase();
        let ways: [&dyn Fn(&ProducedArtifact) -> bool; 3] =
            [&|file| file.id == wanted, &|file| file.path == wanted, &|file| {
                is_digest && file.sha256.starts_with(&digest)
            }];
        for way in ways {
            let found: Vec<&ProducedArtifact> = self.produced().filter(|file| way(file)).collect();
            match found.as_slice() {
                [] => {}
                // Two files with one digest hold the same bytes.
                [first, rest @ ..] if rest.iter().all(|other| other.sha256 == first.sha256) => {
                    return Ok(first);
                }
                [..] => {
                    let paths: Vec<String> = found.iter().map(|file| format!("`{}`", file.path)).collect();
                    let message = format!("`{wanted}` matches {} files", found.len());
                    let help = format!("fetch one by its path: {}", paths.join(", "));
                    return Err(Failure::author("ambiguous_artifact", message).help(help));
                }
            }
        }
        Err(self.not_there(wanted))
    }

    fn not_there(&self, wanted: &str) -> Failure {
        if let Some(missing) = self.run.delivery().and_then(|delivery| delivery.missing(wanted)) {
            return Failure::author("not_delivered", format!("it was not delivered: {}", missing.in_words()));
        }
        let ids: Vec<String> = self.produced().map(|file| format!("`{}`", file.id)).collect();
        let help = match ids.as_slice() {
            [] => "the run delivered nothing".to_owned(),
            ids => format!("it delivered {}", ids.join(", ")),
        };
        let message = format!("run `{}` delivered no artifact `{wanted}`", self.run.options().run);
        Failure::author("unknown_artifact", message).help(help)
    }
}

/// A shorter beginning of a digest may be a word.
const DIGEST_CHARS_MIN: usize = 8;

impl Row {
    fn of(expected: &ExpectedArtifact, status: &'static str, detail: String) -> Row {
        Row {
            id: expected.id.clone(),
            path: expected.location.label().to_owned(),
            required: expected.required,
            source: expected.source.as_str(),
            check: expected.check.clone(),
            description: expected.description.clone(),
            status,
            detail,
            size: None,
            sha256: None,
            now: None,
        }
    }
}

/// ReferenceResolver its place first, so that a file that is there is replaced whole or not at all.
fn save(opened: &mut OpenedFile, to: &Path) -> io::Result<String> {
    let name = to.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let beside = to.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = fs::File::create_new(&beside).and_then(|mut file| {
        let (_, digest) = opened.copy(&mut file)?;
        file.flush()?;
        fs::rename(&beside, to)?;
        Ok(digest)
    });
    if written.is_err() {
        drop(fs::remove_file(&beside));
    }
    written
}

fn unreadable(path: &str, error: &io::Error) -> Failure {
    Failure::world("unreadable", format!("cannot read `{path}`: {error}"))
}
