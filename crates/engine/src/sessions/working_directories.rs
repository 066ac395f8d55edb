//! What clients say about where a session or one of its chats works. The agent
//! of a chat learns it when its conversation is opened, so the conversation is
//! opened again: before the next turn, never in the middle of one.
//!
//! Only the machine knows whether a new directory is there. While it looks,
//! whatever else is said about the directories of the session waits, so that
//! all of it happens in the order in which it was said.

use std::collections::VecDeque;

use ahp::reducers::{ReduceOutcome, apply_action_to_chat, apply_action_to_session};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    ChatWorkingDirectoryRemovedAction, ChatWorkingDirectorySetAction, StateAction,
};
use innkeeper_protocol::newest::state::{
    MultipleWorkingDirectoriesCapability, SessionLifecycle, SessionState,
};
use innkeeper_protocol::outgoing::RejectionCode;
use innkeeper_protocol::rpc::RpcError;

use super::SessionsMut;
use crate::core::channels::{Chat, directories_in};
use crate::core::{Core, Refusal, Sender, Verdict};
use crate::effect::{Effect, Ticket};

/// How many changes wait in one session while a directory is looked at.
const MOST_WAITING: usize = 64;

/// A change that somebody asked for.
#[derive(Debug)]
struct Asked {
    channel: ChannelUri,
    action: StateAction,
    sender: Sender,
}

/// A session in which a change waits for the machine.
#[derive(Debug)]
pub(super) struct Changing {
    ticket: Ticket,
    asked: Asked,
    /// What was said after it.
    waiting: VecDeque<Asked>,
}

/// What a change means for the chats of its session.
#[derive(Debug, Default)]
struct Change {
    /// The chats whose agents work elsewhere from now on.
    chats: Vec<ChannelUri>,
    /// What chats lose and gain with their session.
    follows: Vec<(ChannelUri, StateAction)>,
}

