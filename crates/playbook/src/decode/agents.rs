//! Decodes `agent` of the file and of checks, and applies the agent's profile.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use escrow_model::{Check, Field, ProviderName, Sandbox, Text};
use escrow_template::Template;

use super::Decoder;
use super::ai::{self, AGENT_PROVIDER};
use crate::diagnostic::{Diagnostics, Problem};
use crate::profile::AgentProfile;
use crate::references::{AgentLookup, ReferenceResolver};
use crate::suggest::did_you_mean;
use crate::yaml::{Entry, Node};

/// Looks up agent profiles, each at most once.
pub(super) struct Agents<'t> {
    references: &'t dyn ReferenceResolver,
    known: BTreeMap<String, Option<Rc<AgentProfile>>>,
    /// The profile of `agent` at the top level of the file.
    pub(super) run_profile: Option<Rc<AgentProfile>>,
}

impl<'t> Agents<'t> {
    pub(super) fn of(
        root: &Node,
        references: &'t dyn ReferenceResolver,
        found: &mut Diagnostics,
    ) -> Agents<'t> {
        let mut agents = Agents { references, known: BTreeMap::new(), run_profile: None };
        if let Some(node) = root.get("agent")
            && let Some(name) = node.scalar_text()
        {
            agents.run_profile = agents.find(name, node.span.clone(), found);
        }
        agents
    }

    pub(super) fn find(
        &mut self,
        name: &str,
        span: Range<usize>,
        found: &mut Diagnostics,
    ) -> Option<Rc<AgentProfile>> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let profile = match self.references.agent(name) {
            AgentLookup::Found(profile) => Some(Rc::from(profile)),
            AgentLookup::Invalid { file, diagnostics } => {
                found.push(
                    Problem::new("E0162", span, format!("the profile of agent `{name}` is invalid"))
                        .label(format!("see `{file}`")),
                );
                found.add_from_other_file(&diagnostics);
                None
            }
            AgentLookup::Unknown { known } => {
                found.push(
                    Problem::new("E0161", span, format!("unknown agent `{name}`"))
                        .label("no profile found")
                        .help(suggest_agent(name, &known)),
                );
                None
            }
        };
        self.known.insert(name.to_owned(), profile.clone());
        profile
    }
}

/// The help for an unknown agent: a suggestion, the known names, or where to put the profile.
pub fn suggest_agent(name: &str, known: &[String]) -> String {
    did_you_mean(name, known.iter().map(String::as_str)).unwrap_or_else(|| {
        if known.is_empty() {
            return format!("create its profile `.escrow/agents/{name}.md`");
        }
        let listed: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        format!("the agents are {}", listed.join(", "))
    })
}

impl Decoder<'_> {
    /// Turns a check of `type: agent` into a check of its profile's command or harness. Returns the profile when the check names
    /// the agent itself; its artifacts then belong to the check, not to the run.
    pub(super) fn apply_profile(&mut self, entry: &Entry, check: &mut Check) -> Option<Rc<AgentProfile>> {
        let own = entry.value.entry("agent");
        let (profile, span) = match own {
            Some(own) => {
                let name = own.value.scalar_text()?;
                let span = own.value.span.clone();
                (self.agents.find(name, span.clone(), self.sources.found)?, span)
            }
            None => match &self.agents.run_profile {
                Some(profile) => (Rc::clone(profile), entry.key_span.clone()),
                None => {
                    self.report_missing_agent(entry);
                    return None;
                }
            },
        };
        let prompt = match check.fields.get("prompt") {
            Some(Field::Text(prompt)) => prompt.source().to_owned(),
            _ => return None,
        };
        let prompt = with_instructions(&profile.instructions, &prompt)?;
        match profile.command.clone() {
            Some(command) => {
                self.harness_keys_without_effect(entry);
                check.provider = ProviderName::COMMAND;
                let sandbox =
                    check.fields.swap_remove(Sandbox::FIELD).map(|field| (Sandbox::FIELD.to_owned(), field));
                check.fields =
                    [("exec".to_owned(), command), ("stdin".to_owned(), Field::Text(prompt))].into();
                check.fields.extend(sandbox);
            }
            None => ai::compile(check, &profile, prompt),
        }
        let mut env = profile.env.clone();
        env.extend(std::mem::take(&mut check.env));
        check.env = env;
        if entry.value.entry("timeout").is_none() {
            check.timeout_ms = profile.timeout_ms.unwrap_or(AGENT_PROVIDER.timeout_ms);
        }
        check.own_folder = own.is_some();
        if own.is_some() {
            self.add_profile_kinds(&profile, &span);
        }
        own.map(|_| profile)
    }

    /// Adds the outcome kinds of a profile's artifacts to the plan.
    pub(super) fn add_profile_kinds(&mut self, profile: &AgentProfile, span: &Range<usize>) {
        for kind in profile.artifacts.expected.iter().filter_map(|one| one.kind.as_ref()) {
            self.kind(&Rc::new(Node::text_at(span.clone(), kind.clone())));
        }
    }

    fn harness_keys_without_effect(&mut self, entry: &Entry) {
        let entries = entry.value.map().unwrap_or_default();
        for one in entries.iter().filter(|one| ai::is_harness_key(&one.key)) {
            let problem = Problem::new("W0211", one.key_span.clone(), format!("`{}` has no effect", one.key))
                .label("the agent runs its own command");
            self.found().push(problem);
        }
    }

    fn report_missing_agent(&mut self, entry: &Entry) {
        // An invalid `agent` of the file was already reported.
        if self.run_names_agent {
            return;
        }
        self.found().push(
            Problem::new("E0106", entry.key_span.clone(), "an `agent` check needs `agent`")
                .label("`agent` is missing")
                .help("add `agent` here, or at the top level of the file"),
        );
    }
}

/// The template of the instructions followed by the prompt. Only the prompt can insert values.
pub(crate) fn with_instructions(instructions: &str, prompt: &str) -> Option<Text> {
    let source = if instructions.is_empty() {
        prompt.to_owned()
    } else {
        format!("{}\n\n{prompt}", verbatim(instructions))
    };
    Template::parse(&source).ok().map(|template| Text::new(&source, template))
}

/// A template that renders to exactly this text.
fn verbatim(text: &str) -> String {
    let mut source = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('{', Some('{' | '%' | '#')) => source.push_str("{{ \"{\" }}"),
            _ => source.push(character),
        }
    }
    source
}
