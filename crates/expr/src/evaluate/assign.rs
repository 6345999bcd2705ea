//! Assignment: to variables, to members, and through patterns.

use serde_json::Value as Json;

use super::access::{identity, is_prototype_name};
use super::{Evaluator, VALUE_BYTES};
use crate::exception::{EvalResult, Exception};
use crate::heap::Members;
use crate::number;
use crate::tree::{Key, NameId, Node, NodeId, Target, TargetId};
use crate::value::{Text, Value};

/// An assignable reference whose parts are evaluated once, so that it can be read and then written.
pub(super) enum Reference<'a> {
    Slot(u32, NameId, NodeId),
    Free(NameId, NodeId),
    Member(Value<'a>, Text<'a>),
    Index(Value<'a>, Value<'a>),
    Constant(NameId),
}

/// The longest array that assigning past the end may make.
const GAP_MAX: usize = 100_000;

impl<'a> Evaluator<'a> {
    pub(super) fn reference(&mut self, id: NodeId) -> EvalResult<'a, Reference<'a>> {
        let tree = self.tree;
        Ok(match tree.node(id) {
            Node::Local(slot, name) => Reference::Slot(*slot, *name, id),
            Node::Free(name) => Reference::Free(*name, id),
            Node::Constant(name) => Reference::Constant(*name),
            Node::Member { object, name, .. } => {
                Reference::Member(self.evaluate(*object)?, Text::Borrowed(name))
            }
            Node::Index { object, index, .. } => {
                let object = self.evaluate(*object)?;
                Reference::Index(object, self.evaluate(*index)?)
            }
            _ => return Err(self.type_error("this cannot be assigned to")),
        })
    }

    pub(super) fn read_reference(&mut self, reference: &Reference<'a>) -> EvalResult<'a> {
        match reference {
            Reference::Slot(slot, name, id) => self.read_slot(*slot, *name, *id),
            Reference::Free(_, id) => self.evaluate(*id),
            Reference::Member(object, name) => self.get_member(object, name),
            Reference::Index(object, index) => self.get_index(object, index),
            Reference::Constant(name) => Err(self.constant_error(*name)),
        }
    }

    pub(super) fn write_reference(
        &mut self,
        reference: &Reference<'a>,
        value: Value<'a>,
    ) -> EvalResult<'a, ()> {
        match reference {
            Reference::Slot(slot, name, id) => {
                self.read_slot(*slot, *name, *id)?;
                self.write_slot(*slot, value);
                Ok(())
            }
            Reference::Free(name, _) => self.write_free(*name, value),
            Reference::Member(object, name) => self.set_member(object, name.clone(), value),
            Reference::Index(object, index) => self.set_index(object, index, value),
            Reference::Constant(name) => Err(self.constant_error(*name)),
        }
    }

