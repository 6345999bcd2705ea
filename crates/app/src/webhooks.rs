//! Receives signed webhooks: verifies, records the fires, answers. Runs begin later, by the scheduling loop.
//!
//! **Invariant:** an accepted delivery is on the disk before it is answered, and one that is sent again fires nothing.

use escrow_model::Millis;
use escrow_runtime::triggers::webhook::{self, Incoming, Refusal};
use escrow_runtime::triggers::{Origin, offer};
use escrow_runtime::{config, now_ms};
use escrow_store::{Delivery, Recorded, Recording};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::Error;
use crate::schedule;

/// The answer to a sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Of HTTP.
    pub status: u16,
    pub body: Value,
}

/// Bodies longer than this need not be read to their end.
pub const BODY_BYTES_MAX: usize = webhook::BODY_BYTES_MAX;

/// Whether the project has webhooks. Without one, no socket is opened for them.
pub fn has_any(app: &App) -> Result<bool, Error> {
    Ok(!schedule::settings(app)?.webhooks.is_empty())
}

/// Why deliveries of a webhook would be answered with 503 now: its secret cannot be read.
pub fn unusable(app: &App) -> Result<Vec<String>, Error> {
    let settings = schedule::settings(app)?;
    let problem = |(name, place): (&String, &config::WebhookSecret)| {
        place.read().err().map(|why| format!("webhook `{name}` receives nothing: {why}"))
    };
    Ok(settings.webhooks.iter().filter_map(problem).collect())
}

/// Receives a request to `/hooks/NAME`. Headers have their names in any case.
pub async fn receive(
    app: &App,
    name: &str,
    headers: &[(String, String)],
    body: &[u8],
    now: Millis,
) -> Answer {
    match accept(app, name, headers, body, now).await {
        Ok(answer) => answer,
        // The sender tries again later.
        Err(_) => answer(503, "unavailable", "the delivery could not be recorded; send it again"),
    }
}

/// [`receive`] by the clock of this machine.
pub async fn receive_now(app: &App, name: &str, headers: &[(String, String)], body: &[u8]) -> Answer {
    receive(app, name, headers, body, now_ms()).await
}

async fn accept(
    app: &App,
    name: &str,
    headers: &[(String, String)],
    body: &[u8],
    now: Millis,
) -> Result<Answer, Error> {
    let settings = schedule::settings(app)?;
    let Some(place) = settings.webhooks.get(name) else {
        return Ok(answer(404, "unknown_hook", "there is no webhook of this name"));
    };
    let secret = read_secret(place)?;
    let told = match webhook::receive(Incoming { hook: name, headers, body, now_ms: now }, &secret) {
        Ok(told) => told,
        Err(refusal) => return Ok(refused(refusal)),
    };
    let Some(event) = told.event else {
        return Ok(Answer { status: 200, body: json!({ "status": "ignored", "fires": [] }) });
    };
    schedule::arm(app).await?;
    let fires = app.fires()?;
    let listeners = fires.listeners(&event.name).await?;
    let delivery = Delivery {
        hook: name.to_owned(),
        id: told.delivery,
        digest: told.digest,
        subject: told.subject,
        at: now,
    };
    let recording = Recording {
        deliveries: vec![delivery],
        occurrences: offer(&event, &Origin::default(), &listeners),
        ..Recording::default()
    };
    Ok(match fires.record(&recording).await? {
        Recorded::Done(recorded) => {
            let listed: Vec<Value> = recorded
                .iter()
                .map(|fire| json!({ "chain": fire.chain, "run_id": fire.run, "status": fire.status }))
                .collect();
            Answer {
                status: 202,
                body: json!({ "status": "accepted", "event": event.name, "fires": listed }),
            }
        }
        Recorded::Duplicate | Recorded::Moved => {
            Answer { status: 200, body: json!({ "status": "duplicate", "fires": [] }) }
        }
    })
}

fn read_secret(place: &config::WebhookSecret) -> Result<Vec<u8>, Error> {
    place.read().map_err(|why| Error::world("webhook_secret", why))
}

fn refused(refusal: Refusal) -> Answer {
    let words = match refusal {
        Refusal::TooLarge => "the body is too large",
        Refusal::Unsigned => "the request is not signed",
        Refusal::BadSignature => "the signature does not fit the body",
        Refusal::Stale => "the time of the event is too far from the time here",
        Refusal::NoDelivery => "the request has no id of its delivery",
        Refusal::Malformed => "the body is not an event, or its name is one that only Escrow gives",
    };
    answer(refusal.status(), refusal.code(), words)
}

fn answer(status: u16, code: &str, message: &str) -> Answer {
    Answer { status, body: json!({ "error": { "code": code, "message": message } }) }
}
