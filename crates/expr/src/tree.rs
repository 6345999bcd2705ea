//! The parsed program: every node in one arena, referred to by number.
//!
//! **Invariant:** no node nests deeper than `NESTING_MAX` levels of the tree, so a walk may recurse. Dropping a tree
//! does not recurse.

use crate::builtins::Builtin;
use crate::pattern::Pattern as Regex;
use crate::span::Span;

/// How deep a tree may nest, left-deep chains like `a.b.c` and `1 + 1 + 1` included.
pub(crate) const NESTING_MAX: u16 = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) u32);
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementId(pub(crate) u32);
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetId(pub(crate) u32);
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionId(pub(crate) u32);
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NameId(pub(crate) u32);
/// The index of a local variable in the frame of its function.
pub(crate) type Slot = u32;

#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) spans: Vec<Span>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) targets: Vec<Target>,
    pub(crate) functions: Vec<Function>,
    pub(crate) regexes: Vec<Regex>,
    pub(crate) names: Vec<Box<str>>,
}

impl Tree {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn span(&self, id: NodeId) -> Span {
        self.spans[id.0 as usize]
    }

    pub(crate) fn statement(&self, id: StatementId) -> &Statement {
        &self.statements[id.0 as usize]
    }

    pub(crate) fn target(&self, id: TargetId) -> &Target {
        &self.targets[id.0 as usize]
    }

    pub(crate) fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    pub(crate) fn name(&self, id: NameId) -> &str {
        &self.names[id.0 as usize]
    }
}

#[derive(Debug)]
pub(crate) enum Node {
    Number(f64),
    Text(Box<str>),
    Bool(bool),
    Null,
    Undefined,
    Template {
        chunks: Box<[Box<str>]>,
        holes: Box<[NodeId]>,
    },
    Regex(u32),
    /// A name before it is resolved; a resolved tree contains none.
    Name(NameId),
    Local(Slot, NameId),
    /// A constant as the target of an assignment, which is an error at run time.
    Constant(NameId),
    /// A name that only the scope can define.
    Free(NameId),
    /// A built-in, which a scope cannot shadow.
    Standard(Builtin),
    Array(Box<[Item]>),
    Object(Box<[Property]>),
    Function(FunctionId),
    Member {
        object: NodeId,
        name: Box<str>,
        optional: bool,
    },
    Index {
        object: NodeId,
        index: NodeId,
        optional: bool,
    },
    Call {
        callee: NodeId,
        arguments: Box<[Item]>,
        optional: bool,
    },
    /// The extent of an optional chain: a nullish link makes the whole chain undefined.
    Chain(NodeId),
    New {
        callee: NodeId,
        arguments: Box<[Item]>,
    },
    Unary(Unary, NodeId),
    Binary(Binary, NodeId, NodeId),
    Logical(Logical, NodeId, NodeId),
    Conditional {
        test: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    Assign {
        target: TargetId,
        value: NodeId,
    },
    Compound {
        operator: Compound,
        target: NodeId,
        value: NodeId,
    },
    Update {
        target: NodeId,
        delta: f64,
        form: UpdateForm,
    },
    Delete(NodeId),
    Sequence(Box<[NodeId]>),
}

/// One element of an array literal or an argument list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    One(NodeId),
    Spread(NodeId),
}

