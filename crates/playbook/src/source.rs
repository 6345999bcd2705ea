//! Expressions, blocks, templates and scripts inside of YAML values: parsed, with every error at its place.
//!
//! **Invariant:** the only file that knows how the expression room reports errors and reads.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use escrow_expr::{Program, Reads};
use escrow_model::{Block, Expression, Shell, Text};
use escrow_template::{Read, ShellErrorKind, ShellScript, Step, Template};

use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::{Node, place_within};

/// When a source is evaluated: that decides which names it may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before the provider: there is no `output` yet.
    Before,
    /// After the provider.
    After,
}

/// A source of the file, and what it reads.
#[derive(Debug)]
pub(crate) struct Use {
    /// The check that it belongs to, by place; none for the file's own.
    pub(crate) check: Option<usize>,
    pub(crate) key: String,
    pub(crate) node: Rc<Node>,
    pub(crate) stage: Stage,
    pub(crate) mentions: Vec<Mention>,
    /// The truth of an expression that reads nothing.
    pub(crate) constant: Option<bool>,
}

/// A free name with the members read of it, as far as they are literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    pub(crate) span: Range<usize>,
    /// Behind `typeof`, where a missing name does no harm.
    pub(crate) guarded: bool,
}

/// Parses sources and remembers what they read.
pub(crate) struct Sources<'t> {
    pub(crate) text: &'t str,
    pub(crate) found: &'t mut Diagnostics,
    pub(crate) uses: Vec<Use>,
    /// The check whose sources are being read.
    pub(crate) check: Option<usize>,
}

impl Sources<'_> {
    pub(crate) fn expression(&mut self, key: &str, node: &Rc<Node>, stage: Stage) -> Option<Expression> {
        let text = node.string().or_else(|| node.bool().and(node.written()))?;
        if text.trim().is_empty() {
            self.found.push(
                Problem::new("E0113", node.span.clone(), format!("`{key}` is not an expression"))
                    .label("it is empty"),
            );
            return None;
        }
        // Two nested blocks of statements, to the message; nobody means that.
        if text.trim().starts_with("{{") && text.trim().ends_with("}}") {
            let bare = text.trim().trim_start_matches('{').trim_end_matches('}').trim();
            let problem = Problem::new("E0113", node.span.clone(), format!("`{key}` is not an expression"));
            self.found
                .push(problem.label("this is a template").help(format!("write `{bare}`, without braces")));
            return None;
        }
        match Program::expression(text) {
            Ok(program) => {
                for (span, help) in writes(&program) {
                    let message = format!("`{key}` changes what it should only read");
                    self.refuse("E0115", message, node, &span, "this writes", Some(help.to_owned()));
                }
                self.refuse_missing(key, node, &program);
                self.remember(key, node, stage, reads_of_program(&program), constant(&program));
                Some(Expression::new(text, program))
            }
            Err(error) => {
                self.refuse(
                    "E0113",
                    format!("`{key}` is not an expression"),
                    node,
                    &error.span,
                    &error.message,
                    error.help,
                );
                None
            }
        }
    }

    pub(crate) fn block(&mut self, key: &str, node: &Rc<Node>, stage: Stage) -> Option<Block> {
        let text = node.written()?;
        match Program::block(text) {
            Ok(program) => {
                self.refuse_missing(key, node, &program);
                self.remember(key, node, stage, reads_of_program(&program), None);
                Some(Block::new(text, program))
            }
            Err(error) => {
                let message = format!("`{key}` is not a block of statements");
                let help = "statements are written as in JavaScript: `if (output.ok) { return 'next'; }`";
                let help = error.help.or_else(|| Some(help.to_owned()));
                self.refuse("E0113", message, node, &error.span, &error.message, help);
                None
            }
        }
    }

    pub(crate) fn template(&mut self, key: &str, node: &Rc<Node>) -> Option<Text> {
        self.template_text(key, node, node.written()?)
    }

    /// A template whose text is not quite what stands in the file.
    pub(crate) fn template_text(&mut self, key: &str, node: &Rc<Node>, text: &str) -> Option<Text> {
        match Template::parse(text) {
            Ok(template) => {
                self.remember(key, node, Stage::Before, reads_of_template(template.reads()), None);
                Some(Text::new(text, template))
            }
            Err(error) => {
                let message = format!("`{key}` is not a template");
                self.refuse("E0118", message, node, &error.span, &error.message, error.help);
                None
            }
        }
    }

    pub(crate) fn shell(&mut self, key: &str, node: &Rc<Node>) -> Option<Shell> {
        let text = node.written()?;
        match ShellScript::parse(text) {
            Ok(script) => {
                self.remember(key, node, Stage::Before, reads_of_template(script.reads()), None);
                Some(Shell::new(text, script))
            }
            Err(errors) => {
                for error in errors {
                    let (code, message) = match error.kind {
                        ShellErrorKind::Template => ("E0118", format!("`{key}` is not a template")),
                        _ => ("E0119", format!("`{key}` cannot be run safely")),
                    };
                    let help = Some(error.help).filter(|help| !help.is_empty());
                    self.refuse(code, message, node, &error.span, &error.message, help);
                }
                None
            }
        }
    }

    fn remember(
        &mut self,
        key: &str,
        node: &Rc<Node>,
        stage: Stage,
        mentions: Vec<Mention>,
        constant: Option<bool>,
    ) {
        self.uses.push(Use {
            check: self.check,
            key: key.to_owned(),
            node: Rc::clone(node),
            stage,
            mentions,
            constant,
        });
    }

    /// Standard functions that there are not: no evaluation could ever succeed.
    fn refuse_missing(&mut self, key: &str, node: &Node, program: &Program) {
        for call in &program.reads().missing {
            let help = match call.name.as_str() {
                "Math.random" => {
                    "expressions have no chance, so that a replay decides the same; let a check print a number, and read its output"
                }
                _ => "`docs/expressions.md` lists the functions that there are",
            };
            let message = format!("`{key}` calls a function that does not exist");
            let label = format!("nothing is called `{}`", call.name);
            self.refuse("E0114", message, node, &call.span, &label, Some(help.to_owned()));
        }
    }

    fn refuse(
        &mut self,
        code: &'static str,
        message: String,
        node: &Node,
        span: &Range<usize>,
        label: &str,
        help: Option<String>,
    ) {
        let place = place_within(self.text, node, span);
        self.found.push(Problem::new(code, place, message).label(label).maybe_help(help));
    }
}

