//! The names that expressions and templates read. The playbook reader allows them, and the engine gives them values.

/// The names that every source of a playbook can read.
pub const EXPRESSION_NAMES: &[&str] = &[
    "event",
    "env",
    "inputs",
    "outputs",
    "outputs_history",
    "outputs_raw",
    "memory",
    "filesChanged",
    "filesCount",
    "branch",
    "baseBranch",
    "checkName",
    "attempt",
    "item",
    "artifacts",
];

/// The names that only sources after the provider can read.
pub const EXPRESSION_NAMES_AFTER: &[&str] = &["output", "result"];

/// The names that only sources of a chain can read.
pub const EXPRESSION_NAMES_OF_CHAINS: &[&str] = &["trigger", "steps"];
