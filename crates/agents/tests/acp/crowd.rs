//! Fifty conversations, each with a process and a child of that; half of the
//! processes are killed. Whoever was killed is told of, everybody else goes on,
//! and nothing is left when all is over.

use std::collections::HashMap;

use innkeeper_protocol::agent::{AgentReport, BackendId, Prompt};
use tokio::sync::mpsc;

use super::*;

const CROWD: u64 = 50;

fn prompt(backend: BackendId, steps: Value) -> AgentCommand {
    let message = json!({"text": scenario(steps), "origin": {"kind": "user"}});
    AgentCommand::Prompt(Box::new(Prompt {
        backend,
        turn: format!("turn-{}", backend.0).into(),
        message: serde_json::from_value(message).unwrap(),
        resumed: None,
        chats: Vec::new(),
    }))
}

/// What each backend says until it has said something that is wanted.
async fn each<T>(
    reports: &mut mpsc::Receiver<AgentReport>,
    number: usize,
    wanted: impl Fn(&AgentEvent) -> Option<T>,
) -> HashMap<BackendId, T> {
    let mut found = HashMap::new();
    while found.len() < number {
        let report = reports.recv().await.unwrap();
        if let Some(wanted) = wanted(&report.event) {
            found.insert(report.backend, wanted);
        }
    }
    found
}

fn is_running(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// The parent of a process.
fn parent(process: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn half_of_fifty_agents_are_killed_and_nothing_is_left_behind() {
    let (sender, mut reports) = mpsc::channel(1024);
    let agent: Arc<dyn Agent> = Arc::new(AcpAgent::new(options(&json!({}))));
    let agents = Supervisor::new(vec![agent], sender);
    let backends: Vec<BackendId> = (1..=CROWD).map(BackendId).collect();
    for &backend in &backends {
        agents.command(AgentCommand::Open(Box::new(OpenBackend {
            backend,
            ..asked_to_open()
        })));
    }
    let everybody = backends.len();
    each(&mut reports, everybody, |event| {
        matches!(event, AgentEvent::Opened { .. }).then_some(())
    })
    .await;
    for &backend in &backends {
        let steps = json!([{"spawn": "sleep 600"}, {"awaitCancel": true}]);
        agents.command(prompt(backend, steps));
    }
    let children: HashMap<BackendId, u32> = each(&mut reports, everybody, |event| {
        line(event).strip_prefix("text: ")?.parse().ok()
    })
    .await;

    let (killed, others) = backends.split_at(everybody / 2);
    for backend in killed {
        let process = parent(children[backend]);
        let status = std::process::Command::new("kill")
            .args(["-KILL", &process.to_string()])
            .status();
        assert!(status.unwrap().success());
    }
    let told = each(&mut reports, killed.len(), |event| match event {
        AgentEvent::Exited { end, .. } => Some(end.to_string()),
        _ => None,
    })
    .await;
    for backend in killed {
        assert_eq!(told[backend], "it was ended by signal 9");
    }
    for &backend in others {
        let turn = format!("turn-{}", backend.0).into();
        agents.command(AgentCommand::Cancel { backend, turn });
    }
    let ended = each(&mut reports, others.len(), |event| {
        matches!(of_turn(event), Some(TurnEvent::Cancelled)).then_some(())
    })
    .await;
    assert!(others.iter().all(|backend| ended.contains_key(backend)));
    agents.shutdown().await;
    for child in children.into_values() {
        while is_running(child) {
            tokio::task::yield_now().await;
        }
    }
}
