//! Paths to a value in an item, such as `a.b[0].c`.

use serde_json::{Map, Value};

/// A parsed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Item(usize),
}

/// The limit on steps in a path.
const STEPS_MAX: usize = 64;

impl Path {
    /// Parses names separated by dots and indices in brackets. A name with a dot or bracket is written `["a.b"]`.
    pub(super) fn parse(text: &str) -> Result<Path, &'static str> {
        let mut steps = Vec::new();
        let mut rest = text;
        if rest.is_empty() {
            return Err("it is empty");
        }
        loop {
            if let Some(inner) = rest.strip_prefix('[') {
                let (step, after) = bracket(inner)?;
                steps.push(step);
                rest = after;
            } else {
                let rest_of_name = match (steps.is_empty(), rest.strip_prefix('.')) {
                    (true, None) => rest,
                    (false, Some(after)) => after,
                    (true, Some(_)) => return Err("it starts with a dot"),
                    (false, None) => return Err("a dot is missing after a bracket"),
                };
                let end = rest_of_name.find(['.', '[']).unwrap_or(rest_of_name.len());
                let name = &rest_of_name[..end];
                if name.is_empty() {
                    return Err("a name is missing next to a dot");
                }
                if name.contains(']') {
                    return Err("a `]` has no `[`");
                }
                steps.push(Step::Member(name.to_owned()));
                rest = &rest_of_name[end..];
            }
            if steps.len() > STEPS_MAX {
                return Err("it has too many steps");
            }
            if rest.is_empty() {
                return Ok(Path(steps));
            }
        }
    }

    pub(super) fn find<'a>(&self, item: &'a Value) -> Option<&'a Value> {
        let mut value = item;
        for step in &self.0 {
            value = match (step, value) {
                (Step::Member(name), Value::Object(members)) => member(members, name)?,
                (Step::Item(index), Value::Array(items)) => items.get(*index)?,
                (Step::Member(_) | Step::Item(_), _) => return None,
            };
        }
        Some(value)
    }
}

/// Searches small objects linearly, which is faster than hashing the name.
fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    const SEARCHED_MAX: usize = 8;
    if members.len() > SEARCHED_MAX {
        return members.get(name);
    }
    members.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// The step inside a bracket, and the rest of the path.
fn bracket(inner: &str) -> Result<(Step, &str), &'static str> {
    if let Some(quote) = inner.chars().next().filter(|first| matches!(first, '"' | '\'')) {
        let closing = format!("{quote}]");
        let (name, rest) = inner[1..].split_once(&closing).ok_or("a quoted name is not closed")?;
        return Ok((Step::Member(name.to_owned()), rest));
    }
    let (index, rest) = inner.split_once(']').ok_or("a `[` is not closed")?;
    if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("an index must be a whole number");
    }
    index.parse().map(|index| (Step::Item(index), rest)).map_err(|_| "an index is too large")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_find_values_in_objects_and_lists() {
        let item = json!({"a": {"b": [{"c": 1}, {"c.d": 2}], "": 3}, "list": [[4]]});
        let find = |path: &str| Path::parse(path).expect(path).find(&item).cloned();
        assert_eq!(find("a.b[0].c"), Some(json!(1)));
        assert_eq!(find("a.b[1][\"c.d\"]"), Some(json!(2)));
        assert_eq!(find("a['']"), Some(json!(3)));
        assert_eq!(find("list[0][0]"), Some(json!(4)));
        for nowhere in ["b", "a.b.c", "a[0]", "a.b[2]", "list[0][0].x", "a.b[00000000001].x"] {
            assert_eq!(find(nowhere), None, "{nowhere}");
        }
    }

    #[test]
    fn invalid_paths_are_rejected() {
        let long = vec!["a"; 100].join(".");
        for bad in
            ["", ".", ".a", "a.", "a..b", "a[", "a[]", "a[x]", "a[-1]", "a[0", "a[0]b", "a]", "a[\"x]", &long]
        {
            assert!(Path::parse(bad).is_err(), "{bad}");
        }
        assert!(Path::parse("a[99999999999999999999999]").is_err());
    }
}
