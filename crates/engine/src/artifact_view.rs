//! `artifacts.<id>` in expressions and templates: what the last inspection of a file found.
//!
//! **Invariant:** a value comes from a journaled inspection, never from the file itself, so that a replay reads the same. Content
//! that an inspection could not bring along is unreadable rather than undefined: a contract over it fails closed.

use std::cell::OnceCell;
use std::sync::Arc;

use escrow_contract::read_json;
use escrow_expr::{List, Object, ScopeValue};
use escrow_model::{
    ARTIFACT_TEXT_BYTES_MAX, CheckIndex, ExpectedArtifact, Location as ArtifactLocation, ProducedArtifact,
    ScopePath, folder_of,
};
use serde_json::{Value, json};

use crate::graph::shared_depth;
use crate::location::Location;
use crate::run::Run;

/// A delivered file as expressions see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArtifactFile {
    /// Without its content.
    pub(crate) produced: ProducedArtifact,
    path: Value,
    size: Value,
    sha256: Value,
    text: Content,
    json: Content,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Value(Value),
    Unreadable(&'static str),
}

impl Content {
    fn as_scope_value(&self) -> ScopeValue<'_> {
        match self {
            Content::Value(value) => ScopeValue::Json(value),
            Content::Unreadable(why) => ScopeValue::Unreadable(why),
        }
    }
}

impl ArtifactFile {
    fn of(produced: &ProducedArtifact, content_read: bool) -> ArtifactFile {
        let (text, json) = match &produced.text {
            Some(text) => {
                let json = match read_json(text.as_bytes()) {
                    Ok(read) if read.repeated_key.is_none() => Content::Value(read.value),
                    Ok(_) => Content::Unreadable("as JSON it names a member twice"),
                    Err(_) => Content::Unreadable("the file is not JSON"),
                };
                (Content::Value(Value::String(text.clone())), json)
            }
            None => {
                let why = if !content_read {
                    "content is recorded only when the playbook names `text` or `json`"
                } else if produced.size > ARTIFACT_TEXT_BYTES_MAX {
                    "the file is larger than 1 MiB"
                } else {
                    "the file is not UTF-8 text, or the files of the artifact are larger than 1 MiB together"
                };
                (Content::Unreadable(why), Content::Unreadable(why))
            }
        };
        ArtifactFile {
            path: json!(produced.path),
            size: json!(produced.size),
            sha256: json!(produced.sha256),
            produced: ProducedArtifact { text: None, ..produced.clone() },
            text,
            json,
        }
    }
}

impl Object for ArtifactFile {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        Some(match name {
            "path" => ScopeValue::Json(&self.path),
            "size" => ScopeValue::Json(&self.size),
            "sha256" => ScopeValue::Json(&self.sha256),
            "text" => self.text.as_scope_value(),
            "json" => self.json.as_scope_value(),
            _ => return None,
        })
    }

    fn names(&self) -> Vec<&str> {
        let mut names = vec!["path", "size", "sha256"];
        let content = [("text", &self.text), ("json", &self.json)];
        names.extend(
            content.iter().filter(|(_, one)| matches!(one, Content::Value(_))).map(|(name, _)| *name),
        );
        names
    }
}

/// What a check can read of artifacts, gathered when the name is first read.
pub(crate) struct ArtifactsObject<'a> {
    run: &'a Run,
    /// None for a source of the file, which reads no artifacts.
    reader: Option<Location>,
    stage: Stage,
    values: OnceCell<Vec<NamedArtifact<'a>>>,
}

/// Whether a check's own artifacts can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    BeforeProvider,
    AfterProvider,
}

struct NamedArtifact<'a> {
    id: &'a str,
    /// How the check itself may name an artifact of its agent or nested playbook.
    short: Option<&'a str>,
    value: ArtifactValue<'a>,
}

enum ArtifactValue<'a> {
    One(&'a ArtifactFile),
    /// The files of a glob, or of all items of a fan-out.
    Many(Files<'a>),
}

struct Files<'a>(Vec<&'a ArtifactFile>);

