//! From a rendered request to what is sent: secrets are put in their places here, after the intent was journaled.

use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use escrow_model::secret_reference::{Expanded, expand};
use escrow_model::{FILE_DIGEST, FaultCode, ProviderFault, Request, hex, is_of_transport};
use escrow_template::percent_encoded;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::http_client::{Body, Call, Header, Method, Proxies, Reach};
use crate::project;
use crate::providers::Attempt;

/// Larger answers are a fault, unless `max_bytes` allows them.
pub(crate) const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// A larger file is not sent.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// What `follow_redirects: true` allows.
const REDIRECTS: u32 = 5;
const IDEMPOTENCY_HEADER: &str = "Idempotency-Key";

/// The secrets of a check, as text.
pub(crate) struct Granted<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Granted<'a> {
    pub(crate) fn of(attempt: &'a Attempt) -> Result<Granted<'a>, ProviderFault> {
        let text = |(name, value): &'a (String, std::ffi::OsString)| match value.to_str() {
            Some(value) => Ok((name.as_str(), value)),
            None => Err(unusable(format!("the secret `{name}` is not text"))),
        };
        attempt.secrets.iter().map(text).collect::<Result<_, _>>().map(Granted)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().map(|(name, _)| *name)
    }

    pub(crate) fn expand(&self, text: &str) -> Expanded {
        expand(text, |name| self.value(name))
    }

    /// The same for every string of a value; tells whether there was a secret in one.
    fn expand_value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => {
                let Expanded { text: expanded, has_secret } = self.expand(text);
                *text = expanded;
                has_secret
            }
            Value::Array(items) => {
                items.iter_mut().fold(false, |found, item| self.expand_value(item) | found)
            }
            Value::Object(members) => {
                members.values_mut().fold(false, |found, member| self.expand_value(member) | found)
            }
        }
    }
}

pub(super) fn call(request: &Request, attempt: &Attempt) -> Result<Call, ProviderFault> {
    let granted = Granted::of(attempt)?;
    let field = |name: &str| request.fields.get(name);
    let text = |name: &str| field(name).and_then(Value::as_str);
    let method = text("method").and_then(Method::parse).unwrap_or(Method::Get);
    let mut headers = headers(field("headers"), &granted)?;
    let body = body(request, attempt, &granted)?;
    if let Some((_, content_type)) = &body
        && !has(&headers, "content-type")
    {
        headers.push(plain("Content-Type", content_type));
    }
    let idempotency_header = text("idempotency_header").unwrap_or(IDEMPOTENCY_HEADER);
    if method.is_mutating() && !idempotency_header.is_empty() && !has(&headers, idempotency_header) {
        headers.push(plain(idempotency_header, &request.idempotency_key));
    }
    let timeout = Duration::from_millis(request.timeout_ms);
    Ok(Call {
        method,
        url: url(request, &granted)?,
        headers,
        body: body.map(|(body, _)| body),
        timeout,
        connect_timeout: field("connect_timeout")
            .and_then(Value::as_u64)
            .map_or(connect_timeout(timeout), Duration::from_millis),
        max_bytes: field("max_bytes").and_then(Value::as_u64).unwrap_or(MAX_BYTES),
        redirects_max: match field("follow_redirects") {
            Some(Value::Bool(true)) => REDIRECTS,
            Some(Value::Number(count)) => count.as_u64().and_then(|count| count.try_into().ok()).unwrap_or(0),
            Some(_) | None => 0,
        },
        reach: match field("allow_private") {
            Some(Value::Bool(true)) => Reach::Private,
            Some(_) | None => Reach::Public,
        },
        ca_file: text("ca_file").map(|path| attempt.directory.join(path)),
        proxies: Proxies::of(&attempt.environment),
    })
}

pub(crate) fn connect_timeout(whole: Duration) -> Duration {
    whole.min(CONNECT_TIMEOUT)
}

fn plain(name: &str, value: &str) -> Header {
    Header { name: name.to_owned(), value: value.to_owned(), has_secret: false }
}

fn has(headers: &[Header], name: &str) -> bool {
    headers.iter().any(|header| header.name.eq_ignore_ascii_case(name))
}

fn url(request: &Request, granted: &Granted<'_>) -> Result<String, ProviderFault> {
    let mut url = granted.expand(request.fields.get("url").and_then(Value::as_str).unwrap_or_default()).text;
    let query = pairs("query", request.fields.get("query"), granted)?.0;
    if query.is_empty() {
        return Ok(url);
    }
    let fragment = url.find('#').map(|at| url.split_off(at)).unwrap_or_default();
    let joint = match url.find('?') {
        None => "?",
        Some(_) if url.ends_with(['?', '&']) => "",
        Some(_) => "&",
    };
    Ok(format!("{url}{joint}{query}{fragment}"))
}

fn headers(field: Option<&Value>, granted: &Granted<'_>) -> Result<Vec<Header>, ProviderFault> {
    let mut headers = Vec::new();
    for (name, value) in members("headers", field)? {
        if is_of_transport(name) {
            return Err(unusable(format!("the header `{name}` follows from the request and cannot be set")));
        }
        for value in values("headers", name, value)? {
            let Expanded { text, has_secret } = granted.expand(&value);
            headers.push(Header { name: name.clone(), value: text, has_secret });
        }
    }
    Ok(headers)
}

