//! Traces and metrics of runs: OTLP over HTTP, in its JSON form.
//!
//! ```text
//!   committed entries ──▶ timeline ──▶ spans, measures ──▶ otlp ──▶ runtime's sender (a thread) ──▶ collector
//! ```
//!
//! Off unless an endpoint is set. Telemetry never fails or delays a run. Entries are committed without secrets; each
//! request is redacted once more before it is sent.

mod measures;
mod otlp;
mod spans;

use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{Entry, Millis, ScopePath};
use escrow_runtime::process::Stream;
use escrow_runtime::telemetry::{Export, Sender, Settings, Target, Temporality};
use escrow_runtime::{NestedNews, Observer, Redactor};
use serde_json::Value;

use crate::timeline::Timeline;
use measures::Measures;
use spans::Spans;

/// Spans that are sent at once, and how long they wait for others.
const SPANS_MAX: usize = 512;
const PATIENCE_MS: Millis = 5_000;

/// Follows one run and sends its traces and metrics.
pub struct Telemetry {
    settings: Settings,
    redactor: Arc<Redactor>,
    timeline: Timeline,
    spans: Spans,
    measures: Measures,
    resource: otlp::Resource,
    sent_at: Millis,
    sender: Option<Sender>,
}

impl Telemetry {
    pub fn new(settings: Settings, run: &Run, redactor: Arc<Redactor>) -> Telemetry {
        let mut resource = settings.resource.clone();
        for (name, value) in [
            ("service.instance.id", run.options().run.as_str()),
            ("service.version", env!("CARGO_PKG_VERSION")),
            ("telemetry.sdk.name", "escrow"),
            ("telemetry.sdk.language", "rust"),
            ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        ] {
            if !resource.iter().any(|(known, _)| known == name) {
                resource.push((name.to_owned(), value.to_owned()));
            }
        }
        Telemetry {
            spans: Spans::new(settings.parent.as_ref()),
            measures: Measures::new(&run.plan_of().name),
            timeline: Timeline::new(run.plan_of()),
            settings,
            redactor,
            resource,
            sent_at: 0,
            sender: None,
        }
    }

    /// Reads what other processes did with this run before. They sent it; later spans refer to it.
    pub fn remember<'e>(&mut self, entries: impl IntoIterator<Item = &'e Entry>) {
        for item in self.timeline.read(entries) {
            self.spans.take(&item);
        }
        self.spans.finished.clear();
    }

    pub fn take(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.measures.advance(entry.at);
        }
        for item in self.timeline.read(entries) {
            self.spans.take(&item);
            self.measures.take(&item);
        }
        let Some(now) = entries.last().map(|entry| entry.at) else { return };
        if self.sent_at == 0 {
            self.sent_at = now;
        }
        if self.spans.finished.len() >= SPANS_MAX || now.saturating_sub(self.sent_at) >= PATIENCE_MS {
            self.sent_at = now;
            self.send();
        }
    }

    fn send(&mut self) {
        let finished = std::mem::take(&mut self.spans.finished);
        if let Some(target) = self.settings.traces.clone() {
            for some in finished.chunks(SPANS_MAX) {
                let body = otlp::traces(&self.resource, self.spans.trace, some);
                self.post(&target, body);
            }
        }
        if let Some(target) = self.settings.metrics.clone().filter(|_| !self.measures.is_empty()) {
            let body = otlp::metrics(&self.resource, &self.measures, self.settings.temporality);
            self.post(&target, body);
            if self.settings.temporality == Temporality::Delta {
                self.measures.reset();
            }
        }
    }

    fn post(&mut self, target: &Target, mut body: Value) {
        self.redactor.value(&mut body);
        let export = Export { target: target.clone(), body: body.to_string() };
        let Settings { timeout, certificate, .. } = &self.settings;
        self.sender.get_or_insert_with(|| Sender::start(*timeout, certificate.as_deref())).send(export);
    }

    /// Sends the rest, waits for a bounded time, and returns what could not be delivered.
    pub fn finish(mut self) -> Option<String> {
        self.send();
        self.sender.take().and_then(Sender::finish)
    }
}

/// An observer that also sends telemetry.
pub struct Measured<'a> {
    pub observer: &'a mut dyn Observer,
    pub telemetry: Telemetry,
}

impl Observer for Measured<'_> {
    fn committed(&mut self, run: &Run, entries: &[Entry]) {
        self.telemetry.take(entries);
        self.observer.committed(run, entries);
    }

    fn output(&mut self, check: &str, scope: &ScopePath, stream: Stream, bytes: &[u8]) {
        self.observer.output(check, scope, stream, bytes);
    }

    fn tick(&mut self, run: &Run) {
        self.observer.tick(run);
    }

    fn nested(&mut self, news: &NestedNews) {
        self.observer.nested(news);
    }
}
