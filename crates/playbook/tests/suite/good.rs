//! Valid playbooks, each with a snapshot of what is derived from it.

use crate::support;

use std::fmt::Write;

use escrow_playbook::{NoReferences, read, render};

#[test]
fn valid_playbooks_resolve_to_their_snapshots() {
    support::check_directory("good", |text, name| {
        let reading = read(text, name, support::CATALOG, &NoReferences);
        let mut shown = String::new();
        let Some(plan) = &reading.plan else {
            panic!("{name} is invalid:\n{}", render(&reading.diagnostics, text, false))
        };
        for check in &plan.checks {
            let fan: Vec<&str> = check.fan.iter().map(|index| plan.check(*index).name.as_str()).collect();
            writeln!(
                shown,
                "{:<18} {:<6} {:<9} {:<18} {}{}",
                check.name,
                if check.starts { "starts" } else { "waits" },
                check.criticality.as_str(),
                format!("{:?}", check.criticality_origin),
                if fan.is_empty() { "once".to_owned() } else { format!("each {}", fan.join(" / ")) },
                if check.mutating { ", mutating" } else { "" },
            )
            .expect("a string takes it");
        }
        if !reading.diagnostics.is_empty() {
            shown.push('\n');
            shown.push_str(&render(&reading.diagnostics, text, false));
        }
        shown
    });
}
