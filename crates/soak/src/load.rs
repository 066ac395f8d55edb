//! What clients do to a host while it lives: they talk, stall, flood it and
//! send nonsense, until it is gone.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::choices::Choices;
use crate::speaker::{Gone, Shared, Speaker, Unanswered};

/// A session that all clients share.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    pub(crate) session: String,
    pub(crate) provider: &'static str,
    pub(crate) directory: Option<String>,
}

/// How long a client listens before it says the next thing.
const LISTENS: Duration = Duration::from_millis(4);

/// Says things and listens until the host is gone, and hears to the end what
/// is still on its way.
pub(crate) async fn work(
    speaker: &mut Speaker,
    shared: &Rc<Shared>,
    stages: &[Stage],
    mut choices: Choices,
) {
    let mut own = Vec::new();
    while act(speaker, shared, stages, &mut choices, &mut own)
        .await
        .is_ok()
    {
        for _ in 0..choices.below(30) {
            match tokio::time::timeout(LISTENS, speaker.hear()).await {
                Ok(Ok(_)) => {}
                Ok(Err(Gone)) | Err(_) => break,
            }
        }
    }
    while speaker.hear().await.is_ok() {}
}

async fn act(
    speaker: &mut Speaker,
    shared: &Rc<Shared>,
    stages: &[Stage],
    choices: &mut Choices,
    own: &mut Vec<String>,
) -> Result<(), Gone> {
    let Some(stage) = choices.one_of(stages) else {
        return Err(Gone);
    };
    let (session, words, number) = (&stage.session, speaker.words, shared.number());
    if choices.percent(60)
        && let Some(call) = speaker.waiting.pop()
    {
        let confirm = words.confirm(&call.session, &call.turn, &call.call);
        speaker.dispatch(&call.session, confirm).await?;
    }
    let said = match choices.below(100) {
        0..24 => {
            let text = message(stage.provider, number, shared, choices);
            words.turn(session, &format!("turn-{number}"), &text)
        }
        24..38 => {
            let text = message(stage.provider, number, shared, choices);
            words.queued(session, &format!("queued-{number}"), &text)
        }
        38..52 => {
            let title = json!({"title": format!("Title {number}")});
            words.of_session(session, "titleChanged", title)
        }
        52..66 if words.has_drafts_of_messages() => {
            words.draft(session, &format!("Draft {number}"))
        }
        52..74 => {
            let archived = json!({"isArchived": choices.percent(50)});
            words.of_session(session, "isArchivedChanged", archived)
        }
        74..90 => match speaker.running.get(session) {
            Some(turn) => words.cancel(session, &turn.clone()),
            None => return Ok(()),
        },
        90..96 => {
            let name = format!("ahp-session:/own-{number}");
            create(speaker, shared, &name, "script", None).await?;
            own.push(name);
            return Ok(());
        }
        _ => return dispose(speaker, shared, own.pop()).await,
    };
    speaker.dispatch(session, said).await?;
    Ok(())
}

pub(crate) async fn create(
    speaker: &mut Speaker,
    shared: &Rc<Shared>,
    name: &str,
    provider: &str,
    directory: Option<&str>,
) -> Result<(), Gone> {
    let params = speaker.words.create(name, provider, directory);
    shared.ledger.borrow_mut().asks_to_create(name);
    let accepted = match speaker.request("createSession", params).await {
        Ok(_) => true,
        Err(Unanswered::Refused(_)) => false,
        Err(Unanswered::Gone) => return Err(Gone),
    };
    shared.count(if accepted {
        "sessions created"
    } else {
        "sessions refused"
    });
    shared.ledger.borrow_mut().created(name, accepted);
    Ok(())
}

async fn dispose(
    speaker: &mut Speaker,
    shared: &Rc<Shared>,
    name: Option<String>,
) -> Result<(), Gone> {
    let Some(name) = name else {
        return Ok(());
    };
    let params = speaker.words.about(&name);
    shared.ledger.borrow_mut().asks_to_dispose(&name);
    let accepted = match speaker.request("disposeSession", params).await {
        Ok(_) => true,
        Err(Unanswered::Refused(_)) => false,
        Err(Unanswered::Gone) => return Err(Gone),
    };
    if accepted {
        shared.count("sessions disposed of");
    }
    shared.ledger.borrow_mut().disposed(&name, accepted);
    Ok(())
}

