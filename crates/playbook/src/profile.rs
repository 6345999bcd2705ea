//! Reads agent profiles: Markdown with front matter that describes the agent and its artifacts.
//!
//! ```text
//!   ---
//!   command: [my-agent, --quiet]
//!   artifact_defaults: { expected: [{ id: report, path: report.md }] }
//!   ---
//!   You are a reviewer. …                  ◀── the instructions, sent before every task
//! ```

use std::rc::Rc;
use std::sync::Arc;

use escrow_model::{ArtifactContract, EnvTemplates, Field, Source};
use serde_json::Value;

use crate::decode::{HARNESS_NAMES, artifacts};
use crate::diagnostic::{Diagnostic, Diagnostics, Problem};
use crate::source::Sources;
use crate::yaml::{Node, span_within};
use crate::{duration, shape, yaml};

/// A parsed profile, including the keys that only a harness uses.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentProfile {
    pub name: String,
    pub description: String,
    /// The program that runs the agent, like `exec` of a command.
    pub command: Option<Field>,
    pub harness: Option<String>,
    pub model: Option<String>,
    pub permission: Option<String>,
    pub auth: Option<String>,
    pub budget: Option<Value>,
    pub timeout_ms: Option<u64>,
    pub env: EnvTemplates,
    pub artifacts: ArtifactContract,
    /// The Markdown body: the instructions that precede every task.
    pub instructions: String,
}

#[derive(Debug)]
pub struct ProfileReading {
    /// `None` when there are errors.
    pub profile: Option<AgentProfile>,
    pub diagnostics: Vec<Diagnostic>,
}

/// The size limit of a profile.
const BYTES_MAX: usize = 512 * 1024;

/// The names that templates of a profile can read. A profile serves many playbooks, so it reads nothing of theirs.
const NAMES: &[&str] = &["env", "checkName", "attempt"];

/// The names that the `if` of an expected artifact can read: what every run has.
const CONDITION_NAMES: &[&str] = &["event", "env", "filesChanged", "filesCount", "branch", "baseBranch"];

/// Reads the profile of the agent `name`.
pub fn read_profile(bytes: &[u8], file: &str, name: &str) -> ProfileReading {
    let mut found = Diagnostics::default();
    let (text, profile) = match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), profile(text, name, &mut found)),
        Err(error) => {
            let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            found.push(
                Problem::new("E0137", text.len()..text.len(), "the file is not UTF-8")
                    .label(format!("byte {} is not valid UTF-8", error.valid_up_to() + 1))
                    .help("save the file as UTF-8"),
            );
            (text, None)
        }
    };
    let profile = profile.filter(|_| !found.has_errors());
    let mut diagnostics = found.finish(&text, file);
    let text: Arc<str> = text.into();
    for diagnostic in &mut diagnostics {
        diagnostic.text = Some(Arc::clone(&text));
    }
    ProfileReading { profile, diagnostics }
}

