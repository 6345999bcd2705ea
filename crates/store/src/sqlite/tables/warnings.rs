//! One row per warning. Apart from `runs`, so that a run with many does not rewrite them all for each.

use escrow_model::Event;
use rusqlite::Connection;

use super::{Applied, Projection, json};

pub(crate) const TABLE: Projection = Projection {
    name: "warnings",
    create: "
CREATE TABLE warnings (
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,
    warning TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
",
    apply,
};

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    if let Event::RunReopened { .. } = applied.event {
        // Warnings are raised when a run ends; a run that was reopened has none yet.
        connection.prepare_cached("DELETE FROM warnings WHERE run = ?1")?.execute([applied.run])?;
        return Ok(());
    }
    let Event::WarningRaised { warning } = applied.event else { return Ok(()) };
    connection.prepare_cached("INSERT INTO warnings (run, seq, warning) VALUES (?1, ?2, ?3)")?.execute((
        applied.run,
        applied.seq,
        json(warning)?,
    ))?;
    Ok(())
}