/// A message that its agent plays, and that no other message is equal to.
fn message(provider: &str, number: u64, shared: &Rc<Shared>, choices: &mut Choices) -> String {
    let steps = match provider {
        "script" => scenario(number, shared, choices),
        _ => program(shared, choices),
    };
    json!({"steps": steps, "number": number}).to_string()
}

fn scenario(number: u64, shared: &Rc<Shared>, choices: &mut Choices) -> Value {
    match choices.below(100) {
        0..30 => json!([{"say": "A few words of an answer."}]),
        30..50 => {
            shared.count("floods");
            let flood = json!({
                "deltas": choices.between(50, 1_500), "bytes": 16,
                "everyUs": choices.below(60),
            });
            json!([{"flood": flood}])
        }
        50..65 => {
            let tool = json!({"name": "look", "input": "around", "confirm": "ask"});
            json!([{"say": "Let me look."}, {"tool": tool}, {"say": "Done."}])
        }
        65..75 => {
            shared.count("agents told to die");
            json!([{"say": "Well."}, {"crash": true}])
        }
        75..82 => json!([{"fail": {"errorType": "oops", "message": "It broke."}}]),
        82..94 => {
            let (path, content) = (format!("file-{}", number % 7), format!("{number}\n"));
            json!([{"edit": {"path": path, "content": content, "confirm": "none"}}])
        }
        _ => json!([{"sleep": 60_000}]),
    }
}

fn program(shared: &Rc<Shared>, choices: &mut Choices) -> Value {
    match choices.below(100) {
        0..40 => json!([{"say": "A few words "}, {"say": "of an answer."}]),
        40..60 => {
            shared.count("agents told to die");
            json!([{"say": "Well."}, {"exit": 3}])
        }
        60..70 => {
            shared.count("agents told to die");
            json!([{"exit": 4}])
        }
        70..80 => json!([{"spawn": "sleep 600"}, {"say": "Started."}]),
        80..90 => json!([{"raw": "{\"jsonrpc\": nonsense"}, {"stderr": "oh"}, {"say": "So."}]),
        _ => json!([{"awaitCancel": true}]),
    }
}

/// Listens to everything and reads nothing, until the life is over.
pub(crate) async fn stall(
    speaker: &mut Speaker,
    shared: &Rc<Shared>,
    stages: &[Stage],
    mut over: watch::Receiver<bool>,
) {
    shared.count("clients that stall");
    for stage in stages {
        if speaker.follow_session(&stage.session).await.is_err() {
            return;
        }
    }
    let _ = over.wait_for(|over| *over).await;
}

/// Sends what no client should, on one connection after another.
pub(crate) async fn rant(
    url: &str,
    shared: &Rc<Shared>,
    mut choices: Choices,
    mut over: watch::Receiver<bool>,
) {
    let rant = async {
        loop {
            let Some(mut speaker) = Speaker::new("1.0", "ranter", shared) else {
                return;
            };
            if speaker.connect(url).await.is_err() {
                return;
            }
            if choices.percent(50) {
                let _ = speaker.initialize().await;
            }
            for _ in 0..choices.between(1, 20) {
                shared.count("nonsense sent");
                if speaker.send(nonsense(&mut choices)).await.is_err() {
                    break;
                }
            }
            let _ = tokio::time::timeout(LISTENS, speaker.hear()).await;
        }
    };
    tokio::select! {
        () = rant => {}
        _ = over.wait_for(|over| *over) => {}
    }
}

fn nonsense(choices: &mut Choices) -> String {
    let method = choices.one_of(&[
        "dispatchAction",
        "subscribe",
        "createSession",
        "reconnect",
        "x",
    ]);
    match choices.below(6) {
        0 => "{".repeat(usize::try_from(choices.below(5_000)).unwrap_or(1)),
        1 => json!({"jsonrpc": "2.0", "id": choices.next(), "method": method, "params": []})
            .to_string(),
        2 => json!({"jsonrpc": "2.0", "id": null, "method": method, "params": {"channel": 7}})
            .to_string(),
        3 => {
            let action = json!({"type": "chat/turnStarted", "turnId": "x".repeat(300)});
            let params = json!({"channel": "ahp-chat:/nowhere", "clientSeq": 1, "action": action});
            json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params}).to_string()
        }
        4 => format!("{{\"id\":{}}}", choices.next()),
        _ => "[".repeat(200) + &"]".repeat(200),
    }
}
