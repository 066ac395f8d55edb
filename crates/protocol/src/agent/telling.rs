//! What a backend has to tell people, as codes with parameters. The engine
//! puts them into words, in the language of whoever reads them; what an agent
//! says itself, or a program on its way out, is a parameter and stays as it is.
//!
//! As text (`Display`), each is in English: for logs, and for the engine where
//! that is the language.

use std::fmt;

use crate::newest::common::StringOrMarkdown;
use crate::newest::state::{ConfirmationOption, ConfirmationOptionKind, ErrorInfo};

/// Something that stays in the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentNotice {
    /// In the agent's own words.
    Own(StringOrMarkdown),
    /// The turn ended because the answer became too long.
    TokenLimit,
    /// Likewise because the agent may not ask its model more often in a turn.
    RequestLimit,
    Refused,
    Summarised,
    NotSummarised {
        why: Option<String>,
    },
    /// It was told again what was said before.
    NotTakenUp {
        agent: String,
        why: NotTakenUp,
    },
    SettingRefused {
        agent: String,
        why: Option<String>,
    },
    SettingsNotConfirmed,
    /// The tools of clients came too late for this conversation.
    NoToolsAnyMore {
        agent: String,
    },
    /// There is no way from the agent to the tools of clients and MCP servers.
    NoTools {
        agent: String,
    },
    ExtensionFailed {
        agent: String,
        why: Option<String>,
    },
    SignedIn {
        agent: String,
    },
    /// It was told what it does not read by itself; so many did not fit.
    ToldCustomizations {
        agent: String,
        told: usize,
        left_out: usize,
    },
}

/// Why an agent does not remember an earlier conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotTakenUp {
    /// It never can.
    NotAble,
    /// The file in which it kept the conversation is not there any more.
    FileGone,
    /// As it says itself.
    Said(String),
}

/// What is going on, as long as it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentActivity {
    /// In the agent's own words.
    Own(String),
    Summarising,
    TryingAgain {
        why: Option<String>,
    },
    Silent {
        agent: String,
        seconds: u64,
    },
}

/// Why a conversation could not be opened, or a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentFailure {
    /// In the agent's own words, with whatever else it says.
    Own(Box<ErrorInfo>),
    /// The agent ended the turn, and said this or nothing.
    TurnFailed {
        said: Option<String>,
    },
    /// Likewise, and the last that it said in the turn is why.
    TurnFailedAsSaid,
    UnknownProvider(String),
    NotStarted {
        command: String,
        why: String,
    },
    EndedEarly {
        command: String,
        end: ProcessEnd,
    },
    NoAnswer {
        command: String,
        seconds: u64,
        /// What it has said meanwhile for people to read.
        last_words: Option<String>,
    },
    SignInRequired {
        agent: String,
        /// The ways of doing so without a session, each as something to do.
        ways: Vec<String>,
        said: String,
    },
    /// Somebody tried to sign in, and the agent was not content with it.
    SignInFailed {
        agent: String,
        said: Option<String>,
    },
    /// The agent did not want to, and said this or nothing.
    Refused {
        agent: String,
        said: Option<String>,
    },
    /// It does not keep to its protocol.
    NotUnderstood {
        command: String,
        what: String,
    },
}

/// How a backend came to its end, unasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// Its process did.
    Process(ProcessEnd),
    /// It stopped by itself, without a word.
    Stopped,
    /// It failed in a way that nobody thought of.
    Panicked(String),
}

/// The end of a process, and the last that it said on standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEnd {
    pub how: HowEnded,
    pub last_words: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowEnded {
    Status(i32),
    Signal(i32),
    /// It says nothing any more; whether it still runs is not known.
    OutputClosed,
}

/// One of the answers that an agent takes to a request for approval.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalOption {
    pub id: String,
    pub label: ApprovalLabel,
    pub kind: ConfirmationOptionKind,
    /// Where it stands: what holds for this time before what holds for longer.
    pub group: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalLabel {
    /// As the agent calls it.
    Own(String),
    AllowOnce,
    AllowAlways,
    DenyOnce,
    DenyAlways,
}

impl AgentNotice {
    pub fn own(text: impl Into<String>) -> Self {
        Self::Own(StringOrMarkdown::Plain(text.into()))
    }
}

impl AgentFailure {
    /// The word by which clients know this kind of failure.
    pub fn error_type(&self) -> &str {
        match self {
            Self::Own(error) => &error.error_type,
            Self::TurnFailed { .. } | Self::TurnFailedAsSaid | Self::Refused { .. } => "agentError",
            Self::UnknownProvider(_) => "unknownProvider",
            Self::NotStarted { .. } => "agentNotStarted",
            Self::EndedEarly { .. } => "agentExited",
            Self::NoAnswer { .. } => "agentSilent",
            Self::SignInRequired { .. } | Self::SignInFailed { .. } => "agentSignInRequired",
            Self::NotUnderstood { .. } => "agentProtocol",
        }
    }
}

impl From<ConfirmationOption> for ApprovalOption {
    fn from(option: ConfirmationOption) -> Self {
        Self {
            id: option.id,
            label: ApprovalLabel::Own(option.label),
            kind: option.kind,
            group: option.group,
        }
    }
}

/// What follows on a colon, if there is anything.
fn after_colon(said: &Option<String>) -> String {
    said.as_ref()
        .map(|said| format!(": {said}"))
        .unwrap_or_default()
}

