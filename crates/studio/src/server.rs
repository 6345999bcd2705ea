//! Opens the socket and serves until the app is asked to stop.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use escrow_app::{App, Error, tokens};
use tokio::net::TcpListener;

use crate::answer;
use crate::daemon;
use crate::guard::{guard, wants_page};
use crate::known_query::known_query;
use crate::pages::not_found;
use crate::routes::{Access, ROUTES, Route, Verb};
use crate::settings::Settings;
use crate::studio::Studio;

/// A server whose socket is open.
pub struct Serving {
    pub address: SocketAddr,
    listener: TcpListener,
    studio: Arc<Studio>,
}

/// Opens the socket. Elsewhere than on this machine, a token must exist.
pub async fn open(app: Arc<App>, settings: Settings) -> Result<Serving, Error> {
    if !settings.is_local() && tokens::list(app.state())?.is_empty() {
        return Err(Error::author(
            "no_token",
            format!("others can connect to `{}`, and there is no token", settings.bind),
        )
        .help("`escrow studio token add NAME --role read|approve|admin` makes one"));
    }
    // Runs continue here, so the store is opened for writing before anybody asks.
    app.journal()?;
    let wanted = settings.address();
    let listener = TcpListener::bind(wanted).await.map_err(|error| {
        Error::world("port", format!("cannot listen on {wanted}: {error}"))
            .help("choose another one with `--port`")
    })?;
    let address = listener
        .local_addr()
        .map_err(|error| Error::world("port", format!("cannot listen on {wanted}: {error}")))?;
    Ok(Serving { address, listener, studio: Arc::new(Studio::new(app, settings, address.port())?) })
}

impl Serving {
    /// Answers requests until the app is asked to stop; then waits for the runs that it drives to end.
    pub async fn serve(self) -> Result<(), Error> {
        let Serving { listener, studio, .. } = self;
        studio.feed.start(&studio);
        let daemon = if studio.settings.daemon { daemon::start(&studio.app) } else { None };
        let app = Arc::clone(&studio.app);
        let service = router(&studio).into_make_service_with_connect_info::<SocketAddr>();
        let stopped = async move { app.stopped().await };
        // Viewers of the feed would keep a graceful end waiting for ever.
        tokio::select! {
            served = axum::serve(listener, service) => {
                served.map_err(|error| Error::world("socket", format!("cannot serve: {error}")))?;
            }
            () = stopped => {}
        }
        // Runs that are driven here were asked to end, with their processes. That is in their journals when this returns.
        studio.driver.idle().await;
        if let Some(daemon) = daemon {
            // A loop that panicked has nothing to wait for.
            let _ = tokio::task::spawn_blocking(move || daemon.join()).await;
        }
        Ok(())
    }
}

/// Every route behind its guard.
pub fn router(studio: &Arc<Studio>) -> Router {
    let behind = |mounted: MethodRouter<Arc<Studio>>, access| {
        mounted.layer(from_fn_with_state((Arc::clone(studio), access), guard))
    };
    let mut router: Router<Arc<Studio>> = Router::new();
    for route in ROUTES {
        let mounted =
            (route.mount)().fallback(move |request: Request| async move { wrong_verb(route, &request) });
        let mounted = match route.access {
            Access::Role(_) => mounted.layer(from_fn_with_state(route, known_query)),
            Access::Open | Access::Own => mounted,
        };
        router = router.route(route.path, behind(mounted, route.access));
    }
    let nowhere = MethodRouter::new()
        .on(MethodFilter::GET.or(MethodFilter::POST), |request: Request| async move { not_found(&request) });
    router
        .fallback_service(behind(nowhere, Access::Open).with_state(Arc::clone(studio)))
        .with_state(Arc::clone(studio))
}

/// An address that was asked for in another way than it takes. A person comes here by opening the address of a form.
fn wrong_verb(route: &Route, request: &Request) -> Response {
    let verb = match route.verb {
        Verb::Get => "GET",
        Verb::Post => "POST",
    };
    let error = Error::author("method", format!("`{}` takes {verb}", route.path))
        .help("what was sent here was not done; the pages have the forms");
    let as_page = request.method() == Method::GET && wants_page(request.headers());
    let mut response = answer::failure(StatusCode::METHOD_NOT_ALLOWED, &error, as_page);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(verb));
    response
}
