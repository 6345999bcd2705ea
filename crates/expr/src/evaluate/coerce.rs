//! JavaScript's conversions.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::Evaluator;
use super::access::identity;
use crate::exception::EvalResult;
use crate::heap::CollectionKind;
use crate::number;
use crate::utf16;
use crate::value::{Text, Value};

/// The text of a plain object.
const OBJECT_TEXT: &str = "[object Object]";

impl<'a> Evaluator<'a> {
    pub(crate) fn is_truthy(&self, value: &Value<'a>) -> bool {
        match value {
            Value::Undefined | Value::Null | Value::Uninitialized => false,
            Value::Bool(value) => *value,
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::Text(text) => !text.is_empty(),
            Value::Record(_) => self.is_truthy(&self.effective(value)),
            Value::Json(_)
            | Value::Object(_)
            | Value::List(_)
            | Value::Array(_)
            | Value::Plain(_)
            | Value::Function(_)
            | Value::Builtin(_)
            | Value::Regex(_)
            | Value::Collection(_)
            | Value::Cell(_) => true,
        }
    }

    pub(crate) fn type_of(&self, value: &Value<'a>) -> &'static str {
        match value {
            Value::Undefined | Value::Uninitialized => "undefined",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::Text(_) => "string",
            Value::Function(_) => "function",
            Value::Builtin(builtin) => {
                if builtin.is_namespace() {
                    "object"
                } else {
                    "function"
                }
            }
            Value::Record(_) => self.type_of(&self.effective(value)),
            Value::Null
            | Value::Json(_)
            | Value::Object(_)
            | Value::List(_)
            | Value::Array(_)
            | Value::Plain(_)
            | Value::Regex(_)
            | Value::Collection(_)
            | Value::Cell(_) => "object",
        }
    }

    pub(crate) fn number_of(&mut self, value: &Value<'a>) -> EvalResult<'a, f64> {
        Ok(match value {
            Value::Undefined | Value::Uninitialized => f64::NAN,
            Value::Null => 0.0,
            Value::Bool(value) => f64::from(u8::from(*value)),
            Value::Number(number) => *number,
            Value::Text(text) => {
                self.scan(text.len())?;
                number::from_text(text)
            }
            other => {
                let text = self.text_of(other)?;
                if matches!(self.effective(other), Value::Null) {
                    return Ok(0.0);
                }
                if let Value::Bool(value) = self.effective(other) {
                    return Ok(f64::from(u8::from(value)));
                }
                number::from_text(&text)
            }
        })
    }

    /// The argument as a number, or `default` when it is absent.
    pub(crate) fn number_or(&mut self, value: &Value<'a>, default: f64) -> EvalResult<'a, f64> {
        if matches!(value, Value::Undefined) { Ok(default) } else { self.number_of(value) }
    }

    /// The value as a primitive: objects become their text.
    pub(crate) fn primitive_of(&mut self, value: &Value<'a>) -> EvalResult<'a> {
        let value = self.effective(value);
        if self.is_object_like(&value) { Ok(Value::Text(self.text_of(&value)?)) } else { Ok(value) }
    }

    pub(crate) fn text_of(&mut self, value: &Value<'a>) -> EvalResult<'a, Text<'a>> {
        Ok(match value {
            Value::Text(text) => text.clone(),
            Value::Undefined | Value::Uninitialized => Text::Borrowed("undefined"),
            Value::Null => Text::Borrowed("null"),
            Value::Bool(true) => Text::Borrowed("true"),
            Value::Bool(false) => Text::Borrowed("false"),
            Value::Number(number) => {
                self.charge(24)?;
                Text::Shared(number::to_text(*number).into())
            }
            other => self.object_text(other)?,
        })
    }

    #[inline(never)]
    fn object_text(&mut self, value: &Value<'a>) -> EvalResult<'a, Text<'a>> {
        Ok(match self.effective(value) {
            Value::Array(_) | Value::List(_) | Value::Json(Json::Array(_)) => self.join(value, ",")?,
            Value::Json(_) | Value::Object(_) => Text::Borrowed(OBJECT_TEXT),
            Value::Plain(plain) => {
                if self.heap.plains[plain as usize].error.is_none() {
                    return Ok(Text::Borrowed(OBJECT_TEXT));
                }
                self.error_text(value)?
            }
            Value::Function(_) => Text::Borrowed("function"),
            Value::Builtin(builtin) => match builtin.is_namespace() {
                true => Text::Shared(format!("[object {}]", builtin.name()).into()),
                false => Text::Shared(format!("function {}() {{ [native code] }}", builtin.name()).into()),
            },
            Value::Regex(regex) => {
                let pattern = self.heap.regexes[regex as usize].pattern.clone();
                self.charge(pattern.source.len() + 10)?;
                Text::Shared(format!("/{}/{}", pattern.source, pattern.flags).into())
            }
            Value::Collection(collection) => {
                Text::Borrowed(match self.heap.collections[collection as usize].kind {
                    CollectionKind::Set => "[object Set]",
                    CollectionKind::Map => "[object Map]",
                })
            }
            scalar => return self.text_of(&scalar),
        })
    }

    /// `TypeError: what happened`
    fn error_text(&mut self, value: &Value<'a>) -> EvalResult<'a, Text<'a>> {
        // The program may have assigned anything to `message`, even the error itself.
        self.descend_by(3)?;
        let (name, message) = (self.get_member(value, "name")?, self.get_member(value, "message")?);
        let (name, message) = (self.text_of(&name)?, self.text_of(&message)?);
        self.ascend_by(3);
        self.charge(name.len() + message.len() + 2)?;
        if message.is_empty() {
            return Ok(name);
        }
        Ok(Text::Shared(format!("{}: {}", &*name, &*message).into()))
    }

    /// `list.join(separator)`
    pub(crate) fn join(&mut self, list: &Value<'a>, separator: &str) -> EvalResult<'a, Text<'a>> {
        self.work(4 + self.joining.len() / 2)?;
        if self.joining.iter().any(|outer| self.same_object(outer, list)) {
            return Ok(Text::Borrowed(""));
        }
        self.descend_by(3)?;
        self.joining.push(list.clone());
        let result = self.join_inside(list, separator);
        self.joining.pop();
        self.ascend_by(3);
        result
    }

    fn join_inside(&mut self, list: &Value<'a>, separator: &str) -> EvalResult<'a, Text<'a>> {
        let length = self.list_length(list).unwrap_or(0);
        self.charge(separator.len().saturating_mul(length))?;
        let mut text = String::new();
        for position in 0..length {
            self.step()?;
            if position > 0 {
                text.push_str(separator);
            }
            let item = self.list_item(list, position);
            let item = self.effective(&item);
            if !item.is_nullish() {
                let part = self.text_of(&item)?;
                self.charge(part.len())?;
                text.push_str(&part);
            }
        }
        Ok(Text::Shared(text.into()))
    }

    pub(crate) fn same_object(&self, left: &Value<'a>, right: &Value<'a>) -> bool {
        match (left, right) {
            (Value::Array(left), Value::Array(right))
            | (Value::Plain(left), Value::Plain(right))
            | (Value::Function(left), Value::Function(right))
            | (Value::Regex(left), Value::Regex(right))
            | (Value::Collection(left), Value::Collection(right)) => left == right,
            (Value::Builtin(left), Value::Builtin(right)) => left == right,
            (left, right) => match (identity(left), identity(right)) {
                (Some(left), Some(right)) => left == right,
                _ => false,
            },
        }
    }

    /// A record compares as its value; a changed value of the scope keeps its identity.
    fn without_record(&self, value: &Value<'a>) -> Value<'a> {
        match value {
            Value::Record(record) => Value::json(self.heap.records[*record as usize].0),
            other => other.clone(),
        }
    }

    pub(crate) fn strict_equal(&mut self, left: &Value<'a>, right: &Value<'a>) -> EvalResult<'a, bool> {
        Ok(match (left, right) {
            (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Number(left), Value::Number(right)) => left == right,
            (Value::Text(left), Value::Text(right)) => {
                if left.len() == right.len() {
                    self.scan(left.len())?;
                }
                left == right
            }
            (Value::Record(_), _) | (_, Value::Record(_)) => {
                let (left, right) = (self.without_record(left), self.without_record(right));
                self.strict_equal(&left, &right)?
            }
            (left, right) => self.same_object(left, right),
        })
    }

    /// Like `===`, but NaN is itself: what `includes` and collections use.
    pub(crate) fn same_value_zero(&mut self, left: &Value<'a>, right: &Value<'a>) -> EvalResult<'a, bool> {
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                Ok(left == right || (left.is_nan() && right.is_nan()))
            }
            _ => self.strict_equal(left, right),
        }
    }

    pub(crate) fn loose_equal(&mut self, left: &Value<'a>, right: &Value<'a>) -> EvalResult<'a, bool> {
        let (left, right) = (self.without_record(left), self.without_record(right));
        Ok(match (&left, &right) {
            (Value::Undefined | Value::Null, Value::Undefined | Value::Null) => true,
            (Value::Undefined | Value::Null, _) | (_, Value::Undefined | Value::Null) => false,
            (Value::Bool(_), Value::Bool(_))
            | (Value::Number(_), Value::Number(_))
            | (Value::Text(_), Value::Text(_)) => self.strict_equal(&left, &right)?,
            (
                Value::Bool(_) | Value::Number(_) | Value::Text(_),
                Value::Bool(_) | Value::Number(_) | Value::Text(_),
            ) => self.number_of(&left)? == self.number_of(&right)?,
            _ => {
                let (left_is_object, right_is_object) =
                    (self.is_object_like(&left), self.is_object_like(&right));
                if left_is_object && right_is_object {
                    return Ok(self.same_object(&left, &right));
                }
                let (left, right) = (self.primitive_of(&left)?, self.primitive_of(&right)?);
                self.loose_equal(&left, &right)?
            }
        })
    }

