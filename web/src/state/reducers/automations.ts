import type { AutomationAction, AutomationRunAction, AutomationRunState, AutomationState } from "../../protocol/types";
import { upsert, withField, without } from "./lists";

export function reduceAutomations(state: AutomationState, action: AutomationAction): AutomationState {
  switch (action.type) {
    case "automation/set": {
      const { automation } = action;
      return { ...state, entries: upsert(state.entries, automation, ({ resource }) => resource === automation.resource) };
    }
    case "automation/removed": {
      const entries = without(state.entries, ({ resource }) => resource === action.resource);
      return entries && entries !== state.entries ? { ...state, entries } : state;
    }
    default:
      // Requests: what becomes of them, the host says.
      return state;
  }
}

export function reduceAutomationRun(state: AutomationRunState, action: AutomationRunAction): AutomationRunState {
  switch (action.type) {
    case "automationRun/lifecycleChanged":
      return { ...state, lifecycle: action.lifecycle };
    case "automationRun/sessionSet":
      return state.sessions.includes(action.session) ? state : { ...state, sessions: [...state.sessions, action.session] };
    case "automationRun/sessionRemoved": {
      const sessions = without(state.sessions, (session) => session === action.session);
      if (!sessions || sessions === state.sessions) return state;
      const next = { ...state, sessions };
      return state.primarySession === action.session ? withField(next, "primarySession", undefined) : next;
    }
    case "automationRun/primarySessionChanged":
      return withField(state, "primarySession", action.primarySession);
    default:
      return state;
  }
}
