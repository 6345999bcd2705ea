//! The hands of Escrow: processes, providers, a look at artifacts and at git.

pub mod cancellation;
pub mod chance;
pub mod git;
pub mod inspection;
pub mod process;
pub mod providers;
