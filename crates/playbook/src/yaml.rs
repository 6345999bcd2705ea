//! Parses YAML into a tree whose nodes carry their spans.
//!
//!   text ──granit-parser──▶ events ──build──▶ Node ──(shape, decode)──▶ …
//!
//! **Invariant:** size, depth and alias expansion are limited, so parsing any text terminates. This module does not
//! know what a playbook is.

mod build;
mod node;
mod scalar;
mod span;

pub use build::TEXT_BYTES_MAX;
pub(crate) use build::parse;
pub(crate) use node::{Content, Entry, Node};
pub(crate) use span::span_within;
