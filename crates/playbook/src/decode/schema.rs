//! Validates the JSON Schemas in a playbook and locates their errors.

use std::ops::Range;
use std::rc::Rc;

use escrow_contract::Schema;

use crate::diagnostic::{Diagnostics, Problem};
use crate::suggest::did_you_mean;
use crate::yaml::{Content, Node};

/// The values of `type`.
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

/// Reports a schema that does not compile, because it would fail every run.
pub(super) fn check_schema(node: &Node, key: &str, found: &mut Diagnostics) {
    for (pointer, message) in Schema::errors(&node.json()) {
        let (label, help) = explained(&message);
        let span = match at(node, &pointer) {
            Some(part) if !pointer.is_empty() => part.span.clone(),
            _ => locate(node, &message),
        };
        found.push(
            Problem::new("E0120", span, format!("`{key}` is not a valid JSON Schema"))
                .label(label)
                .help(help),
        );
    }
}

/// The node that a JSON pointer refers to.
fn at<'n>(node: &'n Node, pointer: &str) -> Option<&'n Node> {
    pointer.split('/').skip(1).try_fold(node, |node, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        match &node.content {
            Content::Scalar(_) => None,
            Content::List(items) => items.get(step.parse::<usize>().ok()?).map(|item| &**item),
            Content::Map(_) => node.entry(&step).map(|entry| &*entry.value),
        }
    })
}

/// The compiler's message as a label and a help for the author of the playbook.
fn explained(message: &str) -> (String, String) {
    let quoted = message.split('"').nth(1).unwrap_or_default();
    if message.contains("`$ref` must not leave the schema") {
        (
            "the reference leaves the schema".to_owned(),
            "refer to a definition in the schema: `#/$defs/name`".to_owned(),
        )
    } else if message.contains("which never ends") {
        (
            "the schema refers to itself".to_owned(),
            "refer to it below a keyword that goes into the value, such as `properties` or `items`"
                .to_owned(),
        )
    } else if message.contains("'anyOf' keyword") && !quoted.is_empty() {
        let types = || format!("the types are {}", TYPES.map(|name| format!("`{name}`")).join(", "));
        (format!("`{quoted}` is not allowed here"), did_you_mean(quoted, TYPES).unwrap_or_else(types))
    } else if message.contains("regex") {
        let help =
            "look-around and back-references are not supported, because matching must take linear time";
        (message.to_owned(), help.to_owned())
    } else {
        (message.to_owned(), "use JSON Schema 2020-12".to_owned())
    }
}

/// The span of the innermost node that fails with this message, or of the value that the message quotes.
fn locate(node: &Node, message: &str) -> Range<usize> {
    let children: Vec<&Rc<Node>> = match &node.content {
        Content::Scalar(_) => Vec::new(),
        Content::List(items) => items.iter().collect(),
        Content::Map(entries) => entries.iter().map(|entry| &entry.value).collect(),
    };
    for child in &children {
        // `properties` and `$defs` are not schemas themselves; their values are.
        let fails = child.map().is_some()
            && Schema::compile(&child.json()).is_err_and(|error| error.to_string() == message);
        let holds = child.scalar().is_none() && quotes(child, message);
        if fails || holds {
            return locate(child, message);
        }
    }
    let quoted = children.iter().find(|child| child.scalar().is_some() && quotes(child, message));
    quoted.map_or_else(|| node.span.clone(), |child| child.span.clone())
}

/// Whether the message quotes this value or one inside it.
fn quotes(node: &Node, message: &str) -> bool {
    match &node.content {
        Content::Scalar(_) => node.string().is_some_and(|text| {
            let pointer = text.strip_prefix('#').filter(|pointer| !pointer.is_empty());
            message.contains(&format!("\"{text}\""))
                || message.contains(&format!("'{}'", pointer.unwrap_or(text)))
        }),
        Content::List(items) => items.iter().any(|item| quotes(item, message)),
        Content::Map(entries) => entries.iter().any(|entry| quotes(&entry.value, message)),
    }
}
