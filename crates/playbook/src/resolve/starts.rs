//! Who starts by itself, and who waits to be routed to.
//!
//! A check that another one routes to waits, unless one that routes to it depends on it, or it routes to
//! itself. A ring that would then never start starts at its first check in the file that no `on_fail` leads
//! to. `start` overrides.

use super::graph::{Graph, When, components};
use crate::decode::Draft;
use crate::diagnostic::{Diagnostics, Problem};

pub(super) fn resolve(drafts: &mut [Draft], graph: &Graph, found: &mut Diagnostics) {
    let mut starts: Vec<bool> = drafts
        .iter()
        .enumerate()
        .map(|(place, draft)| draft.start.unwrap_or_else(|| by_itself(place, graph)))
        .collect();
    let overridden: Vec<bool> = drafts.iter().map(|draft| draft.start.is_some()).collect();
    let alive = wake_rings(&mut starts, &overridden, graph);
    for (place, draft) in drafts.iter_mut().enumerate() {
        draft.check.starts = starts[place];
    }
    // What a block computes at run time may route anywhere.
    if !graph.dynamic {
        for (place, _) in alive.iter().enumerate().filter(|(_, alive)| !**alive) {
            never_starts(place, drafts, &starts, graph, found);
        }
    }
}

fn by_itself(place: usize, graph: &Graph) -> bool {
    let mut sources = graph.sources(place).peekable();
    if sources.peek().is_none() {
        return true;
    }
    let behind = graph.reach(place, |graph, at| graph.dependents[at].iter().copied());
    sources.any(|route| route.from == place || behind[route.from])
}

/// Starts one check of every ring that nothing else leads into; says who can be reached in the end.
fn wake_rings(starts: &mut [bool], overridden: &[bool], graph: &Graph) -> Vec<bool> {
    loop {
        let alive = reachable(starts, graph);
        let Some(first) = sleeping_ring(starts, overridden, &alive, graph) else { return alive };
        starts[first] = true;
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
        if called && graph.needs[place].iter().all(|need| alive[*need]) {
            alive[place] = true;
            open.extend(graph.targets(place));
            open.extend(graph.dependents[place].iter().copied());
        }
    }
    alive
}

/// The check at which the first ring that sleeps may start.
fn sleeping_ring(starts: &[bool], overridden: &[bool], alive: &[bool], graph: &Graph) -> Option<usize> {
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
        .flat_map(|(_, ring)| ring)
        .copied()
        .filter(|place| !alive[*place] && !starts[*place] && !overridden[*place])
        .filter(|place| graph.sources(*place).all(|route| route.when != When::Fail))
        .min()
}

fn never_starts(place: usize, drafts: &[Draft], starts: &[bool], graph: &Graph, found: &mut Diagnostics) {
    let draft = &drafts[place];
    let label = if draft.start == Some(false) && graph.routes_to[place].is_empty() {
        "`start: false`, and nothing routes to it".to_owned()
    } else if let Some(need) =
        graph.needs[place].iter().find(|need| !starts[**need]).filter(|_| starts[place])
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
