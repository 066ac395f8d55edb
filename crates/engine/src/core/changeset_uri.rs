//! The names of changesets' channels: each says which session it is of, and
//! what is compared.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::workspace::changes::Compared;

pub(super) const CHANGESET_SCHEME: &str = "ahp-changeset:/";

/// What stands between a session and a view where a client computes the
/// channel instead of reading it from the session's catalogue.
const BELOW_SESSION: &str = "/changeset/";

/// What the channels of a session's changesets begin with.
pub(crate) fn channel_prefix(session: &ChannelUri) -> String {
    format!(
        "{CHANGESET_SCHEME}{}",
        URL_SAFE_NO_PAD.encode(session.as_str())
    )
}

/// The channel of what has changed since the session began.
pub(crate) fn of_whole_session(session: &ChannelUri) -> ChannelUri {
    format!("{}/session", channel_prefix(session)).into()
}

/// The session and the view that a channel names, if it names any.
pub(crate) fn parse(channel: &ChannelUri) -> Option<(ChannelUri, Compared)> {
    let (session, view) = match channel.as_str().strip_prefix(CHANGESET_SCHEME) {
        Some(rest) => {
            let (session, view) = rest.split_once('/')?;
            let session = URL_SAFE_NO_PAD.decode(session).ok()?;
            (String::from_utf8(session).ok()?, view)
        }
        None => {
            let (session, view) = channel.as_str().rsplit_once(BELOW_SESSION)?;
            (session.to_owned(), view)
        }
    };
    let text = |segment: &str| {
        let text = percent_decoded(segment);
        (!text.is_empty()).then_some(text)
    };
    let segments: Vec<&str> = view.split('/').collect();
    let compared = match segments[..] {
        ["uncommitted"] => Compared::Uncommitted,
        ["branch"] => Compared::Branch,
        ["session"] => Compared::Session,
        ["turn", turn] => Compared::Turn(text(turn)?),
        ["compare", original, modified] => Compared::Turns {
            original: text(original)?,
            modified: text(modified)?,
        },
        _ => return None,
    };
    Some((session.into(), compared))
}

/// Reads `%20` and its like in a segment of a URI.
pub(crate) fn percent_decoded(segment: &str) -> String {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%').then(|| tail.get(..2)).flatten();
        let decoded = escaped
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match decoded {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| segment.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_names_its_session_and_its_view() {
        let session = ChannelUri::from("ahp-session:/1");
        let prefix = channel_prefix(&session);
        let parsed = |path: &str| {
            let (of, compared) = parse(&format!("{prefix}/{path}").into())?;
            assert_eq!(of, session);
            Some(compared)
        };
        assert_eq!(parsed("uncommitted"), Some(Compared::Uncommitted));
        assert_eq!(parsed("session"), Some(Compared::Session));
        assert_eq!(parsed("turn/a%2Fb"), Some(Compared::Turn("a/b".to_owned())));
        let (original, modified) = ("1".to_owned(), "2".to_owned());
        let turns = Compared::Turns { original, modified };
        assert_eq!(parsed("compare/1/2"), Some(turns));
        for other in [
            "",
            "turn",
            "turn/",
            "compare/1",
            "uncommitted/x",
            "{turnId}",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
        assert_eq!(parse(&"ahp-changeset:/%/session".into()), None);
    }

    #[test]
    fn a_channel_that_a_client_computes_names_the_same() {
        let parsed = |channel: &str| parse(&channel.into());
        let session = || ChannelUri::from("copilot:/1");
        assert_eq!(
            parsed("copilot:/1/changeset/turn/request_7"),
            Some((session(), Compared::Turn("request_7".to_owned())))
        );
        assert_eq!(
            parsed("copilot:/1/changeset/branch"),
            Some((session(), Compared::Branch))
        );
        assert_eq!(parsed("copilot:/1/changeset"), None);
        assert_eq!(parsed("copilot:/1/changeset/turn/"), None);
    }
}
