//! The web client, out of the binary; or, in a build without it, a page that
//! says so and how to get one.
//!
//! *Invariant*: the pages ask nobody but this host for anything; their policy
//! forbids it.

use std::borrow::Cow;
use std::io::Read as _;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use flate2::read::GzDecoder;

/// A file of the web client, as the build found it.
struct Asset {
    path: &'static str,
    /// Only if there is no compressed form.
    plain: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/web_assets.rs"));

const WITHOUT_CLIENT: &str = include_str!("page.html");

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; font-src 'self'; connect-src 'self'; \
                      worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
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
        let (encoding, bytes) = self.form_for(headers);
        let mut response = match bytes {
            Cow::Borrowed(bytes) => bytes.into_response(),
            Cow::Owned(bytes) => bytes.into_response(),
        };
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
        if let Some(encoding) = encoding {
            put(header::CONTENT_ENCODING, encoding);
        }
        response
    }

    /// The smallest form that the client takes, and what it is called.
    fn form_for(&self, headers: &HeaderMap) -> (Option<&'static str>, Cow<'static, [u8]>) {
        let forms = [("br", self.brotli), ("gzip", self.gzip)];
        let accepted = forms.into_iter().find_map(|(name, bytes)| {
            let bytes = bytes.filter(|_| accepts(headers, name))?;
            Some((Some(name), Cow::Borrowed(bytes)))
        });
        accepted.unwrap_or_else(|| (None, self.plain()))
    }

    /// Browsers always take a compressed form; others seldom ask for much.
    fn plain(&self) -> Cow<'static, [u8]> {
        if let Some(plain) = self.plain {
            return Cow::Borrowed(plain);
        }
        let mut plain = Vec::new();
        // The build compressed it, so it can be read.
        let _ = GzDecoder::new(self.gzip.unwrap_or_default()).read_to_end(&mut plain);
        Cow::Owned(plain)
    }
}

/// Whether an encoding is named, or all are, and not with a weight of zero.
fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let offers: Vec<(&str, bool)> = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|offer| {
            let (name, weight) = offer.split_once(';').unwrap_or((offer, ""));
            let weight = weight.trim().strip_prefix("q=").map(str::parse::<f32>);
            (name.trim(), !matches!(weight, Some(Ok(0.0))))
        })
        .collect();
    let named = |wanted: &str| {
        let mut offers = offers.iter();
        offers.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    let offer = named(encoding).or_else(|| named("*"));
    offer.is_some_and(|(_, is_wanted)| *is_wanted)
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("webmanifest") => "application/manifest+json",
        Some("json") => "application/json",
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
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn header_of(response: &Response, name: header::HeaderName) -> &str {
        let value = response.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    const SCRIPT: Asset = Asset {
        path: "/assets/index-abc.js",
        plain: Some(b"plain"),
        brotli: Some(b"smallest"),
        gzip: Some(b"compressed"),
    };

    #[test]
    fn an_asset_comes_in_the_smallest_form_that_is_accepted() {
        let cases = [
            ("", ""),
            ("identity", ""),
            ("gzip", "gzip"),
            ("gzip, deflate, br, zstd", "br"),
            ("br;q=0.5, GZIP;q=0.8", "br"),
            ("br;q=0, gzip", "gzip"),
            ("*", "br"),
            ("*;q=0, gzip;q=1.0", "gzip"),
            ("br;q=0, *;q=0", ""),
        ];
        for (accepted, sent) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            let response = SCRIPT.answer(&headers);
            let encoding = header_of(&response, header::CONTENT_ENCODING);
            assert_eq!(encoding, sent, "{accepted}");
            assert_eq!(header_of(&response, header::VARY), "accept-encoding");
        }
    }

    #[test]
    fn names_that_change_with_the_content_are_kept_for_ever() {
        let response = SCRIPT.answer(&HeaderMap::new());
        assert!(header_of(&response, header::CACHE_CONTROL).contains("immutable"));
        assert!(header_of(&response, header::CONTENT_TYPE).starts_with("text/javascript"));
    }

    #[test]
    fn what_is_embedded_is_embedded_compressed_and_can_be_had_plain() {
        for asset in ASSETS.iter().filter(|asset| asset.path.ends_with(".js")) {
            let brotli = asset.brotli.map_or(usize::MAX, <[u8]>::len);
            assert!(brotli < asset.plain().len(), "{}", asset.path);
            assert!(asset.plain.is_none(), "{}", asset.path);
        }
    }

    #[tokio::test]
    async fn without_a_plain_form_one_is_made() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(b"let plain;").unwrap();
        let asset = Asset {
            plain: None,
            gzip: Some(gzip.finish().unwrap().leak()),
            ..SCRIPT
        };
        let response = asset.answer(&HeaderMap::new());
        assert_eq!(header_of(&response, header::CONTENT_ENCODING), "");
        let body = axum::body::to_bytes(response.into_body(), 100).await;
        assert_eq!(body.unwrap(), "let plain;");
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
