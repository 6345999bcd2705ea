//! The items that each check runs for.
//!
//! A check's fan is the chain of `forEach` checks whose items it steps through. It maps when it directly
//! depends on a `forEach` check, and reduces otherwise: one level up from its deepest dependency.

use escrow_model::{CheckIndex, Fan};

use super::graph::{Graph, When};
use crate::decode::{Draft, Fanout};
use crate::diagnostic::{Diagnostics, Problem};

/// How deep `forEach` may nest.
const FAN_DEPTH_MAX: usize = 16;

/// `order` has each check behind what it depends on.
pub(super) fn resolve(drafts: &mut [Draft], graph: &Graph, order: &[usize], found: &mut Diagnostics) {
    let mut fans: Vec<Option<Fan>> = vec![None; drafts.len()];
    // What is routed to takes its fan from its sources, which may depend on it again. Fans only shrink from
    // one round to the next, so this ends; almost always in the second round.
    for _ in 0..=drafts.len() {
        let before = fans.clone();
        for place in order {
            fans[*place] = fan_of(*place, drafts, graph, &fans).or_else(|| before[*place].clone());
        }
        if fans == before {
            break;
        }
    }
    let fans: Vec<Fan> = fans.into_iter().map(Option::unwrap_or_default).collect();
    for place in order {
        check_one_line(*place, drafts, graph, &fans, found);
        check_fanout(*place, drafts, graph, &fans, found);
    }
    for (draft, fan) in drafts.iter_mut().zip(fans) {
        draft.check.fan = fan;
    }
}

fn fan_of(place: usize, drafts: &[Draft], graph: &Graph, fans: &[Option<Fan>]) -> Option<Fan> {
    let draft = &drafts[place];
    let needs = &graph.needs[place];
    if needs.is_empty() {
        return if draft.check.starts { Some(Fan::new()) } else { routed_fan(place, draft, graph, fans) };
    }
    let known = |need: &usize| fans[*need].clone().unwrap_or_default();
    let parents: Vec<usize> = needs.iter().copied().filter(|need| drafts[*need].check.for_each).collect();
    // Of several equally deep ones the first, so that messages speak in the order of the file.
    let deepest = |fans: Vec<Fan>| fans.into_iter().rev().max_by_key(Vec::len).unwrap_or_default();
    match (draft.fanout, parents.is_empty()) {
        (Some(Fanout::Map) | None, false) => {
            Some(deepest(parents.iter().map(|parent| item_fan(*parent, known(parent))).collect()))
        }
        (Some(Fanout::Map), true) => Some(deepest(needs.iter().map(known).collect())),
        (Some(Fanout::Reduce), false) => {
            let own = deepest(parents.iter().map(known).collect());
            Some(common_prefix(parents.iter().map(known).chain([own])))
                .map(|shared| lift_onto_line(shared, needs.iter().map(known)))
        }
        (Some(Fanout::Reduce) | None, true) => {
            let mut above = deepest(needs.iter().map(known).collect());
            above.pop();
            Some(lift_onto_line(above, needs.iter().map(known)))
        }
    }
}

/// The longest beginning of a fan that is on one line with all of these.
fn lift_onto_line(mut fan: Fan, others: impl Iterator<Item = Fan>) -> Fan {
    for other in others {
        let shared = fan.iter().zip(&other).take_while(|(a, b)| a == b).count();
        if shared < fan.len().min(other.len()) {
            fan.truncate(shared);
        }
    }
    fan
}

/// A check that waits to be routed to runs where all that route to it run.
fn routed_fan(place: usize, draft: &Draft, graph: &Graph, fans: &[Option<Fan>]) -> Option<Fan> {
    // A `forEach` check routes from its own scope, whichever block the route stands in: its items belong to
    // the checks that map over it.
    let sources: Vec<Fan> = graph
        .sources(place)
        .filter(|route| route.from != place)
        .filter_map(|route| match route.when {
            When::Success | When::Fail | When::Finish => fans[route.from].clone(),
        })
        .collect();
    if sources.is_empty() {
        return None;
    }
    let mut shared = common_prefix(sources.into_iter());
    if draft.fanout == Some(Fanout::Reduce) {
        shared.pop();
    }
    Some(shared)
}

fn item_fan(parent: usize, mut fan: Fan) -> Fan {
    // One more than is allowed is enough to be refused for.
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

/// `fanout` says how to meet the items of others, and there may be none.
fn check_fanout(place: usize, drafts: &[Draft], graph: &Graph, fans: &[Fan], found: &mut Diagnostics) {
    let draft = &drafts[place];
    let meets_items = || {
        let of_needs =
            graph.needs[place].iter().any(|need| drafts[*need].check.for_each || !fans[*need].is_empty());
        of_needs || graph.sources(place).any(|route| !fans[route.from].is_empty())
    };
    let useless = match draft.fanout {
        None => false,
        Some(Fanout::Map) => fans[place].is_empty(),
        Some(Fanout::Reduce) => !meets_items(),
    };
    if useless {
        found.push(
            Problem::new("W0211", draft.span_of("fanout"), "`fanout` has no effect")
                .label("no `forEach` check stands before this one")
                .help("remove it, or depend on a check with `forEach: true`"),
        );
    }
}

/// Every dependency must lie on the way to the check's own items, or beyond them.
fn check_one_line(place: usize, drafts: &[Draft], graph: &Graph, fans: &[Fan], found: &mut Diagnostics) {
    let draft = &drafts[place];
    let fan = &fans[place];
    if fan.len() > FAN_DEPTH_MAX {
        // What lies deeper still says nothing new.
        if graph.needs[place].iter().any(|need| fans[*need].len() > FAN_DEPTH_MAX) {
            return;
        }
        found.push(
            Problem::new("E0134", draft.entry.key_span.clone(), "items are nested too deeply")
                .label(format!("`forEach` in `forEach`, more than {FAN_DEPTH_MAX} levels")),
        );
        return;
    }
    let reduces = draft.fanout == Some(Fanout::Reduce);
    for need in &graph.needs[place] {
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
                    "items of `{}` and items of `{}` do not belong together",
                    name(fan.get(split)),
                    name(other.get(split))
                ))
                .help("write `fanout: reduce` to run once over all of them, or reduce one of the two in a check before this one"),
        );
        return;
    }
}
