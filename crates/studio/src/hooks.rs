//! The address of webhooks: hands what came to the app, and answers with what the app says.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use escrow_app::webhooks::{self, BODY_BYTES_MAX};
use escrow_app::{App, Error};
use tokio::net::TcpListener;

use crate::answer::json;
use crate::studio::Studio;

/// `POST /hooks/{name}`. The signature is the guard.
pub(crate) async fn receive(
    State(studio): State<Arc<Studio>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    received(&studio.app, &name, &headers, body).await
}

async fn received(app: &App, name: &str, headers: &HeaderMap, body: Body) -> Response {
    let headers: Vec<(String, String)> = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    // One byte more than is allowed is enough to know that it is too much.
    let Ok(body) = to_bytes(body, BODY_BYTES_MAX + 1).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let answer = webhooks::receive_now(app, name, &headers, &body).await;
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, json(&answer.body)).into_response()
}

/// A server for webhooks and nothing else.
pub struct Hooks {
    pub address: SocketAddr,
    listener: TcpListener,
    app: Arc<App>,
}

impl Hooks {
    /// Opens the socket.
    pub async fn open(app: Arc<App>, wanted: SocketAddr) -> Result<Hooks, Error> {
        let failed = |error: std::io::Error| {
            Error::world("port", format!("cannot listen on {wanted}: {error}"))
                .help("choose another one with `--port`")
        };
        // What is accepted is recorded, so the store is opened before anybody sends something.
        app.fires()?;
        let listener = TcpListener::bind(wanted).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Hooks { address, listener, app })
    }

    /// Answers until it is dropped.
    pub async fn serve(self) -> Result<(), Error> {
        let only = |State(app): State<Arc<App>>, Path(name): Path<String>, headers: HeaderMap, body: Body| async move {
            received(&app, &name, &headers, body).await
        };
        let router = Router::new().route("/hooks/{name}", post(only)).with_state(self.app);
        axum::serve(self.listener, router)
            .await
            .map_err(|error| Error::world("socket", format!("cannot serve: {error}")))
    }
}