impl SessionsMut<'_> {
    /// Takes what a client dispatched about the directories of a session or a
    /// chat.
    pub(crate) fn directories_dispatched(
        &mut self,
        channel: &ChannelUri,
        action: StateAction,
        sender: Sender,
    ) {
        let asked = Asked {
            channel: channel.clone(),
            action,
            sender,
        };
        let channels = &self.turns.core.channels;
        let session = channels.session_of(channel).unwrap_or(channel.clone());
        let Some(changing) = self.own.changing.get_mut(&session) else {
            return self.change_directories(&session, VecDeque::from([asked]));
        };
        if changing.waiting.len() < MOST_WAITING {
            return changing.waiting.push_back(asked);
        }
        let why = format!(
            "{MOST_WAITING} changes of this session's directories wait already; send it again \
             when they are done"
        );
        let refusal = Refusal::new(RejectionCode::LimitReached, why);
        self.refuse_change(asked, refusal);
    }

    /// The machine has looked at a directory that a session is to have. Returns
    /// whether anybody wanted to know.
    pub(super) fn new_directory_checked(&mut self, ticket: Ticket, wrong: Option<&str>) -> bool {
        let mut all = self.own.changing.iter();
        let of_ticket = all.find(|(_, it)| it.ticket == ticket);
        let Some(session) = of_ticket.map(|(session, _)| session.clone()) else {
            return false;
        };
        let Some(changing) = self.own.changing.remove(&session) else {
            return false;
        };
        match wrong {
            Some(wrong) => self.refuse_change(changing.asked, wrong.into()),
            // Much may have happened meanwhile.
            None => match self.judge_change(&session, &changing.asked) {
                Ok(change) => self.carry_out_change(changing.asked, change),
                Err(refusal) => self.refuse_change(changing.asked, refusal),
            },
        }
        self.change_directories(&session, changing.waiting);
        true
    }

    /// The session is gone, and what waits in it with it.
    pub(super) fn changes_no_more(&mut self, session: &ChannelUri, why: &str) {
        let Some(changing) = self.own.changing.remove(session) else {
            return;
        };
        for asked in std::iter::once(changing.asked).chain(changing.waiting) {
            self.refuse_change(asked, Refusal::new(RejectionCode::NoSuchChannel, why));
        }
    }

    /// Does what was asked for, up to what the machine has to be asked about.
    fn change_directories(&mut self, session: &ChannelUri, mut waiting: VecDeque<Asked>) {
        while let Some(asked) = waiting.pop_front() {
            let change = match self.judge_change(session, &asked) {
                Ok(change) => change,
                Err(refusal) => {
                    self.refuse_change(asked, refusal);
                    continue;
                }
            };
            let new = new_directory(&asked.action).filter(|_| change.is_some());
            let Some(directory) = new.filter(|it| it.starts_with("file:")) else {
                self.carry_out_change(asked, change);
                continue;
            };
            let directories = vec![directory.to_owned()];
            let ticket = self.core().next_ticket();
            self.core().effect(Effect::CheckDirectories {
                ticket,
                directories,
            });
            let changing = Changing {
                ticket,
                asked,
                waiting,
            };
            self.own.changing.insert(session.clone(), changing);
            return;
        }
    }

    fn refuse_change(&mut self, asked: Asked, refusal: Refusal) {
        let Asked {
            channel,
            action,
            sender,
        } = asked;
        self.core().reject(channel, action, sender, refusal);
    }

    fn carry_out_change(&mut self, asked: Asked, change: Option<Change>) {
        let Asked {
            channel,
            action,
            sender,
        } = asked;
        let verdict = match change {
            Some(change) => Verdict::Apply(action, change),
            None => Verdict::Confirm(action, Change::default()),
        };
        let Some(change) = self.core().carry_out(&channel, sender, verdict) else {
            return;
        };
        for (chat, action) in change.follows {
            self.core().emit(&chat, action, None);
        }
        for chat in change.chats {
            self.turns.open_anew(&chat);
        }
    }

    /// What a change would mean; nothing, if all is so already.
    fn judge_change(&self, session: &ChannelUri, asked: &Asked) -> Result<Option<Change>, Refusal> {
        let core = &*self.turns.core;
        let Some(session) = core.channels.session(session) else {
            let why = format!("`{}` does not exist", asked.channel);
            return Err(Refusal::new(RejectionCode::NoSuchChannel, why));
        };
        let before = &session.state;
        let agent = self.turns.agents.of_session(before);
        let capabilities = agent.and_then(|agent| agent.info.capabilities.as_ref());
        let can = capabilities.and_then(|can| can.multiple_working_directories.as_ref());
        let Some(can) = can else {
            let why = "the agent of this session works in one directory; create another session \
                       for another directory";
            return Err(why.into());
        };
        let mut after = before.clone();
        let mut chat_after = None;
        let outcome = match core.channels.chat(&asked.channel) {
            None => apply_action_to_session(&mut after, &asked.action),
            Some(chat) => {
                let mut head = chat.head.clone();
                let outcome = apply_action_to_chat(&mut head, &asked.action);
                chat_after = Some((&chat.uri, head.working_directories));
                outcome
            }
        };
        check_new(core, before, &asked.action)?;
        if outcome != ReduceOutcome::Applied {
            return Ok(None);
        }
        check_primary(before, &asked.action, can)?;
        let is_new = before.lifecycle != SessionLifecycle::Ready;
        if is_new && !matches!(asked.action, StateAction::SessionWorkingDirectorySet(_)) {
            let why = "the session is not ready; change its directories when it is";
            return Err(Refusal::new(RejectionCode::Unavailable, why));
        }
        let mut change = Change::default();
        for uri in session.chat_uris() {
            let Some(chat) = core.channels.chat(&uri) else {
                continue;
            };
            let subset = match &chat_after {
                Some((asked, subset)) if **asked == uri => subset.clone(),
                Some(_) => continue,
                None => {
                    let subset = chat.head.working_directories.as_ref();
                    subset.map(|subset| subset_after(subset, &after, &asked.action))
                }
            };
            let works = directories_in(before, chat.head.working_directories.as_deref());
            let will_work = directories_in(&after, subset.as_deref());
            if let Some(subset) = subset.filter(|_| chat_after.is_none()) {
                let own = chat.head.working_directories.as_deref().unwrap_or_default();
                let follows = actions_between(own, &subset);
                change
                    .follows
                    .extend(follows.map(|action| (uri.clone(), action)));
            }
            if works == will_work {
                continue;
            }
            let resumes = agent.is_some_and(|agent| agent.resumes);
            self.check_move(chat, (&works, &will_work), (can, resumes))?;
            change.chats.push(uri);
        }
        Ok(Some(change))
    }

    /// Whether the agent of a chat can go on in other directories.
    fn check_move(
        &self,
        chat: &Chat,
        (before, after): (&[&String], &[&String]),
        (can, resumes): (&MultipleWorkingDirectoriesCapability, bool),
    ) -> Result<(), Refusal> {
        if after.is_empty() {
            let why = format!(
                "the chat `{}` would have no directory to work in; add another one first",
                chat.uri
            );
            return Err(why.into());
        }
        let is_addition = before.iter().all(|it| after.contains(it));
        let moves = before.first() != after.first();
        if self.turns.own.has_background_work(&chat.uri) {
            let why = "the agent is still working in the background; wait until it has ended, \
                       or stop it, and then change its directories";
            return Err(Refusal::new(RejectionCode::TurnRuns, why));
        }
        if self.turns.own.runs_in(&chat.uri) && (moves || !is_addition) {
            let why = "the agent is at work; wait until its turn has ended, or cancel it, and \
                       then change its directories";
            return Err(Refusal::new(RejectionCode::TurnRuns, why));
        }
        let has_begun = !chat.transcript().is_empty() || chat.head.active_turn.is_some();
        if has_begun && moves && can.primary_replacement != Some(true) {
            let why = "the process of this agent stays in the first directory of its chat; create \
                       a session or a chat that begins in the other directory";
            return Err(why.into());
        }
        if has_begun && !resumes {
            let why = "this agent cannot resume a conversation in other directories; create a \
                       session with all the directories that it needs";
            return Err(why.into());
        }
        Ok(())
    }

    /// The directories that a new chat may be given.
    pub(super) fn check_directories_of_chat(
        &self,
        session: &ChannelUri,
        wanted: Option<Vec<String>>,
    ) -> Result<Option<Vec<String>>, RpcError> {
        let Some(wanted) = wanted else {
            return Ok(None);
        };
        let Some(owner) = self.turns.core.channels.session(session) else {
            return Err(RpcError::session_not_found(session.as_str()));
        };
        let agent = self.turns.agents.of_session(&owner.state);
        let capabilities = agent.and_then(|agent| agent.info.capabilities.as_ref());
        if capabilities.is_none_or(|can| can.multiple_working_directories.is_none()) {
            return Err(RpcError::invalid_params(
                "the agent of this session works in one directory; leave `workingDirectories` out",
            ));
        }
        let wanted = each_once(wanted);
        if wanted.is_empty() {
            return Err(RpcError::invalid_params(
                "a chat needs a directory to work in; name one of the session's, or leave \
                 `workingDirectories` out",
            ));
        }
        let known = owner.state.working_directories.as_deref();
        let known = known.unwrap_or_default();
        match wanted.iter().find(|it| !known.contains(it)) {
            Some(other) => Err(RpcError::invalid_params(not_of_session(other))),
            None => Ok(Some(wanted)),
        }
    }

    /// The directories that a new session may be given.
    pub(super) fn check_directories_of_session(
        &self,
        wanted: Vec<String>,
        several: bool,
    ) -> Result<Vec<String>, RpcError> {
        let mut wanted = each_once(wanted);
        if !several {
            wanted.truncate(1);
        }
        match check_count(self.turns.core, wanted.len()) {
            Ok(()) => Ok(wanted),
            Err(refusal) => Err(RpcError::invalid_params(refusal.reason)),
        }
    }
}

