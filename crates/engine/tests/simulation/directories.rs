//! Where sessions and chats work, as their clients change it.

use serde_json::{Value, json};

use crate::changes::DIRECTORIES;
use crate::hear::State;
use crate::world::World;

/// What a client says about the directories of a session. Up to 0.6, a session
/// has one directory, the first, and no word for another one: where clients of
/// those versions look on, the first one stays.
pub(crate) fn change(world: &mut World, client: usize, session: &str) -> Value {
    let known = match world.clients[client].mirrors.get(session) {
        Some(mirror) => match &mirror.state {
            State::Session(state) => state.working_directories.clone().unwrap_or_default(),
            _ => Vec::new(),
        },
        None => Vec::new(),
    };
    let alone = world.onlookers.is_empty();
    if !alone && known.is_empty() {
        return json!({"type": "session/isReadChanged", "isRead": true});
    }
    let changeable = &known[usize::from(!alone).min(known.len())..];
    let new = world.rng.pick(&DIRECTORIES).copied().unwrap_or_default();
    let old = world.rng.pick(changeable).cloned();
    // Where the first one stays, it is seldom that there is another one.
    let kinds = if alone { 3 } else { 2 };
    match (world.rng.below(kinds), old) {
        (0, Some(old)) => json!({"type": "session/workingDirectoryRemoved", "directory": old}),
        (1, Some(old)) => {
            json!({"type": "session/workingDirectoryReplaced", "directory": old,
                   "replacement": new})
        }
        _ => json!({"type": "session/workingDirectorySet", "directory": new}),
    }
}

/// What a client says about the directories of a chat, where nobody speaks a
/// version in which these cannot change.
pub(crate) fn change_chat(world: &mut World) -> Value {
    if !world.onlookers.is_empty() {
        return json!({"type": "chat/isReadChanged", "isRead": true});
    }
    let what = world.rng.pick(&["Set", "Set", "Removed"]).copied();
    let kind = format!("chat/workingDirectory{}", what.unwrap_or_default());
    json!({"type": kind, "directory": world.rng.pick(&DIRECTORIES)})
}
