//! `artifacts.expected`: the files that a run promises.

use std::collections::BTreeMap;
use std::rc::Rc;

use escrow_model::{ArtifactContract, ArtifactPath, Count, ExpectedArtifact, Location, Source};

use super::count;
use super::schema::check_schema;
use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::Node;

pub(crate) fn decode(node: Option<&Rc<Node>>, source: Source, found: &mut Diagnostics) -> ArtifactContract {
    let listed =
        node.and_then(|node| node.get("expected")).and_then(|expected| expected.list()).unwrap_or_default();
    let mut seen: BTreeMap<&str, std::ops::Range<usize>> = BTreeMap::new();
    let mut places: BTreeMap<String, std::ops::Range<usize>> = BTreeMap::new();
    let mut expected = Vec::new();
    for item in listed {
        if let Some(id) = item.get("id")
            && let Some(text) = id.written()
        {
            if let Some(first) = seen.get(text) {
                found.push(
                    Problem::new("E0125", id.span.clone(), format!("two artifacts are called `{text}`"))
                        .label("the second")
                        .also(first.clone(), "the first")
                        .help("an id is what reasons and merges refer to; give each artifact its own"),
                );
            } else {
                seen.insert(text, id.span.clone());
            }
        }
        let Some(artifact) = artifact(item, source, found) else { continue };
        let place =
            item.get("path").or(item.get("glob")).map_or_else(|| item.span.clone(), |node| node.span.clone());
        if let Some(first) = places.insert(artifact.location.label().to_owned(), place.clone()) {
            found.push(
                Problem::new("W0221", place, "two artifacts are one file")
                    .label("the second")
                    .also(first, "the first")
                    .help("give each its own path, or expect it once"),
            );
        }
        expected.push(artifact);
    }
    ArtifactContract { expected }
}

/// The playbook's entries over the defaults of its agent: by id, and whole. What is replaced keeps its place.
pub(super) fn merge(defaults: &ArtifactContract, own: ArtifactContract) -> ArtifactContract {
    let mut merged = defaults.clone();
    for mut entry in own.expected {
        match merged.expected.iter_mut().find(|default| default.id == entry.id) {
            Some(default) => {
                entry.replaces = Some(default.source);
                *default = entry;
            }
            None => merged.expected.push(entry),
        }
    }
    merged
}

fn artifact(item: &Node, source: Source, found: &mut Diagnostics) -> Option<ExpectedArtifact> {
    item.map()?;
    let location = location(item, found);
    let text = |key: &str| item.get(key).and_then(|node| node.written()).map(str::to_owned);
    let flag = |key: &str| item.get(key).and_then(|node| node.bool());
    let schema = item.get("schema").filter(|schema| schema.map().is_some());
    if let Some(schema) = schema {
        check_schema(schema, "schema", found);
    }
    if let Some(node) = item.get("mime_type") {
        check_mime_type(node, found);
    }
    let unless_said = ExpectedArtifact::new(text("id")?, location?, source);
    let min_size = item.get("min_size").and_then(|node| node.number()).and_then(serde_json::Number::as_u64);
    Some(ExpectedArtifact {
        required: flag("required").unwrap_or(unless_said.required),
        description: text("description").unwrap_or_default(),
        min_size: min_size.unwrap_or(unless_said.min_size),
        fresh: flag("fresh").unwrap_or(unless_said.fresh),
        mime_type: text("mime_type"),
        schema: schema.map(|schema| schema.json()),
        kind: text("kind"),
        ..unless_said
    })
}

fn location(item: &Node, found: &mut Diagnostics) -> Option<Location> {
    match (item.entry("path"), item.entry("glob")) {
        (Some(path), Some(glob)) => {
            found.push(
                Problem::new("E0127", glob.key_span.clone(), "an artifact has `path` or `glob`, not both")
                    .label("this one")
                    .also(path.key_span.clone(), "and this one"),
            );
            None
        }
        (None, None) => {
            found.push(
                Problem::new("E0127", item.span.clone(), "an artifact needs `path` or `glob`")
                    .label("where is it?")
                    .help("`path: review.md` is one file, `glob: \"notes/*.md\"` is several; both relative to `$ESCROW_ARTIFACTS`"),
            );
            None
        }
        (Some(path), None) => {
            if let Some(count) = item.entry("count") {
                found.push(
                    Problem::new("E0127", count.key_span.clone(), "`count` goes with `glob`")
                        .label("`path` is exactly one file")
                        .also(path.key_span.clone(), "because of this"),
                );
            }
            let text = path.value.written().filter(|text| !text.is_empty())?;
            match ArtifactPath::parse(text) {
                Ok(path) => Some(Location::Path(path)),
                Err(error) => {
                    let help = match error {
                        escrow_model::ArtifactPathError::Glob => {
                            format!("write `glob: {text:?}` for a pattern")
                        }
                        _ => {
                            "write a path relative to the artifact directory, such as `review.md`".to_owned()
                        }
                    };
                    found.push(
                        Problem::new("E0126", path.value.span.clone(), "an artifact cannot be there")
                            .label(error.to_string())
                            .help(help),
                    );
                    None
                }
            }
        }
        (None, Some(glob)) => {
            pattern(item, glob.value.written().filter(|text| !text.is_empty())?, &glob.value, found)
        }
    }
}

/// What has no slash is no type, and no file would ever be of it.
fn check_mime_type(node: &Node, found: &mut Diagnostics) {
    let Some(text) = node.written() else { return };
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    if !essence.split_once('/').is_some_and(|(kind, name)| is_word(kind) && is_word(name)) {
        found.push(
            Problem::new("E0105", node.span.clone(), "`mime_type` must be a media type")
                .label("it has the form `type/subtype`")
                .help("such as `text/markdown`, `application/json` or `image/png`"),
        );
    }
}

fn pattern(item: &Node, text: &str, node: &Node, found: &mut Diagnostics) -> Option<Location> {
    if let Err(error) = ArtifactPath::check_pattern(text) {
        found.push(
            Problem::new("E0126", node.span.clone(), "an artifact cannot be there")
                .label(error.to_string())
                .help("write a pattern relative to the artifact directory, such as `notes/*.md`"),
        );
        return None;
    }
    if let Err(error) = globset::Glob::new(text) {
        found.push(
            Problem::new("E0126", node.span.clone(), "an artifact cannot be there")
                .label(error.kind().to_string())
                .help("`*` is any part of a name, `**` any folders, `?` one character, `[ab]` and `{a,b}` one of several"),
        );
        return None;
    }
    let bounds = item.get("count");
    let min = count(bounds.and_then(|bounds| bounds.get("min")));
    let max = count(bounds.and_then(|bounds| bounds.get("max")));
    if let (Some(min), Some(max), Some(bounds)) = (min, max, bounds)
        && min > max
    {
        found.push(
            Problem::new("E0122", bounds.span.clone(), "`count` can never be met")
                .label(format!("at least {min} and at most {max}")),
        );
    }
    Some(Location::Glob { pattern: text.to_owned(), count: Count { min: min.unwrap_or(1), max } })
}
