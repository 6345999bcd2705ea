//! Turns the text of a playbook into a `Plan`, or into every problem with its line.
//!
//!   text ──yaml──▶ Node ──shape──▶ valid Node ──decode──▶ Draft ──resolve──▶ Plan
//!
//! **Invariant:** pure, total, and the only crate that knows YAML. Any input gets an answer without a panic, and
//! all problems are reported, not the first.

mod chain;
mod check_lines;
mod codes;
mod decode;
mod diagnostic;
mod duration;
mod file_kind;
mod foreign_keys;
mod helps;
mod json;
mod json_schema;
mod keys;
mod preview;
mod profile;
mod references;
mod render;
mod report;
mod resolve;
mod rules;
mod shape;
mod show;
mod size;
mod source;
mod suggest;
mod test_file;
mod world_commands;
mod yaml;

// Playbooks: `read`, `read_bytes` and `read_agent` are below.
pub use decode::{AGENT_PROVIDER, AI_PROVIDER, HARNESS_NAMES, suggest_agent};
pub use preview::{EffectPreview, Guard, GuardKind, Precaution, Preview, Question, QuestionKind, preview};
pub use references::{AgentLookup, NestedError, NoReferences, NotifyTarget, ReferenceResolver, RulesFile};
pub use report::{ArtifactReport, CheckReport, ExpectedReport, Report, report};
pub use yaml::TEXT_BYTES_MAX;

// Chains, agent profiles, rules files and test files.
pub use profile::{AgentProfile, ProfileReading, read_profile};
pub use rules::{RulesReading, read_rules};
pub use test_file::{
    Answers, CheckRef, Expectation, ExpectedCheck, MessageAct, TestAnswer, TestArtifact, TestCase, TestFile,
    TestInput, TestMessage, TestReading, read_tests,
};

// Chains and shows.
pub use chain::{ScheduleClock, TriggerReading, chain_definition, read_chain, read_trigger};
pub use file_kind::{FileKind, file_kind};
pub use show::read_show;

// Diagnostics, and how a terminal shows them.
pub use codes::{Code, DIAGNOSTICS, page};
pub use diagnostic::{Diagnostic, Related, Severity};
pub use render::{render, render_within};

// Tools for editors and for the command line.
pub use check_lines::{check_lines, playbook_name};
pub use duration::parse_duration;
pub use helps::{every_help, every_word};
pub use json::yaml_to_json;
pub use json_schema::{chain_schema, json_schema, profile_schema, rules_schema, show_schema, test_schema};
pub use suggest::nearest;

use std::rc::Rc;

use diagnostic::{Diagnostics, Problem};
use escrow_model::{Plan, ProviderSpec, Secret};

/// The result of reading a playbook.
#[derive(Debug)]
pub struct Reading {
    /// `None` when there are errors. Warnings do not prevent a plan.
    pub plan: Option<Plan>,
    /// Ordered by position in the file.
    pub diagnostics: Vec<Diagnostic>,
    /// How many errors exceeded the limit of listed diagnostics.
    pub omitted_errors: usize,
    /// The secrets that the file declares, as far as it can be parsed. Diagnostics quote the file, so their output
    /// must be redacted even when the playbook is invalid.
    pub secrets: Vec<Secret>,
}

/// Reads a playbook. `file` is the name in diagnostics, and the default name of the playbook.
pub fn read(text: &str, file: &str, catalog: &[ProviderSpec], references: &dyn ReferenceResolver) -> Reading {
    read_text(text, file, |text, found| plan(text, file, catalog, references, found))
}

/// Reads a file of either kind with its own reader.
fn read_text(text: &str, file: &str, plan: impl FnOnce(&str, &mut Diagnostics) -> Option<Plan>) -> Reading {
    let mut found = Diagnostics::default();
    let plan = plan(text, &mut found);
    let secrets = plan.as_ref().map_or_else(|| decode::declared_secrets(text), |plan| plan.secrets.clone());
    let plan = plan.filter(|_| !found.has_errors());
    let omitted_errors = found.omitted_errors();
    Reading { plan, diagnostics: found.finish(text, file), omitted_errors, secrets }
}

/// Reads a playbook from bytes that may not be UTF-8.
pub fn read_bytes(
    bytes: &[u8],
    file: &str,
    catalog: &[ProviderSpec],
    references: &dyn ReferenceResolver,
) -> Reading {
    read_with(bytes, file, |text, found| plan(text, file, catalog, references, found))
}

pub(crate) fn read_with(
    bytes: &[u8],
    file: &str,
    plan: impl FnOnce(&str, &mut Diagnostics) -> Option<Plan>,
) -> Reading {
    if bytes.len() > TEXT_BYTES_MAX {
        // The size is the problem to report, even when the bytes were cut inside a character.
        return read_text(&String::from_utf8_lossy(bytes), file, plan);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => read_text(text, file, plan),
        Err(error) => {
            let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let mut found = Diagnostics::default();
            found.push(
                Problem::new("E0137", text.len()..text.len(), "the file is not UTF-8")
                    .label(format!("byte {} is not valid UTF-8", error.valid_up_to() + 1))
                    .help("save the file as UTF-8"),
            );
            Reading {
                plan: None,
                diagnostics: found.finish(&text, file),
                omitted_errors: 0,
                secrets: Vec::new(),
            }
        }
    }
}

/// The playbook of one check that gives a task to an agent. The task is the input `prompt`.
pub fn read_agent(agent: &str, catalog: &[ProviderSpec], references: &dyn ReferenceResolver) -> Reading {
    let text = format!(
        "name: {agent}\nagent: {agent}\n\
         inputs: {{ prompt: {{ type: string, required: true }} }}\n\
         checks: {{ main: {{ type: agent, prompt: \"{{{{ inputs.prompt }}}}\" }} }}\n"
    );
    read(&text, agent, catalog, references)
}

fn plan(
    text: &str,
    file: &str,
    catalog: &[ProviderSpec],
    references: &dyn ReferenceResolver,
    found: &mut Diagnostics,
) -> Option<Plan> {
    let root = parse(text, "a playbook needs `checks:` with at least one check", found)?;
    if let Some(problem) = file_kind::not_a_playbook(&root, file) {
        found.push(problem);
        return None;
    }
    if root.map().is_none() {
        found.push(
            Problem::new("E0105", root.span.clone(), "a playbook must be a map")
                .label(format!("this is {}", root.describe()))
                .help("start with `checks:` and, below it, the name and the keys of a check"),
        );
        return None;
    }
    shape::validate(&root, catalog, found);
    let decoded = decode::decode(&root, decode::File { text, name: file, catalog, references }, found)?;
    Some(resolve::resolve(decoded, text, references, found))
}

/// Parses a file that must not be empty.
fn parse(text: &str, help: &str, found: &mut Diagnostics) -> Option<Rc<yaml::Node>> {
    match yaml::parse(text, found) {
        Some(root) if root.is_null() => report_empty(text, help, found),
        Some(root) => return Some(root),
        None if found.has_errors() => {}
        None => report_empty(text, help, found),
    }
    None
}

fn report_empty(text: &str, help: &str, found: &mut Diagnostics) {
    let label = if text.trim().is_empty() {
        "no content"
    } else if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
        "only comments"
    } else {
        "the document is empty"
    };
    found.push(Problem::new("E0109", 0..0, "the file is empty").label(label).help(help));
}
