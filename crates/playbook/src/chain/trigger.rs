//! Reads `trigger` of a chain: schedules, events, and several of them together.
//!
//!   schedule: "0 2 * * *"          event: pr.opened             all: [{ … }, { … }]
//!   timezone: Europe/Berlin        filter: { base: main }       within: 24h

use std::ops::Range;
use std::rc::Rc;

use escrow_model::{
    ALL_WITHIN_MS, Cadence, CatchUp, EventTrigger, Schedule, Trigger, TriggerRule, TriggerSource,
};
use globset::Glob;
use indexmap::IndexMap;

use super::schedule::{self, ScheduleClock, ScheduleError};
use crate::diagnostic::{Diagnostics, Problem};
use crate::duration;
use crate::suggest::did_you_mean;
use crate::yaml::{Entry, Node};

const SCHEDULE_KEYS: &[&str] = &["schedule", "timezone", "catch_up", "jitter"];
const EVENT_KEYS: &[&str] = &["event", "filter", "paths", "debounce", "forks"];
const ANY_KEYS: &[&str] = &["any"];
const ALL_KEYS: &[&str] = &["all", "within"];
const FORMS: [(&str, &[&str]); 4] =
    [("schedule", SCHEDULE_KEYS), ("event", EVENT_KEYS), ("any", ANY_KEYS), ("all", ALL_KEYS)];

/// How many schedules and events one trigger may have.
const SOURCES_MAX: usize = 32;
const FILTER_MAX: usize = 64;
const PATHS_MAX: usize = 64;
/// Shorter intervals than a second are not kept.
const PERIOD_MS_MIN: u64 = 1_000;
const DEBOUNCE_MS: u64 = 1_000;

/// Events that sources of Escrow make, for suggestions. Any name can be fired by hand.
const KNOWN_EVENTS: &[&str] = &[
    "pr.opened",
    "pr.reopened",
    "pr.updated",
    "pr.ready",
    "pr.closed",
    "pr.merged",
    "pr.labeled",
    "issue.created",
    "issue.closed",
    "issue.reopened",
    "issue.labeled",
    "comment.created",
    "branch.pushed",
    "tag.pushed",
    "checks.completed",
    EventTrigger::MANUAL,
    EventTrigger::FILE,
    EventTrigger::RUN,
    EventTrigger::INVOCATION,
];

/// Decodes the trigger and reports every problem. `None` when there are errors.
pub(crate) fn decode(node: &Rc<Node>, found: &mut Diagnostics) -> Option<Trigger> {
    let mut decoder = TriggerDecoder { found };
    if let Some(entry) = node.entry("any") {
        decoder.known_keys(node, ANY_KEYS);
        let sources = decoder.sources(entry)?;
        return Some(Trigger { rule: TriggerRule::Any, sources });
    }
    if let Some(entry) = node.entry("all") {
        decoder.known_keys(node, ALL_KEYS);
        let within = decoder.duration(node, "within").unwrap_or(Some(ALL_WITHIN_MS));
        let sources = decoder.sources(entry);
        return Some(Trigger { rule: TriggerRule::All { within_ms: within? }, sources: sources? });
    }
    let source = decoder.source(node)?;
    Some(Trigger { rule: TriggerRule::Any, sources: vec![source] })
}

struct TriggerDecoder<'f> {
    found: &'f mut Diagnostics,
}

