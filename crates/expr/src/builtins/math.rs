//! `Math`, without randomness.

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator, power};
use crate::exception::EvalResult;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn call_math(&mut self, function: Builtin, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let mut numbers = Vec::with_capacity(arguments.len());
        self.charge_values(arguments.len())?;
        for value in arguments.iter() {
            numbers.push(self.number_of(&value)?);
        }
        let x = numbers.first().copied().unwrap_or(f64::NAN);
        let y = numbers.get(1).copied().unwrap_or(f64::NAN);
        Ok(Value::Number(match function {
            Builtin::MathAbs => x.abs(),
            Builtin::MathCeil => x.ceil(),
            Builtin::MathFloor => x.floor(),
            Builtin::MathRound => round(x),
            Builtin::MathTrunc => x.trunc(),
            Builtin::MathSign => {
                if x == 0.0 || x.is_nan() {
                    x
                } else {
                    x.signum()
                }
            }
            Builtin::MathSqrt => x.sqrt(),
            Builtin::MathCbrt => x.cbrt(),
            Builtin::MathPow => power(x, y),
            Builtin::MathMin => numbers.iter().fold(f64::INFINITY, |least, number| lesser(least, *number)),
            Builtin::MathMax => {
                numbers.iter().fold(f64::NEG_INFINITY, |most, number| -lesser(-most, -*number))
            }
            Builtin::MathHypot => hypot(&numbers),
            Builtin::MathLog => x.ln(),
            Builtin::MathLog2 => x.log2(),
            Builtin::MathLog10 => x.log10(),
            Builtin::MathLog1p => x.ln_1p(),
            Builtin::MathExp => x.exp(),
            Builtin::MathExpm1 => x.exp_m1(),
            Builtin::MathSin => x.sin(),
            Builtin::MathCos => x.cos(),
            Builtin::MathTan => x.tan(),
            Builtin::MathAsin => x.asin(),
            Builtin::MathAcos => x.acos(),
            Builtin::MathAtan => x.atan(),
            Builtin::MathAtan2 => x.atan2(y),
            _ => f64::NAN,
        }))
    }
}

/// Halves round up, also below zero.
fn round(x: f64) -> f64 {
    if !x.is_finite() || x.fract() == 0.0 {
        return x;
    }
    let floor = x.floor();
    let rounded = if x - floor >= 0.5 { floor + 1.0 } else { floor };
    if rounded == 0.0 && x < 0.0 { -0.0 } else { rounded }
}

/// The lesser of two; NaN wins, and -0 is less than 0.
fn lesser(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a < b || (a == b && a.is_sign_negative()) {
        a
    } else {
        b
    }
}

fn hypot(numbers: &[f64]) -> f64 {
    if numbers.iter().any(|number| number.is_infinite()) {
        return f64::INFINITY;
    }
    numbers.iter().fold(0.0, |length: f64, number| length.hypot(*number))
}
