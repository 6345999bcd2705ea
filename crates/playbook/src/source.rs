//! Parses the expressions, blocks, templates and scripts inside YAML values, and records the names that they read.
//!
//! **Invariant:** the only file that converts spans and errors of the expression and template parsers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use escrow_expr::{Program, Reads};
use escrow_model::{Block, Expression, Shell, StepCondition, Text};
use escrow_template::{
    Condition, PathStep, ShellErrorKind, ShellScript, Template, TemplateRead, check_arguments,
    without_comments,
};

use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::{Node, span_within};

/// When a source is evaluated, which decides the names that it can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before any check: only what is known when the run starts.
    RunStart,
    /// `output` does not exist yet.
    BeforeProvider,
    AfterProvider,
}

/// An expression, block, template or script of the file, with the names that it reads.
#[derive(Debug)]
pub(crate) struct Use {
    /// The index of its check; `None` for keys of the file.
    pub(crate) check: Option<usize>,
    pub(crate) key: String,
    pub(crate) node: Rc<Node>,
    pub(crate) stage: Stage,
    pub(crate) mentions: Vec<Mention>,
    /// The truth value of an expression that reads nothing.
    pub(crate) constant: Option<bool>,
}

impl Use {
    /// Whether it is the `if` of an expected artifact.
    pub(crate) fn is_artifact_condition(&self) -> bool {
        self.check.is_none() && self.key == "if"
    }
}

/// A free name with the literal member path that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    /// What follows the name in a template, with the indices of items.
    pub(crate) steps: Vec<PathStep>,
    pub(crate) span: Range<usize>,
    /// Operand of `typeof`, where an unknown name is allowed.
    pub(crate) guarded: bool,
}

/// Parses sources and records what they read.
pub(crate) struct Sources<'t> {
    pub(crate) text: &'t str,
    pub(crate) found: &'t mut Diagnostics,
    pub(crate) uses: Vec<Use>,
    /// The check whose sources are being read.
    pub(crate) check: Option<usize>,
}

