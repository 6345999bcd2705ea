//! Requirement levels and outcomes of negotiation.

super::vocabulary! {
    /// How much a client depends on a capability or a placement.
    RequirementLevel {
        Required = "required",
        Preferred = "preferred",
        Optional = "optional",
    }
}

super::vocabulary! {
    /// The outcome of negotiation, from best to the one that needs an operator.
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

    /// The worse of two outcomes: unsupported, then operator required, then degraded.
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
