//! What is true of each type of action, whatever it says: one table for all
//! who ask. It has no `_`, so a type that the protocol gains does not compile
//! until it has a row here.

use crate::newest::actions::StateAction;
use crate::newest::state::{Message, ToolInput, ToolResultContent};

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActionTraits<'a> {
    /// It changes nothing but the active turn (and what follows from it). Such
    /// actions are not written to the chat's row: the log has them, and they
    /// are applied again when the chat is loaded.
    pub is_within_turn: bool,
    /// It may change what the session waits for.
    pub may_need_somebody: bool,
    /// It is told although it changes no state.
    pub is_news: bool,
    /// A turn begins or ends with it. Nobody is told before it is stored.
    pub bounds_turn: bool,
    /// What decides its size.
    pub content: ActionContent<'a>,
}

/// What an action holds that may be large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActionContent<'a> {
    Little,
    /// Text that is appended to what is there. Neighbours can be merged; see
    /// [`merge`](crate::record::merge).
    Appended(&'a str),
    Message(&'a Message),
    Input(&'a ToolInput),
    Blocks(&'a [ToolResultContent]),
    /// The rows of so many files.
    Files(usize),
}

const YES: bool = true;
const NO: bool = false;

/// The row of an action. It is inlined always, though it is long, so that who
/// asks for one column pays for a look at the type and no more: this is asked
/// several times of every piece of streamed text.
#[inline(always)]
#[rustfmt::skip]
pub fn traits_of(action: &StateAction) -> ActionTraits<'_> {
    use ActionContent::{Appended, Blocks, Files, Input, Little, Message};
    use StateAction as A;
    match action {
        //                                               within turn
        //                                               |    may need somebody
        //                                               |    |    news
        //                                               |    |    |    begins or ends a turn
        //                                               |    |    |    |    content
        A::RootAgentsChanged(_)                   => row(NO,  NO,  NO,  NO,  Little),
        A::RootActiveSessionsChanged(_)           => row(NO,  NO,  NO,  NO,  Little),
        A::RootConfigChanged(_)                   => row(NO,  NO,  NO,  NO,  Little),
        A::RootTerminalsChanged(_)                => row(NO,  NO,  NO,  NO,  Little),

        A::SessionReady(_)                        => row(NO,  NO,  NO,  NO,  Little),
        A::SessionCreationFailed(_)               => row(NO,  NO,  NO,  NO,  Little),
        A::SessionChatAdded(_)                    => row(NO,  NO,  NO,  NO,  Little),
        A::SessionChatRemoved(_)                  => row(NO,  NO,  NO,  NO,  Little),
        A::SessionChatUpdated(_)                  => row(NO,  NO,  NO,  NO,  Little),
        A::SessionChatsReordered(_)               => row(NO,  NO,  NO,  NO,  Little),
        A::SessionDefaultChatChanged(_)           => row(NO,  NO,  NO,  NO,  Little),
        A::SessionTitleChanged(_)                 => row(NO,  NO,  NO,  NO,  Little),
        A::SessionIsReadChanged(_)                => row(NO,  NO,  NO,  NO,  Little),
        A::SessionIsArchivedChanged(_)            => row(NO,  NO,  NO,  NO,  Little),
        A::SessionActivityChanged(_)              => row(NO,  NO,  NO,  NO,  Little),
        A::SessionChangesetsChanged(_)            => row(NO,  NO,  NO,  NO,  Little),
        A::SessionServerToolsChanged(_)           => row(NO,  NO,  NO,  NO,  Little),
        A::SessionActiveClientSet(_)              => row(NO,  NO,  NO,  NO,  Little),
        A::SessionActiveClientRemoved(_)          => row(NO,  NO,  NO,  NO,  Little),
        A::SessionWorkingDirectorySet(_)          => row(NO,  NO,  NO,  NO,  Little),
        A::SessionWorkingDirectoryRemoved(_)      => row(NO,  NO,  NO,  NO,  Little),
        A::SessionWorkingDirectoryReplaced(_)     => row(NO,  NO,  NO,  NO,  Little),
        A::SessionInputNeededSet(_)               => row(NO,  NO,  NO,  NO,  Little),
        A::SessionInputNeededRemoved(_)           => row(NO,  NO,  NO,  NO,  Little),
        A::SessionCustomizationsChanged(_)        => row(NO,  NO,  NO,  NO,  Little),
        A::SessionCustomizationToggled(_)         => row(NO,  NO,  NO,  NO,  Little),
        A::SessionCustomizationUpdated(_)         => row(NO,  NO,  NO,  NO,  Little),
        A::SessionCustomizationRemoved(_)         => row(NO,  NO,  NO,  NO,  Little),
        A::SessionMcpServerStateChanged(_)        => row(NO,  NO,  NO,  NO,  Little),
        A::SessionMcpServerStartRequested(_)      => row(NO,  NO,  NO,  NO,  Little),
        A::SessionMcpServerStopRequested(_)       => row(NO,  NO,  NO,  NO,  Little),
        A::SessionMcpServerBackgroundRequested(_) => row(NO,  NO,  NO,  NO,  Little),
        A::SessionConfigChanged(_)                => row(NO,  NO,  NO,  NO,  Little),
        A::SessionMetaChanged(_)                  => row(NO,  NO,  NO,  NO,  Little),

        A::ChatTurnStarted(a)                     => row(NO,  NO,  NO,  YES, Message(&a.message)),
        A::ChatDelta(a)                           => row(YES, NO,  NO,  NO,  Appended(&a.content)),
        A::ChatResponsePart(_)                    => row(YES, NO,  NO,  NO,  Little),
        A::ChatToolCallStart(_)                   => row(YES, NO,  NO,  NO,  Little),
        A::ChatToolCallDelta(_)                   => row(YES, NO,  NO,  NO,  Little),
        A::ChatToolCallReady(a)                   => row(YES, YES, NO,  NO,  a.tool_input.as_ref().map_or(Little, Input)),
        A::ChatToolCallConfirmed(_)               => row(YES, YES, NO,  NO,  Little),
        A::ChatToolCallComplete(a)                => row(YES, YES, NO,  NO,  a.result.content.as_deref().map_or(Little, Blocks)),
        A::ChatToolCallResultConfirmed(_)         => row(YES, YES, NO,  NO,  Little),
        A::ChatToolCallContentChanged(a)          => row(YES, NO,  NO,  NO,  Blocks(&a.content)),
        A::ChatToolCallAuthRequired(_)            => row(YES, NO,  NO,  NO,  Little),
        A::ChatToolCallAuthResolved(_)            => row(YES, NO,  NO,  NO,  Little),
        A::ChatTurnComplete(_)                    => row(NO,  NO,  NO,  YES, Little),
        A::ChatTurnCancelled(_)                   => row(NO,  NO,  NO,  YES, Little),
        A::ChatError(_)                           => row(NO,  NO,  NO,  YES, Little),
        A::ChatTurnResume(_)                      => row(NO,  NO,  NO,  YES, Little),
        A::ChatActivityChanged(_)                 => row(NO,  NO,  NO,  NO,  Little),
        A::ChatBackgroundWorkSet(_)               => row(NO,  NO,  NO,  NO,  Little),
        A::ChatBackgroundWorkRemoved(_)           => row(NO,  NO,  NO,  NO,  Little),
        A::ChatMovableChanged(_)                  => row(NO,  NO,  NO,  NO,  Little),
        A::ChatChangesetsChanged(_)               => row(NO,  NO,  NO,  NO,  Little),
        A::ChatCanvasesChanged(_)                 => row(NO,  NO,  NO,  NO,  Little),
        A::ChatUsage(_)                           => row(YES, NO,  NO,  NO,  Little),
        A::ChatReasoning(a)                       => row(YES, NO,  NO,  NO,  Appended(&a.content)),
        A::ChatWorkingDirectorySet(_)             => row(NO,  NO,  NO,  NO,  Little),
        A::ChatWorkingDirectoryRemoved(_)         => row(NO,  NO,  NO,  NO,  Little),
        A::ChatPendingMessageSet(a)               => row(NO,  NO,  NO,  NO,  Message(&a.message)),
        A::ChatPendingMessageRemoved(_)           => row(NO,  NO,  NO,  NO,  Little),
        A::ChatQueuedMessagesReordered(_)         => row(NO,  NO,  NO,  NO,  Little),
        A::ChatDraftChanged(a)                    => row(NO,  NO,  NO,  NO,  a.draft.as_ref().map_or(Little, Message)),
        A::ChatIsReadChanged(_)                   => row(NO,  NO,  NO,  NO,  Little),
        A::ChatIsArchivedChanged(_)               => row(NO,  NO,  NO,  NO,  Little),
        A::ChatInputRequested(_)                  => row(YES, YES, NO,  NO,  Little),
        A::ChatInputAnswerChanged(_)              => row(YES, YES, NO,  NO,  Little),
        A::ChatInputCompleted(_)                  => row(YES, YES, NO,  NO,  Little),
        A::ChatTruncated(_)                       => row(NO,  NO,  NO,  NO,  Little),
        A::ChatTurnsLoaded(_)                     => row(NO,  NO,  NO,  NO,  Little),

        A::CanvasStateChanged(_)                  => row(NO,  NO,  NO,  NO,  Little),

        A::ChangesetStatusChanged(_)              => row(NO,  NO,  NO,  NO,  Little),
        A::ChangesetFileSet(_)                    => row(NO,  NO,  NO,  NO,  Little),
        A::ChangesetFileRemoved(_)                => row(NO,  NO,  NO,  NO,  Little),
        A::ChangesetFilesReviewChanged(_)         => row(NO,  NO,  NO,  NO,  Little),
        A::ChangesetContentChanged(a)             => row(NO,  NO,  NO,  NO,  Files(a.files.len())),
        A::ChangesetOperationsChanged(_)          => row(NO,  NO,  NO,  NO,  Little),
        A::ChangesetOperationStatusChanged(_)     => row(NO,  NO,  NO,  NO,  Little),
        A::ChangesetCleared(_)                    => row(NO,  NO,  NO,  NO,  Little),

        A::AnnotationsSet(_)                      => row(NO,  NO,  NO,  NO,  Little),
        A::AnnotationsUpdated(_)                  => row(NO,  NO,  NO,  NO,  Little),
        A::AnnotationsRemoved(_)                  => row(NO,  NO,  NO,  NO,  Little),
        A::AnnotationsEntrySet(_)                 => row(NO,  NO,  NO,  NO,  Little),
        A::AnnotationsEntryRemoved(_)             => row(NO,  NO,  NO,  NO,  Little),

        A::TerminalData(a)                        => row(NO,  NO,  NO,  NO,  Appended(&a.data)),
        A::TerminalInput(_)                       => row(NO,  NO,  NO,  NO,  Little),
        A::TerminalResized(_)                     => row(NO,  NO,  NO,  NO,  Little),
        A::TerminalClaimed(_)                     => row(NO,  NO,  NO,  NO,  Little),
        A::TerminalTitleChanged(_)                => row(NO,  NO,  NO,  NO,  Little),
        A::TerminalCwdChanged(_)                  => row(NO,  NO,  NO,  NO,  Little),
        A::TerminalExited(_)                      => row(NO,  NO,  NO,  NO,  Little),
        A::TerminalCleared(_)                     => row(NO,  NO,  NO,  NO,  Little),
        A::TerminalCommandDetectionAvailable(_)   => row(NO,  NO,  NO,  NO,  Little),
        A::TerminalCommandExecuted(_)             => row(NO,  NO,  NO,  NO,  Little),
        A::TerminalCommandFinished(_)             => row(NO,  NO,  NO,  NO,  Little),

        A::ResourceWatchChanged(_)                => row(NO,  NO,  YES, NO,  Little),

        A::AutomationCreateRequested(_)           => row(NO,  NO,  NO,  NO,  Little),
        A::AutomationUpdateRequested(_)           => row(NO,  NO,  NO,  NO,  Little),
        A::AutomationSet(_)                       => row(NO,  NO,  NO,  NO,  Little),
        A::AutomationRemoved(_)                   => row(NO,  NO,  NO,  NO,  Little),

        A::AutomationRunLifecycleChanged(_)       => row(NO,  NO,  NO,  NO,  Little),
        A::AutomationRunSessionSet(_)             => row(NO,  NO,  NO,  NO,  Little),
        A::AutomationRunSessionRemoved(_)         => row(NO,  NO,  NO,  NO,  Little),
        A::AutomationRunPrimarySessionChanged(_)  => row(NO,  NO,  NO,  NO,  Little),
        A::AutomationRunCancelRequested(_)        => row(NO,  NO,  NO,  NO,  Little),
        A::Unknown(_)                             => row(NO,  NO,  NO,  NO,  Little),
    }
}

#[inline(always)]
fn row(
    is_within_turn: bool,
    may_need_somebody: bool,
    is_news: bool,
    bounds_turn: bool,
    content: ActionContent<'_>,
) -> ActionTraits<'_> {
    ActionTraits {
        is_within_turn,
        may_need_somebody,
        is_news,
        bounds_turn,
        content,
    }
}
