//! Methods of arrays that read them, and the functions of `Array`.

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::{ErrorClass, EvalResult};
use crate::number;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn call_array(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let first = arguments.get(0);
        match method {
            Builtin::ArraySome
            | Builtin::ArrayEvery
            | Builtin::ArrayFind
            | Builtin::ArrayFindIndex
            | Builtin::ArrayFindLast
            | Builtin::ArrayFindLastIndex
            | Builtin::ArrayFilter
            | Builtin::ArrayMap
            | Builtin::ArrayForEach
            | Builtin::ArrayFlatMap
            | Builtin::ArrayReduce
            | Builtin::ArrayReduceRight => self.walk_array(method, this, arguments),
            Builtin::ArrayPush
            | Builtin::ArrayPop
            | Builtin::ArrayShift
            | Builtin::ArrayUnshift
            | Builtin::ArraySplice
            | Builtin::ArrayReverse
            | Builtin::ArrayFill
            | Builtin::ArraySort => self.change_array(method, this, arguments),
            Builtin::ArrayIncludes | Builtin::ArrayIndexOf | Builtin::ArrayLastIndexOf => {
                self.search_array(method, this, arguments)
            }
            Builtin::ArrayJoin => {
                let separator = if matches!(first, Value::Undefined) {
                    crate::value::Text::Borrowed(",")
                } else {
                    self.text_of(&first)?
                };
                Ok(Value::Text(self.join(this, &separator)?))
            }
            Builtin::ArrayToString => Ok(Value::Text(self.join(this, ",")?)),
            Builtin::ArraySlice => {
                let length = self.list_length(this).unwrap_or(0);
                let start = self.relative(&first, length, 0)?;
                let end = self.relative(&arguments.get(1), length, length)?;
                self.charge_values(end.saturating_sub(start))?;
                let items = (start..end).map(|position| self.list_item(this, position)).collect();
                Ok(self.new_array(items))
            }
            Builtin::ArrayAt => {
                let length = self.list_length(this).unwrap_or(0);
                let position = number::to_integer(self.number_of(&first)?);
                let position =
                    if position < 0 { position + i64::try_from(length).unwrap_or(0) } else { position };
                Ok(usize::try_from(position)
                    .map_or(Value::Undefined, |position| self.list_item(this, position)))
            }
            Builtin::ArrayConcat => {
                let mut items = self.list_items(this)?;
                for value in arguments.iter() {
                    if self.is_list(&value) {
                        items.extend(self.list_items(&value)?);
                    } else {
                        self.charge_values(1)?;
                        items.push(value);
                    }
                }
                Ok(self.new_array(items))
            }
            Builtin::ArrayFlat => {
                let depth = number::to_integer(self.number_or(&first, 1.0)?);
                let mut items = Vec::new();
                self.flatten(this, depth, &mut items)?;
                Ok(self.new_array(items))
            }
            Builtin::ArrayKeys => {
                let length = self.list_length(this).unwrap_or(0);
                self.charge_values(length)?;
                Ok(self.new_array((0..length).map(Value::count).collect()))
            }
            Builtin::ArrayEntries => {
                let items = self.list_items(this)?;
                self.charge_values(items.len() * 3)?;
                let pairs = items
                    .into_iter()
                    .enumerate()
                    .map(|(position, item)| self.new_array(vec![Value::count(position), item]))
                    .collect();
                Ok(self.new_array(pairs))
            }
            Builtin::ArrayToSorted => {
                let items = self.list_items(this)?;
                let sorted = self.sorted(items, &first)?;
                Ok(self.new_array(sorted))
            }
            // The remaining methods change a copy.
            _ => {
                let items = self.list_items(this)?;
                let copy = self.new_array(items);
                self.change_copy(method, copy, arguments)
            }
        }
    }

    fn change_copy(&mut self, method: Builtin, copy: Value<'a>, arguments: &Arguments<'a>) -> EvalResult<'a> {
        match method {
            Builtin::ArrayToReversed => self.change_array(Builtin::ArrayReverse, &copy, arguments),
            Builtin::ArrayToSpliced => {
                self.change_array(Builtin::ArraySplice, &copy, arguments)?;
                Ok(copy)
            }
            Builtin::ArrayWith => {
                let length = self.list_length(&copy).unwrap_or(0);
                let position = number::to_integer(self.number_of(&arguments.get(0))?);
                let position =
                    if position < 0 { position + i64::try_from(length).unwrap_or(0) } else { position };
                match usize::try_from(position) {
                    Ok(position) if position < length => {
                        let array = self.writable_array(&copy)?;
                        self.heap.arrays[array as usize].items[position] = arguments.get(1);
                        Ok(copy)
                    }
                    Ok(_) | Err(_) => Err(self.error(ErrorClass::Range, "Invalid index")),
                }
            }
            _ => Ok(copy),
        }
    }

    /// A position given as an argument, where negative counts from the end.
    pub(crate) fn relative(
        &mut self,
        value: &Value<'a>,
        length: usize,
        default: usize,
    ) -> EvalResult<'a, usize> {
        if matches!(value, Value::Undefined) {
            return Ok(default);
        }
        let position = number::to_integer(self.number_of(value)?);
        let length_signed = i64::try_from(length).unwrap_or(i64::MAX);
        let position = if position < 0 {
            position.saturating_add(length_signed).max(0)
        } else {
            position.min(length_signed)
        };
        Ok(usize::try_from(position).unwrap_or(0))
    }

    fn flatten(&mut self, list: &Value<'a>, depth: i64, into: &mut Vec<Value<'a>>) -> EvalResult<'a, ()> {
        self.descend()?;
        for position in 0..self.list_length(list).unwrap_or(0) {
            self.step()?;
            let item = self.list_item(list, position);
            if depth > 0 && self.is_list(&item) {
                self.flatten(&item, depth - 1, into)?;
            } else {
                self.charge_values(1)?;
                into.push(item);
            }
        }
        self.ascend();
        Ok(())
    }

    fn search_array(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let wanted = arguments.get(0);
        let length = self.list_length(this).unwrap_or(0);
        if method == Builtin::ArrayLastIndexOf {
            let end = if arguments.len() > 1 {
                self.relative(&arguments.get(1), length, length)?.saturating_add(1).min(length)
            } else {
                length
            };
            for position in (0..end).rev() {
                self.step()?;
                let item = self.list_item(this, position);
                if self.strict_equal(&item, &wanted)? {
                    return Ok(Value::count(position));
                }
            }
            return Ok(Value::Number(-1.0));
        }
        let start = self.relative(&arguments.get(1), length, 0)?;
        for position in start..length {
            self.step()?;
            let item = self.list_item(this, position);
            if method == Builtin::ArrayIncludes {
                if self.same_value_zero(&item, &wanted)? {
                    return Ok(Value::Bool(true));
                }
            } else if self.strict_equal(&item, &wanted)? {
                return Ok(Value::count(position));
            }
        }
        Ok(if method == Builtin::ArrayIncludes { Value::Bool(false) } else { Value::Number(-1.0) })
    }

    pub(super) fn call_array_member(
        &mut self,
        function: Builtin,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        match function {
            Builtin::ArrayIsArray => Ok(Value::Bool(self.is_list(&arguments.get(0)))),
            Builtin::ArrayOf => {
                self.charge_values(arguments.len())?;
                Ok(self.new_array(arguments.from(0)))
            }
            _ => self.array_from(arguments),
        }
    }

    fn array_from(&mut self, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let (source, function) = (arguments.get(0), arguments.get(1));
        let plain = self.effective(&source);
        let iterable = self.is_list(&plain) || matches!(plain, Value::Text(_) | Value::Collection(_));
        let mut items = if iterable {
            self.iterate(&source)?
        } else if plain.is_nullish() {
            let what = self.describe(&plain);
            return Err(self.type_error(format!("{what} is not iterable")));
        } else {
            let length = self.get_member(&source, "length")?;
            let length =
                usize::try_from(number::to_integer(self.number_of(&length)?).max(0)).unwrap_or(usize::MAX);
            self.charge_values(length)?;
            let mut items = Vec::with_capacity(length);
            for position in 0..length {
                items.push(self.get_index(&source, &Value::count(position))?);
            }
            items
        };
        if !matches!(function, Value::Undefined) {
            for (position, place) in items.iter_mut().enumerate() {
                let item = std::mem::replace(place, Value::Undefined);
                *place =
                    self.call(&function, &Value::Undefined, &Arguments::two(item, Value::count(position)))?;
            }
        }
        Ok(self.new_array(items))
    }

    /// `Array(3)` and `Array(1, 2)`.
    pub(super) fn new_array_of(&mut self, arguments: &Arguments<'a>) -> EvalResult<'a> {
        if let (1, Value::Number(length)) = (arguments.len(), arguments.get(0)) {
            let Some(length) = number::index_of(length) else {
                return Err(self.error(ErrorClass::Range, "Invalid array length"));
            };
            self.charge_values(length)?;
            return Ok(self.new_array(vec![Value::Undefined; length]));
        }
        self.charge_values(arguments.len())?;
        Ok(self.new_array(arguments.from(0)))
    }
}
