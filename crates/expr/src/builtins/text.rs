//! Methods of texts.

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::{ErrorClass, EvalResult};
use crate::number;
use crate::utf16::{self, Slice};
use crate::value::{Text, Value};

impl<'a> Evaluator<'a> {
    pub(super) fn call_text(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        if this.is_nullish() {
            return Err(self.type_error(format!("`{}` needs a text", method.name())));
        }
        let text = self.text_of(this)?;
        if text.is_ascii() {
            self.scan(text.len())?;
        } else {
            self.walk(text.len().saturating_mul(2))?;
        }
        let first = arguments.get(0);
        Ok(match method {
            Builtin::TextToString | Builtin::TextValueOf => Value::Text(text),
            Builtin::TextIncludes | Builtin::TextStartsWith | Builtin::TextEndsWith => {
                return self.text_tests(method, &text, arguments);
            }
            Builtin::TextIndexOf | Builtin::TextLastIndexOf => {
                return self.text_search(method, &text, arguments);
            }
            Builtin::TextToLowerCase | Builtin::TextToLocaleLowerCase => {
                self.charge(text.len())?;
                self.walk(text.len())?;
                Value::text(text.to_lowercase())
            }
            Builtin::TextToUpperCase | Builtin::TextToLocaleUpperCase => {
                self.charge(text.len().saturating_mul(3))?;
                self.walk(text.len())?;
                Value::text(text.to_uppercase())
            }
            Builtin::TextTrim => self.part(&text, number::trim)?,
            Builtin::TextTrimStart => self.part(&text, |text| text.trim_start_matches(number::is_blank))?,
            Builtin::TextTrimEnd => self.part(&text, |text| text.trim_end_matches(number::is_blank))?,
            Builtin::TextSlice | Builtin::TextSubstring | Builtin::TextSubstr => {
                return self.text_slice(method, &text, arguments);
            }
            Builtin::TextAt | Builtin::TextCharAt | Builtin::TextCharCodeAt | Builtin::TextCodePointAt => {
                return self.text_unit_at(method, &text, &first);
            }
            Builtin::TextRepeat => {
                let times = self.number_of(&first)?;
                let Some(times) =
                    usize::try_from(number::to_integer(times)).ok().filter(|_| times != f64::INFINITY)
                else {
                    return Err(self.error(ErrorClass::Range, "Invalid count value"));
                };
                self.charge(text.len().saturating_mul(times))?;
                Value::text(text.repeat(if text.is_empty() { 0 } else { times }))
            }
            Builtin::TextPadStart | Builtin::TextPadEnd => return self.text_pad(method, &text, arguments),
            Builtin::TextConcat => {
                let mut joined = text;
                for value in arguments.iter() {
                    let part = self.text_of(&value)?;
                    joined = self.concatenate(&joined, &part)?;
                }
                Value::Text(joined)
            }
            Builtin::TextSplit => return self.text_split(&text, arguments),
            Builtin::TextLocaleCompare => {
                let other = self.text_of(&first)?;
                self.walk(text.len() + other.len())?;
                self.charge(text.len() + other.len())?;
                Value::Number(locale_order(&text, &other))
            }
            Builtin::TextMatch => return self.text_match(&text, &first),
            Builtin::TextMatchAll => return self.text_match_all(&text, &first),
            Builtin::TextSearch => return self.text_search_pattern(&text, &first),
            _ => return self.text_replace(method, &text, arguments),
        })
    }

