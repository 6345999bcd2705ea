//! Events to tree: anchors and aliases, merge keys, duplicate keys, limits.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, Span, Tag, options};

use super::node::{Content, Entry, Node, Scalar, ScalarValue};
use super::scalar::resolve;
use crate::diagnostic::{Diagnostics, Problem};

/// More than any playbook that a person wrote.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
const DEPTH_MAX: usize = 100;
/// What aliases may add to the nodes that stand in the file.
const ALIASED_NODES_MAX: usize = 100_000;

/// Reads the one document of a file. `None` when it cannot be read on from; what was found is in `found`.
pub(crate) fn parse(text: &str, found: &mut Diagnostics) -> Option<Rc<Node>> {
    if text.len() > TEXT_BYTES_MAX {
        found.push(
            Problem::new("E0134", 0..0, "the file is too large")
                .label(format!("at most {TEXT_BYTES_MAX} bytes are read")),
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
            Some("a quote that was opened before this line may not have been closed")
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            Some("inside double quotes `\\` starts an escape; use single quotes to keep it as it is")
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar => Some(
            "the double quote before this place closed the string; write `\\\"` for a quote inside it, or use `|`",
        ),
        ErrorKind::InvalidTrailingSingleQuotedScalar => {
            Some("the single quote before this place closed the string; write `''` for a quote inside it")
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => Some(
            "a value that has `: ` in it must be quoted, and a key needs a blank behind its `:`; also look for a bracket left open above",
        ),
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator => {
            Some("a `[` was opened and not closed with `]`, or a comma is missing")
        }
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::ExpectedFlowMappingSeparator => Some(
            "a `{` was opened and not closed with `}`, or a comma is missing; a template at the start of a value must be quoted",
        ),
        ErrorKind::SimpleKeyExpected => Some("every line of a map is `key: value`"),
        ErrorKind::ExpectedBlockMappingKey => Some("keys of one map start in the same column"),
        _ => None,
    };
    let problem = Problem::new("E0101", at..next_boundary(text, at), "the file is not YAML").label(info);
    match help {
        Some(help) => problem.help(help),
        None => problem,
    }
}

/// The escape that double quotes do not know, in the string that starts at `at`.
fn bad_escape(text: &str, at: usize) -> usize {
    let mut rest = text.get(at..).unwrap_or("").char_indices();
    while let Some((offset, message)) = rest.next() {
        if message == '\\'
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

/// The text cannot be read on from here; the problem is already noted.
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
    /// A key that is no string: its value is read and dropped.
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
                        .help("put each playbook into a file of its own"),
                );
                Err(Stop)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar_value(&text, style, tag.as_deref(), &span);
                // An absent value is reported as `~` at an empty place.
                let text =
                    if range.is_empty() && style == ScalarStyle::Plain { String::new() } else { text.into() };
                let node = Rc::new(Node::new(range, Content::Scalar(Scalar { text, value, style })));
                self.remember(anchor, &node);
                self.place(node)
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
                    Problem::new("E0135", range.clone(), format!("no anchor is called `{name}`"))
                        .label("this alias refers to nothing")
                        .help(format!("an anchor is written `&{name}` before the first value that is used again; a string that starts with `*` must be quoted")),
                );
                self.place(null_at(range))
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
            Problem::new("E0141", range, "YAML tags have no meaning in a playbook")
                .label(format!("the tag `{}`", tag.original()))
                .help("remove the tag; a string that starts with `!` must be quoted"),
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
        // A block ends where the next token starts; what a person sees ends before the blanks.
        let end = open.start + self.text.get(open.start..end).unwrap_or("").trim_end().len();
        let node = Rc::new(Node::new(open.start..end, content));
        self.remember(open.anchor, &node);
        self.place(node)
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
                        Problem::new("E0134", range, "aliases expand to too much")
                            .label(format!("more than {ALIASED_NODES_MAX} values by now")),
                    );
                    return Err(Stop);
                }
                if self.open.len() + node.height > DEPTH_MAX {
                    self.found.push(
                        Problem::new("E0134", range, "the file is nested too deeply")
                            .label(format!("more than {DEPTH_MAX} levels once the alias is expanded")),
                    );
                    return Err(Stop);
                }
                self.place(node)
            }
            Some(None) | None => {
                self.found.push(
                    Problem::new("E0135", range, "a value contains itself")
                        .label("this alias lies inside of what it refers to"),
                );
                Err(Stop)
            }
        }
    }

    /// Puts a finished node where it belongs: key, value, item or document.
    fn place(&mut self, node: Rc<Node>) -> Result<(), Stop> {
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
                            Problem::new("E0110", key_span, format!("the key `{name}` stands here twice"))
                                .label("the second")
                                .also(first.clone(), "the first")
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

    /// `<<` brings in what the map does not say itself; of several, the first that says it wins.
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
                if self.found.tells_of_alias(&wrong.span) {
                    continue;
                }
                self.found.push(
                    Problem::new("E0136", wrong.span.clone(), "`<<` merges maps")
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
                    .help("a value that starts with `{{` must be quoted"),
            );
            Key::Unusable
        }
    }
}

fn null_at(range: Range<usize>) -> Rc<Node> {
    let scalar = Scalar { text: String::new(), value: ScalarValue::Null, style: ScalarStyle::Plain };
    Rc::new(Node::new(range, Content::Scalar(scalar)))
}
