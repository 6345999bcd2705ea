//! What becomes of a journal that was written elsewhere.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    Done {
        seq: u64,
    },
    /// The very same journal is here.
    AlreadyThere,
    /// A run of this name is here, with another journal. It stays as it is.
    Differs,
}
