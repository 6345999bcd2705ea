//! Spans and metrics as the JSON of OTLP: `ExportTraceServiceRequest` and `ExportMetricsServiceRequest`.

use std::collections::BTreeMap;

use escrow_model::{Millis, hex};
use escrow_runtime::telemetry::Temporality;
use serde_json::{Map, Value, json};

use super::measures::{BOUNDS, Histogram, Labels, Measures};
use super::spans::{Attribute, Attributes, Outcome, Span};

/// The attributes of the sending process.
pub(super) type Resource = Vec<(String, String)>;

pub(super) fn traces(resource: &Resource, trace: [u8; 16], spans: &[Span]) -> Value {
    let spans: Vec<Value> = spans.iter().map(|span| span_json(trace, span)).collect();
    json!({ "resourceSpans": [{
        "resource": resource_json(resource),
        "scopeSpans": [{ "scope": scope(), "spans": spans }],
    }] })
}

pub(super) fn metrics(resource: &Resource, measures: &Measures, temporality: Temporality) -> Value {
    let period = Period {
        since: nanoseconds(measures.since),
        until: nanoseconds(measures.until),
        temporality: match temporality {
            Temporality::Delta => 1,
            Temporality::Cumulative => 2,
        },
    };
    let counters = [
        ("escrow.runs", "{run}", "Runs that ended, by status and reason.", &measures.runs),
        ("escrow.check.attempts", "{attempt}", "Attempts that were answered.", &measures.attempts),
        ("escrow.check.retries", "{retry}", "Retries that were scheduled.", &measures.retries),
        ("escrow.waits", "{wait}", "Waits for a person.", &measures.waits),
    ];
    let mut all: Vec<Value> = counters
        .into_iter()
        .filter(|(_, _, _, counts)| !counts.is_empty())
        .map(|(name, unit, description, counts)| period.counter(name, unit, description, counts))
        .collect();
    if !measures.durations.is_empty() {
        all.push(period.histogram(&measures.durations));
    }
    json!({ "resourceMetrics": [{
        "resource": resource_json(resource),
        "scopeMetrics": [{ "scope": scope(), "metrics": all }],
    }] })
}

/// The time that the metrics cover.
struct Period {
    since: String,
    until: String,
    temporality: u8,
}

impl Period {
    fn counter(&self, name: &str, unit: &str, description: &str, counts: &BTreeMap<Labels, u64>) -> Value {
        let points: Vec<Value> = counts
            .iter()
            .map(|(labels, count)| {
                json!({
                    "attributes": labels_json(labels),
                    "startTimeUnixNano": self.since,
                    "timeUnixNano": self.until,
                    "asInt": count.to_string(),
                })
            })
            .collect();
        json!({
            "name": name, "unit": unit, "description": description,
            "sum": {
                "aggregationTemporality": self.temporality, "isMonotonic": true, "dataPoints": points,
            },
        })
    }

    fn histogram(&self, durations: &BTreeMap<Labels, Histogram>) -> Value {
        let points: Vec<Value> = durations
            .iter()
            .map(|(labels, histogram)| {
                let counts: Vec<String> = histogram.buckets.iter().map(u64::to_string).collect();
                json!({
                    "attributes": labels_json(labels),
                    "startTimeUnixNano": self.since,
                    "timeUnixNano": self.until,
                    "count": histogram.buckets.iter().sum::<u64>().to_string(),
                    "sum": histogram.sum_seconds,
                    "min": histogram.min_seconds,
                    "max": histogram.max_seconds,
                    "bucketCounts": counts,
                    "explicitBounds": BOUNDS,
                })
            })
            .collect();
        json!({
            "name": "escrow.check.duration", "unit": "s", "description": "From the start of an attempt to its verdict.",
            "histogram": { "aggregationTemporality": self.temporality, "dataPoints": points },
        })
    }
}

fn span_json(trace: [u8; 16], span: &Span) -> Value {
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| all.insert(name.into(), value);
    put("traceId", hex(&trace).into());
    put("spanId", hex(&span.id).into());
    if let Some(parent) = &span.parent {
        put("parentSpanId", hex(parent).into());
    }
    put("name", span.name.as_str().into());
    // Internal: the span has no remote caller.
    put("kind", 1.into());
    put("startTimeUnixNano", nanoseconds(span.start).into());
    put("endTimeUnixNano", nanoseconds(span.end).into());
    put("attributes", attributes_json(&span.attributes));
    let events: Vec<Value> = span
        .events
        .iter()
        .map(|event| {
            json!({
                "timeUnixNano": nanoseconds(event.at),
                "name": event.name,
                "attributes": attributes_json(&event.attributes),
            })
        })
        .collect();
    put("events", events.into());
    if span.events_dropped > 0 {
        put("droppedEventsCount", span.events_dropped.into());
    }
    match &span.outcome {
        Outcome::Unset => put("status", json!({})),
        Outcome::Ok => put("status", json!({ "code": 1 })),
        Outcome::Error(message) => put("status", json!({ "code": 2, "message": message })),
    };
    Value::Object(all)
}

fn attributes_json(attributes: &Attributes) -> Value {
    attributes
        .iter()
        .map(|(name, value)| {
            let value = match value {
                Attribute::Text(text) => json!({ "stringValue": text }),
                Attribute::Number(number) => json!({ "intValue": number.to_string() }),
                Attribute::Flag(flag) => json!({ "boolValue": flag }),
            };
            json!({ "key": name, "value": value })
        })
        .collect()
}

fn labels_json(labels: &Labels) -> Value {
    labels.iter().map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } })).collect()
}

fn resource_json(resource: &Resource) -> Value {
    let attributes: Vec<Value> = resource
        .iter()
        .map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } }))
        .collect();
    json!({ "attributes": attributes })
}

fn scope() -> Value {
    json!({ "name": "escrow", "version": env!("CARGO_PKG_VERSION") })
}

/// 64-bit numbers are strings in this JSON.
fn nanoseconds(at: Millis) -> String {
    (u128::from(at) * 1_000_000).to_string()
}
