//! What holds for every command line and every input.

use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::same_content;
use escrow_protocol::version::WireVersion;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::super::LifecycleExit;
use super::{Case, check};

proptest! {
    #[test]
    fn the_output_has_the_version_of_the_input(number in any::<u64>(), version in 0..3_usize) {
        let version = WireVersion::ALL[version];
        let case = Case::numbered(number);
        let input = String::from_utf8_lossy(&case.input).replace("lifeloop.v0.4", version.as_str());
        let output = check(&case.arguments(), input.as_bytes());
        for other in WireVersion::ALL {
            prop_assert!(*other == version || !output.stdout.contains(other.as_str()), "{}", output.stdout);
        }
    }

    #[test]
    fn a_success_in_the_current_version_is_the_same_success_in_older_ones(number in any::<u64>(), older in 0..2_usize) {
        let older = WireVersion::ALL[older].as_str();
        let case = Case::numbered(number);
        let output = check(&case.arguments(), &case.input);
        // The adapter `pi` exists in the current version only.
        if output.exit == LifecycleExit::Done && !output.stdout.contains("\"adapter_id\": \"pi\"") {
            let input = String::from_utf8_lossy(&case.input).replace("lifeloop.v0.4", older);
            let then = check(&case.arguments(), input.as_bytes());
            prop_assert_eq!(then.stdout, output.stdout.replace("lifeloop.v0.4", older), "{}", then.stderr);
        }
    }

    #[test]
    fn no_bytes_make_a_verb_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for arguments in [
            &["envelope", "validate", "request"][..],
            &["envelope", "echo", "response"],
            &["event", "invoke", "--in-process"],
            &["event", "invoke", "--in-process", "--extended"],
            &["receipt", "show"],
            &["receipt", "emit"],
        ] {
            let output = check(arguments, &bytes);
            prop_assert_eq!(output.exit == LifecycleExit::Done, output.stderr.is_empty());
        }
    }

    #[test]
    fn no_words_make_the_command_line_panic(words in proptest::collection::vec("[a-z-]{0,12}|--[a-z-]{1,20}", 0..8)) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = check(&words, b"{}");
        prop_assert_eq!(output.exit == LifecycleExit::Done, output.stderr.is_empty());
    }

    #[test]
    fn a_retry_is_the_same_receipt_and_anything_else_is_not(number in any::<u64>(), at in any::<u64>()) {
        let case = Case::numbered(number);
        let output = check(&case.arguments(), &case.input);
        if let Ok(receipt) = LifecycleReceipt::read(&output.stdout) {
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
