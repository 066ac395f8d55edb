//! 0.5.1 → 0.5.0: nothing told what waits for the user; history came with the
//! answer, and sessions were listed at once; agents did not say what they can
//! do, calls not what they are for, and content had no nonce.

use super::object::{self, drop_keys};
use super::{Act, ChangesTurns, Gate, LoweredFacts, Node, Object};
use crate::version::Version;

pub(super) struct Changes;

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_5_0
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::With(&["\"nonce\"", "\"intention\""])
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::SessionState => {
                drop_keys(it, &["inputNeeded"]);
                // No action of 0.5.0 changes what a session's status says of
                // its activity: that is told by its chats and the catalogue.
                object::set_status(it, object::ACTIVITY, object::IDLE);
            }
            Node::ChatState => drop_keys(it, &["turnsNextCursor"]),
            Node::Part | Node::Attachment | Node::ContentRef | Node::ToolContent => {
                drop_keys(it, &["nonce"]);
            }
            Node::ToolCall => drop_keys(it, &["intention"]),
            Node::ChildCustomization => drop_keys(it, &["model", "tools"]),
            Node::Agent => drop_keys(it, &["capabilities"]),
            _ => {}
        }
        true
    }

    fn lower_action(&self, mut act: Act, _known: &LoweredFacts, out: &mut Vec<Act>) {
        match act.kind() {
            "chat/turnsLoaded" | "session/inputNeededSet" | "session/inputNeededRemoved" => return,
            "chat/toolCallStart" => drop_keys(&mut act.action, &["intention"]),
            _ => {}
        }
        out.push(act);
    }

    fn raise_params(&self, method: &str, params: &mut Object) {
        if method == "listSessions" {
            drop_keys(params, &["filter"]);
        }
    }

    fn lower_result(&self, method: &str, result: &mut Object) {
        if method == "listSessions" {
            drop_keys(result, &["nextCursor"]);
        }
    }
}
