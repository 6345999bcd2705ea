//! Changes of a status, as histories show them.

use escrow_model::{Evidence, Millis};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionRow {
    /// `run`, `approval` or `invocation`.
    pub entity_type: String,
    pub entity_id: String,
    pub from_status: Option<String>,
    pub to_status: String,
    pub reason_code: Option<String>,
    pub reason_summary: Option<String>,
    pub evidence: Vec<Evidence>,
    /// `start`, `engine`, `resume`, `override`, `message`, `clock`, `runs` or `end`.
    pub source: String,
    pub actor: String,
    pub at: Millis,
}
