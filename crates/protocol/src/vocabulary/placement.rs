//! Placements as clients request them and as adapters claim them: two vocabularies and their mapping.

super::vocabulary! {
    /// Where a client wants a payload placed.
    PlacementClass {
        DeveloperEquivalentFrame = "developer_equivalent_frame",
        PrePromptFrame = "pre_prompt_frame",
        SideChannelContext = "side_channel_context",
        ReceiptOnly = "receipt_only",
    }
}

super::vocabulary! {
    /// Where an adapter claims it can place a payload.
    ManifestPlacementClass {
        PreSession = "pre_session",
        PreFrameLeading = "pre_frame_leading",
        PreFrameTrailing = "pre_frame_trailing",
        ToolResult = "tool_result",
        ManualOperator = "manual_operator",
    }
}

super::vocabulary! {
    /// The status of one payload.
    PlacementOutcome {
        Delivered = "delivered",
        Skipped = "skipped",
        Degraded = "degraded",
        Failed = "failed",
    }
}

impl PlacementClass {
    /// The claim that decides about this placement. A receipt needs none: it is always written.
    pub(crate) const fn claimed_as(self) -> Option<ManifestPlacementClass> {
        match self {
            Self::DeveloperEquivalentFrame => Some(ManifestPlacementClass::PreFrameLeading),
            Self::PrePromptFrame => Some(ManifestPlacementClass::PreFrameTrailing),
            Self::SideChannelContext => Some(ManifestPlacementClass::ManualOperator),
            Self::ReceiptOnly => None,
        }
    }
}
