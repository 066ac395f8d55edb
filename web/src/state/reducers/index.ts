// The protocol's reducers: pure functions from a state and an action to the
// next state. What is unknown or does not fit changes nothing.

import type { AnnotationsState, AutomationRunState, AutomationState, CanvasState, ChangesetState, ChatState, RootState, SessionState, StateAction, TerminalState } from "../../protocol/types";
import { reduceAnnotations } from "./annotations";
import { reduceAutomationRun, reduceAutomations } from "./automations";
import { reduceChangeset } from "./changeset";
import { reduceChat } from "./chat";
import { reduceRoot } from "./root";
import { reduceSession } from "./session";
import { reduceTerminal } from "./terminal";

export type ChannelState =
  | { kind: "root"; state: RootState }
  | { kind: "session"; state: SessionState }
  | { kind: "chat"; state: ChatState }
  | { kind: "terminal"; state: TerminalState }
  | { kind: "changeset"; state: ChangesetState }
  | { kind: "canvas"; state: CanvasState }
  | { kind: "annotations"; state: AnnotationsState }
  | { kind: "automations"; state: AutomationState }
  | { kind: "automationRun"; state: AutomationRunState };

export function reduce(channel: ChannelState, action: StateAction): ChannelState {
  const state = next(channel, action);
  return state === channel.state ? channel : ({ kind: channel.kind, state } as ChannelState);
}

function next(channel: ChannelState, action: StateAction): ChannelState["state"] {
  switch (channel.kind) {
    case "root":
      return is(action, "root/") ? reduceRoot(channel.state, action) : channel.state;
    case "session":
      return is(action, "session/") ? reduceSession(channel.state, action) : channel.state;
    case "chat":
      return is(action, "chat/") ? reduceChat(channel.state, action) : channel.state;
    case "terminal":
      return is(action, "terminal/") ? reduceTerminal(channel.state, action) : channel.state;
    case "changeset":
      return is(action, "changeset/") ? reduceChangeset(channel.state, action) : channel.state;
    case "canvas":
      return action.type === "canvas/stateChanged" ? action.canvas : channel.state;
    case "annotations":
      return is(action, "annotations/") ? reduceAnnotations(channel.state, action) : channel.state;
    case "automations":
      return is(action, "automation/") ? reduceAutomations(channel.state, action) : channel.state;
    case "automationRun":
      return is(action, "automationRun/") ? reduceAutomationRun(channel.state, action) : channel.state;
  }
}

function is<P extends string>(action: StateAction, prefix: P): action is Extract<StateAction, { type: `${P}${string}` }> {
  return action.type.startsWith(prefix);
}

/** A snapshot says what it is by its fields only; the URI settles the rest. */
export function channelOf(uri: string, state: unknown): ChannelState | undefined {
  const has = (key: string) => typeof state === "object" && state !== null && key in state;
  if (uri.startsWith("ahp-root:")) return { kind: "root", state: state as RootState };
  if (uri.startsWith("ahp-automations:")) return { kind: "automations", state: state as AutomationState };
  if (uri.startsWith("ahp-automation-run:")) return { kind: "automationRun", state: state as AutomationRunState };
  if (uri.startsWith("ahp-canvas:")) return { kind: "canvas", state: state as CanvasState };
  if (has("turns")) return { kind: "chat", state: state as ChatState };
  if (has("lifecycle") && has("chats")) return { kind: "session", state: state as SessionState };
  if (has("content") && has("claim")) return { kind: "terminal", state: state as TerminalState };
  if (has("files")) return { kind: "changeset", state: state as ChangesetState };
  if (uri.endsWith("/annotations") && has("annotations")) return { kind: "annotations", state: state as AnnotationsState };
  return undefined;
}
