//! The runs inside a run: each has a timeline of its own, shown under the check that nests it.

use std::collections::BTreeMap;

use escrow_model::{Millis, RunId};
use escrow_runtime::NestedNews;

use super::item::{Item, What};
use super::line::{Line, Mark};
use super::{Running, Timeline};

/// Between a check and an item of the run that it nests.
const INSIDE: &str = " › ";

#[derive(Debug, Default)]
pub struct NestedTimelines {
    under_way: BTreeMap<RunId, (String, Timeline)>,
}

impl NestedTimelines {
    /// The new lines of a nested run, with the check that nests it before every label.
    pub fn lines(&mut self, news: &NestedNews) -> Vec<Line> {
        let place = news.path.join(INSIDE);
        let mut items = Vec::new();
        let mut lines = Vec::new();
        let (_, timeline) = self.under_way.entry(news.run.clone()).or_insert_with(|| {
            let at = news.entries.first().map_or(0, |entry| entry.at);
            let started =
                Item { at, what: What::NestedStarted { playbook: &news.plan.name, run: &news.run } };
            lines.extend(started.lines().into_iter().map(|line| under(&place, " ", line)));
            (place.clone(), Timeline::new(&news.plan))
        });
        items.extend(timeline.read(&news.entries));
        let ended = items.iter().find(|item| matches!(item.what, What::RunEnded { .. }));
        if let Some(end) = ended.map(|item| item.at) {
            items.extend(timeline.finish(end));
            self.under_way.remove(&news.run);
        }
        lines.extend(items.iter().flat_map(Item::lines).map(|line| under(&place, INSIDE, line)));
        lines
    }

    pub fn running(&self, now: Millis) -> Vec<Running> {
        let timelines = self.under_way.values();
        let running = timelines.flat_map(|(place, timeline)| {
            timeline
                .running(now)
                .into_iter()
                .map(move |one| Running { label: format!("{place}{INSIDE}{}", one.label), ..one })
        });
        running.collect()
    }

    pub fn clear(&mut self) {
        self.under_way.clear();
    }
}

fn under(place: &str, separator: &str, line: Line) -> Line {
    match line.mark {
        Mark::Remark => Line { note: format!("{place}{separator}{}", line.note), ..line },
        Mark::Succeeded | Mark::Failed | Mark::Retrying | Mark::Skipped | Mark::Routed => {
            Line { label: format!("{place}{separator}{}", line.label), ..line }
        }
    }
}
