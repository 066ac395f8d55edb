//! Annotations follow their lines. What is in those lines is noted when an
//! annotation is made or moved; when the file may have changed, it is read, and
//! the range moves to where the lines are, or the annotation says that they are
//! lost. All of that is told as other changes of annotations are.

use std::collections::BTreeSet;

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    AnnotationsSetAction, AnnotationsUpdatedAction, StateAction,
};
use innkeeper_protocol::newest::state::{Annotation, TextPosition, TextRange};
use innkeeper_protocol::workspace::resource::Scope;

use super::anchor::{Anchor, MOST_FILE_BYTES, Text};
use super::{After, judging};
use crate::core::{Core, Sender};
use crate::effect::{Effect, Ticket};

/// What is still to be read so that annotations stand where their lines are. Of
/// each session one file is read at a time, however much is written about it.
#[derive(Debug, Default)]
pub(crate) struct Anchoring {
    sessions: HashMap<ChannelUri, Looking>,
    reading: HashMap<Ticket, (ChannelUri, String)>,
}

/// What is to be looked at in one session.
#[derive(Debug, Default)]
struct Looking {
    files: BTreeSet<String>,
    /// The annotations whose lines are noted anew, because somebody just moved
    /// them. The lines of all others are looked for.
    moved: BTreeSet<String>,
    reads: bool,
}

impl Anchoring {
    /// Takes what a client dispatched to the annotations of a session.
    pub(crate) fn dispatched(
        &mut self,
        core: &mut Core,
        channel: &ChannelUri,
        action: StateAction,
        sender: Sender,
    ) {
        let Some(known) = core.channels.annotations(channel) else {
            return;
        };
        let session = known.session.clone();
        let verdict = judging::judge(known, action);
        match core.carry_out(channel, sender, verdict) {
            Some(After::Placed { id, moved }) => self.placed(core, &session, id, moved),
            Some(After::Nothing) | None => {}
        }
    }

    /// Somebody said where an annotation stands.
    fn placed(&mut self, core: &mut Core, session: &ChannelUri, id: String, moved: bool) {
        let channel = ChannelUri::annotations_of(session.as_str());
        let known = core.channels.annotations(&channel);
        let annotation = known.and_then(|it| it.find(&id));
        let Some(annotation) = annotation.filter(|it| is_anchored(it)) else {
            return;
        };
        let looking = self.sessions.entry(session.clone()).or_default();
        looking.files.insert(annotation.resource.clone());
        if moved {
            looking.moved.insert(id);
        }
        self.go_on(core, session);
    }

    /// The files of a session may have changed.
    pub(crate) fn files_changed(&mut self, core: &mut Core, session: &ChannelUri) {
        let channel = ChannelUri::annotations_of(session.as_str());
        let Some(known) = core.channels.annotations(&channel) else {
            return;
        };
        let anchored = known.state.annotations.iter().filter(|it| is_anchored(it));
        let mut files = anchored.map(|it| it.resource.clone()).peekable();
        if files.peek().is_some() {
            let looking = self.sessions.entry(session.clone()).or_default();
            looking.files.extend(files);
            self.go_on(core, session);
        }
    }

    /// Has the next file read, unless one is being read.
    fn go_on(&mut self, core: &mut Core, session: &ChannelUri) {
        let Some(looking) = self.sessions.get_mut(session).filter(|it| !it.reads) else {
            return;
        };
        let Some(file) = looking.files.pop_first() else {
            self.sessions.remove(session);
            return;
        };
        looking.reads = true;
        let configured = core.config.workspace.roots.clone();
        let scope = Scope {
            lists: vec![configured, core.channels.directories().clone()],
            most_bytes: MOST_FILE_BYTES,
        };
        let ticket = core.next_ticket();
        self.reading.insert(ticket, (session.clone(), file.clone()));
        core.effect(Effect::ReadText {
            ticket,
            scope,
            file,
        });
    }

