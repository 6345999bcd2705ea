//! Polls GitHub for pull requests and issues, where no webhook can reach.
//!
//! **Invariant:** a cursor moves only after what lies before it is recorded, and each event has a key of its own, so a poll
//! that is interrupted or repeated neither loses nor doubles one. An answer that has not changed costs no rate (ETag).

use std::time::Duration;

use escrow_model::{Millis, TriggerEvent, parse_rfc3339};
use escrow_store::{CursorMove, Delivery, Recording};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::event::{Origin, offer};
use super::{PollContext, PollError, PollFuture, TriggerKind, github};
use crate::http_client::{self, Call, Header, Method, Proxies, Reach, Reply};

pub struct GithubPoll;

const PER_PAGE: usize = 100;
/// More changes than this between two polls are not looked at.
const PAGES_MAX: usize = 10;
const TIMEOUT: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const BYTES_MAX: u64 = 16 * 1024 * 1024;
const PUBLIC_API: &str = "https://api.github.com";

impl TriggerKind for GithubPoll {
    fn name(&self) -> &'static str {
        "github"
    }

    fn poll<'a>(&'a self, context: &'a PollContext<'a>) -> PollFuture<'a> {
        Box::pin(async move {
            let Some(polling) = &context.settings.github_poll else { return Ok(Vec::new()) };
            let mut recordings = Vec::new();
            for repo in &polling.repos {
                for list in [List::Pulls, List::Issues] {
                    recordings.extend(poll(repo, list, polling.every_ms, context).await?);
                }
            }
            Ok(recordings)
        })
    }

    fn is_outside(&self) -> bool {
        true
    }
}

#[derive(Clone, Copy)]
enum List {
    Pulls,
    Issues,
}

impl List {
    fn as_str(self) -> &'static str {
        match self {
            List::Pulls => "pulls",
            List::Issues => "issues",
        }
    }
}

/// How far a list was read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cursor {
    /// When it was last asked for.
    asked_at: Millis,
    etag: Option<String>,
    /// The newest change that was read, as GitHub writes it.
    since: Option<String>,
    /// The keys of the events of that very second that were read: GitHub tells seconds, and another one may still come.
    #[serde(default)]
    seen: Vec<String>,
}

/// How far a list was read, and the cursor that says so.
struct Reading {
    name: String,
    from: Option<String>,
    cursor: Cursor,
}

impl Reading {
    async fn of(repo: &str, list: List, context: &PollContext<'_>) -> Result<Reading, PollError> {
        let name = format!("github:{repo}:{}", list.as_str());
        let from = context.fires.cursor(&name).await?;
        let cursor = from.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Ok(Reading { name, from, cursor })
    }
}

/// For simulations: what a poll records that got these pull requests, newest first.
pub async fn pulls_told(
    repo: &str,
    items: &[Value],
    context: &PollContext<'_>,
) -> Result<Vec<Recording>, PollError> {
    let reading = Reading::of(repo, List::Pulls, context).await?;
    told(repo, List::Pulls, reading, (items, None), context).await
}

async fn poll(
    repo: &str,
    list: List,
    every_ms: u64,
    context: &PollContext<'_>,
) -> Result<Vec<Recording>, PollError> {
    let reading = Reading::of(repo, list, context).await?;
    let asked_at = reading.cursor.asked_at;
    if asked_at <= context.now_ms && context.now_ms - asked_at < every_ms {
        return Ok(Vec::new());
    }
    let (items, etag) = changed(repo, list, &reading.cursor, context).await?;
    told(repo, list, reading, (&items, etag), context).await
}

/// What the items tell that is new, each for itself, and then how far the list was read.
async fn told(
    repo: &str,
    list: List,
    Reading { name, from, cursor }: Reading,
    (items, etag): (&[Value], Option<String>),
    context: &PollContext<'_>,
) -> Result<Vec<Recording>, PollError> {
    let newest = items.iter().filter_map(|item| item["updated_at"].as_str()).max().map(str::to_owned);
    let since = newest.max(cursor.since.clone()).unwrap_or_default();
    let mut seen = if cursor.since.as_ref() == Some(&since) { cursor.seen.clone() } else { Vec::new() };
    let mut recordings = Vec::new();
    // Oldest first, as they happened.
    for item in items.iter().rev() {
        for happened in events(repo, list, item, cursor.since.as_deref().unwrap_or(&since), context.now_ms) {
            let key = happened.event.key.clone();
            if cursor.seen.contains(&key) {
                continue;
            }
            if happened.at == since {
                seen.push(key);
            }
            // The first poll only finds where to begin.
            if cursor.since.is_some() {
                recordings.extend(recording(happened, context).await?);
            }
        }
    }
    let to = Cursor { asked_at: context.now_ms, etag, since: Some(since), seen };
    recordings.push(Recording {
        cursors: vec![CursorMove { name, from, to: json!(to).to_string() }],
        ..Recording::default()
    });
    Ok(recordings)
}

