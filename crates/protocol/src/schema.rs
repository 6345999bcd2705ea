//! JSON Schemas of the wire, generated from its types.
//!
//! **Invariant:** a schema describes the shape of a document in one version. Meaning (fields that must not be empty,
//! fields that exclude each other) is left to `validate`, so a schema accepts every valid document and more.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::envelope::REQUIRED_NULLABLE;
use crate::envelope::{
    CallbackRequest, CallbackResponse, DispatchEnvelope, LifecycleReceipt, PayloadEnvelope,
    PressureObservation, v0_2,
};
use crate::manifest::{self, AdapterManifest};
use crate::version::WireVersion;

/// Every schema of a version, with the name of its document.
pub fn schemas(version: WireVersion) -> Vec<(&'static str, Value)> {
    let (dispatch, response, payload) = match version {
        WireVersion::V0_2 => (
            schema::<v0_2::DispatchEnvelope>(),
            schema::<v0_2::CallbackResponse>(),
            schema::<v0_2::PayloadEnvelope>(),
        ),
        WireVersion::V0_3 | WireVersion::V0_4 => {
            (schema::<DispatchEnvelope>(), schema::<CallbackResponse>(), schema::<PayloadEnvelope>())
        }
    };
    let manifest = match version {
        WireVersion::V0_2 => schema::<manifest::legacy::v0_2::AdapterManifest>(),
        WireVersion::V0_3 => schema::<manifest::legacy::v0_3::AdapterManifest>(),
        WireVersion::V0_4 => schema::<AdapterManifest>(),
    };
    let documents = [
        ("adapter_manifest", manifest),
        ("callback_request", schema::<CallbackRequest>()),
        ("callback_response", response),
        ("dispatch_envelope", dispatch),
        ("lifecycle_receipt", schema::<LifecycleReceipt>()),
        ("payload_envelope", payload),
        ("pressure_observation", schema::<PressureObservation>()),
    ];
    documents.into_iter().map(|(name, schema)| (name, finished(name, schema, version))).collect()
}

fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>()
}

/// Pins the version wherever the document names it, and sets the schema's id.
fn finished(name: &str, schema: Schema, version: WireVersion) -> Value {
    let mut schema = schema.to_value();
    pin_version(&mut schema, version);
    if name == "lifecycle_receipt"
        && let Some(Value::Array(required)) = schema.get_mut("required")
    {
        required.extend(REQUIRED_NULLABLE.map(Value::from));
    }
    schema["$id"] = format!("urn:{version}:{name}").into();
    schema.sort_all_objects();
    schema
}

fn pin_version(schema: &mut Value, version: WireVersion) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = map.get_mut("properties") {
                for key in ["schema_version", "contract_version"] {
                    if let Some(property) = properties.get_mut(key) {
                        *property = json!({ "const": version.as_str() });
                    }
                }
            }
            map.values_mut().for_each(|inner| pin_version(inner, version));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| pin_version(inner, version)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
