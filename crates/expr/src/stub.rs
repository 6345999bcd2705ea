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
#[derive(Clone, Debug)]
pub struct Template(String);
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct TemplateFault;
impl Template {
    pub fn is_constant(&self) -> bool {
        !self.0.contains("{{")
    }
    pub fn parse(s: &str) -> Result<Template, SyntaxError> {
        Ok(Template(s.into()))
    }
    pub fn source(&self) -> &str {
        &self.0
    }
    pub fn render(&self, _s: &dyn Scope) -> Result<String, TemplateFault> {
        Ok(self.0.clone())
    }
    pub fn value(&self, _s: &dyn Scope) -> Result<Value, TemplateFault> {
        Ok(Value::String(self.0.clone()))
    }
}
#[derive(Clone, Debug)]
pub struct ShellScript(String);
impl ShellScript {
    pub fn parse(s: &str) -> Result<ShellScript, Vec<SyntaxError>> {
        Ok(ShellScript(s.into()))
    }
    pub fn source(&self) -> &str {
        &self.0
    }
    pub fn script(&self) -> &str {
        &self.0
    }
    pub fn render(&self, _s: &dyn Scope) -> Result<Vec<(String, String)>, TemplateFault> {
        Ok(vec![])
    }
}
