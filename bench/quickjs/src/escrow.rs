//! A gate on Escrow's own evaluator, which borrows the context instead of copying it: another context costs nothing.

use std::hint::black_box;

use escrow_expr::{Budget, JsonScope, Program};
use serde_json::Value;

/// Evaluates a gate that was compiled before.
pub(crate) fn cached(gate: &str, context: &Value) -> impl FnMut() -> bool {
    let program = Program::expression(gate).expect("the gate is an expression");
    move || holds(&program, context)
}

/// Parses the gate and evaluates it.
pub(crate) fn cold(gate: &str, context: &Value) -> impl FnMut() -> bool {
    move || holds(&Program::expression(black_box(gate)).expect("the gate is an expression"), context)
}

fn holds(program: &Program, context: &Value) -> bool {
    program.test(&JsonScope(black_box(context)), Budget::default()).expect("the gate gives a value")
}
