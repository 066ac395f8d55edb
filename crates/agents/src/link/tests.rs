//! What is heard of a backend, and when.

use std::time::Duration;

use innkeeper_protocol::CallId;
use innkeeper_protocol::newest::state::{ToolResultContent, ToolResultTextContent};

use super::*;

struct Heard {
    reports: mpsc::Receiver<AgentReport>,
    sink: EventSink,
    _handle: BackendHandle,
}

impl Heard {
    fn new() -> Self {
        let (sender, reports) = mpsc::channel(100_000);
        let (handle, _, sink) = link(BackendId(1), sender);
        Self {
            reports,
            sink,
            _handle: handle,
        }
    }

    async fn show(&self, call: &str, text: &str) {
        let text = ToolResultTextContent {
            text: text.to_owned(),
        };
        let content = vec![ToolResultContent::Text(text)];
        let call = CallId::from(call);
        let event = TurnEvent::ToolContent { call, content };
        self.sink.turn(&turn(), event).await;
    }

    /// The lengths of what calls were told to show, and `end` for other events.
    fn lengths(&mut self) -> Vec<String> {
        let mut lengths = Vec::new();
        while let Ok(report) = self.reports.try_recv() {
            lengths.push(match report.event {
                AgentEvent::Turn {
                    event: TurnEvent::ToolContent { content, .. },
                    ..
                } => match &content[..] {
                    [ToolResultContent::Text(text)] => text.text.len().to_string(),
                    other => format!("{other:?}"),
                },
                _ => "end".to_owned(),
            });
        }
        lengths
    }
}

fn turn() -> TurnId {
    TurnId::from("t")
}

#[tokio::test(start_paused = true)]
async fn a_long_text_that_is_told_again_with_every_word_costs_little_more_than_its_length() {
    let mut heard = Heard::new();
    let text = "x".repeat(100_000);
    for end in (0..=text.len()).step_by(12) {
        heard.show("c", &text[..end]).await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let lengths: Vec<usize> = heard
        .lengths()
        .iter()
        .map(|it| it.parse().unwrap())
        .collect();
    assert_eq!(lengths.last(), Some(&(text.len() / 12 * 12)));
    let told: usize = lengths.iter().sum();
    assert!(told < 12 * text.len(), "{told} bytes in {}", lengths.len());
}

#[tokio::test(start_paused = true)]
async fn what_is_small_is_told_at_once() {
    let mut heard = Heard::new();
    for length in 0..100 {
        heard.show("c", &"x".repeat(length)).await;
    }
    assert_eq!(heard.lengths().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_told_before_the_end_of_its_turn_or_of_its_backend() {
    let last_words = [
        AgentEvent::Turn {
            turn: turn(),
            event: TurnEvent::Cancelled,
        },
        AgentEvent::OpenFailed(innkeeper_protocol::agent::AgentFailure::TurnFailedAsSaid),
    ];
    for last in last_words {
        let mut heard = Heard::new();
        heard.show("c", &"x".repeat(50_000)).await;
        heard.show("c", &"x".repeat(50_001)).await;
        heard.show("c", &"x".repeat(50_002)).await;
        assert_eq!(heard.lengths(), ["50000"]);
        match last {
            AgentEvent::Turn { turn, event } => heard.sink.turn(&turn, event).await,
            other => heard.sink.emit(other).await,
        }
        assert_eq!(heard.lengths(), ["50002", "end"]);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(heard.lengths(), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_do_not_wait_for_each_other() {
    let mut heard = Heard::new();
    heard.show("one", &"x".repeat(50_000)).await;
    heard.show("two", &"x".repeat(60_000)).await;
    assert_eq!(heard.lengths(), ["50000", "60000"]);
    heard.show("one", &"x".repeat(50_001)).await;
    heard.show("two", &"x".repeat(60_001)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(heard.lengths(), ["50001", "60001"]);
}