impl Sources<'_> {
    pub(crate) fn expression(&mut self, key: &str, node: &Rc<Node>, stage: Stage) -> Option<Expression> {
        let text = node.string().or_else(|| node.bool().and(node.scalar_text()))?;
        if text.trim().is_empty() {
            self.found.push(
                Problem::new("E0113", node.span.clone(), format!("`{key}` is not a valid expression"))
                    .label("empty"),
            );
            return None;
        }
        // `{{ … }}` parses as nested blocks, and is never meant so.
        if text.trim().starts_with("{{") && text.trim().ends_with("}}") {
            let bare = text.trim().trim_start_matches('{').trim_end_matches('}').trim();
            let problem =
                Problem::new("E0113", node.span.clone(), format!("`{key}` is not a valid expression"));
            self.found
                .push(problem.label("this is a template").help(format!("write `{bare}` without braces")));
            return None;
        }
        match Program::expression(text) {
            Ok(program) => {
                for (span, help) in writes(&program) {
                    let message = format!("`{key}` has a side effect");
                    self.report("E0115", message, node, &span, "this changes a value", Some(help.to_owned()));
                }
                self.report_missing_functions(key, node, &program);
                self.record(key, node, stage, reads_of_program(&program), constant(&program));
                Some(Expression::new(text, program))
            }
            Err(error) => {
                self.report(
                    "E0113",
                    format!("`{key}` is not a valid expression"),
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
        let text = node.scalar_text()?;
        match Program::block(text) {
            Ok(program) => {
                self.report_missing_functions(key, node, &program);
                self.record(key, node, stage, reads_of_program(&program), None);
                Some(Block::new(text, program))
            }
            Err(error) => {
                let message = format!("`{key}` is not a valid block of statements");
                let help = "statements use JavaScript syntax: `if (output.ok) { return 'next'; }`";
                let help = error.help.or_else(|| Some(help.to_owned()));
                self.report("E0113", message, node, &error.span, &error.message, help);
                None
            }
        }
    }

    pub(crate) fn template(&mut self, key: &str, node: &Rc<Node>) -> Option<Text> {
        self.template_text(key, node, node.scalar_text()?)
    }

    /// A template that is rendered when the run starts.
    pub(crate) fn start_template(&mut self, key: &str, node: &Rc<Node>) -> Option<Text> {
        let uses = self.uses.len();
        let template = self.template(key, node);
        self.uses[uses..].iter_mut().for_each(|used| used.stage = Stage::RunStart);
        template
    }

    /// A template whose text differs from the file, because it was expanded.
    pub(crate) fn template_text(&mut self, key: &str, node: &Rc<Node>, text: &str) -> Option<Text> {
        match Template::parse(text) {
            Ok(template) => {
                self.record(key, node, Stage::BeforeProvider, reads_of_template(template.reads()), None);
                Some(Text::new(text, template))
            }
            Err(error) => {
                let message = format!("`{key}` is not a valid template");
                self.report("E0118", message, node, &error.span, &error.message, error.help);
                None
            }
        }
    }

    /// The condition of a step.
    pub(crate) fn condition(&mut self, key: &str, node: &Rc<Node>) -> Option<StepCondition> {
        let text = node.scalar_text()?;
        match Condition::parse(text) {
            Ok(condition) => {
                self.record(key, node, Stage::BeforeProvider, reads_of_template(condition.reads()), None);
                Some(StepCondition::new(text, condition))
            }
            Err(error) => {
                let message = format!("`{key}` is not a valid condition");
                self.report("E0118", message, node, &error.span, &error.message, error.help);
                None
            }
        }
    }

    /// The words of a program that is started without a shell: templates without comments. A value in them must not
    /// be read as code.
    pub(crate) fn argv(&mut self, key: &str, items: &[Rc<Node>]) -> Vec<Text> {
        let texts: Vec<&str> = items.iter().filter_map(|item| item.scalar_text()).collect();
        if texts.len() == items.len() {
            for (index, error) in check_arguments(&texts, false) {
                let message = format!("`{key}` cannot be run safely");
                self.report("E0119", message, &items[index], &error.span, &error.message, Some(error.help));
            }
        }
        items
            .iter()
            .filter_map(|item| self.template_text(key, item, &without_comments(item.scalar_text()?)))
            .collect()
    }

    pub(crate) fn shell(&mut self, key: &str, node: &Rc<Node>) -> Option<Shell> {
        let text = node.scalar_text()?;
        match ShellScript::parse(text) {
            Ok(script) => {
                self.record(key, node, Stage::BeforeProvider, reads_of_template(script.reads()), None);
                Some(Shell::new(text, script))
            }
            Err(errors) => {
                for error in errors {
                    let (code, message) = match error.kind {
                        ShellErrorKind::Template => ("E0118", format!("`{key}` is not a valid template")),
                        _ => ("E0119", format!("`{key}` cannot be run safely")),
                    };
                    let help = Some(error.help).filter(|help| !help.is_empty());
                    self.report(code, message, node, &error.span, &error.message, help);
                }
                None
            }
        }
    }

    fn record(
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

    /// Reports calls of standard functions that Escrow does not provide.
    fn report_missing_functions(&mut self, key: &str, node: &Node, program: &Program) {
        for call in &program.reads().missing {
            let help = match call.name.as_str() {
                "Math.random" => {
                    "expressions are deterministic, so that a replay decides the same; let a check print a number, and read its output"
                }
                _ => "`docs/expressions.md` lists all functions",
            };
            let message = format!("`{key}` calls an unknown function");
            let label = format!("no function `{}`", call.name);
            self.report("E0114", message, node, &call.span, &label, Some(help.to_owned()));
        }
    }

    fn report(
        &mut self,
        code: &'static str,
        message: String,
        node: &Node,
        range: &Range<usize>,
        label: &str,
        help: Option<String>,
    ) {
        let span = span_within(self.text, node, range);
        self.found.push(Problem::new(code, span, message).label(label).maybe_help(help));
    }
}

/// The names that a program reads, each with the longest literal path at its position.
fn reads_of_program(program: &Program) -> Vec<Mention> {
    let reads = program.reads();
    let paths = reads.paths.iter().map(|path| (path.span.start, path));
    let by_start: BTreeMap<usize, _> = paths.collect();
    reads
        .names
        .iter()
        .map(|read| match by_start.get(&read.span.start) {
            Some(path) => Mention {
                path: path.segments.clone(),
                steps: Vec::new(),
                span: path.span.clone(),
                guarded: read.guarded,
            },
            None => Mention {
                path: vec![read.name.clone()],
                steps: Vec::new(),
                span: read.span.clone(),
                guarded: read.guarded,
            },
        })
        .collect()
}

fn reads_of_template(reads: &[TemplateRead]) -> Vec<Mention> {
    reads
        .iter()
        .map(|read| {
            let members = read.path.iter().map_while(|step| match step {
                PathStep::Member(name) => Some(name.clone()),
                PathStep::Item(_) => None,
            });
            Mention {
                path: std::iter::once(read.name.clone()).chain(members).collect(),
                steps: read.path.clone(),
                span: read.span.clone(),
                guarded: false,
            }
        })
        .collect()
}

/// The truth value of an expression that reads nothing.
fn constant(program: &Program) -> Option<bool> {
    Some(program.constant()?.is_truthy())
}

/// The spans where an expression changes a value, with the help for each.
fn writes(program: &Program) -> Vec<(Range<usize>, &'static str)> {
    const MEMORY: &str = "expressions are read-only; write with a check of `type: memory` or in a `script`";
    const ASSIGNMENT: &str = "`=` assigns; compare with `===`";
    let effects = program.reads().effects.iter();
    effects
        .filter_map(|effect| match effect.name.as_str() {
            Reads::CHANGE => {
                let rest = program.source().get(effect.span.end..)?;
                let end = effect.span.end + assignment(rest).unwrap_or(0);
                Some((effect.span.start..end, ASSIGNMENT))
            }
            name if name.starts_with("memory") => Some((effect.span.clone(), MEMORY)),
            _ => None,
        })
        .collect()
}

/// The length of the assignment operator at the start of the text, with leading white space.
fn assignment(text: &str) -> Option<usize> {
    let operator = text.trim_start();
    let length = ["=", "+=", "-=", "*=", "/=", "%=", "||=", "&&=", "??=", "++", "--"]
        .into_iter()
        .find(|start| operator.starts_with(start))?
        .len();
    let compares = operator.starts_with("==") || operator.starts_with("=>");
    (!compares).then(|| text.len() - operator.len() + length)
}
