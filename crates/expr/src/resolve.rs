//! Ties every name to what it means: a slot of a frame, a helper, or a name of the scope.
//!
//! **Invariant:** after this no `Node::Name` is left, and evaluating a local variable is an index into a
//! frame. Variables that inner functions capture live in cells; each frame lists them.

use crate::builtins::Builtin;
use crate::reads::{HelperCall, NameRead, PathRead, Reads};
use crate::syntax_error::SyntaxError;
use crate::tree::{
    Body, Declaration, Frame, Function, FunctionId, Item, Jump, Key, NameId, Node, NodeId, Property, Slot,
    Statement, StatementId, Target, TargetId, Tree,
};

type Resolved<T> = Result<T, Box<SyntaxError>>;

/// Resolves the tree in place; `main` is the whole source as a function.
pub(crate) fn resolve(tree: &mut Tree, main: &mut Function) -> Resolved<Reads> {
    let mut resolver =
        Resolver { tree, functions: Vec::new(), reads: Reads::default(), jump_targets: Vec::new() };
    resolver.function(main)?;
    Ok(resolver.reads)
}

struct Binding {
    name: NameId,
    slot: Slot,
    kind: Declaration,
    captured: bool,
}

/// One function on the way down.
#[derive(Default)]
struct FunctionScope {
    blocks: Vec<Vec<Binding>>,
    slots: u32,
    captures: Vec<Capture>,
}

struct Capture {
    name: NameId,
    outer: Slot,
    inner: Slot,
    kind: Declaration,
}

/// What a `break` or a `continue` may leave.
#[derive(Clone, Copy, PartialEq)]
enum JumpTarget {
    Loop,
    Switch,
    Label(NameId),
    /// A label right before a loop: the only kind that `continue` may name.
    LoopLabel(NameId),
    Function,
}

