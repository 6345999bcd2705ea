//! What deciding costs: `cargo run --release -p escrow-testkit --example cost`.
//!
//! Pure checks only, so that nothing but the engine is measured. A line that grows faster than its size is a
//! defect.

use std::sync::Arc;
use std::time::Instant;

use escrow_engine::Run;
use escrow_model::Facts;
use escrow_testkit::{Options, Script, Stage, plan};

#[allow(clippy::print_stdout, reason = "an example that measures says what it measured")]
fn main() {
    println!("{:<34} {:>8} {:>10} {:>10} {:>10}", "plan", "entries", "ms", "us/entry", "replay ms");
    for size in [1_000, 2_000, 10_000] {
        measure(&format!("{size} independent"), &independent(size));
        measure(&format!("{size} in a chain"), &chain(size));
        measure(&format!("{size} behind one"), &star(size));
        measure(&format!("{size} items"), &items(size, "type: noop"));
        measure(&format!("{size} items that read the list"), &items(size, READS));
        measure(&format!("{size} items, two deep"), &two_deep(size));
    }
    for size in [1_000, 4_000] {
        driven(&format!("{size} items through the effect_runner"), &items(size, "type: command"), &[]);
        let mended = "type: command, on_fail: {run: [fix], retry: {max: 1}}";
        let text = items(size, mended) + "fix {type: command}\n";
        driven(&format!("{size} items that are mended"), &text, &["each: exit 1 then 1"]);
        let text = items(size, "type: command, guarantee: output, continue_on_failure: true")
            + "post<each map external {type: command}\n";
        driven(&format!("{size} external items, blocked"), &text, &["each: false"]);
    }
}

const READS: &str = r#"type: script, content: "return outputs_raw.list.length + item""#;

fn measure(name: &str, text: &str) {
    let plan = plan(text);
    let options = Arc::new(Options::default().run);
    let started = Instant::now();
    let (run, turn) = Run::start(Arc::clone(&plan), options, Arc::new(Facts::default()), 0);
    let spent = started.elapsed();
    assert_eq!(run.reason().map(|reason| reason.code.as_str()), Some("run.completed.ok"));
    let started = Instant::now();
    let replayed = Run::replay(&turn.entries).expect("it replays");
    assert!(replayed == run);
    report(name, turn.entries.len(), spent, started.elapsed());
}

/// Each answer is a turn of its own, as with real commands.
fn driven(name: &str, text: &str, world: &[&str]) {
    let plan = plan(text);
    let started = Instant::now();
    let options = Options { compare_replay: false, ..Options::default() };
    let mut stage = Stage::start(&plan, &options, Script::parse(world));
    stage.play(&[]);
    let spent = started.elapsed();
    let started = Instant::now();
    let replayed = Run::replay(&stage.drive.journal).expect("it replays");
    assert!(replayed == stage.drive.run);
    report(name, stage.drive.journal.len(), spent, started.elapsed());
}

#[allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "an example that measures says it roughly"
)]
fn report(name: &str, entries: usize, spent: std::time::Duration, replay: std::time::Duration) {
    let ms = spent.as_secs_f64() * 1_000.0;
    let each = ms * 1_000.0 / entries as f64;
    println!("{name:<34} {entries:>8} {ms:>10.1} {each:>10.2} {:>10.1}", replay.as_secs_f64() * 1_000.0);
}

fn independent(size: usize) -> String {
    (0..size).map(|place| format!("c{place} {{type: noop}}\n")).collect()
}

fn chain(size: usize) -> String {
    let link = |place: usize| match place {
        0 => "c0 {type: noop}\n".to_owned(),
        _ => format!("c{place}<c{} {{type: noop}}\n", place - 1),
    };
    (0..size).map(link).collect()
}

fn star(size: usize) -> String {
    let mut text = String::from("c {type: noop}\n");
    text.extend((0..size).map(|place| format!("c{place}<c {{type: noop, if: \"attempt === 1\"}}\n")));
    text
}

fn list(size: usize) -> String {
    format!(
        "list forEach {{type: script, content: \"return Array.from({{length: {size}}}, (_, i) => i)\"}}\n"
    )
}

fn items(size: usize, keys: &str) -> String {
    format!(
        "{}each<list {{{keys}}}\nsum<each {{type: script, content: \"return outputs.each.length\"}}\n",
        list(size)
    )
}

fn two_deep(size: usize) -> String {
    format!(
        "{}a<list {{type: noop}}\nb<a map {{type: script, content: \"return item\"}}\nc<b {{type: noop}}\n",
        list(size)
    )
}
