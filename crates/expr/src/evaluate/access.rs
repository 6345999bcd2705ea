//! Reads of lists and objects, whether they live in the scope or on the heap.

use serde_json::Value as Json;

use super::Evaluator;
use crate::builtins::{Builtin, Group};
use crate::exception::EvalResult;
use crate::heap::CollectionKind;
use crate::number;
use crate::scope::{List, Object, ScopeValue, member};
use crate::value::{Text, Value};

/// Names that lead to prototypes in JavaScript. Here they are undefined and cannot be set.
pub(crate) fn is_prototype_name(name: &str) -> bool {
    matches!(name, "__proto__" | "constructor" | "prototype")
}

impl<'a> Evaluator<'a> {
    /// The value without the extra members of a record, and with the changes that the program made to it.
    pub(crate) fn effective(&self, value: &Value<'a>) -> Value<'a> {
        let value = match value {
            Value::Record(record) => Value::json(self.heap.records[*record as usize].0),
            other => other.clone(),
        };
        if self.changed.is_empty() {
            return value;
        }
        match identity(&value).and_then(|address| self.changed.get(&address)) {
            Some(changed) => changed.clone(),
            None => value,
        }
    }

    /// The length of a list; `None` for anything else.
    pub(crate) fn list_length(&self, value: &Value<'a>) -> Option<usize> {
        match self.effective(value) {
            Value::Array(array) => Some(self.heap.arrays[array as usize].items.len()),
            Value::Json(Json::Array(items)) => Some(items.len()),
            Value::List(list) => Some(list.len()),
            _ => None,
        }
    }

    pub(crate) fn list_item(&mut self, value: &Value<'a>, position: usize) -> Value<'a> {
        match self.effective(value) {
            Value::Array(array) => {
                self.heap.arrays[array as usize].items.get(position).cloned().unwrap_or(Value::Undefined)
            }
            Value::Json(Json::Array(items)) => items.get(position).map_or(Value::Undefined, Value::json),
            Value::List(list) => {
                list.item(position).map_or(Value::Undefined, |given| self.scope_value(given))
            }
            _ => Value::Undefined,
        }
    }

    /// All items of a list, charged.
    pub(crate) fn list_items(&mut self, value: &Value<'a>) -> EvalResult<'a, Vec<Value<'a>>> {
        let length = self.list_length(value).unwrap_or(0);
        self.charge_values(length)?;
        Ok((0..length).map(|position| self.list_item(value, position)).collect())
    }

    pub(crate) fn is_list(&self, value: &Value<'a>) -> bool {
        self.list_length(value).is_some()
    }

    /// `value.name`
    pub(crate) fn get_member(&mut self, value: &Value<'a>, name: &str) -> EvalResult<'a> {
        match value {
            // The common case first: an unchanged object of the scope.
            Value::Json(Json::Object(members)) if self.changed.is_empty() => {
                Ok(member(members, name).map_or_else(|| object_method(name), Value::json))
            }
            Value::Undefined | Value::Null => {
                let what = if matches!(value, Value::Null) { "null" } else { "undefined" };
                Err(self.type_error(format!("Cannot read properties of {what} (reading '{name}')")))
            }
            Value::Record(record) => {
                let (json, extra) = self.heap.records[*record as usize];
                if let Some(own) = self.own_member(value, name)? {
                    return Ok(own);
                }
                let inner = Value::json(json);
                let inherited = match &inner {
                    Value::Undefined | Value::Null => Value::Undefined,
                    // What the text lacks, the record may have.
                    Value::Text(_) => self.inherited(&inner, name),
                    _ => self.get_member(&inner, name)?,
                };
                if !matches!(inherited, Value::Undefined) {
                    return Ok(inherited);
                }
                match (extra.member(name), &inner) {
                    (Some(given), _) => Ok(self.scope_value(given)),
                    (None, Value::Null) => self.get_member(&inner, name),
                    (None, _) => self.missing_member(&inner, name),
                }
            }
            other => {
                if let Value::Object(object) = other
                    && let Some(ScopeValue::Unreadable(why)) = object.member(name)
                {
                    return Err(self.type_error(format!("Cannot read '{name}': {why}")));
                }
                if let Some(own) = self.own_member(other, name)? {
                    return Ok(own);
                }
                let plain = self.effective(other);
                match self.inherited(&plain, name) {
                    Value::Undefined => self.missing_member(&plain, name),
                    inherited => Ok(inherited),
                }
            }
        }
    }

    /// A member that belongs to the value itself.
    pub(crate) fn own_member(&mut self, value: &Value<'a>, name: &str) -> EvalResult<'a, Option<Value<'a>>> {
        // Names are compared.
        self.scan(name.len())?;
        Ok(match self.effective(value) {
            Value::Json(Json::Object(members)) => member(members, name).map(Value::json),
            Value::Plain(plain) => self.heap.plains[plain as usize].members.get(name).cloned(),
            Value::Object(object) => object.member(name).map(|given| self.scope_value(given)),
            Value::Text(text) => match (name, number::index(name)) {
                ("length", _) => Some(Value::count(self.text_length(&text)?)),
                (_, Some(position)) => self.text_unit(&text, position)?,
                (_, None) => None,
            },
            Value::Collection(_)
            | Value::Function(_)
            | Value::Builtin(_)
            | Value::Regex(_)
            | Value::Undefined
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Record(_)
            | Value::Uninitialized
            | Value::Cell(_) => None,
            list @ (Value::Array(_) | Value::List(_) | Value::Json(_)) => self.own_list_member(&list, name),
        })
    }

    fn own_list_member(&mut self, list: &Value<'a>, name: &str) -> Option<Value<'a>> {
        let length = self.list_length(list)?;
        if name == "length" {
            return Some(Value::count(length));
        }
        if let Some(position) = number::index(name) {
            return (position < length).then(|| self.list_item(list, position));
        }
        match list {
            Value::Array(array) => {
                let extra = self.heap.arrays[*array as usize].extra.as_ref();
                extra.and_then(|extra| extra.get(name)).cloned()
            }
            _ => None,
        }
    }

    /// Methods, and non-enumerable members such as `size`.
    fn inherited(&mut self, value: &Value<'a>, name: &str) -> Value<'a> {
        let method = |group| Builtin::method(group, name).map_or(Value::Undefined, Value::Builtin);
        match value {
            Value::Text(_) => method(Group::TextMethod),
            Value::Number(_) => method(Group::NumberMethod),
            Value::Bool(_) => method(Group::BoolMethod),
            Value::Array(_) | Value::List(_) | Value::Json(Json::Array(_)) => {
                Builtin::method(Group::ArrayMethod, name).map_or_else(|| object_method(name), Value::Builtin)
            }
            Value::Plain(plain) => match &self.heap.plains[*plain as usize].error {
                Some(error) if name == "message" => Value::Text(error.message.clone()),
                Some(error) if name == "name" => Value::borrowed(error.kind.name()),
                Some(_) | None => object_method(name),
            },
            Value::Json(_) | Value::Object(_) => object_method(name),
            Value::Function(function) => match name {
                "length" => {
                    let id = self.heap.functions[*function as usize].function;
                    Value::count(self.tree.function(id).parameters.len())
                }
                _ => method(Group::FunctionMethod),
            },
            Value::Builtin(builtin) => match builtin.constant(name) {
                Some(constant) => Value::Number(constant),
                None if name == "name" => Value::borrowed(builtin.name()),
                None => builtin.member(name).map_or(Value::Undefined, Value::Builtin),
            },
            Value::Regex(regex) => {
                let object = &self.heap.regexes[*regex as usize];
                match name {
                    "source" => Value::text(&*object.pattern.source),
                    "flags" => Value::text(&*object.pattern.flags),
                    "global" => Value::Bool(object.pattern.global),
                    "lastIndex" => Value::count(object.last_index),
                    _ => method(Group::RegexMethod),
                }
            }
            Value::Collection(collection) => {
                let collection = &self.heap.collections[*collection as usize];
                match (name, collection.kind) {
                    ("size", _) => Value::count(collection.index.len()),
                    (_, CollectionKind::Set) => method(Group::SetMethod),
                    (_, CollectionKind::Map) => method(Group::MapMethod),
                }
            }
            Value::Undefined | Value::Null | Value::Record(_) | Value::Uninitialized | Value::Cell(_) => {
                Value::Undefined
            }
        }
    }

    /// `value[index]`
    pub(crate) fn get_index(&mut self, value: &Value<'a>, index: &Value<'a>) -> EvalResult<'a> {
        if value.is_nullish() {
            let name = self.text_of(index)?;
            return self.get_member(value, &name);
        }
        if let Value::Number(number) = index
            && let Some(position) = number::index_of(*number)
        {
            if self.is_list(value) {
                return Ok(self.list_item(value, position));
            }
            if let Value::Text(text) = self.effective(value) {
                return Ok(self.text_unit(&text, position)?.unwrap_or(Value::Undefined));
            }
        }
        let name = self.text_of(index)?;
        self.scan(name.len())?;
        self.get_member(value, &name)
    }

    /// The names of a value's own members in JavaScript's order: indexes first, then by insertion.
    pub(crate) fn keys(&mut self, value: &Value<'a>) -> EvalResult<'a, Vec<Text<'a>>> {
        if let Some(length) = self.list_length(value) {
            self.charge_values(length)?;
            self.charge(length * 8)?;
            return Ok((0..length).map(|position| Text::Shared(position.to_string().into())).collect());
        }
        let keys: Vec<Text<'a>> = match self.effective(value) {
            Value::Json(Json::Object(members)) => {
                self.charge_values(members.len())?;
                members.keys().map(|name| Text::Borrowed(name)).collect()
            }
            Value::Plain(plain) => {
                self.charge_values(self.heap.plains[plain as usize].members.len())?;
                self.heap.plains[plain as usize].members.iter().map(|(name, _)| name.clone()).collect()
            }
            Value::Object(object) => {
                let names = object.names();
                self.charge_values(names.len())?;
                names.into_iter().map(Text::Borrowed).collect()
            }
            Value::Text(text) => {
                self.text_members(&text)?;
                let length = self.text_length(&text)?;
                self.charge_values(length * 2)?;
                (0..length).map(|position| Text::Shared(position.to_string().into())).collect()
            }
            _ => Vec::new(),
        };
        Ok(in_order(keys))
    }

    /// A value's own members, in the order of `keys`.
    pub(crate) fn members(&mut self, value: &Value<'a>) -> EvalResult<'a, Vec<(Text<'a>, Value<'a>)>> {
        let keys = self.keys(value)?;
        self.charge_values(keys.len() * 2)?;
        if let Value::Text(text) = self.effective(value) {
            return Ok(keys.into_iter().zip(self.text_units(&text)?).collect());
        }
        let mut members = Vec::with_capacity(keys.len());
        for key in keys {
            let member = self.own_member(value, &key)?.unwrap_or(Value::Undefined);
            members.push((key, member));
        }
        Ok(members)
    }

    pub(crate) fn is_object_like(&self, value: &Value<'a>) -> bool {
        !matches!(
            self.effective(value),
            Value::Undefined
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Text(_)
                | Value::Uninitialized
                | Value::Cell(_)
        )
    }
}

/// Index-like names come first, by number.
fn in_order(keys: Vec<Text<'_>>) -> Vec<Text<'_>> {
    if !keys.iter().any(|key| number::is_index(key)) {
        return keys;
    }
    let (mut indexes, names): (Vec<_>, Vec<_>) = keys.into_iter().partition(|key| number::is_index(key));
    indexes.sort_by_key(|key| number::index(key));
    indexes.extend(names);
    indexes
}

fn object_method<'a>(name: &str) -> Value<'a> {
    Builtin::method(Group::ObjectMethod, name).map_or(Value::Undefined, Value::Builtin)
}

/// The address of a value of the scope, by which changes to it are found. Values on the heap have none.
pub(crate) fn identity(value: &Value<'_>) -> Option<usize> {
    match value {
        Value::Json(json) => Some(std::ptr::from_ref::<Json>(json).addr()),
        Value::Object(object) => Some(std::ptr::from_ref::<dyn Object>(*object).cast::<()>().addr()),
        Value::List(list) => Some(std::ptr::from_ref::<dyn List>(*list).cast::<()>().addr()),
        Value::Undefined
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Record(_)
        | Value::Array(_)
        | Value::Plain(_)
        | Value::Function(_)
        | Value::Builtin(_)
        | Value::Regex(_)
        | Value::Collection(_)
        | Value::Uninitialized
        | Value::Cell(_) => None,
    }
}
