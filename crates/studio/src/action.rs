//! What people do: each action is a use case of `app`, done in the name of the visitor.
//!
//! A decision is recorded before it is answered; the run continues on a thread of the driver. Other actions are
//! answered when they are done, or when they have begun and take longer than a person likes to wait.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Extension;
use axum::extract::{ConnectInfo, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

use escrow_app::attention::{DismissRequest, dismiss as dismiss_item};
use escrow_app::chains::{self, ChainRow, FireEvent};
use escrow_app::driver::Handle;
use escrow_app::messages::{self, Assumed, Decision, Delivered, Reply, Then};
use escrow_app::runs::{self, Cancelled, Run};
use escrow_app::{App, Error, documents, now_ms, tokens};
use serde_json::{Map, Value, json};

use crate::answer::{self, failed_page, failure, status_of};
use crate::guard::{Posted, TOKEN_COOKIE};
use crate::studio::Studio;
use crate::view::{View, encoded};

/// How long an answer waits for the run that it is about.
const PATIENCE: Duration = Duration::from_millis(1_500);

type Answered = Result<Response, Failed>;

/// An action that was not done, and in which form to say so.
pub(crate) struct Failed {
    error: Error,
    as_page: bool,
    /// The run that it was about.
    run: Option<String>,
}

impl Failed {
    /// Said in the form in which the request came.
    fn of(posted: &Posted, error: Error, run: Option<String>) -> Failed {
        Failed { error, as_page: !posted.is_document, run }
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let status = status_of(&self.error);
        if self.as_page {
            return failed_page(status, &self.error, self.run.as_deref());
        }
        failure(status, &self.error, false)
    }
}

pub(crate) async fn approve(view: View) -> Answered {
    let id = view.parameter("id");
    let posted = view.posted.clone();
    let note = posted.get("note").map(str::to_owned);
    decide(&view, id, &posted, Decision::Approve { claim: None, note }).await
}

pub(crate) async fn deny(view: View) -> Answered {
    let id = view.parameter("id");
    let posted = view.posted.clone();
    let note = posted.get("note").map(str::to_owned);
    decide(&view, id, &posted, Decision::Deny { claim: None, note }).await
}

pub(crate) async fn answer(view: View) -> Answered {
    let id = view.parameter("id");
    let posted = view.posted.clone();
    let text = posted.get("text").unwrap_or_default().to_owned();
    decide(&view, id, &posted, Decision::Answer { text }).await
}

async fn decide(view: &View, wait: String, posted: &Posted, decision: Decision) -> Answered {
    let shown = posted.get("digest").map(str::to_owned);
    let asking = run_of_wait(view, &wait).await;
    let failed = |error| Failed::of(posted, error, asking.clone());
    // A person approves what they have seen, so a form says what that was.
    if shown.is_none() && matches!(decision, Decision::Approve { .. } | Decision::Deny { .. }) {
        let error = Error::author("usage", "the digest of what was shown is missing")
            .help("send `digest` as `/api/approvals` gives it");
        return Err(failed(error));
    }
    let app = view.studio.app_of(&view.visitor);
    let then = Then::Record;
    let delivered = messages::reply(&app, Reply { wait, decision: decision.clone(), shown, then }).await;
    let (wait, run) = match delivered.map_err(failed)? {
        Delivered::ToDriver { wait, run } => (wait, run),
        Delivered::Recorded { wait, run } => {
            let of_driver = run.clone();
            let work = view
                .studio
                .driver
                .spawn(move |_| async move { messages::proceed(&app, &of_driver, &decision).await });
            // The run is not waited for; what becomes of it is in its journal.
            drop(work);
            (wait, run)
        }
        Delivered::Rested(_) | Delivered::NotContinued { .. } => {
            return Err(failed(Error::bug("a decision that was to be recorded was acted on")));
        }
    };
    if posted.is_document {
        return Ok(answer::json(&json!({ "recorded": wait, "run": { "id": run }, "next": null })));
    }
    Ok(answer::see(&format!("/runs/{run}")))
}

/// The run that asks; none where two ask alike, or none does.
async fn run_of_wait(view: &View, wait: &str) -> Option<String> {
    let waits = view.queries().ok()?.waits_named(wait).await.ok()?;
    match &waits[..] {
        [only] => Some(only.run.to_string()),
        _ => None,
    }
}

pub(crate) async fn cancel(view: View) -> Answered {
    let id = view.parameter("id");
    let posted = view.posted.clone();
    let work = |app: Arc<App>, id: String| async move {
        Ok(match runs::cancel(&app, &id).await? {
            Cancelled::Asked { run, pid } => json!({ "run": { "id": run }, "asked": pid }),
            Cancelled::Ended(run) => documented(&app, &run).await?,
        })
    };
    let app = view.studio.app_of(&view.visitor);
    let hosted = view.studio.driver.spawn({
        let id = id.clone();
        move |_| work(app, id)
    });
    rested(&view, &id, &posted, hosted).await
}

/// With `failed`, the failed checks of a run that has ended.
pub(crate) async fn resume(view: View) -> Answered {
    let id = view.parameter("id");
    let posted = view.posted.clone();
    let again = posted.get("failed") == Some("true");
    drive(&view, &id, &posted, again).await
}

pub(crate) async fn retry(view: View) -> Answered {
    let id = view.parameter("id");
    let posted = view.posted.clone();
    drive(&view, &id, &posted, true).await
}

async fn drive(view: &View, id: &str, posted: &Posted, again: bool) -> Answered {
    let app = view.studio.app_of(&view.visitor);
    let name = id.to_owned();
    let hosted = view.studio.driver.spawn(move |_| async move {
        let run =
            if again { runs::retry_failed(&app, &name).await? } else { runs::resume(&app, &name).await? };
        documented(&app, &run).await
    });
    rested(view, id, posted, hosted).await
}

/// `check=post[2]` and `assumption=done`, `failed` or `retry`.
pub(crate) async fn assume(view: View) -> Answered {
    let id = view.parameter("id");
    let posted = view.posted.clone();
    let (check, word) =
        (posted.get("check").unwrap_or_default(), posted.get("assumption").unwrap_or_default());
    let assumed = Assumed::parse(&format!("{check}={word}"))
        .map_err(|error| Failed::of(&posted, error, Some(id.clone())))?;
    let app = view.studio.app_of(&view.visitor);
    let name = id.clone();
    let hosted = view.studio.driver.spawn(move |_| async move {
        let run = messages::assume(&app, &name, vec![assumed]).await?;
        documented(&app, &run).await
    });
    rested(&view, &id, &posted, hosted).await
}

pub(crate) async fn dismiss(view: View) -> Answered {
    let fingerprint = view.parameter("fingerprint");
    let posted = view.posted.clone();
    let app = view.studio.app_of(&view.visitor);
    let note = posted.get("note").unwrap_or_default().to_owned();
    let request = DismissRequest { what: fingerprint, note, by: None };
    let item = dismiss_item(&app, &request).await.map_err(|error| Failed::of(&posted, error, None))?;
    if posted.is_document {
        return Ok(answer::json(&json!({ "item": documents::attention_item(&item, now_ms()) })));
    }
    Ok(answer::see("/"))
}

/// `event` is a JSON object; its member `event` is the name of the event.
pub(crate) async fn fire(view: View) -> Answered {
    let (name, posted) = (view.parameter("name"), view.posted.clone());
    let payload = match posted.get("event").map(serde_json::from_str::<Map<String, Value>>).transpose() {
        Ok(payload) => payload.unwrap_or_default(),
        Err(error) => {
            let error = Error::author("usage", format!("the event is not a JSON object: {error}"));
            return Err(Failed::of(&posted, error, None));
        }
    };
    let event = FireEvent::by_hand(payload);
    let app = view.studio.app_of(&view.visitor);
    let chain = name.clone();
    let hosted = view.studio.driver.spawn(move |_| async move {
        let run = chains::fire(&app, &chain, event, &mut |_| {}).await?;
        Ok(documents::chain_run(&chains::runs::of_run(&*app.queries()?, run).await?))
    });
    let document = match tokio::time::timeout(PATIENCE, hosted.join()).await {
        Ok(Err(error)) => return Err(Failed::of(&posted, error, None)),
        Ok(Ok(document)) => Some(document),
        Err(_) => None,
    };
    if !posted.is_document {
        return Ok(answer::see(&format!("/chains/{}", encoded(&name))));
    }
    Ok(match document {
        Some(document) => answer::json(&document),
        None => (StatusCode::ACCEPTED, answer::json(&json!({ "chain": { "name": name } }))).into_response(),
    })
}

pub(crate) async fn pause(view: View) -> Answered {
    let app = view.studio.app_of(&view.visitor);
    changed(&view, chains::pause(&app, &view.parameter("name")).await)
}

pub(crate) async fn resume_chain(view: View) -> Answered {
    let app = view.studio.app_of(&view.visitor);
    changed(&view, chains::resume(&app, &view.parameter("name")).await)
}

fn changed(view: &View, changed: Result<ChainRow, Error>) -> Answered {
    let row = changed.map_err(|error| Failed::of(&view.posted, error, None))?;
    if view.posted.is_document {
        let chain = json!({ "id": row.id, "name": row.name, "status": row.status });
        return Ok(answer::json(&json!({ "chain": chain })));
    }
    Ok(answer::see(&format!("/chains/{}", encoded(&row.name))))
}

async fn documented(app: &App, run: &Run) -> Result<Value, Error> {
    Ok(runs::document(&*app.queries()?, run).await)
}

/// The document of a run that has ended or waits; if that takes long, that it continues.
async fn rested(view: &View, id: &str, posted: &Posted, hosted: Handle<Value>) -> Answered {
    let settled = tokio::time::timeout(PATIENCE, hosted.join()).await;
    let document = match settled {
        Ok(Err(error)) => {
            return Err(Failed::of(posted, error, Some(id.to_owned())));
        }
        Ok(Ok(document)) => Some(document),
        Err(_) => None,
    };
    if !posted.is_document {
        let row = view.queries().map_err(|error| Failed { error, as_page: true, run: None })?;
        let run =
            row.run(id).await.map_err(|error| Failed { error: error.into(), as_page: true, run: None })?;
        return Ok(answer::see(&format!("/runs/{}", run.id)));
    }
    Ok(match document {
        Some(document) => answer::json(&document),
        None => (StatusCode::ACCEPTED, answer::json(&json!({ "run": { "id": id } }))).into_response(),
    })
}

/// Exchanges a token for a cookie that no script and no other site can use.
pub(crate) async fn sign_in(
    State(studio): State<Arc<Studio>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Extension(posted): Extension<Posted>,
) -> Response {
    // A valid token is refused as well, so that an answer tells nothing.
    if studio.sign_ins.is_spent(peer.ip()) {
        let error = Error::person("too_many", "too many tokens that are not valid").help("wait a minute");
        return failure(StatusCode::TOO_MANY_REQUESTS, &error, true);
    }
    let text = posted.get("token").unwrap_or_default().trim().to_owned();
    match tokens::find(studio.app.state(), &text) {
        Ok(Some(_)) => {
            let mut response = answer::see("/");
            let cookie = format!("{TOKEN_COOKIE}={text}; Path=/; HttpOnly; SameSite=Strict");
            if let Ok(value) = HeaderValue::from_str(&cookie) {
                response.headers_mut().append(SET_COOKIE, value);
            }
            response
        }
        Ok(None) => {
            studio.sign_ins.admits(peer.ip());
            answer::sign_in(&studio, StatusCode::UNAUTHORIZED)
        }
        Err(error) => failure(status_of(&error), &error, true),
    }
}
