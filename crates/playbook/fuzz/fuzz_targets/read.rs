//! Reads any bytes as a playbook: no panic, no plan with errors, every span inside the text.

#![no_main]

use escrow_model::{Home, KeyKind, KeySpec, Mutates, ProviderSpec};
use escrow_playbook::{NoReferences, Severity, read_bytes, render, report};
use libfuzzer_sys::fuzz_target;

const CATALOG: &[ProviderSpec] = &[
    ProviderSpec {
        name: "command",
        summary: "runs a program",
        keys: &[
            KeySpec { name: "exec", kind: KeyKind::Exec, required: true },
            KeySpec { name: "with", kind: KeyKind::Inputs, required: false },
        ],
        mutates: Mutates::Never,
        home: Home::Runtime,
        timeout_ms: 600_000,
    },
    ProviderSpec {
        name: "script",
        summary: "computes a value",
        keys: &[KeySpec { name: "content", kind: KeyKind::Block, required: true }],
        mutates: Mutates::Never,
        home: Home::Engine,
        timeout_ms: 60_000,
    },
];

fuzz_target!(|bytes: &[u8]| {
    let reading = read_bytes(bytes, "fuzz.yaml", CATALOG, &NoReferences);
    let errors = reading.diagnostics.iter().any(|found| found.severity == Severity::Error);
    assert_eq!(reading.plan.is_some(), !errors);
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert!(reading.diagnostics.iter().all(|found| text.get(found.span.clone()).is_some()));
        let _ = render(&reading.diagnostics, text, false);
    }
    if let Some(plan) = &reading.plan {
        let _ = report(plan);
    }
});
