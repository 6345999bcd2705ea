//! What differs between two things that a person was asked to approve.

use std::collections::BTreeMap;

use escrow_model::ApprovalSubject;
use serde_json::Value;

/// One value that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `request.exec.shell`, `inputs.pr`.
    pub path: String,
    /// `None`: it was not there.
    pub before: Option<String>,
    /// `None`: it is gone.
    pub now: Option<String>,
}

/// Every value that differs, in the order of their paths.
pub fn differences(before: &ApprovalSubject, now: &ApprovalSubject) -> Vec<Difference> {
    let (before, now) = (values(before), values(now));
    let paths = before.keys().chain(now.keys().filter(|path| !before.contains_key(*path)));
    let mut found: Vec<Difference> = paths
        .filter(|path| before.get(*path) != now.get(*path))
        .map(|path| Difference {
            path: path.clone(),
            before: before.get(path).cloned(),
            now: now.get(path).cloned(),
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Every value of the subject by its path.
fn values(subject: &ApprovalSubject) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // A subject is made of JSON values, so it has a JSON form.
    walk("", &serde_json::to_value(subject).unwrap_or_default(), &mut found);
    found
}

fn walk(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                walk(&below(name), member, found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (place, item) in items.iter().enumerate() {
                walk(&below(&label(place, item)), item, found);
            }
        }
        Value::String(text) => drop(found.insert(path.to_owned(), text.clone())),
        other => drop(found.insert(path.to_owned(), other.to_string())),
    }
}

/// Items that have a name are compared by it: one more at the front does not make the others differ.
fn label(place: usize, item: &Value) -> String {
    ["id", "name", "check", "expression"]
        .iter()
        .find_map(|key| item.get(key)?.as_str().map(str::to_owned))
        .unwrap_or_else(|| place.to_string())
}
