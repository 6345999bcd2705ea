//! `escrow check`: everything that can be said of a playbook or a chain without running it.

use escrow_app::{Error, documents};
use escrow_model::CriticalityOrigin;
use escrow_playbook::{CheckReport, ExpectedReport, report};

use super::playbook_file;
use super::run::directory;
use crate::arguments::{CheckArguments, Output};
use crate::exit::Exit;
use crate::terminal::{TextTable, Ui, printable};

pub(crate) fn check(arguments: &CheckArguments, ui: &Ui) -> Result<Exit, Error> {
    let playbook = playbook_file::load_any(&arguments.file, &directory(None)?, ui)?;
    let report = report(&playbook.plan);
    if ui.output() != Output::Human {
        ui.data(&documents::check(&report, playbook.warnings.diagnostics()));
        return Ok(Exit::Completed);
    }
    let page = ui.page;
    let mut table = TextTable::new();
    for check in &report.checks {
        let (name, starts) = (printable(&check.name), printable(&starts(check)));
        let (criticality, origin) = (check.criticality.as_str(), origin(check.criticality_origin));
        let routes = if check.routes_to.is_empty() {
            String::new()
        } else {
            format!("→ {}", printable(&check.routes_to.join(", ")))
        };
        table.row(&[
            (&format!("  {name}"), format!("  {}", page.bold(&name))),
            (&check.provider, check.provider.clone()),
            (criticality, criticality.to_owned()),
            (origin, page.dim(origin)),
            (&starts, starts.clone()),
            ("", routes),
        ]);
    }
    let mut text = format!("{}\n{}", page.bold(&printable(&report.playbook)), table.render());
    if let Some(artifacts) = &report.artifacts {
        text.push('\n');
        for line in &artifacts.lines {
            text.push_str(&format!("  → {line}\n"));
        }
        for one in &artifacts.expected {
            text.push_str(&format!("    {}\n", expected(one)));
        }
    }
    ui.page(&text);
    Ok(Exit::Completed)
}

fn expected(one: &ExpectedReport) -> String {
    let required = if one.required { "REQUIRED" } else { "OPTIONAL" };
    let whose = one.check.as_ref().map_or_else(String::new, |check| format!(" of `{}`", printable(check)));
    let description = if one.description.is_empty() {
        String::new()
    } else {
        format!(" — {}", printable(&one.description))
    };
    let path = printable(&one.path);
    let condition =
        one.condition.as_ref().map_or_else(String::new, |text| format!("  if `{}`", printable(text)));
    format!("[{required}] {}  →  {path}  ({}{whose}){condition}{description}", one.id, one.source.as_str())
}

fn starts(check: &CheckReport) -> String {
    if !check.starts {
        return "when routed to".to_owned();
    }
    let mut words = match check.depends_on.as_slice() {
        [] => "at once".to_owned(),
        needs => format!("after {}", needs.join(", ")),
    };
    if let Some(parent) = check.fan.last() {
        words.push_str(&format!(", for each of {parent}"));
    }
    words
}

fn origin(origin: CriticalityOrigin) -> &'static str {
    match origin {
        CriticalityOrigin::Declared => "declared",
        CriticalityOrigin::Tag => "by tag",
        CriticalityOrigin::MutatingProvider => "its provider has external effects",
        CriticalityOrigin::WorldCommand => "a command in it has external effects",
        CriticalityOrigin::DrivesRouting => "it fans out or routes",
        CriticalityOrigin::GuardsExternal => "it guards an external check",
        CriticalityOrigin::FeedsGuard => "a guard reads what it writes",
        CriticalityOrigin::Default => "by default",
    }
}