/// The body, and the type of its content.
fn body(
    request: &Request,
    attempt: &Attempt,
    granted: &Granted<'_>,
) -> Result<Option<(Body, String)>, ProviderFault> {
    let field = |name: &str| request.fields.get(name);
    let (bytes, has_secret, content_type) = if let Some(json) = field("json") {
        let mut json = json.clone();
        let has_secret = granted.expand_value(&mut json);
        (json.to_string().into_bytes(), has_secret, "application/json")
    } else if let Some(form) = field("form") {
        let (pairs, has_secret) = pairs("form", Some(form), granted)?;
        (pairs.into_bytes(), has_secret, "application/x-www-form-urlencoded")
    } else if let Some(path) = field("file").and_then(Value::as_str) {
        let bytes = match field(FILE_DIGEST).and_then(Value::as_str) {
            Some(digest) => verified_file(attempt, path, digest)?,
            None => file(attempt, &[&attempt.directory, &attempt.artifacts], path)?,
        };
        (bytes, false, "application/octet-stream")
    } else if let Some(body) = field("body") {
        let mut body = body.clone();
        let has_secret = granted.expand_value(&mut body);
        let text = match body {
            Value::String(text) => text,
            other => other.to_string(),
        };
        (text.into_bytes(), has_secret, "text/plain; charset=utf-8")
    } else {
        return Ok(None);
    };
    Ok(Some((Body { bytes: Arc::new(bytes), has_secret }, content_type.to_owned())))
}

/// An artifact of the run, if it still has the content that a check has verified.
fn verified_file(attempt: &Attempt, path: &str, digest: &str) -> Result<Vec<u8>, ProviderFault> {
    let named = Path::new(path);
    let named = named.strip_prefix(&attempt.artifacts).unwrap_or(named);
    let bytes = file(attempt, &[&attempt.artifacts], &named.to_string_lossy())?;
    if hex(&Sha256::digest(&bytes)) != digest {
        return Err(unusable(format!("`file` `{path}` has changed since it was verified")));
    }
    Ok(bytes)
}

/// A file beneath the first of these folders that has it. A value in the path must not lead elsewhere.
fn file(attempt: &Attempt, folders: &[&PathBuf], path: &str) -> Result<Vec<u8>, ProviderFault> {
    let unreadable = |why: String| unusable(format!("`file` `{path}` cannot be sent: {why}"));
    let found = folders
        .iter()
        .find_map(|folder| beneath(folder, path))
        .ok_or_else(|| unreadable("it is not in the directory of the run, nor in its artifacts".into()))?;
    let state = "it belongs to the state of Escrow, which holds other runs and their secrets";
    if is_of_state(attempt, &found) {
        return Err(unreadable(state.into()));
    }
    let file = fs::File::open(&found).map_err(|error| unreadable(error.to_string()))?;
    // A process that can write there may have replaced the file by a link since.
    if where_is(&file).is_some_and(|opened| opened != found) {
        return Err(unreadable("it was replaced at the same moment".into()));
    }
    let length = file.metadata().map_err(|error| unreadable(error.to_string()))?.len();
    if length > FILE_BYTES_MAX {
        return Err(unreadable("it is larger than 256 MiB".into()));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    Ok(bytes)
}

/// The path of an open file, where the system tells it.
fn where_is(file: &fs::File) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Whether a file lies in a state directory. The artifacts of the run may, and are no state.
fn is_of_state(attempt: &Attempt, file: &Path) -> bool {
    if attempt.artifacts.canonicalize().is_ok_and(|artifacts| file.starts_with(artifacts)) {
        return false;
    }
    file.components().any(|part| part.as_os_str() == project::NAME)
        || attempt.state.canonicalize().is_ok_and(|state| file.starts_with(state))
}

fn beneath(folder: &Path, path: &str) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let found = folder.join(path).canonicalize().ok()?;
    (found.starts_with(&folder) && found.is_file()).then_some(found)
}

/// `a=1&b=2`, and whether there is a secret in it.
fn pairs(name: &str, field: Option<&Value>, granted: &Granted<'_>) -> Result<(String, bool), ProviderFault> {
    let mut all = Vec::new();
    let mut found = false;
    for (key, value) in members(name, field)? {
        for value in values(name, key, value)? {
            let Expanded { text, has_secret } = granted.expand(&value);
            found |= has_secret;
            all.push(format!("{}={}", percent_encoded(key), percent_encoded(&text)));
        }
    }
    Ok((all.join("&"), found))
}

fn members<'v>(name: &str, field: Option<&'v Value>) -> Result<&'v Map<String, Value>, ProviderFault> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    match field {
        None | Some(Value::Null) => Ok(&NONE),
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(unusable(format!("`{name}` is not a map"))),
    }
}

/// One text, or several under the same name. Null is left out.
fn values(field: &str, name: &str, value: &Value) -> Result<Vec<String>, ProviderFault> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Bool(_) | Value::Number(_) => Ok(vec![value.to_string()]),
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Array(items) => {
            let nested: Result<Vec<_>, _> = items.iter().map(|item| values(field, name, item)).collect();
            Ok(nested?.into_iter().flatten().collect())
        }
        Value::Object(_) => Err(unusable(format!("`{field}.{name}` is a map, not a text"))),
    }
}

fn unusable(message: String) -> ProviderFault {
    ProviderFault::logical(FaultCode::own("unsendable"), message)
}