struct Resolver<'t> {
    tree: &'t mut Tree,
    functions: Vec<FunctionScope>,
    reads: Reads,
    jump_targets: Vec<JumpTarget>,
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

    fn current(&mut self) -> &mut FunctionScope {
        if self.functions.is_empty() {
            self.functions.push(FunctionScope::default());
        }
        let last = self.functions.len() - 1;
        &mut self.functions[last]
    }

    fn new_slot(&mut self) -> Slot {
        let level = self.current();
        level.slots += 1;
        level.slots - 1
    }

    fn open(&mut self, frame: &mut Frame) {
        let mut bindings = Vec::with_capacity(frame.declares.len());
        for &(name, kind) in &frame.declares {
            let slot = self.new_slot();
            bindings.push(Binding { name, slot, kind, captured: false });
            if kind == Declaration::Var {
                frame.vars.push(slot);
            }
        }
        self.current().blocks.push(bindings);
    }

    /// Function declarations of a block, which may call each other.
    fn hoisted(&mut self, frame: &mut Frame) -> Resolved<()> {
        for (name, slot, function) in &mut frame.functions {
            if let Some((found, _)) = self.lookup(self.functions.len() - 1, *name) {
                *slot = found;
            }
            self.inner_function(*function)?;
        }
        Ok(())
    }

    fn close(&mut self, frame: &mut Frame) {
        let bindings = self.current().blocks.pop().unwrap_or_default();
        frame.cells =
            bindings.iter().filter(|binding| binding.captured).map(|binding| binding.slot).collect();
    }

    /// The slot of a name as the function at `level` sees it.
    fn lookup(&mut self, level: usize, name: NameId) -> Option<(Slot, Declaration)> {
        let here = &self.functions[level];
        for block in here.blocks.iter().rev() {
            if let Some(binding) = block.iter().rev().find(|binding| binding.name == name) {
                return Some((binding.slot, binding.kind));
            }
        }
        if let Some(capture) = here.captures.iter().find(|capture| capture.name == name) {
            return Some((capture.inner, capture.kind));
        }
        if level == 0 {
            return None;
        }
        let (outer, kind) = self.lookup(level - 1, name)?;
        for block in self.functions[level - 1].blocks.iter_mut() {
            for binding in block.iter_mut().filter(|binding| binding.slot == outer) {
                binding.captured = true;
            }
        }
        let here = &mut self.functions[level];
        let inner = here.slots;
        here.slots += 1;
        here.captures.push(Capture { name, outer, inner, kind });
        Some((inner, kind))
    }

    fn statements(&mut self, ids: &[StatementId]) -> Resolved<()> {
        ids.iter().try_for_each(|id| self.statement(*id))
    }

    fn statement(&mut self, id: StatementId) -> Resolved<()> {
        let mut statement = std::mem::replace(&mut self.tree.statements[id.0 as usize], Statement::Empty);
        let result = self.statement_parts(&mut statement);
        self.tree.statements[id.0 as usize] = statement;
        result
    }

    fn statement_parts(&mut self, statement: &mut Statement) -> Resolved<()> {
        match statement {
            Statement::Empty => Ok(()),
            Statement::Expression(node) | Statement::Throw(node) => self.visit(*node),
            Statement::Return(node) => self.visit_optional(*node),
            Statement::Declare { items, .. } => items.iter().try_for_each(|(target, value)| {
                self.visit_optional(*value)?;
                self.target(*target, true)
            }),
            Statement::If { test, then, otherwise } => {
                self.visit(*test)?;
                self.statement(*then)?;
                otherwise.map_or(Ok(()), |otherwise| self.statement(otherwise))
            }
            Statement::While { test, body } | Statement::DoWhile { test, body } => {
                self.visit(*test)?;
                self.body(*body, JumpTarget::Loop)
            }
            Statement::For { frame, start, test, update, body } => {
                self.open(frame);
                start.map_or(Ok(()), |start| self.statement(start))?;
                self.visit_optional(*test)?;
                self.visit_optional(*update)?;
                self.body(*body, JumpTarget::Loop)?;
                self.close(frame);
                Ok(())
            }
            Statement::Each { frame, target, declares, subject, body, .. } => {
                self.open(frame);
                self.visit(*subject)?;
                self.target(*target, *declares)?;
                self.body(*body, JumpTarget::Loop)?;
                self.close(frame);
                Ok(())
            }
            Statement::Switch { frame, subject, cases } => {
                self.visit(*subject)?;
                self.open(frame);
                self.hoisted(frame)?;
                self.jump_targets.push(JumpTarget::Switch);
                for case in cases.iter() {
                    self.visit_optional(case.test)?;
                    self.statements(&case.body)?;
                }
                self.jump_targets.pop();
                self.close(frame);
                Ok(())
            }
            Statement::Try { body, handler, finalizer } => {
                self.statement(*body)?;
                if let Some(handler) = handler {
                    self.open(&mut handler.frame);
                    handler.parameter.map_or(Ok(()), |parameter| self.target(parameter, true))?;
                    self.statement(handler.body)?;
                    self.close(&mut handler.frame);
                }
                finalizer.map_or(Ok(()), |finalizer| self.statement(finalizer))
            }
            Statement::Block { frame, body } => {
                self.open(frame);
                self.hoisted(frame)?;
                self.statements(body)?;
                self.close(frame);
                Ok(())
            }
            Statement::Labeled(label, body) => {
                let target = if self.is_loop(*body) {
                    JumpTarget::LoopLabel(*label)
                } else {
                    JumpTarget::Label(*label)
                };
                self.body(*body, target)
            }
            Statement::Break(jump) => self.jump(*jump, &[JumpTarget::Loop, JumpTarget::Switch], "break"),
            Statement::Continue(jump) => self.jump(*jump, &[JumpTarget::Loop], "continue"),
        }
    }

    fn body(&mut self, body: StatementId, target: JumpTarget) -> Resolved<()> {
        self.jump_targets.push(target);
        let result = self.statement(body);
        self.jump_targets.pop();
        result
    }

    fn is_loop(&self, id: StatementId) -> bool {
        match self.tree.statement(id) {
            Statement::For { .. }
            | Statement::Each { .. }
            | Statement::While { .. }
            | Statement::DoWhile { .. } => true,
            Statement::Labeled(_, body) => self.is_loop(*body),
            _ => false,
        }
    }

    fn jump(&self, jump: Jump, unlabeled: &[JumpTarget], word: &str) -> Resolved<()> {
        let inside = self.jump_targets.iter().rev().take_while(|target| **target != JumpTarget::Function);
        let found = match jump.label {
            Some(label) => inside.clone().any(|target| {
                *target == JumpTarget::LoopLabel(label)
                    || (*target == JumpTarget::Label(label) && unlabeled.contains(&JumpTarget::Switch))
            }),
            None => inside.clone().any(|target| unlabeled.contains(target)),
        };
        if found {
            Ok(())
        } else {
            Err(SyntaxError::new(format!("`{word}` has nothing to leave here"), jump.span))
        }
    }

    /// Resolves a target; `declares` says that its names come into being here.
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

    /// Records a change to what a name of the scope gives, to the name itself or to a member at any depth.
    fn record_change(&mut self, assigned: NodeId) {
        let mut at = assigned;
        loop {
            at = match self.tree.node(at) {
                Node::Member { object, .. } | Node::Index { object, .. } | Node::Chain(object) => *object,
                Node::Free(_) => break,
                _ => return,
            };
        }
        let span = self.tree.span(assigned).range();
        self.reads.effects.push(HelperCall { name: Reads::CHANGE.to_owned(), span });
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
            // The path was recorded at its longest.
            Node::Member { object, .. } | Node::Chain(object) => self.inside(*object),
            Node::Index { object, index, .. } => {
                self.inside(*object)?;
                self.visit(*index)
            }
            Node::Call { callee, arguments, .. } => {
                self.callee(*callee, id)?;
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

    /// A called member is a method, not something that is read.
    fn callee(&mut self, callee: NodeId, call: NodeId) -> Resolved<()> {
        if let Node::Member { object, .. } | Node::Index { object, .. } = self.tree.node(callee) {
            let object = *object;
            self.record_path(object, object, matches!(self.tree.node(callee), Node::Index { .. }));
            self.inside(callee)?;
        } else {
            self.visit(callee)?;
        }
        self.record_missing(callee);
        let called = match self.tree.node(callee) {
            Node::Standard(builtin) if builtin.is_helper() => builtin.name().to_owned(),
            Node::Member { object, name, .. } => match self.tree.node(*object) {
                Node::Standard(Builtin::Memory) => format!("memory.{name}"),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let span = self.tree.span(call).range();
        if matches!(called.as_str(), "log" | "memory.set" | "memory.increment" | "memory.append") {
            self.reads.effects.push(HelperCall { name: called.clone(), span: span.clone() });
        }
        self.reads.helpers.push(HelperCall { name: called, span });
        Ok(())
    }

    /// Notes a call of what a standard object lacks.
    fn record_missing(&mut self, callee: NodeId) {
        let Node::Member { object, name, .. } = self.tree.node(callee) else { return };
        let Node::Standard(builtin) = self.tree.node(*object) else { return };
        if builtin.member(name).is_none() {
            let name = format!("{}.{name}", builtin.name());
            let span = self.tree.span(callee).range();
            self.reads.missing.push(HelperCall { name, span });
        }
    }

    /// Records the literal path that ends at `id`, if it starts at a name of the scope.
    fn record_path(&mut self, id: NodeId, from: NodeId, computed_after: bool) {
        let mut segments = Vec::new();
        let mut computed = computed_after;
        let mut at = from;
        let mut end = id;
        loop {
            match self.tree.node(at) {
                Node::Member { object, name, .. } => {
                    segments.push(name.to_string());
                    at = *object;
                }
                Node::Index { object, index, .. } => {
                    if let Node::Number(number) = self.tree.node(*index) {
                        segments.push(crate::number::to_text(*number));
                    } else {
                        segments.clear();
                        computed = true;
                        end = *object;
                    }
                    at = *object;
                }
                Node::Chain(inner) => at = *inner,
                Node::Name(name) => {
                    let name = *name;
                    let text = self.tree.name(name).to_owned();
                    let known = matches!(text.as_str(), "undefined" | "NaN" | "Infinity")
                        || Builtin::global(&text).is_some();
                    if known || self.lookup(self.functions.len() - 1, name).is_some() {
                        return;
                    }
                    segments.push(text);
                    segments.reverse();
                    let span = self.tree.span(end).range();
                    self.reads.paths.push(PathRead { segments, span, computed });
                    return;
                }
                _ => return,
            }
        }
    }
}
