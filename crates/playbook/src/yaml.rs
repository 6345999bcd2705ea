//! YAML text as a tree whose every node knows its place.
//!
//!   text ──granit-parser──▶ events ──build──▶ Node ──(shape, decode)──▶ …
//!
//! **Invariant:** reading ends, whatever the text: its size, its depth and what its aliases expand to are
//! bounded. Nothing here knows what a playbook is.

mod build;
mod node;
mod place;
mod scalar;

pub use build::TEXT_BYTES_MAX;
pub(crate) use build::parse;
pub(crate) use node::{Content, Entry, Node};
pub(crate) use place::place_within;
