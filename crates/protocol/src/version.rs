//! Which protocol versions this host speaks, which one a client gets, and what
//! each of them can do.
//!
//! *Invariant*: what a version is compared with stands here and in the gates
//! only. Everybody else asks what it can do, so that a version comes or goes
//! here and in its gate. A test holds that (`tests/abilities.rs`).

use std::fmt;

/// A protocol version that the host speaks: the newest is what is spoken
/// inside, the others are reached through [`crate::gates`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// Draft 1, from before versions had numbers: a client says
    /// `protocolVersion: 1`. The crates 0.1.0 have its shapes.
    Draft1,
    /// The draft as its text stood some weeks later, when it was called 0.1.0.
    V0_1,
    V0_2,
    V0_3,
    V0_4,
    /// Releases of 0.5 that lack what came with a later one, for clients that
    /// have stayed there: see [`Self::RELEASES`].
    V0_5_0,
    V0_5_1,
    V0_5,
    V0_6,
    V0_7,
    V0_8,
    V0_9,
    V1_0,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: [Self; 11] = [
        Self::Draft1,
        Self::V0_1,
        Self::V0_2,
        Self::V0_3,
        Self::V0_4,
        Self::V0_5,
        Self::V0_6,
        Self::V0_7,
        Self::V0_8,
        Self::V0_9,
        Self::V1_0,
    ];
    /// Releases that lack something of their version. To the host each is a
    /// version of its own, with a gate; only whoever offers nothing later
    /// speaks it.
    pub const RELEASES: [Self; 2] = [Self::V0_5_0, Self::V0_5_1];
    /// How many there are of both: encoders keep one slot for each.
    pub const COUNT: usize = Self::ALL.len() + Self::RELEASES.len();
    /// The version that is spoken inside the host.
    pub const NEWEST: Self = Self::V1_0;

    pub const fn index(self) -> usize {
        self as usize
    }

    /// The first release; draft 1 was none.
    const fn baseline(self) -> Option<SemVer> {
        Some(match self {
            Self::Draft1 => return None,
            Self::V0_1 => SemVer(0, 1, 0),
            Self::V0_2 => SemVer(0, 2, 0),
            Self::V0_3 => SemVer(0, 3, 0),
            Self::V0_4 => SemVer(0, 4, 0),
            Self::V0_5_0 => SemVer(0, 5, 0),
            Self::V0_5_1 => SemVer(0, 5, 1),
            Self::V0_5 => SemVer(0, 5, 2),
            Self::V0_6 => SemVer(0, 6, 0),
            Self::V0_7 => SemVer(0, 7, 0),
            Self::V0_8 => SemVer(0, 8, 0),
            Self::V0_9 => SemVer(0, 9, 0),
            Self::V1_0 => SemVer(1, 0, 0),
        })
    }

    /// The version that has this name, or of which it is a caret-compatible
    /// release.
    pub fn from_name(name: &str) -> Option<Self> {
        match name == DRAFT_1 {
            true => Some(Self::Draft1),
            false => Self::of_release(SemVer::parse(name)?),
        }
    }

    fn of_release(release: SemVer) -> Option<Self> {
        let all = Self::ALL.into_iter().chain(Self::RELEASES);
        let compatible = all.filter(|version| {
            let baseline = version.baseline();
            baseline.is_some_and(|baseline| release.is_compatible_with(baseline))
        });
        compatible.max()
    }

    /// The exact string that a client offered for this version: the highest,
    /// if it offered several releases of it.
    pub fn as_offered(self, offered: &[String]) -> Option<&str> {
        if self == Self::Draft1 {
            let named = offered.iter().find(|name| *name == DRAFT_1);
            return named.map(String::as_str);
        }
        let mine = spoken(offered).filter(|(_, version, _)| *version == self);
        mine.max_by_key(|(semver, _, _)| *semver)
            .map(|(_, _, wire)| wire)
    }

    /// What the host tells a client that offers none of them.
    pub fn supported() -> Vec<String> {
        Self::ALL
            .iter()
            .rev()
            .filter_map(|version| version.baseline())
            .map(|release| release.to_string())
            .collect()
    }
}

