//! Texts as lists of units: their length, their parts, and the members that they lack.
//!
//! **Invariant:** whatever looks at the bytes of a text is charged in proportion to them. A text may be the output of a
//! program, which is as long as the program likes.

use super::Evaluator;
use crate::exception::EvalResult;
use crate::not_json::not_json;
use crate::number;
use crate::utf16;
use crate::value::{Text, Value};

/// The lengths of texts that were read last, so that a loop over a text measures it once.
#[derive(Default)]
pub(super) struct Measured<'a> {
    texts: [Option<(Text<'a>, usize)>; 4],
    next: usize,
}

/// Shorter texts are measured each time.
const MEASURED_MIN: usize = 64;

impl<'a> Measured<'a> {
    /// By address: a text that is kept here is not freed, so no other text can be where it is.
    fn find(&self, text: &str) -> Option<usize> {
        let known = self.texts.iter().flatten().find(|(known, _)| std::ptr::eq::<str>(&**known, text));
        known.map(|(_, length)| *length)
    }

    fn keep(&mut self, text: Text<'a>, length: usize) {
        self.texts[self.next] = Some((text, length));
        self.next = (self.next + 1) % self.texts.len();
    }
}

impl<'a> Evaluator<'a> {
    /// `text.length`
    pub(crate) fn text_length(&mut self, text: &Text<'a>) -> EvalResult<'a, usize> {
        if text.len() < MEASURED_MIN {
            return Ok(utf16::length(text));
        }
        if let Some(length) = self.measured.find(text) {
            return Ok(length);
        }
        self.charge_measuring(text.len())?;
        let length = utf16::length(text);
        self.measured.keep(text.clone(), length);
        Ok(length)
    }

    /// Counting units is the cheapest thing to do with a text.
    fn charge_measuring(&mut self, bytes: usize) -> EvalResult<'a, ()> {
        self.work(bytes / 256)
    }

    /// Whether each byte of a text is a unit.
    fn is_ascii(&mut self, text: &Text<'a>) -> EvalResult<'a, bool> {
        Ok(self.text_length(text)? == text.len())
    }

    /// The unit offset of a byte.
    pub(crate) fn unit_of(&mut self, text: &Text<'a>, byte: usize) -> EvalResult<'a, usize> {
        if self.is_ascii(text)? {
            return Ok(byte);
        }
        self.charge_measuring(byte)?;
        Ok(utf16::unit_of(text, byte))
    }

    /// One unit of a text, as a text.
    pub(crate) fn text_unit(
        &mut self,
        text: &Text<'a>,
        position: usize,
    ) -> EvalResult<'a, Option<Value<'a>>> {
        if position >= self.text_length(text)? {
            return Ok(None);
        }
        if self.is_ascii(text)? {
            return Ok(Some(match text {
                Text::Borrowed(text) => Value::borrowed(&text[position..=position]),
                Text::Shared(text) => {
                    self.charge(1)?;
                    Value::text(&text[position..=position])
                }
            }));
        }
        // A unit has three bytes at most.
        self.walk(text.len().min(position.saturating_mul(3)))?;
        self.charge(4)?;
        Ok(utf16::unit(text, position).map(of_unit))
    }

    /// All units of a text, each as a text.
    pub(super) fn text_units(&mut self, text: &Text<'a>) -> EvalResult<'a, Vec<Value<'a>>> {
        self.walk(text.len())?;
        let length = self.text_length(text)?;
        self.charge_values(length * 2)?;
        Ok(text.encode_utf16().map(of_unit).collect())
    }

    /// A member that a value lacks is undefined; of given text that looks like JSON and is not, reading it is an error.
    pub(crate) fn missing_member(&mut self, value: &Value<'a>, name: &str) -> EvalResult<'a> {
        if let Value::Text(text) = value
            && number::index(name).is_none()
        {
            self.refuse_broken_json(text, &format!("'{name}'"))?;
        }
        Ok(Value::Undefined)
    }

    /// The members of a text are its units. Of given text that looks like JSON and is not, members that JSON would have
    /// are meant, so listing them is an error.
    pub(crate) fn text_members(&mut self, text: &Text<'a>) -> EvalResult<'a, ()> {
        self.refuse_broken_json(text, "its members")
    }

    /// Like `text_members`, for a value that is used as a list or as an object and may be text.
    pub(crate) fn listable(&mut self, value: &Value<'a>) -> EvalResult<'a, ()> {
        match self.effective(value) {
            Value::Text(text) => self.text_members(&text),
            _ => Ok(()),
        }
    }

    /// Text that the evaluation has built, such as `[object Object]`, was never meant to be JSON.
    fn refuse_broken_json(&mut self, text: &Text<'a>, what: &str) -> EvalResult<'a, ()> {
        let Text::Borrowed(text) = text else { return Ok(()) };
        self.walk(text.len())?;
        match not_json(text) {
            Some(why) => {
                Err(self.type_error(format!("Cannot read {what}: output looks like JSON and is not: {why}")))
            }
            None => Ok(()),
        }
    }
}

fn of_unit<'a>(unit: u16) -> Value<'a> {
    let c = char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER);
    Value::text(c.encode_utf8(&mut [0; 4]) as &str)
}
