//! What `verify` says of a state beyond the journal of one run.

use std::fmt;

use escrow_model::RunId;

use crate::chain::Hash;
use crate::loss::Loss;
use crate::verify::Break;

/// Everything that was checked, and everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateVerification {
    pub runs: u64,
    /// Runs that `gc` removed; the roster remembers them.
    pub removed: u64,
    pub entries: u64,
    /// Covers the roster, by it what people recorded beside the journals, and the last entry of every journal.
    pub hash: Hash,
    pub breaks: Vec<StateBreak>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateBreak {
    Journal {
        run: RunId,
        seq: u64,
        reason: Break,
    },
    /// A row of a derived table is not what the journals say.
    Table {
        table: &'static str,
        row: String,
    },
    /// What a person recorded beside the journals was changed, deleted or added by another program.
    RecordedRow {
        table: &'static str,
        number: u64,
    },
    /// The run was created here, `gc` has not removed it, and its journal is gone.
    RunMissing {
        run: RunId,
    },
    /// The run has a journal, but was neither created nor imported by Escrow.
    RunUnknown {
        run: RunId,
    },
    /// The list of runs was changed from this position on.
    Roster {
        position: u64,
    },
    /// The journals and the removals account for another number of entries than were ever written.
    Entries {
        last: u64,
        known: u64,
    },
    /// A table, an index, a view or a trigger is not the one that Escrow made.
    Schema {
        kind: String,
        name: String,
    },
    /// The chain of receipts is not the one that was written.
    Receipts {
        problem: String,
    },
    /// SQLite finds the database itself damaged.
    Damaged {
        problem: String,
    },
    /// Committed entries are missing, up to this one of the run. Others of them may belong to other runs.
    Lost {
        run: RunId,
        seq: u64,
        entries: u64,
    },
}

impl StateBreak {
    pub fn of_loss(loss: &Loss) -> StateBreak {
        StateBreak::Lost { run: loss.last.run.clone(), seq: loss.last.seq, entries: loss.entries() }
    }
}

impl fmt::Display for StateBreak {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateBreak::Journal { run, seq, reason } => {
                write!(formatter, "the journal of `{run}` is broken at entry {seq}: {reason}")
            }
            StateBreak::Table { table, row } => {
                write!(formatter, "the table `{table}` does not say what the journal says about `{row}`")
            }
            StateBreak::RecordedRow { table, number } => {
                write!(formatter, "row {number} of the table `{table}` is not as it was recorded")
            }
            StateBreak::RunMissing { run } => {
                write!(formatter, "run `{run}` was deleted, and not by `escrow gc`")
            }
            StateBreak::RunUnknown { run } => {
                write!(formatter, "run `{run}` was neither created nor imported here")
            }
            StateBreak::Roster { position } => {
                write!(formatter, "the list of runs was changed at position {position}")
            }
            StateBreak::Entries { last, known } => write!(
                formatter,
                "{last} entries were written, and the runs and removals account for {known}"
            ),
            StateBreak::Schema { kind, name } => {
                write!(formatter, "the {kind} `{name}` of the database is not as Escrow made it")
            }
            StateBreak::Receipts { problem } => {
                write!(formatter, "the ledger of receipts is broken {problem}")
            }
            StateBreak::Damaged { problem } => write!(formatter, "the database is damaged: {problem}"),
            StateBreak::Lost { run, seq, entries } => {
                let missing = match entries {
                    1 => "1 entry that was committed is".to_owned(),
                    entries => format!("{entries} entries that were committed are"),
                };
                write!(
                    formatter,
                    "{missing} missing, up to entry {seq} of `{run}`: the write-ahead log was removed or cut, or the machine lost power"
                )
            }
        }
    }
}
