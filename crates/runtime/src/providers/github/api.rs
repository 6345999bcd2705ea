//! Speaks to GitHub's REST API: the token, pages, and limits of the rate.
//!
//! A read that is limited waits and is repeated, as long as the time of the request lasts. A write that is limited did not happen:
//! its fault says when to try again, and the run waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use escrow_model::{FaultCode, ProviderFault, Request};
use serde_json::Value;

use super::unusable;
use crate::entropy::now_ms;
use crate::http_client::{self, Body, Call, Header, Method, Proxies, Reach, Reply, pause_ms};
use crate::providers::Attempt;
use crate::providers::http::{
    Changes, Granted, MAX_BYTES, connect_timeout, decoded, fault_of_status, fault_without_answer,
};

/// GitHub lists 100 items per page at most.
const PER_PAGE: usize = 100;
/// GitHub lists no more files of a pull request than fit here.
const PAGES_MAX: usize = 30;
/// How often a read that is limited is repeated.
const READS_MAX: u32 = 3;
const PUBLIC_API: &str = "https://api.github.com";
/// The names by which a token is recognised when several secrets are granted.
const TOKENS: [&str; 2] = ["GITHUB_TOKEN", "GH_TOKEN"];

pub(super) struct Api<'a> {
    base: String,
    reach: Reach,
    token: Option<&'a str>,
    until: Instant,
    /// A request that changes something was answered with success.
    has_changed: AtomicBool,
    pub(super) attempt: &'a Attempt,
}

/// What an answer must have, so that it tells what was made.
#[derive(Clone, Copy)]
pub(super) enum Tells {
    Member(&'static str),
    List,
}

impl Tells {
    fn is_in(self, answer: &Value) -> bool {
        match self {
            Tells::Member(name) => answer.get(name).is_some_and(|value| !value.is_null()),
            Tells::List => answer.is_array(),
        }
    }
}

/// How GitHub took what was sent.
pub(super) enum Offered {
    Made(Value),
    /// Its content was refused (422), so nothing has happened.
    Unprocessable(ProviderFault),
}

/// A list that was read page by page.
pub(super) struct Listed {
    pub(super) items: Vec<Value>,
    /// There are more than were read.
    pub(super) is_cut: bool,
}

impl<'a> Api<'a> {
    pub(super) fn of(request: &Request, attempt: &'a Attempt) -> Result<Api<'a>, ProviderFault> {
        let granted = Granted::of(attempt)?;
        let names: Vec<&str> = granted.names().collect();
        let named = TOKENS.iter().find_map(|name| granted.value(name));
        let token = match (named, names.as_slice()) {
            (Some(token), _) => Some(token),
            (None, [only]) => granted.value(only),
            (None, []) => None,
            (None, _) => return Err(unusable("grant one secret, or name the token `GITHUB_TOKEN`")),
        };
        // The operator's word: it may be private, as the server of a company is.
        let (base, reach) = match attempt.environment.setting("GITHUB_API_URL") {
            Some(url) => (url.trim_end_matches('/').to_owned(), Reach::Private),
            None => (PUBLIC_API.to_owned(), Reach::Public),
        };
        Ok(Api {
            base,
            reach,
            token,
            until: Instant::now() + Duration::from_millis(request.timeout_ms),
            has_changed: AtomicBool::new(false),
            attempt,
        })
    }

    /// A fault, whatever it is, does not undo what was changed before it.
    pub(super) fn in_view_of_changes(&self, fault: ProviderFault) -> ProviderFault {
        if self.has_changed.load(Ordering::Relaxed) { fault.with_unknown_effect() } else { fault }
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, ProviderFault> {
        let reply = self.read(path, "application/vnd.github+json").await?;
        json(&reply)
    }

    pub(super) async fn get_text(&self, path: &str, accept: &str) -> Result<String, ProviderFault> {
        let reply = self.read(path, accept).await?;
        Ok(String::from_utf8_lossy(&reply.body).into_owned())
    }

    /// All pages of a list; `member` names it where the answer is an object around it.
    pub(super) async fn list(&self, path: &str, member: Option<&str>) -> Result<Listed, ProviderFault> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let mut items = Vec::new();
        for page in 1..=PAGES_MAX {
            let mut listed = self.get(&format!("{path}{joint}per_page={PER_PAGE}&page={page}")).await?;
            let listed = match member {
                Some(member) => listed[member].take(),
                None => listed,
            };
            let Value::Array(found) = listed else { return Err(not_as_expected(path)) };
            let is_last = found.len() < PER_PAGE;
            items.extend(found);
            if is_last {
                return Ok(Listed { items, is_cut: false });
            }
        }
        Ok(Listed { items, is_cut: true })
    }

    /// Changes something.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        tells: Tells,
    ) -> Result<Value, ProviderFault> {
        match self.offer(method, path, body, tells).await? {
            Offered::Made(answer) => Ok(answer),
            Offered::Unprocessable(fault) => Err(fault),
        }
    }

    /// The same, for a request whose content may be refused.
    pub(super) async fn offer(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        tells: Tells,
    ) -> Result<Offered, ProviderFault> {
        let reply = self.request_change(method, path, body).await?;
        match reply.status {
            200..300 => {}
            422 => return Ok(Offered::Unprocessable(fault(Changes::Possible, &reply))),
            _ => return Err(fault(Changes::Possible, &reply)),
        }
        let answer = json(&reply)?;
        if tells.is_in(&answer) {
            return Ok(Offered::Made(answer));
        }
        let message = format!("GitHub's answer to `{path}` does not tell what was made");
        Err(ProviderFault::logical(FaultCode::own("transport"), message))
    }

