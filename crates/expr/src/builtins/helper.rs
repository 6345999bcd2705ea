//! The helpers of gates: `contains`, `any`, `isMember`, `memory.get`, …

use serde_json::Value as Json;

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::EvalResult;
use crate::heap::Members;
use crate::value::{Text, Value};

/// Author associations, strongest first.
const ASSOCIATIONS: &[&str] =
    &["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "FIRST_TIME_CONTRIBUTOR", "FIRST_TIMER", "NONE"];

impl<'a> Evaluator<'a> {
    pub(super) fn call_helper(&mut self, helper: Builtin, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let (first, second) = (arguments.get(0), arguments.get(1));
        Ok(match helper {
            Builtin::Contains => {
                Value::Bool(self.in_lower_case(&first, &second, |text, part| text.contains(part))?)
            }
            Builtin::StartsWith => {
                Value::Bool(self.in_lower_case(&first, &second, |text, part| text.starts_with(part))?)
            }
            Builtin::EndsWith => {
                Value::Bool(self.in_lower_case(&first, &second, |text, part| text.ends_with(part))?)
            }
            Builtin::Length => self.length_of(&first)?,
            Builtin::Always | Builtin::Success => Value::Bool(true),
            Builtin::Failure => Value::Bool(false),
            Builtin::Log => Value::Undefined,
            Builtin::HasIssue | Builtin::HasIssueWith => Value::Bool(self.count_issues(arguments, 1)? > 0),
            Builtin::CountIssues => Value::count(self.count_issues(arguments, usize::MAX)?),
            Builtin::HasFileMatching | Builtin::HasFileWith => Value::Bool(self.has_file(&first, &second)?),
            Builtin::Any => {
                Value::Bool(self.count_matching(&first, &second, true)?.is_some_and(|count| count > 0))
            }
            Builtin::None => {
                Value::Bool(self.count_matching(&first, &second, true)?.is_none_or(|count| count == 0))
            }
            Builtin::All => Value::Bool(self.all_match(&first, &second)?),
            Builtin::Count => self.count(&first, &second)?,
            Builtin::IsOwner => Value::Bool(self.scope.author_association() == Some("OWNER")),
            Builtin::IsMember => Value::Bool(self.at_least("MEMBER")),
            Builtin::IsCollaborator => Value::Bool(self.at_least("COLLABORATOR")),
            Builtin::IsContributor => Value::Bool(self.at_least("CONTRIBUTOR")),
            Builtin::IsFirstTimer => Value::Bool(matches!(
                self.scope.author_association(),
                Some("FIRST_TIMER" | "FIRST_TIME_CONTRIBUTOR")
            )),
            Builtin::HasMinPermission => match self.effective(&first) {
                Value::Text(wanted) => Value::Bool(self.at_least(&wanted)),
                _ => Value::Bool(false),
            },
            Builtin::Wave => self.wave(&first)?,
            _ => Value::Undefined,
        })
    }

    fn in_lower_case(
        &mut self,
        text: &Value<'a>,
        part: &Value<'a>,
        test: impl Fn(&str, &str) -> bool,
    ) -> EvalResult<'a, bool> {
        let (text, part) = (self.text_of(text)?, self.text_of(part)?);
        self.charge(text.len() * 2 + part.len() * 2)?;
        self.scan(text.len() + part.len())?;
        Ok(test(&text.to_lowercase(), &part.to_lowercase()))
    }

    fn length_of(&mut self, value: &Value<'a>) -> EvalResult<'a> {
        if let Some(length) = self.list_length(value) {
            return Ok(Value::count(length));
        }
        Ok(match self.effective(value) {
            Value::Text(text) => Value::count(self.text_length(&text)?),
            Value::Json(Json::Object(members)) => Value::count(members.len()),
            other if self.is_object_like(&other) && !other.is_callable() => {
                Value::count(self.keys(&other)?.len())
            }
            _ => Value::Number(0.0),
        })
    }

    /// The number of issues with `field === value`, counted up to `enough`.
    fn count_issues(&mut self, arguments: &Arguments<'a>, enough: usize) -> EvalResult<'a, usize> {
        let (issues, field, wanted) = (arguments.get(0), arguments.get(1), arguments.get(2));
        let length = self.list_length(&issues).unwrap_or(0);
        let mut found = 0;
        for position in 0..length {
            self.step()?;
            let issue = self.list_item(&issues, position);
            let value = self.get_index(&issue, &field)?;
            if self.strict_equal(&value, &wanted)? {
                found += 1;
                if found >= enough {
                    break;
                }
            }
        }
        Ok(found)
    }

    fn has_file(&mut self, issues: &Value<'a>, part: &Value<'a>) -> EvalResult<'a, bool> {
        for position in 0..self.list_length(issues).unwrap_or(0) {
            self.step()?;
            let issue = self.list_item(issues, position);
            let file = self.get_member(&issue, "file")?;
            if file.is_nullish() {
                continue;
            }
            let includes = self.get_member(&file, "includes")?;
            let answer = self.call(&includes, &file, &Arguments::one(part.clone()))?;
            if self.is_truthy(&answer) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an item passes the predicate, or is truthy when no predicate is given.
    fn passes(&mut self, function: &Value<'a>, item: Value<'a>) -> EvalResult<'a, bool> {
        self.step()?;
        if !self.is_truthy(function) {
            return Ok(self.is_truthy(&item));
        }
        let answer = self.call(function, &Value::Undefined, &Arguments::one(item))?;
        Ok(self.is_truthy(&answer))
    }

    /// `None` when the value is not a list.
    fn count_matching(
        &mut self,
        list: &Value<'a>,
        function: &Value<'a>,
        first_only: bool,
    ) -> EvalResult<'a, Option<usize>> {
        self.listable(list)?;
        let Some(length) = self.list_length(list) else { return Ok(None) };
        let mut found = 0;
        for position in 0..length {
            let item = self.list_item(list, position);
            if self.passes(function, item)? {
                found += 1;
                if first_only {
                    break;
                }
            }
        }
        Ok(Some(found))
    }

    fn all_match(&mut self, list: &Value<'a>, function: &Value<'a>) -> EvalResult<'a, bool> {
        self.listable(list)?;
        let Some(length) = self.list_length(list) else { return Ok(false) };
        for position in 0..length {
            let item = self.list_item(list, position);
            if !self.passes(function, item)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn count(&mut self, list: &Value<'a>, function: &Value<'a>) -> EvalResult<'a> {
        self.listable(list)?;
        let Some(length) = self.list_length(list) else { return Ok(Value::Number(0.0)) };
        if !self.is_truthy(function) {
            return Ok(Value::count(length));
        }
        let mut found = 0;
        for position in 0..length {
            let item = self.list_item(list, position);
            let mut arguments = Arguments::two(item, Value::count(position));
            arguments.push(list.clone());
            let answer = self.call(function, &Value::Undefined, &arguments)?;
            found += usize::from(self.is_truthy(&answer));
        }
        Ok(Value::count(found))
    }

    fn at_least(&self, wanted: &str) -> bool {
        let rank = |name: &str| ASSOCIATIONS.iter().position(|known| *known == name);
        match (self.scope.author_association().and_then(rank), rank(wanted)) {
            (Some(have), Some(wanted)) => have <= wanted,
            _ => false,
        }
    }

    /// `wave(check).invalid_count`: how many results in the history of a check are invalid.
    fn wave(&mut self, check: &Value<'a>) -> EvalResult<'a> {
        let scope = self.scope;
        let Some(given) = scope.name("outputs_history") else {
            return Err(self.error(crate::exception::ErrorClass::Reference, "outputs_history is not defined"));
        };
        let history = self.scope_value(given);
        let results = self.get_index(&history, check)?;
        let mut invalid = 0;
        for position in 0..self.list_length(&results).unwrap_or(0) {
            self.step()?;
            let result = self.list_item(&results, position);
            if self.is_truthy(&result) {
                let valid = self.get_member(&result, "is_valid")?;
                invalid += usize::from(matches!(self.effective(&valid), Value::Bool(false)));
            }
        }
        self.charge(128)?;
        let mut members = Members::default();
        members.set(Text::Borrowed("invalid_count"), Value::count(invalid));
        Ok(self.new_plain(members))
    }

    pub(super) fn call_memory(&mut self, member: Builtin, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let position = match member {
            Builtin::MemoryList | Builtin::MemoryGetAll => 0,
            Builtin::MemoryGet | Builtin::MemoryHas => 1,
            _ => 2,
        };
        let namespace = arguments.get(position);
        let namespace =
            if self.is_truthy(&namespace) { self.text_of(&namespace)? } else { Text::Borrowed("default") };
        match member {
            Builtin::MemoryGet => {
                let all = self.memory_of(&namespace)?;
                self.get_index(&all, &arguments.get(0))
            }
            Builtin::MemoryHas => {
                let all = self.memory_of(&namespace)?;
                let key = self.text_of(&arguments.get(0))?;
                Ok(Value::Bool(self.own_member(&all, &key)?.is_some()))
            }
            Builtin::MemoryList => {
                let all = self.memory_of(&namespace)?;
                let keys = self.keys(&all)?.into_iter().map(Value::Text).collect();
                Ok(self.new_array(keys))
            }
            Builtin::MemoryGetAll => self.memory_of(&namespace),
            _ => self.write_memory(member, &namespace, arguments),
        }
    }

    /// All values of a namespace, including those written by this evaluation.
    fn memory_of(&mut self, namespace: &str) -> EvalResult<'a> {
        if let Some(written) = self.written.get(namespace) {
            return Ok(Value::Plain(*written));
        }
        let scope = self.scope;
        match scope.memory(namespace) {
            Some(given) => Ok(self.scope_value(given)),
            None => {
                self.charge(64)?;
                Ok(self.new_plain(Members::default()))
            }
        }
    }

    fn write_memory(
        &mut self,
        member: Builtin,
        namespace: &Text<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        if !self.memory_writable {
            return Err(self.type_error(format!(
                "memory is read only here: `memory.{}` is not available",
                member.name()
            )));
        }
        let key = self.text_of(&arguments.get(0))?;
        let all = self.memory_of(namespace)?;
        let before = self.own_member(&all, &key)?.unwrap_or(Value::Undefined);
        let value = match member {
            Builtin::MemoryIncrement => {
                let step = arguments.get(1);
                let step = if step.is_nullish() { 1.0 } else { self.number_of(&step)? };
                let start = if self.is_truthy(&before) { self.number_of(&before)? } else { 0.0 };
                Value::Number(start + step)
            }
            Builtin::MemoryAppend => {
                let mut items = if before.is_nullish() { Vec::new() } else { self.list_items(&before)? };
                self.charge_values(1)?;
                items.push(arguments.get(1));
                self.new_array(items)
            }
            _ => arguments.get(1),
        };
        let written = self.memory_copy(namespace, &all)?;
        self.work(4)?;
        self.charge(namespace.len() + key.len() + 64)?;
        self.heap.plains[written as usize].members.set(key.clone(), value.clone());
        self.writes.push((namespace.to_string(), key.to_string(), value.clone()));
        Ok(value)
    }

    /// The writable copy of a namespace.
    fn memory_copy(&mut self, namespace: &str, all: &Value<'a>) -> EvalResult<'a, u32> {
        if let Some(written) = self.written.get(namespace) {
            return Ok(*written);
        }
        let keys = self.keys(all)?;
        self.charge_values(keys.len() * 2)?;
        let mut members = Members::with_capacity(keys.len() + 1);
        for key in keys {
            let value = self.own_member(all, &key)?.unwrap_or(Value::Undefined);
            members.set(key, value);
        }
        let Value::Plain(plain) = self.new_plain(members) else {
            return Err(self.type_error("memory is not available"));
        };
        self.written.insert(namespace.to_owned(), plain);
        Ok(plain)
    }
}
