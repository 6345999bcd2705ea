//! Columns of nodes, and groups of nodes where there are too many to draw each.

use std::collections::BTreeMap;

/// The column of each node: the longest way to it from a node that depends on nothing. `needs` has the nodes that each
/// depends on; they form no cycle.
pub(in crate::pages) fn columns(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut columns = vec![0usize; needs.len()];
    // This settles after as many rounds as the longest way has steps; two, where nodes stand in their order.
    for _ in 0..needs.len() {
        let mut has_changed = false;
        for (place, before) in needs.iter().enumerate() {
            let column = before.iter().map(|one| columns[*one] + 1).max().unwrap_or(0);
            if column > columns[place] {
                columns[place] = column;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    columns
}

/// Which group each node belongs to, so that there are at most `groups_max`. Nodes that stand between the same others are
/// one group; if those are too many, the nodes of a column; then those of neighbouring columns. Nodes to be `kept` stay
/// alone.
pub(in crate::pages) fn folded(needs: &[Vec<usize>], kept: &[bool], groups_max: usize) -> Vec<usize> {
    let columns = columns(needs);
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (place, before) in needs.iter().enumerate() {
        for one in before {
            dependents[*one].push(place);
        }
    }
    let widest = columns.iter().max().map_or(1, |last| last + 1);
    let alone = |place: usize| kept.get(place) == Some(&true);
    let between: Vec<_> = (0..needs.len())
        .map(|place| {
            (alone(place).then_some(place), columns[place], needs[place].clone(), dependents[place].clone())
        })
        .collect();
    let by_column: Vec<_> =
        (0..needs.len()).map(|place| (alone(place).then_some(place), columns[place])).collect();
    let room = groups_max.saturating_sub(kept.iter().filter(|kept| **kept).count()).max(1);
    let by_span: Vec<_> = (0..needs.len())
        .map(|place| (alone(place).then_some(place), columns[place] * room / widest.max(room)))
        .collect();
    let folded = numbered(&between);
    if count(&folded) <= groups_max {
        return folded;
    }
    let folded = numbered(&by_column);
    if count(&folded) <= groups_max { folded } else { numbered(&by_span) }
}

fn count(groups: &[usize]) -> usize {
    groups.iter().max().map_or(0, |last| last + 1)
}

/// The number of each key, in the order in which keys first come.
fn numbered<K: Ord + Clone>(keys: &[K]) -> Vec<usize> {
    let mut numbers: BTreeMap<K, usize> = BTreeMap::new();
    keys.iter()
        .map(|key| {
            let next = numbers.len();
            *numbers.entry(key.clone()).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fan_out_folds_into_one_group_and_keeps_what_failed() {
        // 0 ─▶ 1..=300 ─▶ 301, where 7 failed.
        let mut needs: Vec<Vec<usize>> = vec![Vec::new()];
        needs.extend((1..=300).map(|_| vec![0]));
        needs.push((1..=300).collect());
        let mut kept = vec![false; needs.len()];
        kept[7] = true;
        let groups = folded(&needs, &kept, 150);
        assert_eq!(count(&groups), 4);
        assert_eq!((groups[1], groups[300]), (1, 1));
        assert_ne!(groups[7], groups[1]);
    }

    #[test]
    fn however_long_a_row_is_there_are_few_groups() {
        for number in [151, 1_000, 2_000] {
            let needs: Vec<Vec<usize>> =
                (0..number).map(|place: usize| place.checked_sub(1).into_iter().collect()).collect();
            let groups = folded(&needs, &vec![false; number], 150);
            assert!(count(&groups) <= 150, "{number}: {}", count(&groups));
        }
    }
}
