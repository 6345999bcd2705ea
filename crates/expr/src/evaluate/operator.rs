//! Operators on values.

use std::cmp::Ordering;

use super::Evaluator;
use crate::builtins::Builtin;
use crate::exception::{ErrorClass, EvalResult};
use crate::heap::CollectionKind;
use crate::number::{to_int32, to_uint32};
use crate::tree::Binary;
use crate::value::{Text, Value};

impl<'a> Evaluator<'a> {
    pub(super) fn binary(&mut self, operator: Binary, left: &Value<'a>, right: &Value<'a>) -> EvalResult<'a> {
        Ok(match operator {
            Binary::StrictEqual => Value::Bool(self.strict_equal(left, right)?),
            Binary::StrictNotEqual => Value::Bool(!self.strict_equal(left, right)?),
            Binary::LooseEqual => Value::Bool(self.loose_equal(left, right)?),
            Binary::LooseNotEqual => Value::Bool(!self.loose_equal(left, right)?),
            Binary::Less => Value::Bool(self.compare(left, right)? == Some(Ordering::Less)),
            Binary::Greater => Value::Bool(self.compare(left, right)? == Some(Ordering::Greater)),
            Binary::LessEqual => {
                Value::Bool(matches!(self.compare(left, right)?, Some(Ordering::Less | Ordering::Equal)))
            }
            Binary::GreaterEqual => {
                Value::Bool(matches!(self.compare(left, right)?, Some(Ordering::Greater | Ordering::Equal)))
            }
            Binary::Add => self.add(left, right)?,
            Binary::In => Value::Bool(self.has(left, right)?),
            Binary::InstanceOf => Value::Bool(self.instance_of(left, right)?),
            Binary::Subtract
            | Binary::Multiply
            | Binary::Divide
            | Binary::Remainder
            | Binary::Power
            | Binary::BitAnd
            | Binary::BitOr
            | Binary::BitXor
            | Binary::ShiftLeft
            | Binary::ShiftRight
            | Binary::ShiftRightZero => {
                let (left, right) = (self.number_of(left)?, self.number_of(right)?);
                Value::Number(arithmetic(operator, left, right))
            }
        })
    }

    fn add(&mut self, left: &Value<'a>, right: &Value<'a>) -> EvalResult<'a> {
        if let (Value::Number(left), Value::Number(right)) = (left, right) {
            return Ok(Value::Number(left + right));
        }
        let (left, right) = (self.primitive_of(left)?, self.primitive_of(right)?);
        if matches!(left, Value::Text(_)) || matches!(right, Value::Text(_)) {
            let (left, right) = (self.text_of(&left)?, self.text_of(&right)?);
            return Ok(Value::Text(self.concatenate(&left, &right)?));
        }
        Ok(Value::Number(self.number_of(&left)? + self.number_of(&right)?))
    }

    pub(crate) fn concatenate(&mut self, left: &Text<'a>, right: &Text<'a>) -> EvalResult<'a, Text<'a>> {
        if right.is_empty() {
            return Ok(left.clone());
        }
        if left.is_empty() {
            return Ok(right.clone());
        }
        let length = left.len() + right.len();
        self.charge(length)?;
        let mut text = String::with_capacity(length);
        text.push_str(left);
        text.push_str(right);
        Ok(Text::Shared(text.into()))
    }

    /// `name in object`
    fn has(&mut self, name: &Value<'a>, object: &Value<'a>) -> EvalResult<'a, bool> {
        if !self.is_object_like(object) {
            let what = self.describe(object);
            return Err(self.type_error(format!("`in` needs an object on its right, not {what}")));
        }
        let name = self.text_of(name)?;
        if self.own_member(object, &name)?.is_some() {
            return Ok(true);
        }
        Ok(!matches!(self.get_member(object, &name)?, Value::Undefined))
    }

    fn instance_of(&mut self, value: &Value<'a>, class: &Value<'a>) -> EvalResult<'a, bool> {
        let Value::Builtin(class) = class else {
            if class.is_callable() {
                return Ok(false);
            }
            return Err(self.type_error("`instanceof` needs a constructor on its right"));
        };
        if class.is_namespace() {
            return Err(self.type_error("`instanceof` needs a constructor on its right"));
        }
        let value = self.effective(value);
        let kind = match &value {
            Value::Plain(plain) => self.heap.plains[*plain as usize].error.as_ref().map(|error| error.kind),
            _ => None,
        };
        let collection = match &value {
            Value::Collection(collection) => Some(self.heap.collections[*collection as usize].kind),
            _ => None,
        };
        Ok(match class {
            Builtin::Array => self.is_list(&value),
            Builtin::Object => self.is_object_like(&value),
            Builtin::Error => kind.is_some(),
            Builtin::TypeError => kind == Some(ErrorClass::Type),
            Builtin::RangeError => kind == Some(ErrorClass::Range),
            Builtin::ReferenceError => kind == Some(ErrorClass::Reference),
            Builtin::SyntaxError => kind == Some(ErrorClass::Syntax),
            Builtin::UriError => kind == Some(ErrorClass::Uri),
            Builtin::Set => collection == Some(CollectionKind::Set),
            Builtin::Map => collection == Some(CollectionKind::Map),
            Builtin::RegExp => matches!(value, Value::Regex(_)),
            _ => false,
        })
    }
}

fn arithmetic(operator: Binary, left: f64, right: f64) -> f64 {
    match operator {
        Binary::Subtract => left - right,
        Binary::Multiply => left * right,
        Binary::Divide => left / right,
        Binary::Remainder => left % right,
        Binary::Power => power(left, right),
        Binary::BitAnd => f64::from(to_int32(left) & to_int32(right)),
        Binary::BitOr => f64::from(to_int32(left) | to_int32(right)),
        Binary::BitXor => f64::from(to_int32(left) ^ to_int32(right)),
        Binary::ShiftLeft => f64::from(to_int32(left).wrapping_shl(to_uint32(right) & 31)),
        Binary::ShiftRight => f64::from(to_int32(left).wrapping_shr(to_uint32(right) & 31)),
        Binary::ShiftRightZero => f64::from(to_uint32(left).wrapping_shr(to_uint32(right) & 31)),
        Binary::Add
        | Binary::LooseEqual
        | Binary::LooseNotEqual
        | Binary::StrictEqual
        | Binary::StrictNotEqual
        | Binary::Less
        | Binary::LessEqual
        | Binary::Greater
        | Binary::GreaterEqual
        | Binary::In
        | Binary::InstanceOf => f64::NAN,
    }
}

/// JavaScript gives NaN where IEEE gives 1.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    if exponent.is_nan() || (base.abs() == 1.0 && exponent.is_infinite()) {
        f64::NAN
    } else {
        base.powf(exponent)
    }
}