impl Item {
    pub(crate) fn node(self) -> NodeId {
        match self {
            Item::One(node) | Item::Spread(node) => node,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Property {
    Named(Box<str>, NodeId),
    Computed(NodeId, NodeId),
    Spread(NodeId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Minus,
    Plus,
    BitNot,
    Typeof,
    Void,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    LooseEqual,
    LooseNotEqual,
    StrictEqual,
    StrictNotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    ShiftRightZero,
    In,
    InstanceOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logical {
    And,
    Or,
    Nullish,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Compound {
    Arithmetic(Binary),
    Logical(Logical),
}

/// Whether `++` yields the old value (postfix) or the new one (prefix).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateForm {
    Postfix,
    Prefix,
}

/// The target of an assignment: a name, a member, or a destructuring pattern.
#[derive(Debug)]
pub(crate) enum Target {
    Simple(NodeId),
    Default { target: TargetId, value: NodeId },
    Array { items: Box<[Option<TargetId>]>, rest: Option<TargetId> },
    Object { members: Box<[(Key, TargetId)]>, rest: Option<TargetId> },
}

#[derive(Debug)]
pub(crate) enum Key {
    Named(Box<str>),
    Computed(NodeId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declaration {
    Const,
    Let,
    Var,
    Function,
    Parameter,
}

#[derive(Debug)]
pub(crate) enum Statement {
    Empty,
    Expression(NodeId),
    Declare {
        kind: Declaration,
        items: Box<[(TargetId, Option<NodeId>)]>,
    },
    If {
        test: NodeId,
        then: StatementId,
        otherwise: Option<StatementId>,
    },
    For {
        frame: Frame,
        start: Option<StatementId>,
        test: Option<NodeId>,
        update: Option<NodeId>,
        body: StatementId,
    },
    Each {
        frame: Frame,
        kind: EachKind,
        target: TargetId,
        declares: bool,
        subject: NodeId,
        body: StatementId,
    },
    While {
        test: NodeId,
        body: StatementId,
    },
    DoWhile {
        test: NodeId,
        body: StatementId,
    },
    Switch {
        frame: Frame,
        subject: NodeId,
        cases: Box<[Case]>,
    },
    Return(Option<NodeId>),
    Throw(NodeId),
    Try {
        body: StatementId,
        handler: Option<Handler>,
        finalizer: Option<StatementId>,
    },
    Break(Jump),
    Continue(Jump),
    Block {
        frame: Frame,
        body: Box<[StatementId]>,
    },
    Labeled(NameId, StatementId),
}

/// The label and the span of a `break` or a `continue`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    pub(crate) label: Option<NameId>,
    pub(crate) span: Span,
}

/// Whether a loop is `for (… of …)` or `for (… in …)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EachKind {
    Of,
    In,
}

#[derive(Debug)]
pub(crate) struct Case {
    /// `None` is `default`.
    pub(crate) test: Option<NodeId>,
    pub(crate) body: Box<[StatementId]>,
}

#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) frame: Frame,
    pub(crate) parameter: Option<TargetId>,
    pub(crate) body: StatementId,
}

/// The names that a block, a loop or a function body declares.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) declares: Vec<(NameId, Declaration)>,
    /// Function declarations, which are hoisted.
    pub(crate) functions: Vec<(NameId, Slot, FunctionId)>,
    /// Slots that an inner function captures and that therefore live in cells; filled by the resolver.
    pub(crate) cells: Vec<Slot>,
    /// Slots of `var` names, which are undefined from the start; filled by the resolver.
    pub(crate) vars: Vec<Slot>,
}

#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: Option<NameId>,
    pub(crate) parameters: Vec<TargetId>,
    pub(crate) rest: Option<TargetId>,
    pub(crate) body: Body,
    pub(crate) frame: Frame,
    /// Set by the resolver: the size of a frame of this function.
    pub(crate) slots: u32,
    /// Set by the resolver: cells copied from the frame of the outer function, as (outer, inner).
    pub(crate) captures: Vec<(Slot, Slot)>,
    /// Set by the resolver: all parameters are plain names in the first slots and none is captured.
    pub(crate) simple: bool,
    /// Set by the resolver: the slot in which a named function expression finds itself.
    pub(crate) self_slot: Option<Slot>,
    pub(crate) depth: u16,
}

#[derive(Debug)]
pub(crate) enum Body {
    Expression(NodeId),
    Block(Box<[StatementId]>),
}

impl Default for Body {
    fn default() -> Body {
        Body::Block(Box::default())
    }
}
