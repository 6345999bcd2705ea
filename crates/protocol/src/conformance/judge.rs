//! Decides whether a document of a given kind is valid, with the error message if not.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::envelope::{
    CallbackRequest, CallbackResponse, FrameContext, LifecycleReceipt, PayloadEnvelope, PressureObservation,
    v0_2,
};
use crate::manifest::AdapterManifest;
use crate::negotiation::classes_for;
use crate::validation::ValidationError;
use crate::version::WireVersion;
use crate::vocabulary::{FailureClass, NegotiationOutcome, RetryClass};

pub(super) fn judge(kind: &str, data: Value) -> Result<(), String> {
    match kind {
        "callback_request" => valid(read::<CallbackRequest>(data)?.validate()),
        "callback_response" => {
            valid(CallbackResponse::from_value(data).map_err(|error| unreadable(&error))?.validate())
        }
        "payload_envelope" => {
            valid(read_versioned::<PayloadEnvelope, v0_2::PayloadEnvelope>(data)?.validate())
        }
        "lifecycle_receipt" => valid(read::<LifecycleReceipt>(data)?.validate()),
        "frame_context" => valid(read::<FrameContext>(data)?.validate()),
        "adapter_manifest" => {
            valid(AdapterManifest::from_value(data).map_err(|error| unreadable(&error))?.validate())
        }
        "pressure_observation" => read::<PressureObservation>(data).map(drop),
        "client_class" => judge_client(&read(data)?),
        "capability_negotiation" => judge_negotiation(&read(data)?),
        "failure_mapping" => judge_failure(&read(data)?),
        other => Err(format!("unknown fixture kind `{other}`")),
    }
}

fn valid(result: Result<(), ValidationError>) -> Result<(), String> {
    result.map_err(|error| error.to_string())
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("deserialize: {error}")
}

fn read<T: DeserializeOwned>(data: Value) -> Result<T, String> {
    serde_json::from_value(data).map_err(|error| unreadable(&error))
}

fn read_versioned<Current: DeserializeOwned, Older: DeserializeOwned + Into<Current>>(
    data: Value,
) -> Result<Current, String> {
    if data.get("schema_version").and_then(Value::as_str) == Some(WireVersion::V0_2.as_str()) {
        read::<Older>(data).map(Into::into)
    } else {
        read(data)
    }
}

/// A kind of client and one of its payloads.
#[derive(Deserialize)]
struct ClientClassFixture {
    client_id: String,
    description: String,
    payload_kinds: Vec<String>,
    example_payload: PayloadEnvelope,
}

fn judge_client(client: &ClientClassFixture) -> Result<(), String> {
    let ClientClassFixture { client_id, description, payload_kinds, example_payload: payload } = client;
    if client_id.is_empty() {
        return Err("client_id must not be empty".to_owned());
    }
    if description.is_empty() {
        return Err("description must not be empty".to_owned());
    }
    if payload_kinds.is_empty() {
        return Err("payload_kinds must list at least one kind".to_owned());
    }
    valid(payload.validate())?;
    if payload.client_id != *client_id {
        return Err(format!(
            "example_payload.client_id `{}` must match fixture client_id `{client_id}`",
            payload.client_id
        ));
    }
    if !payload_kinds.contains(&payload.payload_kind) {
        return Err(format!(
            "example_payload.payload_kind `{}` not in declared payload_kinds {payload_kinds:?}",
            payload.payload_kind
        ));
    }
    Ok(())
}

/// The classes of a negotiation outcome.
#[derive(Deserialize)]
struct CapabilityNegotiationFixture {
    outcome: NegotiationOutcome,
    explicit_failure_class: Option<FailureClass>,
    expected: Option<ExpectedClasses>,
}

#[derive(Deserialize)]
struct ExpectedClasses {
    failure_class: FailureClass,
    retry_class: RetryClass,
}

fn judge_negotiation(fixture: &CapabilityNegotiationFixture) -> Result<(), String> {
    let got = classes_for(fixture.outcome, fixture.explicit_failure_class);
    let expected = fixture.expected.as_ref().map(|classes| (classes.failure_class, classes.retry_class));
    match (got, expected) {
        (got, expected) if got == expected => Ok(()),
        (Some(got), Some(expected)) => {
            Err(format!("negotiation projection mismatch: got {got:?}, expected {expected:?}"))
        }
        (None, Some(expected)) => {
            Err(format!("expected {expected:?} but classes_for_negotiation_outcome returned None"))
        }
        (Some(got), None) => {
            Err(format!("expected None but classes_for_negotiation_outcome returned {got:?}"))
        }
        (None, None) => Ok(()),
    }
}

/// The classes of a failure, or of a transport failure.
#[derive(Deserialize)]
struct FailureMappingFixture {
    failure_class: FailureClass,
    expected_retry_class: RetryClass,
    transport_example: Option<TransportExample>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
enum TransportExample {
    Io(#[expect(dead_code, reason = "must be there, whatever it says")] String),
    Timeout,
    Internal(#[expect(dead_code, reason = "must be there, whatever it says")] String),
}

fn judge_failure(fixture: &FailureMappingFixture) -> Result<(), String> {
    let (class, expected) = (fixture.failure_class, fixture.expected_retry_class);
    let retry = class.default_retry();
    if retry != expected {
        return Err(format!("default retry for {class:?}: got {retry:?}, expected {expected:?}"));
    }
    let Some(example) = &fixture.transport_example else {
        return Ok(());
    };
    let mapped = match example {
        TransportExample::Io(_) => FailureClass::TransportError,
        TransportExample::Timeout => FailureClass::Timeout,
        TransportExample::Internal(_) => FailureClass::InternalError,
    };
    if mapped == class {
        return Ok(());
    }
    Err(format!("transport example maps to {mapped:?}, expected {class:?}"))
}
