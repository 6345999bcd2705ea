//! Agent profiles: Markdown whose front matter says what the agent is and what it delivers.
//!
//! ```text
//!   ---
//!   command: [my-agent, --quiet]
//!   artifact_defaults: { expected: [{ id: report, path: report.md }] }
//!   ---
//!   You are a reviewer. …                  ◀── what the agent is told before every task
//! ```

use std::rc::Rc;
use std::sync::Arc;

use escrow_model::{ArtifactContract, EnvTemplates, Field, Source};
use serde_json::Value;

use crate::decode::artifacts;
use crate::diagnostic::{Diagnostic, Diagnostics, Problem};
use crate::source::Sources;
use crate::yaml::{Node, place_within};
use crate::{duration, shape, yaml};

/// A profile, read. What only a harness needs is kept for it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentProfile {
    pub name: String,
    pub description: String,
    /// The program that is the agent, as `exec` of a command.
    pub command: Option<Field>,
    pub harness: Option<String>,
    pub model: Option<String>,
    pub permission: Option<String>,
    pub auth: Option<String>,
    pub budget: Option<Value>,
    pub timeout_ms: Option<u64>,
    pub env: EnvTemplates,
    pub artifacts: ArtifactContract,
    /// What the agent is told before every task.
    pub instructions: String,
}

#[derive(Debug)]
pub struct ProfileReading {
    /// There when nothing is wrong.
    pub profile: Option<AgentProfile>,
    pub diagnostics: Vec<Diagnostic>,
}

/// More than anybody reads before a task.
const BYTES_MAX: usize = 512 * 1024;

/// What templates of a profile may read: a profile serves many playbooks, so it knows none of them.
const NAMES: &[&str] = &["env", "checkName", "attempt"];

/// Reads the profile of the agent `name`.
pub fn read_profile(bytes: &[u8], file: &str, name: &str) -> ProfileReading {
    let mut found = Diagnostics::default();
    let (text, profile) = match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), profile(text, name, &mut found)),
        Err(error) => {
            let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            found.push(
                Problem::new("E0137", text.len()..text.len(), "the file is not UTF-8")
                    .label(format!("the byte {} is no part of a character", error.valid_up_to() + 1))
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
                .label(format!("{} bytes, at most {BYTES_MAX} are read", text.len())),
        );
        return None;
    }
    let (front, instructions) = split(text, found)?;
    // The opening line is a document start to YAML as well, so every place is a place of the file.
    let root = match yaml::parse(front, found) {
        Some(root) if !root.is_null() => root,
        Some(_) => Rc::new(Node::map_at(0..0, Vec::new())),
        None if found.has_errors() => return None,
        None => Rc::new(Node::map_at(0..0, Vec::new())),
    };
    shape::judge_profile(&root, found);
    root.map()?;
    own_name(&root, name, found);
    let artifacts = artifacts::decode(root.get("artifact_defaults"), Source::AgentProfile, found);
    let mut sources = Sources { text, found, uses: Vec::new(), check: None };
    let command = root.get("command").and_then(|node| match node.list() {
        Some(words) => {
            let words = words.iter().filter_map(|word| sources.template("command", word));
            Some(Field::Argv(words.collect()))
        }
        None => sources.shell("command", node).map(Field::Shell),
    });
    let variables = root.get("env").and_then(|node| node.map()).unwrap_or_default();
    let env = variables
        .iter()
        .filter_map(|entry| Some((entry.key.clone(), sources.template(&entry.key, &entry.value)?)))
        .collect();
    unknown_names(&mut sources);
    let word = |key: &str| root.get(key).and_then(|node| node.written()).map(str::to_owned);
    let (harness, model) = match word("model") {
        Some(model) => match model.split_once('/') {
            Some((harness, model)) => (Some(harness.to_owned()), Some(model.to_owned())),
            None => (None, Some(model)),
        },
        None => (None, None),
    };
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

/// The front matter with its opening line, and what follows its closing line.
fn split<'t>(text: &'t str, found: &mut Diagnostics) -> Option<(&'t str, &'t str)> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if !is_fence(first) {
        found.push(
            Problem::new("E0164", 0..first.trim_end().len(), "the profile has no front matter")
                .label("it should begin with a line `---`")
                .help("between two lines `---` stands what the agent is, such as `command: my-agent`"),
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
        Problem::new("E0164", 0..first.trim_end().len(), "the front matter of the profile does not end")
            .label("it begins here")
            .help("end it with a line `---`"),
    );
    None
}

/// A profile that says another name than its file has was copied and forgotten.
fn own_name(root: &Node, name: &str, found: &mut Diagnostics) {
    let Some(node) = root.get("name") else { return };
    if node.written().is_some_and(|own| own != name) {
        found.push(
            Problem::new("E0165", node.span.clone(), format!("the file is the profile of `{name}`"))
                .label("it calls itself otherwise")
                .help(format!("write `name: {name}`, leave the key out, or rename the file")),
        );
    }
}

fn unknown_names(sources: &mut Sources<'_>) {
    let uses = std::mem::take(&mut sources.uses);
    for used in &uses {
        for mention in used.mentions.iter().filter(|mention| !mention.guarded) {
            let Some(name) = mention.path.first().filter(|name| !NAMES.contains(&name.as_str())) else {
                continue;
            };
            let span = place_within(sources.text, &used.node, &mention.span);
            let known: Vec<String> = NAMES.iter().map(|name| format!("`{name}`")).collect();
            sources.found.push(
                Problem::new("E0114", span, format!("`{}` reads a name that does not exist", used.key))
                    .label(format!("a profile cannot read `{name}`"))
                    .help(format!(
                        "a profile may read {}; what a playbook knows goes into `prompt`",
                        known.join(", ")
                    )),
            );
        }
    }
}
