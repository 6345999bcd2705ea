//! Committed entries as they happen. One reader of the store serves every viewer.
//!
//! ```text
//!   store ──version changed──▶ reader ──broadcast──▶ viewer: skips what it has, sends the rest
//!      └──────── catching up: from the position that the viewer names, or where it fell behind ──▲
//! ```
//!
//! **Invariant:** a viewer sees every entry behind its position, once and in order. One that reads slowly falls out of
//! the broadcast and reads the store instead, so it holds no memory.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use escrow_app::Error;
use escrow_app::runs::{FeedEntry, Watch};
use escrow_model::RunId;
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::answer::ApiError;
use crate::studio::Studio;
use crate::view::View;

/// Between two looks at the store.
const INTERVAL: Duration = Duration::from_millis(100);

/// Entries that a viewer may be behind before it reads the store.
const BEHIND_MAX: usize = 1_024;

/// Entries that are read at once.
const BATCH: usize = 256;

pub(crate) struct Feed {
    sender: broadcast::Sender<Arc<FeedEntry>>,
}

impl Feed {
    pub(crate) fn new() -> Feed {
        Feed { sender: broadcast::channel(BEHIND_MAX).0 }
    }

    /// Reads the store until the app stops.
    pub(crate) fn start(&self, studio: &Arc<Studio>) {
        let (studio, sender) = (Arc::clone(studio), self.sender.clone());
        tokio::spawn(async move {
            let (mut watch, mut after) = (Watch::new(), 0);
            loop {
                // A store that cannot be read now may be readable later.
                if let Ok(reached) = read_on(&studio, &sender, &mut watch, after).await {
                    after = reached;
                }
                tokio::select! {
                    () = studio.app.stopped() => return,
                    () = tokio::time::sleep(INTERVAL) => {}
                }
            }
        });
    }
}

/// Sends what was committed since, and answers with the position that was reached.
async fn read_on(
    studio: &Studio,
    sender: &broadcast::Sender<Arc<FeedEntry>>,
    watch: &mut Watch,
    mut after: u64,
) -> Result<u64, Error> {
    let queries = studio.app.queries()?;
    if !watch.changed(queries.version().await?) {
        return Ok(after);
    }
    if sender.receiver_count() == 0 {
        let end = queries.feed_end().await?;
        // A viewer that has come meanwhile may have caught up before this end was read.
        return Ok(if sender.receiver_count() == 0 { end } else { after });
    }
    loop {
        let batch = queries.feed(after, BATCH).await?;
        let Some(last) = batch.last() else { return Ok(after) };
        after = last.global_seq;
        for entry in batch {
            // Every viewer may have left.
            let _ = sender.send(Arc::new(entry));
        }
    }
}

/// `GET /api/feed`.
pub(crate) async fn events(
    view: View,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let queries = view.queries()?;
    let position = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let after = match position.or(view.number("after")?) {
        Some(after) => after,
        None => queries.feed_end().await?,
    };
    let run = match view.get("run") {
        Some(name) => Some(queries.run(name).await?.id),
        None => None,
    };
    let viewer = Viewer {
        receiver: view.studio.feed.sender.subscribe(),
        run,
        is_brief: view.has("brief"),
        after,
        is_behind: true,
        ready: VecDeque::new(),
        studio: view.studio,
    };
    let stream = unfold(viewer, |mut viewer| async move { Some((Ok(viewer.next().await?), viewer)) });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

struct Viewer {
    studio: Arc<Studio>,
    receiver: broadcast::Receiver<Arc<FeedEntry>>,
    run: Option<RunId>,
    is_brief: bool,
    /// The last entry that was sent or left out.
    after: u64,
    /// The store has entries that the broadcast no longer has.
    is_behind: bool,
    ready: VecDeque<Arc<FeedEntry>>,
}

impl Viewer {
    /// The next event; `None` when the server stops.
    async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(entry) = self.ready.pop_front() {
                if entry.global_seq <= self.after {
                    continue;
                }
                self.after = entry.global_seq;
                if self.run.as_ref().is_none_or(|run| *run == entry.run) {
                    return Some(event(&entry, self.is_brief));
                }
            }
            if self.is_behind {
                match self.catch_up().await {
                    Ok(0) => self.is_behind = false,
                    Ok(_) => {}
                    Err(_) => tokio::time::sleep(INTERVAL * 10).await,
                }
                continue;
            }
            tokio::select! {
                () = self.studio.app.stopped() => return None,
                received = self.receiver.recv() => match received {
                    Ok(entry) => self.ready.push_back(entry),
                    Err(RecvError::Lagged(_)) => self.is_behind = true,
                    Err(RecvError::Closed) => return None,
                }
            }
        }
    }

    async fn catch_up(&mut self) -> Result<usize, Error> {
        let batch = self.studio.app.queries()?.feed(self.after, BATCH).await?;
        let found = batch.len();
        self.ready.extend(batch.into_iter().map(Arc::new));
        Ok(found)
    }
}

/// What is read of an entry for a brief event. The name of an event is its only key.
#[derive(Deserialize)]
struct Head {
    at: u64,
    event: BTreeMap<String, IgnoredAny>,
}

fn event(entry: &FeedEntry, is_brief: bool) -> Event {
    let id = entry.global_seq.to_string();
    let (run, seq) = (&entry.run, entry.seq);
    let data = if is_brief {
        let head: Option<Head> = serde_json::from_slice(&entry.bytes).ok();
        let at = head.as_ref().map(|head| escrow_model::rfc3339(head.at));
        json!({ "run_id": run, "seq": seq, "at": at, "type": head.and_then(|head| head.event.into_keys().next()) }).to_string()
    } else {
        // The stored bytes are JSON, and are sent as they are.
        let stored = String::from_utf8_lossy(&entry.bytes);
        format!("{{\"run_id\":{},\"seq\":{seq},\"entry\":{stored}}}", json!(run))
    };
    Event::default().id(id).event("entry").data(data)
}