fn each_once(directories: Vec<String>) -> Vec<String> {
    let mut list = Vec::new();
    for directory in directories {
        if !list.contains(&directory) {
            list.push(directory);
        }
    }
    list
}

fn check_count(core: &Core, count: usize) -> Result<(), Refusal> {
    let limit = core.config.limits.directories;
    if count <= limit {
        return Ok(());
    }
    let why = format!(
        "a session has at most {limit} working directories; remove some, or raise \
         limits.directories"
    );
    Err(Refusal::new(RejectionCode::LimitReached, why))
}

fn not_of_session(directory: &str) -> String {
    format!("`{directory}` is not a working directory of the session; add it to the session first")
}

/// A directory that a session does not have yet.
fn new_directory(action: &StateAction) -> Option<&str> {
    match action {
        StateAction::SessionWorkingDirectorySet(set) => Some(&set.directory),
        StateAction::SessionWorkingDirectoryReplaced(replaced) => Some(&replaced.replacement),
        _ => None,
    }
}

/// Whether a session or a chat may have what it is to have.
fn check_new(core: &Core, session: &SessionState, action: &StateAction) -> Result<(), Refusal> {
    let known = session.working_directories.as_deref().unwrap_or_default();
    if let StateAction::ChatWorkingDirectorySet(set) = action
        && !known.contains(&set.directory)
    {
        return Err(not_of_session(&set.directory).into());
    }
    let Some(new) = new_directory(action) else {
        return Ok(());
    };
    if !new.contains(':') {
        let why = format!("`{new}` is not a URI; name a directory as in `file:///srv/project`");
        return Err(why.into());
    }
    let adds = matches!(action, StateAction::SessionWorkingDirectorySet(_));
    match adds && !known.iter().any(|it| it == new) {
        true => check_count(core, known.len() + 1),
        false => Ok(()),
    }
}

