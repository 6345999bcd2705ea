//! The HTTP client of the providers that speak to others: `http` and `github`.
//!
//! ```text
//!   Call ──▶ exchange ──▶ resolve ──▶ is the address allowed? ──▶ connect ──▶ TLS ──▶ send ──▶ Reply
//!                ▲                                                                       │
//!                └────────────────────────── redirects ◀─────────────────────────────────┘
//! ```
//!
//! **Invariant:** the addresses that were judged are those that are connected to; no name is resolved a second time. An error
//! says whether anything of the request was sent: what was not sent cannot have had an effect.

mod addresses;
mod exchange;
mod proxies;
mod redirects;
mod retry_after;
mod roots;
mod witness;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::oneshot;

use crate::cancellation::Cancellation;
use witness::Progress;

pub(crate) use addresses::Reach;
pub(crate) use proxies::{PROXY_VARIABLES, Proxies};
pub(crate) use retry_after::pause_ms;

/// A request, ready to be sent: secrets are in their places.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<Header>,
    pub(crate) body: Option<Body>,
    /// For everything, redirects included.
    pub(crate) timeout: Duration,
    /// For each connection: resolution, TCP and TLS.
    pub(crate) connect_timeout: Duration,
    pub(crate) max_bytes: u64,
    pub(crate) redirects_max: u32,
    pub(crate) reach: Reach,
    /// Trusted beside the roots of the system.
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) proxies: Proxies,
}

#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
    /// It stays with its origin.
    pub(crate) has_secret: bool,
}

#[derive(Clone)]
pub(crate) struct Body {
    pub(crate) bytes: Arc<Vec<u8>>,
    /// It stays with its origin.
    pub(crate) has_secret: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Options,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub(crate) const WORDS: &[&str] = &["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
    /// The words of the methods that only read.
    pub(crate) const READING: &[&str] = &["GET", "HEAD", "OPTIONS"];

    pub(crate) fn parse(word: &str) -> Option<Method> {
        Some(match word {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "OPTIONS" => Method::Options,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            _ => return None,
        })
    }

    /// Whether it may change something on the other side.
    pub(crate) fn is_mutating(self) -> bool {
        match self {
            Method::Get | Method::Head | Method::Options => false,
            Method::Post | Method::Put | Method::Patch | Method::Delete => true,
        }
    }
}

/// A full answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Names in lower case. A name that came several times has its values joined by commas.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// How many redirects led to it.
    pub(crate) redirects: u32,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Why there is no full answer.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct CallError {
    pub(crate) problem: Problem,
    pub(crate) message: String,
    /// Something of a request that may change the other side was sent.
    pub(crate) was_sent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The URL, a header or a file cannot be used.
    Request,
    /// The address is not one that may be reached.
    Address,
    /// The name is unknown, or no connection was made.
    Connect,
    Tls,
    Timeout,
    /// The connection was lost, or the answer is not HTTP.
    Transport,
    TooLarge,
    Redirect,
    Cancelled,
}

/// Sends a request on a thread of its own, and follows redirects as far as the call allows.
pub(crate) async fn call(call: Call, cancellation: &Cancellation) -> Result<Reply, CallError> {
    let progress = Arc::new(Progress::default());
    let (tell, told) = oneshot::channel();
    let timeout = call.timeout;
    let shared = Arc::clone(&progress);
    std::thread::spawn(move || drop(tell.send(redirects::follow(&call, &shared))));
    tokio::select! {
        answer = told => answer.unwrap_or_else(|_| {
            Err(progress.error(Problem::Transport, "the request was given up"))
        }),
        () = cancellation.cancelled() => {
            progress.abandon();
            Err(progress.error(Problem::Cancelled, "interrupted by the end of the run"))
        }
        // The thread keeps the time itself; this is for a system call that does not.
        () = tokio::time::sleep(timeout + GRACE) => {
            progress.abandon();
            Err(progress.error(Problem::Timeout, format!("no answer within {} ms", timeout.as_millis())))
        }
    }
}

const GRACE: Duration = Duration::from_secs(1);
