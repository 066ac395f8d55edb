//! Short names for sessions: what a list shows, and what a user types.

use anyhow::{Result, bail};

const SHORTEST: usize = 8;
/// A slip of the finger must not mean a session.
const LEAST_TYPED: usize = 4;
const CANDIDATES_SHOWN: usize = 8;

/// The last segment of a URI.
fn segment(uri: &str) -> &str {
    let end = uri.trim_end_matches('/');
    end.rsplit(['/', ':']).next().unwrap_or(end)
}

/// For each URI the beginning of its last segment that no other one shares.
pub(crate) fn short(uris: &[&str]) -> Vec<String> {
    let mut segments: Vec<&str> = uris.iter().map(|uri| segment(uri)).collect();
    segments.sort_unstable();
    let shared = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let shorten = |uri: &&str| {
        let own = segment(uri);
        let place = segments.partition_point(|other| *other < own);
        // Of those in order, the neighbours share the most.
        let before = place.checked_sub(1).and_then(|at| segments.get(at));
        let after = segments.get(place + 1);
        let neighbours = before.into_iter().chain(after);
        let needed = neighbours.map(|other| shared(own, other) + 1).max();
        let length = needed.unwrap_or(0).max(SHORTEST);
        own.chars().take(length).collect()
    };
    uris.iter().map(shorten).collect()
}

/// The URI that a user means by `id`.
pub(crate) fn resolve<'a>(id: &str, uris: &[&'a str]) -> Result<&'a str> {
    let whole = |uri: &&&str| **uri == id || segment(uri) == id;
    let begins = |uri: &&&str| segment(uri).starts_with(id);
    let mut found: Vec<&str> = uris.iter().filter(whole).copied().collect();
    if found.is_empty() {
        let length = id.chars().count();
        if length < LEAST_TYPED && uris.iter().any(|uri| begins(&uri)) {
            bail!(
                "`{id}` is too short; give at least {LEAST_TYPED} characters of the session's id"
            );
        }
        found = uris.iter().filter(begins).copied().collect();
    }
    match found[..] {
        [uri] => Ok(uri),
        [] => bail!("unknown session `{id}`; see `innkeeper sessions list`"),
        _ => {
            let more = found.len().saturating_sub(CANDIDATES_SHOWN);
            found.truncate(CANDIDATES_SHOWN);
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let candidates = found.join(", ");
            bail!("`{id}` matches several sessions: {candidates}{more}; type more characters")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URIS: [&str; 4] = [
        "ahp-session:/12345678-aaaa",
        "ahp-session:/12345678-aabb",
        "ahp-session:/99",
        "inn://host/sessions/fedcba9876/",
    ];

    #[test]
    fn short_names_are_as_long_as_they_must_be() {
        assert_eq!(
            short(&URIS),
            ["12345678-aaa", "12345678-aab", "99", "fedcba98"]
        );
        assert!(short(&[]).is_empty());
    }

    #[test]
    fn a_session_is_found_by_its_uri_its_name_or_the_beginning_of_it() {
        for (id, expected) in [
            ("ahp-session:/99", URIS[2]),
            ("99", URIS[2]),
            ("12345678-aaa", URIS[0]),
            ("fedc", URIS[3]),
        ] {
            assert_eq!(resolve(id, &URIS).unwrap(), expected, "{id}");
        }
        for short in short(&URIS) {
            assert!(resolve(&short, &URIS).is_ok(), "{short}");
        }
    }

    #[test]
    fn what_is_unknown_or_ambiguous_is_said() {
        let complaint = |id| resolve(id, &URIS).unwrap_err().to_string();
        assert!(complaint("7").contains("unknown session `7`"));
        assert!(complaint("aabb").contains("unknown session `aabb`"));
        for short in ["", "9", "fed"] {
            assert!(complaint(short).contains("is too short"), "{short}");
        }
        let ambiguous = complaint("1234");
        assert!(ambiguous.contains(URIS[0]) && ambiguous.contains(URIS[1]));
    }
}