/// The first directory of a session may be where its agent's process is.
fn check_primary(
    session: &SessionState,
    action: &StateAction,
    can: &MultipleWorkingDirectoriesCapability,
) -> Result<(), Refusal> {
    let known = session.working_directories.as_deref().unwrap_or_default();
    let is_first = |directory: &String| known.first() == Some(directory);
    let can_be_replaced = can.primary_replacement == Some(true);
    let why = match action {
        StateAction::SessionWorkingDirectoryRemoved(removed) if is_first(&removed.directory) => {
            if can_be_replaced {
                "the first directory can be replaced and not removed; use \
                 `session/workingDirectoryReplaced`"
            } else if can.immutable_primary == Some(true) {
                "the first directory stays: the agent's process is there; create another session \
                 to work without it"
            } else if known.len() == 1 {
                "a session that has directories keeps one; add another one first"
            } else {
                return Ok(());
            }
        }
        StateAction::SessionWorkingDirectoryReplaced(replaced)
            if is_first(&replaced.directory) && !can_be_replaced =>
        {
            "the first directory stays: the agent's process is there; create another session \
             that begins in the other directory"
        }
        _ => return Ok(()),
    };
    Err(why.into())
}

/// What a chat has of its session's directories when these have changed.
fn subset_after(subset: &[String], session: &SessionState, action: &StateAction) -> Vec<String> {
    let known = session.working_directories.as_deref().unwrap_or_default();
    let directories = subset.iter().filter_map(|directory| match action {
        _ if known.contains(directory) => Some(directory.clone()),
        StateAction::SessionWorkingDirectoryReplaced(it) if it.directory == *directory => {
            Some(it.replacement.clone())
        }
        _ => None,
    });
    each_once(directories.collect())
}

/// The actions that make one list of a chat's directories of another. What is
/// new comes first, so that the list is never empty on the way.
fn actions_between<'a>(
    before: &'a [String],
    after: &'a [String],
) -> impl Iterator<Item = StateAction> + 'a {
    let new = after.iter().filter(|it| !before.contains(it)).cloned();
    let old = before.iter().filter(|it| !after.contains(it)).cloned();
    new.map(|directory| {
        StateAction::ChatWorkingDirectorySet(ChatWorkingDirectorySetAction { directory })
    })
    .chain(old.map(|directory| {
        StateAction::ChatWorkingDirectoryRemoved(ChatWorkingDirectoryRemovedAction { directory })
    }))
}
