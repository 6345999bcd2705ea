//! Sub-expressions.
//!
//! **Invariant:** each kind of node has a function of its own, so that the recursion through `evaluate` keeps
//! small frames also where nothing is optimised.

use super::{Evaluator, handle};
use crate::fault::{ErrorKind, Outcome};
use crate::heap::{Members, PatternRef, RegexObject};
use crate::number::to_int32;
use crate::tree::{Compound, Item, Logical, NameId, Node, NodeId, Property, Unary, UpdateAnswer};
use crate::value::{Text, Value};

impl<'a> Evaluator<'a> {
    pub(crate) fn evaluate(&mut self, id: NodeId) -> Outcome<'a> {
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

    fn compound_node(&mut self, node: &'a Node, id: NodeId) -> Outcome<'a> {
        match node {
            Node::Member { object, name, .. } => self.member_node(*object, name, id),
            Node::Binary(operator, left, right) => {
                let left = self.evaluate(*left)?;
                let right = self.evaluate(*right)?;
                self.current = id;
                self.binary(*operator, &left, &right)
            }
            Node::Logical(operator, left, right) => self.logical_node(*operator, *left, *right),
            Node::Unary(operator, inner) => self.unary_node(*operator, *inner, id),
            Node::Call { .. } => self.call_node(node, id).map(|value| value.unwrap_or(Value::Undefined)),
            Node::Conditional { test, then, otherwise } => {
                let test = self.evaluate(*test)?;
                if self.is_truthy(&test) { self.evaluate(*then) } else { self.evaluate(*otherwise) }
            }
            Node::Chain(inner) => Ok(self.link(*inner)?.unwrap_or(Value::Undefined)),
            Node::Index { object, index, .. } => {
                let object = self.evaluate(*object)?;
                let index = self.evaluate(*index)?;
                self.current = id;
                self.get_index(&object, &index)
            }
            Node::Template { chunks, holes } => self.template_node(chunks, holes),
            Node::Regex(regex) => self.regex_node(*regex),
            Node::Array(items) => self.array_node(items),
            Node::Object(properties) => self.object_node(properties),
            Node::Function(function) => self.closure(*function),
            Node::New { callee, arguments } => self.new_node(*callee, arguments, id),
            Node::Assign { target, value } => {
                let value = self.evaluate(*value)?;
                self.current = id;
                self.assign_target(*target, value.clone())?;
                Ok(value)
            }
            Node::Compound { operator, place, value } => {
                self.compound_assignment(*operator, *place, *value, id)
            }
            Node::Update { place, delta, answer } => self.update_node(*place, *delta, *answer, id),
            Node::Delete(place) => self.delete_node(*place, id),
            Node::Sequence(nodes) => {
                let mut value = Value::Undefined;
                for node in nodes {
                    value = self.evaluate(*node)?;
                }
                Ok(value)
            }
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

    pub(super) fn read_slot(&mut self, slot: u32, name: NameId, id: NodeId) -> Outcome<'a> {
        let value = match &self.stack[self.base + slot as usize] {
            Value::Cell(cell) => self.heap.cells[*cell as usize].clone(),
            other => other.clone(),
        };
        if matches!(value, Value::Unset) {
            self.current = id;
            let name = self.tree.name(name);
            return Err(self.error(ErrorKind::Reference, format!("`{name}` is used before it has a value")));
        }
        Ok(value)
    }

    fn read_free(&mut self, name: NameId, id: NodeId) -> Outcome<'a> {
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
                Err(self.error(ErrorKind::Reference, why))
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
        Some(self.given(given))
    }

    fn member_node(&mut self, object: NodeId, name: &'a str, id: NodeId) -> Outcome<'a> {
        let value = self.evaluate(object)?;
        self.current = id;
        self.get_member(&value, name)
    }

    /// One link of an optional chain; `None` when an earlier link found nothing.
    #[inline(never)]
    fn link(&mut self, id: NodeId) -> Outcome<'a, Option<Value<'a>>> {
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
        value.is_nullish() || matches!(value, Value::Record(_)) && self.plainly(value).is_nullish()
    }

    /// A call, inside an optional chain or not.
    #[inline(never)]
    fn call_node(&mut self, node: &'a Node, id: NodeId) -> Outcome<'a, Option<Value<'a>>> {
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
    fn not_callable(&self, callee: NodeId, this: &Value<'a>) -> Box<crate::fault::Failure<'a>> {
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

    fn logical_node(&mut self, operator: Logical, left: NodeId, right: NodeId) -> Outcome<'a> {
        let value = self.evaluate(left)?;
        if self.decides(operator, &value) { Ok(value) } else { self.evaluate(right) }
    }

    /// Whether the left side is already the answer.
    fn decides(&self, operator: Logical, left: &Value<'a>) -> bool {
        match operator {
            Logical::And => !self.is_truthy(left),
            Logical::Or => self.is_truthy(left),
            Logical::Nullish => !self.is_nothing(left),
        }
    }

    fn unary_node(&mut self, operator: Unary, inner: NodeId, id: NodeId) -> Outcome<'a> {
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
            Unary::Minus => Value::Number(-self.to_number(&value)?),
            Unary::Plus => Value::Number(self.to_number(&value)?),
            Unary::BitNot => Value::Number(f64::from(!to_int32(self.to_number(&value)?))),
            Unary::Typeof => Value::borrowed(self.type_of(&value)),
            Unary::Void => Value::Undefined,
        })
    }

    fn template_node(&mut self, chunks: &'a [Box<str>], holes: &'a [NodeId]) -> Outcome<'a> {
        let mut text = String::new();
        for (position, chunk) in chunks.iter().enumerate() {
            self.charge(chunk.len())?;
            text.push_str(chunk);
            if let Some(hole) = holes.get(position) {
                let value = self.evaluate(*hole)?;
                let part = self.to_text(&value)?;
                self.charge(part.len())?;
                text.push_str(&part);
            }
        }
        self.new_text(text)
    }

