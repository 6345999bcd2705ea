//! Why a run or a check ended the way it did.

use escrow_engine::{ExplainError, Question};
use escrow_model::{Entry, ScopePath};

pub use escrow_engine::{Account, Cause, Construct, Differ, Evaluation, Link, Moment, MomentKind};
pub use escrow_expr::{Explanation, Part};

use crate::error::Error;
use crate::runs::RunRow;

/// Explains the run itself, or a check such as `lint` or `lint[2]`.
pub fn account(row: &RunRow, entries: &[Entry], check: Option<&str>) -> Result<Account, Error> {
    let question = check.map(question).transpose()?;
    escrow_engine::explain(entries, question.as_ref()).map_err(|error| match error {
        ExplainError::Replay(error) => {
            Error::world("journal", format!("the journal of `{}` cannot be replayed: {error}", row.id))
        }
        ExplainError::NoSuchCheck(_) | ExplainError::NoSuchItem { .. } => {
            Error::not_found("unknown_check", error.to_string())
                .help(format!("`escrow runs show {}` lists them", row.id))
        }
    })
}

/// A check, or an item of one.
fn question(text: &str) -> Result<Question, Error> {
    let Some((check, items)) = text.split_once('[') else {
        return Ok(Question { check: text.to_owned(), scope: None });
    };
    let indices: Option<Vec<u32>> =
        items.split('[').map(|item| item.strip_suffix(']').and_then(|index| index.parse().ok())).collect();
    let indices = indices.ok_or_else(|| {
        Error::author("usage", format!("`{text}` is not a check or an item of one")).help("write `CHECK[2]`")
    })?;
    Ok(Question { check: check.to_owned(), scope: Some(ScopePath::new(indices)) })
}
