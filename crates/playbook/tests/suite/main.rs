//! Diagnostics of invalid playbooks, and what is derived from valid ones.

#![expect(clippy::disallowed_methods, reason = "these tests read the files they are about")]

mod agents;
mod broken;
mod followed_helps;
mod good;
mod pages;
mod preview;
mod prompt;
mod properties;
mod reports;
mod schedules;
mod support;
mod triggers;
