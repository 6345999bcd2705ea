//! Parses tokens into a tree.
//!
//!   source ──tokens──▶ Parser ──Tree──▶ resolve
//!
//! **Invariant:** both the recursion of the parser and the depth of the tree it builds are limited.

mod expression;
mod function;
mod literal;
mod statement;
mod target;

use std::collections::BTreeMap;

use crate::span::Span;
use crate::syntax_error::SyntaxError;
use crate::token::{Punctuator, Token, TokenKind, tokens};
use crate::tree::{
    Body, Declaration, Frame, Function, FunctionId, Item, NESTING_MAX, NameId, Node, NodeId, Property,
    Statement, StatementId, Target, TargetId, Tree,
};

/// A longer source is data in the wrong place, not an expression that a person wrote.
pub(crate) const SOURCE_BYTES_MAX: usize = 256 * 1024;

/// How deep the parser may recurse. A parser level takes more stack than a level of the tree.
const LEVEL_MAX: u16 = 128;

/// Lookup of names is linear, which is fastest for ordinary sources and needs a bound for hostile ones.
const DECLARED_MAX: u16 = 2_000;

pub(crate) type Parsed<T> = Result<T, Box<SyntaxError>>;

/// A whole source as a function without parameters. `returns` says whether it has a `return` of its own.
pub(crate) struct ParsedSource {
    pub(crate) tree: Tree,
    pub(crate) main: Function,
    pub(crate) returns: bool,
}

/// Reads the source as one expression.
pub(crate) fn expression(source: &str) -> Parsed<ParsedSource> {
    let mut parser = Parser::new(source)?;
    let node = parser.expression()?;
    parser.expect_end()?;
    let main = Function { body: Body::Expression(node), frame: parser.pop_frame(), ..Function::default() };
    Ok(ParsedSource { tree: parser.tree, main, returns: true })
}

