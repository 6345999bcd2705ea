//! Who starts by itself, and who waits to be routed to.
//!
//! A check that another one routes to waits, unless one that routes to it depends on it, or it routes to
//! itself. A ring that would then never start starts at its first check in the file that no `on_fail` leads
//! to. `start` overrides.

use super::graph::{Graph, When, components};
use super::reach::Reach;
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

/// Resolves who starts, and says who can be reached from there.
pub(super) fn resolve(drafts: &mut [Draft], graph: &Graph) -> Vec<bool> {
    let behind = Reach::of(graph.count(), |place| graph.dependents[place].clone());
    let mut starts: Vec<bool> = drafts
        .iter()
        .enumerate()
        .map(|(place, draft)| draft.start.unwrap_or_else(|| by_itself(place, graph, &behind)))
        .collect();
    let overridden: Vec<bool> = drafts.iter().map(|draft| draft.start.is_some()).collect();
    let alive = wake_rings(&mut starts, &overridden, graph);
    for (place, draft) in drafts.iter_mut().enumerate() {
        draft.check.starts = starts[place];
    }
    alive
}

/// Warns of checks that nothing leads to.
pub(super) fn check(drafts: &[Draft], graph: &Graph, alive: &[bool], found: &mut Diagnostics) {
    // What a block computes at run time may route anywhere.
    if graph.dynamic {
        return;
    }
    for (place, _) in alive.iter().enumerate().filter(|(_, alive)| !**alive) {
        never_starts(place, drafts, graph, found);
    }
}

fn by_itself(place: usize, graph: &Graph, behind: &Reach) -> bool {
    let mut sources = graph.sources(place).peekable();
    if sources.peek().is_none() {
        return true;
    }
    sources.any(|route| route.from == place || behind.leads(place, route.from))
}

/// Starts one check of every ring that nothing else leads into; says who can be reached in the end.
fn wake_rings(starts: &mut [bool], overridden: &[bool], graph: &Graph) -> Vec<bool> {
    loop {
        let alive = reachable(starts, graph);
        let firsts = sleeping_rings(starts, overridden, &alive, graph);
        if firsts.is_empty() {
            return alive;
        }
        for first in firsts {
            starts[first] = true;
        }
    }
}

/// A check is reached when it starts or is routed to by one that is reached, and so is what it depends on.
fn reachable(starts: &[bool], graph: &Graph) -> Vec<bool> {
    let mut alive = vec![false; graph.count()];
    let mut open: Vec<usize> = (0..graph.count()).collect();
    while let Some(place) = open.pop() {
        if alive[place] {
            continue;
        }
        let called = starts[place] || graph.sources(place).any(|route| alive[route.from]);
        // A route to its own source satisfies a dependency on it, and that source is then reached already.
        if called && graph.groups[place].iter().all(|group| group.iter().any(|need| alive[*need])) {
            alive[place] = true;
            open.extend(graph.targets(place));
            open.extend(graph.dependents[place].iter().copied());
        }
    }
    alive
}

/// The checks at which the rings that sleep, and that nothing else leads into, may start.
fn sleeping_rings(starts: &[bool], overridden: &[bool], alive: &[bool], graph: &Graph) -> Vec<usize> {
    let leads_to = |place: usize| -> Vec<usize> {
        if alive[place] {
            return Vec::new();
        }
        graph
            .targets(place)
            .chain(graph.dependents[place].iter().copied())
            .filter(|next| !alive[*next])
            .collect()
    };
    let rings = components(graph.count(), leads_to);
    let mut ring_of = vec![0; graph.count()];
    for (number, ring) in rings.iter().enumerate() {
        for place in ring {
            ring_of[*place] = number;
        }
    }
    let mut entered = vec![false; rings.len()];
    for place in 0..graph.count() {
        for next in leads_to(place) {
            entered[ring_of[next]] |= ring_of[next] != ring_of[place];
        }
    }
    rings
        .iter()
        .enumerate()
        .filter(|(number, ring)| ring.len() > 1 && !entered[*number])
        .filter_map(|(_, ring)| {
            ring.iter().copied().find(|place| {
                let waits = !alive[*place] && !starts[*place] && !overridden[*place];
                waits && graph.sources(*place).all(|route| route.when != When::Fail)
            })
        })
        .collect()
}

fn never_starts(place: usize, drafts: &[Draft], graph: &Graph, found: &mut Diagnostics) {
    let starts = |place: usize| drafts[place].check.starts;
    let draft = &drafts[place];
    let label = if draft.start == Some(false) && graph.routes_to[place].is_empty() {
        "`start: false`, and nothing routes to it".to_owned()
    } else if let Some(need) =
        graph.needs[place].iter().find(|need| !starts(**need)).filter(|_| starts(place))
    {
        format!("it depends on `{}`, which only runs when it is routed to", drafts[*need].check.name)
    } else {
        "whatever leads to it never starts either".to_owned()
    };
    found.push(
        Problem::new(
            "W0206",
            draft.entry.key_span.clone(),
            format!("`{}` can never start", draft.check.name),
        )
        .label(label)
        .help("add `start: true` to the check that comes first"),
    );
}
