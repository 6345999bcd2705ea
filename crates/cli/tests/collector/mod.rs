//! A collector of telemetry for tests: a server that answers as it is told, and reads what it was sent.

use serde_json::{Value, json};

use crate::server::{self, Received, Server};

/// What the collector says to a request.
#[derive(Clone, Copy)]
pub(crate) enum Says {
    Status(u16),
    NotNow {
        status: u16,
        retry_after: u64,
    },
    /// Nothing, for as long as the test lasts.
    Nothing,
}

pub(crate) struct Collector {
    pub(crate) url: String,
    server: Server,
}

impl Collector {
    /// Answers the first requests in turn, and all others like the last.
    pub(crate) fn start(says: &[Says]) -> Collector {
        Collector::of(Server::start(in_turn(says)))
    }

    /// The same behind TLS, with a certificate of an authority that only the tests know.
    pub(crate) fn start_tls(says: &[Says]) -> Collector {
        Collector::of(Server::start_tls(in_turn(says)))
    }

    fn of(server: Server) -> Collector {
        Collector { url: server.url.clone(), server }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.server.received()
    }

    /// Every span that was sent, with the attributes as a map.
    pub(crate) fn spans(&self) -> Vec<Value> {
        let all = self.received();
        let traces = all.iter().filter(|one| one.path.ends_with("/v1/traces"));
        traces
            .flat_map(|one| {
                let spans = one.json()["resourceSpans"][0]["scopeSpans"][0]["spans"].clone();
                spans.as_array().cloned().expect("spans")
            })
            .collect()
    }

    /// The data points of a metric as it was last sent.
    pub(crate) fn points(&self, name: &str) -> Vec<Value> {
        let all = self.received();
        let last = all.iter().rev().find(|one| one.path.ends_with("/v1/metrics")).expect("metrics were sent");
        let metrics = last.json()["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].clone();
        let metric = metrics.as_array().into_iter().flatten().find(|metric| metric["name"] == name).cloned();
        let metric = metric.unwrap_or_else(|| panic!("no metric `{name}`: {metrics:#}"));
        let kind = if metric.get("sum").is_some() { "sum" } else { "histogram" };
        metric[kind]["dataPoints"].as_array().cloned().expect("points")
    }
}

/// The value of an attribute of a span, an event or a data point.
pub(crate) fn attribute(of: &Value, name: &str) -> Value {
    let attributes = of["attributes"].as_array().cloned().unwrap_or_default();
    let found = attributes.iter().find(|attribute| attribute["key"] == name);
    let value =
        found.and_then(|attribute| attribute["value"].as_object()).and_then(|value| value.values().next());
    value.cloned().unwrap_or(Value::Null)
}

fn in_turn(says: &[Says]) -> impl FnMut(&Received) -> server::Says + Send + 'static {
    let says = says.iter().map(|says| match *says {
        Says::Status(status) => server::Says::json(status, &json!({})),
        Says::NotNow { status, retry_after } => {
            server::Says::json(status, &json!({})).with("retry-after", &retry_after.to_string())
        }
        Says::Nothing => server::Says::Nothing,
    });
    server::in_turn(says.collect())
}
