//! What a program reads, known before it runs.
//!
//! **Invariant:** a program never reads a name of the scope that is not in `names`. A path lists the members that the
//! source names literally; it stops at a computed member and is then marked `computed`.

use std::ops::Range;

/// The static reads and effects of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Every occurrence of a name that only the scope can give.
    pub names: Vec<NameRead>,
    /// Every literally named path that starts at such a name, longest form.
    pub paths: Vec<PathRead>,
    /// Every call of a helper: `any`, `contains`, `isMember`, `memory.get`, …
    pub helpers: Vec<HelperCall>,
    /// Side effects: calls of `log`, writes to memory, and changes to values of the scope, which are named
    /// [`Reads::CHANGE`].
    pub effects: Vec<HelperCall>,
    /// The keys of memory that it writes; `None` for one that is known only at run time.
    pub memory_writes: Vec<Option<String>>,
    /// Calls of functions that a standard object lacks, such as `Math.random`. None of them can succeed.
    pub missing: Vec<HelperCall>,
}

impl Reads {
    /// The name of an effect that is not a call: `output.x = 1`, `n++`, `delete output[key]`. Its span is the
    /// changed member. Changes through a local variable or by a method are not recorded.
    pub const CHANGE: &str = "=";

    /// Whether the name occurs at all. An `assume`, for example, must not use `output`.
    pub fn uses(&self, name: &str) -> bool {
        self.names.iter().any(|read| read.name == name)
    }

    /// Whether evaluation has no side effects.
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
    /// The operand of `typeof`, where a missing name is not an error.
    pub guarded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRead {
    /// `outputs['lint'].x` is `["outputs", "lint", "x"]`. A method that is called at the end is not part of it.
    pub segments: Vec<String>,
    pub span: Range<usize>,
    /// A computed member follows, so any member below the path may be read.
    pub computed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperCall {
    pub name: String,
    pub span: Range<usize>,
}
