//! The lifecycle events of a harness.

super::vocabulary! {
    /// A point in the life of a session, a frame or a receipt. The order is the order of `events`.
    LifecycleEventKind {
        SessionStarting = "session.starting",
        SessionStarted = "session.started",
        FrameOpening = "frame.opening",
        FrameOpened = "frame.opened",
        ContextPressureObserved = "context.pressure_observed",
        ContextCompacted = "context.compacted",
        FrameEnding = "frame.ending",
        FrameEnded = "frame.ended",
        SessionEnding = "session.ending",
        SessionEnded = "session.ended",
        SupervisorTick = "supervisor.tick",
        CapabilityDegraded = "capability.degraded",
        ReceiptEmitted = "receipt.emitted",
        ReceiptGapDetected = "receipt.gap_detected",
    }
}

impl LifecycleEventKind {
    /// Whether the event concerns one frame, and must therefore name it.
    pub(crate) const fn concerns_a_frame(self) -> bool {
        matches!(self, Self::FrameOpening | Self::FrameOpened | Self::FrameEnding | Self::FrameEnded)
    }
}
