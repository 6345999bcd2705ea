//! The JSON API: the documents that the command line prints.

pub(crate) mod chains;
pub(crate) mod lists;
pub(crate) mod openapi;
pub(crate) mod runs;
mod schemas;
