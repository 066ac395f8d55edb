//! What clients may have done about changes. Each operation asks for
//! confirmation, in the protocol's way, and is preceded by a checkpoint.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::bounds::MAX_COMMIT_MESSAGE_BYTES;
use innkeeper_protocol::newest::actions::{ChangesetOperationStatusChangedAction, StateAction};
use innkeeper_protocol::newest::commands::{
    ChangesetOperationFollowUp, ChangesetOperationTarget, InvokeChangesetOperationParams,
    InvokeChangesetOperationResult,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    ChangesetOperationScope, ChangesetOperationStatus, ChangesetState, ContentRef, ErrorInfo,
    TextRange,
};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::changes::{
    ChangesError, ChangesTask, Compared, Lines, Moment, Operation, OperationDone, OperationId, Sent,
};

use super::artifacts;
use super::changesets::View;
use super::offers::{COMMIT, CREATE_PR, DISCARD, KEEP, PUSH, RESTORE, REVERT, worktree_of};
use super::{Changes, tell};
use crate::clients::Clients;
use crate::core::{Core, error_info};
use crate::effect::ConnectionId;
use crate::labels::operations;

/// An operation that somebody waits for.
#[derive(Debug)]
pub(super) struct RunningOperation {
    connection: ConnectionId,
    id: RequestId,
    session: ChannelUri,
    channel: ChannelUri,
    name: String,
    /// It is ended when whoever asked for it leaves.
    speaks_to_remote: bool,
}

impl Changes {
    /// Has an operation carried out for a client, which is answered when it is
    /// over.
    pub(crate) fn operate(
        &mut self,
        core: &mut Core,
        (connection, id): (ConnectionId, RequestId),
        params: &InvokeChangesetOperationParams,
    ) {
        let channel = ChannelUri::from(params.channel.as_str());
        let known = self.views.get(&channel);
        let Some((view, changeset)) = known.zip(core.channels.changeset(&channel)) else {
            let error = RpcError::not_found(channel.as_str());
            return core.fail(connection, Some(id), error);
        };
        let proposal = self.proposal(core, &view.session);
        let tree_of = worktree_of(core, &view.session);
        let (session, what) = match asked(view, &changeset.state, params, (proposal, tree_of)) {
            Ok(what) => (view.session.clone(), what),
            Err(error) => return core.fail(connection, Some(id), error),
        };
        self.last_operation += 1;
        let operation = OperationId(self.last_operation);
        let running = RunningOperation {
            connection,
            id,
            session: session.clone(),
            channel: channel.clone(),
            speaks_to_remote: matches!(what, Operation::Push | Operation::CreatePullRequest { .. }),
            name: params.operation_id.clone(),
        };
        let name = running.name.clone();
        self.operations.insert(operation, running);
        status_changed(
            core,
            &channel,
            &name,
            ChangesetOperationStatus::Running,
            None,
        );
        tell(core, &session, ChangesTask::Operate { operation, what });
    }

    /// What a connection that has ended asked of a remote is not wanted any more.
    pub(crate) fn forget_connection(&self, core: &mut Core, connection: ConnectionId) {
        let running = self.operations.iter();
        let forgotten = running
            .filter(|(_, running)| running.connection == connection && running.speaks_to_remote);
        for (operation, running) in forgotten {
            let operation = *operation;
            tell(core, &running.session, ChangesTask::Cancel { operation });
        }
    }

