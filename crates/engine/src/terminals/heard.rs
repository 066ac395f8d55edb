//! What a program says about itself: its title and where it is. A file of such
//! sequences that somebody looks at says so ten thousand times a second, and
//! everybody is told the list of all terminals; so it is collected for a
//! moment, and what holds then is told.

use std::collections::BTreeMap;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    StateAction, TerminalCwdChangedAction, TerminalTitleChangedAction,
};

use super::Terminals;
use crate::core::{Core, Deadline};

/// The longest title of a terminal, in characters. What is longer is cut.
const LONGEST_TITLE: usize = 256;

/// The longest URI of a directory, in bytes. No system has a path that takes
/// more; what is longer is not told.
const LONGEST_DIRECTORY: usize = 16 * 1024;

/// What was heard and not told yet.
#[derive(Debug, Default)]
pub(super) struct Heard {
    titles: BTreeMap<ChannelUri, String>,
    directories: BTreeMap<ChannelUri, String>,
}

impl Heard {
    pub(super) fn forget(&mut self, uri: &ChannelUri) {
        self.titles.remove(uri);
        self.directories.remove(uri);
    }
}

impl Terminals {
    /// What runs in a terminal gives it a title.
    pub(super) fn hear_title(&mut self, core: &mut Core, uri: &ChannelUri, title: &str) {
        let title = title.chars().take(LONGEST_TITLE).collect();
        self.heard.titles.insert(uri.clone(), title);
        tell_soon(core);
    }

    /// What runs in a terminal says where it is.
    pub(super) fn hear_directory(&mut self, core: &mut Core, uri: &ChannelUri, cwd: String) {
        if cwd.len() <= LONGEST_DIRECTORY {
            self.heard.directories.insert(uri.clone(), cwd);
            tell_soon(core);
        }
    }

    /// Tells what was heard of all terminals.
    pub(crate) fn tell_heard(&mut self, core: &mut Core) {
        core.deadlines.clear(&Deadline::TerminalsAreHeard);
        let Heard {
            titles,
            directories,
        } = std::mem::take(&mut self.heard);
        for (uri, cwd) in directories {
            directory_changed(core, &uri, cwd);
        }
        for (uri, title) in titles {
            self.retitle(core, &uri, title);
        }
        self.list(core);
    }

    fn retitle(&mut self, core: &mut Core, uri: &ChannelUri, title: String) {
        let named = self.known.get(uri).is_none_or(|known| known.named);
        let state = core.channels.terminal(uri).map(|it| &it.state);
        let changes = state.is_some_and(|state| !named && state.title != title);
        if changes && !title.trim().is_empty() {
            let action = TerminalTitleChangedAction { title };
            core.emit(uri, StateAction::TerminalTitleChanged(action), None);
        }
    }
}

fn tell_soon(core: &mut Core) {
    if !core.deadlines.is_set(&Deadline::TerminalsAreHeard) {
        let due = core.now.after(core.config.limits.summary_delay);
        core.deadlines.set(Deadline::TerminalsAreHeard, due);
    }
}

fn directory_changed(core: &mut Core, uri: &ChannelUri, cwd: String) {
    let state = core.channels.terminal(uri).map(|it| &it.state);
    if state.is_some_and(|state| state.cwd.as_ref() != Some(&cwd)) {
        let action = TerminalCwdChangedAction { cwd };
        core.emit(uri, StateAction::TerminalCwdChanged(action), None);
    }
}
