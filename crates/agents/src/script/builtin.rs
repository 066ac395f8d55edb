//! The scenarios that have names. Those that can be played are data: the same
//! JSON that anyone may send.

/// The command that lists them, without its slash.
pub(super) const LIST: &str = "scenarios";

#[derive(Debug)]
pub(super) struct Builtin {
    pub(super) name: &'static str,
    about: &'static str,
    pub(super) scenario: &'static str,
}

pub(super) const HELLO: Builtin = Builtin {
    name: "hello",
    about: "a greeting",
    scenario: include_str!("scenarios/hello.json"),
};

pub(super) static ALL: [Builtin; 10] = [
    HELLO,
    Builtin {
        name: "tools",
        about: "tool calls, from start to result",
        scenario: include_str!("scenarios/tools.json"),
    },
    Builtin {
        name: "confirm",
        about: "a tool call that needs your approval",
        scenario: include_str!("scenarios/confirm.json"),
    },
    Builtin {
        name: "ask",
        about: "a question of each kind",
        scenario: include_str!("scenarios/ask.json"),
    },
    Builtin {
        name: "edit",
        about: "a real change to a file",
        scenario: include_str!("scenarios/edit.json"),
    },
    Builtin {
        name: "terminal",
        about: "a real command",
        scenario: include_str!("scenarios/terminal.json"),
    },
    Builtin {
        name: "subagent",
        about: "an agent that starts another one",
        scenario: include_str!("scenarios/subagent.json"),
    },
    Builtin {
        name: "error",
        about: "a turn that fails and can be resumed",
        scenario: include_str!("scenarios/error.json"),
    },
    Builtin {
        name: "long",
        about: "a long answer, to watch or to cancel",
        scenario: include_str!("scenarios/long.json"),
    },
    Builtin {
        name: "tour",
        about: "a bit of everything",
        scenario: include_str!("scenarios/tour.json"),
    },
];

pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name == name)
}

/// The list that `/scenarios` says.
pub(super) fn list() -> String {
    let mut list = String::from("Scenarios that you can play by saying their name:\n\n");
    for builtin in &ALL {
        let Builtin { name, about, .. } = builtin;
        list.push_str(&format!("- `{name}`: {about}\n"));
    }
    list.push_str("\nA JSON object with `steps` plays a scenario of your own.\n");
    list
}
