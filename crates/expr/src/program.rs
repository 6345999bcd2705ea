//! A compiled expression or block.

use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::answer::Answer;
use crate::budget::Budget;
use crate::eval_error::EvalError;
use crate::evaluate::Evaluator;
use crate::explain::{Explanation, Recorder};
use crate::parse::{self, ParsedSource};
use crate::reads::Reads;
use crate::resolve::resolve;
use crate::scope::{Scope, ScopeValue};
use crate::syntax_error::SyntaxError;
use crate::tree::{Function, Tree};
use crate::value::Value;

/// A compiled program, evaluated any number of times. Clones share it.
#[derive(Clone)]
pub struct Program(Arc<Compiled>);

struct Compiled {
    source: Box<str>,
    kind: ProgramKind,
    tree: Tree,
    main: Function,
    reads: Reads,
    /// The value is that of the last expression statement: a script without `return`.
    completion: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProgramKind {
    Expression,
    Block,
}

/// One write of a block to memory, by `memory.set`, `memory.increment` or `memory.append`.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryWrite {
    pub namespace: String,
    pub key: String,
    pub value: Json,
}

impl Program {
    /// Compiles a gate: one expression, or statements whose last expression or `return` is the value.
    pub fn expression(source: &str) -> Result<Program, SyntaxError> {
        Program::compile(source, ProgramKind::Expression)
    }

    /// Compiles the body of a function, or one expression, which is then the value.
    pub fn block(source: &str) -> Result<Program, SyntaxError> {
        Program::compile(source, ProgramKind::Block)
    }

    fn compile(source: &str, kind: ProgramKind) -> Result<Program, SyntaxError> {
        let (parsed, is_expression) = match parse::expression(source) {
            Ok(parsed) => (parsed, true),
            Err(as_expression) => match parse::statements(source) {
                Ok(parsed) if kind == ProgramKind::Expression && is_empty(&parsed) => {
                    return Err(*as_expression);
                }
                Ok(parsed) => (parsed, false),
                // Report the parse that got further.
                Err(as_block) => {
                    return Err(if as_block.span.start > as_expression.span.start {
                        *as_block
                    } else {
                        *as_expression
                    });
                }
            },
        };
        let ParsedSource { mut tree, mut main, returns } = parsed;
        let reads = resolve(&mut tree, &mut main).map_err(|error| *error)?;
        let completion = kind == ProgramKind::Expression && !is_expression && !returns;
        Ok(Program(Arc::new(Compiled { source: source.into(), kind, tree, main, reads, completion })))
    }

    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// What the program reads, known without running it.
    pub fn reads(&self) -> &Reads {
        &self.0.reads
    }

    /// The value of a program that does not depend on the scope.
    pub fn constant(&self) -> Option<Answer> {
        if !self.0.reads.is_constant() {
            return None;
        }
        self.evaluate(&NoScope, Budget::CONSTANT).ok()
    }

    pub fn evaluate(&self, scope: &dyn Scope, budget: Budget) -> Result<Answer, EvalError> {
        self.run(scope, budget).map(|(answer, _)| answer)
    }

    /// Like `evaluate`, and returns the memory writes of a block. In an expression memory is read only.
    pub fn run(&self, scope: &dyn Scope, budget: Budget) -> Result<(Answer, Vec<MemoryWrite>), EvalError> {
        let mut evaluator = self.evaluator(scope, budget);
        let result = self.run_in(&mut evaluator);
        result.map_err(|exception| evaluator.eval_error(*exception))
    }

    /// Whether the value is truthy, without converting it to JSON.
    pub fn test(&self, scope: &dyn Scope, budget: Budget) -> Result<bool, EvalError> {
        let mut evaluator = self.evaluator(scope, budget);
        match evaluator.run(&self.0.main, self.0.completion) {
            Ok(value) => Ok(evaluator.is_truthy(&value)),
            Err(exception) => Err(evaluator.eval_error(*exception)),
        }
    }

    /// Evaluates and records every sub-expression with its value, within bounds.
    pub fn explain(&self, scope: &dyn Scope, budget: Budget) -> (Result<Answer, EvalError>, Explanation) {
        let mut evaluator = self.evaluator(scope, budget);
        evaluator.recorder = Some(Box::new(Recorder::new()));
        let result = self.run_in(&mut evaluator);
        let recorder = evaluator.recorder.take().unwrap_or_default();
        let result = result.map(|(answer, _)| answer).map_err(|exception| evaluator.eval_error(*exception));
        let explanation = Explanation::new(self.source(), &self.0.tree, &self.0.main, &recorder, &result);
        (result, explanation)
    }

    fn evaluator<'a>(&'a self, scope: &'a dyn Scope, budget: Budget) -> Evaluator<'a> {
        let mut evaluator = Evaluator::new(&self.0.tree, scope, budget);
        evaluator.memory_writable = self.0.kind == ProgramKind::Block;
        evaluator
    }

    fn run_in<'a>(
        &'a self,
        evaluator: &mut Evaluator<'a>,
    ) -> crate::exception::EvalResult<'a, (Answer, Vec<MemoryWrite>)> {
        let value: Value<'a> = evaluator.run(&self.0.main, self.0.completion)?;
        let answer = evaluator.answer(&value)?;
        let mut writes = Vec::new();
        for (namespace, key, value) in std::mem::take(&mut evaluator.writes) {
            let value = evaluator.json_of(&value, &mut Vec::new())?.unwrap_or(Json::Null);
            writes.push(MemoryWrite { namespace, key, value });
        }
        Ok((answer, writes))
    }
}

fn is_empty(parsed: &ParsedSource) -> bool {
    parsed.tree.nodes.is_empty()
}

impl fmt::Debug for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Program({:?}, {:?})", self.0.kind, self.0.source)
    }
}

impl PartialEq for Program {
    fn eq(&self, other: &Program) -> bool {
        self.0.kind == other.0.kind && self.0.source == other.0.source
    }
}

impl Eq for Program {}

/// A scope without names.
struct NoScope;

impl Scope for NoScope {
    fn name(&self, _name: &str) -> Option<ScopeValue<'_>> {
        None
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}
