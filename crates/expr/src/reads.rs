//! What a program reads, known before it runs.
//!
//! **Invariant:** a name that is not in `names` cannot be read, whatever the values are. Paths are what the
//! text names literally; where it computes a member, the path stops and says so.

use std::ops::Range;

/// The static knowledge of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Every occurrence of a name that only the scope can give.
    pub names: Vec<NameRead>,
    /// Every literally named path that starts at such a name, longest form.
    pub paths: Vec<PathRead>,
    /// Every call of a helper: `any`, `contains`, `isMember`, `memory.get`, …
    pub helpers: Vec<HelperCall>,
    /// Calls of `log`, writes to memory, and changes to what the scope gives, with [`Reads::CHANGE`] for a
    /// name: what a program does besides giving a value.
    pub effects: Vec<HelperCall>,
    /// Calls of what a standard object does not have, as `Math.random`: none can ever succeed.
    pub missing: Vec<HelperCall>,
}

impl Reads {
    /// The name of an effect that is no call: `output.x = 1`, `n++`, `delete output[key]`. Its span is the
    /// place that changes. A change through a local variable is not seen here, nor is one by a method.
    pub const CHANGE: &str = "=";

    /// Whether the name occurs at all: `reads.uses("output")` is what an `assume` must answer no to.
    pub fn uses(&self, name: &str) -> bool {
        self.names.iter().any(|read| read.name == name)
    }

    /// Whether evaluating does nothing but give a value.
    pub fn is_pure(&self) -> bool {
        self.effects.is_empty()
    }

    /// Whether the value cannot depend on the scope.
    pub fn is_constant(&self) -> bool {
        self.names.is_empty()
            && self.helpers.iter().all(|call| {
                !matches!(
                    call.name.as_str(),
                    "isOwner"
                        | "isMember"
                        | "isCollaborator"
                        | "isContributor"
                        | "isFirstTimer"
                        | "hasMinPermission"
                        | "wave"
                ) && !call.name.starts_with("memory")
            })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameRead {
    pub name: String,
    pub span: Range<usize>,
    /// It stands behind `typeof`, where a missing name is no error.
    pub guarded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRead {
    /// `outputs['lint'].x` is `["outputs", "lint", "x"]`. A method that is called at the end is not part of it.
    pub segments: Vec<String>,
    pub span: Range<usize>,
    /// A computed member follows, so anything below the path may be read.
    pub computed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperCall {
    pub name: String,
    pub span: Range<usize>,
}