    /// Orders two values as `<` and its relatives do; `None` when a side is NaN.
    pub(crate) fn compare(
        &mut self,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> EvalResult<'a, Option<Ordering>> {
        if let (Value::Number(left), Value::Number(right)) = (left, right) {
            return Ok(left.partial_cmp(right));
        }
        let (left, right) = (self.primitive_of(left)?, self.primitive_of(right)?);
        if let (Value::Text(left), Value::Text(right)) = (&left, &right) {
            self.scan(left.len().min(right.len()))?;
            return Ok(Some(utf16::compare(left, right)));
        }
        Ok(self.number_of(&left)?.partial_cmp(&self.number_of(&right)?))
    }

    /// The name of a value in an error message.
    pub(crate) fn describe(&self, value: &Value<'a>) -> String {
        match self.effective(value) {
            Value::Undefined | Value::Uninitialized => "undefined".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(value) => number::to_text(value),
            Value::Text(text) if text.len() <= 40 => format!("\"{}\"", &*text),
            Value::Text(_) => "a text".to_owned(),
            Value::Array(_) | Value::List(_) | Value::Json(Json::Array(_)) => "an array".to_owned(),
            Value::Builtin(builtin) => format!("`{}`", builtin.name()),
            Value::Function(_) => "a function".to_owned(),
            Value::Plain(_)
            | Value::Json(_)
            | Value::Object(_)
            | Value::Regex(_)
            | Value::Collection(_)
            | Value::Record(_)
            | Value::Cell(_) => "an object".to_owned(),
        }
    }
}
