//! Canvases: pages elsewhere that a tool of an MCP server says show its result.
//! A chat lists them, and each is a channel that says where the page is for as
//! long as the server runs. They are not stored: after a restart nobody knows
//! whether a page is still there.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::bounds::{MAX_TITLE_BYTES, cut};
use innkeeper_protocol::newest::actions::{
    CanvasStateChangedAction, ChatCanvasesChangedAction, StateAction,
};
use innkeeper_protocol::newest::state::{CanvasReference, CanvasState};
use serde_json::Value;

use super::Servers;
use crate::core::Core;
use crate::core::channels::{Channel, Ephemeral};

/// How many a chat lists. The oldest makes room for a new one.
const MOST_CANVASES: usize = 16;

/// A longer address is not taken for one.
const LONGEST_URI: usize = 4096;

/// A canvas that is there, the oldest first.
#[derive(Debug)]
pub(super) struct Canvas {
    uri: ChannelUri,
    chat: ChannelUri,
    session: ChannelUri,
    /// The id of the server's customization.
    server: String,
    /// What the server calls it.
    instance: String,
}

/// A page that a result names.
#[derive(Debug, PartialEq)]
pub(crate) struct Page {
    uri: String,
    url: String,
    title: Option<String>,
}

/// The pages in the result of a call: resources that hold nothing but the
/// address of a page, as servers have given them since before MCP apps.
pub(crate) fn pages_in(result: &Value) -> Vec<Page> {
    let blocks = result["content"].as_array().into_iter().flatten();
    let page = |block: &Value| {
        let resource = &block["resource"];
        let uri = resource["uri"].as_str()?;
        let is_page = resource["mimeType"] == "text/uri-list" && uri.starts_with("ui://");
        let list = resource["text"].as_str().filter(|_| is_page)?;
        let mut lines = list.lines().map(str::trim);
        let url = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        let is_address =
            !url.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        let fits = uri.len() <= LONGEST_URI && url.len() <= LONGEST_URI;
        (is_web && is_address && fits).then(|| Page {
            uri: uri.to_owned(),
            url: url.to_owned(),
            title: resource["title"]
                .as_str()
                .map(|title| cut(title, MAX_TITLE_BYTES).to_owned()),
        })
    };
    blocks.filter_map(page).take(MOST_CANVASES).collect()
}

impl Servers {
    /// A call of a chat has brought a page: it is listed, or is elsewhere now.
    pub(crate) fn expose(
        &mut self,
        core: &mut Core,
        chat: &ChannelUri,
        (session, id): (&ChannelUri, &str),
        page: Page,
    ) {
        let Some(server) = self.of(session, id) else {
            return;
        };
        let state = CanvasState {
            instance_id: page.uri.clone(),
            extension_id: id.to_owned(),
            extension_name: Some(server.server.name.clone()),
            canvas_id: page.uri.clone(),
            title: page.title,
            status: None,
            url: Some(page.url),
        };
        let same = |it: &&Canvas| it.chat == *chat && it.server == id && it.instance == page.uri;
        if let Some(known) = self.canvases.iter().find(same) {
            return change(core, &known.uri, state);
        }
        let of_chat = |it: &&Canvas| it.chat == *chat;
        if self.canvases.iter().filter(of_chat).count() >= MOST_CANVASES
            && let Some(oldest) = self.canvases.iter().position(|it| it.chat == *chat)
        {
            close(core, &self.canvases.remove(oldest).uri);
        }
        let uri = ChannelUri::from(format!("ahp-canvas:/{}", core.new_name()));
        let born = core.server_seq();
        let channel = Channel::Canvas(Box::new(Ephemeral { state, born }));
        core.channels.insert(uri.clone(), channel);
        self.canvases.push(Canvas {
            uri,
            chat: chat.clone(),
            session: session.clone(),
            server: id.to_owned(),
            instance: page.uri,
        });
        self.list_canvases(core, chat);
    }

    /// A server is not there to show its pages: nobody is to be sent to them.
    pub(super) fn hide_pages(&self, core: &mut Core, session: &ChannelUri, id: &str) {
        let hidden = self.canvases.iter();
        for canvas in hidden.filter(|it| it.session == *session && it.server == id) {
            let shown = core.channels.canvas(&canvas.uri).map(|it| it.state.clone());
            if let Some(state) = shown.filter(|state| state.url.is_some()) {
                change(core, &canvas.uri, CanvasState { url: None, ..state });
            }
        }
    }

    /// A session does not use a server any more.
    pub(super) fn close_canvases_of(&mut self, core: &mut Core, session: &ChannelUri, id: &str) {
        self.close_canvases(core, |it| it.session == *session && it.server == id);
    }

    /// A chat goes.
    pub(crate) fn close_canvases_in(&mut self, core: &mut Core, chat: &ChannelUri) {
        self.close_canvases(core, |it| it.chat == *chat);
    }

    fn close_canvases(&mut self, core: &mut Core, is_over: impl Fn(&Canvas) -> bool) {
        let closed: Vec<Canvas> = self.canvases.extract_if(.., |it| is_over(it)).collect();
        let mut chats: Vec<ChannelUri> = Vec::new();
        for canvas in closed {
            close(core, &canvas.uri);
            chats.push(canvas.chat);
        }
        chats.dedup();
        for chat in chats {
            self.list_canvases(core, &chat);
        }
    }

    /// A chat is in memory again: what it listed is over.
    pub(crate) fn check_canvases(&self, core: &mut Core, chat: &ChannelUri) {
        let listed = core.channels.chat(chat);
        if listed.is_some_and(|chat| chat.head.canvases.is_some()) {
            self.list_canvases(core, chat);
        }
    }

    fn list_canvases(&self, core: &mut Core, chat: &ChannelUri) {
        if core.channels.chat(chat).is_none() {
            return;
        }
        let listed = self.canvases.iter().filter(|it| it.chat == *chat);
        let listed: Vec<CanvasReference> = listed
            .map(|it| CanvasReference {
                resource: it.uri.to_string(),
            })
            .collect();
        let canvases = Some(listed).filter(|listed| !listed.is_empty());
        let action = ChatCanvasesChangedAction { canvases };
        core.emit(chat, StateAction::ChatCanvasesChanged(action), None);
    }
}

fn change(core: &mut Core, canvas: &ChannelUri, state: CanvasState) {
    let action = CanvasStateChangedAction { canvas: state };
    core.emit(canvas, StateAction::CanvasStateChanged(action), None);
}

fn close(core: &mut Core, canvas: &ChannelUri) {
    core.channels.remove(canvas);
    core.subscriptions.remove_channel(canvas);
}
