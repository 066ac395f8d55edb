//! Content that is too large for the state is kept outside it, under a URI of
//! the host's own.

use std::sync::Arc;

use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::{ContentRef, ResourceResponsePart};
use innkeeper_protocol::record::{ContentRecord, StoreOp};

use super::{Core, inputs};

/// The scheme of content that left the state and is kept by the host.
pub(crate) const CONTENT_SCHEME: &str = "innkeeper-content:";

impl Core {
    /// Puts content of a chat outside the state and gives what refers to it.
    pub(crate) fn keep_content(
        &mut self,
        chat: &ChannelUri,
        data: Bytes,
        content_type: String,
    ) -> Option<ResourceResponsePart> {
        self.keep_named_content(chat, data, content_type, None)
    }

    /// Likewise under a URI that ends in a name: clients call it that, and
    /// colour it accordingly.
    pub(crate) fn keep_named_content(
        &mut self,
        chat: &ChannelUri,
        data: Bytes,
        content_type: String,
        name: Option<&str>,
    ) -> Option<ResourceResponsePart> {
        let session = self.channels.chat(chat)?.session.clone();
        let mut uri = self.new_content_uri();
        if let Some(name) = name {
            uri = format!("{uri}/{name}");
        }
        let reference = ResourceResponsePart {
            uri: uri.clone(),
            size_hint: i64::try_from(data.len()).ok(),
            content_type: Some(content_type.clone()),
            nonce: None,
        };
        self.store(StoreOp::PutContent(ContentRecord {
            uri,
            session,
            content_type,
            data,
            excerpt: None,
        }));
        Some(reference)
    }

    /// Puts the input of a tool call outside the state. `left_out` says what is
    /// missing where it is too large to be shown, given the number of bytes
    /// and the URI.
    pub(crate) fn keep_input(
        &mut self,
        chat: &ChannelUri,
        input: String,
        left_out: impl Fn(usize, &str) -> String,
    ) -> Option<ContentRef> {
        let session = self.channels.chat(chat)?.session.clone();
        let uri = self.new_content_uri();
        let shown = inputs::shown(&input, |bytes| left_out(bytes, &uri));
        self.inputs.keep(&session, uri.clone(), Arc::clone(&shown));
        let content_type = "application/json".to_owned();
        let reference = ContentRef {
            uri: uri.clone(),
            size_hint: i64::try_from(input.len()).ok(),
            content_type: Some(content_type.clone()),
            nonce: None,
        };
        self.store(StoreOp::PutContent(ContentRecord {
            uri,
            session,
            content_type,
            data: Bytes::from(input),
            excerpt: Some(shown),
        }));
        Some(reference)
    }

    fn new_content_uri(&mut self) -> String {
        self.last_content += 1;
        let nonce = &self.config.nonce;
        format!("{CONTENT_SCHEME}/{nonce}/{}", self.last_content)
    }
}
