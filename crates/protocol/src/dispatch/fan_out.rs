//! Several clients of one event.
//!
//! **Invariant:** clients do not see each other. Each gets the same envelope and a receipt of its own, in the order
//! of the command line.

use std::ffi::OsString;

use crate::callback::Environment;

/// A client that is a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub client_id: String,
    pub environment: Environment,
}

/// The receipt id of one client when the caller chose one id for all.
pub fn receipt_id_for(chosen: &str, position: usize, clients: usize) -> String {
    if clients == 1 { chosen.to_owned() } else { format!("{chosen}.{}", position.saturating_add(1)) }
}
