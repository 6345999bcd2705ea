//! The result of an evaluation: a JSON value, or undefined.

use serde_json::{Map, Number, Value as Json};

use crate::evaluate::Evaluator;
use crate::exception::EvalResult;
use crate::number;
use crate::value::Value;

/// The value of a program. Functions have no JSON and count as undefined; numbers that JSON lacks are null.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    value: Option<Json>,
    truthy: bool,
}

impl Answer {
    pub fn is_undefined(&self) -> bool {
        self.value.is_none()
    }

    pub fn json(&self) -> Option<&Json> {
        self.value.as_ref()
    }

    /// `None` is undefined.
    pub fn into_json(self) -> Option<Json> {
        self.value
    }

    /// JavaScript truthiness of the value before its conversion to JSON: NaN and -0 are false, a function is true.
    pub fn is_truthy(&self) -> bool {
        self.truthy
    }
}

/// Dropping a deeper JSON value recursively could overflow the stack.
const DEPTH_MAX: usize = 100;

impl<'a> Evaluator<'a> {
    pub(crate) fn answer(&mut self, value: &Value<'a>) -> EvalResult<'a, Answer> {
        let truthy = self.is_truthy(value);
        let mut open = Vec::new();
        Ok(Answer { value: self.json_of(value, &mut open)?, truthy })
    }

    /// A copy of the value as JSON; `None` for values that JSON omits.
    pub(crate) fn json_of(
        &mut self,
        value: &Value<'a>,
        open: &mut Vec<Value<'a>>,
    ) -> EvalResult<'a, Option<Json>> {
        self.step()?;
        let value = self.effective(value);
        Ok(Some(match &value {
            Value::Undefined | Value::Uninitialized | Value::Function(_) | Value::Cell(_) => return Ok(None),
            Value::Builtin(builtin) if !builtin.is_namespace() => return Ok(None),
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => json_number(*number),
            Value::Text(text) => {
                self.charge(text.len())?;
                Json::String(text.to_string())
            }
            _ => {
                if open.iter().any(|outer| self.same_object(outer, &value)) {
                    return Err(self.type_error("Converting circular structure to JSON"));
                }
                if open.len() >= DEPTH_MAX {
                    return Err(self.error(
                        crate::exception::ErrorClass::Range,
                        format!("the value nests deeper than {DEPTH_MAX} levels"),
                    ));
                }
                self.work(open.len())?;
                open.push(value.clone());
                let json = if self.is_list(&value) {
                    self.list_to_json(&value, open)?
                } else {
                    self.object_to_json(&value, open)?
                };
                open.pop();
                json
            }
        }))
    }

    fn list_to_json(&mut self, value: &Value<'a>, open: &mut Vec<Value<'a>>) -> EvalResult<'a, Json> {
        let length = self.list_length(value).unwrap_or(0);
        self.charge_values(length)?;
        let mut items = Vec::with_capacity(length);
        for position in 0..length {
            let item = self.list_item(value, position);
            items.push(self.json_of(&item, open)?.unwrap_or(Json::Null));
        }
        Ok(Json::Array(items))
    }

    fn object_to_json(&mut self, value: &Value<'a>, open: &mut Vec<Value<'a>>) -> EvalResult<'a, Json> {
        let keys = self.keys(value)?;
        self.charge_values(keys.len() * 3)?;
        let mut members = Map::with_capacity(keys.len());
        for key in keys {
            let member = self.own_member(value, &key)?.unwrap_or(Value::Undefined);
            if let Some(json) = self.json_of(&member, open)? {
                self.charge(key.len())?;
                members.insert(key.to_string(), json);
            }
        }
        Ok(Json::Object(members))
    }
}

/// Whole numbers as integers, so that `3` is written `3`.
fn json_number(value: f64) -> Json {
    if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 {
        return Json::Number(number::to_integer(value).into());
    }
    Number::from_f64(value).map_or(Json::Null, Json::Number)
}
