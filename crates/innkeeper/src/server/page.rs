//! The page at `/` of a build without the web client: it says so, and how to
//! get one.

use axum::http::header;
use axum::response::{Html, IntoResponse as _, Response};

const PAGE: &str = include_str!("page.html");

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

pub(crate) fn index() -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Html(PAGE)).into_response()
}
