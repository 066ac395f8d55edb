//! What clients ask of this host besides the protocol.

use serde_json::json;

use crate::acts::{CHATS, any_chat, any_session, ask};
use crate::client::Asked;
use crate::world::World;

/// Takes turns back, or returns to what was kept.
pub(crate) fn take_back(world: &mut World, client: usize) {
    let chat = any_chat(world, client);
    if world.rng.chance(35) {
        world.note("undoTakeBack");
        let params = json!({"channel": chat});
        return ask(
            world,
            client,
            "innkeeper/undoTakeBack",
            &params,
            Asked::Other,
        );
    }
    let turns = world.clients[client].turns(&chat);
    let turn = world.rng.pick(&turns).cloned().unwrap_or_default();
    let fork = *world.rng.pick(&CHATS).unwrap_or(&"");
    let files = world.rng.chance(60);
    let params = json!({"channel": chat, "turnId": turn, "fork": fork, "files": files});
    world.note("takeBack");
    ask(world, client, "innkeeper/takeBack", &params, Asked::Other);
}

pub(crate) fn search(world: &mut World, client: usize) {
    let mut params = json!({"query": "history"});
    if world.rng.chance(30) {
        params["session"] = json!(any_session(world));
    }
    ask(
        world,
        client,
        "innkeeper/searchSessions",
        &params,
        Asked::Other,
    );
}
