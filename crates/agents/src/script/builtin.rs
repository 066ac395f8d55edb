//! The scenarios that have names. Those that can be played are data: the same
//! JSON that anyone may send.

/// The command that lists them, without its slash.
pub(super) const LIST: &str = "scenarios";

#[derive(Debug)]
pub(super) struct Builtin {
    pub(super) name: &'static str,
    about: &'static str,
    /// `None` while a step that it needs cannot be played.
    pub(super) scenario: Option<&'static str>,
}

pub(super) const HELLO: Builtin = Builtin {
    name: "hello",
    about: "a greeting",
    scenario: Some(include_str!("scenarios/hello.json")),
};

pub(super) static ALL: [Builtin; 10] = [
    HELLO,
    Builtin {
        name: "tools",
        about: "tool calls through their whole life",
        scenario: Some(include_str!("scenarios/tools.json")),
    },
    Builtin {
        name: "confirm",
        about: "a tool call that waits for your approval",
        scenario: Some(include_str!("scenarios/confirm.json")),
    },
    Builtin {
        name: "ask",
        about: "questions to you",
        scenario: Some(include_str!("scenarios/ask.json")),
    },
    unavailable("edit", "a file that is really changed"),
    unavailable("terminal", "a command that is really run"),
    Builtin {
        name: "subagent",
        about: "an agent that starts another one",
        scenario: Some(include_str!("scenarios/subagent.json")),
    },
    Builtin {
        name: "error",
        about: "a turn that fails and can be taken up again",
        scenario: Some(include_str!("scenarios/error.json")),
    },
    Builtin {
        name: "long",
        about: "a long answer, to watch or to cancel",
        scenario: Some(include_str!("scenarios/long.json")),
    },
    Builtin {
        name: "tour",
        about: "a bit of everything",
        scenario: Some(include_str!("scenarios/tour.json")),
    },
];

const fn unavailable(name: &'static str, about: &'static str) -> Builtin {
    Builtin {
        name,
        about,
        scenario: None,
    }
}

pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name == name)
}

/// The list that `/scenarios` says.
pub(super) fn list() -> String {
    let mut list = String::from("Scenarios that you can play by saying their name:\n\n");
    for builtin in &ALL {
        let later = match builtin.scenario {
            Some(_) => "",
            None => " (not available yet)",
        };
        let Builtin { name, about, .. } = builtin;
        list.push_str(&format!("- `{name}`: {about}{later}\n"));
    }
    list.push_str("\nA JSON object with `steps` plays a scenario of your own.\n");
    list
}
