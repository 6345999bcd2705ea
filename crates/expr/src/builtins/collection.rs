//! `Set` and `Map`.

use std::collections::BTreeMap;

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator, handle, identity};
use crate::exception::EvalResult;
use crate::heap::{Collection, CollectionKey, CollectionKind};
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn new_collection(&mut self, kind: CollectionKind, source: &Value<'a>) -> EvalResult<'a> {
        self.charge(128)?;
        self.heap.collections.push(Collection { kind, entries: Vec::new(), index: BTreeMap::new() });
        let id = handle(self.heap.collections.len() - 1);
        if source.is_nullish() {
            return Ok(Value::Collection(id));
        }
        for item in self.iterate(source)? {
            let (key, value) = match kind {
                CollectionKind::Set => (item.clone(), item),
                CollectionKind::Map => {
                    if !self.is_object_like(&item) {
                        let what = self.describe(&item);
                        return Err(self.type_error(format!("{what} is not an entry")));
                    }
                    (self.get_index(&item, &Value::Number(0.0))?, self.get_index(&item, &Value::Number(1.0))?)
                }
            };
            self.put(id, key, value)?;
        }
        Ok(Value::Collection(id))
    }

    fn put(&mut self, id: u32, key: Value<'a>, value: Value<'a>) -> EvalResult<'a, ()> {
        self.work(6)?;
        self.charge_key(&key)?;
        let index_key = self.collection_key(&key);
        if let Some(&position) = self.heap.collections[id as usize].index.get(&index_key) {
            self.heap.collections[id as usize].entries[position] = Some((key, value));
            return Ok(());
        }
        self.charge(128)?;
        let collection = &mut self.heap.collections[id as usize];
        collection.index.insert(index_key, collection.entries.len());
        collection.entries.push(Some((key, value)));
        Ok(())
    }

    /// A key that is a text is compared with others.
    fn charge_key(&mut self, key: &Value<'a>) -> EvalResult<'a, ()> {
        match self.effective(key) {
            Value::Text(text) => self.scan(text.len()),
            _ => Ok(()),
        }
    }

    fn collection_key(&self, value: &Value<'a>) -> CollectionKey<'a> {
        match value {
            Value::Undefined | Value::Uninitialized => CollectionKey::Undefined,
            Value::Null => CollectionKey::Null,
            Value::Bool(value) => CollectionKey::Bool(*value),
            Value::Number(number) if *number == 0.0 => CollectionKey::Number(0),
            Value::Number(number) if number.is_nan() => CollectionKey::Number(u64::MAX),
            Value::Number(number) => CollectionKey::Number(number.to_bits()),
            Value::Text(text) => CollectionKey::Text(text.clone()),
            Value::Array(id) => CollectionKey::Identity(0, *id as usize),
            Value::Plain(id) => CollectionKey::Identity(1, *id as usize),
            Value::Function(id) => CollectionKey::Identity(2, *id as usize),
            Value::Regex(id) => CollectionKey::Identity(3, *id as usize),
            Value::Collection(id) => CollectionKey::Identity(4, *id as usize),
            Value::Builtin(builtin) => CollectionKey::Identity(5, *builtin as usize),
            Value::Cell(id) => CollectionKey::Identity(6, *id as usize),
            Value::Record(record) => self.collection_key(&Value::json(self.heap.records[*record as usize].0)),
            Value::Json(_) | Value::Object(_) | Value::List(_) => {
                CollectionKey::Identity(7, identity(value).unwrap_or(0))
            }
        }
    }

    pub(super) fn call_collection(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let Value::Collection(id) = *this else {
            return Err(self.type_error(format!("`{}` needs a Set or a Map", method.name())));
        };
        let first = arguments.get(0);
        let position = {
            self.work(2)?;
            self.charge_key(&first)?;
            let key = self.collection_key(&first);
            self.heap.collections[id as usize].index.get(&key).copied()
        };
        match method {
            Builtin::SetAdd => {
                if position.is_none() {
                    self.put(id, first.clone(), first)?;
                }
                Ok(this.clone())
            }
            Builtin::MapSet => {
                self.put(id, first, arguments.get(1))?;
                Ok(this.clone())
            }
            Builtin::SetHas | Builtin::MapHas => Ok(Value::Bool(position.is_some())),
            Builtin::MapGet => {
                let entry = position
                    .and_then(|position| self.heap.collections[id as usize].entries[position].clone());
                Ok(entry.map_or(Value::Undefined, |(_, value)| value))
            }
            Builtin::SetDelete | Builtin::MapDelete => {
                if let Some(position) = position {
                    let key = self.collection_key(&first);
                    let collection = &mut self.heap.collections[id as usize];
                    collection.entries[position] = None;
                    collection.index.remove(&key);
                }
                Ok(Value::Bool(position.is_some()))
            }
            Builtin::SetClear | Builtin::MapClear => {
                let collection = &mut self.heap.collections[id as usize];
                collection.entries.iter_mut().for_each(|entry| *entry = None);
                collection.index.clear();
                Ok(Value::Undefined)
            }
            Builtin::SetForEach | Builtin::MapForEach => self.for_each_entry(id, this, &first),
            _ => self.listed_entries(id, method),
        }
    }

    fn for_each_entry(&mut self, id: u32, this: &Value<'a>, function: &Value<'a>) -> EvalResult<'a> {
        let mut position = 0;
        while position < self.heap.collections[id as usize].entries.len() {
            self.step()?;
            if let Some((key, value)) = self.heap.collections[id as usize].entries[position].clone() {
                let mut arguments = Arguments::two(value, key);
                arguments.push(this.clone());
                self.call(function, &Value::Undefined, &arguments)?;
            }
            position += 1;
        }
        Ok(Value::Undefined)
    }

    fn listed_entries(&mut self, id: u32, method: Builtin) -> EvalResult<'a> {
        let count = self.heap.collections[id as usize].entries.len();
        self.charge_values(count * 3)?;
        let entries: Vec<_> = self.heap.collections[id as usize].entries.iter().flatten().cloned().collect();
        let mut items = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            items.push(match method {
                Builtin::MapValues | Builtin::SetValues => value,
                Builtin::MapEntries | Builtin::SetEntries => self.new_array(vec![key, value]),
                _ => key,
            });
        }
        Ok(self.new_array(items))
    }
}
