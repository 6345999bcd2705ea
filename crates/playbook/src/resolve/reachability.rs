//! Reachability between all pairs of checks.

use super::graph::components;

/// The transitive closure of a graph, with one bit per pair of components: ten thousand checks take 12 MB.
pub(super) struct Reachability {
    component_of: Vec<usize>,
    /// Per component, the components that it reaches; itself only when it contains a cycle.
    reached: Vec<Vec<u64>>,
}

impl Reachability {
    pub(super) fn of(count: usize, successors: impl Fn(usize) -> Vec<usize>) -> Reachability {
        let components = components(count, &successors);
        let mut component_of = vec![0; count];
        for (number, members) in components.iter().enumerate() {
            for member in members {
                component_of[*member] = number;
            }
        }
        let words = components.len().div_ceil(64);
        let mut reached: Vec<Vec<u64>> = Vec::with_capacity(components.len());
        // A component comes after its successors, so their bits are complete.
        for (number, members) in components.iter().enumerate() {
            let mut bits = vec![0; words];
            for next in members.iter().flat_map(|member| successors(*member)).map(|next| component_of[next]) {
                bits[next / 64] |= 1 << (next % 64);
                if next != number {
                    for (bit, beyond) in bits.iter_mut().zip(&reached[next]) {
                        *bit |= *beyond;
                    }
                }
            }
            reached.push(bits);
        }
        Reachability { component_of, reached }
    }

    /// Whether a path of at least one step leads from one to the other.
    pub(super) fn reaches(&self, from: usize, to: usize) -> bool {
        let to = self.component_of[to];
        self.reached[self.component_of[from]][to / 64] & (1 << (to % 64)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_through_chains_and_cycles() {
        // 0 → 1 → 2 ⇄ 3, 4 alone, 5 → 5
        let next = [vec![1], vec![2], vec![3], vec![2], vec![], vec![5]];
        let reach = Reachability::of(next.len(), |index| next[index].clone());
        for (from, to, expected) in [
            (0, 3, true),
            (3, 0, false),
            (2, 2, true),
            (0, 0, false),
            (4, 0, false),
            (5, 5, true),
            (1, 1, false),
        ] {
            assert_eq!(reach.reaches(from, to), expected, "{from} to {to}");
        }
    }
}
