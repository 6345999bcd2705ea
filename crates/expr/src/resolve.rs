//! Resolves every name to a slot of a frame, a built-in, or a name of the scope, and collects what the program reads.
//!
//! **Invariant:** a resolved tree contains no `Node::Name`, and reading a local variable is an index into a frame.
//! Variables that inner functions capture live in cells; each frame lists its cells.

mod binding;
mod reads;
mod statement;

use crate::builtins::Builtin;
use crate::reads::{NameRead, Reads};
use crate::syntax_error::SyntaxError;
use crate::tree::{
    Body, Declaration, Function, FunctionId, Item, Key, NameId, Node, NodeId, Property, Target, TargetId,
    Tree,
};
use binding::{Binding, FunctionScope};
use statement::JumpTarget;

type Resolved<T> = Result<T, Box<SyntaxError>>;

/// Resolves the tree in place; `main` is the whole source as a function.
pub(crate) fn resolve(tree: &mut Tree, main: &mut Function) -> Resolved<Reads> {
    let mut resolver = Resolver {
        tree,
        functions: Vec::new(),
        reads: Reads::default(),
        jump_targets: Vec::new(),
        memory_passed: 0,
    };
    resolver.function(main)?;
    if resolver.memory_passed > 0 {
        resolver.reads.memory_writes.push(None);
    }
    Ok(resolver.reads)
}

struct Resolver<'t> {
    tree: &'t mut Tree,
    functions: Vec<FunctionScope>,
    reads: Reads,
    jump_targets: Vec<JumpTarget>,
    /// How often `memory` occurs and no member of it is called, so that what happens to it is not known.
    memory_passed: usize,
}

