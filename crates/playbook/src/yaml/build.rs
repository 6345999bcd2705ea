//! Builds the tree from parser events: anchors, aliases, merge keys, duplicate keys and limits.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, Span, Tag, options};

use super::node::{Content, Entry, Node, Scalar, ScalarValue};
use super::scalar::resolve;
use crate::diagnostic::{Diagnostics, Problem};

/// The size limit of a playbook.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
const DEPTH_MAX: usize = 100;
/// How many nodes aliases can add.
const ALIASED_NODES_MAX: usize = 100_000;

/// Parses the single document of a file. `None` when parsing stopped; the reason is in `found`.
pub(crate) fn parse(text: &str, found: &mut Diagnostics) -> Option<Rc<Node>> {
    if text.len() > TEXT_BYTES_MAX {
        found.push(
            Problem::new("E0134", 0..0, "the file is too large")
                .label(format!("the limit is {TEXT_BYTES_MAX} bytes")),
        );
        return None;
    }
    let options = options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut builder =
        Builder { text, found, open: Vec::new(), anchors: BTreeMap::new(), root: None, aliased: 0 };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => {
                if builder.take(event, span).is_err() {
                    return None;
                }
            }
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(0).min(text.len());
                let at = if *error.kind() == ErrorKind::UnknownQuotedScalarEscape {
                    bad_escape(text, at)
                } else {
                    at
                };
                builder.found.push(not_yaml(text, at, error.kind(), &error.info()));
                return None;
            }
        }
    }
    builder.root
}

fn not_yaml(text: &str, at: usize, kind: &ErrorKind, info: &str) -> Problem {
    if *kind == ErrorKind::RecursionLimitExceeded {
        return Problem::new("E0134", at..at, "the file is nested too deeply")
            .label(format!("more than {DEPTH_MAX} levels"));
    }
    let help = match kind {
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
            Some("indent with spaces; YAML forbids tabs there")
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
            Some("a quote before this line may not be closed")
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            Some("`\\` starts an escape inside double quotes; use single quotes to keep it")
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar => Some(
            "the preceding double quote closed the string; write `\\\"` for a quote inside it, or use `|`",
        ),
        ErrorKind::InvalidTrailingSingleQuotedScalar => {
            Some("the preceding single quote closed the string; write `''` for a quote inside it")
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => Some(
            "quote a value that contains `: `, and put a space after the `:` of a key; also look for an unclosed bracket above",
        ),
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator => {
            Some("a `[` is not closed, or a comma is missing")
        }
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::ExpectedFlowMappingSeparator => {
            Some("a `{` is not closed, or a comma is missing; quote a value that starts with a template")
        }
        ErrorKind::SimpleKeyExpected => Some("every line of a map has the form `key: value`"),
        ErrorKind::ExpectedBlockMappingKey => Some("all keys of a map start in the same column"),
        _ => None,
    };
    let problem = Problem::new("E0101", at..next_boundary(text, at), "invalid YAML").label(info);
    match help {
        Some(help) => problem.help(help),
        None => problem,
    }
}

/// The position of the invalid escape in the double-quoted string that starts at `at`.
fn bad_escape(text: &str, at: usize) -> usize {
    let mut rest = text.get(at..).unwrap_or("").char_indices();
    while let Some((offset, character)) = rest.next() {
        if character == '\\'
            && !rest.next().is_some_and(|(_, next)| "0abtnvfre \"/\\N_LPxuU\t\r\n".contains(next))
        {
            return at + offset;
        }
    }
    at
}

fn next_boundary(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |next| at + next.len_utf8())
}

/// Parsing cannot continue; the problem has been reported.
struct Stop;

struct Builder<'t> {
    text: &'t str,
    found: &'t mut Diagnostics,
    open: Vec<Open>,
    /// `None` while the anchored node is still open: an alias to it would contain itself.
    anchors: BTreeMap<usize, Option<Rc<Node>>>,
    root: Option<Rc<Node>>,
    aliased: usize,
}

