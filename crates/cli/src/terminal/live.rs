//! A run as it goes on: a line when something settles; on a terminal, what runs now below it.

use std::io::{self, Write};

use escrow_engine::Run;
use escrow_model::{Entry, ScopePath, Verdict};
use escrow_runtime::chance::now_ms;
use escrow_runtime::process::Stream;
use escrow_runtime::supervisor::Observer;
use serde_json::json;

use super::story::{Line, Story, label};
use super::talk::Talk;
use super::words::duration_words;
use crate::arguments::Output;

/// At most this many running checks are listed.
const RUNNING_LINES_MAX: usize = 8;

pub(crate) struct Live<'a> {
    talk: &'a Talk,
    story: Story,
    /// Check names are padded to this.
    width: usize,
    /// Lines of the moving part that are on the screen.
    drawn: usize,
    header: bool,
}

impl<'a> Live<'a> {
    pub(crate) fn new(talk: &'a Talk, run: &Run) -> Live<'a> {
        let width = run.plan_of().checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
        Live { talk, story: Story::default(), width: width.min(32), drawn: 0, header: false }
    }

    fn show(&self, line: &Line) -> String {
        let paint = self.talk.paint;
        match line {
            Line::Settled { check, verdict, duration_ms, note } => {
                let mark = match verdict {
                    Verdict::Succeeded => paint.green("✓"),
                    Verdict::Failed => paint.red("✗"),
                };
                let time = format!("{:>8}", duration_words(*duration_ms));
                let text =
                    format!("  {mark} {check:<width$} {}  {note}", paint.dim(&time), width = self.width);
                text.trim_end().to_owned()
            }
            Line::Skipped { check, note } => {
                let text = format!("{check:<width$} {:>8}  {note}", "", width = self.width);
                format!("  {} {}", paint.yellow("-"), paint.dim(text.trim_end()))
            }
            Line::Note { text } => format!("    {}", paint.dim(text)),
        }
    }

    /// Wipes the moving part, writes lines that stay, and draws the moving part again.
    fn write(&mut self, lines: &[String]) {
        if self.talk.is_quiet() {
            return;
        }
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A\x1b[J", self.drawn));
        }
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        self.drawn = 0;
        if self.talk.redraws {
            let now = now_ms();
            let running: Vec<_> = self.story.running().collect();
            for (check, scope, began) in running.iter().take(RUNNING_LINES_MAX) {
                let name = label(check, scope);
                let time = duration_words(now.saturating_sub(*began));
                let mark = self.talk.paint.cyan("●");
                text.push_str(&format!("  {mark} {name:<width$} {time:>8}\n", width = self.width));
                self.drawn += 1;
            }
            if running.len() > RUNNING_LINES_MAX {
                text.push_str(&format!("    and {} more\n", running.len() - RUNNING_LINES_MAX));
                self.drawn += 1;
            }
        }
        if !text.is_empty() {
            drop(io::stderr().lock().write_all(text.as_bytes()));
        }
    }

    /// Leaves the screen tidy: fan-outs are summed up, nothing moves any more.
    pub(crate) fn finish(&mut self) {
        let paint = self.talk.paint;
        let lines: Vec<String> = self
            .story
            .fans()
            .into_iter()
            .map(|(check, good, words)| {
                let mark = if good { paint.green("✓") } else { paint.red("✗") };
                format!("  {mark} {check:<width$} {:>8}  {words}", "", width = self.width)
            })
            .collect();
        self.talk_redraws_off(&lines);
    }

    fn talk_redraws_off(&mut self, lines: &[String]) {
        self.story = Story::default();
        self.write(lines);
    }
}

impl Observer for Live<'_> {
    fn committed(&mut self, run: &Run, entries: &[Entry]) {
        if self.talk.output() == Output::Jsonl {
            for entry in entries {
                self.talk.data(&json!({ "entry": entry }));
            }
        }
        let mut lines = Vec::new();
        if !self.header {
            self.header = true;
            let paint = self.talk.paint;
            lines.push(format!(
                "run {}  {}",
                paint.cyan(run.options().run.as_str()),
                paint.bold(&run.plan_of().name)
            ));
        }
        for entry in entries {
            if let Some(line) = self.story.tell(entry) {
                lines.push(self.show(&line));
            }
        }
        if !lines.is_empty() || self.talk.redraws {
            self.write(&lines);
        }
    }

    fn output(&mut self, _check: &str, _scope: &ScopePath, _stream: Stream, _bytes: &[u8]) {}

    fn tick(&mut self, _run: &Run) {
        if self.talk.redraws {
            self.write(&[]);
        }
    }
}
