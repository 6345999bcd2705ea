//! What runs would be under another playbook, for people.

use escrow_app::replay::Replayed;
use escrow_engine::{Change, Comparison};

use super::account::show_account;
use super::paint::Paint;
use super::table::TextTable;
use super::words::count;
use crate::commands::status_word;

/// Runs that are explained when many were decided again; the others are counted.
const EXPLAINED_MAX: usize = 10;

/// One run, in full.
pub(crate) fn show_comparison(replayed: &Replayed, paint: Paint) -> String {
    let comparison = &replayed.comparison;
    let mut text = header(comparison, paint);
    text.push_str(&differences(comparison, paint));
    text.push_str(&reservations(replayed, paint));
    if let Some(first) = &comparison.first {
        // Its first line names the run once more.
        let account = show_account(first, None, None, paint);
        let body = account.split_once('\n').map_or("", |(_, body)| body);
        text.push_str(body);
    }
    text.push_str(&format!("\n{}\n", tally(&[comparison], paint)));
    text
}

/// Many runs: those that differ, the first decision of each, and a tally.
pub(crate) fn show_comparisons(replayed: &[Replayed], paint: Paint) -> String {
    let mut text = String::new();
    let changed: Vec<&Replayed> =
        replayed.iter().filter(|one| one.comparison.change != Change::Same).collect();
    for one in changed.iter().take(EXPLAINED_MAX) {
        text.push_str(&header(&one.comparison, paint));
        let first = one.comparison.differences.first();
        if let Some(difference) = first {
            text.push_str(&format!(
                "  {}{}  {} → {}\n",
                difference.check, difference.scope, difference.was, difference.now
            ));
        }
        if let Some(account) = &one.comparison.first {
            if first.is_none() {
                text.push_str(&format!("  {}\n", account.cause.summary));
            }
            for line in &account.differs {
                text.push_str(&format!("  {}\n", paint.yellow(&line.to_string())));
            }
        }
        text.push_str(&reservations(one, paint));
        text.push('\n');
    }
    if changed.len() > EXPLAINED_MAX {
        text.push_str(&format!("and {}\n\n", count(changed.len() - EXPLAINED_MAX, "more run")));
    }
    let comparisons: Vec<&Comparison> = replayed.iter().map(|one| &one.comparison).collect();
    text.push_str(&format!("{}\n", tally(&comparisons, paint)));
    text
}

fn header(comparison: &Comparison, paint: Paint) -> String {
    let reason = comparison.now.reason.map(|reason| reason.as_str()).unwrap_or_default();
    let now = status_word(comparison.now.status);
    let now = match comparison.change {
        Change::Same => now,
        Change::Passes => paint.green(&now),
        Change::Blocks => paint.red(&now),
        Change::Differs | Change::Undecidable => paint.yellow(&now),
    };
    format!(
        "run {}  {} → {now}  {}\n",
        paint.cyan(comparison.run.as_str()),
        status_word(comparison.was.status),
        paint.dim(reason)
    )
}

fn differences(comparison: &Comparison, paint: Paint) -> String {
    let mut table = TextTable::new();
    for difference in &comparison.differences {
        let place = format!("  {}{}", difference.check, difference.scope);
        table.row(&[(&place, paint.bold(&place)), ("", format!("{} → {}", difference.was, difference.now))]);
    }
    table.render()
}

/// What the answer rests on, and what it lacks.
fn reservations(replayed: &Replayed, paint: Paint) -> String {
    let mut lines: Vec<String> = replayed.comparison.unknown.iter().map(|one| one.what.clone()).collect();
    for name in &replayed.comparison.assumed {
        lines.push(format!("the request of `{name}` changed; its recorded result was used"));
    }
    for name in &replayed.unrecorded {
        lines.push(format!("`{name}` was not recorded, so it is undefined here"));
    }
    lines.into_iter().map(|line| format!("  {} {line}\n", paint.yellow("note:"))).collect()
}

/// `4 of 200 runs would now block; 196 stay the same`.
fn tally(comparisons: &[&Comparison], paint: Paint) -> String {
    let number = |change| comparisons.iter().filter(|one| one.change == change).count();
    let all = count(comparisons.len(), "run");
    let parts: Vec<String> = [
        (number(Change::Blocks), "would now block"),
        (number(Change::Passes), "would now pass"),
        (number(Change::Differs), "would differ otherwise"),
        (number(Change::Undecidable), "cannot be decided"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .enumerate()
    .map(
        |(place, (number, words))| {
            if place == 0 { format!("{number} of {all} {words}") } else { format!("{number} {words}") }
        },
    )
    .collect();
    let same = number(Change::Same);
    if parts.is_empty() {
        return paint.green(&format!("{all} decided again, nothing differs"));
    }
    let rest = match same {
        0 => String::new(),
        1 => "; 1 stays the same".to_owned(),
        several => format!("; {several} stay the same"),
    };
    paint.bold(&format!("{}{rest}", parts.join(", ")))
}