impl Resolver<'_> {
    fn function(&mut self, function: &mut Function) -> Resolved<()> {
        self.functions.push(FunctionScope::default());
        self.jump_targets.push(JumpTarget::Function);
        if let Some(name) = function.name {
            let slot = self.new_slot();
            self.current().blocks.push(vec![Binding {
                name,
                slot,
                kind: Declaration::Function,
                captured: false,
            }]);
        }
        let mut frame = std::mem::take(&mut function.frame);
        // Parameters were declared first, so they take the first slots, unless the function has a name.
        self.open(&mut frame);
        for &parameter in &function.parameters {
            self.target(parameter, true)?;
        }
        if let Some(rest) = function.rest {
            self.target(rest, true)?;
        }
        self.hoisted(&mut frame)?;
        match &function.body {
            Body::Expression(node) => self.visit(*node)?,
            Body::Block(body) => self.statements(body)?,
        }
        self.close(&mut frame);
        let plain = |(position, target): (usize, &TargetId)| match self.tree.target(*target) {
            Target::Simple(node) => match self.tree.node(*node) {
                Node::Local(slot, _) => *slot as usize == position && !frame.cells.contains(slot),
                _ => false,
            },
            _ => false,
        };
        function.simple = function.rest.is_none() && function.parameters.iter().enumerate().all(plain);
        function.frame = frame;
        self.jump_targets.pop();
        let level = self.functions.pop().unwrap_or_default();
        if function.name.is_some() {
            let binding = level.blocks.first().and_then(|block| block.first());
            function.self_slot = binding.map(|binding| binding.slot);
            if let Some(binding) = binding.filter(|binding| binding.captured) {
                function.frame.cells.push(binding.slot);
            }
        }
        function.slots = level.slots;
        function.captures = level.captures.iter().map(|capture| (capture.outer, capture.inner)).collect();
        Ok(())
    }

    fn inner_function(&mut self, id: FunctionId) -> Resolved<()> {
        let mut function = std::mem::take(&mut self.tree.functions[id.0 as usize]);
        let result = self.function(&mut function);
        self.tree.functions[id.0 as usize] = function;
        result
    }

    /// Resolves a target; `declares` says that the target declares its names.
    fn target(&mut self, id: TargetId, declares: bool) -> Resolved<()> {
        let target = std::mem::replace(&mut self.tree.targets[id.0 as usize], Target::Simple(NodeId(0)));
        let result = self.target_parts(&target, declares);
        self.tree.targets[id.0 as usize] = target;
        result
    }

    fn target_parts(&mut self, target: &Target, declares: bool) -> Resolved<()> {
        match target {
            Target::Simple(node) => self.assigned(*node, declares),
            Target::Default { target, value } => {
                self.visit(*value)?;
                self.target(*target, declares)
            }
            Target::Array { items, rest } => {
                items.iter().flatten().chain(rest).try_for_each(|item| self.target(*item, declares))
            }
            Target::Object { members, rest } => {
                for (key, member) in members {
                    if let Key::Computed(node) = key {
                        self.visit(*node)?;
                    }
                    self.target(*member, declares)?;
                }
                rest.map_or(Ok(()), |rest| self.target(rest, declares))
            }
        }
    }

    /// A name or a member that is assigned to.
    fn assigned(&mut self, id: NodeId, declares: bool) -> Resolved<()> {
        self.visit(id)?;
        if declares {
            return Ok(());
        }
        self.record_change(id);
        let Node::Local(_, name) = *self.tree.node(id) else { return Ok(()) };
        if let Some((_, Declaration::Const)) = self.lookup(self.functions.len() - 1, name) {
            self.tree.nodes[id.0 as usize] = Node::Constant(name);
        }
        Ok(())
    }

    fn visit_optional(&mut self, id: Option<NodeId>) -> Resolved<()> {
        id.map_or(Ok(()), |id| self.visit(id))
    }

    fn visit(&mut self, id: NodeId) -> Resolved<()> {
        self.record_path(id, id, false);
        self.inside(id)
    }

    fn inside(&mut self, id: NodeId) -> Resolved<()> {
        let node = std::mem::replace(&mut self.tree.nodes[id.0 as usize], Node::Undefined);
        let resolved = match node {
            Node::Name(name) => self.name(name, id),
            other => {
                self.parts(&other, id)?;
                other
            }
        };
        self.tree.nodes[id.0 as usize] = resolved;
        Ok(())
    }

    fn name(&mut self, name: NameId, id: NodeId) -> Node {
        let level = self.functions.len() - 1;
        if let Some((slot, _)) = self.lookup(level, name) {
            return Node::Local(slot, name);
        }
        let text = self.tree.name(name);
        match text {
            "undefined" => return Node::Undefined,
            "NaN" => return Node::Number(f64::NAN),
            "Infinity" => return Node::Number(f64::INFINITY),
            _ => {}
        }
        if let Some(builtin) = Builtin::global(text) {
            self.memory_passed += usize::from(builtin == Builtin::Memory);
            return Node::Standard(builtin);
        }
        let read = NameRead { name: text.to_owned(), span: self.tree.span(id).range(), guarded: false };
        self.reads.names.push(read);
        Node::Free(name)
    }

    fn parts(&mut self, node: &Node, id: NodeId) -> Resolved<()> {
        match node {
            Node::Number(_)
            | Node::Text(_)
            | Node::Bool(_)
            | Node::Null
            | Node::Undefined
            | Node::Regex(_)
            | Node::Name(_)
            | Node::Local(..)
            | Node::Constant(_)
            | Node::Free(_)
            | Node::Standard(_) => Ok(()),
            Node::Template { holes: nodes, .. } | Node::Sequence(nodes) => {
                nodes.iter().try_for_each(|node| self.visit(*node))
            }
            Node::Array(items) => self.items(items),
            Node::Object(properties) => properties.iter().try_for_each(|property| match property {
                Property::Named(_, value) | Property::Spread(value) => self.visit(*value),
                Property::Computed(key, value) => {
                    self.visit(*key)?;
                    self.visit(*value)
                }
            }),
            Node::Function(function) => self.inner_function(*function),
            // `visit` has recorded the longest path already.
            Node::Member { object, .. } | Node::Chain(object) => self.inside(*object),
            Node::Index { object, index, .. } => {
                self.inside(*object)?;
                self.visit(*index)
            }
            Node::Call { callee, arguments, .. } => {
                self.callee(*callee, arguments, id)?;
                self.items(arguments)
            }
            Node::New { callee, arguments } => {
                self.visit(*callee)?;
                self.items(arguments)
            }
            Node::Unary(operator, inner) => {
                let known = self.reads.names.len();
                self.visit(*inner)?;
                if *operator == crate::tree::Unary::Typeof
                    && self.reads.names.len() == known + 1
                    && matches!(self.tree.node(*inner), Node::Free(_))
                {
                    self.reads.names[known].guarded = true;
                }
                Ok(())
            }
            Node::Delete(inner) => {
                self.visit(*inner)?;
                self.record_change(*inner);
                Ok(())
            }
            Node::Update { target, .. } => self.assigned(*target, false),
            Node::Binary(_, left, right) | Node::Logical(_, left, right) => {
                self.visit(*left)?;
                self.visit(*right)
            }
            Node::Compound { target, value, .. } => {
                self.visit(*value)?;
                self.assigned(*target, false)
            }
            Node::Conditional { test, then, otherwise } => {
                self.visit(*test)?;
                self.visit(*then)?;
                self.visit(*otherwise)
            }
            Node::Assign { target, value } => {
                self.visit(*value)?;
                self.target(*target, false)
            }
        }
    }

    fn items(&mut self, items: &[Item]) -> Resolved<()> {
        items.iter().try_for_each(|item| self.visit(item.node()))
    }
}
