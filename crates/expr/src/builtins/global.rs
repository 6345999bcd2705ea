//! Functions without an object: `parseInt`, `encodeURIComponent`, `Number.isInteger`, …

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::{ErrorClass, EvalResult};
use crate::number;
use crate::value::Value;

/// Characters that `encodeURI` keeps in addition to those that `encodeURIComponent` keeps.
const URI_RESERVED: &str = ";/?:@&=+$,#";

impl<'a> Evaluator<'a> {
    pub(super) fn call_global(&mut self, function: Builtin, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let first = arguments.get(0);
        let as_number = match self.effective(&first) {
            Value::Number(number) => Some(number),
            _ => None,
        };
        let is_whole = as_number.is_some_and(|number| number.is_finite() && number.fract() == 0.0);
        Ok(match function {
            Builtin::NumberIsInteger => Value::Bool(is_whole),
            Builtin::NumberIsSafeInteger => Value::Bool(
                is_whole && as_number.is_some_and(|number| number.abs() <= 9_007_199_254_740_991.0),
            ),
            Builtin::NumberIsFinite => Value::Bool(as_number.is_some_and(f64::is_finite)),
            Builtin::NumberIsNaN => Value::Bool(as_number.is_some_and(f64::is_nan)),
            Builtin::IsNaN => Value::Bool(self.number_of(&first)?.is_nan()),
            Builtin::IsFinite => Value::Bool(self.number_of(&first)?.is_finite()),
            Builtin::ParseInt | Builtin::NumberParseInt => {
                let text = self.text_of(&first)?;
                self.scan(text.len())?;
                let radix = self.number_or(&arguments.get(1), 0.0)?;
                Value::Number(number::parse_int(&text, radix))
            }
            Builtin::ParseFloat | Builtin::NumberParseFloat => {
                let text = self.text_of(&first)?;
                self.scan(text.len())?;
                Value::Number(number::parse_float(&text))
            }
            Builtin::EncodeUriComponent => self.encode(&first, "")?,
            Builtin::EncodeUri => self.encode(&first, URI_RESERVED)?,
            Builtin::DecodeUriComponent => self.decode(&first, "")?,
            Builtin::DecodeUri => self.decode(&first, URI_RESERVED)?,
            Builtin::StringFromCharCode => self.text_of_units(arguments)?,
            Builtin::StringFromCodePoint => self.text_of_points(arguments)?,
            _ => Value::Undefined,
        })
    }

    fn encode(&mut self, value: &Value<'a>, kept: &str) -> EvalResult<'a> {
        let text = self.text_of(value)?;
        self.charge(text.len().saturating_mul(3))?;
        self.walk(text.len().saturating_mul(4))?;
        let mut encoded = String::with_capacity(text.len());
        for byte in text.bytes() {
            let c = char::from(byte);
            if byte.is_ascii_alphanumeric()
                || "-_.!~*'()".contains(c)
                || (byte.is_ascii() && kept.contains(c))
            {
                encoded.push(c);
            } else {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        }
        self.new_text(encoded)
    }

    fn decode(&mut self, value: &Value<'a>, kept: &str) -> EvalResult<'a> {
        let text = self.text_of(value)?;
        self.charge(text.len())?;
        self.walk(text.len())?;
        let mut bytes = Vec::with_capacity(text.len());
        let source = text.as_bytes();
        let mut at = 0;
        while at < source.len() {
            if source[at] != b'%' {
                bytes.push(source[at]);
                at += 1;
                continue;
            }
            let digits =
                text.get(at + 1..at + 3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
                return Err(self.error(ErrorClass::Uri, "URI malformed"));
            };
            if byte.is_ascii() && kept.contains(char::from(byte)) {
                bytes.extend_from_slice(&source[at..at + 3]);
            } else {
                bytes.push(byte);
            }
            at += 3;
        }
        match String::from_utf8(bytes) {
            Ok(decoded) => self.new_text(decoded),
            Err(_) => Err(self.error(ErrorClass::Uri, "URI malformed")),
        }
    }

    fn text_of_units(&mut self, arguments: &Arguments<'a>) -> EvalResult<'a> {
        self.charge_values(arguments.len())?;
        let mut units = Vec::with_capacity(arguments.len());
        for value in arguments.iter() {
            let unit = number::to_uint32(self.number_of(&value)?);
            units.push(u16::try_from(unit & 0xffff).unwrap_or(0));
        }
        self.new_text(String::from_utf16_lossy(&units))
    }

    fn text_of_points(&mut self, arguments: &Arguments<'a>) -> EvalResult<'a> {
        self.charge_values(arguments.len())?;
        let mut text = String::new();
        for value in arguments.iter() {
            let point = self.number_of(&value)?;
            let point = number::index_of(point)
                .and_then(|point| u32::try_from(point).ok())
                .filter(|point| *point <= 0x0010_ffff);
            let Some(point) = point else { return Err(self.error(ErrorClass::Range, "invalid code point")) };
            text.push(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.new_text(text)
    }
}
