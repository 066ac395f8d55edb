//! The web client, out of the binary; or, in a build without it, a page that
//! says so and how to get one.
//!
//! *Invariant*: the pages ask nobody but this host for anything; their policy
//! forbids it.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};

/// A file of the web client, as the build found it.
struct Asset {
    path: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/web_assets.rs"));

const WITHOUT_CLIENT: &str = include_str!("page.html");

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; worker-src 'self'; \
                      manifest-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const POLICY_WITHOUT_CLIENT: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                                     base-uri 'none'; form-action 'none'; \
                                     frame-ancestors 'none'";

/// The answer to a plain request for a path.
pub(crate) fn serve(path: &str, headers: &HeaderMap) -> Response {
    let wanted = if path == "/" { "/index.html" } else { path };
    match ASSETS.iter().find(|asset| asset.path == wanted) {
        Some(asset) => asset.answer(headers),
        None if path == "/" => without_client(),
        None => (StatusCode::NOT_FOUND, "there is nothing here\n").into_response(),
    }
}

impl Asset {
    fn answer(&self, headers: &HeaderMap) -> Response {
        let gzip = self.gzip.filter(|_| accepts_gzip(headers));
        let mut response = gzip.unwrap_or(self.plain).into_response();
        let answer = response.headers_mut();
        let mut put = |name, value| answer.insert(name, HeaderValue::from_static(value));
        put(header::CONTENT_TYPE, content_type(self.path));
        put(header::CONTENT_SECURITY_POLICY, POLICY);
        put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        put(header::REFERRER_POLICY, "no-referrer");
        put(header::VARY, "accept-encoding");
        // Names below `assets` change with the content; the others do not.
        let is_hashed = self.path.starts_with("/assets/");
        let caching = match is_hashed {
            true => "public, max-age=31536000, immutable",
            false => "no-cache",
        };
        put(header::CACHE_CONTROL, caching);
        if gzip.is_some() {
            put(header::CONTENT_ENCODING, "gzip");
        }
        response
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::ACCEPT_ENCODING).iter();
    values.any(|value| {
        let names = value.to_str().unwrap_or_default().split(',');
        let mut plain = names.map(|name| name.split(';').next().unwrap_or_default().trim());
        plain.any(|name| name.eq_ignore_ascii_case("gzip"))
    })
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

fn without_client() -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY_WITHOUT_CLIENT),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Html(WITHOUT_CLIENT)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_of(response: &Response, name: header::HeaderName) -> &str {
        let value = response.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    const SCRIPT: Asset = Asset {
        path: "/assets/index-abc.js",
        plain: b"plain",
        gzip: Some(b"compressed"),
    };

    #[test]
    fn an_asset_is_compressed_for_whoever_accepts_that() {
        let mut headers = HeaderMap::new();
        let response = SCRIPT.answer(&headers);
        assert_eq!(header_of(&response, header::CONTENT_ENCODING), "");
        headers.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("br, gzip;q=0.8"),
        );
        let response = SCRIPT.answer(&headers);
        assert_eq!(header_of(&response, header::CONTENT_ENCODING), "gzip");
        assert!(header_of(&response, header::CACHE_CONTROL).contains("immutable"));
        assert!(header_of(&response, header::CONTENT_TYPE).starts_with("text/javascript"));
    }

    #[test]
    fn the_policy_lets_nothing_in_from_elsewhere() {
        for policy in [POLICY, POLICY_WITHOUT_CLIENT] {
            assert!(policy.starts_with("default-src 'none'"), "{policy}");
            assert!(!policy.contains("http"), "{policy}");
        }
        assert!(!POLICY.contains("unsafe"));
    }

    #[test]
    fn there_is_always_a_page_and_nothing_at_other_paths() {
        let headers = HeaderMap::new();
        assert_eq!(serve("/", &headers).status(), StatusCode::OK);
        let nowhere = serve("/../Cargo.toml", &headers);
        assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
    }
}
