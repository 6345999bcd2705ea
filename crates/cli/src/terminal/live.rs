//! Paints a run while it is driven: a line when something settles; on a terminal, the running checks below it.
//!
//! **Invariant:** a line of the moving part takes one row, or the next redraw would wipe too little.

use std::collections::BTreeMap;
use std::io::{self, Write};

use escrow_app::RunView;
use escrow_app::timeline::{Item, Line, Mark, NestedTimelines, Timeline, What};
use escrow_engine::Run;
use escrow_model::{Entry, Plan, RunId, ScopePath};
use escrow_runtime::process::Stream;
use escrow_runtime::providers::HarnessProgress;
use escrow_runtime::{NestedNews, NestedOutput, Observer, now_ms};
use escrow_store::entry_document;
use serde_json::json;

use super::given::title_words;
use super::stream::OutputLines;
use super::summary::printed;
use super::ui::Ui;
use super::width;
use super::words::{duration_words, message, printable};
use crate::arguments::Output;

/// At most this many running checks are listed.
const RUNNING_LINES_MAX: usize = 8;
/// A label that is longer than this pushes its line to the right.
const LABEL_WIDTH_MAX: usize = 32;
/// The label of a running check is not cut shorter than this.
const LABEL_WIDTH_MIN: usize = 10;

pub(crate) struct LiveView {
    ui: Ui,
    timeline: Timeline,
    nested: NestedTimelines,
    /// How many digits the largest index of an item has.
    index_digits: usize,
    /// Labels are padded to this.
    width: usize,
    /// The width of each line of the moving part that is on the screen.
    drawn: Vec<usize>,
    header: bool,
    /// Begins every line, where the lines of several runs mix.
    label: Option<RunId>,
    output: OutputLines,
    /// What running harnesses do, by the label of their check.
    progress: BTreeMap<String, String>,
}

impl LiveView {
    pub(crate) fn new(ui: &Ui, run: &Run) -> LiveView {
        LiveView {
            ui: ui.clone(),
            timeline: Timeline::new(run.plan_of()),
            nested: NestedTimelines::default(),
            index_digits: 1,
            width: label_width(run.plan_of(), 1),
            drawn: Vec::new(),
            header: false,
            label: None,
            output: OutputLines::new(ui.streaming.timestamps),
            progress: BTreeMap::new(),
        }
    }

    /// For runs that are driven side by side: lines name their run, and nothing is redrawn.
    pub(crate) fn labelled(ui: &Ui, run: &Run) -> LiveView {
        let mut ui = ui.clone();
        ui.redraws = false;
        LiveView { label: Some(run.options().run.clone()), ..LiveView::new(&ui, run) }
    }

    /// Labels are as wide as the largest index needs, before the first item settles, so that columns line up.
    fn make_room(&mut self, run: &Run) {
        let digits = index_digits(self.timeline.items_max());
        if digits > self.index_digits {
            self.index_digits = digits;
            self.width = label_width(run.plan_of(), digits);
        }
    }

    /// A line of what happened, no wider than the terminal. What failed is repeated in full at the end.
    fn paint(&self, line: &Line) -> String {
        let room = width::size().map(|(columns, _)| {
            let label = self.label.as_ref().map_or(0, |label| label.as_str().len() + 2);
            columns.saturating_sub(label)
        });
        width::fit(&self.painted(line), room)
    }

    fn painted(&self, line: &Line) -> String {
        let paint = self.ui.paint;
        let Line { mark, label, duration_ms, note } = line;
        let (label, note) = (printable(label), message(note));
        if *mark == Mark::Remark {
            return format!("    {}", paint.dim(&note));
        }
        let time = format!("{:>8}", duration_ms.map(duration_words).unwrap_or_default());
        let name = format!("{label:<width$}", width = self.width);
        let text = match mark {
            Mark::Succeeded => format!("{} {name} {}  {note}", paint.green("✓"), paint.dim(&time)),
            Mark::Failed => format!("{} {name} {}  {note}", paint.red("✗"), paint.dim(&time)),
            Mark::Retrying => format!("{} {name} {}  {note}", paint.yellow("↻"), paint.dim(&time)),
            Mark::Skipped => {
                let rest = format!("{name} {time}  {note}");
                format!("{} {}", paint.yellow("-"), paint.dim(rest.trim_end()))
            }
            Mark::Routed | Mark::Remark => {
                format!("{} {name} {time}  {}", paint.cyan("→"), paint.dim(&note))
            }
        };
        format!("  {}", text.trim_end())
    }

