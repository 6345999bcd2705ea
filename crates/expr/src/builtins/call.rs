//! Dispatches calls of built-in functions.

use super::{Builtin, Group};
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::{ErrorClass, EvalResult};
use crate::heap::{CollectionKind, Members};
use crate::value::{Text, Value};

impl<'a> Evaluator<'a> {
    pub(crate) fn call_builtin(
        &mut self,
        builtin: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        match builtin.group() {
            Group::Helper => self.call_helper(builtin, arguments),
            Group::MemoryMember => self.call_memory(builtin, arguments),
            Group::ArrayMethod => {
                if !self.is_list(this) {
                    let what = self.describe(this);
                    return Err(self.type_error(format!("`{}` needs an array, not {what}", builtin.name())));
                }
                self.call_array(builtin, this, arguments)
            }
            Group::TextMethod => self.call_text(builtin, this, arguments),
            Group::NumberMethod => self.call_number(builtin, this, arguments),
            Group::BoolMethod => match builtin {
                Builtin::BoolToString => Ok(Value::Text(self.text_of(this)?)),
                _ => Ok(self.effective(this)),
            },
            Group::ObjectMethod | Group::ObjectMember => self.call_object(builtin, this, arguments),
            Group::MathMember => self.call_math(builtin, arguments),
            Group::JsonMember => self.call_json(builtin, arguments),
            Group::ArrayMember => self.call_array_member(builtin, arguments),
            Group::Global | Group::NumberMember | Group::StringMember => self.call_global(builtin, arguments),
            Group::FunctionMethod => self.call_function(builtin, this, arguments),
            Group::RegexMethod => self.call_regex(builtin, this, arguments),
            Group::SetMethod | Group::MapMethod => self.call_collection(builtin, this, arguments),
            Group::Constructor => self.convert(builtin, arguments),
            Group::Namespace => Err(self.type_error(format!("`{}` is not a function", builtin.name()))),
        }
    }

    fn call_function(
        &mut self,
        builtin: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let mut passed = Arguments::none();
        if builtin == Builtin::FunctionCall {
            for value in arguments.from(1) {
                passed.push(value);
            }
        } else {
            let list = arguments.get(1);
            if !list.is_nullish() {
                for value in self.list_items(&list)? {
                    passed.push(value);
                }
            }
        }
        self.descend()?;
        let result = self.call(this, &arguments.get(0), &passed)?;
        self.ascend();
        Ok(result)
    }

    /// A constructor called as a function: `String(x)`, `Number(x)`, `Error('…')`.
    fn convert(&mut self, class: Builtin, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let first = arguments.get(0);
        match class {
            Builtin::String if arguments.len() == 0 => Ok(Value::borrowed("")),
            Builtin::String => Ok(Value::Text(self.text_of(&first)?)),
            Builtin::Number if arguments.len() == 0 => Ok(Value::Number(0.0)),
            Builtin::Number => Ok(Value::Number(self.number_of(&first)?)),
            Builtin::Boolean => Ok(Value::Bool(self.is_truthy(&first))),
            Builtin::Object if !first.is_nullish() => Ok(first),
            Builtin::Set | Builtin::Map => {
                Err(self.type_error(format!("`{}` must be called with `new`", class.name())))
            }
            other => self.construct(other, arguments),
        }
    }

    pub(crate) fn construct(&mut self, class: Builtin, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let first = arguments.get(0);
        let kind = match class {
            Builtin::Set => return self.new_collection(CollectionKind::Set, &first),
            Builtin::Map => return self.new_collection(CollectionKind::Map, &first),
            Builtin::Object => {
                self.charge(64)?;
                return Ok(self.new_plain(Members::default()));
            }
            Builtin::Array => return self.new_array_of(arguments),
            Builtin::RegExp => return self.new_regex(&first, &arguments.get(1)),
            Builtin::Error => ErrorClass::Error,
            Builtin::TypeError => ErrorClass::Type,
            Builtin::RangeError => ErrorClass::Range,
            Builtin::ReferenceError => ErrorClass::Reference,
            Builtin::SyntaxError => ErrorClass::Syntax,
            Builtin::UriError => ErrorClass::Uri,
            other => return Err(self.type_error(format!("`new {}` is not supported", other.name()))),
        };
        let message =
            if matches!(first, Value::Undefined) { Text::Borrowed("") } else { self.text_of(&first)? };
        self.new_error(kind, message)
    }
}
