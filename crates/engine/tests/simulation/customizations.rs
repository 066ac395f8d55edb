//! What customizes sessions here: files that come, go and change.

use innkeeper_engine::Input;
use innkeeper_protocol::newest::state::Customization;
use innkeeper_protocol::workspace::customization::{
    CustomizationReport, FoundCustomization, SourceId,
};
use serde_json::json;

use crate::rng::Rng;

/// What clients may try to switch.
pub(crate) const IDS: [&str; 5] = ["x:a", "x:b", "x:a/1", "x:b#server", "nothing"];

/// Some of what there may be, in some state.
pub(crate) fn report(rng: &mut Rng, source: SourceId) -> Input {
    let mut all = Vec::new();
    if rng.chance(80) {
        let names = ["one", "uno"];
        let load = [
            json!({"kind": "loaded"}),
            json!({"kind": "degraded", "message": "odd"}),
        ];
        all.push(json!({
            "type": "directory", "id": "x:a", "uri": "x:a", "name": "A", "enabled": true,
            "contents": "rule", "writable": false, "load": rng.pick(&load), "children": [
                {"type": "rule", "id": "x:a/1", "uri": "x:a/1", "name": rng.pick(&names)},
            ],
        }));
    }
    if rng.chance(60) {
        all.push(json!({
            "type": "plugin", "id": "x:b", "uri": "x:b", "name": "B", "children": [
                {"type": "mcpServer", "id": "x:b#server", "uri": "x:b", "name": "server",
                 "state": {"kind": "stopped"}},
            ],
        }));
    }
    if rng.chance(20) {
        all.push(json!({"type": "plugin", "id": "x:c", "uri": "x:c", "name": "C"}));
    }
    let found = all.into_iter().map(|it| {
        let customization: Customization = serde_json::from_value(it).unwrap();
        assert!(!matches!(customization, Customization::Unknown(_)));
        FoundCustomization {
            customization,
            servers: Vec::new(),
            texts: Default::default(),
        }
    });
    Input::Customization(CustomizationReport::Found {
        source,
        found: found.collect(),
    })
}