fn profile(text: &str, name: &str, found: &mut Diagnostics) -> Option<AgentProfile> {
    if text.len() > BYTES_MAX {
        found.push(
            Problem::new("E0134", 0..0, "the profile is too large")
                .label(format!("{} bytes; the limit is {BYTES_MAX}", text.len())),
        );
        return None;
    }
    let (front, instructions) = split(text, found)?;
    // The opening `---` is also a YAML document start, so spans of the front matter are spans of the file.
    let root = match yaml::parse(front, found) {
        Some(root) if !root.is_null() => root,
        Some(_) => Rc::new(Node::map_at(0..0, Vec::new())),
        None if found.has_errors() => return None,
        None => Rc::new(Node::map_at(0..0, Vec::new())),
    };
    shape::validate_profile(&root, found);
    root.map()?;
    check_name_matches_file(&root, name, found);
    let mut sources = Sources { text, found, uses: Vec::new(), check: None };
    let artifacts = artifacts::decode(root.get("artifact_defaults"), Source::AgentProfile, &mut sources);
    unknown_names(&mut sources, CONDITION_NAMES);
    let command = root.get("command").and_then(|node| match node.list() {
        Some(words) => Some(Field::Argv(sources.argv("command", words))),
        None => sources.shell("command", node).map(Field::Shell),
    });
    let variables = root.get("env").and_then(|node| node.map()).unwrap_or_default();
    let env = variables
        .iter()
        .filter_map(|entry| Some((entry.key.clone(), sources.template(&entry.key, &entry.value)?)))
        .collect();
    unknown_names(&mut sources, NAMES);
    let word = |key: &str| root.get(key).and_then(|node| node.scalar_text()).map(str::to_owned);
    let (harness, model) = match word("model") {
        Some(model) => match model.split_once('/') {
            // Models of some harnesses have a slash themselves.
            Some((harness, model)) if HARNESS_NAMES.contains(&harness) => {
                (Some(harness.to_owned()), Some(model.to_owned()))
            }
            Some(_) | None => (None, Some(model)),
        },
        None => (None, None),
    };
    if let (Some(model), Some(node)) = (&model, root.get("model"))
        && (model.contains("{{") || model.contains("{%"))
    {
        found.push(
            Problem::new("E0118", node.span.clone(), "the model of a profile is not a template")
                .label("it is taken as it is written")
                .help("name the model, or write the template as `model` of the check that uses the profile"),
        );
    }
    Some(AgentProfile {
        name: name.to_owned(),
        description: word("description").unwrap_or_default(),
        command,
        harness: word("harness").or(harness),
        model,
        permission: word("permission"),
        auth: word("auth"),
        budget: root.get("budget").map(|node| node.json()),
        timeout_ms: root.get("timeout").and_then(|node| duration::milliseconds(node).ok()),
        env,
        artifacts,
        instructions: instructions.trim().to_owned(),
    })
}

/// Splits the text into the front matter, with its opening line, and the body.
fn split<'t>(text: &'t str, found: &mut Diagnostics) -> Option<(&'t str, &'t str)> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if !is_fence(first) {
        found.push(
            Problem::new("E0164", 0..first.trim_end().len(), "the profile has no front matter")
                .label("expected a line `---`")
                .help("put the front matter, such as `command: my-agent`, between two lines `---`"),
        );
        return None;
    }
    let mut at = first.len();
    for line in text[at..].split_inclusive('\n') {
        if is_fence(line) {
            return Some((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    found.push(
        Problem::new("E0164", 0..first.trim_end().len(), "the front matter is not closed")
            .label("it starts here")
            .help("end it with a line `---`"),
    );
    None
}

/// Reports a `name` that differs from the file name, usually left over from a copy.
fn check_name_matches_file(root: &Node, name: &str, found: &mut Diagnostics) {
    let Some(node) = root.get("name") else { return };
    if node.scalar_text().is_some_and(|own| own != name) {
        found.push(
            Problem::new("E0165", node.span.clone(), format!("`name` differs from the file name `{name}`"))
                .label("a profile has the name of its file")
                .help(format!("write `name: {name}`, leave the key out, or rename the file")),
        );
    }
}

fn unknown_names(sources: &mut Sources<'_>, names: &[&str]) {
    let uses = std::mem::take(&mut sources.uses);
    for used in &uses {
        for mention in used.mentions.iter().filter(|mention| !mention.guarded) {
            let Some(name) = mention.path.first().filter(|name| !names.contains(&name.as_str())) else {
                continue;
            };
            let span = span_within(sources.text, &used.node, &mention.span);
            let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            sources.found.push(
                Problem::new("E0114", span, format!("`{}` reads an unknown name", used.key))
                    .label(format!("a profile cannot read `{name}`"))
                    .help(format!(
                        "a profile can read {}; pass values of the playbook through `prompt`",
                        known.join(", ")
                    )),
            );
        }
    }
}
