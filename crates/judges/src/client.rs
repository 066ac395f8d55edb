//! The clients that the protocol's owner published with each version, behind
//! one face. What goes through them passes their own types in both directions:
//! what a version cannot read never arrives.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::known;

/// The two ends of a connection, frame by frame. Whoever has the other ends
/// carries them over a socket.
#[derive(Debug)]
pub struct Frames {
    pub outgoing: mpsc::UnboundedSender<String>,
    pub incoming: mpsc::UnboundedReceiver<String>,
}

pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A published client. Everything is told in JSON as its own types write it.
pub trait OfficialClient: Send {
    fn initialize(&self, id: &str, subscriptions: Vec<String>)
    -> Answer<'_, Result<Value, String>>;
    fn reconnect(
        &mut self,
        id: &str,
        seen: i64,
        subscriptions: Vec<String>,
    ) -> Answer<'_, Result<Value, String>>;
    fn subscribe(&mut self, channel: &str) -> Answer<'_, Result<Value, String>>;
    fn request(&self, method: &str, params: Value) -> Answer<'_, Result<Value, String>>;
    fn dispatch(&self, channel: &str, action: Value) -> Answer<'_, Result<(), String>>;
    /// The next envelope on some subscription; `None` when the connection is
    /// gone.
    fn action(&mut self) -> Answer<'_, Option<Value>>;
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn told(it: impl serde::Serialize) -> Result<Value, String> {
    serde_json::to_value(it).map_err(said)
}

/// More than any story needs: a client that lags loses events.
const BUFFER: usize = 1 << 14;

macro_rules! client {
    ($name:ident, $ahp:ident, $types:ident, $version:expr, $dispatch:expr,
     listens: $listens:ty, $listen:expr, $attach:expr, $next:expr) => {
        mod $name {
            use super::*;
            use $ahp::{
                Client, ClientConfig, SubscriptionEvent, Transport, TransportError,
                TransportMessage,
            };
            use $types::actions::StateAction;

            impl Transport for Line {
                async fn send(&mut self, message: TransportMessage) -> Result<(), TransportError> {
                    let protocol = |it: serde_json::Error| TransportError::Protocol(it.to_string());
                    let text = match message {
                        TransportMessage::Parsed(message) => {
                            serde_json::to_string(&message).map_err(protocol)?
                        }
                        TransportMessage::Text(text) => text,
                        TransportMessage::Binary(_) => return Err(TransportError::Closed),
                    };
                    self.0
                        .outgoing
                        .send(text)
                        .map_err(|_| TransportError::Closed)
                }

                async fn recv(&mut self) -> Result<Option<TransportMessage>, TransportError> {
                    Ok(self.0.incoming.recv().await.map(TransportMessage::Text))
                }
            }

            struct Line(Frames);

            struct Official {
                client: Client,
                listens: $listens,
            }

            pub(crate) async fn connect(frames: Frames) -> Result<Box<dyn OfficialClient>, String> {
                let config = ClientConfig {
                    subscription_buffer: BUFFER,
                    ..ClientConfig::default()
                };
                let client = Client::connect(Line(frames), config).await.map_err(said)?;
                let listens = $listen(&client);
                Ok(Box::new(Official { client, listens }))
            }

            impl OfficialClient for Official {
                fn initialize(
                    &self,
                    id: &str,
                    subscriptions: Vec<String>,
                ) -> Answer<'_, Result<Value, String>> {
                    let id = id.to_owned();
                    Box::pin(async move {
                        let welcome = self.client.initialize(id, $version, subscriptions).await;
                        told(welcome.map_err(said)?)
                    })
                }

                fn reconnect(
                    &mut self,
                    id: &str,
                    seen: i64,
                    subscriptions: Vec<String>,
                ) -> Answer<'_, Result<Value, String>> {
                    let id = id.to_owned();
                    Box::pin(async move {
                        for channel in &subscriptions {
                            let attached = self.client.attach_subscription(channel).await;
                            $attach(&mut self.listens, attached);
                        }
                        let back = self.client.reconnect(id, seen, subscriptions).await;
                        told(back.map_err(said)?)
                    })
                }

                fn subscribe(&mut self, channel: &str) -> Answer<'_, Result<Value, String>> {
                    let channel = channel.to_owned();
                    Box::pin(async move {
                        let answer = self.client.subscribe(channel).await;
                        let (result, subscription) = answer.map_err(said)?;
                        $attach(&mut self.listens, subscription);
                        told(result)
                    })
                }

                fn request(
                    &self,
                    method: &str,
                    params: Value,
                ) -> Answer<'_, Result<Value, String>> {
                    let method = method.to_owned();
                    Box::pin(async move {
                        let answer = self.client.request(&method, params).await;
                        answer.map_err(said)
                    })
                }

