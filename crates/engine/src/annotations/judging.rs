//! Whether what a client says about annotations is accepted: by the rules of the
//! protocol, and within the limits of the host.

use std::collections::HashSet;

use innkeeper_protocol::newest::actions::{AnnotationsRemovedAction, StateAction};
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{Annotation, AnnotationEntry, AnnotationOrigin, TextRange};
use innkeeper_protocol::outgoing::RejectionCode;

use super::After;
use super::anchor::Anchor;
use crate::core::channels::{Annotations, length_of_json};
use crate::core::{Refusal, Verdict};

/// How many annotations a session has at most.
const MOST_ANNOTATIONS: usize = 1_000;
/// How many entries an annotation has at most.
const MOST_ENTRIES: usize = 200;
/// How long the text of an entry is at most.
const MOST_TEXT_BYTES: usize = 64 * 1024;
/// How large the `_meta` of an annotation or of an entry is at most.
const MOST_META_BYTES: usize = 64 * 1024;
/// How large all annotations of a session are together. They are sent to
/// whoever subscribes, in one piece.
const MOST_BYTES: usize = 8 * 1024 * 1024;

pub(super) fn judge(known: &Annotations, action: StateAction) -> Verdict<After> {
    let (checked, after) = match &action {
        StateAction::AnnotationsSet(set) => {
            let after = After::Placed {
                id: set.annotation.id.clone(),
                moved: is_moved(known, &set.annotation),
            };
            (check_set(known, &set.annotation), after)
        }
        StateAction::AnnotationsUpdated(updated) => {
            let origin = updated.origin.as_ref();
            let checked = origin
                .map_or(Ok(()), |origin| check_origin(known, origin))
                .and_then(|()| updated.resource.as_deref().map_or(Ok(()), check_resource))
                .and_then(|()| updated.range.as_ref().map_or(Ok(()), check_range));
            let moves = updated.resource.is_some() || updated.range.is_some();
            let after = match moves {
                true => After::Placed {
                    id: updated.annotation_id.clone(),
                    moved: true,
                },
                false => After::Nothing,
            };
            (checked, after)
        }
        StateAction::AnnotationsEntrySet(set) => {
            let annotation = known.find(&set.annotation_id);
            let checked = annotation.map_or(Ok(()), |it| check_added(known, it, &set.entry));
            (checked, After::Nothing)
        }
        StateAction::AnnotationsEntryRemoved(removed) => {
            // An annotation without entries must not be left behind.
            let annotation = known.find(&removed.annotation_id);
            let is_last = annotation.is_some_and(|annotation| {
                matches!(&annotation.entries[..], [only] if only.id == removed.entry_id)
            });
            if is_last {
                let annotation_id = removed.annotation_id.clone();
                let collapsed = AnnotationsRemovedAction { annotation_id };
                return Verdict::Apply(StateAction::AnnotationsRemoved(collapsed), After::Nothing);
            }
            (Ok(()), After::Nothing)
        }
        StateAction::AnnotationsRemoved(_) => (Ok(()), After::Nothing),
        _ => return Verdict::NotAccepted(action),
    };
    match checked {
        Ok(()) => Verdict::Apply(action, after),
        Err(refusal) => Verdict::Reject(action, refusal),
    }
}

/// Whether an annotation is put elsewhere with the note of where it was.
fn is_moved(known: &Annotations, annotation: &Annotation) -> bool {
    known.find(&annotation.id).is_some_and(|before| {
        let place = (&annotation.resource, &annotation.range);
        place != (&before.resource, &before.range)
            && Anchor::read(annotation.meta.as_ref()) == Anchor::read(before.meta.as_ref())
    })
}

fn limit_reached(reason: String) -> Refusal {
    Refusal::new(RejectionCode::LimitReached, reason)
}

