//! The stylesheet, the script and the icon. Their addresses contain their digest, so that a browser keeps them for good.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use escrow_app::tokens::digest;
use flate2::Compression;

use crate::compress::{gzip, is_accepted};

pub(crate) struct Asset {
    /// `studio-0123456789ab.css`
    name: String,
    content_type: &'static str,
    text: &'static str,
    gzipped: Option<Vec<u8>>,
}

impl Asset {
    fn new(stem: &str, ending: &str, content_type: &'static str, text: &'static str) -> Asset {
        let name = format!("{stem}-{}.{ending}", &digest(text)[..12]);
        Asset { name, content_type, text, gzipped: gzip(text.as_bytes(), Compression::best()) }
    }

    pub(crate) fn address(&self) -> String {
        format!("/assets/{}", self.name)
    }

    pub(crate) fn text(&self) -> &'static str {
        self.text
    }
}

pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("studio", "css", "text/css; charset=utf-8", include_str!("../assets/studio.css"))
});

pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("studio", "js", "text/javascript; charset=utf-8", include_str!("../assets/studio.js"))
});

pub(crate) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("../assets/icon.svg")));

pub(crate) async fn serve(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let all = [&*STYLE, &*SCRIPT, &*ICON];
    match all.into_iter().find(|asset| asset.name == name) {
        Some(asset) => {
            let kept = [
                (CONTENT_TYPE, asset.content_type),
                (CACHE_CONTROL, "public, max-age=31536000, immutable"),
                (VARY, "accept-encoding"),
            ];
            match asset.gzipped.as_ref().filter(|_| is_accepted(&headers)) {
                Some(bytes) => (kept, [(CONTENT_ENCODING, "gzip")], bytes.clone()).into_response(),
                None => (kept, asset.text).into_response(),
            }
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
