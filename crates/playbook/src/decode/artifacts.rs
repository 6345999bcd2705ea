//! Decodes `artifacts.expected`, the artifact contract of a file or a profile.

use std::collections::BTreeMap;
use std::rc::Rc;

use escrow_model::{ArtifactContract, ArtifactPath, Count, ExpectedArtifact, Location, Source};

use super::count;
use super::schema::check_schema;
use crate::diagnostic::{Diagnostics, Problem};
use crate::source::{Sources, Stage};
use crate::yaml::Node;

pub(crate) fn decode(node: Option<&Rc<Node>>, source: Source, sources: &mut Sources<'_>) -> ArtifactContract {
    let listed =
        node.and_then(|node| node.get("expected")).and_then(|expected| expected.list()).unwrap_or_default();
    let mut seen: BTreeMap<&str, std::ops::Range<usize>> = BTreeMap::new();
    let mut spans: BTreeMap<String, std::ops::Range<usize>> = BTreeMap::new();
    let mut expected = Vec::new();
    for item in listed {
        if let Some(id) = item.get("id")
            && let Some(text) = id.scalar_text()
        {
            if let Some(first) = seen.get(text) {
                sources.found.push(
                    Problem::new("E0125", id.span.clone(), format!("duplicate artifact id `{text}`"))
                        .label("second artifact")
                        .also(first.clone(), "first artifact")
                        .help("give each artifact its own id"),
                );
            } else {
                seen.insert(text, id.span.clone());
            }
        }
        let condition = item.get("if").and_then(|node| sources.expression("if", node, Stage::BeforeProvider));
        let Some(artifact) = artifact(item, source, sources.found) else { continue };
        let artifact = ExpectedArtifact { condition, ..artifact };
        let span =
            item.get("path").or(item.get("glob")).map_or_else(|| item.span.clone(), |node| node.span.clone());
        if let Some(first) = spans.insert(artifact.location.label().to_owned(), span.clone()) {
            sources.found.push(
                Problem::new("W0221", span, "two artifacts have the same path")
                    .label("second artifact")
                    .also(first, "first artifact")
                    .help("give each artifact its own path, or remove one"),
            );
        }
        expected.push(artifact);
    }
    ArtifactContract { expected }
}

/// Merges the playbook's entries over the agent's defaults, by id. A replaced entry keeps its position.
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
    let text = |key: &str| item.get(key).and_then(|node| node.scalar_text()).map(str::to_owned);
    let flag = |key: &str| item.get(key).and_then(|node| node.bool());
    let schema = item.get("schema").filter(|schema| schema.map().is_some());
    if let Some(schema) = schema {
        check_schema(schema, "schema", found);
    }
    if let Some(node) = item.get("mime_type") {
        check_mime_type(node, found);
    }
    let default = ExpectedArtifact::new(text("id")?, location?, source);
    let min_size = item.get("min_size").and_then(|node| node.number()).and_then(serde_json::Number::as_u64);
    Some(ExpectedArtifact {
        required: flag("required").unwrap_or(default.required),
        description: text("description").unwrap_or_default(),
        min_size: min_size.unwrap_or(default.min_size),
        fresh: flag("fresh").unwrap_or(default.fresh),
        mime_type: text("mime_type"),
        schema: schema.map(|schema| schema.json()),
        kind: text("kind"),
        ..default
    })
}

fn location(item: &Node, found: &mut Diagnostics) -> Option<Location> {
    match (item.entry("path"), item.entry("glob")) {
        (Some(path), Some(glob)) => {
            found.push(
                Problem::new("E0127", glob.key_span.clone(), "`path` and `glob` are mutually exclusive")
                    .label("second location")
                    .also(path.key_span.clone(), "first location"),
            );
            None
        }
        (None, None) => {
            found.push(
                Problem::new("E0127", item.span.clone(), "an artifact needs `path` or `glob`")
                    .label("the location is missing")
                    .help("`path: review.md` names one file, `glob: \"notes/*.md\"` several; both are relative to `$ESCROW_ARTIFACTS`"),
            );
            None
        }
        (Some(path), None) => {
            if let Some(count) = item.entry("count") {
                found.push(
                    Problem::new("E0127", count.key_span.clone(), "`count` requires `glob`")
                        .label("`path` names exactly one file")
                        .also(path.key_span.clone(), "`path` is given here"),
                );
            }
            let text = path.value.scalar_text().filter(|text| !text.is_empty())?;
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
                        Problem::new(
                            "E0126",
                            path.value.span.clone(),
                            format!("invalid artifact path `{text}`"),
                        )
                        .label(error.to_string())
                        .help(help),
                    );
                    None
                }
            }
        }
        (None, Some(glob)) => {
            pattern(item, glob.value.scalar_text().filter(|text| !text.is_empty())?, &glob.value, found)
        }
    }
}

/// Reports a media type without the form `type/subtype`, which no file would match.
fn check_mime_type(node: &Node, found: &mut Diagnostics) {
    let Some(text) = node.scalar_text() else { return };
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    if !essence.split_once('/').is_some_and(|(kind, name)| is_word(kind) && is_word(name)) {
        found.push(
            Problem::new("E0105", node.span.clone(), "`mime_type` must be a media type")
                .label("expected the form `type/subtype`")
                .help("write, for example, `text/markdown`, `application/json` or `image/png`"),
        );
    }
}

fn pattern(item: &Node, text: &str, node: &Node, found: &mut Diagnostics) -> Option<Location> {
    if let Err(error) = ArtifactPath::check_pattern(text) {
        found.push(
            Problem::new("E0126", node.span.clone(), format!("invalid artifact pattern `{text}`"))
                .label(error.to_string())
                .help("write a pattern relative to the artifact directory, such as `notes/*.md`"),
        );
        return None;
    }
    if let Err(error) = globset::Glob::new(text) {
        found.push(
            Problem::new("E0126", node.span.clone(), format!("invalid artifact pattern `{text}`"))
                .label(error.kind().to_string())
                .help("`*` matches part of a name, `**` any folders, `?` one character, `[ab]` and `{a,b}` one of several"),
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
            Problem::new("E0122", bounds.span.clone(), "`count` cannot be satisfied")
                .label(format!("at least {min} and at most {max}")),
        );
    }
    Some(Location::Glob { pattern: text.to_owned(), count: Count { min: min.unwrap_or(1), max } })
}