/// The items that changed since the cursor, newest first, and the ETag of the list.
async fn changed(
    repo: &str,
    list: List,
    cursor: &Cursor,
    context: &PollContext<'_>,
) -> Result<(Vec<Value>, Option<String>), PollError> {
    let mut items: Vec<Value> = Vec::new();
    let mut etag = cursor.etag.clone();
    for page in 1..=PAGES_MAX {
        let path = format!(
            "/repos/{repo}/{}?state=all&sort=updated&direction=desc&per_page={PER_PAGE}&page={page}",
            list.as_str()
        );
        let reply = get(&path, cursor.etag.as_deref().filter(|_| page == 1), context).await?;
        if reply.status == 304 {
            return Ok((Vec::new(), etag));
        }
        if reply.status != 200 {
            return Err(PollError::Source(format!(
                "GitHub answered {} for {}",
                reply.status,
                path_of(&path)
            )));
        }
        if page == 1 {
            etag = reply.header("etag").map(str::to_owned);
        }
        let Ok(Value::Array(found)) = serde_json::from_slice::<Value>(&reply.body) else {
            return Err(PollError::Source(format!("the answer for {} is not a list", path_of(&path))));
        };
        let is_last = found.len() < PER_PAGE;
        let is_new = |item: &Value| {
            let updated = item["updated_at"].as_str().unwrap_or_default();
            cursor.since.as_deref().is_none_or(|since| updated >= since)
        };
        let count = found.len();
        items.extend(found.into_iter().filter(|item| is_new(item)));
        // The first poll needs the newest alone.
        if is_last || cursor.since.is_none() || items.len() < (page - 1) * PER_PAGE + count {
            break;
        }
    }
    Ok((items, etag))
}

fn path_of(path: &str) -> &str {
    path.split_once('?').map_or(path, |(path, _)| path)
}

async fn get(path: &str, etag: Option<&str>, context: &PollContext<'_>) -> Result<Reply, PollError> {
    // The operator's word: it may be private, as the server of a company is.
    let (base, reach) = match std::env::var("GITHUB_API_URL").ok().filter(|url| !url.is_empty()) {
        Some(url) => (url.trim_end_matches('/').to_owned(), Reach::Private),
        None => (PUBLIC_API.to_owned(), Reach::Public),
    };
    let header = |name: &str, value: String, has_secret| Header { name: name.to_owned(), value, has_secret };
    let mut headers = vec![
        header("accept", "application/vnd.github+json".into(), false),
        header("user-agent", "escrow".into(), false),
        header("x-github-api-version", "2022-11-28".into(), false),
    ];
    headers.extend(etag.map(|etag| header("if-none-match", etag.to_owned(), false)));
    if let Some(token) = std::env::var("GITHUB_TOKEN").ok().filter(|token| !token.is_empty()) {
        headers.push(header("authorization", format!("Bearer {token}"), true));
    }
    let call = Call {
        method: Method::Get,
        url: format!("{base}{path}"),
        headers,
        body: None,
        timeout: TIMEOUT,
        connect_timeout: CONNECT_TIMEOUT,
        max_bytes: BYTES_MAX,
        redirects_max: 2,
        reach,
        ca_file: None,
        proxies: Proxies::inherited(),
    };
    http_client::call(call, context.cancellation)
        .await
        .map_err(|error| PollError::Source(format!("GitHub cannot be asked: {error}")))
}

/// Something that happened to an item.
struct Happened {
    event: TriggerEvent,
    /// What a webhook would tell the same thing about.
    subject: Option<String>,
    /// When, as GitHub writes it.
    at: String,
}

