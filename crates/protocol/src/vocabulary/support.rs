//! Roles and modes of adapters, levels of support, and receipt statuses.

super::vocabulary! {
    /// How the adapter is attached to its harness.
    IntegrationMode {
        ManualSkill = "manual_skill",
        LauncherWrapper = "launcher_wrapper",
        NativeHook = "native_hook",
        ReferenceAdapter = "reference_adapter",
        TelemetryOnly = "telemetry_only",
    }
}

super::vocabulary! {
    /// How a capability is provided.
    SupportState {
        Native = "native",
        Synthesized = "synthesized",
        Manual = "manual",
        Partial = "partial",
        Unavailable = "unavailable",
    }
}

super::vocabulary! {
    /// The role of an adapter.
    AdapterRole {
        PrimaryWorker = "primary_worker",
        Worker = "worker",
        Supervisor = "supervisor",
        Observer = "observer",
    }
}

super::vocabulary! {
    /// The status of a receipt or of a response.
    ReceiptStatus {
        Observed = "observed",
        Delivered = "delivered",
        Skipped = "skipped",
        Degraded = "degraded",
        Failed = "failed",
    }
}

impl SupportState {
    /// Whether a capability in this state satisfies the requested one.
    ///
    /// Anything available satisfies `manual`. A person cannot stand in for a machine, so `manual` satisfies nothing else.
    pub const fn satisfies(self, desired: Self) -> bool {
        match (self, desired) {
            (Self::Unavailable, _) => false,
            (_, Self::Manual) => true,
            (Self::Manual, _) => false,
            (have, want) => have.strength() >= want.strength(),
        }
    }

    const fn strength(self) -> u8 {
        match self {
            Self::Native => 4,
            Self::Synthesized => 3,
            Self::Partial => 2,
            Self::Manual => 1,
            Self::Unavailable => 0,
        }
    }
}
