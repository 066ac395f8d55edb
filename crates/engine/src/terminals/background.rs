//! Commands of turns that go on without their turn, because somebody took their
//! terminal over: the chat that began them lists them until they end. Whoever
//! wants to stop one disposes of its terminal.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::newest::actions::{
    ChatBackgroundWorkRemovedAction, ChatBackgroundWorkSetAction, StateAction,
};
use innkeeper_protocol::newest::state::{BackgroundShellWork, BackgroundWork};

use super::{Run, Terminals};
use crate::core::Core;

/// How much of a command is shown, and how much of it stands for it.
const MOST_COMMAND_BYTES: usize = 4 * 1024;
const MOST_LABEL_BYTES: usize = 80;

impl Terminals {
    /// The command goes on, and its chat says so.
    pub(super) fn goes_on(&mut self, core: &mut Core, terminal: &ChannelUri, run: &Run) {
        let Some(known) = self.known.get_mut(terminal) else {
            return;
        };
        known.goes_on_for = Some(run.chat.clone());
        let first_line = run.command.lines().next().unwrap_or_default();
        let work = BackgroundWork::Shell(BackgroundShellWork {
            id: terminal.to_string(),
            label: cut(first_line, MOST_LABEL_BYTES).to_owned(),
            started_at: run.began.to_string(),
            meta: None,
            command: cut(&run.command, MOST_COMMAND_BYTES).to_owned(),
            terminal: Some(terminal.to_string()),
        });
        let action = StateAction::ChatBackgroundWorkSet(ChatBackgroundWorkSetAction { work });
        tell_chat(core, &run.chat, action);
    }

    /// What ran in a terminal has ended, or the terminal goes.
    pub(super) fn goes_on_no_more(&mut self, core: &mut Core, terminal: &ChannelUri) {
        let known = self.known.get_mut(terminal);
        if let Some(chat) = known.and_then(|known| known.goes_on_for.take()) {
            tell_chat(core, &chat, removed(terminal.as_str()));
        }
    }

    /// A chat is in memory again: of what it lists, some may have ended
    /// meanwhile.
    pub(crate) fn check_background(&self, core: &mut Core, chat: &ChannelUri) {
        let listed = core.channels.chat(chat);
        let listed = listed.and_then(|chat| chat.head.background_work.as_ref());
        let over = listed.into_iter().flatten().filter_map(|work| {
            let id = match work {
                BackgroundWork::Shell(work) => &work.id,
                BackgroundWork::Subagent(work) => &work.id,
                BackgroundWork::Unknown(_) => return None,
            };
            let known = self.known.get(&ChannelUri::from(id.as_str()));
            let goes_on = known.is_some_and(|known| known.goes_on_for.as_ref() == Some(chat));
            (!goes_on).then(|| id.clone())
        });
        for id in over.collect::<Vec<_>>() {
            tell_chat(core, chat, removed(&id));
        }
    }
}

fn removed(id: &str) -> StateAction {
    let id = id.to_owned();
    StateAction::ChatBackgroundWorkRemoved(ChatBackgroundWorkRemovedAction { id })
}

/// A chat that is not in memory is told when it is again.
fn tell_chat(core: &mut Core, chat: &ChannelUri, action: StateAction) {
    if core.channels.chat(chat).is_some() {
        core.emit(chat, action, None);
    }
}
