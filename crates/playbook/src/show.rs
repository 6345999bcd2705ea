//! Turns the text of a show into a `Plan`: each play is a nested run, with a gate that decides whether its work counts.
//!
//! ```text
//!   play ──▶ play-gate ──┬─ open ───────────────────▶ play-passed ───┐
//!     ▲                  ├─ closed once: feedback ─┐                 ├──▶ plays that depend on it
//!     └──────────────────┼─────────────────────────┘                 │
//!                        └─ closed twice ──▶ play-approval (a person) ┘
//! ```
//!
//! **Invariant:** everything is a check that a playbook could have, so that everything that is true of checks is true of
//! plays. A gate that gives no verdict is closed.

mod plays;

use std::rc::Rc;

use escrow_model::{Plan, PlanKind, ProviderSpec};

use crate::decode::{self, File};
use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::{Entry, Node};
use crate::{Reading, ReferenceResolver, file_kind, resolve, shape};

/// How many plays a show may have.
const PLAYS_MAX: usize = 200;

/// The keys of a show that a playbook has, too.
const SHARED: &[&str] =
    &["name", "title", "inputs", "env", "secrets", "timeout", "max_parallelism", "concurrency"];

/// Reads a show. `file` is the name in diagnostics, and the default name of the show.
pub fn read_show(
    bytes: &[u8],
    file: &str,
    catalog: &[ProviderSpec],
    references: &dyn ReferenceResolver,
) -> Reading {
    crate::read_with(bytes, file, |text, found| {
        plan(text, File { text, name: file, catalog, references }, found)
    })
}

fn plan(text: &str, file: File<'_>, found: &mut Diagnostics) -> Option<Plan> {
    let root = crate::parse(text, "a show needs `plays:` with at least one play", found)?;
    if let Some(problem) = file_kind::not_a_show(&root, file.name) {
        found.push(problem);
        return None;
    }
    if root.map().is_none() {
        found.push(
            Problem::new("E0105", root.span.clone(), "a show must be a map")
                .label(format!("this is {}", root.describe()))
                .help("start with `name:` and `plays:`"),
        );
        return None;
    }
    shape::validate_show(&root, found);
    let plays = root.get("plays").and_then(|plays| plays.map()).unwrap_or_default();
    if let Some(beyond) = plays.get(PLAYS_MAX) {
        found.push(
            Problem::new("E0134", beyond.key_span.clone(), "the show has too many plays")
                .label(format!("the limit is {PLAYS_MAX}"))
                .help("let a playbook do several of them"),
        );
        return None;
    }
    let checks = plays::checks(plays, file.references, found);
    if checks.is_empty() {
        return None;
    }
    for check in &checks {
        shape::validate_check(check, file.catalog, found);
    }
    let mut decoded = decode::decode(&as_playbook(&root, checks), file, found)?;
    decoded.plan.kind = PlanKind::Show;
    Some(resolve::resolve(decoded, text, file.references, found))
}

fn as_playbook(root: &Node, checks: Vec<Entry>) -> Node {
    let own = root.map().unwrap_or_default().iter();
    let mut entries: Vec<Entry> = own.filter(|entry| SHARED.contains(&entry.key.as_str())).cloned().collect();
    let span = root.get("plays").map_or(0..0, |plays| plays.span.clone());
    let checks = Rc::new(Node::map_at(span.clone(), checks));
    entries.push(Entry { key: "checks".to_owned(), key_span: span, value: checks });
    Node::map_at(root.span.clone(), entries)
}
