use crate::Scope;
use serde_json::Value;
#[derive(Clone, Debug)]
pub struct Program(String);
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    pub message: String,
    pub span: std::ops::Range<usize>,
    pub help: Option<String>,
}
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct Fault;
#[derive(Clone, Copy, Default)]
pub struct Budget;
impl Budget {
    pub const GATE: Budget = Budget;
    pub const SCRIPT: Budget = Budget;
}
#[derive(Debug)]
pub enum Answer {
    Undefined,
    Json(Value),
}
impl Program {
    pub fn expression(s: &str) -> Result<Program, SyntaxError> {
        Ok(Program(s.into()))
    }
    pub fn block(s: &str) -> Result<Program, SyntaxError> {
        Ok(Program(s.into()))
    }
    pub fn source(&self) -> &str {
        &self.0
    }
    pub fn evaluate(&self, _scope: &dyn Scope, _budget: Budget) -> Result<Answer, Fault> {
        Ok(Answer::Undefined)
    }
    pub fn test(&self, _scope: &dyn Scope, _budget: Budget) -> Result<bool, Fault> {
        Ok(true)
    }
}