/// Reads the source as the statements of a function body.
pub(crate) fn statements(source: &str) -> Parsed<ParsedSource> {
    let mut parser = Parser::new(source)?;
    let mut body = Vec::new();
    while parser.kind() != &TokenKind::End {
        body.push(parser.statement()?);
    }
    let main = Function { body: Body::Block(body.into()), frame: parser.pop_frame(), ..Function::default() };
    Ok(ParsedSource { tree: parser.tree, main, returns: parser.main_returns })
}

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    at: usize,
    tree: Tree,
    depths: Vec<u16>,
    target_depths: Vec<u16>,
    /// How deep the parser itself has recursed.
    level: u16,
    /// The deepest node of the function being read, counted from its start.
    deepest: u16,
    main_returns: bool,
    /// How many names the whole source declares.
    declared: u16,
    interned: BTreeMap<&'s str, NameId>,
    frames: Vec<Frame>,
    /// Indexes into `frames` of the frames of functions, which own `var` declarations.
    function_frames: Vec<usize>,
    /// Set while the head of a `for` is parsed, where `in` is not an operator.
    no_in: bool,
    /// The span of a `{ a = 1 }` default, an error unless the literal turns out to be a pattern.
    stray_default: Option<Span>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Parsed<Parser<'s>> {
        if source.len() > SOURCE_BYTES_MAX {
            let message =
                format!("an expression may have {SOURCE_BYTES_MAX} bytes, this one has {}", source.len());
            return Err(SyntaxError::new(message, Span::new(0, source.len())));
        }
        Ok(Parser {
            source,
            tokens: tokens(source)?,
            at: 0,
            tree: Tree::default(),
            depths: Vec::new(),
            target_depths: Vec::new(),
            level: 0,
            deepest: 0,
            declared: 0,
            main_returns: false,
            interned: BTreeMap::new(),
            frames: vec![Frame::default()],
            function_frames: vec![0],
            no_in: false,
            stray_default: None,
        })
    }

    fn token(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn kind(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    fn ahead(&self, count: usize) -> &Token {
        &self.tokens[(self.at + count).min(self.tokens.len() - 1)]
    }

    fn span(&self) -> Span {
        self.token().span
    }

    fn advance(&mut self) -> Span {
        let span = self.span();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        span
    }

    /// The span of the token before the current one.
    fn before(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn is(&self, punctuator: Punctuator) -> bool {
        self.kind() == &TokenKind::Punctuator(punctuator)
    }

    fn accept(&mut self, punctuator: Punctuator) -> bool {
        let found = self.is(punctuator);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, punctuator: Punctuator, wanted: &str) -> Parsed<Span> {
        if self.is(punctuator) { Ok(self.advance()) } else { Err(self.unexpected(wanted)) }
    }

    fn word(&self) -> Option<&'s str> {
        self.word_of(self.token())
    }

    fn word_of(&self, token: &Token) -> Option<&'s str> {
        (token.kind == TokenKind::Word).then(|| &self.source[token.span.range()])
    }

    fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn refuse_stray_default(&self) -> Parsed<()> {
        match self.stray_default {
            Some(span) => Err(SyntaxError::new("a default needs a pattern that is assigned to", span)),
            None => Ok(()),
        }
    }

    fn expect_end(&self) -> Parsed<()> {
        self.refuse_stray_default()?;
        if self.kind() == &TokenKind::End {
            Ok(())
        } else {
            Err(self.unexpected("the end of the expression"))
        }
    }

    fn unexpected(&self, wanted: &str) -> Box<SyntaxError> {
        let found = match self.kind() {
            TokenKind::End => "the end".to_owned(),
            TokenKind::Chunk { .. } => "a template".to_owned(),
            TokenKind::Number(_)
            | TokenKind::Text(_)
            | TokenKind::Word
            | TokenKind::Regex { .. }
            | TokenKind::Punctuator(_) => {
                format!("`{}`", shortened(&self.source[self.span().range()]))
            }
        };
        SyntaxError::new(format!("expected {wanted}, found {found}"), self.span())
    }

    fn enter(&mut self) -> Parsed<()> {
        self.level += 1;
        if self.level > LEVEL_MAX { Err(too_deep(self.span())) } else { Ok(()) }
    }

    fn leave(&mut self) {
        self.level -= 1;
    }

    fn intern(&mut self, name: &'s str) -> NameId {
        if let Some(&known) = self.interned.get(name) {
            return known;
        }
        let id = NameId(index(self.tree.names.len()));
        self.tree.names.push(name.into());
        self.interned.insert(name, id);
        id
    }

    fn add(&mut self, node: Node, span: Span) -> Parsed<NodeId> {
        let depth = self.depth_below(&node) + 1;
        if depth > NESTING_MAX {
            return Err(too_deep(span));
        }
        self.deepest = self.deepest.max(depth);
        let id = NodeId(index(self.tree.nodes.len()));
        self.tree.nodes.push(node);
        self.tree.spans.push(span);
        self.depths.push(depth);
        Ok(id)
    }

    fn add_statement(&mut self, statement: Statement) -> StatementId {
        self.tree.statements.push(statement);
        StatementId(index(self.tree.statements.len() - 1))
    }

    fn add_target(&mut self, target: Target) -> TargetId {
        let depth = match &target {
            Target::Simple(node) => self.depth(*node),
            Target::Default { target, value } => self.depth(*value).max(self.target_depth(*target)),
            Target::Array { items, rest } => {
                items.iter().flatten().chain(rest).map(|item| self.target_depth(*item)).max().unwrap_or(0)
            }
            Target::Object { members, rest } => members
                .iter()
                .map(|(_, member)| member)
                .chain(rest)
                .map(|item| self.target_depth(*item))
                .max()
                .unwrap_or(0),
        };
        self.target_depths.push(depth + 1);
        self.deepest = self.deepest.max(depth + 1);
        self.tree.targets.push(target);
        TargetId(index(self.tree.targets.len() - 1))
    }

    fn add_function(&mut self, function: Function) -> FunctionId {
        self.tree.functions.push(function);
        FunctionId(index(self.tree.functions.len() - 1))
    }

    fn depth(&self, id: NodeId) -> u16 {
        self.depths[id.0 as usize]
    }

    fn target_depth(&self, id: TargetId) -> u16 {
        self.target_depths[id.0 as usize]
    }

    fn depth_below(&self, node: &Node) -> u16 {
        let deepest = |nodes: &[NodeId]| nodes.iter().map(|id| self.depth(*id)).max().unwrap_or(0);
        let items = |items: &[Item]| items.iter().map(|item| self.depth(item.node())).max().unwrap_or(0);
        match node {
            Node::Number(_)
            | Node::Text(_)
            | Node::Bool(_)
            | Node::Null
            | Node::Undefined
            | Node::Regex(_)
            | Node::Name(_)
            | Node::Local(..)
            | Node::Constant(_)
            | Node::Free(_)
            | Node::Standard(_) => 0,
            Node::Template { holes, .. } => deepest(holes),
            Node::Array(elements) => items(elements),
            Node::Object(properties) => properties
                .iter()
                .map(|property| match property {
                    Property::Named(_, value) | Property::Spread(value) => self.depth(*value),
                    Property::Computed(key, value) => self.depth(*key).max(self.depth(*value)),
                })
                .max()
                .unwrap_or(0),
            Node::Function(function) => self.tree.function(*function).depth,
            Node::Member { object: node, .. }
            | Node::Chain(node)
            | Node::Unary(_, node)
            | Node::Delete(node)
            | Node::Update { target: node, .. } => self.depth(*node),
            Node::Index { object: left, index: right, .. }
            | Node::Binary(_, left, right)
            | Node::Logical(_, left, right)
            | Node::Compound { target: left, value: right, .. } => deepest(&[*left, *right]),
            Node::Call { callee, arguments, .. } | Node::New { callee, arguments } => {
                self.depth(*callee).max(items(arguments))
            }
            Node::Conditional { test, then, otherwise } => deepest(&[*test, *then, *otherwise]),
            Node::Assign { target, value } => self.target_depth(*target).max(self.depth(*value)),
            Node::Sequence(nodes) => deepest(nodes),
        }
    }

    fn push_frame(&mut self) {
        self.frames.push(Frame::default());
    }

    fn pop_frame(&mut self) -> Frame {
        self.frames.pop().unwrap_or_default()
    }

    fn declare(&mut self, name: NameId, kind: Declaration, span: Span) -> Parsed<()> {
        let frame = match kind {
            Declaration::Var => self.function_frames.last().copied().unwrap_or(0),
            Declaration::Const | Declaration::Let | Declaration::Function | Declaration::Parameter => {
                self.frames.len() - 1
            }
        };
        let declares = &mut self.frames[frame].declares;
        if let Some((_, earlier)) = declares.iter().find(|(declared, _)| *declared == name) {
            let may_repeat = |kind: Declaration| {
                matches!(kind, Declaration::Var | Declaration::Function | Declaration::Parameter)
            };
            if !may_repeat(kind) || !may_repeat(*earlier) {
                return Err(SyntaxError::new(format!("`{}` is declared twice", self.tree.name(name)), span));
            }
            return Ok(());
        }
        declares.push((name, kind));
        self.declared += 1;
        if self.declared > DECLARED_MAX {
            return Err(SyntaxError::new(format!("more than {DECLARED_MAX} names are declared"), span));
        }
        Ok(())
    }
}

/// Sources are at most `SOURCE_BYTES_MAX` long and a byte makes at most a few nodes.
fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn too_deep(span: Span) -> Box<SyntaxError> {
    SyntaxError::with_help("this nests too deeply", span, "split it into several steps")
}

fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(30).collect();
    if chars.next().is_some() { start + "…" } else { start }
}