impl List for Files<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn item(&self, index: usize) -> Option<ScopeValue<'_>> {
        self.0.get(index).map(|file| ScopeValue::Object(*file))
    }
}

impl<'a> ArtifactsObject<'a> {
    pub(crate) fn new(run: &'a Run, reader: Option<Location>, stage: Stage) -> ArtifactsObject<'a> {
        ArtifactsObject { run, reader, stage, values: OnceCell::new() }
    }

    fn values(&self) -> &[NamedArtifact<'a>] {
        self.values.get_or_init(|| match &self.reader {
            Some(reader) => self.gather(reader),
            None => Vec::new(),
        })
    }

    fn gather(&self, reader: &Location) -> Vec<NamedArtifact<'a>> {
        let run = self.run;
        let plan = &run.state.plan;
        let spec = plan.check(reader.check);
        let cell = run.cell(reader.check, &reader.scope);
        let own_look = cell.and_then(|cell| cell.delivered.as_deref());
        let verified = run.verified_artifacts(reader);
        let folder = folder_of(&spec.name);
        let mut values = Vec::new();
        for expected in &plan.artifacts.expected {
            let is_own = spec.artifacts.contains(&expected.id);
            let files: Vec<&ArtifactFile> = if is_own && self.stage == Stage::AfterProvider {
                // The artifacts of this attempt were not inspected, so they are not readable yet.
                let Some(looked) = own_look else { continue };
                looked.iter().filter(|file| expected.covers(&file.produced.id)).collect()
            } else {
                if !verified.gates.iter().any(|gate| plan.check(*gate).artifacts.contains(&expected.id)) {
                    continue;
                }
                let files = verified.files.iter().filter(|(_, file)| expected.covers(&file.produced.id));
                files.map(|(_, file)| *file).collect()
            };
            let value = if run.has_many_files(expected, reader.check) {
                ArtifactValue::Many(Files(files))
            } else {
                let [file] = files.as_slice() else { continue };
                ArtifactValue::One(file)
            };
            let short = expected.id.strip_prefix(folder.as_str()).and_then(|id| id.strip_prefix("__"));
            values.push(NamedArtifact { id: &expected.id, short: short.filter(|_| is_own), value });
        }
        values
    }
}

impl Object for ArtifactsObject<'_> {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>> {
        let values = self.values();
        let named = values
            .iter()
            .find(|one| one.short == Some(name))
            .or_else(|| values.iter().find(|one| one.id == name))?;
        Some(match &named.value {
            ArtifactValue::One(file) => ScopeValue::Object(*file),
            ArtifactValue::Many(files) => ScopeValue::List(files),
        })
    }

    fn names(&self) -> Vec<&str> {
        self.values().iter().map(|one| one.id).collect()
    }
}

impl Run {
    /// Delivered files with the values that expressions read.
    pub(crate) fn artifact_files(&self, produced: &[ProducedArtifact]) -> Arc<[ArtifactFile]> {
        let expected = &self.state.plan.artifacts.expected;
        let is_read = |id: &str| expected.iter().any(|one| one.content_read && one.covers(id));
        produced.iter().map(|one| ArtifactFile::of(one, is_read(&one.id))).collect()
    }

    /// Whether a check sees several files under one id: those of a pattern, or of the items of another check.
    fn has_many_files(&self, expected: &ExpectedArtifact, reader: CheckIndex) -> bool {
        if matches!(expected.location, ArtifactLocation::Glob { .. }) {
            return true;
        }
        let plan = &self.state.plan;
        let owner = expected.check.as_deref().and_then(|owner| self.graph.find(owner));
        owner.is_some_and(|owner| {
            let fan = &plan.check(owner).fan;
            shared_depth(&plan.check(reader).fan, fan) < fan.len()
        })
    }
}

/// What checks on the way to a check have verified.
pub(crate) struct VerifiedOnTheWay<'a> {
    pub(crate) gates: Vec<CheckIndex>,
    /// In the order of scopes and paths.
    pub(crate) files: Vec<(ScopePath, &'a ArtifactFile)>,
}
