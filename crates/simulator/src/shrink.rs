//! Cuts a failing case down to what it needs to fail, and tells it.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use escrow_model::Event;

use crate::case::Case;
use crate::play::{Backend, Played, play};

/// Plays a case; what panics has a problem.
pub(crate) fn play_safely(case: &Case, backend: &Backend) -> Played {
    catch_unwind(AssertUnwindSafe(|| play(case, backend))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Played {
            journal: Vec::new(),
            story: Vec::new(),
            lives: 0,
            status: None,
            problem: Some(format!("panic: {}", text.unwrap_or_default())),
        }
    })
}

/// The smallest case in reach that still fails, in memory, with what became of it.
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

/// Cases with one thing less.
fn simpler(case: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    let lines: Vec<&str> = case.text.lines().collect();
    for left_out in 0..lines.len() {
        let rest: Vec<&str> =
            lines.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, line)| *line).collect();
        found.extend(case.with_plan(&rest.join("\n")));
    }
    for left_out in 0..case.moments.len() {
        let mut less = case.clone();
        less.moments.remove(left_out);
        found.push(less);
    }
    let mut without = |is_there: bool, change: &dyn Fn(&mut Case)| {
        if is_there {
            let mut less = case.clone();
            change(&mut less);
            found.push(less);
        }
    };
    without(case.troubles > 0, &|case| case.troubles -= 1);
    without(case.habits.twice > 0, &|case| case.habits.twice = 0);
    without(case.habits.deaf > 0, &|case| case.habits.deaf = 0);
    without(case.habits.lost > 0, &|case| case.habits.lost = 0);
    without(case.timeout_ms.is_some(), &|case| case.timeout_ms = None);
    without(case.reopens, &|case| case.reopens = false);
    without(case.deserted, &|case| case.deserted = false);
    without(case.weather.trouble > 0, &|case| case.weather.trouble = 0);
    without(case.weather.unknown, &|case| case.weather.unknown = false);
    without(case.weather.uneven, &|case| case.weather.uneven = false);
    found
}

/// Everything that a person needs to find out what went wrong.
pub(crate) fn report(case: &Case, played: &Played) -> String {
    let mut text = String::new();
    let problem = played.problem.as_deref().unwrap_or("nothing is wrong");
    let _ = writeln!(text, "{problem}\n\n{}\n\n{case:?}\n", case.text);
    for line in &played.story {
        let _ = writeln!(text, "  {line}");
    }
    text.push('\n');
    for (entry, seq) in played.journal.iter().zip(1..) {
        let line = match &entry.event {
            Event::RunStarted { .. } => "\"run_started\"".to_owned(),
            event => format!("{event:?}"),
        };
        let _ = writeln!(text, "  {seq:>4} {} {line}", entry.at);
    }
    text
}
