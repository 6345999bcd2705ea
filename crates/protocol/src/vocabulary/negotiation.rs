//! How much a client wants a thing, and what became of the wish.

super::vocabulary! {
    /// How much is lost when a wish cannot be met.
    RequirementLevel {
        Required = "required",
        Preferred = "preferred",
        Optional = "optional",
    }
}

super::vocabulary! {
    /// What negotiation found, from best to the one that needs a person.
    NegotiationOutcome {
        Satisfied = "satisfied",
        Degraded = "degraded",
        Unsupported = "unsupported",
        RequiresOperator = "requires_operator",
    }
}

impl NegotiationOutcome {
    /// Whether the callback must not run.
    pub const fn blocks_dispatch(self) -> bool {
        match self {
            Self::Satisfied | Self::Degraded => false,
            Self::Unsupported | Self::RequiresOperator => true,
        }
    }

    /// The worse of two findings: unsupported, then an operator's turn, then degraded.
    #[must_use]
    pub const fn worse(self, other: Self) -> Self {
        if self.severity() >= other.severity() { self } else { other }
    }

    const fn severity(self) -> u8 {
        match self {
            Self::Satisfied => 0,
            Self::Degraded => 1,
            Self::RequiresOperator => 2,
            Self::Unsupported => 3,
        }
    }
}
