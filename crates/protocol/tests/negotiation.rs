//! The tables of negotiation: capabilities by strength and level, placements by claim, size and level.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use escrow_protocol::envelope::{AcceptablePlacement, FreeMap, PayloadEnvelope};
use escrow_protocol::manifest::{AdapterManifest, PlacementClaim, Registry};
use escrow_protocol::negotiation::{
    CapabilityKind, CapabilityRequirement, PlacementVerdict, classes_for, negotiate,
};
use escrow_protocol::version::CURRENT;
use escrow_protocol::vocabulary::{
    FailureClass, ManifestPlacementClass, NegotiationOutcome, PlacementClass, RequirementLevel, RetryClass,
    SupportState,
};
use proptest::prelude::{any, prop_assert_eq, proptest};

fn codex() -> AdapterManifest {
    Registry::builtin(CURRENT).find("codex").unwrap().manifest.clone()
}

fn payload(size: usize, alternatives: &[(&str, &str)]) -> PayloadEnvelope {
    PayloadEnvelope {
        schema_version: CURRENT.as_str().to_owned(),
        payload_id: "p".to_owned(),
        client_id: "c".to_owned(),
        payload_kind: "k".to_owned(),
        format: "f".to_owned(),
        content_encoding: "utf8".to_owned(),
        body: Some("x".repeat(size)),
        body_ref: None,
        byte_size: 1,
        content_digest: None,
        acceptable_placements: alternatives
            .iter()
            .map(|(placement, requirement)| AcceptablePlacement {
                placement: PlacementClass::parse(placement).unwrap(),
                requirement: RequirementLevel::parse(requirement).unwrap(),
            })
            .collect(),
        idempotency_key: None,
        expires_at_epoch_s: None,
        redaction: None,
        metadata: FreeMap::new(),
    }
}

#[test]
fn support_satisfies_what_is_weaker_and_a_person_is_no_machine() {
    let rows = "
              native synthesized manual partial unavailable
native        yes    yes         yes    yes     yes
synthesized   no     yes         yes    yes     yes
manual        no     no          yes    no      no
partial       no     no          yes    yes     yes
unavailable   no     no          no     no      no";
    let mut lines = rows.trim().lines();
    let wanted: Vec<SupportState> =
        lines.next().unwrap().split_whitespace().map(|word| SupportState::parse(word).unwrap()).collect();
    for line in lines {
        let mut words = line.split_whitespace();
        let have = SupportState::parse(words.next().unwrap()).unwrap();
        for (want, expected) in wanted.iter().zip(words) {
            assert_eq!(have.satisfies(*want), expected == "yes", "{have} for {want}");
        }
    }
}

#[test]
fn the_first_alternative_that_can_be_had_is_taken() {
    for (size, alternatives, verdict, outcome, failure) in [
        (
            8192,
            &[("developer_equivalent_frame", "required")][..],
            "chosen developer_equivalent_frame",
            "satisfied",
            None,
        ),
        (
            8193,
            &[("developer_equivalent_frame", "required")],
            "failed developer_equivalent_frame",
            "unsupported",
            Some("payload_too_large"),
        ),
        (
            8193,
            &[("developer_equivalent_frame", "preferred")],
            "skipped developer_equivalent_frame",
            "degraded",
            None,
        ),
        (
            8193,
            &[("developer_equivalent_frame", "required"), ("receipt_only", "optional")],
            "chosen receipt_only",
            "satisfied",
            None,
        ),
        (
            1,
            &[("pre_prompt_frame", "required")],
            "failed pre_prompt_frame",
            "unsupported",
            Some("placement_unavailable"),
        ),
        (
            8193,
            &[("pre_prompt_frame", "optional"), ("developer_equivalent_frame", "required")],
            "failed pre_prompt_frame",
            "unsupported",
            Some("placement_unavailable"),
        ),
        (
            1,
            &[("side_channel_context", "required")],
            "failed side_channel_context",
            "requires_operator",
            Some("operator_required"),
        ),
        (1, &[("side_channel_context", "optional")], "skipped side_channel_context", "degraded", None),
        (
            1,
            &[("pre_prompt_frame", "optional"), ("side_channel_context", "required")],
            "failed pre_prompt_frame",
            "requires_operator",
            Some("operator_required"),
        ),
        (1, &[], "failed receipt_only", "unsupported", Some("placement_unavailable")),
    ] {
        let found = negotiate(&codex(), &[], &[payload(size, alternatives)]);
        let said = match found.decisions[0].verdict {
            PlacementVerdict::Chosen(placement) => format!("chosen {placement}"),
            PlacementVerdict::Skipped(placement) => format!("skipped {placement}"),
            PlacementVerdict::Failed(placement) => format!("failed {placement}"),
        };
        let class = found.failure_class.map(FailureClass::as_str);
        assert_eq!(
            (said.as_str(), found.outcome.as_str(), class),
            (verdict, outcome, failure),
            "{alternatives:?}"
        );
        assert_eq!(found.decisions[0].byte_size, u64::try_from(size).unwrap(), "the body is measured");
    }
}

