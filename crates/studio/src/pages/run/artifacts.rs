//! What the contract promised, beside what was observed.

use escrow_app::artifacts::directory;
use escrow_app::words;
use escrow_model::{Delivery, ExpectedArtifact, MissingArtifact, ProducedArtifact};
use maud::{Markup, html};

use super::Shown;
use crate::layout::{anchor, line, status, ticked};
use crate::view::{View, encoded};

/// Artifacts that are listed.
const ROWS_MAX: usize = 500;

pub(super) fn section(view: &View, shown: &Shown) -> Markup {
    let expected = &shown.run.plan_of().artifacts.expected;
    if expected.is_empty() {
        return html! {};
    }
    let delivery = shown.run.delivery();
    let mut ordered: Vec<&ExpectedArtifact> = expected.iter().collect();
    // What is missing comes first: that is what a reader looks for.
    ordered.sort_by_key(|one| {
        (delivery.is_none_or(|delivery| delivery.missing(&one.id).is_none()), !one.required)
    });
    html! {
        section.sect id="artifacts" aria-labelledby="h-art" data-live="artifacts" {
            div.sect-h {
                h2 id="h-art" { "Expected artifacts" }
                span.grow {}
                span.meta { @match delivery { Some(delivery) => { "Verified " b class=(super::facts::delivered(delivery, expected.iter().filter(|one| one.required).count()).0) { (delivery.status.as_str()) } }, None => "Verified when the run ends" } }
            }
            div.box {
                table.contract.stackable {
                    caption.vh { "What the contract promised, beside what was observed" }
                    thead { tr { th scope="col" { "Promised" } th scope="col" { "Artifact" } th.obs scope="col" { "Observed" } } }
                    tbody {
                        @for one in ordered.iter().take(ROWS_MAX) {
                            tr id=(anchor("artifact", &one.id)) data-row="" data-failure=[delivery.and_then(|delivery| delivery.missing(&one.id)).filter(|missing| missing.required).map(|_| "")] {
                                td class=(if one.required { "need" } else { "need opt" }) { (if one.required { "REQUIRED" } else { "OPTIONAL" }) }
                                td {
                                    p { span.aid { (line(&one.id)) } " " code.sub { (line(one.location.label())) } }
                                    @if !one.description.is_empty() { p.desc { (ticked(&one.description)) } }
                                    p.small.dim { "declared by " (one.source.as_str()) @if let Some(check) = &one.check { " of " code { (line(check)) } } @if let Some(kind) = &one.kind { ", " code { (line(kind)) } } @if let Some(mime) = &one.mime_type { ", " code { (line(mime)) } } }
                                }
                                td.obs { (observed(view, shown, one, delivery)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn observed(view: &View, shown: &Shown, one: &ExpectedArtifact, delivery: Option<&Delivery>) -> Markup {
    let Some(delivery) = delivery else {
        let path = directory(&shown.run, view.studio.app.state()).join(one.location.label());
        let size = path.symlink_metadata().ok().filter(|found| found.is_file()).map(|found| found.len());
        return html! { (status("pend", "skip", "Pending")) " " span.small.dim { @match size { Some(size) => { "there, " (words::bytes_words(size)) }, None => "not there yet" } } };
    };
    if let Some(missing) = delivery.missing(&one.id) {
        return absent(missing);
    }
    let files: Vec<&ProducedArtifact> = delivery
        .produced
        .iter()
        .filter(|file| file.id == one.id || file.id.starts_with(&format!("{}[", one.id)))
        .collect();
    if files.is_empty() {
        let condition = delivery.not_expected.iter().find(|unexpected| unexpected.id == one.id);
        return html! { (status("skip", "skip", "Not expected")) @if let Some(one) = condition { p.small.sub { code { (line(&one.condition)) } " does not hold" } } };
    }
    html! { @for file in files.iter().take(20) { (produced(shown, file)) } @if files.len() > 20 { p.small.dim { "and " (files.len() - 20) " more files" } } }
}

fn absent(missing: &MissingArtifact) -> Markup {
    let word = missing.problem.as_str().replace('_', " ");
    html! {
        p { @if missing.required { (status("nofile", "bad", "Missing")) } @else { (status("warn", "warn", "Missing")) } " " span.code { (word) } }
        p.small.sub {
            @if !missing.detail.is_empty() { (ticked(&missing.detail)) " " }
            @if missing.required { a href="#why" { "Reason and evidence" } } @else { "Optional: a warning, the status stays." }
        }
    }
}

fn produced(shown: &Shown, file: &ProducedArtifact) -> Markup {
    let path: Vec<String> = file.path.split('/').map(encoded).collect();
    let address = format!("/runs/{}/artifacts/{}", shown.row.id, path.join("/"));
    html! {
        p { (status("file", "ok", "OK")) " " (words::bytes_words(file.size)) span.sep { " · " } a href={ (address) "?view=1" } { "open" } span.sep { " · " } a href=(address) { "download" } }
        p.small.dim { code { (line(&file.path)) } " " span.mono { "sha256 " (file.sha256.get(..12).unwrap_or_default()) } }
    }
}
