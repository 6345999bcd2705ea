//! What people see. Data goes to stdout, talk to stderr, and both are readable without colour.

mod fan;
mod live;
mod paint;
mod screen;
mod story;
mod summary;
mod table;
mod talk;
mod words;

pub(crate) use live::Live;
pub(crate) use summary::{closing, show_run};
pub(crate) use table::Table;
pub(crate) use talk::Talk;
pub(crate) use words::{duration_words, parse_duration};