/// What a version can do, in the words of the protocol.
impl Version {
    /// An envelope says which channel its action is about; in the drafts the
    /// action itself does.
    pub fn names_channels_in_envelopes(self) -> bool {
        self > Self::V0_1
    }

    /// Watches, changesets and telemetry, which the drafts do not have.
    pub fn has_watches(self) -> bool {
        self > Self::V0_1
    }

    /// `reconnect` is answered with what is `missing`; draft 1 has no word for
    /// that.
    pub fn says_what_is_missing(self) -> bool {
        self > Self::Draft1
    }

    /// News of the catalogue go to those who subscribe to the root; in the
    /// drafts to everybody who is connected.
    pub fn subscribes_to_news(self) -> bool {
        self > Self::V0_1
    }

    /// What has changed in a session is told in changesets. In the drafts it
    /// is a list of diffs in the session's row.
    pub fn has_changesets(self) -> bool {
        self > Self::V0_1
    }

    /// A customization is switched by its id; in the drafts by its URI.
    pub fn switches_by_id(self) -> bool {
        self > Self::V0_1
    }

    /// Whether an action on a channel that does not exist gets no answer: up to
    /// 0.2 the protocol demands that. Later clients wait for an answer.
    pub fn is_silent_about_unknown_channels(self) -> bool {
        self <= Self::V0_2
    }

    /// A session has chats, with channels of their own. Up to 0.3 it is a
    /// conversation itself.
    pub fn has_chats(self) -> bool {
        self > Self::V0_3
    }

    /// A session has annotations, with a channel of their own.
    pub fn has_annotations(self) -> bool {
        self > Self::V0_3
    }

    /// The host has automations, with a channel of their own.
    pub fn has_automations(self) -> bool {
        self > Self::V0_8
    }

    /// An automation has plugins of clients, of which the host keeps copies.
    pub fn keeps_plugins_of_automations(self) -> bool {
        self > Self::V0_9
    }

    /// A chat has canvases, each with a channel of its own.
    pub fn has_canvases(self) -> bool {
        self > Self::V0_9
    }

    /// A message says which model and agent it is for. Up to 0.4 they are
    /// selected for a session.
    pub fn selects_per_message(self) -> bool {
        self > Self::V0_4
    }

    /// Several clients can be active in a session; up to 0.4 one at a time.
    pub fn has_many_active_clients(self) -> bool {
        self > Self::V0_4
    }

    /// A state shows what belongs to its channel and nothing else. Up to 0.4 a
    /// session's repeats its row in the catalogue, and up to 0.3 it holds its
    /// default chat.
    pub fn shows_each_state_alone(self) -> bool {
        self > Self::V0_4
    }

    /// Sessions are listed in pages; up to 0.5.0 all at once.
    pub fn lists_in_pages(self) -> bool {
        self > Self::V0_5_0
    }

    /// Earlier turns are told by an action. Up to 0.5.0 they come with the
    /// answer to `fetchTurns`.
    pub fn tells_earlier_turns(self) -> bool {
        self > Self::V0_5_0
    }

    /// What is in a container has a switch of its own. Up to 0.5.1 it is on
    /// whenever its container is.
    pub fn switches_children(self) -> bool {
        self > Self::V0_5_1
    }

    /// The input of a tool call can be a reference to where it is kept. Up to
    /// 0.6 it is text.
    pub fn refers_to_tool_input(self) -> bool {
        self > Self::V0_6
    }

    /// A customization is switched for a session, a directory or everywhere.
    /// Up to 0.7 a switch is on or off.
    pub fn switches_in_scopes(self) -> bool {
        self > Self::V0_7
    }

    /// A turn can be resumed. Up to 0.8 that is told as a cut before it and a
    /// new start.
    pub fn resumes_turns(self) -> bool {
        self > Self::V0_8
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.baseline() {
            Some(release) => release.fmt(f),
            None => f.write_str(DRAFT_1),
        }
    }
}

/// What draft 1 is called where versions have names. No client offers that.
const DRAFT_1: &str = "draft 1";