    /// The same, for what may be gone already.
    pub(super) async fn remove(&self, path: &str) -> Result<(), ProviderFault> {
        let reply = self.request_change(Method::Delete, path, &Value::Null).await?;
        match reply.status {
            200..300 | 404 => Ok(()),
            _ => Err(fault(Changes::Possible, &reply)),
        }
    }

    async fn request_change(&self, method: Method, path: &str, body: &Value) -> Result<Reply, ProviderFault> {
        if self.token.is_none() {
            return Err(unusable("this operation needs a token: grant it with `secrets: GITHUB_TOKEN`"));
        }
        let call = self.call(method, path, "application/vnd.github+json", Some(body));
        let answer = http_client::call(call, &self.attempt.cancellation).await;
        let reply = answer.map_err(|error| fault_without_answer(Changes::Possible, &error))?;
        if (200..300).contains(&reply.status) {
            self.has_changed.store(true, Ordering::Relaxed);
        }
        Ok(reply)
    }

    async fn read(&self, path: &str, accept: &str) -> Result<Reply, ProviderFault> {
        let mut reads = 1;
        loop {
            let call = self.call(Method::Get, path, accept, None);
            let answer = http_client::call(call, &self.attempt.cancellation).await;
            let reply = answer.map_err(|error| fault_without_answer(Changes::Impossible, &error))?;
            if (200..300).contains(&reply.status) {
                return Ok(reply);
            }
            let fault = fault(Changes::Impossible, &reply);
            let pause = fault.retry_after_ms.map(Duration::from_millis).filter(|_| is_limited(&reply));
            match pause {
                Some(pause) if reads < READS_MAX && Instant::now() + pause < self.until => {
                    reads += 1;
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = self.attempt.cancellation.cancelled() => return Err(fault),
                    }
                }
                Some(_) | None => return Err(fault),
            }
        }
    }

    fn call(&self, method: Method, path: &str, accept: &str, body: Option<&Value>) -> Call {
        let header = |name: &str, value: &str, has_secret| Header {
            name: name.into(),
            value: value.into(),
            has_secret,
        };
        let mut headers =
            vec![header("Accept", accept, false), header("X-GitHub-Api-Version", "2022-11-28", false)];
        headers.extend(self.token.map(|token| header("Authorization", &format!("Bearer {token}"), true)));
        let body = body.filter(|body| !body.is_null());
        headers.extend(body.map(|_| header("Content-Type", "application/json", false)));
        let timeout = self.until.saturating_duration_since(Instant::now());
        Call {
            method,
            url: format!("{}{path}", self.base),
            headers,
            body: body.map(|body| Body { bytes: Arc::new(body.to_string().into_bytes()), has_secret: false }),
            timeout,
            connect_timeout: connect_timeout(timeout),
            max_bytes: MAX_BYTES,
            // A repository that was renamed redirects reads. A write is not sent to another place.
            redirects_max: if method.is_mutating() { 0 } else { 3 },
            reach: self.reach,
            ca_file: None,
            proxies: Proxies::of(&self.attempt.environment),
        }
    }
}

fn json(reply: &Reply) -> Result<Value, ProviderFault> {
    match decoded(reply) {
        (Value::String(_), _) => {
            Err(ProviderFault::logical(FaultCode::own("transport"), "GitHub's answer is not JSON"))
        }
        (value, _) => Ok(value),
    }
}

fn not_as_expected(path: &str) -> ProviderFault {
    ProviderFault::logical(FaultCode::own("transport"), format!("GitHub's answer to `{path}` is not a list"))
}

/// 429, or 403 with an exhausted limit, a pause that is asked for, or words that say so: secondary limits need not have
/// headers.
fn is_limited(reply: &Reply) -> bool {
    let is_exhausted = || reply.header("x-ratelimit-remaining") == Some("0");
    let is_said = || {
        let said = decoded(reply).0["message"].as_str().unwrap_or_default().to_ascii_lowercase();
        said.contains("rate limit") || said.contains("abuse detection")
    };
    reply.status == 429
        || reply.status == 403 && (is_exhausted() || reply.header("retry-after").is_some() || is_said())
}

fn fault(changes: Changes, reply: &Reply) -> ProviderFault {
    let said = said(&decoded(reply).0);
    if is_limited(reply) {
        let message = format!("GitHub limits the rate (status {}){said}", reply.status);
        return ProviderFault::transient(FaultCode::own("rate_limited"), message)
            .with_retry_after(pause_of(reply));
    }
    let mut fault = fault_of_status(changes, reply);
    fault.message.push_str(&said);
    fault
}

/// GitHub's message, with the first of its errors.
fn said(body: &Value) -> String {
    let error = &body["errors"][0];
    let message = body["message"].as_str();
    let detail = error.as_str().or(error["message"].as_str());
    message.into_iter().chain(detail).map(|text| format!(": {text}")).collect()
}

/// `Retry-After`, or the time at which the limit is reset; a minute where GitHub says neither.
fn pause_of(reply: &Reply) -> Option<u64> {
    let asked = reply.header("retry-after").and_then(|header| pause_ms(header, now_ms()));
    let reset = reply.header("x-ratelimit-reset").and_then(|at| at.trim().parse::<u64>().ok());
    let until_reset = reset.map(|at| at.saturating_mul(1000).saturating_sub(now_ms()));
    asked.or(until_reset).or(Some(60_000))
}
