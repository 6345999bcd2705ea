//! How much an evaluation may use before it is stopped.
//!
//! **Invariant:** a charge comes before the work or the allocation it pays for, so that a refused charge
//! means nothing was done.

/// The limits of one evaluation. Exceeding any of them is a fault of kind `Budget`, which no `catch` sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Sub-expressions evaluated, and items or bytes walked by built-in functions.
    pub steps: u64,
    /// Bytes allocated over the whole evaluation, whether or not they are still in use.
    pub memory_bytes: u64,
    /// How deep sub-expressions and calls may nest. Above `DEPTH_MAX` it counts as `DEPTH_MAX`.
    pub depth: u32,
}

impl Budget {
    /// Fits the smallest stack an evaluation may run on (2 MiB, unoptimised) with a margin.
    pub const DEPTH_MAX: u32 = 400;

    /// Small enough to evaluate constants while a playbook is checked.
    pub(crate) const CONSTANT: Budget = Budget { steps: 10_000, memory_bytes: 1 << 20, depth: 200 };
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { steps: 150_000, memory_bytes: 16 << 20, depth: Budget::DEPTH_MAX }
    }
}
