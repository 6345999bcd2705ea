//! The execution frame of an event.

use serde::{Deserialize, Serialize};

use crate::validation::{ValidationError, require_non_empty, require_non_empty_if_present};
use crate::vocabulary::FrameClass;

/// Names an execution frame and the frame that called it, if any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FrameContext {
    pub frame_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_frame_id: Option<String>,
    pub frame_class: FrameClass,
}

impl FrameContext {
    pub fn top_level(frame_id: impl Into<String>) -> Self {
        Self { frame_id: frame_id.into(), parent_frame_id: None, frame_class: FrameClass::TopLevel }
    }

    pub fn subcall(frame_id: impl Into<String>, parent_frame_id: impl Into<String>) -> Self {
        Self {
            frame_id: frame_id.into(),
            parent_frame_id: Some(parent_frame_id.into()),
            frame_class: FrameClass::Subcall,
        }
    }

    /// A frame is a child exactly when it names its parent.
    pub fn validate(&self) -> Result<(), ValidationError> {
        require_non_empty(&self.frame_id, "frame_context.frame_id")?;
        require_non_empty_if_present(self.parent_frame_id.as_deref(), "frame_context.parent_frame_id")?;
        let broken = match (self.frame_class, self.parent_frame_id.is_some()) {
            (FrameClass::TopLevel, true) => "frame_class=top_level must not carry parent_frame_id",
            (FrameClass::Subcall, false) => "frame_class=subcall requires parent_frame_id",
            (FrameClass::TopLevel, false) | (FrameClass::Subcall, true) => return Ok(()),
        };
        Err(ValidationError::InvalidFrameContext(broken.to_owned()))
    }
}
