//! Reduces a failing case to what it needs to fail, and reports it.

use std::any::Any;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use escrow_model::Event;

use crate::case::Case;
use crate::play::{Backend, Played, play};

/// Plays a case; a panic counts as a problem.
pub(crate) fn play_safely(case: &Case, backend: &Backend) -> Played {
    catch_unwind(AssertUnwindSafe(|| play(case, backend))).unwrap_or_else(|panic| {
        let text = text_of(panic.as_ref());
        Played {
            journals: Vec::new(),
            log: Vec::new(),
            lives: 0,
            commits: 0,
            status: None,
            problem: Some(format!("panic: {text}")),
        }
    })
}

/// The message of a panic.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// The smallest case that still fails in memory, with its outcome.
pub(crate) fn shrunk(case: &Case) -> (Case, Played) {
    let mut best = case.clone();
    let mut played = play_safely(&best, &Backend::Memory);
    if played.problem.is_none() {
        return (best, played);
    }
    loop {
        let smaller = simpler(&best).into_iter().find_map(|smaller| {
            let played = play_safely(&smaller, &Backend::Memory);
            played.problem.is_some().then_some((smaller, played))
        });
        match smaller {
            Some(found) => (best, played) = found,
            None => return (best, played),
        }
    }
}

/// Cases with one ingredient less.
fn simpler(case: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    found.extend(case.plans.simpler().into_iter().map(|plans| Case { plans, ..case.clone() }));
    for left_out in 0..case.incidents.len() {
        let mut less = case.clone();
        less.incidents.remove(left_out);
        found.push(less);
    }
    let mut without = |is_there: bool, change: &dyn Fn(&mut Case)| {
        if is_there {
            let mut less = case.clone();
            change(&mut less);
            found.push(less);
        }
    };
    without(case.disk_faults > 0, &|case| case.disk_faults -= 1);
    without(case.answer_faults.duplicated > 0, &|case| case.answer_faults.duplicated = 0);
    without(case.answer_faults.ignores_stop > 0, &|case| case.answer_faults.ignores_stop = 0);
    without(case.answer_faults.lost > 0, &|case| case.answer_faults.lost = 0);
    without(case.timeout_ms.is_some(), &|case| case.timeout_ms = None);
    without(case.retries_failed, &|case| case.retries_failed = false);
    without(case.has_rival, &|case| case.has_rival = false);
    without(case.unanswered, &|case| case.unanswered = false);
    without(case.answers.fault_percent > 0, &|case| case.answers.fault_percent = 0);
    without(case.answers.unknown, &|case| case.answers.unknown = false);
    without(case.answers.uneven, &|case| case.answers.uneven = false);
    found
}

/// Everything needed to find out what went wrong.
pub(crate) fn report(case: &Case, played: &Played) -> String {
    let mut text = String::new();
    let problem = played.problem.as_deref().unwrap_or("nothing is wrong");
    let _ = writeln!(text, "{problem}\n\n{}\n\n{case:?}\n", case.plans);
    for line in &played.log {
        let _ = writeln!(text, "  {line}");
    }
    text.push('\n');
    for (run, journal) in &played.journals {
        let _ = writeln!(text, "{run}");
        for (entry, seq) in journal.iter().zip(1..) {
            let line = match &entry.event {
                Event::RunStarted { .. } => "\"run_started\"".to_owned(),
                event => format!("{event:?}"),
            };
            let _ = writeln!(text, "  {seq:>4} {} {line}", entry.at);
        }
    }
    text
}