                fn dispatch(&self, channel: &str, action: Value) -> Answer<'_, Result<(), String>> {
                    let channel = channel.to_owned();
                    Box::pin(async move {
                        let action: StateAction = serde_json::from_value(action).map_err(said)?;
                        let action = known(action)?;
                        $dispatch(&self.client, channel, action)
                            .await
                            .map(|_| ())
                            .map_err(said)
                    })
                }

                fn action(&mut self) -> Answer<'_, Option<Value>> {
                    Box::pin(async move {
                        loop {
                            if let SubscriptionEvent::Action(envelope) =
                                $next(&mut self.listens).await?
                            {
                                return told(envelope).ok();
                            }
                        }
                    })
                }
            }
        }
    };
}

macro_rules! modern {
    ($name:ident, $ahp:ident, $types:ident, $version:literal) => {
        client!(
            $name,
            $ahp,
            $types,
            vec![$version.to_owned()],
            async |client: &Client, channel, action| client.dispatch(channel, action).await,
            listens: $ahp::ClientEventStream,
            |client: &Client| client.events(),
            |_: &mut _, _| (),
            async |events: &mut $ahp::ClientEventStream| Some(events.recv().await?.event)
        );
    };
}

// The channel of draft 1 is in the action, and its client has no stream of all
// events; one session is one channel there.
client!(
    draft_1,
    ahp_0_1,
    ahp_types_0_1,
    1,
    async |client: &Client, _: String, action| client.dispatch(action).await,
    listens: Option<ahp_0_1::SessionSubscription>,
    |_: &Client| None,
    |listens: &mut Option<_>, one| *listens = Some(one),
    async |listens: &mut Option<ahp_0_1::SessionSubscription>| listens.as_mut()?.recv().await
);
modern!(v0_2, ahp_0_2, ahp_types_0_2, "0.2.0");
modern!(v0_3, ahp_0_3, ahp_types_0_3, "0.3.0");
modern!(v0_4, ahp_0_4, ahp_types_0_4, "0.4.0");
modern!(v0_5, ahp_0_5, ahp_types_0_5, "0.5.2");
modern!(v0_6, ahp_0_6, ahp_types_0_6, "0.6.0");
modern!(v0_7, ahp_0_7, ahp_types_0_7, "0.7.0");
modern!(v0_8, ahp_0_8, ahp_types_0_8, "0.8.0");
modern!(v0_9, ahp_0_9, ahp_types_0_9, "0.9.0");
modern!(v1_0, ahp, ahp_types, "1.0.0");

/// The published client of a version, by its name; for 0.1, where nobody
/// published one, our own.
pub async fn connect(version: &str, frames: Frames) -> Result<Box<dyn OfficialClient>, String> {
    match version {
        "draft 1" => draft_1::connect(frames).await,
        "0.1" => Ok(crate::draft::client::connect(frames)),
        "0.2" => v0_2::connect(frames).await,
        "0.3" => v0_3::connect(frames).await,
        "0.4" => v0_4::connect(frames).await,
        "0.5" => v0_5::connect(frames).await,
        "0.6" => v0_6::connect(frames).await,
        "0.7" => v0_7::connect(frames).await,
        "0.8" => v0_8::connect(frames).await,
        "0.9" => v0_9::connect(frames).await,
        "1.0" => v1_0::connect(frames).await,
        other => Err(format!("nobody published {other}")),
    }
}
