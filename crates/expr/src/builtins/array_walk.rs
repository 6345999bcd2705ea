//! Methods of arrays that call a function for each item, and sorting.

use std::cmp::Ordering;

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::EvalResult;
use crate::utf16;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn walk_array(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let function = arguments.get(0);
        if !function.is_callable() {
            let what = self.describe(&function);
            return Err(self.type_error(format!("{what} is not a function")));
        }
        let length = self.list_length(this).unwrap_or(0);
        match method {
            Builtin::ArrayReduce | Builtin::ArrayReduceRight => self.reduce(method, this, arguments, length),
            Builtin::ArrayFindLast | Builtin::ArrayFindLastIndex => {
                self.find_last(method, this, &function, length)
            }
            Builtin::ArrayFilter | Builtin::ArrayMap | Builtin::ArrayFlatMap => {
                self.collect(method, this, &function, length)
            }
            _ => self.search_with(method, this, &function, length),
        }
    }

    /// Calls the function with an item, its position and the list.
    fn call_with_item(
        &mut self,
        function: &Value<'a>,
        item: Value<'a>,
        position: usize,
        list: &Value<'a>,
    ) -> EvalResult<'a> {
        self.step()?;
        let mut arguments = Arguments::two(item, Value::count(position));
        // Only functions with three parameters get the list: a third argument takes an allocation.
        if self.wants_three(function) {
            arguments.push(list.clone());
        }
        self.call(function, &Value::Undefined, &arguments)
    }

    fn wants_three(&self, function: &Value<'a>) -> bool {
        match function {
            Value::Function(function) => {
                let function = self.tree.function(self.heap.functions[*function as usize].function);
                function.parameters.len() > 2 || function.rest.is_some()
            }
            _ => true,
        }
    }

    fn search_with(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        function: &Value<'a>,
        length: usize,
    ) -> EvalResult<'a> {
        for position in 0..length {
            let item = self.list_item(this, position);
            let answer = self.call_with_item(function, item.clone(), position, this)?;
            let yes = self.is_truthy(&answer);
            match method {
                Builtin::ArraySome if yes => return Ok(Value::Bool(true)),
                Builtin::ArrayEvery if !yes => return Ok(Value::Bool(false)),
                Builtin::ArrayFind if yes => return Ok(item),
                Builtin::ArrayFindIndex if yes => return Ok(Value::count(position)),
                _ => {}
            }
        }
        Ok(match method {
            Builtin::ArraySome => Value::Bool(false),
            Builtin::ArrayEvery => Value::Bool(true),
            Builtin::ArrayFindIndex => Value::Number(-1.0),
            _ => Value::Undefined,
        })
    }

    fn find_last(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        function: &Value<'a>,
        length: usize,
    ) -> EvalResult<'a> {
        for position in (0..length).rev() {
            let item = self.list_item(this, position);
            let answer = self.call_with_item(function, item.clone(), position, this)?;
            if self.is_truthy(&answer) {
                return Ok(if method == Builtin::ArrayFindLast { item } else { Value::count(position) });
            }
        }
        Ok(if method == Builtin::ArrayFindLast { Value::Undefined } else { Value::Number(-1.0) })
    }

    fn collect(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        function: &Value<'a>,
        length: usize,
    ) -> EvalResult<'a> {
        let mut items = Vec::new();
        for position in 0..length {
            let item = self.list_item(this, position);
            let answer = self.call_with_item(function, item.clone(), position, this)?;
            match method {
                Builtin::ArrayMap => {
                    self.charge_values(1)?;
                    items.push(answer);
                }
                Builtin::ArrayFilter => {
                    if self.is_truthy(&answer) {
                        self.charge_values(1)?;
                        items.push(item);
                    }
                }
                _ if self.is_list(&answer) => items.extend(self.list_items(&answer)?),
                _ => {
                    self.charge_values(1)?;
                    items.push(answer);
                }
            }
        }
        Ok(self.new_array(items))
    }

    fn reduce(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
        length: usize,
    ) -> EvalResult<'a> {
        let function = arguments.get(0);
        let mut positions: Box<dyn Iterator<Item = usize>> =
            if method == Builtin::ArrayReduce { Box::new(0..length) } else { Box::new((0..length).rev()) };
        let mut sum = if arguments.len() > 1 {
            arguments.get(1)
        } else {
            match positions.next() {
                Some(position) => self.list_item(this, position),
                None => return Err(self.type_error("Reduce of empty array with no initial value")),
            }
        };
        for position in positions {
            self.step()?;
            let item = self.list_item(this, position);
            let mut passed = Arguments::two(sum, item);
            passed.push(Value::count(position));
            passed.push(this.clone());
            sum = self.call(&function, &Value::Undefined, &passed)?;
        }
        Ok(sum)
    }

    /// A stable merge sort, which terminates even when the comparison function is inconsistent.
    pub(super) fn sorted(
        &mut self,
        items: Vec<Value<'a>>,
        function: &Value<'a>,
    ) -> EvalResult<'a, Vec<Value<'a>>> {
        if !matches!(function, Value::Undefined) && !function.is_callable() {
            return Err(self.type_error("what compares must be a function"));
        }
        // Undefined sorts last and is not passed to the comparison function.
        let (mut rest, undefined): (Vec<_>, Vec<_>) =
            items.into_iter().partition(|item| !matches!(item, Value::Undefined));
        let mut keyed = Vec::with_capacity(rest.len());
        for item in rest.drain(..) {
            let text = if matches!(function, Value::Undefined) { Some(self.text_of(&item)?) } else { None };
            keyed.push((item, text));
        }
        let mut width = 1;
        while width < keyed.len() {
            self.charge_values(keyed.len())?;
            let mut merged = Vec::with_capacity(keyed.len());
            for chunk in keyed.chunks(width * 2) {
                let (left, right) = chunk.split_at(width.min(chunk.len()));
                let (mut i, mut j) = (0, 0);
                while i < left.len() && j < right.len() {
                    let order = match (&left[i].1, &right[j].1) {
                        (Some(left), Some(right)) => {
                            self.work(2 + left.len().min(right.len()) / 64)?;
                            utf16::compare(left, right)
                        }
                        _ => self.ask(function, &left[i].0, &right[j].0)?,
                    };
                    if order == Ordering::Greater {
                        merged.push(right[j].clone());
                        j += 1;
                    } else {
                        merged.push(left[i].clone());
                        i += 1;
                    }
                }
                merged.extend_from_slice(&left[i..]);
                merged.extend_from_slice(&right[j..]);
            }
            keyed = merged;
            width *= 2;
        }
        Ok(keyed.into_iter().map(|(item, _)| item).chain(undefined).collect())
    }

    fn ask(&mut self, function: &Value<'a>, left: &Value<'a>, right: &Value<'a>) -> EvalResult<'a, Ordering> {
        let answer = self.call(function, &Value::Undefined, &Arguments::two(left.clone(), right.clone()))?;
        let answer = self.number_of(&answer)?;
        Ok(answer.partial_cmp(&0.0).unwrap_or(Ordering::Equal))
    }
}
