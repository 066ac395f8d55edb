//! What was written about the files of a session in memory.

use std::collections::BTreeSet;

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
    /// Those whose rows in the store are older than the state, by id.
    dirty: BTreeSet<String>,
}

impl Annotations {
    pub(crate) fn new(session: &ChannelUri, annotations: Vec<Annotation>) -> Self {
        Self {
            uri: ChannelUri::annotations_of(session.as_str()),
            session: session.clone(),
            bytes: annotations.iter().map(length_of_json).sum(),
            state: AnnotationsState { annotations },
            dirty: BTreeSet::new(),
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
            self.dirty.insert(id.to_owned());
        }
        outcome
    }

    /// What the store has to be told.
    pub(crate) fn store(&mut self, ops: &mut Vec<StoreOp>) {
        for id in std::mem::take(&mut self.dirty) {
            let session = self.session.clone();
            ops.push(match self.find(&id) {
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
