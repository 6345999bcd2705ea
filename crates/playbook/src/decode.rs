//! Decodes the YAML tree into a plan with one `Draft` per check: what the file states, before anything is derived.
//!
//!   Node ──decode──▶ Draft per check ──resolve──▶ Plan
//!
//! **Invariant:** `shape` has already reported every malformed value, so the decoder skips them silently.

mod agents;
pub(crate) mod ai;
mod approval;
pub(crate) mod artifacts;
mod check;
mod fields;
mod file;
mod inputs;
mod kinds;
mod names;
mod prompt;
mod reconcile;
mod routing;
mod sandbox;
mod schema;
mod secrets;
mod shell;

use std::rc::Rc;

use escrow_model::{Check, Criticality, ExpectedArtifact, Plan, ProviderSpec, Sandbox};

use indexmap::IndexMap;
use serde_json::Value;

use crate::ReferenceResolver;
use crate::diagnostic::Diagnostics;
use crate::source::{Sources, Use};
use crate::yaml::{Entry, Node};

pub use agents::suggest_agent;
pub use ai::{AGENT_PROVIDER, AI_PROVIDER, HARNESS_NAMES};
pub(crate) use file::decode;
pub(crate) use kinds::is_layout;
pub(crate) use secrets::declared_secrets;

/// A plan without checks, a draft per check, and every expression and template of the file.
pub(crate) struct Decoded {
    pub(crate) plan: Plan,
    pub(crate) drafts: Vec<Draft>,
    pub(crate) uses: Vec<Use>,
}

/// A check as the file states it, before `resolve` derives the rest.
pub(crate) struct Draft {
    pub(crate) check: Check,
    /// Its entry in the file.
    pub(crate) entry: Entry,
    pub(crate) provider: ProviderSpec,
    pub(crate) fanout: Option<Fanout>,
    pub(crate) start: Option<bool>,
    pub(crate) criticality: Option<Criticality>,
    pub(crate) critical: Option<bool>,
    pub(crate) retry_max: Option<u32>,
    /// The artifacts that its agent profile expects.
    pub(crate) profile_artifacts: Vec<ExpectedArtifact>,
}

impl Draft {
    /// The span of a key, or of the check's name when the key is absent.
    pub(crate) fn span_of(&self, key: &str) -> std::ops::Range<usize> {
        self.entry
            .value
            .entry(key)
            .map_or_else(|| self.entry.key_span.clone(), |entry| entry.key_span.clone())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fanout {
    Map,
    Reduce,
}

/// The file to decode, with its provider catalog and references.
#[derive(Clone, Copy)]
pub(crate) struct File<'t> {
    pub(crate) text: &'t str,
    pub(crate) name: &'t str,
    pub(crate) catalog: &'t [ProviderSpec],
    pub(crate) references: &'t dyn ReferenceResolver,
}

/// The state of decoding one file.
struct Decoder<'t> {
    sources: Sources<'t>,
    catalog: &'t [ProviderSpec],
    names: names::Names,
    secrets: secrets::Secrets,
    agents: agents::Agents<'t>,
    /// The file has `agent` at its top level, valid or not.
    run_names_agent: bool,
    /// The `sandbox` of the whole playbook.
    sandbox: Option<Sandbox>,
    references: &'t dyn ReferenceResolver,
    /// The custom outcome kinds that the file has named so far.
    kinds: IndexMap<String, Value>,
    /// The variables of the playbook's `env` whose values come from templates.
    variables: Vec<String>,
}

impl Decoder<'_> {
    fn found(&mut self) -> &mut Diagnostics {
        self.sources.found
    }
}

/// The items of a list. A single value counts as a list of one.
fn items(node: &Rc<Node>) -> &[Rc<Node>] {
    node.list().unwrap_or(std::slice::from_ref(node))
}

fn texts(node: Option<&Rc<Node>>) -> Vec<String> {
    node.map(items).unwrap_or_default().iter().filter_map(|item| item.string()).map(str::to_owned).collect()
}

/// A whole number. `shape` has already checked its range.
fn count(node: Option<&Rc<Node>>) -> Option<u32> {
    node?.number()?.as_u64().and_then(|value| u32::try_from(value).ok())
}
