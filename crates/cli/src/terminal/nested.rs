//! The runs inside a run, as they go on: each has a timeline of its own, told under the check that nests it.

use std::collections::BTreeMap;

use escrow_model::{Event, Millis, RunId};
use escrow_runtime::supervisor::NestedNews;

use super::timeline::{Line, Mark, Running, Timeline};
use super::words::printable;

/// Between a check and what stands in the run that it nests.
const INSIDE: &str = " › ";

#[derive(Debug, Default)]
pub(super) struct Nested {
    under_way: BTreeMap<RunId, (String, Timeline)>,
}

impl Nested {
    /// What is new, with the place of the run before every label.
    pub(super) fn tell(&mut self, news: &NestedNews) -> Vec<Line> {
        let place = news.path.join(INSIDE);
        let mut lines = Vec::new();
        let (_, timeline) = self.under_way.entry(news.run.clone()).or_insert_with(|| {
            let note = format!("{place} runs {} as {}", printable(&news.plan.name), news.run);
            lines.push(Line { mark: Mark::Remark, label: String::new(), duration_ms: None, note });
            (place.clone(), Timeline::new(&news.plan))
        });
        lines.extend(timeline.tell(&news.entries).into_iter().map(|line| inside(&place, line)));
        if let Some(end) = news.entries.iter().find(|entry| matches!(entry.event, Event::RunEnded { .. })) {
            lines.extend(timeline.rest(end.at).into_iter().map(|line| inside(&place, line)));
            self.under_way.remove(&news.run);
        }
        lines
    }

    pub(super) fn running(&self, now: Millis) -> Vec<Running> {
        let stories = self.under_way.values();
        let running = stories.flat_map(|(place, timeline)| {
            timeline
                .running(now)
                .into_iter()
                .map(move |one| Running { label: format!("{place}{INSIDE}{}", one.label), ..one })
        });
        running.collect()
    }

    pub(super) fn clear(&mut self) {
        self.under_way.clear();
    }
}

fn inside(place: &str, line: Line) -> Line {
    match line.mark {
        Mark::Remark => Line { note: format!("{place}{INSIDE}{}", line.note), ..line },
        _ => Line { label: format!("{place}{INSIDE}{}", line.label), ..line },
    }
}
