//! The position of a frame in the tree of frames.

super::vocabulary! {
    /// The session's own frame, or one that another frame called.
    FrameClass {
        TopLevel = "top_level",
        Subcall = "subcall",
    }
}
