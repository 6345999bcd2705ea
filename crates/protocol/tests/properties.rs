//! What must hold for every document, and for every string of bytes.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]
#![allow(clippy::disallowed_methods, reason = "a test may look at the world")]

mod support;

use escrow_protocol::conformance::Fixture;
use escrow_protocol::envelope::{CallbackRequest, CallbackResponse, DispatchEnvelope, LifecycleReceipt};
use escrow_protocol::manifest::AdapterManifest;
use escrow_protocol::stream::Stream;
use escrow_protocol::version::WireVersion;
use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};
use support::cases::Case;

/// Documents that are mostly good.
fn documents() -> impl Strategy<Value = String> {
    any::<u64>().prop_map(|number| String::from_utf8_lossy(&Case::numbered(number).input).into_owned())
}

/// Checks that what was read is read again from what was written, and written the same.
macro_rules! check_round_trip {
    ($type:ty, $text:expr) => {
        if let Ok(read) = <$type>::read($text) {
            let written = serde_json::to_string(&read).unwrap();
            let again = <$type>::read(&written).unwrap();
            prop_assert_eq!(&again, &read);
            prop_assert_eq!(serde_json::to_string(&again).unwrap(), written);
            prop_assert_eq!(again.validate().is_ok(), read.validate().is_ok());
        }
    };
}

proptest! {
    #[test]
    fn what_is_read_is_written_and_read_again(text in documents()) {
        check_round_trip!(CallbackRequest, &text);
        check_round_trip!(CallbackResponse, &text);
        check_round_trip!(DispatchEnvelope, &text);
        check_round_trip!(LifecycleReceipt, &text);
        check_round_trip!(AdapterManifest, &text);
    }

    #[test]
    fn versions_are_never_mixed(number in any::<u64>(), outer in 0..3_usize, inner in 0..3_usize) {
        let (outer, inner) = (WireVersion::ALL[outer], WireVersion::ALL[inner]);
        let text = String::from_utf8_lossy(&Case::numbered(number).input).into_owned();
        if let Ok(mut dispatch) = DispatchEnvelope::read(&text) {
            outer.as_str().clone_into(&mut dispatch.schema_version);
            inner.as_str().clone_into(&mut dispatch.request.schema_version);
            if outer != inner {
                let refusal = dispatch.validate().unwrap_err().to_string();
                prop_assert_eq!(
                    refusal,
                    format!("schema_version mismatch: expected `{outer}`, found `{inner}`")
                );
            }
        }
    }

    #[test]
    fn no_bytes_make_any_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = CallbackRequest::read(&text).map(|request| request.validate());
        let _ = CallbackResponse::read(&text).map(|response| response.validate());
        let _ = DispatchEnvelope::read(&text).map(|envelope| envelope.validate());
        let _ = LifecycleReceipt::read(&text).map(|receipt| receipt.validate());
        let _ = AdapterManifest::read(&text).map(|manifest| manifest.validate());
        let _ = Fixture::read(&bytes).map(|fixture| fixture.check("any"));
        let _ = Stream::default().hear(&bytes);
    }

    #[test]
    fn a_fixture_made_of_any_document_is_judged(text in documents(), kind in 0..11_usize) {
        let kind = [
            "callback_request", "callback_response", "payload_envelope", "lifecycle_receipt", "frame_context",
            "adapter_manifest", "pressure_observation", "client_class", "capability_negotiation",
            "failure_mapping", "nothing",
        ][kind];
        let fixture = format!(r#"{{"kind":"{kind}","expect":"valid","data":{text}}}"#);
        if let Ok(fixture) = Fixture::read(fixture.as_bytes()) {
            let row = fixture.check("any");
            prop_assert_eq!(row.outcome.is_as_expected(), row.error.is_none());
        }
    }
}
