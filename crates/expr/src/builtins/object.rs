//! The functions of `Object`, and the methods that every object has.

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::EvalResult;
use crate::heap::Members;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn call_object(
        &mut self,
        function: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let first = arguments.get(0);
        match function {
            Builtin::ObjectKeys | Builtin::ObjectValues | Builtin::ObjectEntries => {
                self.listed(function, &first)
            }
            Builtin::ObjectAssign => self.assign_members(arguments),
            Builtin::ObjectFromEntries => self.object_of_entries(&first),
            Builtin::ObjectFreeze => {
                if let Value::Plain(plain) = first {
                    self.heap.plains[plain as usize].frozen = true;
                }
                Ok(first)
            }
            Builtin::ObjectIsFrozen => Ok(Value::Bool(match first {
                Value::Plain(plain) => self.heap.plains[plain as usize].frozen,
                other => !self.is_object_like(&other),
            })),
            Builtin::ObjectHasOwn => {
                if self.effective(&first).is_nullish() {
                    return Err(self.type_error("Cannot convert undefined or null to object"));
                }
                let name = self.text_of(&arguments.get(1))?;
                Ok(Value::Bool(self.has_own(&first, &name)?))
            }
            Builtin::ObjectHasOwnProperty | Builtin::ObjectPropertyIsEnumerable => {
                let name = self.text_of(&first)?;
                Ok(Value::Bool(self.has_own(this, &name)?))
            }
            Builtin::ObjectIs => Ok(Value::Bool(self.is_same(&first, &arguments.get(1))?)),
            Builtin::ObjectValueOf => Ok(this.clone()),
            _ => Ok(Value::Text(self.text_of(this)?)),
        }
    }

    fn has_own(&mut self, value: &Value<'a>, name: &str) -> EvalResult<'a, bool> {
        if self.own_member(value, name)?.is_some() {
            return Ok(true);
        }
        let value = self.effective(value);
        self.missing_member(&value, name)?;
        Ok(false)
    }

    fn is_same(&mut self, left: &Value<'a>, right: &Value<'a>) -> EvalResult<'a, bool> {
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                Ok((left.is_nan() && right.is_nan()) || left.to_bits() == right.to_bits())
            }
            _ => self.strict_equal(left, right),
        }
    }

    fn listed(&mut self, function: Builtin, value: &Value<'a>) -> EvalResult<'a> {
        if self.effective(value).is_nullish() {
            return Err(self.type_error("Cannot convert undefined or null to object"));
        }
        if function == Builtin::ObjectKeys {
            let keys = self.keys(value)?;
            self.charge_values(keys.len())?;
            return Ok(self.new_array(keys.into_iter().map(Value::Text).collect()));
        }
        let members = self.members(value)?;
        self.charge_values(members.len())?;
        let mut items = Vec::with_capacity(members.len());
        for (key, member) in members {
            if function == Builtin::ObjectValues {
                items.push(member);
                continue;
            }
            self.charge_values(3)?;
            let pair = self.new_array(vec![Value::Text(key), member]);
            items.push(pair);
        }
        Ok(self.new_array(items))
    }

    fn assign_members(&mut self, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let target = arguments.get(0);
        if self.effective(&target).is_nullish() {
            return Err(self.type_error("Cannot convert undefined or null to object"));
        }
        for source in arguments.from(1) {
            for (key, member) in self.members(&source)? {
                self.set_member(&target, key, member)?;
            }
        }
        Ok(target)
    }

    fn object_of_entries(&mut self, entries: &Value<'a>) -> EvalResult<'a> {
        let mut members = Members::default();
        for entry in self.iterate(entries)? {
            if !self.is_object_like(&entry) {
                let what = self.describe(&entry);
                return Err(self.type_error(format!("{what} is not an entry")));
            }
            let (key, value) =
                (self.get_index(&entry, &Value::Number(0.0))?, self.get_index(&entry, &Value::Number(1.0))?);
            let key = self.text_of(&key)?;
            self.charge_values(2)?;
            self.scan(key.len())?;
            members.set(key, value);
        }
        Ok(self.new_plain(members))
    }
}
