//! What must hold for every document, and for every string of bytes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "a test may look at the world")]

mod support;

use escrow_protocol::command::ExitCode;
use escrow_protocol::conformance::Fixture;
use escrow_protocol::envelope::{CallbackRequest, CallbackResponse, DispatchEnvelope, LifecycleReceipt};
use escrow_protocol::manifest::AdapterManifest;
use escrow_protocol::receipt::same_content;
use escrow_protocol::stream::Stream;
use escrow_protocol::version::WireVersion;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
use support::cases::Case;
use support::world::check;

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
    fn an_answer_carries_the_version_of_the_question(number in any::<u64>(), version in 0..3_usize) {
        let version = WireVersion::ALL[version];
        let case = Case::numbered(number);
        let input = String::from_utf8_lossy(&case.input).replace("lifeloop.v0.4", version.as_str());
        let answer = check(&case.arguments(), input.as_bytes());
        for other in WireVersion::ALL {
            prop_assert!(*other == version || !answer.stdout.contains(other.as_str()), "{}", answer.stdout);
        }
    }

    #[test]
    fn what_succeeds_in_the_current_version_succeeds_alike_in_older_ones(number in any::<u64>(), older in 0..2_usize) {
        let older = WireVersion::ALL[older].as_str();
        let case = Case::numbered(number);
        let answer = check(&case.arguments(), &case.input);
        // An adapter that only the current version knows is the one thing that is not alike.
        if answer.exit_code == ExitCode::Done && !answer.stdout.contains("\"adapter_id\": \"pi\"") {
            let input = String::from_utf8_lossy(&case.input).replace("lifeloop.v0.4", older);
            let then = check(&case.arguments(), input.as_bytes());
            prop_assert_eq!(then.stdout, answer.stdout.replace("lifeloop.v0.4", older), "{}", then.stderr);
        }
    }

    #[test]
    fn no_bytes_make_any_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for arguments in [
            &["envelope", "validate", "request"][..],
            &["envelope", "echo", "response"],
            &["event", "invoke", "--in-process"],
            &["event", "invoke", "--in-process", "--extended"],
            &["receipt", "show"],
            &["receipt", "emit"],
        ] {
            let answer = check(arguments, &bytes);
            prop_assert_eq!(answer.exit_code == ExitCode::Done, answer.stderr.is_empty());
        }
        let _ = Fixture::read(&bytes).map(|fixture| fixture.check("any"));
        let _ = Stream::default().hear(&bytes);
        let _ = AdapterManifest::read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_words_make_the_command_line_panic(words in proptest::collection::vec("[a-z-]{0,12}|--[a-z-]{1,20}", 0..8)) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = check(&words, b"{}");
        prop_assert_eq!(answer.exit_code == ExitCode::Done, answer.stderr.is_empty());
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

    #[test]
    fn a_retry_is_the_same_receipt_and_anything_else_is_not(number in any::<u64>(), at in any::<u64>()) {
        let case = Case::numbered(number);
        let answer = check(&case.arguments(), &case.input);
        if let Ok(receipt) = LifecycleReceipt::read(&answer.stdout) {
            let mut retry = receipt.clone();
            retry.at_epoch_s = at;
            retry.receipt_id.push('x');
            retry.invocation_id.push('x');
            retry.sequence = Some(at);
            prop_assert!(same_content(&receipt, &retry));
            retry.event_id.push('x');
            prop_assert!(!same_content(&receipt, &retry));
        }
    }
}
