//! The frame of every page: head, navigation, foot, and the marks that pages share.

mod frame;
mod kept;
mod marks;
mod text;

pub(crate) use frame::{Frame, Nav, bare, failed, whole};
pub(crate) use marks::{Mark, icon, icon_small, status};
pub(crate) use text::{
    anchor, clipped, clock_when, code, duration, id_short, lasting, line, sentence_case, ticked,
    ticked_short, ticked_whole, when,
};
