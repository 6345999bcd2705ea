//! The tree of a file as a plan whose checks know what was written, and not yet what follows from it.
//!
//!   Node ──decode──▶ Draft per check ──resolve──▶ Plan
//!
//! **Invariant:** shapes were judged before. What does not have its shape is passed over in silence.

mod agents;
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
mod schema;
mod secrets;

use std::rc::Rc;

use escrow_model::{Check, Criticality, ExpectedArtifact, Plan, ProviderSpec};

use indexmap::IndexMap;
use serde_json::Value;

use crate::ReferenceResolver;
use crate::diagnostic::Diagnostics;
use crate::source::{Sources, Use};
use crate::yaml::{Entry, Node};

pub use agents::{AGENT, known_agents};
pub(crate) use file::decode;
pub(crate) use kinds::is_layout;
pub(crate) use secrets::declared_in;

/// A plan without its checks, the checks beside what was written about them, and every source.
pub(crate) struct Decoded {
    pub(crate) plan: Plan,
    pub(crate) drafts: Vec<Draft>,
    pub(crate) uses: Vec<Use>,
}

/// A check as far as its own lines say.
pub(crate) struct Draft {
    pub(crate) check: Check,
    /// Where it stands.
    pub(crate) entry: Entry,
    pub(crate) provider: ProviderSpec,
    pub(crate) fanout: Option<Fanout>,
    pub(crate) start: Option<bool>,
    pub(crate) criticality: Option<Criticality>,
    pub(crate) critical: Option<bool>,
    pub(crate) retry_max: Option<u32>,
    /// What its own agent promises.
    pub(crate) promises: Vec<ExpectedArtifact>,
}

impl Draft {
    /// Where a key of it stands, or its name when it lacks the key.
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

/// The file that is decoded, and what there is around it.
#[derive(Clone, Copy)]
pub(crate) struct File<'t> {
    pub(crate) text: &'t str,
    pub(crate) name: &'t str,
    pub(crate) catalog: &'t [ProviderSpec],
    pub(crate) beside: &'t dyn ReferenceResolver,
}

/// What decoding needs at hand.
struct Decoder<'t> {
    sources: Sources<'t>,
    catalog: &'t [ProviderSpec],
    names: names::Names,
    secrets: secrets::Secrets,
    agents: agents::Agents<'t>,
    /// `agent` stands at the top of the file.
    names_an_agent: bool,
    beside: &'t dyn ReferenceResolver,
    /// Own outcome kinds that were named so far.
    kinds: IndexMap<String, Value>,
}

impl Decoder<'_> {
    fn found(&mut self) -> &mut Diagnostics {
        self.sources.found
    }
}

/// The items of a list, or the one that stands for a list of one.
fn items(node: &Rc<Node>) -> &[Rc<Node>] {
    node.list().unwrap_or(std::slice::from_ref(node))
}

fn texts(node: Option<&Rc<Node>>) -> Vec<String> {
    node.map(items).unwrap_or_default().iter().filter_map(|item| item.string()).map(str::to_owned).collect()
}

/// A whole number that fits, as the shapes made sure.
fn count(node: Option<&Rc<Node>>) -> Option<u32> {
    node?.number()?.as_u64().and_then(|value| u32::try_from(value).ok())
}