    pub(super) fn operated(
        &mut self,
        core: &mut Core,
        clients: &Clients,
        (session, operation): (&ChannelUri, OperationId),
        outcome: Result<Vec<OperationDone>, ChangesError>,
        undo: bool,
    ) {
        if let Some(running) = self.operations.remove(&operation) {
            let RunningOperation {
                connection,
                id,
                channel,
                name,
                ..
            } = running;
            match outcome {
                Ok(done) => {
                    let message = operations::done(&done, clients.locale_of(connection));
                    artifacts::note(core, session, &done);
                    let idle = ChangesetOperationStatus::Idle;
                    status_changed(core, &channel, &name, idle, None);
                    let result = InvokeChangesetOperationResult {
                        message: Some(StringOrMarkdown::Plain(message)),
                        follow_up: follow_up(&done),
                    };
                    let reply = Reply::InvokeChangesetOperation(result);
                    core.answer(connection, Some(id), Ok(reply));
                }
                Err(trouble) => {
                    let in_state = core.channels.locale_of(session);
                    let in_state = operations::trouble(&trouble, in_state);
                    let error = Some(error_info("operationFailed", in_state));
                    let failed = ChangesetOperationStatus::Error;
                    status_changed(core, &channel, &name, failed, error);
                    let reason = operations::trouble(&trouble, clients.locale_of(connection));
                    core.fail(connection, Some(id), RpcError::internal(reason));
                }
            }
        }
        if let Some(tracking) = self.tracked.get_mut(session) {
            tracking.undo = undo;
            core.touch(session);
        }
    }
}

/// The page to open after an operation, the last that there is.
fn follow_up(done: &[OperationDone]) -> Option<ChangesetOperationFollowUp> {
    let mut pages = done.iter().rev().filter_map(|done| match done {
        OperationDone::Sent(Sent::PullRequest { url, .. }) => Some(url),
        OperationDone::Sent(Sent::PullRequestPage { url, .. }) => url.as_ref(),
        OperationDone::Sent(Sent::Pushed(pushed)) => pushed.page.as_ref(),
        OperationDone::FilesAsBefore(_)
        | OperationDone::PlacesAsBefore(_)
        | OperationDone::FilesAsThen(_)
        | OperationDone::Committed(_)
        | OperationDone::Brought(_)
        | OperationDone::CommitTakenBack => None,
    });
    Some(ChangesetOperationFollowUp {
        content: ContentRef {
            uri: pages.next()?.clone(),
            size_hint: None,
            content_type: Some("text/html".to_owned()),
            nonce: None,
        },
        external: Some(true),
    })
}

fn status_changed(
    core: &mut Core,
    channel: &ChannelUri,
    operation_id: &str,
    status: ChangesetOperationStatus,
    error: Option<ErrorInfo>,
) {
    let action = ChangesetOperationStatusChangedAction {
        operation_id: operation_id.to_owned(),
        status,
        error,
    };
    if core.channels.contains(channel) {
        let action = StateAction::ChangesetOperationStatusChanged(action);
        core.emit(channel, action, None);
    }
}

/// What a client wants done, if it is among what is offered.
fn asked(
    view: &View,
    changeset: &ChangesetState,
    params: &InvokeChangesetOperationParams,
    (proposal, tree_of): (String, Option<String>),
) -> Result<Operation, RpcError> {
    let name = params.operation_id.as_str();
    let offered = changeset.operations.iter().flatten();
    let Some(offer) = offered.into_iter().find(|offer| offer.id == name) else {
        return Err(RpcError::invalid_params(format!(
            "unknown operation `{name}`"
        )));
    };
    if offer.status == ChangesetOperationStatus::Running {
        return Err(RpcError::invalid_request(format!(
            "`{name}` is running already"
        )));
    }
    let mut lines = None;
    let (scope, files) = match &params.target {
        None => (ChangesetOperationScope::Changeset, Vec::new()),
        Some(ChangesetOperationTarget::Resource { resource, .. }) => {
            let files = files_of(changeset, resource)?;
            (ChangesetOperationScope::Resource, files)
        }
        Some(ChangesetOperationTarget::Range {
            resource,
            side,
            range,
        }) => {
            let files = files_of(changeset, resource)?;
            lines = Some(lines_of(&files, side.as_deref(), range)?);
            (ChangesetOperationScope::Range, files)
        }
        Some(ChangesetOperationTarget::Unknown(_)) => {
            return Err(RpcError::invalid_params(
                "operations are for a changeset, a file of it or lines of a file",
            ));
        }
    };
    if !offer.scopes.contains(&scope) {
        return Err(RpcError::invalid_params(format!(
            "`{name}` is not for this kind of target"
        )));
    }
    let turn = || match &view.compared {
        Compared::Turn(turn) => Ok(turn.clone()),
        _ => Err(RpcError::invalid_params("this changeset has no turn")),
    };
    let of = view.compared.clone();
    Ok(match name {
        DISCARD => match lines {
            Some(lines) => Operation::DiscardLines { of, lines },
            None => Operation::Discard { of, files },
        },
        RESTORE => Operation::Restore {
            to: Moment::AfterTurn(turn()?),
            files,
        },
        REVERT => Operation::Restore {
            to: Moment::BeforeTurn(turn()?),
            files,
        },
        COMMIT => Operation::Commit {
            message: message_of(params, proposal)?,
        },
        PUSH => Operation::Push,
        KEEP => Operation::BringInto {
            directory: tree_of.unwrap_or_default(),
        },
        CREATE_PR => Operation::CreatePullRequest {
            message: message_of(params, proposal)?,
        },
        _ => Operation::Undo,
    })
}

