//! Finds the adapter that a valid request names.
//!
//! **Invariant:** versions are compared exactly, and the mode must be one that the adapter declares.

use crate::envelope::CallbackRequest;
use crate::manifest::{AdapterEntry, Registry};
use crate::vocabulary::{FailureClass, IntegrationMode};

/// Why no adapter takes the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    #[error("no registered adapter with id `{adapter_id}`")]
    UnknownAdapter { adapter_id: String },
    #[error(
        "adapter `{adapter_id}` is registered at version `{registered}`, request asked for `{requested}`"
    )]
    VersionMismatch { adapter_id: String, registered: String, requested: String },
    // Release 0.9.0 prints the names of the variants here, not the words of the wire.
    #[error(
        "adapter `{adapter_id}` does not declare integration mode {requested:?} (declared: {declared:?})"
    )]
    UndeclaredMode { adapter_id: String, requested: IntegrationMode, declared: Vec<IntegrationMode> },
}

impl RouteError {
    pub const fn failure_class(&self) -> FailureClass {
        match self {
            Self::UnknownAdapter { .. } | Self::VersionMismatch { .. } => FailureClass::AdapterUnavailable,
            Self::UndeclaredMode { .. } => FailureClass::CapabilityUnsupported,
        }
    }
}

/// The registered adapter for a request that has passed validation.
pub fn route<'registry>(
    request: &CallbackRequest,
    registry: &'registry Registry,
) -> Result<&'registry AdapterEntry, RouteError> {
    let adapter_id = request.adapter_id.clone();
    let Some(entry) = registry.find(&adapter_id) else {
        return Err(RouteError::UnknownAdapter { adapter_id });
    };
    let manifest = &entry.manifest;
    if manifest.adapter_version != request.adapter_version {
        return Err(RouteError::VersionMismatch {
            adapter_id,
            registered: manifest.adapter_version.clone(),
            requested: request.adapter_version.clone(),
        });
    }
    if !manifest.integration_modes.contains(&request.integration_mode) {
        return Err(RouteError::UndeclaredMode {
            adapter_id,
            requested: request.integration_mode,
            declared: manifest.integration_modes.clone(),
        });
    }
    Ok(entry)
}
