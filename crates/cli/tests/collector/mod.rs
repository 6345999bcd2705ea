//! A collector of telemetry for tests: listens on this machine, answers as it is told, keeps what it was sent.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

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

/// One request as it came.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("telemetry is JSON")
    }
}

pub(crate) struct Collector {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

pub(crate) fn data(name: &str) -> String {
    format!("{}/tests/data/telemetry/{name}", env!("CARGO_MANIFEST_DIR"))
}

impl Collector {
    /// Answers the first requests in turn, and all others like the last.
    pub(crate) fn start(says: &[Says]) -> Collector {
        Collector::listen(says, None)
    }

    /// The same behind TLS, with a certificate of an authority that only the tests know.
    pub(crate) fn start_tls(says: &[Says]) -> Collector {
        let chain = vec![CertificateDer::from_pem_file(data("certificate.pem")).expect("a certificate")];
        let key = std::fs::read(data("key.der")).expect("a key");
        let key = PrivateKeyDer::try_from(key).expect("in a form that is known");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the versions are known")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("the certificate fits its key");
        Collector::listen(says, Some(Arc::new(config)))
    }

    fn listen(says: &[Says], tls: Option<Arc<ServerConfig>>) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (kept, says) = (Arc::clone(&received), says.to_vec());
        let count = Arc::new(Mutex::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, says, tls, count) =
                    (Arc::clone(&kept), says.clone(), tls.clone(), Arc::clone(&count));
                std::thread::spawn(move || {
                    let serve = |stream: &mut dyn ReadWrite| {
                        while let Some(request) = read(stream) {
                            let turn = {
                                let mut count = count.lock().expect("no holder panicked");
                                *count += 1;
                                *count - 1
                            };
                            kept.lock().expect("no holder panicked").push(request);
                            if !answer(stream, *says.get(turn).or(says.last()).expect("it says something")) {
                                return;
                            }
                        }
                    };
                    match tls {
                        None => serve(&mut { stream }),
                        Some(config) => {
                            let connection = ServerConnection::new(config).expect("a connection");
                            serve(&mut StreamOwned::new(connection, stream));
                        }
                    }
                });
            }
        });
        Collector { url: format!("{scheme}://localhost:{port}"), received }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no holder panicked").clone()
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

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

fn read(stream: &mut dyn ReadWrite) -> Option<Received> {
    let mut reader = BufReader::with_capacity(1, stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|size| *size > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|size| *size > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Received { path, headers, body: String::from_utf8(body).expect("telemetry is text") })
}

fn answer(stream: &mut dyn ReadWrite, says: Says) -> bool {
    let (status, more) = match says {
        Says::Status(status) => (status, String::new()),
        Says::NotNow { status, retry_after } => (status, format!("retry-after: {retry_after}\r\n")),
        Says::Nothing => {
            std::thread::sleep(Duration::from_secs(60));
            return false;
        }
    };
    let text = format!(
        "HTTP/1.1 {status} Because\r\n{more}content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).is_ok()
}
