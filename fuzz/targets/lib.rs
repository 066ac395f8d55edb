//! What the targets share: how a fuzzer's bytes become something to say. The
//! first byte chooses the version, the second what it is; the rest is JSON.

pub mod host;

use innkeeper_protocol::version::Version;
use serde_json::Value;

/// A version, a number to choose by, and some JSON.
pub fn said(data: &[u8]) -> Option<(Version, u8, Value)> {
    let (&[version, choice], json) = data.split_first_chunk()?;
    let version = Version::ALL[usize::from(version) % Version::ALL.len()];
    Some((version, choice, serde_json::from_slice(json).ok()?))
}