/// Every name once per place, with the longest literal path that starts there.
fn reads_of_program(program: &Program) -> Vec<Mention> {
    let reads = program.reads();
    let paths = reads.paths.iter().map(|path| (path.span.start, path));
    let by_start: BTreeMap<usize, _> = paths.collect();
    reads
        .names
        .iter()
        .map(|read| match by_start.get(&read.span.start) {
            Some(path) => {
                Mention { path: path.segments.clone(), span: path.span.clone(), guarded: read.guarded }
            }
            None => Mention { path: vec![read.name.clone()], span: read.span.clone(), guarded: read.guarded },
        })
        .collect()
}

fn reads_of_template(reads: &[Read]) -> Vec<Mention> {
    reads
        .iter()
        .map(|read| {
            let members = read.path.iter().map_while(|step| match step {
                Step::Member(name) => Some(name.clone()),
                Step::Item(_) => None,
            });
            Mention {
                path: std::iter::once(read.name.clone()).chain(members).collect(),
                span: read.span.clone(),
                guarded: false,
            }
        })
        .collect()
}

/// The truth of an expression that reads nothing.
fn constant(program: &Program) -> Option<bool> {
    Some(program.constant()?.is_truthy())
}

/// Where an expression writes, and what to do instead.
fn writes(program: &Program) -> Vec<(Range<usize>, &'static str)> {
    const MEMORY: &str = "expressions only read; write with a check of `type: memory`, or in a `script`";
    const ASSIGNMENT: &str = "`=` assigns, and what was assigned counts as true; compare with `===`";
    let effects = program.reads().effects.iter();
    effects
        .filter_map(|effect| match effect.name.as_str() {
            Reads::CHANGE => {
                let behind = program.source().get(effect.span.end..)?;
                let end = effect.span.end + assignment(behind).unwrap_or(0);
                Some((effect.span.start..end, ASSIGNMENT))
            }
            name if name.starts_with("memory") => Some((effect.span.clone(), MEMORY)),
            _ => None,
        })
        .collect()
}

/// How far an assignment operator reaches into the text, if it starts with one.
fn assignment(text: &str) -> Option<usize> {
    let operator = text.trim_start();
    let length = ["=", "+=", "-=", "*=", "/=", "%=", "||=", "&&=", "??=", "++", "--"]
        .into_iter()
        .find(|start| operator.starts_with(start))?
        .len();
    let compares = operator.starts_with("==") || operator.starts_with("=>");
    (!compares).then(|| text.len() - operator.len() + length)
}