    /// A file was read. There is no text if it is missing, too large or not a
    /// text.
    pub(crate) fn text_read(&mut self, core: &mut Core, ticket: Ticket, text: Option<&str>) {
        let Some((session, file)) = self.reading.remove(&ticket) else {
            return;
        };
        let Some(looking) = self.sessions.get_mut(&session) else {
            return;
        };
        looking.reads = false;
        let channel = ChannelUri::annotations_of(session.as_str());
        let Some(known) = core.channels.annotations(&channel) else {
            self.sessions.remove(&session);
            return;
        };
        let all = known.state.annotations.iter();
        let there = all.filter(|it| is_anchored(it) && it.resource == file);
        let text = text.map(Text::of);
        let text = text.as_ref();
        let actions: Vec<StateAction> = there
            .filter_map(|annotation| match looking.moved.remove(&annotation.id) {
                true => note(annotation, text),
                false => follow(annotation, text),
            })
            .collect();
        for action in actions {
            core.emit(&channel, action, None);
        }
        self.go_on(core, &session);
    }
}

/// Whether an annotation stands in lines of a file that may change.
fn is_anchored(annotation: &Annotation) -> bool {
    annotation.range.is_some() && annotation.resource.starts_with("file:")
}

/// The first line of a range and the last one that it has something of.
fn lines_of(range: &TextRange) -> Option<(usize, usize)> {
    let first = usize::try_from(range.start.line).ok()?;
    let last = usize::try_from(range.end.line).ok()?;
    let ends_before = range.end.character == 0 && last > first;
    Some((first, last - usize::from(ends_before)))
}

/// Notes what is in the lines of an annotation.
fn note(annotation: &Annotation, text: Option<&Text<'_>>) -> Option<StateAction> {
    let (first, last) = lines_of(annotation.range.as_ref()?)?;
    let anchor = text.and_then(|text| Anchor::of(text, first, last));
    // Whoever made it may have quoted lines that are not there any more.
    let anchor = anchor.unwrap_or_else(|| Anchor {
        lost: true,
        ..Anchor::read(annotation.meta.as_ref()).unwrap_or_default()
    });
    with_anchor(annotation, annotation.range.clone(), &anchor)
}

/// Looks for the lines of an annotation.
fn follow(annotation: &Annotation, text: Option<&Text<'_>>) -> Option<StateAction> {
    let range = annotation.range.as_ref()?;
    let (first, last) = lines_of(range)?;
    let Some(anchor) = Anchor::read(annotation.meta.as_ref()).filter(|it| !it.lines.is_empty())
    else {
        return note(annotation, text);
    };
    let found = text.and_then(|text| Some((text, anchor.find(text, first)?)));
    let Some((text, at)) = found else {
        let lost = Anchor {
            lost: true,
            ..anchor
        };
        return with_anchor(annotation, Some(range.clone()), &lost);
    };
    let by = i64::try_from(at).ok()? - i64::try_from(first).ok()?;
    let moved = |position: &TextPosition| TextPosition {
        line: position.line + by,
        character: position.character,
    };
    let moved = TextRange {
        start: moved(&range.start),
        end: moved(&range.end),
    };
    let now = Anchor::of(text, at, at + (last - first))?;
    if anchor.lost {
        return with_anchor(annotation, Some(moved), &now);
    }
    // That the surroundings changed is not worth a message: what was noted goes
    // on telling where the lines are.
    (moved != *range).then(|| {
        StateAction::AnnotationsUpdated(AnnotationsUpdatedAction {
            annotation_id: annotation.id.clone(),
            origin: None,
            resource: None,
            range: Some(moved),
            resolved: None,
        })
    })
}

/// The annotation with another anchor, unless it has it already. Only replacing
/// all of it can change its `_meta`.
fn with_anchor(
    annotation: &Annotation,
    range: Option<TextRange>,
    anchor: &Anchor,
) -> Option<StateAction> {
    let meta = Some(anchor.write(annotation.meta.as_ref()));
    if meta == annotation.meta && range == annotation.range {
        return None;
    }
    let annotation = Annotation {
        meta,
        range,
        ..annotation.clone()
    };
    Some(StateAction::AnnotationsSet(AnnotationsSetAction {
        annotation,
    }))
}
