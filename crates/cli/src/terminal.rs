//! Paints what people read. Data goes to stdout, ui to stderr, and both are readable without colour.

mod account;
mod card;
mod comparison;
mod given;
mod live;
mod paint;
mod stream;
mod summary;
mod table;
mod ui;
mod width;
mod words;

pub(crate) use account::show_account;
pub(crate) use card::show_card;
pub(crate) use comparison::{show_comparison, show_comparisons};
pub(crate) use given::{title_words, told_apart};
pub(crate) use live::LiveView;
pub(crate) use paint::Paint;
pub(crate) use stream::OutputLines;
pub(crate) use summary::{closing, show_run, status_painted, verdict_of};
pub(crate) use table::TextTable;
pub(crate) use ui::{Streaming, Ui, escaped_json, harmless};
pub(crate) use width::{heading, terminal_columns};
pub(crate) use words::{
    bytes_words, choices, count, duration_words, parse_bytes, parse_duration, printable, visible,
};
