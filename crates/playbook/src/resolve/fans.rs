//! Derives the fan of each check: the chain of `forEach` checks for whose items it runs.
//!
//! A check maps when it directly depends on a `forEach` check. Otherwise it reduces, one level above its deepest
//! dependency. A check that waits to be routed to, and whose dependencies are outside every fan-out, does the same with
//! the checks that route to it: it reduces unless it says `fanout: map`.

use escrow_model::{CheckIndex, Fan};

use super::graph::{Graph, When};
use crate::decode::{Draft, Fanout};
use crate::diagnostic::{Diagnostics, Problem};

/// The limit on nested `forEach` checks.
const FAN_DEPTH_MAX: usize = 16;

/// `order` lists each check after its dependencies.
pub(super) fn resolve(drafts: &mut [Draft], graph: &Graph, order: &[usize], found: &mut Diagnostics) {
    let mut fans: Vec<Option<Fan>> = vec![None; drafts.len()];
    // A check that is routed to takes its fan from its sources, which may depend on it. Fans only shrink between
    // rounds, so the iteration terminates, usually in the second round.
    for _ in 0..=drafts.len() {
        let before = fans.clone();
        for index in order {
            fans[*index] = fan_of(*index, drafts, graph, &fans).or_else(|| before[*index].clone());
        }
        if fans == before {
            break;
        }
    }
    let fans: Vec<Fan> = fans.into_iter().map(Option::unwrap_or_default).collect();
    for index in order {
        check_single_chain(*index, drafts, graph, &fans, found);
        check_fanout(*index, drafts, graph, &fans, found);
    }
    for (draft, fan) in drafts.iter_mut().zip(fans) {
        draft.check.fan = fan;
    }
}

fn fan_of(index: usize, drafts: &[Draft], graph: &Graph, fans: &[Option<Fan>]) -> Option<Fan> {
    let draft = &drafts[index];
    let needs = &graph.needs[index];
    let known = |need: &usize| fans[*need].clone().unwrap_or_default();
    let parents: Vec<usize> = needs.iter().copied().filter(|need| drafts[*need].check.for_each).collect();
    if parents.is_empty() && needs.iter().all(|need| known(need).is_empty()) {
        return if draft.check.starts { Some(Fan::new()) } else { routed_fan(index, draft, graph, fans) };
    }
    // Of several equally deep fans the first, so that messages follow the order of the file.
    let deepest = |fans: Vec<Fan>| fans.into_iter().rev().max_by_key(Vec::len).unwrap_or_default();
    match (draft.fanout, parents.is_empty()) {
        (Some(Fanout::Map) | None, false) => {
            Some(deepest(parents.iter().map(|parent| item_fan(*parent, known(parent))).collect()))
        }
        (Some(Fanout::Map), true) => Some(deepest(needs.iter().map(known).collect())),
        (Some(Fanout::Reduce), false) => {
            let own = deepest(parents.iter().map(known).collect());
            Some(common_prefix(parents.iter().map(known).chain([own])))
                .map(|shared| truncate_to_shared_chain(shared, needs.iter().map(known)))
        }
        (Some(Fanout::Reduce) | None, true) => {
            let mut above = deepest(needs.iter().map(known).collect());
            above.pop();
            Some(truncate_to_shared_chain(above, needs.iter().map(known)))
        }
    }
}

/// The longest prefix of a fan that forms a single chain with all others.
fn truncate_to_shared_chain(mut fan: Fan, others: impl Iterator<Item = Fan>) -> Fan {
    for other in others {
        let shared = fan.iter().zip(&other).take_while(|(a, b)| a == b).count();
        if shared < fan.len().min(other.len()) {
            fan.truncate(shared);
        }
    }
    fan
}

