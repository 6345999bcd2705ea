//! `escrow verify`: whether a run, an exported file or the whole state is complete and unchanged.

use std::path::Path;

use escrow_app::{Error, runs, transfer};
use escrow_model::RunId;
use escrow_store::{Hash, StateVerification, Verification};
use serde_json::json;

use crate::arguments::{Output, Shared, VerifyArguments};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Ui, count};

pub(crate) async fn verify(arguments: &VerifyArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let expected = arguments.expect.as_deref().map(expected).transpose()?;
    if arguments.all {
        return verify_state(expected, shared, ui).await;
    }
    let path = Path::new(&arguments.subject);
    if path.is_file() || arguments.subject.contains(['/', '.']) {
        let file = transfer::verify_file(path)?;
        let digest = file.digest.as_deref();
        // The digest covers the whole file, so it may be what was kept elsewhere.
        let expected = expected.filter(|expected| digest != Some(expected.to_string().as_str()));
        return intact(&file.run, file.entries, file.hash, digest, expected, ui);
    }
    let verified = runs::verify(&session::app(shared, ui)?, &arguments.subject).await?;
    let run = &verified.row.id;
    match verified.journal {
        Verification::Intact { entries, hash } => {
            if let Some(broken) = verified.breaks.first() {
                return Err(Error::world("broken_state", broken.to_string()));
            }
            intact(run, entries, hash, None, expected, ui)
        }
        Verification::Broken { seq, reason } => {
            let message = format!("the journal of `{run}` is broken at entry {seq}: {reason}");
            Err(Error::world("broken_journal", message))
        }
        Verification::NoSuchRun => Err(Error::not_found("unknown_run", format!("there is no run `{run}`"))),
    }
}

async fn verify_state(expected: Option<Hash>, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    let Some(StateVerification { runs, removed, entries, hash, breaks }) =
        app.queries()?.verify_state().await?
    else {
        return Err(Error::author(
            "no_state",
            format!("there is no state in `{}`", app.state().path().display()),
        ));
    };
    if let Some((first, others)) = breaks.split_first() {
        for other in others {
            ui.error(&other.to_string(), None);
        }
        return Err(Error::world("broken_state", first.to_string()));
    }
    compare(expected, hash)?;
    let counted = count(usize::try_from(runs).unwrap_or(usize::MAX), "run");
    let gone = if removed > 0 { format!(", {removed} removed by gc") } else { String::new() };
    match ui.output() {
        Output::Human => {
            ui.page(&format!("{} {counted}{gone}: {entries} entries, {hash}", ui.page.green("intact")));
        }
        Output::Json | Output::Jsonl => {
            ui.data(&json!({
                "intact": true, "runs": runs, "removed": removed, "entries": entries, "hash": hash.to_string(),
            }));
        }
    }
    Ok(Exit::Completed)
}

fn intact(
    run: &RunId,
    entries: u64,
    hash: Hash,
    digest: Option<&str>,
    expected: Option<Hash>,
    ui: &Ui,
) -> Result<Exit, Error> {
    compare(expected, hash)?;
    let hash = hash.to_string();
    match ui.output() {
        Output::Human => {
            let whole = digest.map(|digest| format!("\n  digest of the file {digest}")).unwrap_or_default();
            ui.page(&format!("{} {run}: {entries} entries, {hash}{whole}", ui.page.green("intact")));
        }
        Output::Json | Output::Jsonl => {
            let mut document = json!({ "run": run, "intact": true, "entries": entries, "hash": hash });
            if let Some(digest) = digest {
                document["digest"] = json!(digest);
            }
            ui.data(&document);
        }
    }
    Ok(Exit::Completed)
}

/// A record that is sound, but not the one that the caller knows, was replaced as a whole.
fn compare(expected: Option<Hash>, hash: Hash) -> Result<(), Error> {
    match expected {
        Some(expected) if expected != hash => Err(Error::world(
            "unexpected_hash",
            format!("the record is sound, but its hash is {hash}, not {expected}"),
        )),
        Some(_) | None => Ok(()),
    }
}

fn expected(text: &str) -> Result<Hash, Error> {
    Hash::parse(text).ok_or_else(|| {
        Error::author("usage", format!("`--expect {text}` is not a hash"))
            .help("give the 64 hexadecimal digits that `escrow verify` printed")
    })
}
