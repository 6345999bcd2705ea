//! `JSON.parse` and `JSON.stringify`.

use serde_json::Value as Json;

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::{ErrorClass, EvalResult};
use crate::heap::Members;
use crate::number;
use crate::value::{Text, Value};

/// The options of `JSON.stringify`.
struct StringifyOptions<'a> {
    indent: String,
    /// The members to write, when the replacer is a list.
    only: Option<Vec<Text<'a>>>,
    replacer: Option<Value<'a>>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn call_json(&mut self, function: Builtin, arguments: &Arguments<'a>) -> EvalResult<'a> {
        if function == Builtin::JsonParse {
            let text = self.text_of(&arguments.get(0))?;
            let value = self.parse_json(&text)?;
            let reviver = arguments.get(1);
            return if reviver.is_callable() {
                self.revive(&reviver, Text::Borrowed(""), value)
            } else {
                Ok(value)
            };
        }
        let options = self.options(&arguments.get(1), &arguments.get(2))?;
        let mut text = String::new();
        let mut open = Vec::new();
        let written =
            self.write_json(&Text::Borrowed(""), &arguments.get(0), &options, &mut open, &mut text)?;
        if written { self.new_text(text) } else { Ok(Value::Undefined) }
    }

    pub(crate) fn parse_json(&mut self, text: &str) -> EvalResult<'a> {
        // An upper bound for what the parser builds. It refuses nesting beyond 128 levels itself.
        self.scan(text.len().saturating_mul(4))?;
        self.charge(text.len().saturating_mul(8))?;
        match serde_json::from_str::<Json>(text) {
            Ok(json) => self.adopt(json),
            Err(error) => {
                let message = json_message(text, &error);
                Err(self.error(ErrorClass::Syntax, message))
            }
        }
    }

    /// Moves a parsed JSON value onto the heap.
    fn adopt(&mut self, json: Json) -> EvalResult<'a> {
        self.step()?;
        Ok(match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Value::text(text),
            Json::Array(items) => {
                self.descend()?;
                self.charge_values(items.len())?;
                let items = items.into_iter().map(|item| self.adopt(item)).collect::<Result<Vec<_>, _>>()?;
                self.ascend();
                self.new_array(items)
            }
            Json::Object(entries) => {
                self.descend()?;
                self.charge_values(entries.len() * 2)?;
                let mut members = Members::with_capacity(entries.len());
                for (name, value) in entries {
                    let value = self.adopt(value)?;
                    members.set(Text::Shared(name.into()), value);
                }
                self.ascend();
                self.new_plain(members)
            }
        })
    }

    fn revive(&mut self, reviver: &Value<'a>, key: Text<'a>, value: Value<'a>) -> EvalResult<'a> {
        self.descend()?;
        if self.is_object_like(&value) {
            for name in self.keys(&value)? {
                let member = self.own_member(&value, &name)?.unwrap_or(Value::Undefined);
                let member = self.revive(reviver, name.clone(), member)?;
                self.set_member(&value, name, member)?;
            }
        }
        let result = self.call(reviver, &Value::Undefined, &Arguments::two(Value::Text(key), value))?;
        self.ascend();
        Ok(result)
    }

    fn options(&mut self, replacer: &Value<'a>, space: &Value<'a>) -> EvalResult<'a, StringifyOptions<'a>> {
        let indent = match self.effective(space) {
            Value::Number(count) => {
                " ".repeat(usize::try_from(number::to_integer(count).clamp(0, 10)).unwrap_or(0))
            }
            Value::Text(text) => text.chars().take(10).collect(),
            _ => String::new(),
        };
        let only = if self.is_list(replacer) {
            let mut names = Vec::new();
            for item in self.list_items(replacer)? {
                names.push(self.text_of(&item)?);
            }
            Some(names)
        } else {
            None
        };
        Ok(StringifyOptions { indent, only, replacer: replacer.is_callable().then(|| replacer.clone()) })
    }

    /// Writes a value; returns false for values that JSON omits.
    fn write_json(
        &mut self,
        key: &Text<'a>,
        value: &Value<'a>,
        options: &StringifyOptions<'a>,
        open: &mut Vec<Value<'a>>,
        text: &mut String,
    ) -> EvalResult<'a, bool> {
        self.step()?;
        let value = match &options.replacer {
            Some(replacer) => self.call(
                replacer,
                &Value::Undefined,
                &Arguments::two(Value::Text(key.clone()), value.clone()),
            )?,
            None => value.clone(),
        };
        let value = self.effective(&value);
        match &value {
            Value::Undefined | Value::Uninitialized | Value::Function(_) | Value::Cell(_) => {
                return Ok(false);
            }
            Value::Builtin(builtin) if !builtin.is_namespace() => return Ok(false),
            Value::Null => self.push(text, "null")?,
            Value::Bool(value) => self.push(text, if *value { "true" } else { "false" })?,
            Value::Number(number) if number.is_finite() => self.push(text, &number::to_text(*number))?,
            Value::Number(_) => self.push(text, "null")?,
            Value::Text(value) => {
                self.charge(value.len().saturating_mul(2) + 2)?;
                self.walk(value.len().saturating_mul(3))?;
                quote(value, text);
            }
            _ => {
                if open.iter().any(|outer| self.same_object(outer, &value)) {
                    return Err(self.type_error("Converting circular structure to JSON"));
                }
                self.descend_by(2)?;
                self.work(open.len())?;
                open.push(value.clone());
                if self.is_list(&value) {
                    self.write_list(&value, options, open, text)?;
                } else {
                    self.write_object(&value, options, open, text)?;
                }
                open.pop();
                self.ascend_by(2);
            }
        }
        Ok(true)
    }

    fn push(&mut self, text: &mut String, part: &str) -> EvalResult<'a, ()> {
        self.charge(part.len())?;
        text.push_str(part);
        Ok(())
    }

    fn new_line(
        &mut self,
        options: &StringifyOptions<'a>,
        depth: usize,
        text: &mut String,
    ) -> EvalResult<'a, ()> {
        if options.indent.is_empty() {
            return Ok(());
        }
        self.charge(1 + options.indent.len() * depth)?;
        text.push('\n');
        for _ in 0..depth {
            text.push_str(&options.indent);
        }
        Ok(())
    }

    fn write_list(
        &mut self,
        value: &Value<'a>,
        options: &StringifyOptions<'a>,
        open: &mut Vec<Value<'a>>,
        text: &mut String,
    ) -> EvalResult<'a, ()> {
        let length = self.list_length(value).unwrap_or(0);
        text.push('[');
        for position in 0..length {
            if position > 0 {
                text.push(',');
            }
            self.new_line(options, open.len(), text)?;
            let item = self.list_item(value, position);
            let key = Text::Shared(position.to_string().into());
            if !self.write_json(&key, &item, options, open, text)? {
                self.push(text, "null")?;
            }
        }
        if length > 0 {
            self.new_line(options, open.len() - 1, text)?;
        }
        text.push(']');
        Ok(())
    }

    fn write_object(
        &mut self,
        value: &Value<'a>,
        options: &StringifyOptions<'a>,
        open: &mut Vec<Value<'a>>,
        text: &mut String,
    ) -> EvalResult<'a, ()> {
        text.push('{');
        let mut empty = true;
        let keys = match &options.only {
            Some(only) => {
                self.charge_values(only.len())?;
                only.clone()
            }
            None => self.keys(value)?,
        };
        for key in keys {
            self.step()?;
            let Some(member) = self.own_member(value, &key)? else { continue };
            let start = text.len();
            if !empty {
                text.push(',');
            }
            self.new_line(options, open.len(), text)?;
            self.charge(key.len().saturating_mul(2) + 4)?;
            quote(&key, text);
            text.push_str(if options.indent.is_empty() { ":" } else { ": " });
            if self.write_json(&key, &member, options, open, text)? {
                empty = false;
            } else {
                text.truncate(start);
            }
        }
        if !empty {
            self.new_line(options, open.len() - 1, text)?;
        }
        text.push('}');
        Ok(())
    }
}

/// A text in quotes, with JavaScript's choice of escapes.
fn quote(value: &str, text: &mut String) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            c if u32::from(c) < 0x20 => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
}

/// Node's messages for the two most common errors.
fn json_message(text: &str, error: &serde_json::Error) -> String {
    if text.trim().is_empty() || error.is_eof() {
        return "Unexpected end of JSON input".to_owned();
    }
    let shown: String = text.chars().take(40).collect();
    let dots = if shown.len() < text.len() { "..." } else { "" };
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or("");
    let found = line.get(error.column().saturating_sub(1)..).and_then(|rest| rest.chars().next());
    match found {
        _ if shown.starts_with("[object ") || text == "undefined" => format!("\"{shown}\" is not valid JSON"),
        Some(c) => format!("Unexpected token '{c}', \"{shown}\"{dots} is not valid JSON"),
        None => format!("\"{shown}\"{dots} is not valid JSON"),
    }
}
