//! Methods of numbers.

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::{ErrorClass, EvalResult};
use crate::number;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn call_number(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let Value::Number(value) = self.effective(this) else {
            return Err(self.type_error(format!("`{}` needs a number", method.name())));
        };
        let argument = arguments.get(0);
        self.charge(1200)?;
        let text = match method {
            Builtin::NumberValueOf => return Ok(Value::Number(value)),
            Builtin::NumberToFixed => {
                let digits = self.digits(&argument, 0.0, 0, 100)?;
                number::to_fixed(value, digits)
            }
            Builtin::NumberToPrecision if matches!(argument, Value::Undefined) => number::to_text(value),
            Builtin::NumberToPrecision => {
                let digits = self.digits(&argument, 0.0, 1, 100)?;
                number::to_precision(value, digits)
            }
            Builtin::NumberToLocaleString => grouped(value),
            _ => match self.digits(&argument, 10.0, 2, 36)? {
                10 => number::to_text(value),
                radix => number::to_radix(value, u32::try_from(radix).unwrap_or(10)),
            },
        };
        self.new_text(text)
    }

    fn digits(&mut self, argument: &Value<'a>, default: f64, least: i64, most: i64) -> EvalResult<'a, usize> {
        let digits = number::to_integer(self.number_or(argument, default)?);
        if digits < least || digits > most {
            return Err(
                self.error(ErrorClass::Range, format!("the argument must be between {least} and {most}"))
            );
        }
        Ok(usize::try_from(digits).unwrap_or(0))
    }
}

/// A number in `en-US` format: thousands separators, at most three decimals.
fn grouped(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    let fixed = number::to_fixed(value.abs(), 3);
    let (whole, part) = fixed.split_once('.').unwrap_or((&fixed, ""));
    let mut text = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    let part = part.trim_end_matches('0');
    if !part.is_empty() {
        text.push('.');
        text.push_str(part);
    }
    if value < 0.0 || (value == 0.0 && value.is_sign_negative()) { format!("-{text}") } else { text }
}
