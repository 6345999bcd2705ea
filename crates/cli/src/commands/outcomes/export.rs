//! `escrow outcomes export`: as many as there are, in constant memory.

use std::io::{self, BufWriter, Write};

use escrow_app::{App, Error, documents};
use escrow_store::OutcomeFilter;

use super::filter;
use crate::arguments::OutcomesExport;
use crate::exit::Exit;
use crate::terminal::{Ui, count};

/// How many are read at once.
const PAGE: usize = 1_000;

pub(super) async fn export(arguments: &OutcomesExport, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let queries = app.queries()?;
    let asked = filter(&arguments.which, &*queries).await?;
    let unwritable = |error: io::Error| match &arguments.out {
        Some(path) => Error::world("export", format!("cannot write `{}`: {error}", path.display())),
        None => Error::world("export", format!("cannot write: {error}")),
    };
    let mut output: Box<dyn Write> = match &arguments.out {
        None => Box::new(BufWriter::new(io::stdout().lock())),
        Some(path) => Box::new(BufWriter::new(app.state().create_export(path).map_err(unwritable)?)),
    };
    let mut number = 0;
    let mut after = None;
    loop {
        let page =
            OutcomeFilter { after: after.clone(), oldest_first: true, limit: Some(PAGE), ..asked.clone() };
        let rows = queries.outcomes(&page).await?;
        for row in &rows {
            writeln!(output, "{}", documents::outcome(row)).map_err(unwritable)?;
        }
        number += rows.len();
        match rows.last() {
            Some(last) if rows.len() == PAGE => after = Some(last.outcome.id.clone()),
            Some(_) | None => break,
        }
    }
    output.flush().map_err(unwritable)?;
    if let Some(path) = &arguments.out {
        ui.say(&format!("wrote {} to {}", count(number, "outcome"), path.display()));
    }
    Ok(Exit::Completed)
}