    /// Wipes the moving part, writes lines that stay, and draws the moving part again.
    fn write(&mut self, lines: &[String]) {
        if self.ui.is_quiet() {
            return;
        }
        let (columns, rows) = width::size().unwrap_or((80, 24));
        let mut text = String::new();
        // A window that has become narrower wraps the lines that were drawn for a wider one.
        let up: usize = self.drawn.drain(..).map(|width| width.div_ceil(columns).max(1)).sum();
        if up > 0 {
            text.push_str(&format!("\x1b[{up}A\x1b[J"));
        }
        for line in lines {
            if let Some(label) = &self.label {
                text.push_str(&format!("{}  ", self.ui.paint.cyan(label.as_str())));
            }
            text.push_str(line);
            text.push('\n');
        }
        if self.ui.redraws {
            for line in self.moving(columns, rows) {
                let line = width::cut(&line, columns.saturating_sub(1));
                self.drawn.push(width::width(&line));
                text.push_str(&line);
                text.push('\n');
            }
        }
        if !text.is_empty() {
            drop(io::stderr().lock().write_all(text.as_bytes()));
        }
    }

    /// The running checks, in as many rows as fit.
    fn moving(&self, columns: usize, rows: usize) -> Vec<String> {
        let paint = self.ui.paint;
        let mut running = self.timeline.running(now_ms());
        running.extend(self.nested.running(now_ms()));
        let room = RUNNING_LINES_MAX.min(rows.saturating_sub(2)).max(1);
        let mut lines: Vec<String> = running
            .iter()
            .take(room)
            .map(|one| {
                let of_harness = || self.progress.get(&one.label).cloned();
                let progress = one.progress.map(|progress| progress.to_string()).or_else(of_harness);
                let progress = progress.unwrap_or_default();
                let behind = format!(" {:>8}  {progress}", duration_words(one.elapsed_ms));
                let text = moving_line(&one.label, behind.trim_end(), self.width, columns.saturating_sub(5));
                format!("  {} {text}", paint.cyan("●"))
            })
            .collect();
        if running.len() > room {
            lines.push(format!("    and {} more", running.len() - room));
        }
        lines
    }
}

/// Room for the longest name with the `[1]` of an item, for each level.
fn label_width(plan: &Plan, index_digits: usize) -> usize {
    let widths =
        plan.checks.iter().map(|check| check.name.chars().count() + (2 + index_digits) * check.fan.len());
    widths.max().unwrap_or(0).min(LABEL_WIDTH_MAX)
}

/// The digits of the largest index of a list.
fn index_digits(length: usize) -> usize {
    length.saturating_sub(1).to_string().len()
}

/// Cuts a long name where there is no room for both the name and its counts.
fn moving_line(label: &str, behind: &str, width: usize, columns: usize) -> String {
    let room = columns.saturating_sub(width::width(behind)).max(LABEL_WIDTH_MIN);
    let label = width::cut(label, room);
    format!("{label:<width$}{behind}", width = width.min(room))
}

impl RunView for LiveView {
    fn warning(&mut self, text: &str) {
        self.ui.say(&format!("warning: {text}"));
    }

    fn notice(&mut self, text: &str) {
        self.ui.say(&printable(text));
    }

    fn remember(&mut self, entries: &[Entry]) {
        drop(self.timeline.read(entries));
    }

    /// Sums up the fan-outs that are still open and removes the moving part.
    fn at_rest(&mut self, _run: &Run) {
        let rest = self.timeline.finish(now_ms());
        let lines: Vec<String> = rest.iter().flat_map(Item::lines).map(|line| self.paint(&line)).collect();
        self.timeline.clear();
        self.nested.clear();
        self.write(&lines);
    }
}

