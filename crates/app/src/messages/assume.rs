//! What a person assumes about an effect whose result is unknown.

use escrow_engine::Run;
use escrow_model::{Assumption, Message, ScopePath};

use super::outsider;
use crate::app::App;
use crate::error::Error;
use crate::runs::{Purpose, drive_around, not_resumable};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    pub check: String,
    pub scope: ScopePath,
    pub assumption: Assumption,
}

impl Assumed {
    /// `CHECK=done`, `CHECK[2]=retry`.
    pub fn parse(text: &str) -> Result<Assumed, Error> {
        let bad = || {
            Error::author(
                "usage",
                format!("`--assume {text}` is not CHECK=done, CHECK=failed or CHECK=retry"),
            )
            .help("an item of a fan-out is `CHECK[2]=done`")
        };
        let (place, word) = text.rsplit_once('=').ok_or_else(bad)?;
        let assumption = match word {
            "done" => Assumption::Done,
            "failed" => Assumption::Failed,
            "retry" => Assumption::Retry,
            _ => return Err(bad()),
        };
        let (check, items) = place.split_once('[').unwrap_or((place, ""));
        let mut indices = Vec::new();
        for item in items.split('[').filter(|item| !item.is_empty()) {
            indices.push(item.strip_suffix(']').and_then(|index| index.parse().ok()).ok_or_else(bad)?);
        }
        Ok(Assumed { check: check.to_owned(), scope: ScopePath::new(indices), assumption })
    }
}

/// Sends the assumptions to a run, and drives it and the runs around it.
pub async fn assume(app: &App, run: &str, all: Vec<Assumed>) -> Result<Run, Error> {
    outsider::check(app).await?;
    let row = app.queries()?.run(run).await?;
    if row.status.is_terminal() {
        return Err(not_resumable(&row));
    }
    let journal = app.journal()?;
    for Assumed { check, scope, assumption } in all {
        let message = Message::Assume { check, scope, assumption, by: app.actor(), why: None };
        journal.send(&row.id, &message, app.sender()).await?;
    }
    drive_around(app, &row, Purpose::Resume).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_name_a_check_or_an_item() {
        let read = |text: &str| match Assumed::parse(text) {
            Ok(Assumed { check, scope, assumption }) => format!("{check}{scope} {assumption:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(read("post=done"), "post Done");
        assert_eq!(read("post[2]=retry"), "post[2] Retry");
        assert_eq!(read("post[2][0]=failed"), "post[2][0] Failed");
        assert!(read("post=perhaps").contains("is not CHECK=done"));
        assert!(read("post[x]=done").contains("is not CHECK=done"));
    }
}