impl fmt::Display for AgentNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(text) => f.write_str(text.as_text()),
            Self::TokenLimit => {
                f.write_str("The agent stopped because its answer reached the token limit.")
            }
            Self::RequestLimit => {
                f.write_str("The agent stopped because it made as many requests as one turn may.")
            }
            Self::Refused => f.write_str("The agent refused to continue."),
            Self::Summarised => f.write_str("The agent summarised the conversation to make room."),
            Self::NotSummarised { why: None } => {
                f.write_str("The agent could not summarise the conversation.")
            }
            Self::NotSummarised { why: Some(why) } => {
                write!(f, "The agent could not summarise the conversation: {why}")
            }
            Self::NotTakenUp { agent, why } => write!(
                f,
                "{agent} did not resume its earlier conversation ({why}). It received the \
                 transcript instead."
            ),
            Self::SettingRefused { agent, why: None } => {
                write!(f, "{agent} did not accept a setting.")
            }
            Self::SettingRefused {
                agent,
                why: Some(why),
            } => write!(f, "{agent} did not accept a setting: {why}"),
            Self::SettingsNotConfirmed => {
                f.write_str("The agent did not confirm its settings in time.")
            }
            Self::NoToolsAnyMore { agent } => write!(
                f,
                "{agent} cannot be given tools in the middle of a conversation. It gets them in \
                 a new session."
            ),
            Self::NoTools { agent } => write!(
                f,
                "{agent} cannot use the tools of your editor and of the host's MCP servers: it \
                 takes MCP servers neither as programs nor over HTTP. Another agent can use them."
            ),
            Self::ExtensionFailed { agent, why: None } => {
                write!(f, "An extension of {agent} failed.")
            }
            Self::ExtensionFailed {
                agent,
                why: Some(why),
            } => write!(f, "An extension of {agent} failed: {why}"),
            Self::SignedIn { agent } => write!(f, "You are signed in to {agent}."),
            Self::ToldCustomizations {
                agent,
                told,
                left_out: 0,
            } => write!(f, "{agent} received {told} of your customizations."),
            Self::ToldCustomizations {
                agent,
                told,
                left_out,
            } => write!(
                f,
                "{agent} received {told} of your customizations. The text of {left_out} did \
                 not fit."
            ),
        }
    }
}

impl fmt::Display for NotTakenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAble => f.write_str("it cannot resume earlier conversations"),
            Self::FileGone => f.write_str("its file is gone"),
            Self::Said(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for AgentActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(text) => f.write_str(text),
            Self::Summarising => f.write_str("Summarising the conversation"),
            Self::TryingAgain { why } => write!(f, "Trying again{}", after_colon(why)),
            Self::Silent { agent, seconds } => write!(f, "No word from {agent} for {seconds} s"),
        }
    }
}

impl fmt::Display for AgentFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(error) => f.write_str(&error.message),
            Self::TurnFailed { said: Some(said) } => f.write_str(said),
            Self::TurnFailedAsSaid => {
                f.write_str("The agent ended the turn in an error. It says above why.")
            }
            Self::TurnFailed { said: None } => {
                f.write_str("The agent ended the turn in an error and did not say why.")
            }
            Self::UnknownProvider(provider) => {
                write!(f, "agent `{provider}` is not available on this host")
            }
            Self::NotStarted { command, why } => write!(
                f,
                "`{command}` cannot be started: {why}; check that it is installed, and the \
                 command in the configuration if it is set there"
            ),
            Self::EndedEarly { command, end } => {
                write!(f, "`{command}` ended before it was ready: {end}")
            }
            Self::NoAnswer {
                command,
                seconds,
                last_words: Some(said),
            } => write!(
                f,
                "`{command}` did not answer within {seconds} s; it last said: {said}"
            ),
            Self::NoAnswer {
                command, seconds, ..
            } => write!(
                f,
                "`{command}` did not answer within {seconds} s; start it by hand to see what it \
                 waits for"
            ),
            Self::SignInRequired { agent, ways, said } => {
                write!(f, "{agent} needs you to sign in first")?;
                match ways.is_empty() {
                    true => write!(
                        f,
                        " ({said}). It offers no way of doing so here: sign in with its own \
                         program in a terminal, then try again."
                    ),
                    false => write!(
                        f,
                        ". Send a message in a session with it, and you are asked how. Or: {}",
                        ways.join("; ")
                    ),
                }
            }
            Self::SignInFailed { agent, said } => write!(
                f,
                "Signing in to {agent} did not work{}. Try again to choose another way.",
                after_colon(said)
            ),
            Self::Refused { agent, said } => write!(f, "{agent} refused{}", after_colon(said)),
            Self::NotUnderstood { command, what } => write!(
                f,
                "`{command}` does not speak its protocol as expected: {what}"
            ),
        }
    }
}

impl fmt::Display for AgentEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(end) => end.fmt(f),
            Self::Stopped => f.write_str("the agent's backend ended unexpectedly"),
            Self::Panicked(why) => write!(f, "the agent's backend panicked: {why}"),
        }
    }
}

impl fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.how {
            HowEnded::Status(code) => write!(f, "it ended with status {code}")?,
            HowEnded::Signal(signal) => write!(f, "it was ended by signal {signal}")?,
            HowEnded::OutputClosed => f.write_str("it closed its output")?,
        }
        match &self.last_words {
            Some(words) => write!(f, "; it last said: {words}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ApprovalLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own(name) => name,
            Self::AllowOnce => "Allow once",
            Self::AllowAlways => "Always allow",
            Self::DenyOnce => "Deny",
            Self::DenyAlways => "Always deny",
        })
    }
}