struct Open {
    start: usize,
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Rc<Node>>),
    Map { entries: Vec<Entry>, seen: BTreeMap<String, Range<usize>>, merges: Vec<Rc<Node>>, key: Option<Key> },
}

enum Key {
    Named(String, Range<usize>),
    Merge,
    /// Not a string: its value is parsed and dropped.
    Unusable,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Stop> {
        let range = span.byte_range().unwrap_or(0..0);
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                self.found.push(
                    Problem::new("E0133", range, "the file has more than one YAML document")
                        .label("a second document starts here")
                        .help("put each playbook into its own file"),
                );
                Err(Stop)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar_value(&text, style, tag.as_deref(), &span);
                // The parser reports an absent value as `~` with an empty range.
                let text =
                    if range.is_empty() && style == ScalarStyle::Plain { String::new() } else { text.into() };
                let node = Rc::new(Node::new(range, Content::Scalar(Scalar { text, value, style })));
                self.remember(anchor, &node);
                self.attach(node)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), "seq", &span);
                self.start(range.start, anchor, OpenKind::List(Vec::new()));
                Ok(())
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), "map", &span);
                let kind = OpenKind::Map {
                    entries: Vec::new(),
                    seen: BTreeMap::new(),
                    merges: Vec::new(),
                    key: None,
                };
                self.start(range.start, anchor, kind);
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range.end),
            Event::Alias(id) => self.alias(id, range),
            Event::UnresolvedAlias(name) => {
                self.found.push(
                    Problem::new("E0135", range.clone(), format!("unknown anchor `{name}`"))
                        .label("this alias has no anchor")
                        .help(format!(
                            "mark an earlier value with `&{name}`; quote a string that starts with `*`"
                        )),
                );
                self.attach(null_at(range))
            }
            _ => Ok(()),
        }
    }

    fn scalar_value(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: &Span,
    ) -> ScalarValue {
        match tag.map(|tag| tag.core_suffix().unwrap_or_default()) {
            None => resolve(text, style),
            Some("str") => ScalarValue::Text,
            Some("int" | "float" | "bool" | "null") => resolve(text, ScalarStyle::Plain),
            Some(_) => {
                self.refuse_tag(tag, "str", span);
                resolve(text, style)
            }
        }
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, allowed: &str, span: &Span) {
        let Some(tag) = tag else { return };
        if tag.is_yaml_core_schema_tag(allowed) {
            return;
        }
        let range = span.tag_span().and_then(|tag| tag.byte_range()).or(span.byte_range()).unwrap_or(0..0);
        self.found.push(
            Problem::new("E0141", range, format!("unsupported YAML tag `{}`", tag.original()))
                .label("playbooks have no tags")
                .help("remove the tag; quote a string that starts with `!`"),
        );
    }

    fn start(&mut self, start: usize, anchor: usize, kind: OpenKind) {
        if anchor != 0 {
            self.anchors.insert(anchor, None);
        }
        self.open.push(Open { start, anchor, kind });
    }

    fn close(&mut self, end: usize) -> Result<(), Stop> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let content = match open.kind {
            OpenKind::List(items) => Content::List(items),
            OpenKind::Map { entries, seen, merges, .. } => Content::Map(self.merged(entries, seen, &merges)),
        };
        // The parser ends a block at the next token; the visible block ends before the white space.
        let end = open.start + self.text.get(open.start..end).unwrap_or("").trim_end().len();
        let node = Rc::new(Node::new(open.start..end, content));
        self.remember(open.anchor, &node);
        self.attach(node)
    }

    fn remember(&mut self, anchor: usize, node: &Rc<Node>) {
        if anchor != 0 {
            self.anchors.insert(anchor, Some(Rc::clone(node)));
        }
    }

    fn alias(&mut self, id: usize, range: Range<usize>) -> Result<(), Stop> {
        match self.anchors.get(&id) {
            Some(Some(node)) => {
                let node = Rc::clone(node);
                self.aliased = self.aliased.saturating_add(node.size);
                if self.aliased > ALIASED_NODES_MAX {
                    self.found.push(
                        Problem::new("E0134", range, "aliases expand to too many values")
                            .label(format!("more than {ALIASED_NODES_MAX} values")),
                    );
                    return Err(Stop);
                }
                if self.open.len() + node.height > DEPTH_MAX {
                    self.found.push(
                        Problem::new("E0134", range, "the file is nested too deeply")
                            .label(format!("more than {DEPTH_MAX} levels after expanding the alias")),
                    );
                    return Err(Stop);
                }
                self.attach(node)
            }
            Some(None) | None => {
                self.found.push(
                    Problem::new("E0135", range, "a value contains itself")
                        .label("this alias is inside its own anchor"),
                );
                Err(Stop)
            }
        }
    }

    /// Adds a finished node to its parent as key, value or item, or makes it the root.
    fn attach(&mut self, node: Rc<Node>) -> Result<(), Stop> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.kind {
            OpenKind::List(items) => items.push(node),
            OpenKind::Map { entries, seen, merges, key } => match key.take() {
                None => {
                    let taken = as_key(&node, self.found);
                    *key = Some(taken);
                }
                Some(Key::Merge) => merges.push(node),
                Some(Key::Unusable) => {}
                Some(Key::Named(name, key_span)) => {
                    if let Some(first) = seen.get(&name) {
                        self.found.push(
                            Problem::new("E0110", key_span, format!("duplicate key `{name}`"))
                                .label("second occurrence")
                                .also(first.clone(), "first occurrence")
                                .help("remove one of them"),
                        );
                    } else {
                        seen.insert(name.clone(), key_span.clone());
                        entries.push(Entry { key: name, key_span, value: node });
                    }
                }
            },
        }
        Ok(())
    }

    /// `<<` adds the keys that the map does not have. Of several merged maps, the first with a key wins.
    fn merged(
        &mut self,
        mut entries: Vec<Entry>,
        mut seen: BTreeMap<String, Range<usize>>,
        merges: &[Rc<Node>],
    ) -> Vec<Entry> {
        for merge in merges {
            let sources: Vec<Rc<Node>> = match &merge.content {
                Content::Map(_) => vec![Rc::clone(merge)],
                Content::List(items) => items.clone(),
                Content::Scalar(_) => Vec::new(),
            };
            let wrong = sources.iter().filter(|source| source.map().is_none());
            for wrong in wrong.chain(sources.is_empty().then_some(merge)) {
                if self.found.has_unresolved_alias_at(&wrong.span) {
                    continue;
                }
                self.found.push(
                    Problem::new("E0136", wrong.span.clone(), "`<<` must refer to a map")
                        .label(format!("this is {}", wrong.describe()))
                        .help("write `<<: *anchor`, or `<<: [*one, *two]`, where each anchor is on a map"),
                );
            }
            for entry in sources.iter().filter_map(|source| source.map()).flatten() {
                if !seen.contains_key(&entry.key) {
                    seen.insert(entry.key.clone(), entry.key_span.clone());
                    entries.push(entry.clone());
                }
            }
        }
        entries
    }
}

fn as_key(node: &Rc<Node>, found: &mut Diagnostics) -> Key {
    match node.scalar() {
        Some(scalar) if scalar.text == "<<" && scalar.style == ScalarStyle::Plain => Key::Merge,
        Some(scalar) if scalar.value != ScalarValue::Null => {
            Key::Named(scalar.text.clone(), node.span.clone())
        }
        _ => {
            found.push(
                Problem::new("E0142", node.span.clone(), "a key must be a string")
                    .label(format!("this key is {}", node.describe()))
                    .help("quote a value that starts with `{{`"),
            );
            Key::Unusable
        }
    }
}

fn null_at(range: Range<usize>) -> Rc<Node> {
    let scalar = Scalar { text: String::new(), value: ScalarValue::Null, style: ScalarStyle::Plain };
    Rc::new(Node::new(range, Content::Scalar(scalar)))
}
