//! What was written about the files of a session in memory.

use ahp::reducers::{ReduceOutcome, apply_action_to_annotations};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::{Annotation, AnnotationsState, AnnotationsSummary};
use innkeeper_protocol::record::StoreOp;

use super::length_of_json;

#[derive(Debug)]
pub(crate) struct Annotations {
    pub(crate) uri: ChannelUri,
    pub(crate) session: ChannelUri,
    pub(crate) state: AnnotationsState,
    /// How many bytes of JSON they are.
    bytes: usize,
    /// What the store has to be told, in order: the store keeps the order of the
    /// annotations too.
    dirty: Vec<Dirty>,
}

/// An annotation whose row in the store is older than the state.
#[derive(Debug)]
struct Dirty {
    id: String,
    is_removed: bool,
}

impl Annotations {
    pub(crate) fn new(session: &ChannelUri, annotations: Vec<Annotation>) -> Self {
        Self {
            uri: ChannelUri::annotations_of(session.as_str()),
            session: session.clone(),
            bytes: annotations.iter().map(length_of_json).sum(),
            state: AnnotationsState { annotations },
            dirty: Vec::new(),
        }
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Annotation> {
        self.state.annotations.iter().find(|it| it.id == id)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn summary(&self) -> AnnotationsSummary {
        let all = &self.state.annotations;
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        AnnotationsSummary {
            resource: self.uri.to_string(),
            annotation_count: count(all.len()),
            entry_count: count(all.iter().map(|it| it.entries.len()).sum()),
        }
    }

    pub(crate) fn reduce(&mut self, action: &StateAction) -> ReduceOutcome {
        let Some(id) = annotation_of(action) else {
            return apply_action_to_annotations(&mut self.state, action);
        };
        let before = self.find(id).map_or(0, length_of_json);
        let outcome = apply_action_to_annotations(&mut self.state, action);
        if outcome == ReduceOutcome::Applied {
            let after = self.find(id).map_or(0, length_of_json);
            self.bytes = self.bytes.saturating_sub(before) + after;
            self.is_dirty(id);
        }
        outcome
    }

    fn is_dirty(&mut self, id: &str) {
        let is_removed = self.find(id).is_none();
        if is_removed {
            self.dirty.retain(|dirty| dirty.id != id);
        }
        let known = |dirty: &Dirty| dirty.id == id && !dirty.is_removed;
        if !self.dirty.iter().any(known) {
            let id = id.to_owned();
            self.dirty.push(Dirty { id, is_removed });
        }
    }

    /// What the store has to be told.
    pub(crate) fn store(&mut self, ops: &mut Vec<StoreOp>) {
        for Dirty { id, is_removed } in std::mem::take(&mut self.dirty) {
            let session = self.session.clone();
            ops.push(match self.find(&id).filter(|_| !is_removed) {
                Some(annotation) => StoreOp::PutAnnotation {
                    session,
                    annotation: Box::new(annotation.clone()),
                },
                None => StoreOp::RemoveAnnotation { session, id },
            });
        }
    }
}

/// The annotation that an action is about.
fn annotation_of(action: &StateAction) -> Option<&str> {
    Some(match action {
        StateAction::AnnotationsSet(set) => &set.annotation.id,
        StateAction::AnnotationsUpdated(updated) => &updated.annotation_id,
        StateAction::AnnotationsRemoved(removed) => &removed.annotation_id,
        StateAction::AnnotationsEntrySet(set) => &set.annotation_id,
        StateAction::AnnotationsEntryRemoved(removed) => &removed.annotation_id,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_store_is_told_in_the_order_of_the_annotations() {
        let session = ChannelUri::from("ahp-session:/1");
        let mut annotations = Annotations::new(&session, Vec::new());
        let action = |action: serde_json::Value| serde_json::from_value(action).unwrap();
        let set = |id: &str| {
            let origin = json!({"session": "ahp-session:/1"});
            let annotation = json!({"id": id, "origin": origin, "resource": "file:///a",
                                    "resolved": false, "entries": []});
            action(json!({"type": "annotations/set", "annotation": annotation}))
        };
        let told = |annotations: &mut Annotations| {
            let mut ops = Vec::new();
            annotations.store(&mut ops);
            let told = ops.into_iter().map(|op| match op {
                StoreOp::PutAnnotation { annotation, .. } => format!("put {}", annotation.id),
                StoreOp::RemoveAnnotation { id, .. } => format!("remove {id}"),
                other => panic!("{other:?}"),
            });
            told.collect::<Vec<_>>()
        };
        for id in ["n2", "n1", "n2"] {
            annotations.reduce(&set(id));
        }
        assert_eq!(told(&mut annotations), ["put n2", "put n1"]);
        // It comes back at the end.
        annotations.reduce(&set("n2"));
        let remove = json!({"type": "annotations/removed", "annotationId": "n2"});
        annotations.reduce(&action(remove));
        annotations.reduce(&set("n2"));
        assert_eq!(told(&mut annotations), ["remove n2", "put n2"]);
        assert_eq!(told(&mut annotations), [""; 0]);
    }
}
