//! Good playbooks, each beside what follows from it.

use crate::support;

use std::fmt::Write;

use escrow_playbook::{read, render};

#[test]
fn every_good_playbook_resolves_as_it_did() {
    support::check_directory("good", |text, name| {
        let reading = read(text, name, support::CATALOG);
        let mut shown = String::new();
        let Some(plan) = &reading.plan else {
            panic!("{name} is broken:\n{}", render(&reading.diagnostics, text, false))
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
