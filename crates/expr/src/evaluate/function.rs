//! Calls.

use std::rc::Rc;

use super::statement::Completion;
use super::{Evaluator, handle};
use crate::exception::EvalResult;
use crate::heap::{Closure, CollectionKind};
use crate::tree::{Body, Frame, Function, FunctionId, Item, Target};
use crate::value::Value;

/// Arguments of a call; two or fewer need no allocation.
pub(crate) struct Arguments<'a> {
    few: [Value<'a>; 2],
    more: Vec<Value<'a>>,
    count: usize,
}

impl<'a> Arguments<'a> {
    pub(crate) fn none() -> Arguments<'a> {
        Arguments { few: [Value::Undefined, Value::Undefined], more: Vec::new(), count: 0 }
    }

    pub(crate) fn one(value: Value<'a>) -> Arguments<'a> {
        Arguments { few: [value, Value::Undefined], more: Vec::new(), count: 1 }
    }

    pub(crate) fn two(first: Value<'a>, second: Value<'a>) -> Arguments<'a> {
        Arguments { few: [first, second], more: Vec::new(), count: 2 }
    }

    pub(crate) fn push(&mut self, value: Value<'a>) {
        match self.few.get_mut(self.count) {
            Some(free) => *free = value,
            None => self.more.push(value),
        }
        self.count += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn get(&self, position: usize) -> Value<'a> {
        let found = if position < 2 { self.few.get(position) } else { self.more.get(position - 2) };
        found.cloned().unwrap_or(Value::Undefined)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.count).map(|position| self.get(position))
    }

    pub(crate) fn from(&self, start: usize) -> Vec<Value<'a>> {
        (start..self.count).map(|position| self.get(position)).collect()
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn run_main(&mut self, main: &'a Function) -> EvalResult<'a> {
        self.stack.resize_with(main.slots as usize, || Value::Uninitialized);
        self.enter_frame(&main.frame)?;
        self.run_body(main)
    }

    fn run_body(&mut self, function: &'a Function) -> EvalResult<'a> {
        match &function.body {
            Body::Expression(node) => self.evaluate(*node),
            Body::Block(body) => {
                for statement in body {
                    if let Completion::Return(value) = self.execute(*statement)? {
                        return Ok(value);
                    }
                }
                Ok(Value::Undefined)
            }
        }
    }

    /// Allocates cells for the captured variables of a block, and creates its functions.
    pub(super) fn enter_frame(&mut self, frame: &'a Frame) -> EvalResult<'a, ()> {
        for slot in &frame.vars {
            self.stack[self.base + *slot as usize] = Value::Undefined;
        }
        for slot in &frame.cells {
            self.charge(super::VALUE_BYTES)?;
            let position = self.base + *slot as usize;
            let value = std::mem::replace(&mut self.stack[position], Value::Uninitialized);
            // A parameter keeps its value; a cell of an earlier iteration is replaced by a new one.
            let value = if matches!(value, Value::Cell(_)) { Value::Uninitialized } else { value };
            self.heap.cells.push(value);
            self.stack[position] = Value::Cell(handle(self.heap.cells.len() - 1));
        }
        for (_, slot, function) in &frame.functions {
            let value = self.closure(*function)?;
            self.write_slot(*slot, value);
        }
        Ok(())
    }

    pub(super) fn closure(&mut self, id: FunctionId) -> EvalResult<'a> {
        let function = self.tree.function(id);
        self.charge(32 + function.captures.len() * 4)?;
        let captured: Rc<[u32]> = function.captures.iter().map(|(outer, _)| self.cell_of(*outer)).collect();
        self.heap.functions.push(Closure { function: id, captured });
        Ok(Value::Function(handle(self.heap.functions.len() - 1)))
    }

    /// The cell in a slot, created on first use.
    fn cell_of(&mut self, slot: u32) -> u32 {
        let position = self.base + slot as usize;
        if let Value::Cell(cell) = self.stack[position] {
            return cell;
        }
        let value = std::mem::replace(&mut self.stack[position], Value::Uninitialized);
        self.heap.cells.push(value);
        let cell = handle(self.heap.cells.len() - 1);
        self.stack[position] = Value::Cell(cell);
        cell
    }

    pub(crate) fn call(
        &mut self,
        callee: &Value<'a>,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        match callee {
            Value::Function(function) => self.call_closure(*function, arguments),
            Value::Builtin(builtin) if !builtin.is_namespace() => {
                self.step()?;
                self.call_builtin(*builtin, this, arguments)
            }
            _ => Err(self.type_error("what is called is not a function")),
        }
    }

    fn call_closure(&mut self, function: u32, arguments: &Arguments<'a>) -> EvalResult<'a> {
        self.step()?;
        // A call takes as much native stack as several nested sub-expressions.
        const CALL_DEPTH: u32 = 6;
        self.descend_by(CALL_DEPTH)?;
        let (base, start, current) = (self.base, self.stack.len(), self.current);
        let result = self.call_in_frame(function, arguments);
        self.stack.truncate(start);
        self.base = base;
        self.current = current;
        self.ascend_by(CALL_DEPTH);
        result
    }

    fn call_in_frame(&mut self, id: u32, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let closure = &self.heap.functions[id as usize];
        let function = self.tree.function(closure.function);
        let start = self.stack.len();
        if function.simple {
            for position in 0..function.parameters.len() {
                self.stack.push(arguments.get(position));
            }
        }
        self.stack.resize_with(start + function.slots as usize, || Value::Uninitialized);
        for (position, (_, inner)) in function.captures.iter().enumerate() {
            self.stack[start + *inner as usize] =
                Value::Cell(self.heap.functions[id as usize].captured[position]);
        }
        self.base = start;
        if let Some(slot) = function.self_slot {
            self.stack[start + slot as usize] = Value::Function(id);
        }
        self.enter_frame(&function.frame)?;
        if !function.simple {
            self.bind_parameters(function, arguments)?;
        }
        self.run_body(function)
    }

    fn bind_parameters(&mut self, function: &'a Function, arguments: &Arguments<'a>) -> EvalResult<'a, ()> {
        for (position, target) in function.parameters.iter().enumerate() {
            self.assign_target(*target, arguments.get(position))?;
        }
        if let Some(rest) = function.rest {
            let items = arguments.from(function.parameters.len());
            self.charge_values(items.len())?;
            let rest_value = self.new_array(items);
            self.assign_target(rest, rest_value)?;
        }
        Ok(())
    }

    pub(super) fn arguments(&mut self, items: &'a [Item]) -> EvalResult<'a, Arguments<'a>> {
        let mut arguments = Arguments::none();
        for item in items {
            match item {
                Item::One(node) => {
                    let value = self.evaluate(*node)?;
                    arguments.push(value);
                }
                Item::Spread(node) => {
                    let value = self.evaluate(*node)?;
                    self.current = *node;
                    let values = self.iterate(&value)?;
                    for value in values {
                        arguments.push(value);
                    }
                }
            }
        }
        Ok(arguments)
    }

    /// The items of an iterable, for `for…of`, spread and destructuring.
    pub(crate) fn iterate(&mut self, value: &Value<'a>) -> EvalResult<'a, Vec<Value<'a>>> {
        if let Some(length) = self.list_length(value) {
            self.charge_values(length)?;
            return Ok((0..length).map(|position| self.list_item(value, position)).collect());
        }
        match self.effective(value) {
            Value::Text(text) => {
                self.text_members(&text)?;
                self.walk(text.len())?;
                let count = text.chars().count();
                self.charge_values(count)?;
                self.charge(count * 4)?;
                Ok(text.chars().map(|c| Value::text(c.encode_utf8(&mut [0; 4]) as &str)).collect())
            }
            Value::Collection(collection) => {
                let (kind, count) = (
                    self.heap.collections[collection as usize].kind,
                    self.heap.collections[collection as usize].entries.len(),
                );
                self.charge_values(count * 3)?;
                let entries: Vec<_> =
                    self.heap.collections[collection as usize].entries.iter().flatten().cloned().collect();
                Ok(entries
                    .into_iter()
                    .map(|(key, value)| match kind {
                        CollectionKind::Set => key,
                        CollectionKind::Map => self.new_array(vec![key, value]),
                    })
                    .collect())
            }
            other => {
                let what = self.describe(&other);
                Err(self.type_error(format!("{what} is not iterable")))
            }
        }
    }

    /// The slot of a target that is a local variable, for fast paths.
    pub(super) fn slot_of(&self, target: crate::tree::TargetId) -> Option<u32> {
        match self.tree.target(target) {
            Target::Simple(node) => match self.tree.node(*node) {
                crate::tree::Node::Local(slot, _) => Some(*slot),
                _ => None,
            },
            _ => None,
        }
    }
}