    #[cold]
    pub(super) fn constant_error(&self, name: NameId) -> Box<Exception<'a>> {
        self.type_error(format!("`{}` is a constant", self.tree.name(name)))
    }

    pub(super) fn write_slot(&mut self, slot: u32, value: Value<'a>) {
        let position = self.base + slot as usize;
        match self.stack[position] {
            Value::Cell(cell) => self.heap.cells[cell as usize] = value,
            _ => self.stack[position] = value,
        }
    }

    fn write_free(&mut self, name: NameId, value: Value<'a>) -> EvalResult<'a, ()> {
        if let Some(known) = self.globals.iter_mut().find(|(known, _)| *known == name) {
            known.1 = value;
            return Ok(());
        }
        self.charge(VALUE_BYTES)?;
        self.globals.push((name, value));
        Ok(())
    }

    /// Assigns a value to a target, whether the target declares names or not.
    pub(super) fn assign_target(&mut self, id: TargetId, value: Value<'a>) -> EvalResult<'a, ()> {
        if let Some(slot) = self.slot_of(id) {
            self.write_slot(slot, value);
            return Ok(());
        }
        self.descend()?;
        let tree = self.tree;
        match tree.target(id) {
            Target::Simple(node) => {
                let reference = self.reference(*node)?;
                self.write_reference(&reference, value)?;
            }
            Target::Default { target, value: default } => {
                let value = if matches!(value, Value::Undefined) { self.evaluate(*default)? } else { value };
                self.assign_target(*target, value)?;
            }
            Target::Array { items, rest } => self.destructure_array(items, *rest, &value)?,
            Target::Object { members, rest } => self.destructure_object(members, *rest, &value)?,
        }
        self.ascend();
        Ok(())
    }

    fn destructure_array(
        &mut self,
        items: &'a [Option<TargetId>],
        rest: Option<TargetId>,
        value: &Value<'a>,
    ) -> EvalResult<'a, ()> {
        let values = self.iterate(value)?;
        for (position, item) in items.iter().enumerate() {
            if let Some(target) = item {
                self.assign_target(*target, values.get(position).cloned().unwrap_or(Value::Undefined))?;
            }
        }
        if let Some(rest) = rest {
            let left = values.get(items.len()..).unwrap_or_default().to_vec();
            let left = self.new_array(left);
            self.assign_target(rest, left)?;
        }
        Ok(())
    }

    fn destructure_object(
        &mut self,
        members: &'a [(Key, TargetId)],
        rest: Option<TargetId>,
        value: &Value<'a>,
    ) -> EvalResult<'a, ()> {
        if self.effective(value).is_nullish() {
            let what = self.describe(value);
            return Err(self.type_error(format!("cannot take {what} apart")));
        }
        let mut taken = Vec::new();
        for (key, target) in members {
            let key = match key {
                Key::Named(name) => Text::Borrowed(name),
                Key::Computed(node) => {
                    let key = self.evaluate(*node)?;
                    self.text_of(&key)?
                }
            };
            let member = self.get_member(value, &key)?;
            self.assign_target(*target, member)?;
            taken.push(key);
        }
        let Some(rest) = rest else { return Ok(()) };
        let members = self.members(value)?;
        self.work(members.len().saturating_mul(taken.len()))?;
        let mut left = Members::with_capacity(members.len());
        for (key, member) in members.into_iter().filter(|(key, _)| !taken.contains(key)) {
            left.set(key, member);
        }
        let left = self.new_plain(left);
        self.assign_target(rest, left)
    }

    pub(super) fn set_index(
        &mut self,
        object: &Value<'a>,
        index: &Value<'a>,
        value: Value<'a>,
    ) -> EvalResult<'a, ()> {
        if let Value::Number(position) = index
            && let Some(position) = number::index_of(*position)
            && self.is_list(object)
        {
            return self.set_item(object, position, value);
        }
        let name = self.text_of(index)?;
        self.set_member(object, name, value)
    }

    pub(crate) fn set_member(
        &mut self,
        object: &Value<'a>,
        name: Text<'a>,
        value: Value<'a>,
    ) -> EvalResult<'a, ()> {
        if self.effective(object).is_nullish() {
            let what = self.describe(object);
            return Err(self.type_error(format!("cannot set `{}` of {what}", &*name)));
        }
        if is_prototype_name(&name) {
            return Err(self.type_error(format!("`{}` cannot be set", &*name)));
        }
        if self.is_list(object) {
            if let Some(position) = number::index(&name) {
                return self.set_item(object, position, value);
            }
            if &*name == "length" {
                return self.set_length(object, &value);
            }
            return Err(self.type_error(format!("an array has no member `{}` to set", &*name)));
        }
        match self.effective(object) {
            Value::Regex(regex) if &*name == "lastIndex" => {
                let position = self.number_of(&value)?;
                self.heap.regexes[regex as usize].last_index =
                    usize::try_from(number::to_integer(position)).unwrap_or(0);
                Ok(())
            }
            Value::Plain(_) | Value::Json(_) | Value::Object(_) => {
                let plain = self.writable_object(object)?;
                self.charge(VALUE_BYTES * 2)?;
                self.work(2)?;
                self.scan(name.len())?;
                if !self.heap.plains[plain as usize].frozen {
                    self.heap.plains[plain as usize].members.set(name, value);
                }
                Ok(())
            }
            // As in JavaScript outside strict mode: setting a member of a scalar does nothing.
            Value::Text(_) | Value::Number(_) | Value::Bool(_) => Ok(()),
            other => {
                let what = self.describe(&other);
                Err(self.type_error(format!("{what} has no members to set")))
            }
        }
    }

    fn set_item(&mut self, object: &Value<'a>, position: usize, value: Value<'a>) -> EvalResult<'a, ()> {
        let array = self.writable_array(object)? as usize;
        let length = self.heap.arrays[array].items.len();
        if position >= length {
            if position - length > GAP_MAX {
                return Err(
                    self.type_error(format!("index {position} is too far behind the end of the array"))
                );
            }
            self.charge_values(position + 1 - length)?;
            self.heap.arrays[array].items.resize_with(position + 1, || Value::Undefined);
        }
        self.heap.arrays[array].items[position] = value;
        Ok(())
    }

    fn set_length(&mut self, object: &Value<'a>, value: &Value<'a>) -> EvalResult<'a, ()> {
        let wanted = self.number_of(value)?;
        let Some(wanted) = number::index_of(wanted) else {
            return Err(self.error(crate::exception::ErrorClass::Range, "invalid array length"));
        };
        let array = self.writable_array(object)? as usize;
        let length = self.heap.arrays[array].items.len();
        self.charge_values(wanted.saturating_sub(length))?;
        self.heap.arrays[array].items.resize_with(wanted, || Value::Undefined);
        Ok(())
    }

    /// The array of a list, for writing. A list of the scope is copied on the first write and replaced by the copy.
    pub(crate) fn writable_array(&mut self, list: &Value<'a>) -> EvalResult<'a, u32> {
        if let Value::Array(array) = self.effective(list) {
            return Ok(array);
        }
        let items = self.list_items(list)?;
        let copy = self.new_array(items);
        self.remember_change(list, &copy);
        match copy {
            Value::Array(array) => Ok(array),
            _ => Err(self.type_error("this is not an array")),
        }
    }

    fn writable_object(&mut self, object: &Value<'a>) -> EvalResult<'a, u32> {
        if let Value::Plain(plain) = self.effective(object) {
            return Ok(plain);
        }
        let keys = self.keys(object)?;
        self.charge_values(keys.len() * 2)?;
        let mut members = Members::with_capacity(keys.len());
        for key in keys {
            let member = self.own_member(object, &key)?.unwrap_or(Value::Undefined);
            members.set(key, member);
        }
        let copy = self.new_plain(members);
        self.remember_change(object, &copy);
        match copy {
            Value::Plain(plain) => Ok(plain),
            _ => Err(self.type_error("this is not an object")),
        }
    }

    fn remember_change(&mut self, original: &Value<'a>, copy: &Value<'a>) {
        let original = match original {
            Value::Record(record) => Value::json(self.heap.records[*record as usize].0),
            other => other.clone(),
        };
        if let Some(address) = identity(&original) {
            self.changed.insert(address, copy.clone());
        }
    }

    pub(super) fn delete_node(&mut self, target: NodeId, id: NodeId) -> EvalResult<'a> {
        if let Node::Local(..) | Node::Free(_) = self.tree.node(target) {
            return Ok(Value::Bool(false));
        }
        let reference = self.reference(target)?;
        self.current = id;
        let (object, name) = match reference {
            Reference::Member(object, name) => (object, name),
            Reference::Index(object, index) => (object, self.text_of(&index)?),
            Reference::Slot(..) | Reference::Free(..) | Reference::Constant(_) => {
                return Ok(Value::Bool(false));
            }
        };
        match self.effective(&object) {
            Value::Plain(_) | Value::Json(Json::Object(_)) | Value::Object(_) => {
                let plain = self.writable_object(&object)?;
                self.work(self.heap.plains[plain as usize].members.len())?;
                self.scan(name.len())?;
                self.heap.plains[plain as usize].members.remove(&name);
                Ok(Value::Bool(true))
            }
            Value::Array(_) | Value::Json(_) | Value::List(_) => {
                if let Some(position) = number::index(&name)
                    && self.list_length(&object).is_some_and(|length| position < length)
                {
                    self.set_item(&object, position, Value::Undefined)?;
                }
                Ok(Value::Bool(true))
            }
            Value::Undefined | Value::Null => {
                Err(self.type_error(format!("cannot delete `{}` of nothing", &*name)))
            }
            _ => Ok(Value::Bool(true)),
        }
    }
}