/// The name of a draft that a client counts. There was only one; the name of
/// any other belongs to nothing.
pub fn draft(number: i64) -> String {
    format!("draft {number}")
}

/// The highest offered version that the host speaks. Offers that are no
/// version are passed over.
pub fn negotiate(offered: &[String]) -> Option<Version> {
    spoken(offered)
        .max_by_key(|(semver, _, _)| *semver)
        .map(|(_, version, _)| version)
}

/// Those offers that the host speaks, with the exact strings.
fn spoken(offered: &[String]) -> impl Iterator<Item = (SemVer, Version, &str)> {
    offered.iter().filter_map(|wire| {
        let release = SemVer::parse(wire)?;
        Some((release, Version::of_release(release)?, wire.as_str()))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SemVer(u64, u64, u64);

impl SemVer {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| {
            let canonical = part == "0" || !part.starts_with('0');
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            (canonical && digits).then(|| part.parse().ok()).flatten()
        });
        let version = Self(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(version)
    }

    fn is_compatible_with(self, base: Self) -> bool {
        let same_range = match base {
            Self(0, 0, patch) => (self.0, self.1, self.2) == (0, 0, patch),
            Self(0, minor, _) => (self.0, self.1) == (0, minor),
            Self(major, _, _) => self.0 == major,
        };
        same_range && self >= base
    }
}

impl fmt::Display for SemVer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(offered: &[&str], selected: Option<&str>) {
        let offered: Vec<String> = offered.iter().map(|&wire| wire.to_owned()).collect();
        let wire = negotiate(&offered).and_then(|version| version.as_offered(&offered));
        assert_eq!(wire, selected, "{offered:?}");
    }

    #[test]
    fn the_highest_compatible_offer_wins_whatever_its_place() {
        check(&["1.0.0"], Some("1.0.0"));
        check(&["1.0.0", "1.2.3", "1.1.0"], Some("1.2.3"));
        check(&["9.0.0", "1.0.1"], Some("1.0.1"));
        check(&["1.0.0", "0.9.0", "0.9.5"], Some("1.0.0"));
    }

    #[test]
    fn a_version_is_called_what_its_client_calls_it() {
        let offered = ["0.9.0", "0.2.1", "0.9.5", "1.0.0"].map(str::to_owned);
        assert_eq!(Version::V0_9.as_offered(&offered), Some("0.9.5"));
        assert_eq!(Version::V0_2.as_offered(&offered), Some("0.2.1"));
        assert_eq!(Version::V0_3.as_offered(&offered), None);
    }

    #[test]
    fn a_release_that_lacks_something_is_spoken_with_those_who_offer_nothing_later() {
        for (offered, version) in [
            ("0.5.0", Version::V0_5_0),
            ("0.5.1", Version::V0_5_1),
            ("0.5.2", Version::V0_5),
            ("0.5.9", Version::V0_5),
            ("0.4.7", Version::V0_4),
        ] {
            assert_eq!(Version::from_name(offered), Some(version), "{offered}");
        }
        check(&["0.5.0", "0.5.1"], Some("0.5.1"));
        check(&["0.5.1", "0.5.2", "0.4.0"], Some("0.5.2"));
    }

    #[test]
    fn offers_that_nobody_speaks_or_that_are_no_version_select_nothing() {
        check(&[], None);
        check(&["2.0.0", "0.0.9"], None);
        check(&["01.0.0", "1.0", "1.0.0-beta", "", "1.0.0.0"], None);
        check(&[&draft(0), &draft(1), &draft(2)], None);
    }

    #[test]
    fn draft_1_and_0_1_0_are_told_apart_by_name() {
        for version in Version::ALL {
            assert_eq!(Version::from_name(&version.to_string()), Some(version));
        }
        assert_eq!(Version::Draft1.as_offered(&[draft(1)]), Some("draft 1"));
        assert_eq!(
            Version::Draft1.as_offered(&[draft(2), "0.1.0".into()]),
            None
        );
        assert_eq!(Version::V0_1.as_offered(&[draft(1)]), None);
        check(&["0.1.0"], Some("0.1.0"));
        check(&["0.1.7", "0.1.0"], Some("0.1.7"));
    }
}
