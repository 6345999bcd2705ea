//! `escrow check`: everything that can be said of a playbook without running it.

use anyhow::Result;
use escrow_model::CriticalityOrigin;
use serde_json::json;

use super::playbook_file;
use crate::arguments::{CheckArguments, Output};
use crate::exit::Exit;
use crate::terminal::{Table, Talk};

pub(crate) fn check(arguments: &CheckArguments, talk: &Talk) -> Result<Exit> {
    let playbook = playbook_file::load(&arguments.file, talk)?;
    let plan = &playbook.plan;
    let checks: Vec<_> = plan
        .checks
        .iter()
        .map(|check| {
            let needs: Vec<String> = check
                .needs
                .iter()
                .map(|need| {
                    let names: Vec<&str> =
                        need.any_of.iter().map(|index| plan.check(*index).name.as_str()).collect();
                    names.join("|")
                })
                .collect();
            json!({
                "name": check.name,
                "type": check.provider,
                "starts": check.starts,
                "criticality": check.criticality,
                "criticality_origin": check.criticality_origin,
                "depends_on": needs,
                "for_each": check.for_each,
                "scope": check.fan.iter().map(|parent| plan.check(*parent).name.clone()).collect::<Vec<_>>(),
            })
        })
        .collect();
    let expected = &plan.artifacts.expected;
    let required = expected.iter().filter(|artifact| artifact.required).count();
    if talk.output() != Output::Human {
        talk.data(&json!({
            "playbook": plan.name,
            "checks": checks,
            "artifacts": expected,
            "diagnostics": playbook.warnings,
        }));
        return Ok(Exit::Completed);
    }
    let page = talk.page;
    let mut table = Table::new();
    for (check, document) in plan.checks.iter().zip(&checks) {
        let needs: Vec<&str> = document["depends_on"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|need| need.as_str())
            .collect();
        let starts = if !check.starts {
            "when routed to".to_owned()
        } else if needs.is_empty() {
            "at once".to_owned()
        } else {
            format!("after {}", needs.join(", "))
        };
        let origin = match check.criticality_origin {
            CriticalityOrigin::Declared => "declared",
            CriticalityOrigin::Tag => "by tag",
            CriticalityOrigin::MutatingProvider => "its provider changes the world",
            CriticalityOrigin::DrivesRouting => "it drives routing",
            CriticalityOrigin::GuardsExternal => "it guards an external check",
            CriticalityOrigin::Default => "by default",
        };
        let criticality = check.criticality.as_str();
        table.row(&[
            (&format!("  {}", check.name), format!("  {}", page.bold(&check.name))),
            (&check.provider, check.provider.clone()),
            (criticality, criticality.to_owned()),
            (origin, page.dim(origin)),
            (&starts, starts.clone()),
        ]);
    }
    let mut text = format!("{}\n{}", page.bold(&plan.name), table.render());
    if !expected.is_empty() {
        text.push_str(&format!(
            "\n  → contract resolved ({} expected: {required} required, {} optional)\n  → all paths relative-OK\n",
            expected.len(),
            expected.len() - required
        ));
    }
    talk.page(&text);
    Ok(Exit::Completed)
}
