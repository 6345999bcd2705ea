//! What an adapter is, how it is attached, and how well it does a thing.

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
    /// How a capability comes about.
    SupportState {
        Native = "native",
        Synthesized = "synthesized",
        Manual = "manual",
        Partial = "partial",
        Unavailable = "unavailable",
    }
}

super::vocabulary! {
    /// What the adapter is to the work.
    AdapterRole {
        PrimaryWorker = "primary_worker",
        Worker = "worker",
        Supervisor = "supervisor",
        Observer = "observer",
    }
}

super::vocabulary! {
    /// What a receipt, or a client's response, says happened.
    ReceiptStatus {
        Observed = "observed",
        Delivered = "delivered",
        Skipped = "skipped",
        Degraded = "degraded",
        Failed = "failed",
    }
}

impl SupportState {
    /// Whether a capability in this state is as good as the one asked for.
    ///
    /// A person can always be asked for, so anything that exists satisfies `manual`; a person is never a
    /// substitute for a machine, so `manual` satisfies nothing else.
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
