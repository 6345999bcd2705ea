//! Sends telemetry from a thread of its own. A run waits for it only after its end, and only for a short time.
//!
//! **Invariant:** the queue, the attempts and the time are bounded. Exports that cannot be delivered are counted and
//! reported once; they change nothing about the run.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::settings::Target;

/// Requests that wait for a slow receiver. More are dropped.
const QUEUE_MAX: usize = 64;
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);
/// How long a run that has ended may wait for its exports, whatever is configured.
const FLUSH_MAX: Duration = Duration::from_secs(5);

/// One OTLP request.
pub struct Export {
    pub target: Target,
    pub body: String,
}

pub struct Sender {
    queue: SyncSender<Export>,
    done: Receiver<()>,
    undelivered: Arc<Mutex<Undelivered>>,
    flush_timeout: Duration,
}

#[derive(Default)]
struct Undelivered {
    exports: usize,
    /// The first reason.
    why: Option<String>,
}

impl Undelivered {
    fn add(undelivered: &Mutex<Undelivered>, why: String) {
        let mut undelivered = undelivered.lock().unwrap_or_else(PoisonError::into_inner);
        undelivered.exports += 1;
        undelivered.why.get_or_insert(why);
    }
}

impl Sender {
    pub fn start(timeout: Duration, certificate: Option<&Path>) -> Sender {
        let (queue, exports) = sync_channel::<Export>(QUEUE_MAX);
        let (tell, done) = channel();
        let undelivered = Arc::new(Mutex::new(Undelivered::default()));
        let (shared, certificate) = (Arc::clone(&undelivered), certificate.map(Path::to_owned));
        thread::spawn(move || {
            let mut agent = None;
            for export in exports {
                let made = agent.get_or_insert_with(|| agent_for(timeout, certificate.as_deref()));
                let sent = match made {
                    Ok(agent) => deliver(agent, &export, Instant::now() + timeout),
                    Err(why) => Err(why.clone()),
                };
                if let Err(why) = sent {
                    Undelivered::add(&shared, format!("{}: {why}", without_secrets(&export.target.url)));
                }
            }
            drop(tell);
        });
        Sender { queue, done, undelivered, flush_timeout: timeout.min(FLUSH_MAX) }
    }

    /// Never blocks: a full queue drops the export.
    pub fn send(&self, export: Export) {
        match self.queue.try_send(export) {
            Ok(()) => {}
            Err(TrySendError::Full(export) | TrySendError::Disconnected(export)) => {
                let url = without_secrets(&export.target.url);
                Undelivered::add(&self.undelivered, format!("{url}: too slow, the queue is full"));
            }
        }
    }

    /// Waits until everything is sent or the time is up; returns the first problem.
    pub fn finish(self) -> Option<String> {
        let Sender { queue, done, undelivered, flush_timeout } = self;
        drop(queue);
        let late = matches!(done.recv_timeout(flush_timeout), Err(RecvTimeoutError::Timeout));
        let undelivered = undelivered.lock().unwrap_or_else(PoisonError::into_inner);
        match (&undelivered.why, late) {
            (Some(why), _) => Some(why.clone()),
            (None, true) => Some(format!("no answer within {} ms", flush_timeout.as_millis())),
            (None, false) => None,
        }
    }
}

fn agent_for(timeout: Duration, certificate: Option<&Path>) -> Result<Agent, String> {
    let mut tls = TlsConfig::builder();
    if let Some(path) = certificate {
        let unreadable = |why: String| format!("the certificate `{}` cannot be used: {why}", path.display());
        let pem = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
        let trusted = certificates(&pem);
        if trusted.is_empty() {
            return Err(unreadable("there is none in it".into()));
        }
        tls = tls.root_certs(RootCerts::from(trusted));
    }
    let agent = Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        // A redirect would send the headers, with their credentials, to another host.
        .max_redirects(0)
        .user_agent(concat!("escrow/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls.build())
        .build()
        .new_agent();
    Ok(agent)
}

fn certificates(pem: &[u8]) -> Vec<Certificate<'static>> {
    parse_pem(pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            Ok(_) | Err(_) => None,
        })
        .collect()
}

/// Repeats the request until it is accepted, refused, or too late.
fn deliver(agent: &Agent, export: &Export, until: Instant) -> Result<(), String> {
    let mut pause = PAUSE;
    let mut tries = 0;
    loop {
        tries += 1;
        let (why, asked_to_wait) = match post(agent, export) {
            Answer::Taken => return Ok(()),
            Answer::Refused(why) => return Err(why),
            Answer::NotNow { why, after } => (why, after),
        };
        let wait = asked_to_wait.unwrap_or(pause);
        if tries == TRIES_MAX || Instant::now() + wait >= until {
            return Err(why);
        }
        thread::sleep(wait);
        pause *= 2;
    }
}

/// The answer of a collector.
enum Answer {
    Taken,
    Refused(String),
    NotNow { why: String, after: Option<Duration> },
}

fn post(agent: &Agent, export: &Export) -> Answer {
    let mut request = agent.post(&export.target.url).header("content-type", "application/json");
    for (name, value) in &export.target.headers {
        request = request.header(name, value);
    }
    match request.send(export.body.as_str()) {
        Ok(response) => {
            let status = response.status().as_u16();
            let why = format!("status {status}");
            match status {
                200..=299 => Answer::Taken,
                429 | 502..=504 => {
                    let after = response.headers().get("retry-after").and_then(|after| after.to_str().ok());
                    let after = after.and_then(|after| after.trim().parse().ok()).map(Duration::from_secs);
                    Answer::NotNow { why, after }
                }
                _ => Answer::Refused(why),
            }
        }
        Err(ureq::Error::Timeout(_)) => Answer::Refused("no answer in time".into()),
        // A run does not wait for a collector that is not there.
        Err(ureq::Error::Io(error)) => Answer::Refused(error.kind().to_string()),
        Err(ureq::Error::ConnectionFailed) => Answer::Refused("cannot be reached".into()),
        Err(ureq::Error::HostNotFound) => Answer::Refused("no such host".into()),
        // The message might repeat headers.
        Err(ureq::Error::Http(_)) => Answer::Refused("a header or the address is not HTTP".into()),
        Err(error) => Answer::Refused(error.to_string()),
    }
}

/// The address without user information, query and fragment.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn an_address_is_told_without_its_secrets() {
        for (url, told) in [
            ("http://me:word@host:4318/v1/traces?key=1", "http://host:4318/v1/traces"),
            ("https://host", "https://host/"),
            ("http://a@b@host/x#y", "http://host/x"),
        ] {
            assert_eq!(without_secrets(url), told);
        }
    }
}
