//! The link from a receipt to its parent.

use crate::envelope::FrameContext;
use crate::validation::{ValidationError, require_non_empty_if_present};
use crate::vocabulary::FrameClass;

/// The receipt of a called frame names its caller's receipt as parent; no receipt is its own parent.
pub fn check_linkage(
    parent_receipt_id: Option<&str>,
    receipt_id: &str,
    frame: Option<&FrameContext>,
) -> Result<(), ValidationError> {
    require_non_empty_if_present(parent_receipt_id, "parent_receipt_id")?;
    if parent_receipt_id == Some(receipt_id) {
        return refuse("parent_receipt_id must not equal receipt_id (self-cycle)");
    }
    let is_called = frame.is_some_and(|frame| frame.frame_class == FrameClass::Subcall);
    if is_called && parent_receipt_id.is_none() {
        return refuse(
            "frame_class=subcall requires parent_receipt_id; emitting a root receipt for a nested frame would \
             misrepresent the receipt tree",
        );
    }
    Ok(())
}

fn refuse(why: &str) -> Result<(), ValidationError> {
    Err(ValidationError::InvalidReceipt(why.to_owned()))
}
