//! The formats that a text may be asked to have. They are there to catch slips,
//! so they take what is in use, in the letters of all languages, and nothing
//! that only a standard's appendix knows.

use innkeeper_protocol::Timestamp;
use url::{Host, Url};

/// `Dot-string@Domain` of RFC 5321: no quoted names, no addresses of machines,
/// and a domain with a dot in it.
pub(super) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_domain = match Host::parse(domain) {
        Ok(Host::Domain(name)) => name.contains('.') && name.split('.').all(is_label),
        Ok(Host::Ipv4(_) | Host::Ipv6(_)) | Err(_) => false,
    };
    is_domain && local.len() <= 64 && local.split('.').all(is_atom)
}

fn is_atom(text: &str) -> bool {
    let fits = |c: char| match c.is_ascii() {
        true => c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c),
        false => !c.is_whitespace() && !c.is_control(),
    };
    !text.is_empty() && text.chars().all(fits)
}

/// A part of a domain, which is ASCII by now.
fn is_label(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (1..=63).contains(&text.len())
        && text.chars().all(fits)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// What a URL's parser takes, which forgives much, without what RFC 3986
/// allows nowhere.
pub(super) fn is_uri(text: &str) -> bool {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "<>\"{}|\\^`".contains(c);
    !text.contains(forbidden) && Url::parse(text).is_ok()
}

pub(super) fn is_date(text: &str) -> bool {
    text.len() == 10 && is_date_time(&format!("{text}T00:00:00Z"))
}

pub(super) fn is_date_time(text: &str) -> bool {
    Timestamp::parse(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fits: impl Fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(fits(text), "{text:?} was refused");
        }
        for text in bad {
            assert!(!fits(text), "{text:?} was taken");
        }
    }

    #[test]
    fn addresses_of_people() {
        let long = format!("{}@b.example", "a".repeat(65));
        check(
            is_email,
            &[
                "a@b.example",
                "joe.bloggs+inn@mail.example.co.uk",
                "o'neil@x-y.example",
                "~@1.example",
                "jürgen@gasthof.example",
                "wirt@gästehaus.example",
                "用户@例子.广告",
            ],
            &[
                "",
                "a",
                "@",
                "a@",
                "a@.",
                "a@b",
                "a@.example",
                "a@b.",
                "a@b..example",
                "a@-b.example",
                "a@b-.example",
                "a@b_c.example",
                "a@b c.example",
                "a b@c.example",
                "@b.example",
                ".a@b.example",
                "a.@b.example",
                "a..b@c.example",
                "a@b@c.example",
                "a@127.0.0.1",
                "a@[::1]",
                "a@b.example\n",
                "A <a@b.example>",
                &long,
            ],
        );
    }

    #[test]
    fn uris() {
        check(
            is_uri,
            &[
                "https://x.example",
                "https://x.example:8080/a/b?c=d#e",
                "http://[::1]:80/",
                "urn:isbn:0451450523",
                "mailto:a@b.example",
                "file:///inn/my%20app",
                "ahp-session:/1",
                "https://例子.example/",
            ],
            &[
                "",
                "x.example",
                "/a/b",
                "//x.example",
                ":a",
                "1a:b",
                "https://",
                "https://x.example:99999/",
                "https://x.example/a b",
                " https://x.example",
                "https://x.example\n",
                "https://a<b>.example",
                "C:\\inn",
            ],
        );
    }

    #[test]
    fn dates() {
        check(
            is_date,
            &["2024-02-29"],
            &["2025-02-29", "2025-2-1", "", "today"],
        );
        check(
            is_date_time,
            &["2025-02-28T10:00:00Z"],
            &["2025-02-28", "now"],
        );
    }
}
