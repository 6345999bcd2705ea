//! `agent`: whose profile the run, or one check of it, follows.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use escrow_model::{Check, Field, Home, KeyKind, KeySpec, Mutates, ProviderSpec, Text};
use escrow_template::Template;

use super::Decoder;
use crate::beside::{FoundAgent, ReferenceResolver};
use crate::diagnostic::{Diagnostics, Problem};

use crate::profile::AgentProfile;
use crate::suggest::did_you_mean;
use crate::yaml::{Entry, Node};

/// `type: agent`. Nobody performs it: the profile says who does.
pub const AGENT: ProviderSpec = ProviderSpec {
    name: "agent",
    summary: "gives a task to an agent, as its profile says",
    keys: &[
        KeySpec { name: "agent", kind: KeyKind::Plain, required: false },
        KeySpec { name: "prompt", kind: KeyKind::Text, required: true },
    ],
    mutates: Mutates::Never,
    home: Home::EffectRunner,
    timeout_ms: 30 * 60 * 1000,
};

/// The profiles that were asked for, each once.
pub(super) struct Agents<'t> {
    beside: &'t dyn ReferenceResolver,
    known: BTreeMap<String, Option<Rc<AgentProfile>>>,
    /// `agent` at the top of the file.
    pub(super) of_the_run: Option<Rc<AgentProfile>>,
}

impl<'t> Agents<'t> {
    pub(super) fn of(root: &Node, beside: &'t dyn ReferenceResolver, found: &mut Diagnostics) -> Agents<'t> {
        let mut agents = Agents { beside, known: BTreeMap::new(), of_the_run: None };
        if let Some(node) = root.get("agent")
            && let Some(name) = node.written()
        {
            agents.of_the_run = agents.find(name, node.span.clone(), found);
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
        let profile = match self.beside.agent(name) {
            FoundAgent::Profile(profile) => Some(Rc::from(profile)),
            FoundAgent::Broken { file, diagnostics } => {
                found.push(
                    Problem::new("E0162", span, format!("the profile of `{name}` is not good"))
                        .label(format!("see `{file}`")),
                );
                found.add(&diagnostics);
                None
            }
            FoundAgent::Unknown { known } => {
                found.push(
                    Problem::new("E0161", span, format!("no agent is called `{name}`"))
                        .label("it has no profile")
                        .help(known_agents(name, &known)),
                );
                None
            }
        };
        self.known.insert(name.to_owned(), profile.clone());
        profile
    }
}

/// What to say to somebody who named an agent that there is not.
pub fn known_agents(name: &str, known: &[String]) -> String {
    did_you_mean(name, known.iter().map(String::as_str)).unwrap_or_else(|| {
        if known.is_empty() {
            return format!("write its profile to `.escrow/agents/{name}.md`");
        }
        let listed: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        format!("the agents are {}", listed.join(", "))
    })
}

impl Decoder<'_> {
    /// Makes a check of `type: agent` a check of whoever its profile says. What the profile promises is the
    /// check's own, unless the profile is that of the whole run.
    pub(super) fn follow_profile(&mut self, entry: &Entry, check: &mut Check) -> Option<Rc<AgentProfile>> {
        let own = entry.value.entry("agent");
        let (profile, span) = match own {
            Some(own) => {
                let name = own.value.written()?;
                let span = own.value.span.clone();
                (self.agents.find(name, span.clone(), self.sources.found)?, span)
            }
            None => match &self.agents.of_the_run {
                Some(profile) => (Rc::clone(profile), entry.key_span.clone()),
                None => {
                    self.no_agent(entry);
                    return None;
                }
            },
        };
        let Some(command) = profile.command.clone() else {
            self.found().push(cannot_run(&profile, span.clone()));
            return None;
        };
        check.provider = "command".to_owned();
        let prompt = match check.fields.get("prompt") {
            Some(Field::Text(prompt)) => prompt.source().to_owned(),
            _ => return None,
        };
        let stdin = with_instructions(&profile.instructions, &prompt)?;
        check.fields = [("exec".to_owned(), command), ("stdin".to_owned(), Field::Text(stdin))].into();
        let mut env = profile.env.clone();
        env.extend(std::mem::take(&mut check.env));
        check.env = env;
        if entry.value.entry("timeout").is_none() {
            check.timeout_ms = profile.timeout_ms.unwrap_or(AGENT.timeout_ms);
        }
        check.own_folder = own.is_some();
        if own.is_some() {
            self.profile_kinds(&profile, &span);
        }
        own.map(|_| profile)
    }

    /// The outcome kinds of what a profile promises join the plan, as those of the file do.
    pub(super) fn profile_kinds(&mut self, profile: &AgentProfile, span: &Range<usize>) {
        for kind in profile.artifacts.expected.iter().filter_map(|one| one.kind.as_ref()) {
            self.kind(&Rc::new(Node::text_at(span.clone(), kind.clone())));
        }
    }

    fn no_agent(&mut self, entry: &Entry) {
        // A name that is not good was told where it stands.
        if self.names_an_agent {
            return;
        }
        self.found().push(
            Problem::new("E0106", entry.key_span.clone(), "an `agent` check needs `agent`")
                .label("`agent` is missing")
                .help("name it here, or once for all at the top of the file"),
        );
    }
}

fn cannot_run(profile: &AgentProfile, span: Range<usize>) -> Problem {
    let name = &profile.name;
    let problem = Problem::new("E0163", span, format!("the agent `{name}` cannot be run by this version"))
        .label("its profile has no `command`");
    match &profile.harness {
        Some(harness) => problem.help(format!(
            "this version does not drive the harness `{harness}`; a `command` that starts it does: it reads the prompt from its input"
        )),
        None => problem.help("write `command` into the profile: a program that reads the prompt from its input"),
    }
}

/// The prompt below what the agent is told before every task.
pub(crate) fn with_instructions(instructions: &str, prompt: &str) -> Option<Text> {
    let source = if instructions.is_empty() {
        prompt.to_owned()
    } else {
        format!("{}\n\n{prompt}", verbatim(instructions))
    };
    Template::parse(&source).ok().map(|template| Text::new(&source, template))
}

/// A template that says exactly this.
fn verbatim(text: &str) -> String {
    let mut source = String::with_capacity(text.len());
    let mut messages = text.chars().peekable();
    while let Some(message) = messages.next() {
        match (message, messages.peek()) {
            ('{', Some('{' | '%' | '#')) => source.push_str("{{ \"{\" }}"),
            _ => source.push(message),
        }
    }
    source
}