    fn regex_node(&mut self, regex: u32) -> Outcome<'a> {
        self.charge(64)?;
        let tree = self.tree;
        let pattern = PatternRef::Literal(&tree.regexes[regex as usize]);
        self.heap.regexes.push(RegexObject { pattern, last_index: 0 });
        Ok(Value::Regex(handle(self.heap.regexes.len() - 1)))
    }

    fn array_node(&mut self, items: &'a [Item]) -> Outcome<'a> {
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

    fn object_node(&mut self, properties: &'a [Property]) -> Outcome<'a> {
        self.charge_values(properties.len() * 2)?;
        let mut members = Members::with_capacity(properties.len());
        for property in properties {
            match property {
                Property::Named(name, node) => {
                    let value = self.evaluate(*node)?;
                    if !super::access::is_prototype_name(name) || &**name != "__proto__" {
                        members.set(Text::Borrowed(name), value);
                    }
                }
                Property::Computed(key, node) => {
                    let key = self.evaluate(*key)?;
                    let key = self.to_text(&key)?;
                    let value = self.evaluate(*node)?;
                    members.set(key, value);
                }
                Property::Spread(node) => {
                    let value = self.evaluate(*node)?;
                    for key in self.keys(&value)? {
                        self.charge_values(2)?;
                        let member = self.own_member(&value, &key).unwrap_or(Value::Undefined);
                        members.set(key, member);
                    }
                }
            }
        }
        Ok(self.new_plain(members))
    }

    fn new_node(&mut self, callee: NodeId, arguments: &'a [Item], id: NodeId) -> Outcome<'a> {
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
        place: NodeId,
        value: NodeId,
        id: NodeId,
    ) -> Outcome<'a> {
        let place = self.place(place)?;
        let before = self.read_place(&place)?;
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
        self.write_place(&place, after.clone())?;
        Ok(after)
    }

    fn update_node(&mut self, place: NodeId, delta: f64, answer: UpdateAnswer, id: NodeId) -> Outcome<'a> {
        let place = self.place(place)?;
        self.current = id;
        let before = self.read_place(&place)?;
        let before = self.to_number(&before)?;
        self.write_place(&place, Value::Number(before + delta))?;
        Ok(Value::Number(match answer {
            UpdateAnswer::Before => before,
            UpdateAnswer::After => before + delta,
        }))
    }
}
