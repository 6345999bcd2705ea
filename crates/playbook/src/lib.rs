//! Playbook text to `Plan`, or every problem of the text with its line.
//!
//!   text ──yaml──▶ Node ──shape──▶ (well formed) ──decode──▶ Draft ──resolve──▶ Plan
//!
//! **Invariant:** pure. Whatever the text, it answers, without a panic, and with all problems at once.
//! The only room that knows YAML.

mod as_json;
mod beside;
mod codes;
mod decode;
mod diagnostic;
mod duration;
mod editor;
mod foreign;
mod keys;
mod lines;
mod profile;
mod render;
mod report;
mod resolve;
mod rules;
mod shape;
mod source;
mod suggest;
mod test_file;
mod yaml;

pub use as_json::yaml_to_json;
pub use beside::{Alone, FoundAgent, ReferenceResolver, RulesText};
pub use codes::{Code, DIAGNOSTICS, page};
pub use decode::{AGENT, known_agents};
pub use diagnostic::{Diagnostic, Related, Severity};
pub use duration::parse_duration;
pub use editor::json_schema;
pub use lines::check_lines;
pub use profile::{AgentProfile, ProfileReading, read_profile};
pub use render::{render, render_within};
pub use report::{ArtifactReport, CheckReport, ExpectedReport, Report, report};
pub use rules::{RulesReading, read_rules, rules_schema};
pub use suggest::nearest;
pub use test_file::{
    Answers, Expectation, ExpectedCheck, MessageAct, Place, TestAnswer, TestArtifact, TestCase, TestFile,
    TestInput, TestMessage, TestReading, read_tests,
};
pub use yaml::TEXT_BYTES_MAX;

use diagnostic::{Diagnostics, Problem};
use escrow_model::{Plan, ProviderSpec, Secret};

/// What a text came to.
#[derive(Debug)]
pub struct Reading {
    /// There when nothing is wrong. Warnings do not stand in its way.
    pub plan: Option<Plan>,
    /// By place.
    pub diagnostics: Vec<Diagnostic>,
    /// Errors of a hopeless file that are only counted.
    pub untold: usize,
    /// What the file declares as secret, as far as it can be read: diagnostics quote the file, and must not tell
    /// what it should not have written down.
    pub secrets: Vec<Secret>,
}

/// Reads a playbook. `file` is what diagnostics call it, and what names a playbook without `name`. Nothing stands
/// beside it: playbooks that it nests are taken to change nothing, and there are no agents.
pub fn read(text: &str, file: &str, catalog: &[ProviderSpec]) -> Reading {
    read_beside(text, file, catalog, &Alone)
}

/// Reads a playbook that may nest others, and name agents, rules and outcome kinds that stand beside it.
pub fn read_beside(
    text: &str,
    file: &str,
    catalog: &[ProviderSpec],
    beside: &dyn ReferenceResolver,
) -> Reading {
    let mut found = Diagnostics::default();
    let plan = plan(text, file, catalog, beside, &mut found);
    let secrets = plan.as_ref().map_or_else(|| decode::declared_in(text), |plan| plan.secrets.clone());
    let plan = plan.filter(|_| !found.has_errors());
    let untold = found.untold();
    Reading { plan, diagnostics: found.finish(text, file), untold, secrets }
}

/// The playbook that giving one task to an agent stands for. The task is its input `prompt`.
pub fn read_agent(agent: &str, catalog: &[ProviderSpec], beside: &dyn ReferenceResolver) -> Reading {
    let text = format!(
        "name: {agent}\nagent: {agent}\n\
         inputs: {{ prompt: {{ type: string, required: true }} }}\n\
         checks: {{ main: {{ type: agent, prompt: \"{{{{ inputs.prompt }}}}\" }} }}\n"
    );
    read_beside(&text, agent, catalog, beside)
}

/// Reads a playbook that may not be text.
pub fn read_bytes(bytes: &[u8], file: &str, catalog: &[ProviderSpec]) -> Reading {
    read_bytes_with(bytes, file, catalog, &Alone)
}

/// Reads a playbook that may not be text, with what stands beside it.
pub fn read_bytes_with(
    bytes: &[u8],
    file: &str,
    catalog: &[ProviderSpec],
    beside: &dyn ReferenceResolver,
) -> Reading {
    if bytes.len() > TEXT_BYTES_MAX {
        // Too long is too long, also where it was cut within a character.
        return read_beside(&String::from_utf8_lossy(bytes), file, catalog, beside);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => read_beside(text, file, catalog, beside),
        Err(error) => {
            let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let mut found = Diagnostics::default();
            found.push(
                Problem::new("E0137", text.len()..text.len(), "the file is not UTF-8")
                    .label(format!("the byte {} is no part of a character", error.valid_up_to() + 1))
                    .help("save the file as UTF-8"),
            );
            Reading { plan: None, diagnostics: found.finish(&text, file), untold: 0, secrets: Vec::new() }
        }
    }
}

fn plan(
    text: &str,
    file: &str,
    catalog: &[ProviderSpec],
    beside: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) -> Option<Plan> {
    let Some(root) = yaml::parse(text, found) else {
        if !found.has_errors() {
            empty(text, found);
        }
        return None;
    };
    if root.is_null() {
        empty(text, found);
        return None;
    }
    if root.map().is_none() {
        found.push(
            Problem::new("E0105", root.span.clone(), "a playbook is a map of keys")
                .label(format!("this is {}", root.describe()))
                .help("start with `checks:`, and under it a name and the keys of a check"),
        );
        return None;
    }
    shape::judge(&root, catalog, found);
    let decoded = decode::decode(&root, decode::File { text, name: file, catalog, beside }, found)?;
    Some(resolve::resolve(decoded, text, beside, found))
}

fn empty(text: &str, found: &mut Diagnostics) {
    let label = if text.trim().is_empty() {
        "nothing stands here"
    } else if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
        "there are only comments"
    } else {
        "this says nothing"
    };
    found.push(
        Problem::new("E0109", 0..0, "the file is empty")
            .label(label)
            .help("a playbook has at least `checks:` with one check in it"),
    );
}
