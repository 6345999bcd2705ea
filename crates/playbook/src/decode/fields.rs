//! Decodes the provider's keys, as its catalog entry declares them.

use std::rc::Rc;

use escrow_model::{Field, KeyKind, ProviderSpec, Text, Tree};
use indexmap::IndexMap;
use serde_json::Value;

use super::{Decoder, sandbox};
use crate::source::Stage;
use crate::yaml::{Content, Node};
use crate::{duration, size};

pub(super) fn decode(
    decoder: &mut Decoder<'_>,
    check: &Node,
    provider: &ProviderSpec,
) -> IndexMap<String, Field> {
    provider
        .keys
        .iter()
        .filter_map(|key| {
            let Some(node) = check.get(key.name) else {
                return Some((key.name.to_owned(), default_of(key.kind)?));
            };
            Some((key.name.to_owned(), decoder.field(key.name, key.kind, node)?))
        })
        .collect()
}

/// The template of a key that is absent.
fn default_of(kind: KeyKind) -> Option<Field> {
    match kind {
        KeyKind::TextOr(template) => Text::try_from(template.to_owned()).ok().map(Field::Text),
        _ => None,
    }
}

impl Decoder<'_> {
    pub(super) fn field(&mut self, name: &str, kind: KeyKind, node: &Rc<Node>) -> Option<Field> {
        match kind {
            KeyKind::Text | KeyKind::TextOr(_) => self.sources.template(name, node).map(Field::Text),
            KeyKind::Texts => Some(Field::Texts(self.field_texts(name, node))),
            KeyKind::Tree | KeyKind::Inputs => Some(Field::Tree(self.tree(name, node)?)),
            KeyKind::OutputOf => {
                self.target(name, node)?;
                let template = format!("{{{{ outputs[{:?}] }}}}", node.scalar_text()?);
                let output = self.sources.template_text(name, node, &template)?;
                Some(Field::Tree(Tree::Text(output)))
            }
            KeyKind::Url => self.sources.template(name, node).map(Field::Url),
            KeyKind::Message | KeyKind::MessageMap => Some(Field::Message(self.tree(name, node)?)),
            KeyKind::Exec if node.list().is_some() => {
                Some(Field::Argv(self.sources.argv(name, super::items(node))))
            }
            KeyKind::Exec => self.sources.shell(name, node).map(Field::Shell),
            KeyKind::Block => self.sources.block(name, node, Stage::BeforeProvider).map(Field::Block),
            KeyKind::Word(_) | KeyKind::Plain | KeyKind::PlainOrEmpty => {
                Some(Field::Plain(Value::String(node.scalar_text()?.to_owned())))
            }
            KeyKind::Sandbox => Some(sandbox::field(&sandbox::decode(node))),
            KeyKind::Shell if node.list().is_some() => {
                let words = super::items(node).iter().filter_map(|item| item.scalar_text());
                Some(Field::Plain(words.map(Value::from).collect()))
            }
            KeyKind::Shell => Some(Field::Plain(Value::String(node.scalar_text()?.to_owned()))),
            KeyKind::Check => self.named_check(name, node),
            KeyKind::CheckOrTrue if node.bool().is_some() => Some(Field::Plain(node.json())),
            KeyKind::CheckOrTrue => self.named_check(name, node),
            KeyKind::Bool
            | KeyKind::Number
            | KeyKind::ExitCodes
            | KeyKind::Statuses
            | KeyKind::Redirects
            | KeyKind::Count
            | KeyKind::Budget => Some(Field::Plain(node.json())),
            KeyKind::Duration => Some(Field::Plain(duration::milliseconds(node).ok()?.into())),
            KeyKind::Size => Some(Field::Plain(size::bytes(node).ok()?.into())),
        }
    }

    fn named_check(&mut self, key: &str, node: &Rc<Node>) -> Option<Field> {
        let name = node.string()?;
        self.names.find(name, key, node.span.clone(), self.sources.found)?;
        Some(Field::Plain(name.into()))
    }

    fn field_texts(&mut self, name: &str, node: &Rc<Node>) -> Vec<Text> {
        super::items(node).iter().filter_map(|item| self.sources.template(name, item)).collect()
    }

    fn tree(&mut self, name: &str, node: &Rc<Node>) -> Option<Tree> {
        match &node.content {
            Content::Scalar(_) => match node.string() {
                Some(_) => self.sources.template(name, node).map(Tree::Text),
                None => Some(Tree::Leaf(node.json())),
            },
            Content::List(items) => {
                items.iter().map(|item| self.tree(name, item)).collect::<Option<Vec<_>>>().map(Tree::List)
            }
            Content::Map(entries) => entries
                .iter()
                .map(|entry| Some((entry.key.clone(), self.tree(name, &entry.value)?)))
                .collect::<Option<IndexMap<_, _>>>()
                .map(Tree::Map),
        }
    }
}