fn check_set(known: &Annotations, annotation: &Annotation) -> Result<(), Refusal> {
    if annotation.id.is_empty() {
        return Err("an annotation needs an id; choose one that the session has not seen".into());
    }
    if annotation.entries.is_empty() {
        return Err(
            "an annotation needs at least one entry; to delete one, dispatch \
             `annotations/removed`"
                .into(),
        );
    }
    let before = known.find(&annotation.id);
    if before.is_none() && annotation.resolved {
        return Err(
            "a new annotation is unresolved; create it, then resolve it with \
             `annotations/updated`"
                .into(),
        );
    }
    check_origin(known, &annotation.origin)?;
    check_resource(&annotation.resource)?;
    annotation.range.as_ref().map_or(Ok(()), check_range)?;
    check_meta(annotation.meta.as_ref())?;
    if annotation.entries.len() > MOST_ENTRIES {
        return Err(too_many_entries());
    }
    let mut ids = HashSet::new();
    for entry in &annotation.entries {
        check_entry(entry)?;
        if !ids.insert(entry.id.as_str()) {
            let reason = format!(
                "two entries have the id `{}`; give each entry of an annotation an id of its own",
                entry.id
            );
            return Err(reason.into());
        }
    }
    if before.is_none() && known.state.annotations.len() >= MOST_ANNOTATIONS {
        return Err(limit_reached(format!(
            "a session has at most {MOST_ANNOTATIONS} annotations; delete some that are resolved"
        )));
    }
    let growth = length_of_json(annotation).saturating_sub(before.map_or(0, length_of_json));
    check_growth(known, growth)
}

fn check_added(
    known: &Annotations,
    annotation: &Annotation,
    entry: &AnnotationEntry,
) -> Result<(), Refusal> {
    check_entry(entry)?;
    let before = annotation.entries.iter().find(|it| it.id == entry.id);
    if before.is_none() && annotation.entries.len() >= MOST_ENTRIES {
        return Err(too_many_entries());
    }
    let growth = length_of_json(entry).saturating_sub(before.map_or(0, length_of_json));
    check_growth(known, growth)
}

/// Whether an agent may say this to an annotation.
pub(crate) fn check_answer(
    known: &Annotations,
    annotation: &Annotation,
    entry: &AnnotationEntry,
) -> Result<(), String> {
    check_added(known, annotation, entry).map_err(|refusal| refusal.reason)
}

fn too_many_entries() -> Refusal {
    limit_reached(format!(
        "an annotation has at most {MOST_ENTRIES} entries; delete some, or begin another annotation"
    ))
}

fn check_growth(known: &Annotations, growth: usize) -> Result<(), Refusal> {
    match growth > 0 && known.bytes() + growth > MOST_BYTES {
        true => Err(limit_reached(format!(
            "the annotations of a session have at most {MOST_BYTES} bytes together; delete some \
             that are resolved"
        ))),
        false => Ok(()),
    }
}

fn check_entry(entry: &AnnotationEntry) -> Result<(), Refusal> {
    if entry.id.is_empty() {
        return Err("an entry needs an id; choose one that the annotation has not seen".into());
    }
    let text = match &entry.text {
        StringOrMarkdown::Plain(text) => text,
        StringOrMarkdown::Markdown { markdown } => markdown,
    };
    if text.trim().is_empty() {
        return Err(
            "an entry needs a text; to delete one, dispatch `annotations/entryRemoved`".into(),
        );
    }
    if text.len() > MOST_TEXT_BYTES {
        let bytes = text.len();
        return Err(limit_reached(format!(
            "the text of this entry has {bytes} bytes, and one has at most {MOST_TEXT_BYTES}; \
             divide it into several"
        )));
    }
    check_meta(entry.meta.as_ref())
}

fn check_meta(meta: Option<&JsonObject>) -> Result<(), Refusal> {
    match meta.map_or(0, length_of_json) {
        bytes if bytes > MOST_META_BYTES => Err(limit_reached(format!(
            "this `_meta` has {bytes} bytes, and one has at most {MOST_META_BYTES}; keep large \
             data elsewhere and refer to it"
        ))),
        _ => Ok(()),
    }
}

fn check_origin(known: &Annotations, origin: &AnnotationOrigin) -> Result<(), Refusal> {
    match origin.session == known.session.as_str() {
        true => Ok(()),
        false => Err(format!(
            "these annotations belong to `{}`; name that session in `origin.session`",
            known.session
        )
        .into()),
    }
}

fn check_resource(resource: &str) -> Result<(), Refusal> {
    match resource.split_once(':') {
        Some((scheme, rest)) if !scheme.is_empty() && !rest.is_empty() => Ok(()),
        _ => Err(
            "the `resource` of an annotation is the URI of a file, such as \
             `file:///project/main.rs`"
                .into(),
        ),
    }
}

fn check_range(range: &TextRange) -> Result<(), Refusal> {
    let TextRange { start, end } = range;
    let is_negative = [start.line, start.character, end.line, end.character]
        .iter()
        .any(|number| *number < 0);
    let is_reversed = (end.line, end.character) < (start.line, start.character);
    match is_negative || is_reversed {
        true => Err("a range begins at line 0 or later and does not end before it begins".into()),
        false => Ok(()),
    }
}
