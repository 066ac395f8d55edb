//! What a client may ask about automations.

use serde_json::value::RawValue;

use super::decode;
use crate::newest::commands::{
    FetchAutomationRunsParams, ListAutomationTriggerDefinitionsParams, RunAutomationParams,
};
use crate::rpc::RpcError;

#[derive(Debug)]
pub enum AutomationCommand {
    ListTriggers(ListAutomationTriggerDefinitionsParams),
    Run(RunAutomationParams),
    FetchRuns(FetchAutomationRunsParams),
}

impl AutomationCommand {
    /// `None` if the method is none of these.
    pub(super) fn decode(
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<Result<Self, RpcError>> {
        Some(match method {
            "listAutomationTriggerDefinitions" => decode(method, params).map(Self::ListTriggers),
            "runAutomation" => decode(method, params).map(Self::Run),
            "fetchAutomationRuns" => decode(method, params).map(Self::FetchRuns),
            _ => return None,
        })
    }
}
