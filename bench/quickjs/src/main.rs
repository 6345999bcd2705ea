//! Times the expression language beside QuickJS, in one run, and prints the medians.
//!
//! Samples of both engines alternate, so that a busy machine slows both. What helps QuickJS and could be granted
//! is granted: the text of the context is made before the clock starts, its runtime is kept, and it runs without
//! limits on time and memory, while Escrow always counts its budget.

mod escrow;
mod quickjs;
mod timing;

use serde_json::{Value, json};

use crate::timing::{Medians, alternate};

/// What the table calls them, and their sources.
const GATES: [(&str, &str); 2] = [
    ("simple", "output.count > 3 && env.CI === 'true'"),
    ("`any`", "any(history, v => v && v.is_valid === false)"),
];

/// The sizes of the contexts as JSON texts, at least.
const CONTEXT_BYTES: [usize; 3] = [0, 2_000, 200_000];

/// What is left over from the evaluation before.
#[derive(Clone, Copy, Debug)]
enum Kept {
    /// The compiled gate, and the context with its values.
    GateAndContext,
    /// The compiled gate; the context is another one each time, as it is after each check.
    Gate,
    /// The context; the gate is parsed each time.
    Context,
    /// Nothing but QuickJS's runtime: the gate is parsed in a realm of its own, where no gate before it left anything.
    Nothing,
}

impl Kept {
    const ALL: [Kept; 4] = [Kept::GateAndContext, Kept::Gate, Kept::Context, Kept::Nothing];

    fn described(self) -> &'static str {
        match self {
            Kept::GateAndContext => "cached, same context",
            Kept::Gate => "cached, new context",
            Kept::Context => "cold, same context",
            Kept::Nothing => "cold, new realm",
        }
    }
}

fn main() {
    let contexts = CONTEXT_BYTES.map(context);
    print!("| gate | |");
    for context in &contexts {
        print!(" {} |", size(context.to_string().len()));
    }
    println!("\n|---|---|{}", "---|".repeat(contexts.len()));
    for (name, gate) in GATES {
        for kept in Kept::ALL {
            print!("| {name} | {} |", kept.described());
            for context in &contexts {
                let medians = measure(gate, context, kept);
                print!(" {} |", described(&medians));
            }
            println!();
        }
    }
    println!("\nEscrow / QuickJS = how many times longer QuickJS takes. {}", load());
}

/// How busy the machine is, where the system tells.
fn load() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match std::fs::read_to_string("/proc/loadavg") {
        Ok(averages) => {
            let last_minute = averages.split(' ').next().unwrap_or_default();
            format!("Load {last_minute} on {cores} cores.")
        }
        Err(_) => format!("{cores} cores."),
    }
}

fn measure(gate: &str, context: &Value, kept: Kept) -> Medians {
    let text = context.to_string();
    match kept {
        Kept::GateAndContext => quickjs::with_realm(|realm| {
            let compiled = realm.compile(gate);
            realm.bring(&text);
            alternate(escrow::cached(gate, context), || realm.call(&compiled))
        }),
        Kept::Gate => quickjs::with_realm(|realm| {
            let compiled = realm.compile(gate);
            alternate(escrow::cached(gate, context), || {
                realm.bring(&text);
                realm.call(&compiled)
            })
        }),
        Kept::Context => quickjs::with_realm(|realm| {
            realm.bring(&text);
            alternate(escrow::cold(gate, context), || realm.evaluate(gate))
        }),
        Kept::Nothing => {
            let alone = quickjs::Alone::new();
            alternate(escrow::cold(gate, context), || alone.evaluate(gate, &text))
        }
    }
}

/// A context of at least this many bytes, of the shape that gates read, in which both gates hold.
fn context(bytes: usize) -> Value {
    let mut context = json!({
        "output": { "count": 5, "issues": [{ "severity": "info" }, { "severity": "critical" }] },
        "env": { "CI": "true" },
        "history": [{ "is_valid": true }, { "is_valid": true }, { "is_valid": true }, { "is_valid": false }],
        "outputs": {},
    });
    let mut length = context.to_string().len();
    for position in 0.. {
        if length >= bytes {
            break;
        }
        let output = json!({ "text": "some text", "issues": [{ "severity": "error", "line": position }] });
        let name = format!("check-{position}");
        length += name.len() + output.to_string().len() + 4;
        context["outputs"][name] = output;
    }
    context
}

fn described(medians: &Medians) -> String {
    let ratio = medians.quickjs_ns / medians.escrow_ns;
    let ratio = if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") };
    format!("{} / {} = {ratio}×", duration(medians.escrow_ns), duration(medians.quickjs_ns))
}

fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        short if short < 1_000.0 => format!("{short:.0} ns"),
        middle if middle < 1_000_000.0 => format!("{:.1} µs", middle / 1e3),
        long => format!("{:.1} ms", long / 1e6),
    }
}

fn size(bytes: usize) -> String {
    if bytes < 1_000 { format!("{bytes} B") } else { format!("{:.0} KB", bytes as f64 / 1e3) }
}
