//! Fifty sessions, each with an agent's process and a child of that. Half of
//! the processes are killed at random, again and again: every transcript stays
//! whole, every session goes on, nothing is left behind, and the host does not
//! grow.

use std::collections::HashSet;

use futures_util::future::join_all;
use innkeeper_protocol::newest::state::{ChatState, TurnState};

use super::{new_session, start};
use crate::common::{Guest, Watch, default_chat, in_time, markdown};

const CROWD: usize = 50;
const ROUNDS: usize = 3;

/// Messages that may wait in each of the many subscriptions.
const ROOM: usize = 256;

/// Told to wait, it starts a child that holds its output open, says the numbers
/// of both, and goes on when it is cancelled.
const AGENT: &str = r#"
    *'"method":"session/prompt"'*'wait here'*)
        pending=$id
        sleep 600 &
        say "$$ $!" ;;
    *'"method":"session/prompt"'*)
        say hello
        answer "$id" '{"stopReason":"end_turn"}' ;;
    *'"method":"session/cancel"'*) answer "$pending" '{"stopReason":"cancelled"}' ;;
"#;

/// One of the crowd.
struct Member {
    chat: String,
    watch: Watch<ChatState>,
}

impl Member {
    async fn arrive(guest: &Guest, number: usize) -> Self {
        let session = format!("ahp-session:/crowd-{number}");
        new_session(guest, &session).await;
        let chat = default_chat(&session);
        let watch = guest.watch_chat(&chat).await;
        Self { chat, watch }
    }

    async fn say_hello(&mut self, guest: &Guest, turn: &str) {
        guest.say(&self.chat, turn, "hello").await;
        assert_eq!(self.watch.turn_end(turn).await, TurnState::Complete);
        assert_eq!(self.watch.text_of(turn), "hello");
    }

    /// Begins a turn that waits; returns the agent's process and its child.
    async fn begin_to_wait(&mut self, guest: &Guest, turn: &str) -> (u32, u32) {
        guest.say(&self.chat, turn, "wait here").await;
        let said = |state: &ChatState| {
            let turn = state.active_turn.as_ref()?;
            let text = markdown(&turn.response_parts);
            let (agent, child) = text.split_once(' ')?;
            Some((agent.parse().ok()?, child.parse().ok()?))
        };
        self.watch
            .until("two numbers", |state| said(state).is_some())
            .await;
        said(&self.watch.state).unwrap()
    }
}

fn signal(process: u32, signal: &str) {
    let mut kill = std::process::Command::new("kill");
    let status = kill.args([signal, &process.to_string()]).status();
    assert!(status.unwrap().success());
}

/// State and parent of a process, if there is one of this number.
fn stat(process: u32) -> Option<(String, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

async fn gone(processes: &HashSet<u32>) {
    let all_gone = async {
        while processes.iter().any(|process| stat(*process).is_some()) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    in_time("the end of all processes", all_gone).await;
}

/// Processes that a host has started, that have ended and that it has not
/// taken note of.
fn zombies(host: u32) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(stat)
        .filter(|(state, parent)| state == "Z" && *parent == host)
        .count()
}

/// Half of the crowd, another one for each seed.
fn half(seed: usize) -> HashSet<usize> {
    let mut state = seed as u64 * 2 + 1;
    let mut chosen = HashSet::new();
    while chosen.len() < CROWD / 2 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        chosen.insert((state >> 33) as usize % CROWD);
    }
    chosen
}

#[tokio::test]
async fn half_of_fifty_agents_are_killed_and_every_session_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let host = start(data.path(), AGENT);
    let guest = Guest::arrive_with_room(&host.url, "a", ROOM).await;
    guest.initialize(&[]).await;
    let arriving = (0..CROWD).map(|number| Member::arrive(&guest, number));
    let mut crowd = join_all(arriving).await;
    let guest = &guest;
    let mut memory = Vec::new();
    for round in 0..ROUNDS {
        let waiting = format!("wait-{round}");
        let begun = crowd
            .iter_mut()
            .map(|member| member.begin_to_wait(guest, &waiting));
        let processes = join_all(begun).await;
        let killed = half(round);
        for &number in &killed {
            signal(processes[number].0, "-KILL");
        }
        for (number, member) in crowd.iter_mut().enumerate() {
            let expected = match killed.contains(&number) {
                true => TurnState::Error,
                false => {
                    guest.cancel(&member.chat, &waiting).await;
                    TurnState::Cancelled
                }
            };
            assert_eq!(member.watch.turn_end(&waiting).await, expected);
        }
        // What a killed agent had started goes with it.
        let of_killed = |number: &usize| [processes[*number].0, processes[*number].1];
        gone(&killed.iter().flat_map(of_killed).collect()).await;
        let hello = format!("hello-{round}");
        let said = crowd
            .iter_mut()
            .map(|member| member.say_hello(guest, &hello));
        join_all(said).await;
        memory.extend(host.resident_kib());
    }
    assert_eq!(zombies(host.id()), 0);

    // Nothing of any transcript is lost, for those who come later.
    let newcomer = Guest::arrive_with_room(&host.url, "b", ROOM).await;
    newcomer.initialize(&[]).await;
    for member in &crowd {
        let state: ChatState = newcomer.snapshot(&member.chat).await;
        assert_eq!(state.turns.len(), 2 * ROUNDS);
        assert_eq!(state, member.watch.state);
    }
    if let [first, .., last] = memory[..] {
        let grown = last.saturating_sub(first);
        assert!(grown < 8 * 1024, "the host has grown by {grown} KiB");
    }

    // The host is killed, and its agents with it.
    let begun = crowd
        .iter_mut()
        .map(|member| member.begin_to_wait(guest, "last"));
    let processes = join_all(begun).await.into_iter();
    let processes = processes
        .flat_map(|(agent, child)| [agent, child])
        .collect();
    host.kill();
    gone(&processes).await;
}
