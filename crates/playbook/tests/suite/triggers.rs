//! Triggers of chains: what is read, and what is reported.

use escrow_model::{Cadence, CatchUp, Trigger, TriggerRule, TriggerSource};
use escrow_playbook::{read_trigger, render};

fn trigger(text: &str) -> Trigger {
    let reading = read_trigger(text, "chain.yaml");
    let rendered = || render(&reading.diagnostics, text, false);
    reading.trigger.clone().unwrap_or_else(|| panic!("{}", rendered()))
}

fn problems(text: &str) -> Vec<String> {
    let reading = read_trigger(text, "chain.yaml");
    assert!(reading.trigger.is_none(), "{text}");
    let line = |one: &escrow_playbook::Diagnostic| {
        let help = one.help.as_deref().unwrap_or_default();
        format!("{} {}:{} {} ({}) {help}", one.code, one.line, one.column, one.message, one.label)
    };
    reading.diagnostics.iter().map(line).collect()
}

#[test]
fn a_schedule_is_a_pattern_or_an_interval() {
    let TriggerSource::Schedule(nightly) = &trigger("schedule: '0 2 * * *'").sources[0] else { panic!() };
    assert_eq!(nightly.cadence, Cadence::Cron("0 2 * * *".into()));
    assert_eq!((nightly.timezone.as_str(), nightly.catch_up, nightly.jitter_ms), ("UTC", CatchUp::Skip, 0));
    let text = "schedule: every 6h\ntimezone: Europe/Berlin\ncatch_up: once\njitter: 5m";
    let TriggerSource::Schedule(often) = &trigger(text).sources[0] else { panic!() };
    assert_eq!(often.cadence, Cadence::EveryMs(21_600_000));
    assert_eq!((often.timezone.as_str(), often.catch_up), ("Europe/Berlin", CatchUp::Once));
    assert_eq!(often.jitter_ms, 300_000);
    for name in ["@daily", "@hourly", "0 9 * * MON-FRI", "0 0 L * *"] {
        trigger(&format!("schedule: '{name}'"));
    }
}

#[test]
fn an_event_has_a_filter_and_files_have_paths() {
    let TriggerSource::Event(event) =
        &trigger("event: pr.opened\nfilter: { base: main, draft: false }").sources[0]
    else {
        panic!()
    };
    assert_eq!(event.event, "pr.opened");
    assert_eq!(event.filter["draft"], false);
    assert!(!event.forks);
    let TriggerSource::Event(files) =
        &trigger("event: file.changed\npaths: ['./docs/**/*.md', '*.toml']\ndebounce: 2s").sources[0]
    else {
        panic!()
    };
    assert_eq!(files.paths, ["docs/**/*.md", "*.toml"]);
    assert_eq!(files.debounce_ms, 2_000);
}

#[test]
fn invocation_completed_is_run_completed() {
    let TriggerSource::Event(event) =
        &trigger("event: invocation.completed\nfilter: { outcome.verdict: [REJECT, REQUEST_CHANGES] }")
            .sources[0]
    else {
        panic!()
    };
    assert_eq!(event.event, "run.completed");
}

#[test]
fn several_triggers_fire_each_or_together() {
    let any = trigger("any:\n  - schedule: every 1d\n  - event: manual.fired");
    assert_eq!((any.rule, any.sources.len()), (TriggerRule::Any, 2));
    let all = trigger("all: [{ event: pr.merged }, { event: checks.completed }]\nwithin: 2h");
    assert_eq!((all.rule, all.sources.len()), (TriggerRule::All { within_ms: 7_200_000 }, 2));
    let day = trigger("all: [{ event: pr.merged }, { event: checks.completed }]");
    assert_eq!(day.rule, TriggerRule::All { within_ms: 86_400_000 });
}

