//! Methods of patterns, and methods of texts that take one: `test`, `exec`, `match`, `replace`, `split`.

use std::rc::Rc;

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator, handle};
use crate::exception::{ErrorClass, EvalResult};
use crate::heap::{Members, PatternRef, RegexObject};
use crate::pattern::Pattern;
use crate::utf16;
use crate::value::{Text, Value};

/// The byte ranges of the groups of a match; group 0 is the whole match.
type Groups = Vec<Option<(usize, usize)>>;

impl<'a> Evaluator<'a> {
    pub(super) fn new_regex(&mut self, source: &Value<'a>, flags: &Value<'a>) -> EvalResult<'a> {
        let (source, known) = match source {
            Value::Regex(regex) => {
                let pattern = self.heap.regexes[*regex as usize].pattern.clone();
                (Text::Shared((&*pattern.source).into()), Some(Text::Shared((&*pattern.flags).into())))
            }
            Value::Undefined => (Text::Borrowed("(?:)"), None),
            other => (self.text_of(other)?, None),
        };
        let flags = match (flags, known) {
            (Value::Undefined, Some(known)) => known,
            (Value::Undefined, None) => Text::Borrowed(""),
            (flags, _) => self.text_of(flags)?,
        };
        // Compiling costs far more than a step; the size limit of a pattern bounds it.
        self.work(200 + source.len() * 8)?;
        self.charge(64 * 1024)?;
        let pattern = match Pattern::compile(&source, &flags) {
            Ok(pattern) => pattern,
            Err(refused) => {
                return Err(
                    self.error(ErrorClass::Syntax, format!("Invalid regular expression: {}", refused.0))
                );
            }
        };
        self.heap.regexes.push(RegexObject { pattern: PatternRef::Built(Rc::new(pattern)), last_index: 0 });
        Ok(Value::Regex(handle(self.heap.regexes.len() - 1)))
    }

    fn as_regex(&mut self, value: &Value<'a>) -> EvalResult<'a, u32> {
        if let Value::Regex(regex) = value {
            return Ok(*regex);
        }
        match self.new_regex(value, &Value::Undefined)? {
            Value::Regex(regex) => Ok(regex),
            _ => Err(self.type_error("this is not a pattern")),
        }
    }

    /// Charges a search through a text, which costs more per byte than other walks.
    fn charge_search(&mut self, bytes: usize) -> EvalResult<'a, ()> {
        self.work(4 + bytes / 16)
    }

    fn find(&mut self, pattern: &PatternRef<'a>, text: &str, start: usize) -> EvalResult<'a, Option<Groups>> {
        self.charge_search(text.len() - start)?;
        let found = pattern.regex.captures_at(text, start);
        let groups = found.map(|captures| {
            captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect::<Groups>()
        });
        Ok(groups.filter(|groups| {
            !pattern.sticky || groups.first().copied().flatten().is_some_and(|(at, _)| at == start)
        }))
    }

    pub(super) fn call_regex(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let Value::Regex(regex) = *this else {
            return Err(self.type_error(format!("`{}` needs a pattern", method.name())));
        };
        if method == Builtin::RegexToString {
            return Ok(Value::Text(self.text_of(this)?));
        }
        let text = self.text_of(&arguments.get(0))?;
        let found = self.advance(regex, &text)?;
        match (method, found) {
            (Builtin::RegexTest, found) => Ok(Value::Bool(found.is_some())),
            (_, Some(groups)) => self.match_array(regex, &text, &groups),
            (_, None) => Ok(Value::Null),
        }
    }

    /// One search that starts where the last one of a global pattern ended.
    fn advance(&mut self, regex: u32, text: &Text<'a>) -> EvalResult<'a, Option<Groups>> {
        let object = &self.heap.regexes[regex as usize];
        let (pattern, last) = (object.pattern.clone(), object.last_index);
        let keeps_place = pattern.global || pattern.sticky;
        let start = if keeps_place { last } else { 0 };
        self.scan(text.len())?;
        if start > utf16::length(text) {
            self.heap.regexes[regex as usize].last_index = 0;
            return Ok(None);
        }
        let found = self.find(&pattern, text, utf16::byte_of(text, start))?;
        if keeps_place {
            let end = found
                .as_ref()
                .and_then(|groups| groups.first().copied().flatten())
                .map_or(0, |(_, end)| utf16::unit_of(text, end));
            self.heap.regexes[regex as usize].last_index = end;
        }
        Ok(found)
    }

    fn group_value(&mut self, text: &Text<'a>, group: Option<(usize, usize)>) -> EvalResult<'a> {
        let Some((start, end)) = group else { return Ok(Value::Undefined) };
        self.part(text, |text| &text[start..end])
    }

    fn match_array(&mut self, regex: u32, text: &Text<'a>, groups: &Groups) -> EvalResult<'a> {
        self.charge_values(groups.len() + 6)?;
        let mut items = Vec::with_capacity(groups.len());
        for group in groups {
            items.push(self.group_value(text, *group)?);
        }
        let start = groups.first().copied().flatten().map_or(0, |(start, _)| start);
        let mut extra = Members::default();
        extra.set(Text::Borrowed("index"), Value::count(self.unit_of(text, start)?));
        extra.set(Text::Borrowed("input"), Value::Text(text.clone()));
        let pattern = self.heap.regexes[regex as usize].pattern.clone();
        let mut named = Members::default();
        for (position, name) in pattern.regex.capture_names().enumerate() {
            if let (Some(name), Some(item)) = (name, items.get(position)) {
                self.charge(64 + name.len())?;
                named.set(Text::Shared(name.into()), item.clone());
            }
        }
        let named = if named.len() == 0 { Value::Undefined } else { self.new_plain(named) };
        extra.set(Text::Borrowed("groups"), named);
        let array = self.new_array(items);
        if let Value::Array(array) = array {
            self.heap.arrays[array as usize].extra = Some(Box::new(extra));
        }
        Ok(array)
    }

    /// Every match of a pattern, as JavaScript finds them.
    fn all_matches(&mut self, regex: u32, text: &Text<'a>, first_only: bool) -> EvalResult<'a, Vec<Groups>> {
        let pattern = self.heap.regexes[regex as usize].pattern.clone();
        let mut matches = Vec::new();
        let mut start = 0;
        while start <= text.len() {
            let Some(groups) = self.find(&pattern, text, start)? else { break };
            self.charge(groups.len() * 24 + 24)?;
            let (from, to) = groups.first().copied().flatten().unwrap_or((start, start));
            matches.push(groups);
            if first_only {
                break;
            }
            // An empty match steps over one character.
            start = if to > from { to } else { to + text[to..].chars().next().map_or(1, char::len_utf8) };
        }
        Ok(matches)
    }

    pub(super) fn text_match(&mut self, text: &Text<'a>, pattern: &Value<'a>) -> EvalResult<'a> {
        let regex = self.as_regex(pattern)?;
        if !self.heap.regexes[regex as usize].pattern.global {
            return match self.advance(regex, text)? {
                Some(groups) => self.match_array(regex, text, &groups),
                None => Ok(Value::Null),
            };
        }
        let matches = self.all_matches(regex, text, false)?;
        self.heap.regexes[regex as usize].last_index = 0;
        if matches.is_empty() {
            return Ok(Value::Null);
        }
        self.charge_values(matches.len())?;
        let mut items = Vec::with_capacity(matches.len());
        for groups in matches {
            items.push(self.group_value(text, groups.first().copied().flatten())?);
        }
        Ok(self.new_array(items))
    }

    pub(super) fn text_match_all(&mut self, text: &Text<'a>, pattern: &Value<'a>) -> EvalResult<'a> {
        let regex = match pattern {
            Value::Regex(regex) if !self.heap.regexes[*regex as usize].pattern.global => {
                return Err(self.type_error("`matchAll` needs a pattern with the flag `g`"));
            }
            other => self.as_regex(other)?,
        };
        let matches = self.all_matches(regex, text, false)?;
        self.charge_values(matches.len())?;
        let mut items = Vec::with_capacity(matches.len());
        for groups in matches {
            items.push(self.match_array(regex, text, &groups)?);
        }
        Ok(self.new_array(items))
    }

    pub(super) fn text_search_pattern(&mut self, text: &Text<'a>, pattern: &Value<'a>) -> EvalResult<'a> {
        let regex = self.as_regex(pattern)?;
        let matches = self.all_matches(regex, text, true)?;
        let start =
            matches.first().and_then(|groups| groups.first().copied().flatten()).map(|(start, _)| start);
        Ok(start.map_or(Value::Number(-1.0), |start| Value::count(utf16::unit_of(text, start))))
    }

    pub(super) fn split_by_pattern(&mut self, text: &Text<'a>, regex: u32) -> EvalResult<'a, Vec<Value<'a>>> {
        let matches = self.all_matches(regex, text, false)?;
        let mut items = Vec::new();
        if text.is_empty() {
            return Ok(if matches.is_empty() { vec![Value::Text(text.clone())] } else { items });
        }
        let mut last = 0;
        for groups in &matches {
            let (start, end) = groups.first().copied().flatten().unwrap_or((0, 0));
            if end == start && (start == last || start >= text.len()) || (end == 0) {
                continue;
            }
            self.charge_values(groups.len())?;
            items.push(self.part(text, |text| &text[last..start])?);
            for group in &groups[1..] {
                items.push(self.group_value(text, *group)?);
            }
            last = end;
        }
        self.charge_values(1)?;
        items.push(self.part(text, |text| &text[last..])?);
        Ok(items)
    }

    pub(super) fn text_replace(
        &mut self,
        method: Builtin,
        text: &Text<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let (wanted, replacement) = (arguments.get(0), arguments.get(1));
        let (matches, regex) = match wanted {
            Value::Regex(regex) => {
                let global = self.heap.regexes[regex as usize].pattern.global;
                if method == Builtin::TextReplaceAll && !global {
                    return Err(self.type_error("`replaceAll` needs a pattern with the flag `g`"));
                }
                (self.all_matches(regex, text, !global)?, Some(regex))
            }
            other => {
                let part = self.text_of(&other)?;
                (self.plain_matches(text, &part, method == Builtin::TextReplace)?, None)
            }
        };
        let template =
            if replacement.is_callable() { Text::Borrowed("") } else { self.text_of(&replacement)? };
        let mut result = String::new();
        let mut last = 0;
        for groups in &matches {
            let (start, end) = groups.first().copied().flatten().unwrap_or((0, 0));
            let part = if replacement.is_callable() {
                self.replaced_by_function(&replacement, text, groups, regex)?
            } else {
                self.expand(&template, text, groups, regex)?
            };
            self.charge(start - last + part.len())?;
            result.push_str(&text[last..start]);
            result.push_str(&part);
            last = end;
        }
        if matches.is_empty() {
            return Ok(Value::Text(text.clone()));
        }
        self.charge(text.len() - last)?;
        result.push_str(&text[last..]);
        self.new_text(result)
    }

    fn plain_matches(&mut self, text: &str, part: &str, first_only: bool) -> EvalResult<'a, Vec<Groups>> {
        let mut matches = Vec::new();
        for (start, found) in text.match_indices(part).take(if first_only { 1 } else { usize::MAX }) {
            self.charge(64)?;
            self.step()?;
            matches.push(vec![Some((start, start + found.len()))]);
        }
        Ok(matches)
    }

    fn replaced_by_function(
        &mut self,
        function: &Value<'a>,
        text: &Text<'a>,
        groups: &Groups,
        regex: Option<u32>,
    ) -> EvalResult<'a, Text<'a>> {
        let mut arguments = Arguments::none();
        for group in groups {
            let value = self.group_value(text, *group)?;
            arguments.push(value);
        }
        let start = groups.first().copied().flatten().map_or(0, |(start, _)| start);
        arguments.push(Value::count(self.unit_of(text, start)?));
        arguments.push(Value::Text(text.clone()));
        if let Some(regex) = regex {
            let pattern = self.heap.regexes[regex as usize].pattern.clone();
            if pattern.regex.capture_names().flatten().next().is_some() {
                let array = self.match_array(regex, text, groups)?;
                let named = self.get_member(&array, "groups")?;
                arguments.push(named);
            }
        }
        let answer = self.call(function, &Value::Undefined, &arguments)?;
        self.text_of(&answer)
    }

    /// Expands `$1`, `$&`, `$<name>` and the like in a replacement.
    fn expand(
        &mut self,
        template: &Text<'a>,
        text: &str,
        groups: &Groups,
        regex: Option<u32>,
    ) -> EvalResult<'a, Text<'a>> {
        if !template.contains('$') {
            return Ok(template.clone());
        }
        self.scan(template.len())?;
        let (start, end) = groups.first().copied().flatten().unwrap_or((0, 0));
        let mut result = String::new();
        let mut rest = &**template;
        while let Some(at) = rest.find('$') {
            self.charge(at + 1)?;
            result.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let bytes = rest.as_bytes();
            if bytes.first() == Some(&b'<') {
                // The end of the name is looked for.
                self.scan(rest.len())?;
            }
            let (part, used): (&str, usize) = match bytes.first() {
                Some(b'$') => ("$", 1),
                Some(b'&') => (&text[start..end], 1),
                Some(b'`') => (&text[..start], 1),
                Some(b'\'') => (&text[end..], 1),
                Some(digit) if digit.is_ascii_digit() => numbered(bytes, text, groups).unwrap_or(("$", 0)),
                Some(b'<') => self.named_group(rest, text, groups, regex).unwrap_or(("$", 0)),
                Some(_) | None => ("$", 0),
            };
            self.charge(part.len())?;
            result.push_str(part);
            rest = &rest[used..];
        }
        self.charge(rest.len())?;
        result.push_str(rest);
        Ok(Text::Shared(result.into()))
    }

    fn named_group<'t>(
        &self,
        rest: &str,
        text: &'t str,
        groups: &Groups,
        regex: Option<u32>,
    ) -> Option<(&'t str, usize)> {
        let (name, _) = rest[1..].split_once('>')?;
        let pattern = &self.heap.regexes[regex? as usize].pattern;
        pattern.regex.capture_names().flatten().next()?;
        let position = pattern.regex.capture_names().position(|known| known == Some(name));
        let part =
            position.and_then(|position| groups[position]).map_or("", |(start, end)| &text[start..end]);
        Some((part, name.len() + 2))
    }
}

/// `$1` to `$99`: two digits when there are that many groups.
fn numbered<'t>(bytes: &[u8], text: &'t str, groups: &Groups) -> Option<(&'t str, usize)> {
    let digit =
        |at: usize| bytes.get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| usize::from(byte - b'0'));
    let one = digit(0)?;
    let two = digit(1).map(|second| one * 10 + second);
    let (group, used) = match two {
        Some(two) if two >= 1 && two < groups.len() => (two, 2),
        _ if one >= 1 && one < groups.len() => (one, 1),
        _ => return None,
    };
    Some((groups[group].map_or("", |(start, end)| &text[start..end]), used))
}
