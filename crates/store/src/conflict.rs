//! A run that stands in the way of another: both cannot be open at once.

use escrow_model::RunId;

use crate::run::RunRow;
use crate::wait::WaitRow;

/// An open run that has what another one needs for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct RunConflict {
    pub over: Contested,
    /// The run that has it.
    pub holder: RunId,
    /// The outermost run around the holder that is not around the other run as well: the one that has to end.
    pub root: RunRow,
    /// Both are nested in one run, whose process drives them.
    pub is_sibling: bool,
    /// An effect of the root, or of a run inside it, is under way or unknown.
    pub has_open_effects: bool,
    /// What the root, or a run inside it, waits for.
    pub wait: Option<Box<WaitRow>>,
}

/// What only one open run, with those nested in it, may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contested {
    /// A concurrency group, by its name.
    Group(String),
    /// An artifact directory.
    Artifacts(String),
}