#[test]
fn every_problem_of_a_trigger_is_reported_where_it_is() {
    for (text, expected) in [
        ("schedule: '0 25 * * *'", "E0195 1:11 the schedule is not a cron pattern"),
        ("schedule: '0 2 * *'", "E0195 1:11 the schedule is not a cron pattern"),
        ("schedule: '* * * * * *'", "E0195 1:11 the schedule is not a cron pattern"),
        ("schedule: '0 0 31 2 *'", "E0195 1:11 the schedule has no tick (no date matches this pattern)"),
        ("schedule: ''", "E0195 1:11 the schedule is not a cron pattern"),
        ("schedule: every 6", "E0195 1:11 the interval is invalid (the unit is missing)"),
        ("schedule: every 6x", "E0195 1:11 the interval is invalid"),
        ("schedule: every 5ms", "E0195 1:11 the interval is out of range"),
        (
            "schedule: '@daily'\ntimezone: Europe/Berlim",
            "E0195 2:11 unknown time zone `Europe/Berlim` (not in the time zone database) did you mean `Europe/Berlin`?",
        ),
        ("schedule: 5", "E0105 1:11 `schedule` must be a cron pattern"),
        ("schedule: '@daily'\ncatch_up: twice", "E0108 2:11 `catch_up` cannot be `twice`"),
        ("schedule: '@daily'\njitter: soon", "E0121 2:9 `jitter` is not a duration"),
        ("schedule: '@daily'\nfilter: {}", "E0103 2:1 this trigger has no key `filter`"),
        (
            "event: pr.opened\nfitler: {}",
            "E0103 2:1 this trigger has no key `fitler` (unknown key) did you mean `filter`?",
        ),
        ("event: schedule.fired", "E0108 1:8 `schedule.fired` needs a schedule"),
        ("event: PR opened", "E0108 1:8 `PR opened` is not the name of an event"),
        ("event: [pr.opened]", "E0105 1:8 `event` must be the name of an event"),
        ("event: pr.opened\nfilter: main", "E0105 2:9 `filter` must be a map"),
        ("event: pr.opened\nfilter: { base: [] }", "E0105 2:17 `base` must be a value, or a list"),
        ("event: pr.opened\nfilter: { a: { b: 1 } }", "E0105 2:14 `a` must be a value, or a list"),
        ("event: file.changed", "E0106 1:8 `file.changed` needs `paths`"),
        ("event: file.changed\npaths: ['../x']", "E0108 2:9 `../x` is not a path of this project"),
        (
            "event: file.changed\npaths: ['/etc/passwd']",
            "E0108 2:9 `/etc/passwd` is not a path of this project",
        ),
        ("event: file.changed\npaths: ['[a']", "E0108 2:9 `[a` is not a path of this project"),
        ("event: pr.opened\nforks: maybe", "E0105 2:8 `forks` must be `true` or `false`"),
        ("event: pr.opened\nschedule: '@daily'", "E0130 1:1 `event` and `schedule` exclude each other"),
        ("filter: {}", "E0103 1:1 this trigger has no key `filter`"),
        ("pr.opened", "E0105 1:1 a trigger must be a map"),
        ("any: []", "E0122 1:6 `any` is out of range"),
        ("any: pr.opened", "E0105 1:6 `any` must be a list of triggers"),
        ("any: [{ all: [{ event: a.b }] }]", "E0108 1:9 `all` cannot be nested"),
        ("all: [{ event: a.b }]\nwithin: 0", "E0121 2:9 `within` is not a duration"),
        ("any: [{ event: a.b }]\nwithin: 1h", "E0103 2:1 this trigger has no key `within`"),
    ] {
        let found = problems(text);
        assert!(found.iter().any(|one| one.starts_with(expected)), "{text}\n{found:#?}");
    }
    let several = problems("any:\n  - schedule: '61 * * * *'\n  - event: file.changed\n  - filter: {}");
    assert_eq!(several.len(), 4, "{several:#?}");
}

#[test]
fn an_event_that_no_source_makes_is_a_warning_when_it_resembles_one() {
    let reading = read_trigger("event: pr.openend", "chain.yaml");
    assert!(reading.trigger.is_some());
    assert_eq!(reading.diagnostics[0].code, "W0208");
    assert!(read_trigger("event: deploy.finished", "chain.yaml").diagnostics.is_empty());
}
