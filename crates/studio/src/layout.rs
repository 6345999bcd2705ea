//! The frame of every page: head, navigation, foot, and the marks that pages share.

mod frame;
mod marks;
mod text;

pub(crate) use frame::{Frame, Nav, bare};
#[expect(unused_imports, reason = "the pages that need them follow")]
pub(crate) use marks::{icon, icon_small, status, tag};
#[expect(unused_imports, reason = "the pages that need them follow")]
pub(crate) use text::{bytes, clipped, duration, id_short, ticked, when};
