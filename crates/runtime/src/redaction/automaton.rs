//! Finds many patterns in one pass over bytes that come in pieces (Aho and Corasick, 1975).
//!
//! Written here because the state must tell its depth: the number of bytes behind the cursor that may still
//! become a match. That many are held back, and no more, so output is shown as it comes. The crates for this
//! search keep the depth to themselves.

/// A state, and the place of a node.
pub(super) type State = u32;

pub(super) const START: State = 0;

#[derive(Debug)]
pub(super) struct Automaton {
    nodes: Vec<Node>,
    /// The children of the root, by byte; most bytes of most output lead nowhere.
    first: Box<[State; 256]>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    byte: u8,
    child: State,
    sibling: State,
    /// The node of the longest proper suffix that is a prefix of some pattern.
    fallback: State,
    depth: u32,
    /// The length of the longest pattern that ends here, or 0.
    longest: u32,
}

impl Automaton {
    pub(super) fn of<'a>(patterns: impl IntoIterator<Item = &'a Vec<u8>>) -> Automaton {
        let root = Node { byte: 0, child: START, sibling: START, fallback: START, depth: 0, longest: 0 };
        let mut automaton = Automaton { nodes: vec![root], first: Box::new([START; 256]) };
        for pattern in patterns {
            automaton.insert(pattern);
        }
        automaton.link();
        automaton
    }

    fn insert(&mut self, pattern: &[u8]) {
        let mut at = START;
        for (depth, byte) in (1..).zip(pattern) {
            at = match self.child(at, *byte) {
                Some(child) => child,
                None => {
                    let new = State::try_from(self.nodes.len()).expect("patterns are bounded far below this");
                    let sibling = self.node(at).child;
                    let node =
                        Node { byte: *byte, child: START, sibling, fallback: START, depth, longest: 0 };
                    self.nodes.push(node);
                    self.nodes[at as usize].child = new;
                    if at == START {
                        self.first[usize::from(*byte)] = new;
                    }
                    new
                }
            };
        }
        self.nodes[at as usize].longest = self.node(at).depth;
    }

    /// Sets the fallbacks, level by level, so that those of shorter prefixes are there.
    fn link(&mut self) {
        let mut level: Vec<State> = self.children(START).collect();
        while !level.is_empty() {
            let mut next = Vec::new();
            for parent in level {
                for child in self.children(parent).collect::<Vec<_>>() {
                    let node = *self.node(child);
                    let fallback = self.step(self.node(parent).fallback, node.byte);
                    let longest = node.longest.max(self.node(fallback).longest);
                    self.nodes[child as usize] = Node { fallback, longest, ..node };
                    next.push(child);
                }
            }
            level = next;
        }
    }

    /// The state after one more byte.
    pub(super) fn step(&self, mut state: State, byte: u8) -> State {
        loop {
            if state == START {
                return self.first[usize::from(byte)];
            }
            if let Some(child) = self.child(state, byte) {
                return child;
            }
            state = self.node(state).fallback;
        }
    }

    /// How many bytes behind the cursor may still become a match.
    pub(super) fn depth(&self, mut state: State) -> usize {
        // A node without children can only continue through its fallback.
        while self.node(state).child == START && state != START {
            state = self.node(state).fallback;
        }
        self.node(state).depth as usize
    }

    /// How many bytes behind the cursor are the beginning of some pattern.
    pub(super) fn length(&self, state: State) -> usize {
        self.node(state).depth as usize
    }

    /// The length of the longest match that ends at the cursor, or 0.
    pub(super) fn longest(&self, state: State) -> usize {
        self.node(state).longest as usize
    }

    fn child(&self, parent: State, byte: u8) -> Option<State> {
        self.children(parent).find(|child| self.node(*child).byte == byte)
    }

    fn children(&self, parent: State) -> impl Iterator<Item = State> {
        let present = |state: State| (state != START).then_some(state);
        std::iter::successors(present(self.node(parent).child), move |child| {
            present(self.node(*child).sibling)
        })
    }

    fn node(&self, state: State) -> &Node {
        &self.nodes[state as usize]
    }
}
