//! The YAML tree: maps in file order, scalars with their source text.

use std::ops::Range;
use std::rc::Rc;

use granit_parser::ScalarStyle;
use serde_json::{Map, Number, Value};

/// One value of the file.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) content: Content,
    /// The number of nodes in this subtree, with aliases expanded.
    pub(super) size: usize,
    /// The number of levels below it.
    pub(super) height: usize,
}

#[derive(Debug)]
pub(crate) enum Content {
    Scalar(Scalar),
    List(Vec<Rc<Node>>),
    Map(Vec<Entry>),
}

/// A decoded scalar: its text, and its value under the YAML 1.2 core schema.
#[derive(Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) value: ScalarValue,
    pub(crate) style: ScalarStyle,
}

#[derive(Debug, PartialEq)]
pub(crate) enum ScalarValue {
    Null,
    Bool(bool),
    Number(Number),
    Text,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Rc<Node>,
}

impl Node {
    pub(super) fn new(span: Range<usize>, content: Content) -> Node {
        let (size, height) = match &content {
            Content::Scalar(_) => (1, 0),
            Content::List(items) => extent(items.iter()),
            Content::Map(entries) => extent(entries.iter().map(|entry| &entry.value)),
        };
        Node { span, content, size, height }
    }

    /// A synthesised string, attributed to a span of the file.
    pub(crate) fn text_at(span: Range<usize>, text: String) -> Node {
        let scalar = Scalar { text, value: ScalarValue::Text, style: ScalarStyle::Plain };
        Node::new(span, Content::Scalar(scalar))
    }

    /// A synthesised boolean, attributed to a span of the file.
    pub(crate) fn bool_at(span: Range<usize>, value: bool) -> Node {
        let scalar =
            Scalar { text: value.to_string(), value: ScalarValue::Bool(value), style: ScalarStyle::Plain };
        Node::new(span, Content::Scalar(scalar))
    }

    /// A synthesised map, attributed to a span of the file.
    pub(crate) fn map_at(span: Range<usize>, entries: Vec<Entry>) -> Node {
        Node::new(span, Content::Map(entries))
    }

    /// A synthesised list, attributed to a span of the file.
    pub(crate) fn list_at(span: Range<usize>, items: Vec<Rc<Node>>) -> Node {
        Node::new(span, Content::List(items))
    }

    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.content {
            Content::Scalar(scalar) => Some(scalar),
            Content::List(_) | Content::Map(_) => None,
        }
    }

    /// The text of a string. Numbers, booleans and null are not strings.
    pub(crate) fn string(&self) -> Option<&str> {
        self.scalar().filter(|scalar| scalar.value == ScalarValue::Text).map(|scalar| scalar.text.as_str())
    }

    /// The text of any scalar except null, as written.
    pub(crate) fn scalar_text(&self) -> Option<&str> {
        self.scalar().filter(|scalar| scalar.value != ScalarValue::Null).map(|scalar| scalar.text.as_str())
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        match self.scalar()?.value {
            ScalarValue::Bool(value) => Some(value),
            ScalarValue::Null | ScalarValue::Number(_) | ScalarValue::Text => None,
        }
    }

    pub(crate) fn number(&self) -> Option<&Number> {
        match &self.scalar()?.value {
            ScalarValue::Number(number) => Some(number),
            ScalarValue::Null | ScalarValue::Bool(_) | ScalarValue::Text => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.scalar().is_some_and(|scalar| scalar.value == ScalarValue::Null)
    }

    pub(crate) fn list(&self) -> Option<&[Rc<Node>]> {
        match &self.content {
            Content::List(items) => Some(items),
            Content::Scalar(_) | Content::Map(_) => None,
        }
    }

    pub(crate) fn map(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Map(entries) => Some(entries),
            Content::Scalar(_) | Content::List(_) => None,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Rc<Node>> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.map()?.iter().find(|entry| entry.key == key)
    }

    /// A description for messages: `a list`, `the number 3`.
    pub(crate) fn describe(&self) -> String {
        match &self.content {
            Content::List(_) => "a list".to_owned(),
            Content::Map(_) => "a map".to_owned(),
            Content::Scalar(scalar) => match &scalar.value {
                ScalarValue::Null => "null".to_owned(),
                ScalarValue::Bool(value) => format!("the boolean `{value}`"),
                ScalarValue::Number(_) => format!("the number `{}`", scalar.text),
                ScalarValue::Text => "a string".to_owned(),
            },
        }
    }

    pub(crate) fn json(&self) -> Value {
        match &self.content {
            Content::Scalar(scalar) => match &scalar.value {
                ScalarValue::Null => Value::Null,
                ScalarValue::Bool(value) => Value::Bool(*value),
                ScalarValue::Number(number) => Value::Number(number.clone()),
                ScalarValue::Text => Value::String(scalar.text.clone()),
            },
            Content::List(items) => Value::Array(items.iter().map(|item| item.json()).collect()),
            Content::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.json())).collect::<Map<_, _>>(),
            ),
        }
    }
}

fn extent<'a>(children: impl Iterator<Item = &'a Rc<Node>>) -> (usize, usize) {
    children.fold((1, 0), |(size, height), child| {
        (usize::saturating_add(size, child.size), height.max(child.height + 1))
    })
}
