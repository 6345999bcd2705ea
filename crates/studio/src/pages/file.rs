//! A delivered file: as an attachment, or in a viewer that shows it as text, never as a page.
//!
//! **Invariant:** a file of a run is never served as something that a browser would run. Text is escaped into a page of
//! ours; images are recognised by their first bytes; everything else is an attachment. The file is reached through the
//! artifact store alone, and through no link that leads out of it.

use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
};
use axum::response::{IntoResponse, Response};
use escrow_app::artifacts::{FetchedArtifact, IfChanged, SinceVerified, fetch};
use escrow_app::{Error, words};
use maud::{Markup, html};

use super::markdown;
use crate::answer::PageError;
use crate::layout::{Frame, Nav, line, status};
use crate::view::{View, encoded};

/// Bytes that the viewer shows and that an attachment may have in memory.
const SHOWN_MAX: usize = 512 * 1024;
const BYTES_MAX: u64 = 256 << 20;

/// Tells programs whether the bytes are those that were verified.
const SINCE_VERIFIED: HeaderName = HeaderName::from_static("escrow-since-verified");

/// Neither scripts nor frames nor requests, whatever the file says.
const SANDBOX: &str = "sandbox; default-src 'none'; style-src 'none'; frame-ancestors 'none'";

pub(crate) async fn page(view: View) -> Result<Response, PageError> {
    let (run, path) = (view.parameter("id"), view.parameter("path"));
    let mut found = fetch(&view.studio.app, &run, &path, IfChanged::Fetch).await?;
    let Some(mut file) = found.pop().filter(|_| found.is_empty()) else {
        return Err(Error::author("ambiguous_artifact", "the path matches several files").into());
    };
    if file.artifact.size > BYTES_MAX {
        return Err(Error::world("too_large", "the file is larger than 256 MB")
            .help(format!("`escrow artifacts fetch {run} {path}` copies it"))
            .into());
    }
    let mut bytes = Vec::new();
    file.copy_to(&mut bytes)?;
    if view.has("view") {
        return Ok(viewer(&view, &run, &file, &bytes).await?.into_response());
    }
    let has_changed = file.has_changed();
    let image = image_type(&bytes).filter(|_| view.has("image"));
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(image.unwrap_or("application/octet-stream")));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX));
    let since = if has_changed { SinceVerified::Changed } else { SinceVerified::Unchanged };
    headers.insert(SINCE_VERIFIED, HeaderValue::from_static(since.as_str()));
    if image.is_none() {
        let name = file.artifact.path.rsplit('/').next().unwrap_or("file");
        // The file that is saved says it, wherever it goes from here.
        let name = if has_changed { format!("changed-{name}") } else { name.to_owned() };
        let disposition = format!("attachment; filename*=UTF-8''{}", encoded(&name));
        headers.insert(
            CONTENT_DISPOSITION,
            HeaderValue::from_str(&disposition).unwrap_or(HeaderValue::from_static("attachment")),
        );
    }
    Ok(response)
}

/// Images that a browser only draws. An SVG is a document that can run scripts, so it is text here.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

async fn viewer(view: &View, run: &str, file: &FetchedArtifact, bytes: &[u8]) -> Result<Markup, Error> {
    let frame = Frame::of(view).await?;
    let (path, has_changed) = (&file.artifact.path, file.has_changed());
    let content = html! {
        nav aria-label="Breadcrumb" { ol.crumbs { li { a href="/runs" { "Runs" } } li { a href={ "/runs/" (run) } { span.id { (line(run)) } } } li { a href={ "/runs/" (run) "#artifacts" } { "Artifacts" } } li aria-current="page" { (line(path)) } } }
        div.head {
            div.grow { h1 { code { (line(path)) } } p { (words::bytes_words(file.artifact.size)) ", sha256 " span.mono { (file.artifact.sha256.get(..12).unwrap_or_default()) } } }
            div.btns { a.btn href=(view.path) { "Download" } }
        }
        @if has_changed { p { (status("warn", "warn", "Changed since it was verified")) " sha256 is now " span.mono { (file.sha256.get(..12).unwrap_or_default()) } } }
        div.box { (shown(view, path, bytes)) }
    };
    Ok(frame.page(view, Nav::Runs, path, &content))
}

fn shown(view: &View, path: &str, bytes: &[u8]) -> Markup {
    if image_type(bytes).is_some() {
        return html! { p.pad { img src=(format!("{}?image=1", view.path)) alt={ "The delivered image " (line(path)) }; } };
    }
    let part = bytes.get(..SHOWN_MAX).unwrap_or(bytes);
    let text = String::from_utf8_lossy(part);
    if text.contains('\0') {
        return html! { p.pad { "Not a text. " a href=(view.path) { "Download it" } } };
    }
    let pretty = if path.ends_with(".json") { pretty_json(part) } else { None };
    let text = pretty.unwrap_or_else(|| text.into_owned());
    let is_diff = path.ends_with(".diff") || path.ends_with(".patch");
    let is_markdown = path.ends_with(".md") || path.ends_with(".markdown");
    let lines = html! {
        div.log { ol {
            @for (number, part) in text.lines().enumerate() {
                @let class = match part.as_bytes().first() { Some(b'+') if is_diff => "ok", Some(b'-') if is_diff => "bad", Some(b'@') if is_diff => "dim", _ => "" };
                li id={ "L" (number + 1) } { a href={ "#L" (number + 1) } aria-label={ "Line " (number + 1) } { (number + 1) } span.s {} span class=(class) { (words::visible(part)) } }
            }
        } }
    };
    html! {
        @if is_markdown {
            // What is a tag in the file is text on the page, too.
            h2.vh { "Content" }
            (markdown::rendered(&text))
            details.fold { summary.pad { "Source" } (lines) }
        } @else { (lines) }
        @if bytes.len() > SHOWN_MAX { p.pad.small.dim { "The first 512 KB. " a href=(view.path) { "Download all of it" } } }
    }
}

fn pretty_json(bytes: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    serde_json::to_string_pretty(&value).ok()
}
