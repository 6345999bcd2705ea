//! Where a frame stands in the tree of frames.

super::vocabulary! {
    /// A frame is the session's own turn, or one that another frame called.
    FrameClass {
        TopLevel = "top_level",
        Subcall = "subcall",
    }
}
