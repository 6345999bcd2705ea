//! What people are told about their playbooks, and what follows from good ones.

#![expect(clippy::disallowed_methods, reason = "these tests read the files they are about")]

mod agents;
mod always;
mod broken;
mod good;
mod pages;
mod prompt;
mod reports;
mod support;