/// What happened to an item in the second of `since` or later.
fn events(repo: &str, list: List, item: &Value, since: &str, now: Millis) -> Vec<Happened> {
    let after = |key: &str| item[key].as_str().filter(|at| *at >= since);
    let mut told: Vec<(&str, &str)> = Vec::new();
    match list {
        List::Pulls => {
            told.extend(after("created_at").map(|at| ("pr.opened", at)));
            match (after("merged_at"), after("closed_at")) {
                (Some(at), _) => told.push(("pr.merged", at)),
                (None, Some(at)) if item["merged_at"].is_null() => told.push(("pr.closed", at)),
                (None, Some(_) | None) => {}
            }
        }
        // The list of issues has the pull requests, too.
        List::Issues if item["pull_request"].is_object() => {}
        List::Issues => {
            told.extend(after("created_at").map(|at| ("issue.created", at)));
            told.extend(after("closed_at").map(|at| ("issue.closed", at)));
        }
    }
    told.into_iter().filter_map(|(name, at)| event(repo, list, item, name, at, now)).collect()
}

fn event(repo: &str, list: List, item: &Value, name: &str, at: &str, now: Millis) -> Option<Happened> {
    let number = item["number"].as_u64()?;
    parse_rfc3339(at)?;
    let mut fields = Map::new();
    fields.insert("action".into(), json!(name.split('.').nth(1)));
    fields.insert("repo".into(), json!(repo));
    fields.insert("sender".into(), item["user"]["login"].clone());
    fields.insert("repository".into(), json!({ "full_name": repo }));
    match list {
        List::Pulls => github::pull_fields(item, &mut fields)?,
        List::Issues => github::issue_fields(item, &mut fields)?,
    }
    let subject = match name {
        "pr.opened" | "pr.merged" | "issue.created" => github::subject_of(repo, number, name),
        _ => None,
    };
    let key = format!("github:{repo}#{number}:{name}:{at}");
    let event = TriggerEvent { name: name.to_owned(), fields, key, at: now };
    Some(Happened { event, subject, at: at.to_owned() })
}

/// Each event is recorded by itself: one that a webhook told already must not keep the others back.
async fn recording(
    Happened { event, subject, .. }: Happened,
    context: &PollContext<'_>,
) -> Result<Option<Recording>, PollError> {
    let listeners = context.fires.listeners(&event.name).await?;
    let occurrences = offer(&event, &Origin::default(), &listeners);
    if occurrences.is_empty() {
        return Ok(None);
    }
    let delivery = Delivery {
        hook: "github-poll".into(),
        id: event.key.clone(),
        digest: event.key.clone(),
        subject,
        at: event.at,
    };
    Ok(Some(Recording { deliveries: vec![delivery], occurrences, ..Recording::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: List, item: &Value) -> Vec<String> {
        events("o/r", list, item, "2026-01-02T00:00:00Z", 7)
            .into_iter()
            .map(|happened| happened.event.name)
            .collect()
    }

    #[test]
    fn an_item_tells_what_happened_to_it_since_the_last_poll() {
        let pull = |created: &str, closed: Option<&str>, merged: Option<&str>| {
            json!({"number": 1, "created_at": created, "closed_at": closed, "merged_at": merged,
                   "base": {"ref": "main", "repo": {"full_name": "o/r"}}, "head": {"repo": {"full_name": "o/r"}}})
        };
        let (before, after) = ("2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z");
        assert_eq!(names(List::Pulls, &pull(after, None, None)), ["pr.opened"]);
        assert!(names(List::Pulls, &pull(before, None, None)).is_empty());
        assert_eq!(names(List::Pulls, &pull(before, Some(after), Some(after))), ["pr.merged"]);
        assert_eq!(names(List::Pulls, &pull(before, Some(after), None)), ["pr.closed"]);
        assert_eq!(names(List::Pulls, &pull(after, Some(after), Some(after))), ["pr.opened", "pr.merged"]);
        let issue = json!({"number": 2, "created_at": after});
        assert_eq!(names(List::Issues, &issue), ["issue.created"]);
        let not_an_issue = json!({"number": 2, "created_at": after, "pull_request": {}});
        assert!(names(List::Issues, &not_an_issue).is_empty());
    }

    #[test]
    fn a_poll_and_a_webhook_name_the_same_thing_alike() {
        let item = json!({"number": 2, "created_at": "2026-01-03T00:00:00Z"});
        let subject = events("o/r", List::Issues, &item, "", 7).remove(0).subject;
        let body = json!({"action": "opened", "issue": {"number": 2}, "repository": {"full_name": "o/r"}});
        let told = github::read("issues", body.as_object().unwrap()).unwrap();
        assert_eq!(told.subject, subject);
    }
}
