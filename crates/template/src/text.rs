//! Formats a value as text: a string as it is, every other value as compact JSON.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use crate::absent::is_absent;
use crate::budget::{Budget, too_deep, too_long};
use crate::limits::{NODE_UNITS, OUTPUT_BYTES_MAX, VALUE_DEPTH_MAX};

/// The text of a value. Charges the budget.
pub(crate) fn text_of(value: &Value, budget: &Budget) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        budget.charge_bytes(text.len())?;
        return Ok(text.to_owned());
    }
    if is_absent(value) {
        return Ok(String::new());
    }
    json_of(value, budget, None)
}

/// The JSON of a value; with `indent`, over several lines.
pub(crate) fn json_of(value: &Value, budget: &Budget, indent: Option<usize>) -> Result<String, Error> {
    let mut writer = JsonWriter { out: String::new(), budget, indent };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct JsonWriter<'a> {
    out: String,
    budget: &'a Budget,
    indent: Option<usize>,
}

impl JsonWriter<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > VALUE_DEPTH_MAX {
            return Err(too_deep());
        }
        self.budget.charge(NODE_UNITS)?;
        match value.kind() {
            _ if is_absent(value) => self.put("\"\""),
            ValueKind::Undefined => Err(undefined(value)),
            ValueKind::None => self.put("null"),
            ValueKind::Bool => self.put(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.put(&number_text(value)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => {
                let mut first = true;
                self.put("[")?;
                for item in value.try_iter()? {
                    self.next(&mut first, depth + 1)?;
                    self.value(&item, depth + 1)?;
                }
                self.close(first, depth, "]")
            }
            ValueKind::Map => {
                let mut first = true;
                self.put("{")?;
                for key in value.try_iter()? {
                    self.next(&mut first, depth + 1)?;
                    match key.as_str() {
                        Some(text) => self.string(text)?,
                        None => self.string(&json_of(&key, self.budget, None)?)?,
                    }
                    self.put(if self.indent.is_some() { ": " } else { ":" })?;
                    self.value(&value.get_item(&key)?, depth + 1)?;
                }
                self.close(first, depth, "}")
            }
            ValueKind::Plain | ValueKind::Bytes | ValueKind::Invalid => Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("a {} cannot be written as text", value.kind()),
            )),
            other => Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("a value of kind {other} cannot be written as text"),
            )),
        }
    }

    fn next(&mut self, first: &mut bool, depth: usize) -> Result<(), Error> {
        if !std::mem::take(first) {
            self.put(",")?;
        }
        self.line(depth)
    }

    fn close(&mut self, empty: bool, depth: usize, bracket: &str) -> Result<(), Error> {
        if !empty {
            self.line(depth)?;
        }
        self.put(bracket)
    }

    fn line(&mut self, depth: usize) -> Result<(), Error> {
        match self.indent {
            Some(width) => {
                self.put("\n")?;
                self.put(&" ".repeat(width * depth))
            }
            None => Ok(()),
        }
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        self.budget.charge_bytes(text.len())?;
        let json = serde_json::to_string(text)
            .map_err(|cause| Error::new(ErrorKind::BadSerialization, cause.to_string()))?;
        self.put(&json)
    }

    fn put(&mut self, text: &str) -> Result<(), Error> {
        self.budget.charge_bytes(text.len())?;
        if self.out.len() + text.len() > OUTPUT_BYTES_MAX {
            return Err(too_long());
        }
        self.out.push_str(text);
        Ok(())
    }
}

/// A number as JSON prints it. JSON has no infinity and no NaN: they are `null`, as in JavaScript.
fn number_text(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    match f64::try_from(value.clone()) {
        Ok(number) => serde_json::Value::from(number).to_string(),
        Err(_) => value.to_string(),
    }
}

/// The error for the use of an undefined value. Asking for a member makes minijinja create an error that names the
/// origin of the value.
pub(crate) fn undefined(value: &Value) -> Error {
    value.get_attr("").err().unwrap_or_else(|| Error::from(ErrorKind::UndefinedError))
}