    /// Part of a text: borrowed when the text is.
    pub(super) fn part(&mut self, text: &Text<'a>, cut: impl Fn(&str) -> &str) -> EvalResult<'a> {
        Ok(match text {
            Text::Borrowed(text) => Value::borrowed(cut(text)),
            Text::Shared(shared) => {
                let part = cut(shared);
                if part.len() == shared.len() {
                    return Ok(Value::Text(text.clone()));
                }
                self.charge(part.len())?;
                Value::text(part)
            }
        })
    }

    pub(super) fn unit_slice(&mut self, text: &Text<'a>, start: usize, end: usize) -> EvalResult<'a> {
        let slice = match text {
            Text::Borrowed(text) => match utf16::slice(text, start, end) {
                Slice::Whole(part) => return Ok(Value::borrowed(part)),
                Slice::Cut(part) => part,
            },
            Text::Shared(text) => match utf16::slice(text, start, end) {
                Slice::Whole(part) => {
                    self.charge(part.len())?;
                    return Ok(Value::text(part));
                }
                Slice::Cut(part) => part,
            },
        };
        self.charge(slice.len())?;
        self.new_text(slice)
    }

    fn text_tests(&mut self, method: Builtin, text: &Text<'a>, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let first = arguments.get(0);
        if matches!(first, Value::Regex(_)) {
            return Err(self.type_error(format!("`{}` takes a text, not a pattern", method.name())));
        }
        let part = self.text_of(&first)?;
        let position = arguments.get(1);
        if matches!(position, Value::Undefined) {
            return Ok(Value::Bool(match method {
                Builtin::TextIncludes => text.contains(&*part),
                Builtin::TextStartsWith => text.starts_with(&*part),
                _ => text.ends_with(&*part),
            }));
        }
        let length = utf16::length(text);
        let position = usize::try_from(number::to_integer(self.number_of(&position)?).max(0))
            .unwrap_or(usize::MAX)
            .min(length);
        let at = utf16::byte_of(text, position);
        Ok(Value::Bool(match method {
            Builtin::TextIncludes => text[at..].contains(&*part),
            Builtin::TextStartsWith => text[at..].starts_with(&*part),
            _ => text[..at].ends_with(&*part),
        }))
    }

    fn text_search(&mut self, method: Builtin, text: &Text<'a>, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let part = self.text_of(&arguments.get(0))?;
        let length = utf16::length(text);
        let position = self.number_or(&arguments.get(1), f64::NAN)?;
        let found = if method == Builtin::TextIndexOf {
            let start =
                usize::try_from(number::to_integer(position).max(0)).unwrap_or(usize::MAX).min(length);
            let at = utf16::byte_of(text, start);
            text[at..].find(&*part).map(|found| at + found)
        } else if position.is_nan() {
            text.rfind(&*part)
        } else {
            let end = usize::try_from(number::to_integer(position).max(0)).unwrap_or(usize::MAX).min(length);
            let limit = (utf16::byte_of(text, end) + part.len()).min(text.len());
            text.get(..limit).unwrap_or(text).rfind(&*part)
        };
        Ok(found.map_or(Value::Number(-1.0), |byte| Value::count(utf16::unit_of(text, byte))))
    }

    fn text_slice(&mut self, method: Builtin, text: &Text<'a>, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let length = utf16::length(text);
        let (first, second) = (arguments.get(0), arguments.get(1));
        let (start, end) = match method {
            Builtin::TextSlice => {
                (self.relative(&first, length, 0)?, self.relative(&second, length, length)?)
            }
            Builtin::TextSubstr => {
                let start = self.relative(&first, length, 0)?;
                let count =
                    usize::try_from(number::to_integer(self.number_or(&second, f64::INFINITY)?).max(0))
                        .unwrap_or(usize::MAX);
                (start, start.saturating_add(count).min(length))
            }
            _ => {
                let clamp = |position: f64| {
                    usize::try_from(number::to_integer(position).max(0)).unwrap_or(usize::MAX).min(length)
                };
                let start = clamp(self.number_of(&first)?);
                let end =
                    if matches!(second, Value::Undefined) { length } else { clamp(self.number_of(&second)?) };
                (start.min(end), start.max(end))
            }
        };
        self.unit_slice(text, start, end)
    }

    fn text_unit_at(&mut self, method: Builtin, text: &Text<'a>, argument: &Value<'a>) -> EvalResult<'a> {
        let position = number::to_integer(self.number_of(argument)?);
        let position = if position < 0 && method == Builtin::TextAt {
            position + i64::try_from(utf16::length(text)).unwrap_or(0)
        } else {
            position
        };
        let unit = usize::try_from(position)
            .ok()
            .and_then(|position| utf16::unit(text, position).map(|unit| (position, unit)));
        let Some((position, unit)) = unit else {
            return Ok(match method {
                Builtin::TextCharAt => Value::borrowed(""),
                Builtin::TextCharCodeAt => Value::Number(f64::NAN),
                _ => Value::Undefined,
            });
        };
        match method {
            Builtin::TextCharCodeAt => Ok(Value::Number(f64::from(unit))),
            Builtin::TextCodePointAt => {
                let at = utf16::byte_of(text, position);
                let c = text[at..].chars().next().unwrap_or('\0');
                let whole = utf16::unit_of(text, at) == position;
                Ok(Value::Number(if whole { f64::from(u32::from(c)) } else { f64::from(unit) }))
            }
            _ => Ok(self.text_unit(text, position)?.unwrap_or(Value::Undefined)),
        }
    }

    fn text_pad(&mut self, method: Builtin, text: &Text<'a>, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let wanted = usize::try_from(number::to_integer(self.number_of(&arguments.get(0))?).max(0))
            .unwrap_or(usize::MAX);
        let filler = arguments.get(1);
        let filler =
            if matches!(filler, Value::Undefined) { Text::Borrowed(" ") } else { self.text_of(&filler)? };
        let length = utf16::length(text);
        if wanted <= length || filler.is_empty() {
            return Ok(Value::Text(text.clone()));
        }
        let missing = wanted - length;
        self.charge(missing.saturating_mul(4).saturating_add(text.len()))?;
        self.walk(missing)?;
        let mut padding = String::with_capacity(missing);
        let mut units = 0;
        for c in filler.chars().cycle() {
            if units + c.len_utf16() > missing {
                padding.push(char::REPLACEMENT_CHARACTER);
                break;
            }
            units += c.len_utf16();
            padding.push(c);
            if units == missing {
                break;
            }
        }
        let padded =
            if method == Builtin::TextPadStart { padding + text } else { format!("{}{padding}", &**text) };
        self.new_text(padded)
    }

    fn text_split(&mut self, text: &Text<'a>, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let (separator, limit) = (arguments.get(0), arguments.get(1));
        let limit = if matches!(limit, Value::Undefined) {
            u32::MAX
        } else {
            number::to_uint32(self.number_of(&limit)?)
        };
        let limit = limit as usize;
        if matches!(separator, Value::Undefined) {
            self.charge_values(1)?;
            return Ok(self.new_array(if limit == 0 { Vec::new() } else { vec![Value::Text(text.clone())] }));
        }
        let mut items = if let Value::Regex(regex) = separator {
            self.split_by_pattern(text, regex)?
        } else {
            let separator = self.text_of(&separator)?;
            self.split_by_text(text, &separator)?
        };
        items.truncate(limit);
        Ok(self.new_array(items))
    }

    fn split_by_text(&mut self, text: &Text<'a>, separator: &str) -> EvalResult<'a, Vec<Value<'a>>> {
        // Counts the parts first, because they are charged before they are allocated.
        let count =
            if separator.is_empty() { text.chars().count() } else { text.matches(separator).count() + 1 };
        self.charge_values(count * 2)?;
        if let Text::Shared(shared) = text {
            self.charge(shared.len() + count * 16)?;
        }
        let own = |part: &str| Value::text(part);
        Ok(match (text, separator.is_empty()) {
            (Text::Borrowed(text), false) => text.split(separator).map(Value::borrowed).collect(),
            (Text::Shared(text), false) => text.split(separator).map(own).collect(),
            (text, true) => text.char_indices().map(|(at, c)| own(&text[at..at + c.len_utf8()])).collect(),
        })
    }
}

/// A fixed collation in place of a locale: letters before case, then units.
fn locale_order(left: &str, right: &str) -> f64 {
    let key = |text: &str| text.to_lowercase();
    let order = key(left).cmp(&key(right)).then_with(|| right.cmp(left));
    f64::from(order as i8)
}
