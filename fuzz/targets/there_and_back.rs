//! What a client says in its version, raised to the newest and lowered again,
//! is what it said: the gates lose nothing that the version can express.
#![no_main]

use innkeeper_fuzz::said;
use innkeeper_judges::{CLIENTS_SAY, mirror};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::gates::{down, up};
use innkeeper_protocol::record::GateFacts;
use innkeeper_protocol::version::Version;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((version, _, json)) = said(data) else {
        return;
    };
    let number = version.to_string();
    let number = number.rsplit_once('.').map_or("", |(head, _)| head);
    let Some(mirror) = mirror(number) else {
        return;
    };
    // As the version's own types write it: what they do not know is no part of
    // the version.
    let Ok(mut action) = mirror.read_action(json) else {
        return;
    };
    let kind = action["type"].as_str().unwrap_or_default();
    let verb = kind.rsplit('/').next().unwrap_or_default();
    if !CLIENTS_SAY.contains(&verb) {
        return;
    }
    if version == Version::V0_1 && kind.starts_with("session/") {
        action["session"] = "x:c".into();
    }
    let (raised, piece) = up::action(version, "x:c", action.clone());
    if piece.is_some() {
        return;
    }
    let session = ChannelUri::from(raised.channel.as_str()).session_of_default_chat();
    let facts = GateFacts {
        is_default_chat: session.is_some(),
        session,
        extra: None,
    };
    let again = down::action(version, &raised.channel, raised.action, &facts);
    assert_eq!(again.len(), 1, "{action}");
    let again = mirror.read_action(again[0].action.clone().into());
    assert_eq!(again, Ok(action));
});
