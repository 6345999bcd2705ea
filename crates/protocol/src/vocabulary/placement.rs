//! Where a payload may go, as clients ask for it and as adapters offer it: two vocabularies, one mapping.

super::vocabulary! {
    /// Where a client asks a payload to be placed.
    PlacementClass {
        DeveloperEquivalentFrame = "developer_equivalent_frame",
        PrePromptFrame = "pre_prompt_frame",
        SideChannelContext = "side_channel_context",
        ReceiptOnly = "receipt_only",
    }
}

super::vocabulary! {
    /// Where an adapter's manifest says it can place a payload.
    ManifestPlacementClass {
        PreSession = "pre_session",
        PreFrameLeading = "pre_frame_leading",
        PreFrameTrailing = "pre_frame_trailing",
        ToolResult = "tool_result",
        ManualOperator = "manual_operator",
    }
}

super::vocabulary! {
    /// What became of one payload.
    PlacementOutcome {
        Delivered = "delivered",
        Skipped = "skipped",
        Degraded = "degraded",
        Failed = "failed",
    }
}

impl PlacementClass {
    /// The manifest's claim that decides about this placement. A receipt is written whatever the adapter can do.
    pub const fn claimed_as(self) -> Option<ManifestPlacementClass> {
        match self {
            Self::DeveloperEquivalentFrame => Some(ManifestPlacementClass::PreFrameLeading),
            Self::PrePromptFrame => Some(ManifestPlacementClass::PreFrameTrailing),
            Self::SideChannelContext => Some(ManifestPlacementClass::ManualOperator),
            Self::ReceiptOnly => None,
        }
    }
}
