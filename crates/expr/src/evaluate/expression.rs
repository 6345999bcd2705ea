//! Sub-expressions.
//!
//! **Invariant:** each kind of node has a function of its own, so that the recursion through `evaluate` has small
//! stack frames even in unoptimised builds.

use super::{Evaluator, handle};
use crate::exception::{ErrorClass, EvalResult};
use crate::heap::{Members, PatternRef, RegexObject};
use crate::number::to_int32;
use crate::tree::{
    Binary, Compound, Item, Logical, NameId, Node, NodeId, Property, TargetId, Unary, UpdateForm,
};
use crate::value::{Text, Value};

impl<'a> Evaluator<'a> {
    pub(crate) fn evaluate(&mut self, id: NodeId) -> EvalResult<'a> {
        self.step()?;
        let tree = self.tree;
        let value = match tree.node(id) {
            Node::Number(number) => return Ok(Value::Number(*number)),
            Node::Text(text) => return Ok(Value::borrowed(text)),
            Node::Bool(value) => return Ok(Value::Bool(*value)),
            Node::Null => return Ok(Value::Null),
            Node::Undefined => return Ok(Value::Undefined),
            Node::Standard(builtin) => return Ok(Value::Builtin(*builtin)),
            Node::Local(slot, name) => self.read_slot(*slot, *name, id)?,
            Node::Free(name) => self.read_free(*name, id)?,
            compound => {
                self.descend()?;
                let value = self.compound_node(compound, id)?;
                self.ascend();
                value
            }
        };
        if self.recorder.is_some() {
            self.record(id, &value);
        }
        Ok(value)
    }

    /// Only dispatches: every local variable here would cost stack at every level of nesting.
    fn compound_node(&mut self, node: &'a Node, id: NodeId) -> EvalResult<'a> {
        match node {
            Node::Member { object, name, .. } => self.member_node(*object, name, id),
            Node::Binary(operator, left, right) => self.binary_node(*operator, *left, *right, id),
            Node::Logical(operator, left, right) => self.logical_node(*operator, *left, *right),
            Node::Unary(operator, inner) => self.unary_node(*operator, *inner, id),
            Node::Call { .. } => self.whole_call(node, id),
            Node::Conditional { test, then, otherwise } => self.conditional_node(*test, *then, *otherwise),
            Node::Chain(inner) => self.chain_node(*inner),
            Node::Index { object, index, .. } => self.index_node(*object, *index, id),
            Node::Template { chunks, holes } => self.template_node(chunks, holes),
            Node::Regex(regex) => self.regex_node(*regex),
            Node::Array(items) => self.array_node(items),
            Node::Object(properties) => self.object_node(properties),
            Node::Function(function) => self.closure(*function),
            Node::New { callee, arguments } => self.new_node(*callee, arguments, id),
            Node::Assign { target, value } => self.assign_node(*target, *value, id),
            Node::Compound { operator, target, value } => {
                self.compound_assignment(*operator, *target, *value, id)
            }
            Node::Update { target, delta, form } => self.update_node(*target, *delta, *form, id),
            Node::Delete(target) => self.delete_node(*target, id),
            Node::Sequence(nodes) => self.sequence_node(nodes),
            Node::Constant(name) => Err(self.constant_error(*name)),
            Node::Number(_)
            | Node::Text(_)
            | Node::Bool(_)
            | Node::Null
            | Node::Undefined
            | Node::Name(_)
            | Node::Local(..)
            | Node::Free(_)
            | Node::Standard(_) => Ok(Value::Undefined),
        }
    }

    fn binary_node(&mut self, operator: Binary, left: NodeId, right: NodeId, id: NodeId) -> EvalResult<'a> {
        let left = self.evaluate(left)?;
        let right = self.evaluate(right)?;
        self.current = id;
        self.binary(operator, &left, &right)
    }

    fn conditional_node(&mut self, test: NodeId, then: NodeId, otherwise: NodeId) -> EvalResult<'a> {
        let test = self.evaluate(test)?;
        let chosen = if self.is_truthy(&test) { then } else { otherwise };
        self.evaluate(chosen)
    }

    fn chain_node(&mut self, inner: NodeId) -> EvalResult<'a> {
        Ok(self.link(inner)?.unwrap_or(Value::Undefined))
    }

    fn whole_call(&mut self, node: &'a Node, id: NodeId) -> EvalResult<'a> {
        Ok(self.call_node(node, id)?.unwrap_or(Value::Undefined))
    }

    fn index_node(&mut self, object: NodeId, index: NodeId, id: NodeId) -> EvalResult<'a> {
        let object = self.evaluate(object)?;
        let index = self.evaluate(index)?;
        self.current = id;
        self.get_index(&object, &index)
    }

    fn assign_node(&mut self, target: TargetId, value: NodeId, id: NodeId) -> EvalResult<'a> {
        let value = self.evaluate(value)?;
        self.current = id;
        self.assign_target(target, value.clone())?;
        Ok(value)
    }

    fn sequence_node(&mut self, nodes: &'a [NodeId]) -> EvalResult<'a> {
        let mut value = Value::Undefined;
        for node in nodes {
            value = self.evaluate(*node)?;
        }
        Ok(value)
    }

    pub(super) fn read_slot(&mut self, slot: u32, name: NameId, id: NodeId) -> EvalResult<'a> {
        let value = match &self.stack[self.base + slot as usize] {
            Value::Cell(cell) => self.heap.cells[*cell as usize].clone(),
            other => other.clone(),
        };
        if matches!(value, Value::Uninitialized) {
            self.current = id;
            let name = self.tree.name(name);
            return Err(self.error(ErrorClass::Reference, format!("`{name}` is used before it has a value")));
        }
        Ok(value)
    }

    fn read_free(&mut self, name: NameId, id: NodeId) -> EvalResult<'a> {
        match self.free(name) {
            Some(value) => Ok(value),
            None => {
                self.current = id;
                let name = self.tree.name(name);
                let why = match name {
                    "Date" => "Date is not defined: expressions have no clock".to_owned(),
                    "Promise" => "Promise is not defined: calls answer directly".to_owned(),
                    name => format!("{name} is not defined"),
                };
                Err(self.error(ErrorClass::Reference, why))
            }
        }
    }

    pub(super) fn free(&mut self, name: NameId) -> Option<Value<'a>> {
        if !self.globals.is_empty()
            && let Some((_, value)) = self.globals.iter().find(|(known, _)| *known == name)
        {
            return Some(value.clone());
        }
        let scope = self.scope;
        let given = scope.name(self.tree.name(name))?;
        Some(self.scope_value(given))
    }

    fn member_node(&mut self, object: NodeId, name: &'a str, id: NodeId) -> EvalResult<'a> {
        let value = self.evaluate(object)?;
        self.current = id;
        self.get_member(&value, name)
    }

    /// One link of an optional chain; `None` when an earlier link was nullish.
    #[inline(never)]
    fn link(&mut self, id: NodeId) -> EvalResult<'a, Option<Value<'a>>> {
        self.step()?;
        self.descend()?;
        let value = match self.tree.node(id) {
            Node::Member { object, name, optional } => match self.link(*object)? {
                Some(object) if !(*optional && self.is_nothing(&object)) => {
                    self.current = id;
                    Some(self.get_member(&object, name)?)
                }
                Some(_) | None => None,
            },
            Node::Index { object, index, optional } => match self.link(*object)? {
                Some(object) if !(*optional && self.is_nothing(&object)) => {
                    let index = self.evaluate(*index)?;
                    self.current = id;
                    Some(self.get_index(&object, &index)?)
                }
                Some(_) | None => None,
            },
            node @ Node::Call { .. } => self.call_node(node, id)?,
            _ => {
                let value = self.evaluate(id)?;
                self.ascend();
                return Ok(Some(value));
            }
        };
        self.ascend();
        if let (true, Some(value)) = (self.recorder.is_some(), &value) {
            self.record(id, value);
        }
        Ok(value)
    }

    /// Null or undefined, also inside a record.
    fn is_nothing(&self, value: &Value<'a>) -> bool {
        value.is_nullish() || matches!(value, Value::Record(_)) && self.effective(value).is_nullish()
    }

    /// A call, inside an optional chain or not.
    #[inline(never)]
    fn call_node(&mut self, node: &'a Node, id: NodeId) -> EvalResult<'a, Option<Value<'a>>> {
        let Node::Call { callee, arguments, optional } = node else { return Ok(None) };
        let (this, function) = match self.tree.node(*callee) {
            Node::Member { object, name, optional } => {
                let Some(object) = self.link(*object)? else { return Ok(None) };
                if *optional && self.is_nothing(&object) {
                    return Ok(None);
                }
                self.current = *callee;
                let function = self.get_member(&object, name)?;
                (object, function)
            }
            Node::Index { object, index, optional } => {
                let Some(object) = self.link(*object)? else { return Ok(None) };
                if *optional && self.is_nothing(&object) {
                    return Ok(None);
                }
                let index = self.evaluate(*index)?;
                self.current = *callee;
                let function = self.get_index(&object, &index)?;
                (object, function)
            }
            _ => match self.link(*callee)? {
                Some(function) => (Value::Undefined, function),
                None => return Ok(None),
            },
        };
        if *optional && self.is_nothing(&function) {
            return Ok(None);
        }
        let arguments = self.arguments(arguments)?;
        self.current = id;
        if !function.is_callable() {
            return Err(self.not_callable(*callee, &this));
        }
        self.call(&function, &this, &arguments).map(Some)
    }

    #[cold]
    fn not_callable(&self, callee: NodeId, this: &Value<'a>) -> Box<crate::exception::Exception<'a>> {
        match self.tree.node(callee) {
            Node::Member { name, .. } => {
                let what = self.describe(this);
                self.type_error(format!("{what} has no function `{name}`"))
            }
            Node::Free(name) | Node::Local(_, name) => {
                self.type_error(format!("`{}` is not a function", self.tree.name(*name)))
            }
            _ => self.type_error("what is called is not a function"),
        }
    }

    fn logical_node(&mut self, operator: Logical, left: NodeId, right: NodeId) -> EvalResult<'a> {
        let value = self.evaluate(left)?;
        if self.decides(operator, &value) { Ok(value) } else { self.evaluate(right) }
    }

    /// Whether the left operand decides the result.
    fn decides(&self, operator: Logical, left: &Value<'a>) -> bool {
        match operator {
            Logical::And => !self.is_truthy(left),
            Logical::Or => self.is_truthy(left),
            Logical::Nullish => !self.is_nothing(left),
        }
    }

    fn unary_node(&mut self, operator: Unary, inner: NodeId, id: NodeId) -> EvalResult<'a> {
        if operator == Unary::Typeof
            && let Node::Free(name) = self.tree.node(inner)
        {
            let value = self.free(*name).unwrap_or(Value::Undefined);
            return Ok(Value::borrowed(self.type_of(&value)));
        }
        let value = self.evaluate(inner)?;
        self.current = id;
        Ok(match operator {
            Unary::Not => Value::Bool(!self.is_truthy(&value)),
            Unary::Minus => Value::Number(-self.number_of(&value)?),
            Unary::Plus => Value::Number(self.number_of(&value)?),
            Unary::BitNot => Value::Number(f64::from(!to_int32(self.number_of(&value)?))),
            Unary::Typeof => Value::borrowed(self.type_of(&value)),
            Unary::Void => Value::Undefined,
        })
    }

    fn template_node(&mut self, chunks: &'a [Box<str>], holes: &'a [NodeId]) -> EvalResult<'a> {
        let mut text = String::new();
        for (position, chunk) in chunks.iter().enumerate() {
            self.charge(chunk.len())?;
            text.push_str(chunk);
            if let Some(hole) = holes.get(position) {
                let value = self.evaluate(*hole)?;
                let part = self.text_of(&value)?;
                self.charge(part.len())?;
                text.push_str(&part);
            }
        }
        self.new_text(text)
    }

    fn regex_node(&mut self, regex: u32) -> EvalResult<'a> {
        self.charge(64)?;
        let tree = self.tree;
        let pattern = PatternRef::Literal(&tree.regexes[regex as usize]);
        self.heap.regexes.push(RegexObject { pattern, last_index: 0 });
        Ok(Value::Regex(handle(self.heap.regexes.len() - 1)))
    }

    fn array_node(&mut self, items: &'a [Item]) -> EvalResult<'a> {
        self.charge_values(items.len())?;
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::One(node) => values.push(self.evaluate(*node)?),
                Item::Spread(node) => {
                    let value = self.evaluate(*node)?;
                    self.current = *node;
                    values.extend(self.iterate(&value)?);
                }
            }
        }
        Ok(self.new_array(values))
    }

    fn object_node(&mut self, properties: &'a [Property]) -> EvalResult<'a> {
        self.charge_values(properties.len() * 2)?;
        let mut members = Members::with_capacity(properties.len());
        for property in properties {
            self.property(property, &mut members)?;
        }
        Ok(self.new_plain(members))
    }

    fn property(&mut self, property: &'a Property, members: &mut Members<'a>) -> EvalResult<'a, ()> {
        match property {
            Property::Named(name, node) => {
                let value = self.evaluate(*node)?;
                // `__proto__` in a literal sets the prototype in JavaScript; here it is ignored.
                if &**name != "__proto__" {
                    members.set(Text::Borrowed(name), value);
                }
            }
            Property::Computed(key, node) => {
                let key = self.evaluate(*key)?;
                let key = self.text_of(&key)?;
                self.scan(key.len())?;
                let value = self.evaluate(*node)?;
                members.set(key, value);
            }
            Property::Spread(node) => {
                let value = self.evaluate(*node)?;
                self.spread_members(&value, members)?;
            }
        }
        Ok(())
    }

    fn spread_members(&mut self, value: &Value<'a>, members: &mut Members<'a>) -> EvalResult<'a, ()> {
        for (key, member) in self.members(value)? {
            self.charge_values(4)?;
            self.work(4)?;
            members.set(key, member);
        }
        Ok(())
    }

    fn new_node(&mut self, callee: NodeId, arguments: &'a [Item], id: NodeId) -> EvalResult<'a> {
        let class = self.evaluate(callee)?;
        let arguments = self.arguments(arguments)?;
        self.current = id;
        match class {
            Value::Builtin(class) => self.construct(class, &arguments),
            _ => Err(self.type_error("only the standard constructors can follow `new`")),
        }
    }

    fn compound_assignment(
        &mut self,
        operator: Compound,
        target: NodeId,
        value: NodeId,
        id: NodeId,
    ) -> EvalResult<'a> {
        let reference = self.reference(target)?;
        let before = self.read_reference(&reference)?;
        let after = match operator {
            Compound::Logical(operator) if self.decides(operator, &before) => return Ok(before),
            Compound::Logical(_) => self.evaluate(value)?,
            Compound::Arithmetic(operator) => {
                let right = self.evaluate(value)?;
                self.current = id;
                self.binary(operator, &before, &right)?
            }
        };
        self.current = id;
        self.write_reference(&reference, after.clone())?;
        Ok(after)
    }

    fn update_node(&mut self, target: NodeId, delta: f64, form: UpdateForm, id: NodeId) -> EvalResult<'a> {
        let reference = self.reference(target)?;
        self.current = id;
        let before = self.read_reference(&reference)?;
        let before = self.number_of(&before)?;
        self.write_reference(&reference, Value::Number(before + delta))?;
        Ok(Value::Number(match form {
            UpdateForm::Postfix => before,
            UpdateForm::Prefix => before + delta,
        }))
    }
}
