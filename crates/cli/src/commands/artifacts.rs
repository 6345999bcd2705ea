//! `escrow artifacts`: what a run promised and delivered, and the delivered bytes themselves.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use escrow_app::artifacts::{self, IfChanged};
use escrow_app::runs::replay;
use escrow_app::{App, Error};
use escrow_engine::Run;
use escrow_model::{ExpectedArtifact, ProducedArtifact, rfc3339};
use serde::Serialize;
use serde_json::json;

use crate::arguments::{ArtifactsArguments, Output, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{TextTable, Ui, bytes_words, printable};

pub(crate) async fn artifacts(
    arguments: &ArtifactsArguments,
    shared: &Shared,
    ui: &Ui,
) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    match &arguments.get {
        Some(wanted) => fetch(wanted, arguments, &app, ui).await?,
        None => {
            let queries = app.queries()?;
            let run = replay(&*queries, &queries.run(&arguments.run).await?).await?;
            DeliveredArtifacts { directory: artifacts::directory(&run, app.state()), run: &run }.list(ui);
        }
    }
    Ok(Exit::Completed)
}

async fn fetch(wanted: &str, arguments: &ArtifactsArguments, app: &App, ui: &Ui) -> Result<(), Error> {
    let if_changed = if arguments.changed { IfChanged::Fetch } else { IfChanged::Refuse };
    let mut fetched = artifacts::fetch(app, &arguments.run, wanted, if_changed).await?;
    match (fetched.as_mut_slice(), &arguments.to) {
        ([one], None) => one.copy_to(&mut UntilClosed(io::stdout().lock())),
        ([one], Some(to)) if !to.is_dir() => {
            one.save(to)?;
            saved(one, to, ui);
            Ok(())
        }
        (files, Some(directory)) => {
            if directory.exists() && !directory.is_dir() {
                let message = format!(
                    "`{}` is a file, and `{wanted}` matches {} files",
                    directory.display(),
                    files.len()
                );
                return Err(
                    Error::author("ambiguous_artifact", message).help("name a directory with `--to DIR`")
                );
            }
            for file in files {
                let to = file.save_below(directory)?;
                saved(file, &to, ui);
            }
            Ok(())
        }
        (files, None) => {
            let message = format!("`{wanted}` matches {} files", files.len());
            Err(Error::author("ambiguous_artifact", message)
                .help("`--to DIR` writes them all to a directory"))
        }
    }
}

fn saved(file: &artifacts::FetchedArtifact, to: &Path, ui: &Ui) {
    let (artifact, copied) = (&file.artifact, &file.sha256);
    ui.say(&format!("{} → {}  {copied}", printable(&artifact.path), to.display()));
    ui.data_if_machine(
        &json!({ "artifact": { "id": artifact.id, "path": artifact.path, "sha256": copied, "to": to } }),
    );
}

/// Ignores what is written after the reader has closed the pipe: it has seen enough.
struct UntilClosed<W>(W);

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }
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
    /// `delivered`, why it was not, `not_expected`, or `pending` while the run is under way.
    status: &'static str,
    detail: String,
    size: Option<u64>,
    sha256: Option<String>,
    /// What became of the file since it was verified: `unchanged`, `changed` or `gone`.
    now: Option<&'static str>,
}

struct DeliveredArtifacts<'a> {
    directory: PathBuf,
    run: &'a Run,
}

impl DeliveredArtifacts<'_> {
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
        let mut bytes_left = u64::MAX;
        Row {
            path: file.path.clone(),
            size: Some(file.size),
            sha256: Some(file.sha256.clone()),
            now: Some(artifacts::since_verified(&self.directory, file, &mut bytes_left).as_str()),
            ..Row::of(expected, "delivered", String::new())
        }
    }

    fn missing(&self, expected: &ExpectedArtifact) -> Row {
        match self.run.delivery() {
            None => Row::of(expected, "pending", String::new()),
            Some(delivery) => match delivery.missing(&expected.id) {
                Some(missing) => Row::of(expected, missing.problem.as_str(), missing.detail.clone()),
                None if let Some(one) = delivery.not_expected.iter().find(|one| one.id == expected.id) => {
                    let detail = format!("`{}` does not hold", one.condition);
                    Row::of(expected, "not_expected", detail)
                }
                // A pattern that may match nothing, and did.
                None => Row::of(expected, "delivered", "no files".to_owned()),
            },
        }
    }

    fn table(&self, rows: &[Row], ui: &Ui) -> String {
        let page = ui.page;
        if rows.is_empty() {
            return format!("run {} promised no artifacts\n", self.run.options().run);
        }
        let mut table = TextTable::new();
        for row in rows {
            let required = if row.required { "required" } else { "optional" };
            let status = row.status.replace('_', " ");
            let painted = match (row.status, row.required) {
                ("delivered", _) => page.green(&status),
                ("not_expected", _) => page.dim(&status),
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
}

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