#[test]
fn a_hard_failure_is_named_wherever_it_stands() {
    let hard = payload(9000, &[("developer_equivalent_frame", "required")]);
    let manual = payload(1, &[("side_channel_context", "required")]);
    let other = payload(1, &[("pre_prompt_frame", "required")]);
    for (payloads, class) in [
        (vec![hard.clone(), manual.clone()], FailureClass::PayloadTooLarge),
        (vec![manual.clone(), hard.clone()], FailureClass::PayloadTooLarge),
        (vec![other, hard], FailureClass::PlacementUnavailable),
        (vec![manual], FailureClass::OperatorRequired),
    ] {
        let found = negotiate(&codex(), &[], &payloads);
        assert_eq!(found.blocking_classes().unwrap().0, class);
    }
}

#[test]
fn a_capability_that_blocks_leaves_payloads_unlooked_at() {
    let wanted = CapabilityRequirement {
        capability: CapabilityKind::ReceiptsNative,
        level: RequirementLevel::Required,
        desired: SupportState::Native,
    };
    let found = negotiate(&codex(), &[wanted], &[payload(1, &[("receipt_only", "required")])]);
    assert!(found.decisions.is_empty());
    assert_eq!(found.blocking_classes(), Some((FailureClass::CapabilityUnsupported, RetryClass::DoNotRetry)));
}

#[test]
fn outcomes_come_down_to_classes() {
    let classes = |outcome, explicit| classes_for(outcome, explicit).map(|(failure, _)| failure);
    assert_eq!(classes(NegotiationOutcome::Satisfied, Some(FailureClass::Timeout)), None);
    assert_eq!(
        classes(NegotiationOutcome::Unsupported, Some(FailureClass::Timeout)),
        Some(FailureClass::Timeout)
    );
    assert_eq!(
        classes(NegotiationOutcome::RequiresOperator, Some(FailureClass::Timeout)),
        Some(FailureClass::OperatorRequired)
    );
}

proptest! {
    #[test]
    fn a_limit_is_reached_and_never_passed(limit in 0..200_u64, size in 0..200_usize, is_native in any::<bool>()) {
        let mut manifest = codex();
        let support = if is_native { SupportState::Native } else { SupportState::Partial };
        let claim = PlacementClaim { support, max_bytes: Some(limit) };
        manifest.placement.insert(ManifestPlacementClass::PreFrameLeading, claim);
        let found = negotiate(&manifest, &[], &[payload(size, &[("developer_equivalent_frame", "required")])]);
        let fits = u64::try_from(size).unwrap() <= limit;
        prop_assert_eq!(found.outcome == NegotiationOutcome::Satisfied, fits);
    }
}
