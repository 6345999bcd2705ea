//! The checks of a run in one line: an icon each, or a count for each status where there are many.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use escrow_app::runs::{Queries, Run, RunRow, replay};
use escrow_model::{CheckStatus, RunId};
use maud::{Markup, html};

use crate::layout::Mark;

/// Icons in one line.
const ICONS_MAX: usize = 16;

/// Longer journals are not read for a line in a list.
pub(super) const ENTRIES_MAX: u64 = 2_000;

/// Strips that are kept.
const KEPT_MAX: usize = 4_000;

/// How the checks of a run stand.
pub(crate) struct Strip {
    marks: Vec<Mark>,
}

/// Strips by run, each with the number of entries that it was made of. A run that has no new entry is not read again.
#[derive(Default)]
pub(crate) struct Strips {
    kept: Mutex<HashMap<RunId, (u64, Arc<Strip>)>>,
}

impl Strips {
    /// The strip of a run; `None` where its journal is too long, or cannot be read.
    pub(crate) async fn of(&self, queries: &dyn Queries, row: &RunRow) -> Option<Arc<Strip>> {
        if row.seq > ENTRIES_MAX {
            return None;
        }
        let known =
            self.kept().get(&row.id).filter(|(seq, _)| *seq == row.seq).map(|(_, strip)| Arc::clone(strip));
        if known.is_some() {
            return known;
        }
        // A list shows every run that it can; the page of this one says what is wrong with it.
        let run = replay(queries, row).await.ok()?;
        let strip = Arc::new(Strip::of(&run));
        let mut kept = self.kept();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(row.id.clone(), (row.seq, Arc::clone(&strip)));
        Some(strip)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, (u64, Arc<Strip>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Strip {
    pub(crate) fn of(run: &Run) -> Strip {
        let plan = run.plan_of();
        let marks = run.check_reports().map(|check| {
            let spec = plan.check(check.index);
            Mark::of_check(check.status, spec.continue_on_failure && !spec.is_critical())
        });
        Strip { marks: marks.collect() }
    }

    /// In an interrupted run nothing is under way any more.
    pub(crate) fn shown(&self, is_interrupted: bool) -> Markup {
        let running = Mark::of_check(CheckStatus::Running, false);
        let now = |mark: &Mark| if is_interrupted && *mark == running { Mark::CUT_OFF } else { *mark };
        let marks: Vec<Mark> = self.marks.iter().map(now).collect();
        let counts = counts(&marks);
        let words: Vec<String> =
            counts.iter().map(|(mark, number)| format!("{number} {}", mark.word)).collect();
        let said = format!("checks: {}", words.join(", "));
        html! {
            span.strip title=(words.join(", ")) {
                @if marks.len() <= ICONS_MAX { @for mark in &marks { (mark.icon()) } }
                @else { @for (mark, number) in &counts { (mark.icon()) span.n { (number) } } }
            }
            span.vh { (said) }
        }
    }
}

/// How many there are of each status, in the order in which they first come.
fn counts(marks: &[Mark]) -> Vec<(Mark, usize)> {
    let mut counts: Vec<(Mark, usize)> = Vec::new();
    for mark in marks {
        match counts.iter_mut().find(|(known, _)| known == mark) {
            Some((_, number)) => *number += 1,
            None => counts.push((*mark, 1)),
        }
    }
    counts
}
