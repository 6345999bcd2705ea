//! The result of importing a journal.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    Done {
        seq: u64,
    },
    /// The same journal was here before.
    AlreadyThere,
    /// A run of this name has another journal here, which stays unchanged.
    Differs,
}
