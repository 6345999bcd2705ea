//! Failure classes and retry classes.

super::vocabulary! {
    /// Why an operation failed.
    FailureClass {
        AdapterUnavailable = "adapter_unavailable",
        CapabilityUnsupported = "capability_unsupported",
        CapabilityDegraded = "capability_degraded",
        PlacementUnavailable = "placement_unavailable",
        PayloadTooLarge = "payload_too_large",
        PayloadRejected = "payload_rejected",
        IdentityUnavailable = "identity_unavailable",
        TransportError = "transport_error",
        Timeout = "timeout",
        OperatorRequired = "operator_required",
        StateConflict = "state_conflict",
        InvalidRequest = "invalid_request",
        InternalError = "internal_error",
    }
}

super::vocabulary! {
    /// Whether, and after what, a retry makes sense.
    RetryClass {
        SafeRetry = "safe_retry",
        RetryAfterReread = "retry_after_reread",
        RetryAfterReconfigure = "retry_after_reconfigure",
        RetryAfterOperator = "retry_after_operator",
        DoNotRetry = "do_not_retry",
    }
}

impl FailureClass {
    /// The retry class of a failure that was reported without one.
    pub const fn default_retry(self) -> RetryClass {
        match self {
            Self::TransportError | Self::Timeout => RetryClass::SafeRetry,
            Self::CapabilityDegraded | Self::StateConflict | Self::InternalError => {
                RetryClass::RetryAfterReread
            }
            Self::AdapterUnavailable
            | Self::PlacementUnavailable
            | Self::PayloadRejected
            | Self::IdentityUnavailable => RetryClass::RetryAfterReconfigure,
            Self::OperatorRequired => RetryClass::RetryAfterOperator,
            Self::CapabilityUnsupported | Self::PayloadTooLarge | Self::InvalidRequest => {
                RetryClass::DoNotRetry
            }
        }
    }
}
