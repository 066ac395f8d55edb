//! How far a turn has come that is taken up again: the parts that it has are
//! matched with the steps that made them.

use innkeeper_protocol::newest::state::{
    InputRequestResponsePart, ResponsePart, ToolCallCancellationReason, ToolCallState,
};
use innkeeper_protocol::steering;

use super::step::{Speech, Step};

/// A step that is still to be played.
#[derive(Debug)]
pub(super) enum Remaining {
    Whole(Step),
    /// A tool call that waits, or has been allowed to run.
    Tool(Step, Box<ToolCallState>),
    /// Questions that still wait.
    Question(Box<InputRequestResponsePart>),
}

impl Remaining {
    pub(super) fn all(steps: Vec<Step>) -> Vec<Self> {
        steps.into_iter().map(Self::Whole).collect()
    }
}

/// What is left of a scenario after the parts that it has made.
pub(super) fn remaining(steps: Vec<Step>, parts: &[ResponsePart]) -> Vec<Remaining> {
    // An interruption from outside is not a step, nor is what the user said.
    let made_by_steps = |part: &&ResponsePart| match part {
        ResponsePart::Error(error) => error.error.error_type != "hostInterrupted",
        ResponsePart::SystemNotification(part) => steering::words(part).is_none(),
        _ => true,
    };
    let mut parts = parts.iter().filter(made_by_steps).peekable();
    let mut left = Vec::new();
    for step in steps {
        let Some(part) = parts.peek() else {
            left.push(Remaining::Whole(step));
            continue;
        };
        match after(step, part) {
            After::Unrelated => {}
            After::Done => _ = parts.next(),
            After::GoesOn(step) => {
                parts.next();
                left.push(*step);
            }
        }
    }
    left
}

enum After {
    /// The step makes no part, and lies before one that does.
    Unrelated,
    Done,
    GoesOn(Box<Remaining>),
}

fn after(step: Step, part: &ResponsePart) -> After {
    use After::{Done, GoesOn, Unrelated};
    match (step, part) {
        (Step::Say(speech), ResponsePart::Markdown(said)) => {
            rest_of(speech, &said.content).map_or(Done, |rest| whole(Step::Say(rest)))
        }
        (Step::Reason(speech), ResponsePart::Reasoning(said)) => {
            rest_of(speech, &said.content).map_or(Done, |rest| whole(Step::Reason(rest)))
        }
        (Step::Flood(mut flood), ResponsePart::Markdown(said)) => {
            let done = said.content.len() / flood.bytes.max(1);
            flood.deltas = flood.deltas.saturating_sub(done as u64);
            match flood.deltas {
                0 => Done,
                _ => whole(Step::Flood(flood)),
            }
        }
        (Step::Echo(_) | Step::SayAnswer(_) | Step::AwaitSteering, ResponsePart::Markdown(_))
        | (Step::Content(_), ResponsePart::ContentRef(_))
        | (Step::Notify(_), ResponsePart::SystemNotification(_))
        | (Step::Fail(_) | Step::Crash, ResponsePart::Error(_)) => Done,
        (
            step @ (Step::Tool(_)
            | Step::ClientTool(_)
            | Step::Subagent(_)
            | Step::Edit(_)
            | Step::Terminal(_)),
            ResponsePart::ToolCall(part),
        ) => match &part.tool_call {
            // It was cut off by the interruption, not by a person.
            ToolCallState::Cancelled(call)
                if call.reason == ToolCallCancellationReason::Skipped =>
            {
                whole(step)
            }
            ToolCallState::Completed(_) | ToolCallState::Cancelled(_) => Done,
            state => GoesOn(Box::new(Remaining::Tool(step, Box::new(state.clone())))),
        },
        (Step::Ask(_), ResponsePart::InputRequest(part)) => {
            // An answer is looked up again where it is said.
            GoesOn(Box::new(Remaining::Question(Box::new(part.clone()))))
        }
        _ => Unrelated,
    }
}

fn whole(step: Step) -> After {
    After::GoesOn(Box::new(Remaining::Whole(step)))
}

/// What is left to say of a text, if anything is.
fn rest_of(speech: Speech, said: &str) -> Option<Speech> {
    let rest = speech.text.strip_prefix(said)?.to_owned();
    (!rest.is_empty()).then_some(Speech {
        text: rest,
        ..speech
    })
}
