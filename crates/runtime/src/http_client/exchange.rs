//! One request and its answer.

use std::io::{self, Read};
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use ureq::http::{Response, Uri};
use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, Proxy};

use super::addresses::{AddressError, JudgingResolver};
use super::redirects::Hop;
use super::witness::{Progress, Witness};
use super::{Call, CallError, Method, Problem, Reply, proxies, roots};

pub(super) fn exchange(call: &Call, hop: &Hop, progress: &Arc<Progress>) -> Result<Reply, CallError> {
    let agent = agent(call, hop, progress)?;
    let response = send(&agent, hop).map_err(|error| failed(call, hop, progress, &error))?;
    let status = response.status().as_u16();
    let headers = headers(&response);
    let body = read(response, call.max_bytes).map_err(|error| failed(call, hop, progress, &error))?;
    let Some(body) = body else {
        let message = format!("the answer (status {status}) is larger than {} bytes", call.max_bytes);
        return Err(progress.error(Problem::TooLarge, message));
    };
    Ok(Reply { status, headers, body, redirects: 0 })
}

/// A client for one request. Without a pool, no request is sent over a connection that may be dead.
fn agent(call: &Call, hop: &Hop, progress: &Arc<Progress>) -> Result<Agent, CallError> {
    let tls = roots::tls(call.ca_file.as_deref()).map_err(|why| progress.error(Problem::Request, why))?;
    let proxy =
        proxies::proxy_for(&call.proxies, &hop.uri).map_err(|why| progress.error(Problem::Request, why))?;
    if proxy.is_some() {
        judge_behind_proxy(call, &hop.uri)
            .map_err(|error| progress.error(Problem::Address, error.to_string()))?;
    }
    let at = proxy.as_ref().map(Proxy::uri).cloned();
    let config = Agent::config_builder()
        .timeout_global(Some(hop.time_left))
        .timeout_connect(Some(call.connect_timeout.min(hop.time_left)))
        .timeout_resolve(Some(call.connect_timeout.min(hop.time_left)))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .user_agent(concat!("escrow/", env!("CARGO_PKG_VERSION")))
        .proxy(proxy)
        .tls_config(tls)
        .build();
    let connector =
        DefaultConnector::default().chain(Witness { progress: Arc::clone(progress), proxy: at.clone() });
    Ok(Agent::with_parts(config, connector, JudgingResolver::new(call.reach, at)))
}

/// A proxy resolves names itself, so only what is known here can be judged.
fn judge_behind_proxy(call: &Call, uri: &Uri) -> Result<(), AddressError> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let known: Vec<IpAddr> = match host.parse() {
        Ok(address) => vec![address],
        Err(_) => {
            (host, 0).to_socket_addrs().map(|found| found.map(|at| at.ip()).collect()).unwrap_or_default()
        }
    };
    known.into_iter().try_for_each(|address| call.reach.judge(address))
}

fn send(agent: &Agent, hop: &Hop) -> Result<Response<ureq::Body>, ureq::Error> {
    let uri = hop.uri.clone();
    let bytes = hop.body.as_ref().map(|body| body.bytes.as_slice());
    macro_rules! with_headers {
        ($request:expr) => {
            hop.headers.iter().fold($request, |request, header| request.header(&header.name, &header.value))
        };
    }
    match hop.method {
        Method::Get => with_headers!(agent.get(uri)).call(),
        Method::Head => with_headers!(agent.head(uri)).call(),
        Method::Options => with_headers!(agent.options(uri)).call(),
        Method::Delete => match bytes {
            Some(bytes) => with_headers!(agent.delete(uri)).force_send_body().send(bytes),
            None => with_headers!(agent.delete(uri)).call(),
        },
        Method::Post => with_headers!(agent.post(uri)).send(bytes.unwrap_or_default()),
        Method::Put => with_headers!(agent.put(uri)).send(bytes.unwrap_or_default()),
        Method::Patch => with_headers!(agent.patch(uri)).send(bytes.unwrap_or_default()),
    }
}

fn headers(response: &Response<ureq::Body>) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, value) in response.headers() {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        match all.iter_mut().find(|(known, _)| known == name.as_str()) {
            Some((_, before)) => {
                before.push_str(", ");
                before.push_str(&value);
            }
            None => all.push((name.as_str().to_owned(), value)),
        }
    }
    all
}

/// The whole body, or nothing when it is too large.
fn read(mut response: Response<ureq::Body>, max_bytes: u64) -> Result<Option<Vec<u8>>, ureq::Error> {
    let mut body = Vec::new();
    let limit = max_bytes.saturating_add(1);
    response.body_mut().as_reader().take(limit).read_to_end(&mut body).map_err(ureq::Error::from)?;
    Ok((body.len() as u64 <= max_bytes).then_some(body))
}

fn failed(call: &Call, hop: &Hop, progress: &Progress, error: &ureq::Error) -> CallError {
    let was_sent = progress.was_sent();
    let (problem, message) = match error {
        ureq::Error::Other(cause) => match cause.downcast_ref::<AddressError>() {
            Some(address) => (Problem::Address, address.to_string()),
            None => (Problem::Transport, cause.to_string()),
        },
        ureq::Error::Timeout(_) if !was_sent => (
            Problem::Timeout,
            format!("no connection within {} ms", call.connect_timeout.min(call.timeout).as_millis()),
        ),
        ureq::Error::Timeout(_) => {
            (Problem::Timeout, format!("no answer within {} ms", call.timeout.as_millis()))
        }
        ureq::Error::HostNotFound => (Problem::Connect, format!("no host is called `{}`", host(hop))),
        // The messages might repeat headers.
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => {
            (Problem::Request, "a header or the URL is not HTTP".into())
        }
        ureq::Error::Tls(why) => (Problem::Tls, (*why).to_owned()),
        ureq::Error::Rustls(why) => (Problem::Tls, why.to_string()),
        ureq::Error::ConnectProxyFailed(why) => (Problem::Connect, format!("the proxy refused: {why}")),
        ureq::Error::ConnectionFailed => (Problem::Connect, format!("`{}` cannot be reached", host(hop))),
        ureq::Error::Io(cause) if was_sent => {
            (Problem::Transport, format!("the connection was lost: {cause}"))
        }
        ureq::Error::Io(cause) => {
            (without_connection(cause), format!("`{}` cannot be reached: {cause}", host(hop)))
        }
        other => (Problem::Transport, other.to_string()),
    };
    CallError { problem, message, was_sent }
}

/// Before anything was sent, TLS reports what it refuses as invalid data.
fn without_connection(cause: &io::Error) -> Problem {
    match cause.kind() {
        io::ErrorKind::InvalidData => Problem::Tls,
        _ => Problem::Connect,
    }
}

fn host(hop: &Hop) -> &str {
    hop.uri.host().unwrap_or_default()
}
