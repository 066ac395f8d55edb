//! The supervisor's promises, with agents that misbehave in one way each.

use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use innkeeper_protocol::agent::{AgentCommand, TurnEvent};

use super::*;
use crate::testing::{Conversation, line, open};
use crate::{ScriptAgent, script};

/// An agent whose backends live as the function says.
struct Lives<F>(F);

impl<F> Agent for Lives<F>
where
    F: Fn(CommandStream, EventSink) -> BoxFuture<'static, ()> + Send + Sync + 'static,
{
    fn profile(&self) -> AgentProfile {
        ScriptAgent::default().profile()
    }

    fn run(
        &self,
        _open: OpenBackend,
        commands: CommandStream,
        events: EventSink,
    ) -> BoxFuture<'static, ()> {
        (self.0)(commands, events)
    }
}

fn opened<F>(life: F, room: usize) -> Conversation
where
    F: Fn(CommandStream, EventSink) -> BoxFuture<'static, ()> + Send + Sync + 'static,
{
    let conversation = Conversation::with(Lives(life), room);
    conversation.command(AgentCommand::Open(Box::new(open(script::PROVIDER))));
    conversation
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_returns_is_reported_once() {
    let mut conversation = opened(|_, _| future::ready(()).boxed(), 8);
    let said = conversation.silence().await;
    assert_eq!(said, ["exited: the agent's backend ended unexpectedly"]);
    conversation.cancel(&"turn".into());
    conversation.close();
    assert!(conversation.silence().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_panic_becomes_an_exit_with_its_message() {
    let mut conversation = opened(|_, _| async { panic!("out of {}", "ideas") }.boxed(), 8);
    let said = conversation.silence().await;
    assert_eq!(said, ["exited: the agent's backend panicked: out of ideas"]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_future_exists_is_caught_too() {
    let mut conversation = opened(|_, _| panic!("at once"), 8);
    let said = conversation.silence().await;
    assert_eq!(said, ["exited: the agent's backend panicked: at once"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_opening_is_the_last_word() {
    let life = |_, events: EventSink| {
        async move {
            let failure = AgentFailure::UnknownProvider("nobody".to_owned());
            events.emit(AgentEvent::OpenFailed(failure)).await;
            events.emit(AgentEvent::Title("more".to_owned())).await;
        }
        .boxed()
    };
    let mut conversation = opened(life, 8);
    let said = conversation.silence().await;
    assert_eq!(
        said,
        ["open failed: agent `nobody` is not available on this host"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_provider_fails_to_open() {
    let mut conversation = Conversation::with(ScriptAgent::default(), 8);
    conversation.command(AgentCommand::Open(Box::new(open("nobody"))));
    let said = conversation.silence().await;
    assert_eq!(
        said,
        ["open failed: agent `nobody` is not available on this host"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_said_after_a_close_is_not_heard() {
    let life = |mut commands: CommandStream, events: EventSink| {
        async move {
            while commands.next().await.is_some() {}
            events.turn(&"turn".into(), TurnEvent::Completed).await;
        }
        .boxed()
    };
    let mut conversation = opened(life, 8);
    conversation.close();
    assert!(conversation.silence().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_waits_for_room_is_freed_by_a_close() {
    let (ended, has_ended) = tokio::sync::oneshot::channel::<()>();
    let ended = Mutex::new(Some(ended));
    let life = move |_, events: EventSink| {
        let ended = ended.lock().unwrap().take();
        async move {
            for _ in 0..10 {
                events.emit(AgentEvent::Title("t".to_owned())).await;
            }
            drop(ended);
        }
        .boxed()
    };
    let mut conversation = opened(life, 1);
    tokio::task::yield_now().await;
    conversation.close();
    assert!(has_ended.await.is_err());
    assert_eq!(conversation.silence().await, ["title: t"]);
}

#[tokio::test(start_paused = true)]
async fn an_id_cannot_be_opened_twice() {
    let mut conversation = opened(|_, _| future::pending().boxed(), 8);
    conversation.command(AgentCommand::Open(Box::new(open(script::PROVIDER))));
    assert!(conversation.silence().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_clean_ends() {
    let life = |mut commands: CommandStream, _| {
        async move {
            commands.next().await;
            tokio::time::sleep(GRACE / 2).await;
        }
        .boxed()
    };
    let mut conversation = opened(life, 8);
    let start = tokio::time::Instant::now();
    conversation.agents.shutdown().await;
    assert_eq!(start.elapsed(), GRACE / 2);
    assert!(conversation.silence().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn shutdown_drops_what_does_not_end() {
    let mut conversation = opened(|_, _| future::pending().boxed(), 8);
    let start = tokio::time::Instant::now();
    conversation.agents.shutdown().await;
    // The timer ticks in milliseconds.
    assert!(start.elapsed() <= GRACE + Duration::from_millis(1));
    assert!(conversation.silence().await.is_empty());
}

#[tokio::test]
async fn commands_may_come_from_outside_the_runtime() {
    let mut conversation = Conversation::with(ScriptAgent::default(), 8);
    let open = AgentCommand::Open(Box::new(open(script::PROVIDER)));
    std::thread::scope(|scope| {
        scope.spawn(|| conversation.agents.command(open));
    });
    assert_eq!(line(&conversation.next().await), "opened");
    assert_eq!(conversation.agents.profiles().len(), 1);
}
