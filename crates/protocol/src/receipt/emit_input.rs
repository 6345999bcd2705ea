//! The document that asks for a receipt: an exchange that already happened, and the context of its receipt.

use serde::Deserialize;
use serde_json::Value;

use super::ReceiptContext;
use crate::envelope::{CallbackRequest, CallbackResponse, v0_2};
use crate::version::WireVersion;

/// A request, its response, and the context of the receipt to write.
#[derive(Debug, Clone, PartialEq)]
pub struct EmitInput {
    pub request: CallbackRequest,
    pub response: CallbackResponse,
    pub context: ReceiptContext,
}

impl EmitInput {
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let read = serde_json::from_str::<wire::EmitInput>(text).map(Self::from);
        read.or_else(|error| {
            let is_older = serde_json::from_str::<Value>(text).is_ok_and(|document| {
                document["response"]["schema_version"].as_str() == Some(WireVersion::V0_2.as_str())
            });
            if !is_older {
                return Err(error);
            }
            serde_json::from_str::<wire::EmitInput<v0_2::CallbackResponse>>(text).map(Self::from)
        })
    }
}

impl<Response: Into<CallbackResponse>> From<wire::EmitInput<Response>> for EmitInput {
    fn from(input: wire::EmitInput<Response>) -> Self {
        let context = input.context;
        Self {
            request: input.request,
            response: input.response.into(),
            context: ReceiptContext {
                client_id: context.client_id,
                receipt_id: context.receipt_id,
                parent_receipt_id: context.parent_receipt_id,
                at_epoch_s: context.at_epoch_s,
                harness_session_id: context.harness_session_id,
                harness_run_id: context.harness_run_id,
                harness_task_id: context.harness_task_id,
            },
        }
    }
}

/// The shapes on the wire. Unlike the envelopes inside, they accept unknown keys. Error messages contain the names of
/// these types, so the names are part of the wire.
mod wire {
    use super::{CallbackRequest, CallbackResponse, Deserialize};

    #[derive(Deserialize)]
    pub(super) struct EmitInput<Response = CallbackResponse> {
        pub(super) request: CallbackRequest,
        pub(super) response: Response,
        pub(super) context: WireReceiptContext,
    }

    #[derive(Deserialize)]
    pub(super) struct WireReceiptContext {
        pub(super) client_id: String,
        pub(super) receipt_id: String,
        pub(super) parent_receipt_id: Option<String>,
        pub(super) at_epoch_s: u64,
        pub(super) harness_session_id: Option<String>,
        pub(super) harness_run_id: Option<String>,
        pub(super) harness_task_id: Option<String>,
    }
}