/// The fan of a check that starts only by routes: with `fanout: map` the common prefix of its sources, otherwise one
/// level above it.
fn routed_fan(index: usize, draft: &Draft, graph: &Graph, fans: &[Option<Fan>]) -> Option<Fan> {
    // A `forEach` check routes from its own scope in every block: its items belong to the checks that map over it.
    let sources: Vec<Fan> = graph
        .sources(index)
        .filter(|route| route.from != index)
        .filter_map(|route| match route.when {
            When::Success | When::Fail | When::Finish => fans[route.from].clone(),
        })
        .collect();
    if sources.is_empty() {
        return None;
    }
    let mut shared = common_prefix(sources.into_iter());
    match draft.fanout {
        Some(Fanout::Map) => {}
        Some(Fanout::Reduce) | None => drop(shared.pop()),
    }
    Some(shared)
}

fn item_fan(parent: usize, mut fan: Fan) -> Fan {
    // One level above the limit is enough to report it.
    if fan.len() <= FAN_DEPTH_MAX {
        fan.push(CheckIndex::at(parent));
    }
    fan
}

fn common_prefix(fans: impl Iterator<Item = Fan>) -> Fan {
    fans.reduce(|shared, fan| {
        let length = shared.iter().zip(&fan).take_while(|(a, b)| a == b).count();
        shared[..length].to_vec()
    })
    .unwrap_or_default()
}

/// Reports `fanout` on a check that no fan-out reaches.
fn check_fanout(index: usize, drafts: &[Draft], graph: &Graph, fans: &[Fan], found: &mut Diagnostics) {
    let draft = &drafts[index];
    let is_behind_items = || {
        let of_needs =
            graph.needs[index].iter().any(|need| drafts[*need].check.for_each || !fans[*need].is_empty());
        of_needs || graph.sources(index).any(|route| !fans[route.from].is_empty())
    };
    let useless = match draft.fanout {
        None => false,
        Some(Fanout::Map) => fans[index].is_empty(),
        Some(Fanout::Reduce) => !is_behind_items(),
    };
    if useless {
        found.push(
            Problem::new("W0211", draft.span_of("fanout"), "`fanout` has no effect")
                .label("no `forEach` check precedes this one")
                .help("remove it, or depend on a check with `forEach: true`"),
        );
    }
}

/// Reports dependencies whose fan is neither a prefix nor an extension of the check's fan.
fn check_single_chain(index: usize, drafts: &[Draft], graph: &Graph, fans: &[Fan], found: &mut Diagnostics) {
    let draft = &drafts[index];
    let fan = &fans[index];
    if fan.len() > FAN_DEPTH_MAX {
        // The first check beyond the limit has been reported.
        if graph.needs[index].iter().any(|need| fans[*need].len() > FAN_DEPTH_MAX) {
            return;
        }
        found.push(
            Problem::new("E0134", draft.entry.key_span.clone(), "`forEach` is nested too deeply")
                .label(format!("more than {FAN_DEPTH_MAX} nested `forEach` checks")),
        );
        return;
    }
    let reduces = draft.fanout == Some(Fanout::Reduce);
    for need in &graph.needs[index] {
        let maps_over = drafts[*need].check.for_each && !reduces;
        let other = if maps_over { item_fan(*need, fans[*need].clone()) } else { fans[*need].clone() };
        if other.starts_with(fan) || fan.starts_with(&other) {
            continue;
        }
        let name = |index: Option<&CheckIndex>| {
            index.map(|index| drafts[index.place()].check.name.clone()).unwrap_or_default()
        };
        let split = fan.iter().zip(&other).take_while(|(a, b)| a == b).count();
        found.push(
            Problem::new("E0123", draft.span_of("depends_on"), format!("`{}` joins two fan-outs", draft.check.name))
                .label(format!(
                    "items of `{}` do not correspond to items of `{}`",
                    name(fan.get(split)),
                    name(other.get(split))
                ))
                .help("write `fanout: reduce` to run once for all items, or reduce one of the two in an earlier check"),
        );
        return;
    }
}
