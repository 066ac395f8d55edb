//! Titles and directories that programs in terminals give themselves.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::workspace::terminal::{TerminalEvent, TerminalId, TerminalReport};
use serde_json::json;

use crate::host::{Host, ROOT};

const TERMINAL: &str = "ahp-terminal:/t";

impl Host {
    /// Client `a` has the root open, and one terminal that nobody named.
    fn with_terminal() -> Self {
        let mut host = Self::new();
        host.enter(1, "a", &[ROOT]);
        let params = json!({"channel": TERMINAL, "claim": {"kind": "client", "clientId": "a"}});
        let create = json!({"jsonrpc": "2.0", "id": 9000, "method": "createTerminal",
                            "params": params});
        host.say(1, &create.to_string());
        host.terminal(TerminalEvent::Opened {
            title: "sh".to_owned(),
            directory: None,
        });
        host.ok(1, "subscribe", json!({"channel": TERMINAL}));
        host.heard.clear();
        host
    }

    fn terminal(&mut self, event: TerminalEvent) {
        let terminal = TerminalId(1);
        self.feed(Input::Terminal(TerminalReport { terminal, event }));
    }

    fn titles(&mut self, titles: &[String]) {
        for title in titles {
            self.terminal(TerminalEvent::TitleChanged(title.clone()));
        }
    }
}

#[test]
fn a_flood_of_titles_is_told_once_with_the_last_of_them() {
    let mut host = Host::with_terminal();
    let flood: Vec<String> = (0..10_000).map(|number| format!("t{number}")).collect();
    host.titles(&flood);
    for number in 0..1_000 {
        let uri = format!("file:///{number}");
        host.terminal(TerminalEvent::DirectoryChanged(uri));
    }
    assert!(host.news(1).is_empty(), "nothing is told before its time");
    host.wait(Limits::default().summary_delay);
    let told = [
        "terminal/cwdChanged",
        "terminal/titleChanged",
        "root/terminalsChanged",
    ];
    let actions = host.actions(1);
    let types: Vec<&str> = actions
        .iter()
        .filter_map(|(_, it)| it["type"].as_str())
        .collect();
    assert_eq!(types, told);
    assert_eq!(actions[0].1["cwd"], "file:///999");
    assert_eq!(actions[1].1["title"], "t9999");
    assert_eq!(actions[2].1["terminals"][0]["title"], "t9999");
}

#[test]
fn what_was_heard_of_a_terminal_is_told_before_its_end() {
    let mut host = Host::with_terminal();
    host.titles(&["last words".to_owned()]);
    host.terminal(TerminalEvent::Exited { exit_code: Some(0) });
    let actions = host.actions(1);
    let types: Vec<&str> = actions
        .iter()
        .filter_map(|(_, it)| it["type"].as_str())
        .collect();
    let told = [
        "terminal/titleChanged",
        "root/terminalsChanged",
        "terminal/exited",
        "root/terminalsChanged",
    ];
    assert_eq!(types, told);
}

#[test]
fn a_title_is_cut_where_nobody_would_read_on() {
    let mut host = Host::with_terminal();
    host.titles(&["ä".repeat(60_000)]);
    host.wait(Limits::default().summary_delay);
    let actions = host.actions(1);
    assert_eq!(actions[0].1["title"], "ä".repeat(256));
}
