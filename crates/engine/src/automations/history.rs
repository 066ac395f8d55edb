//! The runs of an automation that are kept, and those of them that are shown.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::commands::FetchAutomationRunsParams;
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{AutomationRunState, AutomationRunSummary};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::record::{AutomationRunNotes, StoreOp};
use innkeeper_protocol::rpc::RpcError;
use serde_json::json;

use super::{AutomationsMut, is_finished};
use crate::core::Deadline;

/// How many runs that are over are kept of an automation.
pub(super) const HISTORY: usize = 100;

/// How many runs are shown at first, and how many more each time that somebody
/// asks.
pub(super) const PAGE: usize = 20;

impl AutomationsMut<'_> {
    /// Shows older runs to everybody.
    pub(crate) fn fetch_runs(
        &mut self,
        params: &FetchAutomationRunsParams,
    ) -> Result<Reply, RpcError> {
        let uri = ChannelUri::from(params.automation.as_str());
        let Some(known) = self.own.known.get_mut(&uri) else {
            return Err(RpcError::not_found(&params.automation));
        };
        let shown = match &params.cursor {
            None => known.notes.shown,
            Some(cursor) => {
                let mut runs = known.runs.iter();
                let at = runs.position(|run| run.as_str() == cursor);
                let at = at.ok_or_else(|| {
                    RpcError::invalid_params(
                        "the host does not keep the run that `cursor` names; begin again \
                         without a cursor",
                    )
                });
                at? + 1
            }
        };
        let wanted = (shown + PAGE).min(HISTORY + super::UNFINISHED);
        if wanted > known.notes.shown && known.runs.len() > known.notes.shown {
            known.notes.shown = wanted;
            self.show_again(&uri);
        }
        Ok(Reply::Empty {})
    }

    /// The runs of an automation that are shown, and where older ones begin.
    pub(super) fn shown_runs(
        &self,
        uri: &ChannelUri,
    ) -> (Vec<AutomationRunSummary>, Option<String>) {
        let Some(known) = self.own.known.get(uri) else {
            return (Vec::new(), None);
        };
        let all = known.runs.iter().enumerate();
        let all = all.filter_map(|(place, run)| Some((place, self.run_state(run)?)));
        let shown = all
            .filter(|(place, state)| *place < known.notes.shown || !is_finished(&state.lifecycle));
        let summaries = shown.map(|(_, state)| {
            let run = self.own.runs.get(state.resource.as_str());
            summary(state, run.map(|run| &run.notes))
        });
        let last = known.notes.shown.checked_sub(1);
        let last = last.and_then(|last| known.runs.get(last));
        let has_more = known.runs.len() > known.notes.shown;
        let cursor = last.filter(|_| has_more).map(ChannelUri::to_string);
        (summaries.collect(), cursor)
    }

    /// Forgets the oldest runs, if there are more than are kept.
    pub(super) fn prune(&mut self, uri: &ChannelUri) {
        let Some(known) = self.own.known.get(uri) else {
            return;
        };
        let over = known.runs.iter().filter(|run| {
            let state = self.run_state(run);
            state.is_none_or(|state| is_finished(&state.lifecycle))
        });
        let old: Vec<ChannelUri> = over.skip(HISTORY).cloned().collect();
        for run in old {
            if let Some(known) = self.own.known.get_mut(uri) {
                known.runs.retain(|it| *it != run);
            }
            self.forget_run(&run);
            self.core().store(StoreOp::RemoveAutomationRun { run });
        }
    }

    pub(super) fn forget_run(&mut self, run: &ChannelUri) {
        self.own.runs.remove(run);
        let core = self.core();
        core.deadlines.clear(&Deadline::RunIsLate(run.clone()));
        core.channels.remove(run);
        core.subscriptions.remove_channel(run);
    }
}

/// What is shown of a run in the history of its automation. Why a run has not
/// begun can be shown here only: no action changes the `_meta` of a run.
fn summary(state: &AutomationRunState, notes: Option<&AutomationRunNotes>) -> AutomationRunSummary {
    let waits = notes.and_then(|notes| notes.waits.as_ref());
    let meta = waits.map(|waits| {
        JsonObject::from_iter([("innkeeper".to_owned(), json!({ "waitsFor": waits }))])
    });
    AutomationRunSummary {
        resource: state.resource.clone(),
        automation: state.automation.clone(),
        origin: state.origin.clone(),
        lifecycle: state.lifecycle.clone(),
        primary_session: state.primary_session.clone(),
        session_count: i64::try_from(state.sessions.len()).unwrap_or(i64::MAX),
        meta,
    }
}
