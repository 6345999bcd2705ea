//! What the contract promised, beside what was observed.

use escrow_app::artifacts::{Observed, PromisedArtifact, SinceVerified, directory, promised, since_verified};
use escrow_app::runs::Run;
use escrow_app::{StateDirectory, words};
use escrow_model::{InspectedArtifact, MissingArtifact, ProducedArtifact};
use maud::{Markup, html};

use super::Shown;
use super::facts::tone;
use crate::layout::{anchor, line, status, ticked};
use crate::view::encoded;

/// Artifacts that are listed, and files of each.
const ROWS_MAX: usize = 500;
const FILES_MAX: usize = 20;

/// How much of the delivered files is read again for a page.
const COMPARED_BYTES_MAX: u64 = 256 << 20;

/// What is promised, and for each artifact what became of its first files since they were verified.
pub(super) fn look(run: &Run, state: &StateDirectory) -> (Vec<PromisedArtifact>, Vec<Vec<SinceVerified>>) {
    let place = directory(run, state);
    let all = promised(run, &place);
    let mut bytes_left = COMPARED_BYTES_MAX;
    let mut now = |one: &PromisedArtifact| match &one.observed {
        Observed::Delivered(files) => {
            files.iter().take(FILES_MAX).map(|file| since_verified(&place, file, &mut bytes_left)).collect()
        }
        Observed::Missing(_) | Observed::NotExpected(_) | Observed::NotOwed | Observed::Pending(_) => {
            Vec::new()
        }
    };
    let now = all.iter().take(ROWS_MAX).map(&mut now).collect();
    (all, now)
}

/// Whether a file is no longer what was verified.
pub(super) fn is_lost(now: SinceVerified) -> bool {
    matches!(now, SinceVerified::Changed | SinceVerified::Gone)
}

pub(super) fn section(shown: &Shown) -> Markup {
    if shown.promised.is_empty() {
        return html! {};
    }
    let delivery = shown.run.delivery();
    let mut ordered: Vec<(&PromisedArtifact, &[SinceVerified])> =
        shown.promised.iter().zip(shown.now_of_files.iter().map(Vec::as_slice)).collect();
    // What is missing comes first: that is what a reader looks for.
    ordered.sort_by_key(|(one, now)| {
        let is_missing = matches!(one.observed, Observed::Missing(_));
        (!is_missing, !now.iter().any(|now| is_lost(*now)), !one.expected.required)
    });
    html! {
        section.sect id="artifacts" aria-labelledby="h-art" data-live="artifacts" {
            div.sect-h {
                h2 id="h-art" { "Expected artifacts" }
                span.grow {}
                span.meta { @match delivery { Some(delivery) => { "Verified " b class=(tone(delivery.status)) { (delivery.status.as_str()) } }, None => "Verified when the run ends; as of now" } }
            }
            div.box {
                table.contract.stackable {
                    caption.vh { "What the contract promised, beside what was observed" }
                    thead { tr { th scope="col" { "Promised" } th scope="col" { "Artifact" } th.obs scope="col" { "Observed" } } }
                    tbody {
                        @for (promise, now) in ordered {
                            @let one = &promise.expected;
                            tr id=(anchor("artifact", &one.id)) data-row="" data-failure=[is_failure(promise).then_some("")] {
                                td class=(if one.required { "need" } else { "need opt" }) { (if one.required { "REQUIRED" } else { "OPTIONAL" }) }
                                td {
                                    p { span.aid { (line(&one.id)) } " " code.sub { (line(one.location.label())) } }
                                    @if !one.description.is_empty() { p.desc { (ticked(&one.description)) } }
                                    p.small.dim { "declared by " (one.source.as_str()) @if let Some(check) = &one.check { " of " code { (line(check)) } } @if let Some(kind) = &one.kind { ", " code { (line(kind)) } } @if let Some(mime) = &one.mime_type { ", " code { (line(mime)) } } }
                                }
                                td.obs { (observed(shown, promise, now)) }
                            }
                        }
                    }
                }
            }
            @if shown.promised.len() > ROWS_MAX { p.small.dim { "and " (shown.promised.len() - ROWS_MAX) " more: " code { "escrow artifacts " (shown.row.id) } } }
        }
    }
}

fn is_failure(promise: &PromisedArtifact) -> bool {
    matches!(&promise.observed, Observed::Missing(missing) if missing.required)
}

fn observed(shown: &Shown, promise: &PromisedArtifact, now: &[SinceVerified]) -> Markup {
    match &promise.observed {
        Observed::Pending(seen) => pending(seen),
        Observed::Missing(missing) => absent(missing),
        Observed::NotExpected(one) => {
            html! { (status("skip", "skip", "Not expected")) p.small.sub { code { (line(&one.condition)) } " does not hold" } }
        }
        Observed::NotOwed => {
            html! { (status("skip", "skip", "Not expected")) p.small.sub { "its check did not run" } }
        }
        Observed::Delivered(files) if files.is_empty() => {
            html! { (status("file", "ok", "OK")) " " span.small.dim { "no files, which the pattern allows" } }
        }
        Observed::Delivered(files) => html! {
            @for (file, now) in files.iter().zip(now) { (produced(shown, file, *now)) }
            @if files.len() > FILES_MAX { p.small.dim { "and " (files.len() - FILES_MAX) " more files" } }
        },
    }
}

fn pending(seen: &InspectedArtifact) -> Markup {
    html! {
        (status("pend", "skip", "Pending")) " "
        span.small.dim {
            @match (&seen.refused, seen.files.as_slice()) {
                (Some(refused), _) => (ticked(&refused.detail)),
                (None, []) => "not there yet",
                (None, [file]) => { "there, " (words::bytes_words(file.size)) },
                (None, files) => { "there, " (words::count(files.len(), "file")) ", " (words::bytes_words(files.iter().map(|file| file.size).sum())) },
            }
        }
    }
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

/// A delivered file. What it has become since is said in the place of `OK`: the verdict was about other bytes.
fn produced(shown: &Shown, file: &ProducedArtifact, now: SinceVerified) -> Markup {
    let path: Vec<String> = file.path.split('/').map(encoded).collect();
    let address = format!("/runs/{}/artifacts/{}", shown.row.id, path.join("/"));
    let links = html! { span.sep { " · " } a href={ (address) "?view=1" } { "open" } span.sep { " · " } a href=(address) { "download" } };
    html! {
        p {
            @match now {
                SinceVerified::Unchanged | SinceVerified::NotCompared => { (status("file", "ok", "OK")) " " (words::bytes_words(file.size)) (links) }
                SinceVerified::Changed => { (status("warn", "warn", "Changed since it was verified")) " " (links) }
                SinceVerified::Gone => { (status("nofile", "warn", "Gone since it was verified")) }
            }
        }
        p.small.dim {
            code { (line(&file.path)) } " " span.mono { "sha256 " (file.sha256.get(..12).unwrap_or_default()) } " "
            (match now {
                SinceVerified::Unchanged => "unchanged since",
                SinceVerified::NotCompared => "too large to compare here",
                SinceVerified::Changed | SinceVerified::Gone => "when it was verified",
            })
        }
    }
}