/// The message that somebody wrote for a commit, or the one that was proposed.
fn message_of(
    params: &InvokeChangesetOperationParams,
    proposal: String,
) -> Result<String, RpcError> {
    let meta = params.meta.as_ref();
    let said = meta.and_then(|meta| meta.get("message")?.as_str());
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    match said.map(str::len) {
        Some(bytes) if bytes > MAX_COMMIT_MESSAGE_BYTES => Err(RpcError::invalid_params(format!(
            "the message has {bytes} bytes, and one has at most {MAX_COMMIT_MESSAGE_BYTES}; write \
             a shorter one"
        ))),
        _ => Ok(said.map_or(proposal, str::to_owned)),
    }
}

/// The lines that a range names. Its end is without the line that it is at the
/// beginning of.
fn lines_of(files: &[String], side: Option<&str>, range: &TextRange) -> Result<Lines, RpcError> {
    let line = |line: i64| u32::try_from(line).ok().filter(|it| *it < u32::MAX);
    let (start, end) = (line(range.start.line), line(range.end.line));
    let ends_before = range.end.character == 0 && range.end.line > range.start.line;
    let range = start.zip(end).map(|(start, end)| match ends_before {
        true => start..end,
        false => start..end + 1,
    });
    let range = range.filter(|range| range.start < range.end);
    let side = match side {
        Some("before") => Some(true),
        None | Some("after") => Some(false),
        Some(_) => None,
    };
    let (Some(range), Some(counted_before)) = (range, side) else {
        return Err(RpcError::invalid_params(
            "a range has lines from 0 on, its end is not before its start, and its side is \
             `before` or `after`",
        ));
    };
    match files {
        [before, .., after] => Ok((before, after)),
        [only] => Ok((only, only)),
        [] => Err(RpcError::invalid_params("this file has no lines")),
    }
    .map(|(before, after)| Lines {
        file: after.clone(),
        file_before: before.clone(),
        counted_before,
        range,
    })
}

/// The files that an entry of a changeset is about.
fn files_of(changeset: &ChangesetState, resource: &str) -> Result<Vec<String>, RpcError> {
    let found = changeset.files.iter().find_map(|file| {
        let (before, after) = (file.edit.before.as_ref(), file.edit.after.as_ref());
        let sides = before.into_iter().chain(after);
        let mut uris: Vec<String> = sides.map(|side| side.uri.clone()).collect();
        uris.dedup();
        let meant = file.id == resource || uris.iter().any(|uri| uri == resource);
        meant.then_some(uris)
    });
    found.ok_or_else(|| RpcError::not_found(resource))
}