impl TriggerDecoder<'_> {
    fn sources(&mut self, entry: &Entry) -> Option<Vec<TriggerSource>> {
        let Some(items) = entry.value.list() else {
            self.wrong(entry, "a list of triggers");
            return None;
        };
        if items.is_empty() || items.len() > SOURCES_MAX {
            self.found.push(
                Problem::new("E0122", entry.value.span.clone(), format!("`{}` is out of range", entry.key))
                    .label(format!("expected 1 to {SOURCES_MAX} triggers")),
            );
            return None;
        }
        let decoded: Vec<Option<TriggerSource>> = items.iter().map(|item| self.member(item)).collect();
        decoded.into_iter().collect()
    }

    fn member(&mut self, item: &Rc<Node>) -> Option<TriggerSource> {
        if let Some(nested) = item.entry("any").or_else(|| item.entry("all")) {
            self.found.push(
                Problem::new("E0108", nested.key_span.clone(), format!("`{}` cannot be nested", nested.key))
                    .label("inside another list of triggers")
                    .help("list its triggers here, or define a second chain"),
            );
            return None;
        }
        self.source(item)
    }

    fn source(&mut self, node: &Rc<Node>) -> Option<TriggerSource> {
        if node.map().is_none() {
            self.found.push(
                Problem::new("E0105", node.span.clone(), "a trigger must be a map")
                    .label(format!("this is {}", node.describe()))
                    .help("write `trigger: { schedule: \"0 2 * * *\" }` or `trigger: { event: pr.opened }`"),
            );
            return None;
        }
        match (node.entry("schedule"), node.entry("event")) {
            (Some(schedule), None) => {
                self.known_keys(node, SCHEDULE_KEYS);
                self.schedule(node, schedule).map(TriggerSource::Schedule)
            }
            (None, Some(event)) => {
                self.known_keys(node, EVENT_KEYS);
                self.event(node, event).map(TriggerSource::Event)
            }
            (Some(schedule), Some(event)) => {
                self.found.push(
                    Problem::new(
                        "E0130",
                        event.key_span.clone(),
                        "`event` and `schedule` exclude each other",
                    )
                    .label("second trigger")
                    .also(schedule.key_span.clone(), "first trigger")
                    .help("put both into a list: `any: [{ schedule: … }, { event: … }]`"),
                );
                // Whichever of them stays, its problems are worth knowing.
                self.known_keys(node, &[SCHEDULE_KEYS, EVENT_KEYS].concat());
                self.schedule(node, schedule);
                self.event(node, event);
                None
            }
            (None, None) => {
                self.known_keys(node, &FORMS.map(|(name, _)| name));
                self.found.push(
                    Problem::new("E0106", node.span.clone(), "a trigger needs `schedule` or `event`")
                        .label("both are missing")
                        .help("add `schedule: \"0 2 * * *\"` or `event: pr.opened`"),
                );
                None
            }
        }
    }

    fn schedule(&mut self, node: &Node, entry: &Entry) -> Option<Schedule> {
        let timezone = self.text(node, "timezone").unwrap_or_else(|| Some("UTC".to_owned()));
        let catch_up = self.catch_up(node);
        let jitter = self.duration(node, "jitter").unwrap_or(Some(0));
        let Some(text) = entry.value.string() else {
            self.wrong(entry, "a cron pattern or an interval such as `every 6h`");
            return None;
        };
        let cadence = self.cadence(text, &entry.value.span);
        let is_sound = cadence.is_some() && timezone.is_some() && catch_up.is_some() && jitter.is_some();
        // What was reported is replaced, so that the rest can be checked.
        let schedule = Schedule {
            cadence: cadence.unwrap_or(Cadence::EveryMs(PERIOD_MS_MIN)),
            timezone: timezone.unwrap_or_else(|| "UTC".to_owned()),
            catch_up: catch_up.unwrap_or_default(),
            jitter_ms: jitter.unwrap_or_default(),
        };
        let zone_span = node.get("timezone").map(|zone| zone.span.clone());
        match ScheduleClock::checked(&schedule, 0) {
            Ok(_) => is_sound.then_some(schedule),
            Err(error) => {
                self.bad_schedule(&schedule, &error, entry, zone_span.clone());
                // The pattern and the time zone are checked together; the other one may be wrong, too.
                let other = match error {
                    ScheduleError::Zone => Schedule { timezone: "UTC".to_owned(), ..schedule.clone() },
                    ScheduleError::Never | ScheduleError::Pattern(_) => {
                        Schedule { cadence: Cadence::EveryMs(PERIOD_MS_MIN), ..schedule.clone() }
                    }
                };
                if let Err(error) = ScheduleClock::checked(&other, 0) {
                    self.bad_schedule(&schedule, &error, entry, zone_span);
                }
                None
            }
        }
    }

    fn bad_schedule(
        &mut self,
        schedule: &Schedule,
        error: &ScheduleError,
        entry: &Entry,
        zone: Option<Range<usize>>,
    ) {
        let span = entry.value.span.clone();
        let problem = match error {
            ScheduleError::Zone => {
                let name = &schedule.timezone;
                let names = schedule::zone_names();
                Problem::new("E0195", zone.unwrap_or(span), format!("unknown time zone `{name}`"))
                    .label("not in the time zone database")
                    .maybe_help(did_you_mean(name, names.iter().map(String::as_str)))
            }
            ScheduleError::Never => {
                Problem::new("E0195", span, "the schedule has no tick").label("no date matches this pattern")
            }
            ScheduleError::Pattern(why) => {
                let why = why.trim_end_matches('.');
                Problem::new("E0195", span, "the schedule is not a cron pattern").label(why)
            }
        };
        self.found.push(problem);
    }

    /// `every 6h`, or a cron pattern.
    fn cadence(&mut self, text: &str, span: &Range<usize>) -> Option<Cadence> {
        let Some(period) = text.trim().strip_prefix("every ") else {
            return Some(Cadence::Cron(text.trim().to_owned()));
        };
        let parsed = match period.trim() {
            bare if bare.bytes().all(|byte| byte.is_ascii_digit()) => Err("the unit is missing"),
            period => duration::parse_duration(period),
        };
        match parsed {
            Ok(period_ms) if (PERIOD_MS_MIN..=366 * 86_400_000).contains(&period_ms) => {
                Some(Cadence::EveryMs(period_ms))
            }
            Ok(_) => {
                let problem = Problem::new("E0195", span.clone(), "the interval is out of range")
                    .label("expected 1 second to 366 days");
                self.found.push(problem);
                None
            }
            Err(why) => {
                let problem = Problem::new("E0195", span.clone(), "the interval is invalid")
                    .label(why)
                    .help("write `every 6h`, `every 30m` or `every 1d`");
                self.found.push(problem);
                None
            }
        }
    }

    fn event(&mut self, node: &Node, entry: &Entry) -> Option<EventTrigger> {
        let filter = self.filter(node);
        let paths = self.paths(node);
        let debounce = self.duration(node, "debounce").unwrap_or(Some(DEBOUNCE_MS));
        let forks = self.flag(node, "forks");
        let Some(name) = entry.value.string() else {
            self.wrong(entry, "the name of an event, such as `pr.opened`");
            return None;
        };
        let name = match name.trim() {
            EventTrigger::INVOCATION => EventTrigger::RUN,
            name => name,
        };
        self.event_name(name, &entry.value.span)?;
        let is_file = name == EventTrigger::FILE;
        match (is_file, node.entry("paths")) {
            (true, None) => self.found.push(
                Problem::new("E0106", entry.value.span.clone(), "`file.changed` needs `paths`")
                    .label("`paths` is missing")
                    .help("add `paths: [\"src/**/*.rs\"]`"),
            ),
            (false, Some(paths)) => self.found.push(
                Problem::new("W0211", paths.key_span.clone(), "`paths` has no effect")
                    .label(format!("`{name}` watches no files"))
                    .help("use it with `event: file.changed`"),
            ),
            (true, Some(_)) | (false, None) => {}
        }
        if is_file && node.entry("paths").is_none() {
            return None;
        }
        Some(EventTrigger {
            event: name.to_owned(),
            filter: filter?,
            paths: paths?,
            debounce_ms: debounce?,
            forks: forks?,
        })
    }

    fn event_name(&mut self, name: &str, span: &Range<usize>) -> Option<()> {
        let part = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| {
                    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
                })
        };
        if name == EventTrigger::SCHEDULE {
            self.found.push(
                Problem::new("E0108", span.clone(), "`schedule.fired` needs a schedule")
                    .label("it has no times")
                    .help("write `schedule: \"0 2 * * *\"` instead of `event`"),
            );
            return None;
        }
        if name.len() > 100 || !name.split('.').all(part) {
            self.found.push(
                Problem::new("E0108", span.clone(), format!("`{name}` is not the name of an event"))
                    .label("expected lower-case words with dots between them")
                    .help(
                        did_you_mean(name, KNOWN_EVENTS.iter().copied())
                            .unwrap_or_else(|| "write it as `pr.opened` or `deploy.finished`".to_owned()),
                    ),
            );
            return None;
        }
        if !KNOWN_EVENTS.contains(&name)
            && let Some(help) = did_you_mean(name, KNOWN_EVENTS.iter().copied())
        {
            self.found.push(
                Problem::new("W0208", span.clone(), format!("no source makes the event `{name}`"))
                    .label("only a fire by hand can")
                    .help(help),
            );
        }
        Some(())
    }

    fn filter(&mut self, node: &Node) -> Option<IndexMap<String, serde_json::Value>> {
        let Some(entry) = node.entry("filter") else { return Some(IndexMap::new()) };
        let Some(fields) = entry.value.map() else {
            self.wrong(entry, "a map from fields to values");
            return None;
        };
        if fields.len() > FILTER_MAX {
            self.found.push(
                Problem::new("E0134", entry.value.span.clone(), "the filter has too many fields")
                    .label(format!("more than {FILTER_MAX}")),
            );
            return None;
        }
        let mut filter = IndexMap::new();
        let mut is_valid = true;
        for field in fields {
            let is_scalar = |node: &Node| node.scalar().is_some();
            let comparable = match field.value.list() {
                Some(items) => !items.is_empty() && items.iter().all(|item| is_scalar(item)),
                None => is_scalar(&field.value),
            };
            if !comparable {
                self.wrong(field, "a value, or a list of values of which one must match");
                is_valid = false;
            }
            filter.insert(field.key.clone(), field.value.json());
        }
        is_valid.then_some(filter)
    }

    fn paths(&mut self, node: &Node) -> Option<Vec<String>> {
        let Some(entry) = node.entry("paths") else { return Some(Vec::new()) };
        let items: &[Rc<Node>] = entry.value.list().unwrap_or(std::slice::from_ref(&entry.value));
        if items.is_empty() || items.len() > PATHS_MAX {
            self.wrong(entry, "a list of globs");
            return None;
        }
        let paths: Vec<Option<String>> = items.iter().map(|item| self.path(entry, item)).collect();
        paths.into_iter().collect()
    }

    fn path(&mut self, entry: &Entry, item: &Node) -> Option<String> {
        let Some(text) = item.string() else {
            self.wrong(entry, "a list of globs");
            return None;
        };
        let outside = text.starts_with('/') || text.split('/').any(|part| part == "..");
        let why = match Glob::new(text) {
            Ok(_) if outside => "it lies outside the project".to_owned(),
            Ok(_) if text.is_empty() => "it is empty".to_owned(),
            Ok(_) => return Some(text.strip_prefix("./").unwrap_or(text).to_owned()),
            Err(error) => error.kind().to_string(),
        };
        self.found.push(
            Problem::new("E0108", item.span.clone(), format!("`{text}` is not a path of this project"))
                .label(why)
                .help("write a glob relative to the project: `docs/**/*.md`"),
        );
        None
    }

    fn catch_up(&mut self, node: &Node) -> Option<CatchUp> {
        let Some(entry) = node.entry("catch_up") else { return Some(CatchUp::default()) };
        let word = entry.value.scalar_text().unwrap_or_default();
        let parsed = CatchUp::parse(word);
        if parsed.is_none() {
            self.found.push(
                Problem::new("E0108", entry.value.span.clone(), format!("`catch_up` cannot be `{word}`"))
                    .label("expected one of `skip`, `once`, `all`")
                    .maybe_help(did_you_mean(word, CatchUp::WORDS.iter().copied())),
            );
        }
        parsed
    }

    fn flag(&mut self, node: &Node, key: &str) -> Option<bool> {
        let Some(entry) = node.entry(key) else { return Some(false) };
        let flag = entry.value.bool();
        if flag.is_none() {
            self.wrong(entry, "`true` or `false`");
        }
        flag
    }

    /// `None` when the key is absent, `Some(None)` when it is invalid.
    #[expect(clippy::option_option, reason = "absent and invalid differ, and invalid is reported here")]
    fn text(&mut self, node: &Node, key: &str) -> Option<Option<String>> {
        let entry = node.entry(key)?;
        let text = entry.value.string().map(str::to_owned);
        if text.is_none() {
            self.wrong(entry, "a string");
        }
        Some(text)
    }

    /// `None` when the key is absent, `Some(None)` when it is invalid.
    #[expect(clippy::option_option, reason = "absent and invalid differ, and invalid is reported here")]
    fn duration(&mut self, node: &Node, key: &str) -> Option<Option<u64>> {
        let entry = node.entry(key)?;
        match duration::milliseconds(&entry.value) {
            Ok(length) => Some(Some(length)),
            Err(why) => {
                self.found.push(
                    Problem::new("E0121", entry.value.span.clone(), format!("`{key}` is not a duration"))
                        .label(why)
                        .help("write `10m`, `1h30m`, `500ms`, or a number of milliseconds"),
                );
                Some(None)
            }
        }
    }

    fn known_keys(&mut self, node: &Node, known: &[&str]) {
        for entry in node.map().unwrap_or_default() {
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            let listed = || known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            let elsewhere = FORMS.iter().find(|(_, keys)| keys.contains(&entry.key.as_str()));
            let help = match elsewhere {
                Some((form, _)) => format!("`{}` belongs to a trigger with `{form}`", entry.key),
                None => did_you_mean(&entry.key, known.iter().copied())
                    .unwrap_or_else(|| format!("the keys are {}", listed())),
            };
            let message = format!("this trigger has no key `{}`", entry.key);
            self.found
                .push(Problem::new("E0103", entry.key_span.clone(), message).label("unknown key").help(help));
        }
    }

    fn wrong(&mut self, entry: &Entry, expected: &str) {
        self.found.push(
            Problem::new("E0105", entry.value.span.clone(), format!("`{}` must be {expected}", entry.key))
                .label(format!("this is {}", entry.value.describe())),
        );
    }
}