impl Observer for LiveView {
    fn committed(&mut self, run: &Run, entries: &[Entry]) {
        if self.ui.output() == Output::Jsonl {
            for entry in entries {
                let mut line = json!({ "entry": entry_document(entry).unwrap_or_default() });
                if let Some(label) = &self.label {
                    line["run_id"] = json!(label);
                }
                self.ui.data(&line);
            }
        }
        if self.ui.is_quiet() {
            return;
        }
        let mut lines = Vec::new();
        if !self.header {
            self.header = true;
            let paint = self.ui.paint;
            lines.push(format!(
                "run {}  {}{}",
                paint.cyan(run.options().run.as_str()),
                paint.bold(&printable(&run.plan_of().name)),
                title_words(run.title()),
            ));
        }
        let items = self.timeline.read(entries);
        self.make_room(run);
        for item in &items {
            if let What::AttemptAnswered { of, answer, .. } = &item.what {
                lines.extend(self.output.finish(&of.to_string(), self.ui.paint));
                if self.ui.streaming.finished && !self.ui.streaming.lines {
                    lines.extend(
                        printed(Some(&answer.output), Some(&answer.record), self.ui.paint)
                            .lines()
                            .map(str::to_owned),
                    );
                }
            }
            lines.extend(item.lines().iter().map(|line| self.paint(line)));
        }
        if !lines.is_empty() || self.ui.redraws {
            self.write(&lines);
        }
    }

    fn output(&mut self, check: &str, scope: &ScopePath, stream: Stream, bytes: &[u8]) {
        if self.ui.streaming.lines && !self.ui.is_quiet() {
            let lines = self.output.take(&format!("{check}{scope}"), stream, bytes, self.ui.paint);
            if !lines.is_empty() {
                self.write(&lines);
            }
        }
    }

    fn progress(&mut self, check: &str, scope: &ScopePath, progress: &HarnessProgress) {
        self.progress.insert(format!("{check}{scope}"), printable(&progress.to_string()));
    }

    fn tick(&mut self, _run: &Run) {
        if self.ui.redraws {
            self.write(&[]);
        }
    }

    fn nested(&mut self, news: &NestedNews) {
        if let Some(NestedOutput { label, stream, bytes }) = &news.output {
            let label = format!("{}/{label}", news.path.join("/"));
            if self.ui.streaming.lines && !self.ui.is_quiet() {
                let lines = self.output.take(&label, *stream, bytes, self.ui.paint);
                if !lines.is_empty() {
                    self.write(&lines);
                }
            }
            return;
        }
        let new = self.nested.lines(news);
        // One step to the right for every run around it.
        let indent = "  ".repeat(news.path.len());
        let lines: Vec<String> = new.iter().map(|line| format!("{indent}{}", self.paint(line))).collect();
        if !lines.is_empty() || self.ui.redraws {
            self.write(&lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_narrow_window_a_name_gives_way_to_the_counts() {
        let behind = "     1.2s  3 of 30, 1 failed";
        assert_eq!(moving_line("each", behind, 20, 75), format!("each                {behind}"));
        assert_eq!(moving_line("each", behind, 32, 40), format!("each        {behind}"));
        assert_eq!(moving_line("validate-every-claim", behind, 32, 40), format!("validate-eve{behind}"));
        assert_eq!(moving_line("validate-every-claim", behind, 32, 5), format!("validate-e{behind}"));
    }

    #[test]
    fn labels_have_room_for_the_largest_index_of_the_items() {
        let text = "checks: {list: {type: noop, forEach: true}, each: {type: noop, depends_on: list}}";
        let catalog = escrow_runtime::catalog();
        let plan = escrow_playbook::read(text, "p", &catalog, &escrow_playbook::NoReferences)
            .plan
            .expect("it loads");
        assert_eq!([0, 10, 11, 101].map(index_digits), [1, 1, 2, 3]);
        assert_eq!([label_width(&plan, 1), label_width(&plan, 2)], [7, 8]);
    }
}
