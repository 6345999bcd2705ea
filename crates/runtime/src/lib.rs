//! The hands of Escrow: processes, providers, a look at artifacts and at git.

pub mod agents;
pub mod callbacks;
pub mod cancellation;
pub mod catalog;
pub mod entropy;
pub mod facts;
pub mod git;
pub mod holder;
pub mod host;
pub mod inspection;
pub mod outcome_kinds;
pub mod playbook_file;
pub mod process;
pub mod provider_world;
pub mod providers;
pub mod redaction;
pub mod rehearsal;
pub mod secrets;
pub mod supervisor;
pub mod telemetry;
